import { attach, definePlugin, type Runtime } from "bowline";
import type { NewSessionRequest, SavedStates } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { hashOf } from "../../src/model/hash.ts";
import { asSessionId } from "../../src/model/ids.ts";
import { codeOf, saidIn } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { HOUR, named, running, runningOn } from "../kit/worlds.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const ids = async (runtime: Runtime) => (await runtime.sessions.list()).map(({ id }) => id);

/** Keeps a count and a blob; its commands change both, and make sessions. */
const keeper = (version = "1") =>
  definePlugin({
    id: "acme/keeper",
    version,
    state: z.object({ n: z.number().default(0) }),
    migrate: (state, from) => {
      if (from === "3") throw new Error("Version 3 is unknown.");
      return state;
    },
    setup: ({ query, command }) => ({
      operations: {
        add: command({
          run: async ({ state }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            await state.blobs.put("draft", bytes(`draft ${state.get().n}`));
          },
        }),
        read: query({
          run: async ({ state }) => {
            const draft = await state.blobs.get("draft");
            return { ...state.get(), draft: draft === undefined ? null : new TextDecoder().decode(draft) };
          },
        }),
        make: command({
          input: z.custom<NewSessionRequest>(),
          run: async ({ input, sessions }) => ({ ...(await sessions.create(input)) }),
        }),
      },
    }),
  });

// ── Sessions that an app creates ────────────────────────────────────────────────────────────────────────────────────

test("K15 an app creates what a plugin may: a fresh session, a child with its permissions, a fork, and reads what each was made as", async () => {
  const path = file();
  const tools = ["a", "b", "c"].map((name) => named(name));
  const model = scripted(says("Hello."), says("Child."), says("Fork."));
  const plugin = keeper();
  {
    await using runtime = await runningOn(path, { model, tools, plugins: [plugin] });
    const root = await runtime.session("root", { config: { instructions: "Root." } });
    await root.turn("Hi.").result();
    await root.command(plugin, "add");
    const { head } = await root.read();
    const { sessions } = runtime;
    expect(await sessions.create({ id: "fresh" })).toEqual({ id: "fresh", kind: "fresh" });
    const subagent = { capability: "scout", depth: 1, depthMax: 2 };
    const bound = { toolAccess: ["a", "b"], subagent };
    const child = { id: "child", kind: "child", from: "root", copiesState: true, permissions: bound } as const;
    expect(await sessions.create(child)).toEqual({ id: "child", kind: "child", parentId: "root" });
    const hides = [{ tool: "c", hide: true }] as const;
    const fork = { id: "fork", kind: "fork", from: "root", overlay: hides, config: { label: "By train" } } as const;
    expect(await sessions.create(fork)).toEqual({ id: "fork", kind: "fork", head });
    const seed = [{ role: "system", parts: [{ kind: "text", text: "Be kind." }] }] as const;
    expect(await sessions.create({ id: "seeded", seed })).toMatchObject({ kind: "fresh", head: expect.any(String) });
    expect((await sessions.create()).id).toMatch(/^ses_/);
  }
  await using runtime = await runningOn(path, { model, tools, plugins: [plugin] });
  const child = await runtime.session("child");
  const fork = await runtime.session("fork");
  for (const session of [child, fork]) await session.turn("Go.").result();
  expect(model.requests.slice(1).map((request) => request.tools.map(({ name }) => name))).toEqual([
    ["a", "b"],
    ["a", "b"],
  ]);
  expect((await runtime.sessions.get("child")).permissions).toMatchObject({ subagent: { capability: "scout" } });
  expect([await child.query(plugin, "read"), await fork.query(plugin, "read")]).toEqual([
    { n: 1, draft: "draft 1" },
    { n: 1, draft: "draft 1" },
  ]);
  expect([await saidIn(child), await saidIn(fork)]).toEqual([["Go."], ["Hi.", "Go."]]);
  expect((await fork.read()).config).toMatchObject({ instructions: "Root.", label: "By train" });
});

