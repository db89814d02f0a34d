import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { HOOKS } from "../../src/kernel/hooks.ts";
import { DEFAULT_LIMITS } from "../../src/model/limits.ts";

interface Script {
  page(): string;
  readonly UNUSED: { readonly [hook: string]: string };
}
// Not by a literal path: a script has no types.
const { page, UNUSED }: Script = await import(new URL("../../scripts/hooks-doc.mjs", import.meta.url).href);
const { page: defaults }: Pick<Script, "page"> = await import(
  new URL("../../scripts/defaults-doc.mjs", import.meta.url).href
);

test("the page of hooks matches the table: if not, run `npm run docs`", () => {
  expect(readFileSync("docs/hooks.md", "utf8")).toBe(page());
});

test("the page of hooks shows with types what each hook receives and can answer", () => {
  const rows = Object.fromEntries(
    Array.from(page().matchAll(/^\| \[`(\w+)`\]\(#\w+\) \| (.*?) \| (.*) \|$/gm), ([, hook = "", given, answer]) => [
      hook,
      { given, answer },
    ]),
  );
  expect(Object.keys(rows)).toEqual(Object.keys(HOOKS));
  expect(rows).toMatchObject({
    afterToolCall: {
      given: "`call: ToolCall, output: ToolOutput, durationMs?: number, asked?: AskedTrail[]`",
      answer: expect.stringContaining("`replaceResult`"),
    },
    stream: { given: "`chunk: Chunk`", answer: "`ChunkAnswer`" },
    lifecycle: { given: "`event: LifecycleEvent`", answer: "nothing" },
  });
  // Types that the rows name are printed, with what those name in turn.
  for (const type of [
    "interface ToolCall {",
    "interface ChunkAnswer {",
    "type LifecycleEvent =",
    "interface TextPart {",
  ])
    expect(page()).toContain(`\n${type}`);
  // A directive that a hook may answer is explained.
  const makers = new Set(Array.from(page().matchAll(/^\| `(\w+)\(/gm), ([, name]) => name));
  const directives = Object.values(HOOKS).flatMap((row) => ("directives" in row ? row.directives : []));
  expect(directives.filter((name) => !makers.has(name))).toEqual([]);
});

test("the page of defaults matches the sources: if not, run `npm run docs`", () => {
  expect(readFileSync("docs/defaults.md", "utf8")).toBe(defaults());
  for (const limit of Object.keys(DEFAULT_LIMITS)) expect(defaults()).toContain(`| \`${limit}\` | `);
});

test("a hook that the page calls unused is one that no source runs, and the other way round", () => {
  const sources = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const runs = /\.(?:slot|handlers|collect|transform|first|single|observe)\(\s*"(\w+)"/g;
  const run = new Set(sources.flatMap((text) => Array.from(text.matchAll(runs), ([, hook]) => hook)));
  const names = Array.from(page().matchAll(/^### (\w+)$/gm), ([, hook]) => hook);
  expect(names.filter((hook) => !run.has(hook))).toEqual(Object.keys(UNUSED));
});
