import { type } from "arktype";
import { createRuntime, definePlugin, defineTool, described, jsonSchema, type Tool } from "bowline";
import { memory } from "bowline/stores/memory";
import * as v from "valibot";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf } from "../kit/reading.ts";
import { named } from "../kit/worlds.ts";
import { did, obeys, opened } from "./obedient.ts";

const city = { type: "object", properties: { city: { type: "string" }, days: { type: "number" } }, required: ["city"] };

const KINDS = [
  [
    "zod",
    defineTool({
      name: "weather",
      description: "Weather.",
      input: z.object({ city: z.string(), days: z.number().default(1) }),
      execute: ({ city, days }) => `${city.toUpperCase()} ${days.toFixed(0)}`,
    }),
  ],
  [
    "arktype",
    defineTool({
      name: "weather",
      description: "Weather.",
      input: type({ city: "string", days: "number = 1" }),
      execute: ({ city, days }) => `${city.toUpperCase()} ${days.toFixed(0)}`,
    }),
  ],
  [
    "valibot through described",
    defineTool({
      name: "weather",
      description: "Weather.",
      input: described(v.object({ city: v.string(), days: v.optional(v.number(), 1) }), city),
      execute: ({ city, days }) => `${city.toUpperCase()} ${days.toFixed(0)}`,
    }),
  ],
  [
    "JSON Schema with a promised type",
    defineTool({
      name: "weather",
      description: "Weather.",
      input: jsonSchema<{ city: string; days?: number }>(city),
      execute: ({ city, days = 1 }) => `${city.toUpperCase()} ${days.toFixed(0)}`,
    }),
  ],
  [
    "raw JSON Schema",
    defineTool({
      name: "weather",
      description: "Weather.",
      input: city,
      execute: (input) => {
        const { city, days = 1 } = input as { city: string; days?: number };
        return `${city.toUpperCase()} ${days.toFixed(0)}`;
      },
    }),
  ],
] as const;

for (const [kind, tool] of KINDS) {
  test(`T1 ${kind}: described to the model as an object, checked, with defaults filled in`, async () => {
    await using world = await opened({ tools: [tool] });
    const { shown } = await did(
      world.session,
      ["weather", { city: "Oslo" }],
      ["weather", { city: "Oslo", days: 3 }],
      ["weather", { city: 5 }],
      ["weather", {}],
    );
    expect(shown.slice(0, 2)).toEqual(["weather ok: OSLO 1", "weather ok: OSLO 3"]);
    for (const line of shown.slice(2)) expect(line).toMatch(/^weather failed: Error \(tool\.arguments\).*city/);
    const declared = world.model.requests[0]?.tools[0];
    expect(declared).toMatchObject({
      name: "weather",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    });
    expect(declared?.inputSchema).not.toHaveProperty("$schema");
    expect(JSON.parse(JSON.stringify(declared))).toEqual(declared);
  });
}

test("T1 a schema that cannot describe itself is refused when the tool is made, with the remedy", () => {
  const input = v.object({ city: v.string() }) as never;
  expect(() => defineTool({ name: "a", description: "A.", input, execute: () => 1 })).toThrow(
    expect.objectContaining({ code: "schema.undescribed", hint: expect.stringContaining("described(") }),
  );
});

const right = { name: "a", description: "A.", input: z.object({}), execute: () => 1 };
const WRONG: readonly (readonly [string, object, string])[] = [
  ["no name", { name: undefined }, "tool.name"],
  ["an empty name", { name: "" }, "tool.name"],
  ["a name of two words", { name: "two words" }, "tool.name"],
  ["a name that is too long", { name: "x".repeat(65) }, "tool.name"],
  ["the name of typed results", { name: "submit_output" }, "tool.name"],
  ["no description", { description: undefined }, "tool.invalid"],
  ["nothing to execute", { execute: undefined }, "tool.invalid"],
  ["an unknown availability", { availability: "sometimes" }, "tool.invalid"],
  ["an unknown audience", { audience: "all" }, "tool.invalid"],
  ["bindings that are not JSON", { bindings: { f: () => 1 } }, "tool.invalid"],
  ["bindings that are not an object", { bindings: "text" }, "tool.invalid"],
  ["examples that are not a list", { examples: "none" }, "tool.invalid"],
  ["an onInterrupt that is none", { onInterrupt: "maybe" }, "tool.invalid"],
  ["arguments that are not an object", { input: z.string() }, "schema.invalid"],
  ["arguments that have no JSON form", { input: z.object({ at: z.date() }) }, "schema.invalid"],
];
for (const [what, part, code] of WRONG) {
  test(`T1 a tool with ${what} is refused when it is made`, () => {
    expect(() => defineTool({ ...right, ...part } as never)).toThrow(expect.objectContaining({ code }));
  });
}

