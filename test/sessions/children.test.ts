import { type createRuntime, definePlugin, defineTool, type Plugin, type Session } from "bowline";
import { createSession, type NewSessionRequest, replaceArgs } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { nodesOf, outline, passed, textIn, unheard, within, wordsOf } from "../kit/reading.ts";
import { ping, running, twoOn } from "../kit/worlds.ts";

type Runtime = Awaited<ReturnType<typeof createRuntime>>;

/** Counts turns; its commands make sessions. */
const maker = definePlugin({
  id: "acme/maker",
  state: z.object({ turns: z.number().default(0) }),
  setup: ({ query, command }) => ({
    afterTurn: ({ state }) => void state.update(({ turns }) => ({ turns: turns + 1 })),
    operations: {
      turns: query({ run: ({ state }) => state.get().turns }),
      set: command({ input: z.number(), run: ({ input, state }) => void state.update(() => ({ turns: input })) }),
      make: command({
        input: z.custom<NewSessionRequest>(),
        run: async ({ input, sessions }) => (await sessions.create(input)).id,
      }),
      take: command({
        input: z.string(),
        run: async ({ input, sessions }) => {
          const taken = await sessions.takeFirstInput(input);
          return taken === undefined ? null : textIn(taken.parts);
        },
      }),
      tools: query({ run: ({ catalog }) => catalog.list().map(({ name }) => name) }),
    },
  }),
});
const turnsOf = (session: Session) => session.query(maker, "turns");
const said = async (session: Session) =>
  (await session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);

// ── Forks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const FORKS: readonly (readonly [string, (runtime: Runtime, from: Session, at?: string) => Promise<Session>])[] = [
  ["session.fork", (_, from, at) => from.fork(at === undefined ? {} : { at })],
  ["sessions.fork", (runtime, from, at) => runtime.sessions.fork(from.id, at === undefined ? {} : { at })],
];

for (const [way, fork] of FORKS) {
  test(`K15 ${way} copies history, config and plugin states, and each goes its own way after`, async () => {
    const store = memory();
    await using runtime = await running({ store, plugins: [maker] });
    const source = await runtime.session("source", { config: { instructions: "Be kind." } });
    await source.turn("1").result();
    await source.turn("2").result();
    const copy = await fork(runtime, source);
    expect(copy.id).not.toBe(source.id);
    expect((await copy.read()).messages).toEqual((await source.read()).messages);
    expect((await copy.read()).config.instructions).toBe("Be kind.");
    expect(await turnsOf(copy)).toBe(2);
    await copy.turn("copy").result();
    await copy.command(maker, "set", 40);
    await copy.configure({ instructions: "Be brief." });
    await source.turn("source").result();
    expect([await said(source), await turnsOf(source)]).toEqual([["1", "2", "source"], 3]);
    expect([await said(copy), await turnsOf(copy)]).toEqual([["1", "2", "copy"], 40]);
    expect((await source.read()).config.instructions).toBe("Be kind.");
    await runtime.sessions.delete(source.id);
    expect((await copy.turn("after").result()).outcome.kind).toBe("answered");
    expect(await said(copy)).toEqual(["1", "2", "copy", "after"]);
  });

  test(`K15 ${way} at a node has the history up to it and the states of then`, async () => {
    await using runtime = await running({ plugins: [maker] });
    const source = await runtime.session("source");
    const heads: (string | undefined)[] = [];
    for (const words of ["1", "2", "3"]) {
      await source.turn(words).result();
      heads.push((await source.read()).head);
    }
    await source.command(maker, "set", 40);
    for (const [index, head] of heads.entries()) {
      const copy = await fork(runtime, source, head);
      expect(await said(copy)).toEqual(["1", "2", "3"].slice(0, index + 1));
      // What the command changed at the last node counts there.
      expect(await turnsOf(copy)).toBe(index === 2 ? 40 : index + 1);
    }
    const [first] = (await source.read()).messages;
    const begun = await fork(runtime, source, first?.id);
    expect([outline((await begun.read()).messages), await turnsOf(begun)]).toEqual([["user: 1"], 0]);
    expect((await begun.turn("Else.").result()).outcome).toMatchObject({ text: "re: Else." });
  });

  test(`K15 ${way} where there is no node, or between a call and its result, is typed and makes nothing`, async () => {
    const model = scripted(calls("ping"), says("Done."));
    await using runtime = await running({ model, tools: [ping] });
    const source = await runtime.session("source");
    await source.turn("Go.").result();
    const { messages } = await source.read();
    const call = messages[1]?.id;
    await expect(fork(runtime, source, "trn_nothing.0")).rejects.toMatchObject({ code: "fork.unknown" });
    await expect(fork(runtime, source, "rubbish")).rejects.toMatchObject({ code: "fork.unknown" });
    await expect(fork(runtime, source, call)).rejects.toMatchObject({
      code: "fork.unpaired",
      details: { node: call, legal: [messages[0]?.id, messages[2]?.id] },
    });
    expect(await runtime.sessions.list()).toHaveLength(1);
  });
}