test("K15 a child that an older version restricted keeps its permissions: their stored key is still `bowline/authority`", async () => {
  const path = file();
  const store = sqlite(path);
  const stored = { version: "1", revision: 1, state: { toolAccess: ["a"] } };
  await store.create({ id: asSessionId("old"), config: {}, at: 0, plugins: { "bowline/authority": stored } });
  await store.close();
  const model = scripted(says("Hello."));
  await using runtime = await runningOn(path, { model, tools: [named("a"), named("b")] });
  await (await runtime.session("old")).turn("Hi.").result();
  expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["a"]);
  expect((await runtime.sessions.get("old")).permissions).toEqual({ toolAccess: ["a"] });
  await runtime.sessions.create({ id: "new", permissions: { hiddenTools: ["a"] } });
  const other = sqlite(path);
  expect((await other.load(asSessionId("new")))?.plugins["bowline/authority"]?.state).toEqual({ hiddenTools: ["a"] });
  await other.close();
});

test("K15 the first input of a session is a message with its attachments, once for all processes, and fit for a turn", async () => {
  const path = file();
  const plugin = keeper();
  const picture = attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png", name: "a.png" });
  {
    await using runtime = await runningOn(path, { plugins: [plugin] });
    await runtime.sessions.create({ id: "app", firstInput: ["Look.", picture] });
    const asking = await runtime.session("asking");
    await asking.command(plugin, "make", { id: "plugin", firstInput: "Begin." });
  }
  await using runtime = await runningOn(path, { plugins: [plugin] });
  await using other = await runningOn(path, { plugins: [plugin] });
  const taken = await Promise.all([runtime, other].map(({ sessions }) => sessions.takeFirstInput("app")));
  const [input, ...rest] = taken.filter((each) => each !== undefined);
  expect(rest).toEqual([]);
  expect(input).toEqual({
    role: "user",
    parts: [
      { kind: "text", text: "Look." },
      { kind: "attachment", hash: expect.any(String), mediaType: "image/png", bytes: 3, name: "a.png" },
    ],
  });
  const session = await runtime.session("app");
  await session.turn(input!.parts).result();
  expect((await session.read()).messages[0]?.parts).toEqual(input!.parts);
  expect(await runtime.sessions.takeFirstInput("plugin")).toEqual({
    role: "user",
    parts: [{ kind: "text", text: "Begin." }],
    origin: { kind: "plugin", plugin: "acme/keeper" },
  });
  expect(await runtime.sessions.takeFirstInput("plugin")).toBe(undefined);
  expect(await codeOf(runtime.sessions.takeFirstInput("nobody"))).toBe("session.unknown");
  expect(await codeOf(runtime.sessions.takeFirstInput(7 as never))).toBe("session.unknown");
});

test("K15 the attachments of a first input outlive sweeps, before it is taken and until it is sent", async () => {
  let now = 0;
  const store = sqlite(file(), { durability: "process", now: () => now });
  await using runtime = await running({ store });
  const picture = attach(new Uint8Array([1, 2, 3]), { mediaType: "image/png" });
  await runtime.sessions.create({ id: "made", firstInput: ["Look.", picture] });
  const unnamed = hashOf(bytes("nothing names this"));
  await store.blobs.put(unnamed, bytes("nothing names this"));
  now += 4 * HOUR;
  expect(await store.sweep()).toMatchObject({ deleted: 1 });
  const input = await runtime.sessions.takeFirstInput("made");
  now += 4 * HOUR;
  expect(await store.sweep()).toMatchObject({ deleted: 0 });
  const { outcome } = await (await runtime.session("made")).turn(input!.parts).result();
  expect(outcome).toMatchObject({ kind: "answered" });
});

test("K15 a session without base tools has those that a plugin lends to its turns, in its forks and after a restart too", async () => {
  const path = file();
  const lends = definePlugin({
    id: "a/lends",
    setup: ({ query }) => ({
      context: ({ context }) => ({ ...context, tools: [named("lent")], includeBaseTools: true }),
      operations: { tools: query({ run: ({ catalog }) => catalog.list().map(({ name }) => name) }) },
    }),
  });
  const options = { tools: [named("base")], plugins: [lends] };
  {
    await using runtime = await runningOn(path, options);
    await runtime.sessions.create({ id: "bare", includeBaseTools: false });
    await runtime.sessions.create({ id: "fork", kind: "fork", from: "bare" });
    await runtime.sessions.create({ id: "whole", kind: "fork", from: "bare", includeBaseTools: true });
    await runtime.sessions.create({ id: "child", kind: "child", from: "bare" });
  }
  const model = scripted(...Array.from({ length: 4 }, () => says("Done.")));
  await using runtime = await runningOn(path, { ...options, model });
  const shown: unknown[] = [];
  for (const id of ["bare", "fork", "whole", "child"]) {
    const session = await runtime.session(id);
    await session.turn("Go.").result();
    shown.push([id, model.requests.at(-1)?.tools.map(({ name }) => name), await session.query(lends, "tools")]);
  }
  expect(shown).toEqual([
    ["bare", ["lent"], []],
    ["fork", ["lent"], []],
    ["whole", ["base", "lent"], ["base"]],
    ["child", ["base", "lent"], ["base"]],
  ]);
});