test("T1 an invalid tool, and two tools of one name, are refused when the runtime is made", async () => {
  const made = (tools: readonly unknown[]) => createRuntime({ store: memory(), model: obeys(), tools: tools as never });
  await expect(made([{ name: "a" }])).rejects.toMatchObject({ code: "options.invalid" });
  await expect(made([undefined])).rejects.toMatchObject({ code: "options.invalid" });
  await expect(made([named("a"), named("a")])).rejects.toMatchObject({
    code: "tool.duplicate",
    details: { name: "a", sources: ["app", "app"] },
  });
});

const half = { name: "half", description: "Half.", run: () => 1, check: () => ({ ok: true, value: {} }) };
const renamed = (name: string) => ({ ...named("a"), name });
const NO_TOOLS: readonly (readonly [string, unknown])[] = [
  ["half a tool", half],
  ["a tool renamed to two words", renamed("two words")],
  ["a tool renamed to what typed results are called", renamed("submit_output")],
];
for (const [what, tool] of NO_TOOLS) {
  test(`T1 ${what} is refused by code wherever it is given: to the runtime, by a plugin, by a context hook`, async () => {
    const refused = expect.stringMatching(
      /^(options\.invalid|plugin\.invalid|plugin\.setup|tool\.name|tool\.invalid|hook\.answer)$/,
    );
    expect(await codeOf(opened({ tools: [tool as Tool] }))).toEqual(refused);
    const plugin = definePlugin({ id: "acme/a", setup: () => ({ tools: [tool as Tool] }) });
    expect(await codeOf(opened({ plugins: [plugin] }))).toEqual(refused);
    const context = definePlugin({
      id: "acme/b",
      setup: () => ({ context: ({ context }) => ({ ...context, tools: [tool as Tool] }) }),
    });
    await using world = await opened({ plugins: [context] });
    expect((await did(world.session)).outcome).toMatchObject({ kind: "failed", by: "plugin", code: refused });
  });
}

test("T1 a tool may be given under another name by a copy of it", async () => {
  await using world = await opened({ tools: [named("a"), renamed("b") as Tool] });
  expect((await did(world.session, "a", "b")).shown).toEqual(["a ok: a!", "b ok: a!"]);
});

test("T1 the first and last names that a tool may have", async () => {
  const names = ["a", "x".repeat(64), "-_-", "0"];
  await using world = await opened({ tools: names.map((name) => named(name)) });
  expect((await did(world.session, ...names)).shown).toEqual(names.map((name) => `${name} ok: ${name}!`));
});

test("T1 a documented tool is described in the prompt with its examples, and declared without them", async () => {
  const tools = [
    named("told", undefined, { availability: "documented", examples: [{ city: "Oslo" }, {}] }),
    named("plain", undefined, { examples: [{ hidden: true }] }),
  ];
  await using world = await opened({ tools, instructions: "Be kind." });
  await did(world.session);
  const [request] = world.model.requests;
  expect(request?.system).toContain('- `told`: Does told.\n  - `{"city":"Oslo"}`\n  - `{}`');
  expect(request?.system).not.toContain("plain");
  expect(request?.tools.map((tool) => Object.keys(tool).toSorted())).toEqual(
    Array(2).fill(["description", "inputSchema", "name"]),
  );
  await world.session.tools.set("told", "callable");
  await world.session.tools.set("plain", "documented");
  await did(world.session);
  const last = world.model.requests.at(-1);
  expect(last?.system).toContain('- `plain`: Does plain.\n  - `{"hidden":true}`');
  expect(last?.system).not.toContain("told");
});

test("T1 a tool keeps the object it was made from as its own: `this` is the spec, whose class may have more fields", async () => {
  class Self {
    readonly name = "self";
    readonly description = "Self.";
    readonly input = z.object({});
    readonly word = "mine";
    execute() {
      return this.word;
    }
  }
  await using world = await opened({ tools: [defineTool(new Self())] });
  expect((await did(world.session, "self")).shown).toEqual(["self ok: mine"]);
});

test("T1 a schema that is changed after the tool was made changes nothing", async () => {
  const input = { type: "object", properties: { n: { type: "number" } } as { [name: string]: object } };
  const tool = defineTool({ name: "a", description: "A.", input, execute: () => "ran" });
  input.properties.n = { type: "string" };
  await using world = await opened({ tools: [tool] });
  const { shown } = await did(world.session, ["a", { n: 1 }]);
  expect(world.model.requests[0]?.tools[0]?.inputSchema).toMatchObject({ properties: { n: { type: "number" } } });
  expect(shown).toEqual(["a ok: ran"]);
});