test("K15 a fork may have an id of the caller's; one that is taken or used up is refused", async () => {
  await using runtime = await running();
  const source = await runtime.session("source");
  await source.turn("Hi.").result();
  const copy = await source.fork({ id: "copy" });
  expect(copy.id).toBe("copy");
  for (const id of ["copy", "source"]) {
    await expect(source.fork({ id })).rejects.toMatchObject({ code: "session.exists", details: { id } });
    await expect(runtime.sessions.fork("source", { id })).rejects.toMatchObject({ code: "session.exists" });
  }
  await runtime.sessions.delete("copy");
  await expect(source.fork({ id: "copy" })).rejects.toMatchObject({ code: "session.deleted" });
  await expect(runtime.sessions.fork("nobody")).rejects.toMatchObject({ code: "session.unknown" });
  await expect(source.fork({ id: "" })).rejects.toMatchObject({ code: "session.id" });
});

test("K15 of several who make a session of one id at once exactly one does", async () => {
  await using runtime = await running({ plugins: [maker] });
  const source = await runtime.session("source");
  await source.turn("Hi.").result();
  const made = await Promise.all(
    [1, 2, 3, 4].map(() =>
      runtime.sessions.fork("source", { id: "copy" }).then(
        () => "made",
        (error) => error.code,
      ),
    ),
  );
  expect(made.sort()).toEqual(["made", "session.exists", "session.exists", "session.exists"]);
});

test("K15 a fork of a session with a running turn has what was committed before", async () => {
  const hold = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "Takes long.",
    input: z.object({}),
    execute: async () => {
      began.resolve();
      await hold.promise;
      return "Done.";
    },
  });
  const model = scripted(says("One."), calls("slow"), says("Two."), says("Fork."));
  await using runtime = await running({ model, plugins: [maker], tools: [slow] });
  const source = await runtime.session("source");
  await source.turn("1").result();
  const turn = source.turn("2").result();
  await began.promise;
  const copy = await within(source.fork());
  expect([await said(copy), await turnsOf(copy)]).toEqual([["1"], 1]);
  hold.resolve();
  await turn;
  await copy.turn("fork").result();
  expect(await said(source)).toEqual(["1", "2"]);
});