test("K15 with `take` a repeated creation finds its session unchanged, and a session that is not of this parent is refused", async () => {
  await using runtime = await running();
  const { sessions } = runtime;
  for (const id of ["one", "two"]) await sessions.create({ id });
  const request = { id: "child", kind: "child", from: "one", firstInput: "Begin.", ifExists: "take" } as const;
  const made = await sessions.create(request);
  expect((await sessions.takeFirstInput("child"))?.parts).toHaveLength(1);
  expect(await sessions.create(request)).toEqual(made);
  expect(await sessions.takeFirstInput("child")).toBe(undefined);
  for (const [id, foreign] of [
    ["another parent", { ...request, from: "two" }],
    ["a fork", { ...request, kind: "fork" }],
    ["a fresh session", { id: "child", ifExists: "take" }],
    ["a root", { ...request, id: "two" }],
    ["no `take`", { ...request, ifExists: "refuse" }],
  ] as const)
    expect(await codeOf(sessions.create(foreign)), id).toBe("session.exists");
  expect(await ids(runtime)).toEqual(["child", "one", "two"]);
});

const saved = (state: object): object => ({ "acme/keeper": { version: "1", revision: 1, state, ...state } });

test.each<readonly [string, string, unknown]>([
  ["no object", "options.invalid", 7],
  ["an unknown option", "options.unknown", { parent: "bound" }],
  ["a parent that is not there", "session.unknown", { kind: "child", from: "nobody" }],
  ["a parent that is not an id", "session.unknown", { kind: "child", from: 7 }],
  ["a child of nobody", "input.invalid", { kind: "child" }],
  ["a fork of nobody", "input.invalid", { kind: "fork" }],
  ["a fresh session with an origin", "input.invalid", { from: "bound" }],
  ["a kind that is none", "input.invalid", { kind: "cousin", from: "bound" }],
  ["a node that is none", "fork.unknown", { kind: "fork", from: "bound", at: 7 }],
  [
    "a tool that its parent cannot use",
    "input.invalid",
    { kind: "child", from: "bound", permissions: { toolAccess: ["a", "b"] } },
  ],
  ["an input that is empty", "input.invalid", { firstInput: " " }],
  ["an input that is not a text", "input.invalid", { firstInput: 42 }],
  [
    "an attachment over the bound",
    "limit.bytes",
    { firstInput: [attach(new Uint8Array(600), { mediaType: "image/png" })] },
  ],
  [
    "an attachment without bytes",
    "input.invalid",
    { firstInput: [{ kind: "attachment", hash: "x".repeat(43), mediaType: "image/png" }] },
  ],
  ["base tools that are not a boolean", "input.invalid", { includeBaseTools: "no" }],
  ["states that are not an object", "input.invalid", { states: [1] }],
  ["a state that is not a snapshot", "session.states", { states: { "acme/keeper": { n: 1 } } }],
  ["a state that does not fit", "state.invalid", { states: saved({ state: { n: "many" } }) }],
  ["a state that is too large", "state.too-large", { states: saved({ state: { n: 1, pad: "x".repeat(600) } }) }],
  [
    "a state of a plugin that is gone, too large",
    "state.too-large",
    { states: { gone: { version: "1", revision: 1, state: "x".repeat(600) } } },
  ],
  ["a state of a version that cannot be migrated", "plugin.migrate", { states: saved({ version: "3", state: {} }) }],
  [
    "a state of another version that does not fit",
    "plugin.migrate",
    { states: saved({ version: "2", state: { n: [] } }) },
  ],
  ["a revision that is none", "session.states", { states: saved({ revision: -1, state: {} }) }],
  [
    "a blob that is not in the store",
    "session.states",
    { states: saved({ state: {}, blobs: { draft: "y".repeat(43) } }) },
  ],
  ["blobs that are not hashes", "session.states", { states: saved({ state: {}, blobs: { draft: 7 } }) }],
  [
    "permissions in disguise",
    "session.states",
    { states: { "bowline/authority": { version: "1", revision: 1, state: {} } } },
  ],
])("K15 sessions.create of an app with %s is %s, and nothing is written", async (_, code, request) => {
  const limits = { inputBytesMax: 500, stateBytesMax: 500 };
  await using runtime = await running({ plugins: [keeper()], limits });
  await runtime.sessions.create({ id: "root" });
  await runtime.sessions.create({ id: "bound", kind: "child", from: "root", permissions: { toolAccess: ["a"] } });
  const given = typeof request === "object" ? { id: "made", ...request } : request;
  expect(await codeOf(runtime.sessions.create(given as NewSessionRequest))).toBe(code);
  expect(await ids(runtime)).toEqual(["bound", "root"]);
});

