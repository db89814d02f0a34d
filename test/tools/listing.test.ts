import { definePlugin, type Session } from "bowline";
import type { ToolSpec } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { file } from "../kit/files.ts";
import { codeOf } from "../kit/reading.ts";
import { named } from "../kit/worlds.ts";
import { made, maker } from "./maker.ts";
import { did, type Obedient, opened } from "./obedient.ts";
import { supplies } from "./supplies.ts";

const schema = (field: string): Partial<ToolSpec<never, unknown>> => ({
  input: { type: "object", properties: { [field]: { type: "string" } } } as never,
});

/** Hides, changes and opens tools, by its state where it has one. */
const edits = definePlugin({
  id: "acme/edits",
  setup: () => ({
    toolCatalog: () => [
      { tool: "hidden", hide: true as const },
      { tool: "noted", note: "Ask first." },
      { tool: "found", availability: "searchable" as const },
    ],
  }),
});

/** What the last request declared, and the same of the list. */
const declared = ({ requests }: Obedient) =>
  (requests.at(-1)?.tools ?? []).map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
const listed = async ({ tools }: Pick<Session, "tools">) =>
  (await tools.list())
    .filter(({ availability }) => availability !== "searchable")
    .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));

const TOOLS = [
  named("plain", undefined, schema("a")),
  named("hidden"),
  named("noted", undefined, schema("b")),
  named("found"),
  named("forbidden"),
  named("overlaid", undefined, schema("c")),
  named("off", undefined, { availability: "off" }),
  named("inner", undefined, { audience: "runtime" }),
];

test("T4 the list shows what the model gets, with schemas: edits of plugins, overlay, permissions and choices are applied", async () => {
  await using world = await opened({
    tools: [...TOOLS, supplies("acme/far", [named("far", undefined, schema("d"))])],
    plugins: [edits(), maker],
  });
  const session = await made(world.runtime, world.session, {
    kind: "child",
    permissions: { hiddenTools: ["forbidden"] },
    overlay: [{ tool: "overlaid", description: "Says it otherwise." }],
  });
  const before = await listed(session);
  expect(world.model.requests, "the list needs no turn").toEqual([]);
  expect(await session.tools.list()).toMatchObject([
    { name: "plain", source: "app", availability: "callable", inputSchema: { properties: { a: {} } } },
    { name: "noted", description: "Does noted.\n\nAsk first.", inputSchema: { properties: { b: {} } } },
    { name: "found", availability: "searchable" },
    { name: "overlaid", description: "Says it otherwise.", inputSchema: { properties: { c: {} } } },
    { name: "far", source: "acme/far", inputSchema: { properties: { d: {} } } },
  ]);
  await did(session);
  expect(before).toEqual(declared(world.model));
  await session.tools.set("noted", "off");
  const after = await listed(session);
  expect(after.map(({ name }) => name)).toEqual(["plain", "overlaid", "far"]);
  await did(session);
  expect(after).toEqual(declared(world.model));
  const raw = await session.tools.list({ raw: true });
  expect(raw.map(({ name, description, availability }) => `${name} ${description} ${availability}`)).toEqual([
    "plain Does plain. callable",
    "hidden Does hidden. callable",
    "noted Does noted. off",
    "found Does found. callable",
    "overlaid Does overlaid. callable",
    "off Does off. off",
    "inner Does inner. callable",
    "far Does far. callable",
  ]);
  expect(raw.some((each) => "inputSchema" in each)).toBe(false);
});

test("T4 a plugin lists the resolved tools of its session in a turn, lent tools and pending choices included, and of another", async () => {
  const seen: (readonly string[])[] = [];
  const plugin = definePlugin({
    id: "acme/looks",
    setup: () => ({
      context: ({ context }) => ({ ...context, tools: [named("lent")] }),
      beforeToolCall: async ({ sessions, sessionId, membership }) => {
        membership.set("plain", "off");
        for (const id of [sessionId, "other"]) seen.push((await sessions.tools(id).list()).map(({ name }) => name));
        seen.push((await sessions.tools(sessionId).list({ raw: true })).map(({ name }) => name));
      },
    }),
  });
  const tools = TOOLS.slice(0, 3);
  await using world = await opened({ tools, plugins: [edits(), plugin()] });
  await world.runtime.session("other");
  await did(world.session, "noted");
  expect(seen).toEqual([
    ["noted", "lent"],
    ["plain", "noted"],
    ["plain", "hidden", "noted"],
  ]);
  expect(
    (await world.session.tools.list()).map(({ name }) => name),
    "what was lent went with its turn",
  ).toEqual(["noted"]);
});

test("T4 a second runtime lists the same: choices and plugin states are the session's", async () => {
  const path = file();
  const options = () => ({ tools: TOOLS, plugins: [edits()], store: sqlite(path) });
  let first: unknown;
  {
    await using world = await opened(options());
    await did(world.session);
    await world.session.tools.set("plain", "searchable");
    first = await world.session.tools.list();
  }
  await using again = await opened(options());
  expect(first).toContainEqual(expect.objectContaining({ name: "plain", availability: "searchable" }));
  expect(await again.session.tools.list()).toEqual(first);
});

test("T4 the list leaves out a tool that cannot be loaded, as a turn does, and loads no tool that only a search finds", async () => {
  const supply = supplies("acme/far", [named("gone"), named("far", undefined, { availability: "searchable" })], {
    load: () => undefined,
  });
  await using world = await opened({ tools: [supply] });
  const found = await world.session.tools.list();
  expect(found).toEqual([{ name: "far", description: "Does far.", source: "acme/far", availability: "searchable" }]);
  expect(supply.seen.loads).toEqual(["gone"]);
});

test("T4 a list throws what a catalog hook throws; with `raw` no hook is asked", async () => {
  const plugin = definePlugin({
    id: "acme/broken",
    setup: () => ({
      toolCatalog: () => {
        throw new Error("No.");
      },
    }),
  });
  await using world = await opened({ tools: TOOLS.slice(0, 1), plugins: [plugin()] });
  await expect(world.session.tools.list()).rejects.toMatchObject({
    code: "hook.failed",
    details: { plugin: "acme/broken", hook: "toolCatalog" },
  });
  expect(await world.session.tools.list({ raw: true })).toHaveLength(1);
});

test.each([
  ["options.unknown", { rwa: true }],
  ["options.invalid", { raw: "yes" }],
  ["options.invalid", null],
  ["options.invalid", true],
])("T4 wrong options of a list are %s", async (code, options) => {
  await using world = await opened({ store: memory() });
  expect(await codeOf(world.session.tools.list(options as never))).toBe(code);
});

test("T4 what is listed cannot be changed in place", async () => {
  await using world = await opened({ tools: TOOLS.slice(0, 1) });
  const [tool] = await world.session.tools.list();
  expect(() => Object.assign(tool!.inputSchema!, { type: "string" })).toThrow(TypeError);
});