test("K15 a fork copies the current session, also when another runtime has continued it", async () => {
  await using world = await twoOn(memory(), { plugins: [maker] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  await here.turn("1").result();
  await there.turn("2").result();
  await there.command(maker, "set", 9);
  const copy = await here.fork();
  expect([await said(copy), await turnsOf(copy)]).toEqual([["1", "2"], 9]);
});

// ── Sessions that plugins make ──────────────────────────────────────────────────────────────────────────────────────

test("K15 a plugin makes sessions: fresh, a child, a child with a copy of the states, a fork", async () => {
  const store = memory();
  await using runtime = await running({ store, plugins: [maker], instructions: "R" });
  const parent = await runtime.session("parent", { config: { instructions: "P" } });
  await parent.turn("Hi.").result();
  const make = async (request: NewSessionRequest) => {
    const { output } = await parent.command(maker, "make", request);
    const session = await runtime.session(output);
    const { parentId, messages, config, turns } = await session.read();
    return [output, parentId, messages.length, config.instructions, turns, await turnsOf(session)];
  };
  expect(await make({ id: "a" })).toEqual(["a", undefined, 0, "R", 0, 0]);
  expect(await make({ id: "b", kind: "child" })).toEqual(["b", "parent", 0, "R", 0, 0]);
  expect(await make({ id: "c", kind: "child", copiesState: true })).toEqual(["c", "parent", 0, "R", 0, 1]);
  expect(await make({ id: "d", kind: "fork" })).toEqual(["d", undefined, 2, "P", 0, 1]);
  expect(await make({ id: "e", kind: "child", config: { instructions: "E" } })).toEqual(["e", "parent", 0, "E", 0, 0]);
  const [made] = await make({});
  expect(made).toMatch(/^ses_/);
  expect((await runtime.sessions.list()).find(({ id }) => id === "b")).toMatchObject({ parentId: "parent" });
});

test("K15 a plugin in a child can read its parent, and a plugin in the root that it is the root", async () => {
  const told: unknown[] = [];
  const looks = definePlugin({
    id: "a/looks",
    setup: ({ session }) => {
      told.push(session);
      return {};
    },
  });
  await using runtime = await running({ plugins: [maker, looks] });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child" });
  await runtime.session("child");
  expect(told).toEqual([
    { id: "parent", isRoot: true },
    { id: "child", parentId: "parent", isRoot: false },
  ]);
});

test("K15 at its setup a plugin receives the permissions of the session, in every process that opens it", async () => {
  const told: unknown[] = [];
  const looks = definePlugin({
    id: "a/looks",
    setup: ({ session }) => {
      told.push([session.id, session.permissions]);
      return {};
    },
  });
  const permissions = { toolAccess: ["ping"], subagent: { capability: "search", depth: 1, depthMax: 2 } };
  await using world = await twoOn(memory(), { plugins: [maker, looks] });
  const parent = await world.one.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child", permissions });
  await world.one.session("child");
  await world.two.session("child");
  expect(told).toEqual([
    ["parent", undefined],
    ["child", permissions],
    ["child", permissions],
  ]);
});

const SEAMS = ["beforeTurn", "checkpoint", "afterTurn", "beforeToolCall", "afterToolCall"] as const;

/** A plugin that asks for a session once, by a directive in this hook. */
function directs(seam: (typeof SEAMS)[number], request: NewSessionRequest, isLate = false): Plugin {
  let isAsked = false;
  const run = () => {
    if (isAsked) return undefined;
    isAsked = true;
    return isLate ? Promise.resolve(createSession(request)) : createSession(request);
  };
  return definePlugin({ id: "a/directs", setup: () => ({ [seam]: run }) as object });
}

test.each(SEAMS)("K15 createSession in %s makes the session before the turn is done", async (seam) => {
  const model = scripted(calls("ping"), says("Done."), says("Child."));
  const request: NewSessionRequest = {
    id: "made",
    kind: "child",
    firstInput: "Begin.",
    permissions: { hiddenTools: ["ping"] },
  };
  await using runtime = await running({ model, plugins: [directs(seam, request), maker], tools: [ping] });
  const parent = await runtime.session("parent");
  expect((await parent.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(await runtime.sessions.get("made")).toMatchObject({ id: "made", parentId: "parent", turns: 0 });
  expect((await parent.command(maker, "take", "made")).output).toBe("Begin.");
  await (await runtime.session("made")).turn("Hi.").result();
  expect(model.requests[2]?.tools).toEqual([]);
});

test.each(SEAMS.flatMap((seam) => [[seam, "at once"] as const, [seam, "later"] as const]))(
  "K15 createSession in %s (%s) of a session that exists fails typed, and the process and the session live on",
  async (seam, when) => {
    const model = scripted(calls("ping"), says("Done."), says("Again."), says("Again."));
    const plugins = [directs(seam, { id: "taken" }, when === "later")];
    const failures = await unheard(async () => {
      await using runtime = await running({ model, plugins, tools: [ping] });
      await runtime.session("taken");
      const parent = await runtime.session("parent");
      const { outcome } = await within(parent.turn("Go.").result());
      expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed" });
      expect((await within(parent.turn("Again.").result())).outcome).toMatchObject({ kind: "answered" });
    });
    expect(failures).toEqual([]);
  },
);

/** At the last moment before the turn completes, where nothing waits any more. */
const atTheEnd = (request: NewSessionRequest): Plugin =>
  definePlugin({
    id: "a/directs",
    setup: () => ({ checkpoint: ({ at }) => (at === "before-completion" ? createSession(request) : undefined) }),
  });

test("K15 createSession at the end of a turn makes the session before the turn is done, on a slow store too", async () => {
  const store = memory();
  const { create } = store;
  store.create = async (session) => {
    await passed(10);
    return create.call(store, session);
  };
  await using runtime = await running({ store, plugins: [atTheEnd({ id: "made" })] });
  await (await runtime.session("parent")).turn("Go.").result();
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["made", "parent"]);
});

test("K15 createSession at the end of a turn, of a session that exists, fails typed, and the process lives on", async () => {
  const failures = await unheard(async () => {
    await using runtime = await running({ plugins: [atTheEnd({ id: "taken" })] });
    await runtime.session("taken");
    const parent = await runtime.session("parent");
    const { outcome } = await within(parent.turn("Go.").result());
    expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed" });
  });
  expect(failures).toEqual([]);
});

test("K15 a session that is asked for at a gate is made once, though the gate is passed twice", async () => {
  const asks = definePlugin({
    id: "a/asks",
    setup: () => ({ beforeToolCall: () => createSession({ kind: "child" }) }),
  });
  const replaces = definePlugin({
    id: "b/replaces",
    setup: () => ({ beforeToolCall: () => replaceArgs({}) }),
  });
  const model = scripted(calls("ping", { x: 1 }), says("Done."));
  await using runtime = await running({ model, plugins: [asks, replaces], tools: [ping] });
  await (await runtime.session("parent")).turn("Go.").result();
  expect(await runtime.sessions.list()).toHaveLength(2);
});

test.each<readonly [string, object, string]>([
  ["an id that cannot be one", { id: "" }, "session.id"],
  ["an id that is taken", { id: "parent" }, "session.exists"],
])("K15 sessions.create with %s is typed", async (_, request, code) => {
  await using runtime = await running({ plugins: [maker] });
  const parent = await runtime.session("parent");
  await expect(parent.command(maker, "make", request)).rejects.toMatchObject({ code });
  expect(await runtime.sessions.list()).toHaveLength(1);
});

test.each<readonly [string, object]>([
  ["a kind that is none", { id: "x", kind: "cousin" }],
  ["hidden tools that are not a list", { id: "x", kind: "child", permissions: { hiddenTools: "ping" } }],
  ["an access that is not a list", { id: "x", kind: "child", permissions: { toolAccess: "ping" } }],
  ["a first input that is not a text", { id: "x", kind: "child", firstInput: 42 }],
  ["a first input that is empty", { id: "x", kind: "child", firstInput: " " }],
  ["a parent other than its own session", { id: "x", kind: "child", from: "other" }],
  ["a node, and no fork", { id: "x", kind: "child", at: "n" }],
  ["states of the runtime", { id: "x", states: { "bowline/authority": { version: "1", revision: 1, state: {} } } }],
])("K15 sessions.create with %s is refused, and no session is made", async (_, request) => {
  await using runtime = await running({ plugins: [maker] });
  const parent = await runtime.session("parent");
  await expect(parent.command(maker, "make", request as NewSessionRequest)).rejects.toMatchObject({
    code: expect.any(String),
  });
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["parent"]);
});

test("K15 the first input of a session is given once, to one of all who ask", async () => {
  await using world = await twoOn(memory(), { plugins: [maker] });
  const parent = await world.one.session("parent");
  const elsewhere = await world.two.session("other");
  await parent.command(maker, "make", { id: "child", kind: "child", firstInput: "Begin." });
  const taken = await within(
    Promise.all([1, 2, 3].flatMap(() => [parent, elsewhere].map((session) => session.command(maker, "take", "child")))),
  );
  expect(taken.map(({ output }) => output).filter((words) => words !== null)).toEqual(["Begin."]);
  expect((await parent.command(maker, "take", "child")).output).toBe(null);
  expect((await parent.command(maker, "take", "parent")).output).toBe(null);
  await expect(parent.command(maker, "take", "nobody")).rejects.toMatchObject({ code: "session.unknown" });
});

test("K15 the first input stays while turns and commands go by, and its taking changes nothing else", async () => {
  const store = memory();
  await using runtime = await running({ store, plugins: [maker] });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child", firstInput: "Begin." });
  const child = await runtime.session("child");
  await child.turn("Hi.").result();
  await child.command(maker, "set", 7);
  expect((await parent.command(maker, "take", "child")).output).toBe("Begin.");
  expect([await said(child), await turnsOf(child)]).toEqual([["Hi."], 7]);
  await child.turn("More.").result();
  expect((await parent.command(maker, "take", "child")).output).toBe(null);
  expect([await said(child), await turnsOf(child)]).toEqual([["Hi.", "More."], 8]);
});

test("K15 the first input of a session is not its children's nor its forks'", async () => {
  await using runtime = await running({ plugins: [maker] });
  const root = await runtime.session("root");
  await root.command(maker, "make", { id: "child", kind: "child", firstInput: "Begin." });
  const child = await runtime.session("child");
  await child.command(maker, "make", { id: "grandchild", kind: "child", copiesState: true });
  const fork = await child.fork({ id: "fork" });
  expect((await root.command(maker, "take", "grandchild")).output).toBe(null);
  expect((await root.command(maker, "take", fork.id)).output).toBe(null);
  expect((await root.command(maker, "take", "child")).output).toBe("Begin.");
});

test("K15 a session takes its own first input in its own command", async () => {
  await using runtime = await running({ plugins: [maker] });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child", firstInput: "Begin." });
  const child = await runtime.session("child");
  expect((await within(child.command(maker, "take", "child"))).output).toBe("Begin.");
  expect((await within(child.command(maker, "take", "child"))).output).toBe(null);
});

// ── Permissions ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A tool that counts, of the app or of a plugin. */
function countingTools() {
  const ran: string[] = [];
  const make = (name: string) =>
    defineTool({
      name,
      description: `It is ${name}.`,
      input: z.object({}),
      execute: () => {
        ran.push(name);
        return name;
      },
    });
  const plugin = definePlugin({ id: "a/tools", setup: () => ({ tools: [make("c"), make("d")] }) });
  return { ran, tools: [make("a"), make("b")], plugin };
}

test.each<readonly [string, object, readonly string[]]>([
  ["hidden tools", { hiddenTools: ["b", "c"] }, ["a", "d"]],
  ["access to some", { toolAccess: ["b", "c"] }, ["b", "c"]],
  ["access to some, one of them hidden", { toolAccess: ["b", "c"], hiddenTools: ["b"] }, ["c"]],
  ["access to none", { toolAccess: [] }, []],
  ["names nobody has", { hiddenTools: ["x"] }, ["a", "b", "c", "d"]],
])(
  "K15 a child with %s is shown those it has, and no other executes, also when it is opened again",
  async (_, permissions, has) => {
    const { ran, tools, plugin } = countingTools();
    const all = both(...["a", "b", "c", "d"].map((name) => calls(name)));
    const script = [all, says("Done.")];
    const models = [scripted(...script, ...script), scripted(...script)];
    const store = memory();
    const runtime = await running({ store, model: models[0]!, plugins: [maker, plugin], tools });
    const parent = await runtime.session("parent");
    await parent.command(maker, "make", { id: "child", kind: "child", permissions });
    const other = await running({ store, model: models[1]!, plugins: [plugin, maker], tools });
    await using __ = runtime;
    const turns = [
      (await runtime.session("child")).turn("Go.").result(),
      (await other.session("child")).turn("Go.").result(),
    ];
    await Promise.all(turns);
    const fork = await (await runtime.session("child")).fork();
    await fork.turn("Go.").result();
    for (const request of models.flatMap(({ requests }) => requests))
      expect(request.tools.map(({ name }) => name)).toEqual(has);
    expect(ran.toSorted()).toEqual([...has, ...has, ...has].toSorted());
    const results = outline((await fork.read()).messages).slice(-5, -1);
    expect(results.filter((line) => line.includes("There is no tool"))).toHaveLength(4 - has.length);
  },
);

test("K15 a parent keeps its tools, and a child without permissions has them all", async () => {
  const { tools, plugin } = countingTools();
  const model = scripted(says("1"), says("2"));
  await using runtime = await running({ model, plugins: [maker, plugin], tools });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "free", kind: "child" });
  await parent.command(maker, "make", { id: "bound", kind: "child", permissions: { toolAccess: [] } });
  await parent.turn("Go.").result();
  await (await runtime.session("free")).turn("Go.").result();
  for (const { tools: shown } of model.requests) expect(shown.map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
});

test("K15 a plugin reads what its session may have and whose subagent it is, in turns and operations; a root has no bounds", async () => {
  const read: unknown[] = [];
  const looks = definePlugin({
    id: "b/looks",
    setup: ({ query }) => ({
      beforeTurn: ({ session }) => void read.push(session.read().permissions),
      operations: { permissions: query({ run: ({ session }) => session.read().permissions ?? null }) },
    }),
  });
  const permissions = {
    toolAccess: ["a"],
    hiddenTools: ["b"],
    subagent: { capability: "scout", depth: 1, depthMax: 2 },
  };
  await using runtime = await running({ plugins: [maker, looks] });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child", permissions });
  const child = await runtime.session("child");
  for (const session of [parent, child]) await session.turn("Go.").result();
  expect(read).toEqual([undefined, permissions]);
  expect(await child.query(looks, "permissions")).toEqual(permissions);
  expect((await runtime.sessions.get("child")).permissions).toEqual(permissions);
});

test("K15 hidden tools are not in the catalog that plugins of the child read, in turns and between them", async () => {
  const seen: (readonly string[])[] = [];
  const { tools, plugin } = countingTools();
  const looks = definePlugin({
    id: "b/looks",
    setup: () => ({
      prompt: ({ catalog }) => void seen.push(catalog.list().map(({ name }) => name)),
      lifecycle: ({ event, catalog }) => {
        if (event.kind === "turnPersisted") seen.push(catalog.list().map(({ name }) => name));
      },
    }),
  });
  await using runtime = await running({ plugins: [maker, plugin, looks], tools });
  const parent = await runtime.session("parent");
  await parent.command(maker, "make", { id: "child", kind: "child", permissions: { toolAccess: ["a", "c"] } });
  const child = await runtime.session("child");
  await child.turn("Go.").result();
  seen.push(await child.query(maker, "tools"));
  expect(seen).toEqual([
    ["a", "c"],
    ["a", "c"],
    ["a", "c"],
  ]);
});

test("K15 tools that a plugin hides from the catalog are not in what operations read of it", async () => {
  const { tools } = countingTools();
  const hides = definePlugin({ id: "b/hides", setup: () => ({ toolCatalog: () => [{ tool: "b", hide: true }] }) });
  await using runtime = await running({ plugins: [maker, hides], tools });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(await session.query(maker, "tools")).toEqual(["a"]);
});

test.each(["child", "child with copies", "fork"] as const)(
  "K15 a child cannot shed its permissions: what it makes (%s) has no tool that it has not",
  async (what) => {
    const { ran, tools, plugin } = countingTools();
    const model = scripted(both(...["a", "b", "c", "d"].map((name) => calls(name))), says("Done."));
    await using runtime = await running({ model, plugins: [maker, plugin], tools });
    const parent = await runtime.session("parent");
    await parent.command(maker, "make", { id: "child", kind: "child", permissions: { hiddenTools: ["b"] } });
    const child = await runtime.session("child");
    await child.command(maker, "make", {
      id: "grandchild",
      kind: what === "fork" ? "fork" : "child",
      ...(what === "child with copies" ? { copiesState: true } : {}),
      permissions: { hiddenTools: ["c"] },
    });
    await (await runtime.session("grandchild")).turn("Go.").result();
    expect(ran).toEqual(["a", "d"]);
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["a", "d"]);
  },
);