// ── Plugin states as a value ────────────────────────────────────────────────────────────────────────────────────────

test("K14 plugin states are captured as a value and begin another session, in another process: states, versions, revisions, blobs", async () => {
  const path = file();
  const plugin = keeper();
  let text = "";
  let fingerprint = "";
  {
    await using runtime = await runningOn(path, { plugins: [plugin], tools: [named("dig")] });
    await runtime.sessions.create({ id: "source", permissions: { hiddenTools: ["dig"] }, firstInput: "Begin." });
    const source = await runtime.session("source");
    for (let times = 0; times < 2; times++) await source.command(plugin, "add");
    const states = await source.states();
    expect(states).toEqual({
      "acme/keeper": { version: "1", revision: 2, state: { n: 2 }, blobs: { draft: expect.any(String) } },
    });
    text = JSON.stringify(states);
    ({ fingerprint } = source);
    await source.command(plugin, "add");
    await runtime.sessions.delete("source");
  }
  await using runtime = await runningOn(path, { plugins: [plugin], tools: [named("dig")] });
  const states: SavedStates = JSON.parse(text);
  await runtime.sessions.create({ id: "root" });
  await runtime.sessions.create({ id: "copy", states });
  const restored = await runtime.session("copy");
  expect(await restored.query(plugin, "read")).toEqual({ n: 2, draft: "draft 2" });
  expect(restored.fingerprint).toBe(fingerprint);
  expect(await restored.states()).toEqual(states);
  await restored.command(plugin, "add");
  expect(await restored.query(plugin, "read")).toEqual({ n: 3, draft: "draft 3" });
  // They lie over what a fork copies.
  await runtime.sessions.create({ id: "fork", kind: "fork", from: "copy", states });
  expect(await (await runtime.session("fork")).query(plugin, "read")).toEqual({ n: 2, draft: "draft 2" });
});

test("K14 states of an older version are migrated when they begin a session, and those of a plugin that is gone are kept", async () => {
  const store = memory();
  const gone = { version: "9", revision: 4, state: { left: true } };
  const older: SavedStates = { "acme/keeper": { version: "0", revision: 5, state: {} }, "acme/gone": gone };
  await using runtime = await running({ store, plugins: [keeper("2")] });
  await runtime.sessions.create({ id: "made", states: older });
  const session = await runtime.session("made");
  expect(await session.states()).toEqual({
    "acme/keeper": { version: "2", revision: 5, state: { n: 0 } },
    "acme/gone": gone,
  });
});

test("K15 a fork has the plugin states with their blobs, the overlay and the choice of tools of its origin, in another process too", async () => {
  const path = file();
  const plugin = keeper();
  const options = { plugins: [plugin], tools: ["a", "b", "c"].map((name) => named(name)) };
  {
    await using runtime = await runningOn(path, options);
    await runtime.sessions.create({ id: "source", overlay: [{ tool: "a", hide: true }] });
    const source = await runtime.session("source");
    await source.command(plugin, "add");
    await source.tools.set("b", "off");
    await source.fork({ id: "one" });
    await runtime.sessions.fork("source", { id: "two" });
    await source.command(plugin, "add");
    await source.tools.set("b", null);
  }
  const model = scripted(says("1"), says("2"), says("3"));
  await using runtime = await runningOn(path, { ...options, model });
  for (const [id, shown, n] of [
    ["one", ["c"], 1],
    ["two", ["c"], 1],
    ["source", ["b", "c"], 2],
  ] as const) {
    const session = await runtime.session(id);
    await session.turn("Go.").result();
    expect(model.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(shown);
    expect(await session.query(plugin, "read")).toEqual({ n, draft: `draft ${n}` });
  }
});
