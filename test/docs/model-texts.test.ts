import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "bowline";
import { jobs } from "bowline/plugins/jobs";
import { memory as notes } from "bowline/plugins/memory";
import { monitors } from "bowline/plugins/monitors";
import { outputBudget } from "bowline/plugins/output-budget";
import { plan } from "bowline/plugins/plan";
import { rollingHistory } from "bowline/plugins/rolling-history";
import { subagents } from "bowline/plugins/subagents";
import { toolsSearch } from "bowline/plugins/tools-search";
import { workspace } from "bowline/plugins/workspace";
import { toolCalls } from "bowline/protocols/tool-calls";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ALL, wordsOf } from "./model-texts.ts";

const PAGE = "../../docs/model-texts.md";

interface Declared {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Schema;
}
interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly [keyword: string]: unknown;
}

const REPORTS = {
  "acme/reports.write": {
    description: "Writes a report.",
    input: { type: "object", properties: { topic: { type: "string" } } },
    signals: { signed: {} },
  },
};

const root = mkdtempSync(join(tmpdir(), "bowline-texts-"));
afterAll(() => rmSync(root, { recursive: true }));

/** What a root session and an agent below it are sent, with everything in the box installed. */
const sent: { tools: readonly Declared[]; system: string; agent: string } = { tools: [], system: "", agent: "" };
beforeAll(async () => {
  const model = scripted(
    calls("spawn_agent", { task: "Look." }),
    says("Nothing there."),
    calls("submit_output", { kinds: 9 }),
  );
  const hidden = defineTool({
    name: "hidden",
    description: "Is found.",
    availability: "searchable",
    input: { type: "object" },
    execute: () => "",
  });
  await using runtime = await createRuntime({
    store: memory(),
    model,
    tools: [hidden],
    plugins: [
      toolCalls({ batch: true }),
      workspace({ root, shell: true }),
      plan,
      notes,
      subagents({ capabilities: { reader: { description: "Reads files and reports." } } }),
      jobs({ tasks: REPORTS }),
      monitors,
      toolsSearch,
      outputBudget,
      rollingHistory,
    ],
  });
  const session = await runtime.session("s");
  const output = { type: "object", properties: { kinds: { type: "number", description: "How many." } } };
  await session.turn("Go.", { output }).result();
  const [first, agent] = model.requests;
  const tools = [...(first?.tools ?? []), ...(agent?.tools ?? [])] as unknown as readonly Declared[];
  sent.tools = [...new Map(tools.map((tool) => [tool.name, tool])).values()];
  sent.system = (first?.system ?? "").replaceAll(root, "<root>");
  sent.agent = (agent?.system ?? "").replaceAll(root, "<root>");
});

const sentences = (words: string): number => words.match(/[.!?](?=\s|$)/g)?.length ?? 0;

const fieldsOf = ({ properties = {}, required = [], items }: Schema, above = ""): readonly Field[] => [
  ...(items === undefined ? [] : fieldsOf(items, `${above}[]`)),
  ...Object.entries(properties).flatMap(([name, schema]) => {
    const path = above === "" ? name : `${above}.${name}`;
    return [{ path, schema, isRequired: required.includes(name) }, ...fieldsOf(schema, path)];
  }),
];
interface Field {
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

test("every bundled tool describes in two sentences or more what it does and when to use it", () => {
  expect(sent.tools.map(({ name }) => name)).toContain("submit_error");
  expect(sent.tools.filter(({ description }) => sentences(description) < 2).map(({ name }) => name)).toEqual([]);
});

test("every argument of a bundled tool is described, inside of lists and objects too", () => {
  const silent = sent.tools.flatMap(({ name, inputSchema }) =>
    fieldsOf(inputSchema)
      .filter(({ schema }) => sentences(schema.description ?? "") < 1)
      .map(({ path }) => `${name}: ${path}`),
  );
  expect(silent.filter((field) => field !== "submit_output: kinds")).toEqual([]);
});

test("a text for a model is in the plugin's texts file: no bundled tool has a text outside it", () => {
  const known = new Set(ALL.flatMap((texts) => wordsOf(texts).map(([, words]) => words)));
  expect(sent.tools.filter(({ description }) => !known.has(description)).map(({ name }) => name)).toEqual([]);
});

test("what a model reads is printed: read docs/model-texts.md after a change, which `npm run docs` renews", async () => {
  await expect(page()).toMatchFileSnapshot(PAGE);
});

// ── The page ────────────────────────────────────────────────────────────────────────────────────────────────────────

const BEGINNING = `# What a model reads

<!-- Written by \`npm run docs\` from the texts.ts of each plugin and what a runtime really sends: change those, not this. -->

Everything that the runtime and the bundled plugins say to a model, to be read in one go: the tools with their arguments, the
prompt, and the words of results and refusals. Names, numbers and paths in them are examples; defaults and limits are those of
the plugins' default options.`;

function page(): string {
  const used = new Set(sent.tools.flatMap(({ description, inputSchema }) => [description, ...said(inputSchema)]));
  const rest = ALL.map((texts) => {
    const lines = wordsOf(texts).filter(([, words]) => !used.has(words));
    return [`### ${texts.title}`, lines.map(([name, words]) => `- \`${name}\`: ${inList(words)}`).join("\n")];
  });
  const prompt = ["## The prompt", "A session with every plugin in the box:", quoted(sent.system)];
  const agent = [
    "An agent that it has started reads this before it:",
    quoted(sent.agent.split("\n\n").slice(0, 2).join("\n\n")),
  ];
  const results = ["## Results, refusals and summaries", ...rest.flat()];
  return `${[BEGINNING, "## Tools", ...sent.tools.flatMap(section), ...prompt, ...agent, ...results].join("\n\n")}\n`;
}

const said = (schema: Schema): readonly string[] =>
  fieldsOf(schema).map(({ schema: { description = "" } }) => description);
const quoted = (words: string): string => words.replace(/^/gm, "> ").replace(/ $/gm, "");
const inList = (words: string): string => words.replaceAll("\n", "\n  ");
const inCell = (words: string): string => words.replaceAll("|", "\\|").replaceAll("\n", " ");

function section({ name, description, inputSchema }: Declared): readonly string[] {
  const rows = fieldsOf(inputSchema).map(
    ({ path, schema, isRequired }) =>
      `| \`${path}\` | ${inCell(typeOf(schema))} | ${isRequired ? "yes" : ""} | ${inCell(schema.description ?? "")} |`,
  );
  const table = ["| argument | type | required | |", "| --- | --- | --- | --- |", ...rows].join("\n");
  return [`### ${name}`, quoted(description), rows.length === 0 ? "No arguments." : table];
}

const BOUNDS: { readonly [keyword: string]: string } = {
  minimum: "at least #",
  maximum: "at most #",
  minLength: "at least # characters",
  maxLength: "at most # characters",
  minItems: "at least # items",
  maxItems: "at most # items",
};

function typeOf(schema: Schema): string {
  const { type, enum: choices, items } = schema;
  const name = choices?.map((choice) => `\`${choice}\``).join(", ") ?? [type].flat().join(" or ");
  const of = items?.type === undefined ? "" : ` of ${[items.type].flat().join(" or ")}`;
  const bounds = Object.entries(BOUNDS).flatMap(([keyword, words]) =>
    schema[keyword] === undefined ? [] : [words.replace("#", String(schema[keyword]))],
  );
  return [`${name}${of}`, ...bounds].join(", ");
}