// ── Deletion ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K15 a deleted session is gone for good: its id is used up, for opening, making and forking", async () => {
  await using runtime = await running({ plugins: [maker] });
  const parent = await runtime.session("parent");
  const gone = await runtime.session("gone");
  await gone.turn("Hi.").result();
  await runtime.sessions.delete("gone");
  for (const act of [
    () => runtime.session("gone"),
    () => parent.command(maker, "make", { id: "gone" }),
    () => parent.fork({ id: "gone" }),
  ])
    await expect(act()).rejects.toMatchObject({ code: "session.deleted", details: { id: "gone" } });
  for (const act of [
    (): Promise<unknown> => gone.turn("More.").result(),
    () => gone.read(),
    () => gone.command(maker, "set", 1),
    () => gone.configure({ instructions: "x" }),
    () => gone.fork(),
    () => runtime.sessions.get("gone"),
  ])
    await expect(within(act())).rejects.toMatchObject({ code: expect.stringMatching(/session\.(unknown|deleted)/) });
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["parent"]);
});

test("K15 a session with a running turn is not deleted", async () => {
  const hold = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const slow = defineTool({
    name: "slow",
    description: "Takes long.",
    input: z.object({}),
    execute: async () => {
      began.resolve();
      await hold.promise;
      return "Done.";
    },
  });
  await using runtime = await running({ model: scripted(calls("slow"), says("Done.")), tools: [slow] });
  const session = await runtime.session("s");
  const turn = session.turn("Go.").result();
  await began.promise;
  await expect(runtime.sessions.delete("s")).rejects.toMatchObject({ code: "session.busy" });
  hold.resolve();
  expect((await turn).outcome.kind).toBe("answered");
  await runtime.sessions.delete("s");
});

// ── K20 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Tools, prompt, hooks, operations, state: everything in one. */
const bundle = definePlugin({
  id: "acme/notes",
  options: z.object({ max: z.number().default(3) }),
  state: z.object({ notes: z.array(z.string()).default([]), denied: z.number().default(0) }),
  setup: ({ options, session, tool, query, command }) => ({
    prompt: ({ state }) => [
      { slot: "context", title: "Notes", text: state.get().notes.join(", ") || "none", tools: ["note"] },
      { slot: "environment", text: session.isRoot ? "root" : `child of ${session.parentId}` },
    ],
    beforeToolCall: ({ call, state }) => {
      if (call.name !== "note" || state.get().notes.length < options.max) return undefined;
      state.update((now) => ({ ...now, denied: now.denied + 1 }));
      return { kind: "deny" as const, reason: "No room." };
    },
    tools: [
      tool({
        name: "note",
        description: "Notes.",
        input: z.object({ text: z.string() }),
        writes: true,
        execute: ({ text }, { state }) => {
          state.update((now) => ({ ...now, notes: [...now.notes, text] }));
          return state.get().notes.length;
        },
      }),
    ],
    operations: {
      all: query({ run: ({ state }) => state.get() }),
      clear: command({
        run: ({ state, emit }) => {
          emit("cleared", state.get().notes.length);
          state.update((now) => ({ ...now, notes: [] }));
        },
      }),
    },
  }),
});

test("K20 a bundle of tools, prompt, hooks, operations and state works alike at the root, in a child and in a fork", async () => {
  const store = memory();
  const script = () => [
    both(calls("note", { text: "x" }), calls("note", { text: "y" })),
    says("Noted."),
    calls("note", { text: "z" }),
    calls("note", { text: "!" }),
    says("Full."),
    says("End."),
  ];
  for (const kind of ["root", "child", "fork"] as const) {
    const model = scripted(...script());
    const runtime = await running({ store, model, plugins: [bundle({ max: 3 }), maker] });
    const base = await runtime.session(`base of ${kind}`);
    if (kind !== "root") await base.command(maker, "make", { id: kind, kind });
    const session = await runtime.session(kind);
    for (let turn = 0; turn < 2; turn++) await session.turn("Go.").result();
    expect(await session.query(bundle, "all"), kind).toEqual({ notes: ["x", "y", "z"], denied: 1 });
    expect((await session.command(bundle, "clear")).events).toEqual([{ name: "cleared", payload: 3 }]);
    await session.turn("End.").result();
    const place = kind === "child" ? "child of base of child" : "root";
    expect(model.requests.map(({ system }) => system)).toEqual(
      ["none", "none", "x, y", "x, y", "x, y", "none"].map((notes) => `## Notes\n\n${notes}\n\n${place}`),
    );
    expect(model.requests[0]?.tools.map(({ name }) => name)).toEqual(["note"]);
    expect((await nodesOf(store, session)).at(-3)).toBe('acme/notes event {"name":"cleared","payload":3}');
    expect((await store.load(session.id))?.plugins["acme/notes"]).toMatchObject({ state: { notes: [], denied: 1 } });
    expect(await base.query(bundle, "all")).toEqual({ notes: [], denied: 0 });
  }
});

test("K20 in a child that cannot use its tool the rest of a bundle works", async () => {
  const model = scripted(calls("note", { text: "x" }), says("Done."));
  await using runtime = await running({ model, plugins: [bundle, maker] });
  const base = await runtime.session("base");
  await base.command(maker, "make", { id: "child", kind: "child", permissions: { hiddenTools: ["note"] } });
  const child = await runtime.session("child");
  await child.turn("Go.").result();
  expect(model.requests[0]).toMatchObject({ tools: [], system: "child of base" });
  expect(await child.query(bundle, "all")).toEqual({ notes: [], denied: 0 });
  expect((await child.command(bundle, "clear")).events).toEqual([{ name: "cleared", payload: 0 }]);
});

test("K20 a fork of a session continues with the bundle's state and does not share it", async () => {
  const model = scripted(calls("note", { text: "x" }), says("1"), calls("note", { text: "fork" }), says("2"));
  await using runtime = await running({ model, plugins: [bundle] });
  const source = await runtime.session("source");
  await source.turn("Go.").result();
  const fork = await source.fork();
  await fork.turn("Go.").result();
  expect((await source.query(bundle, "all")).notes).toEqual(["x"]);
  expect((await fork.query(bundle, "all")).notes).toEqual(["x", "fork"]);
});
