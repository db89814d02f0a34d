import { definePlugin, type Plugin, type Session, type Tool, type ToolProvider } from "bowline";
import { type Availability, createSession, type NewSessionRequest, point } from "bowline/plugin";
import type { Protocol } from "bowline/protocol";
import { memory } from "bowline/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf } from "../kit/reading.ts";
import { named } from "../kit/worlds.ts";
import { toolLoop } from "../turn/drivers.ts";
import { made, maker } from "./maker.ts";
import { did, opened, toolsIn } from "./obedient.ts";
import { supplies } from "./supplies.ts";

type Edit = { readonly tool: string; hide?: true; availability?: Availability; description?: string; note?: string };

/** A plugin that edits the catalog. */
const edits = (id: string, ...edit: readonly Edit[]): Plugin =>
  definePlugin({ id, setup: () => ({ toolCatalog: () => edit }) })();

/** A plugin that gives each turn what the test says. */
const gives = (tools: () => readonly (Tool | ToolProvider)[], includeBaseTools?: () => boolean): Plugin =>
  definePlugin({
    id: "acme/gives",
    setup: () => ({
      context: ({ context }) => ({
        ...context,
        tools: tools(),
        ...(includeBaseTools === undefined ? {} : { includeBaseTools: includeBaseTools() }),
      }),
    }),
  })();

// ── T2 Composition ──────────────────────────────────────────────────────────────────────────────────────────────────

test("T2 a catalog has the app's tools, then plugins', then providers', then the turn's", async () => {
  const gift = definePlugin({ id: "acme/gift", setup: () => ({ tools: [named("gift")] }) });
  await using world = await opened({
    tools: [supplies("acme/far", [named("far")]), named("near")],
    plugins: [gift, gives(() => [named("now")])],
  });
  await did(world.session);
  expect(world.offered()).toEqual(["near", "gift", "far", "now"]);
  expect((await did(world.session, "near", "gift", "far", "now")).shown).toHaveLength(4);
});

test("T2 a tool of the turn replaces another of its name, for this turn", async () => {
  let tools: readonly Tool[] = [];
  await using world = await opened({
    tools: [named("ping", () => "base"), named("pong")],
    plugins: [gives(() => tools)],
  });
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: base"]);
  tools = [named("ping", () => "turn")];
  expect((await did(world.session, "ping", "pong")).shown).toEqual(["ping ok: turn", "pong ok: pong!"]);
  tools = [];
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: base"]);
});

test("T2 a tool of the turn belongs to the plugin that gave it, also when another plugin hands it on", async () => {
  const keeps = (id: string, name: string, n: number) =>
    definePlugin({
      id,
      state: z.object({ n: z.number().default(n) }),
      setup: ({ tool, query }) => {
        const own = tool({
          name,
          description: "Counts.",
          input: z.object({}),
          writes: true,
          execute: (_, { state }) => {
            state.update((now) => ({ n: now.n + 1 }));
            return state.get().n;
          },
        });
        return {
          context: ({ context }) => ({ ...context, tools: [...(context.tools ?? []), own] }),
          operations: { n: query({ run: ({ state }) => state.get().n }) },
        };
      },
    });
  const [a, b] = [keeps("acme/a", "one", 10), keeps("acme/b", "two", 20)];
  await using world = await opened({ plugins: [a, b] });
  expect((await did(world.session, "one", "two", "one")).shown).toEqual(["one ok: 11", "two ok: 21", "one ok: 12"]);
  expect([await world.session.query(a, "n"), await world.session.query(b, "n")]).toEqual([12, 21]);
});

test("T2 without the base tools only the turn's are there, and the others cannot be called", async () => {
  let hasBase = false;
  await using world = await opened({
    tools: [named("base"), supplies("acme/far", [named("far")])],
    plugins: [
      gives(
        () => [named("own")],
        () => hasBase,
      ),
    ],
  });
  const { shown } = await did(world.session, "own", "base", "far");
  expect(world.offered()).toEqual(["own"]);
  expect(shown[0]).toBe("own ok: own!");
  expect(shown[1]).toMatch(/^base failed: Error \(tool\.unknown\)/);
  expect(shown[2]).toMatch(/^far failed: Error \(tool\.unknown\)/);
  hasBase = true;
  await did(world.session);
  expect(world.offered()).toEqual(["base", "far", "own"]);
});

test("T2 plugins edit the catalog in their order; the session's own edits come after theirs", async () => {
  const plugins = [
    edits("acme/late", { tool: "ping", description: "Late." }),
    definePlugin({
      id: "acme/early",
      order: "early",
      setup: () => ({ toolCatalog: () => [{ tool: "ping", description: "Early.", note: "Mind the gap." }] }),
    }),
    maker,
  ];
  await using world = await opened({ tools: [named("ping")], plugins });
  await did(world.session);
  const described = () => world.model.requests.at(-1)?.tools[0]?.description;
  expect(described()).toBe("Late.");
  const other = await made(world.runtime, world.session, { overlay: [{ tool: "ping", note: "And yours." }] });
  await did(other);
  expect(described()).toBe("Late.\n\nAnd yours.");
});

test("T2 notes of several plugins are all there, in order", async () => {
  await using world = await opened({
    tools: [named("ping")],
    plugins: [edits("acme/a", { tool: "ping", note: "One." }), edits("acme/b", { tool: "ping", note: "Two." })],
  });
  await did(world.session);
  expect(world.model.requests[0]?.tools[0]?.description).toBe("Does ping.\n\nOne.\n\nTwo.");
});

test("T2 what one plugin hides no other brings back, in any order", async () => {
  for (const hide of ["acme/a", "acme/b"]) {
    const plugins = ["acme/a", "acme/b"].map((id) =>
      edits(id, id === hide ? { tool: "ping", hide: true } : { tool: "ping", availability: "documented" }),
    );
    await using world = await opened({ tools: [named("ping"), named("pong")], plugins });
    const { shown } = await did(world.session, "ping");
    expect(world.offered()).toEqual(["pong"]);
    expect(shown[0]).toMatch(
      /^ping failed: Error \(tool\.unknown\): There is no tool ping\. Call one of these instead: pong\./,
    );
  }
});

test("T2 a hidden tool is described in the same words whether or not the session has its choices", async () => {
  const plugins = [edits("acme/a", { tool: "ping", hide: true })];
  await using world = await opened({ tools: [named("ping"), named("pong")], plugins });
  const [before] = (await did(world.session, "ping")).shown;
  await world.session.tools.set("pong", "documented");
  const [after] = (await did(world.session, "ping")).shown;
  expect(after).toBe(before);
});

test("T2 availability by a plugin: searchable is not declared, off is not there, documented is in the prompt", async () => {
  const plugins = [
    edits(
      "acme/a",
      { tool: "found", availability: "searchable" },
      { tool: "gone", availability: "off" },
      { tool: "told", availability: "documented" },
    ),
    maker,
  ];
  const tools = ["found", "gone", "told"].map((name) => named(name));
  await using world = await opened({ tools, plugins });
  await did(world.session);
  expect(world.offered()).toEqual(["told"]);
  expect(world.model.requests[0]?.system).toContain("`told`: Does told.");
  expect(await world.session.query(maker, "tools")).toEqual(["found", "told"]);
});

test("T2 an edit of a tool that is not there, or of none, changes nothing", async () => {
  await using world = await opened({
    tools: [named("ping")],
    plugins: [edits("acme/a", { tool: "nowhere", hide: true }, { tool: "__proto__", availability: "callable" })],
  });
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
});

const BAD: readonly (readonly [string, unknown])[] = [
  ["an availability that is none", { tool: "ping", availability: "sometimes" }],
  ["a description that is not a text", { tool: "ping", description: 5 }],
  ["a note that is not a text", { tool: "ping", note: {} }],
];
for (const [what, edit] of BAD) {
  test(`T2 ${what} is refused: in a plugin's edit the turn fails by its name, in a session's overlay at once`, async () => {
    await using world = await opened({ tools: [named("ping")], plugins: [edits("acme/a", edit as Edit), maker] });
    expect((await did(world.session)).outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.answer" });
    const request = { overlay: [edit] } as NewSessionRequest;
    expect(await codeOf(world.session.command(maker, "make", request))).toBe("input.invalid");
  });
}

test("K15 an app forks a session with another overlay; without one the fork has that of its origin, from the start too", async () => {
  await using world = await opened({ tools: [named("a"), named("b")], plugins: [maker] });
  const origin = await made(world.runtime, world.session, { overlay: [{ tool: "a", hide: true }] });
  await did(origin);
  const offered = async (session: Session) => {
    await did(session);
    return world.offered();
  };
  const overlay = [{ tool: "b", hide: true as const }];
  const first = (await origin.read()).messages[0]?.id;
  expect(await offered(await origin.fork())).toEqual(["b"]);
  expect(await offered(await origin.fork({ before: first })), "an empty fork").toEqual(["b"]);
  const other = await origin.fork({ overlay });
  overlay.pop();
  expect(await offered(other)).toEqual(["a"]);
  expect(await offered(await origin.fork({ before: first, overlay: [] }))).toEqual(["a", "b"]);
  expect(await offered(await world.runtime.sessions.fork(origin.id, { overlay: [] }))).toEqual(["a", "b"]);
  const before = (await world.runtime.sessions.list()).length;
  for (const wrong of ["a", [{ hide: true }], [{ tool: "a", availability: "open" }]] as never[]) {
    expect(await codeOf(origin.fork({ overlay: wrong }))).toBe("input.invalid");
    expect(await codeOf(world.runtime.sessions.fork(origin.id, { overlay: wrong }))).toBe("input.invalid");
  }
  expect(await world.runtime.sessions.list()).toHaveLength(before);
});

test("T2 who edits a catalog sees the session's permissions, points, and the contracts of tools that are loaded", async () => {
  const seen: { [id: string]: unknown[] } = {};
  const depth = point<number, number>("acme/depth", (given) => given.length);
  const looks = definePlugin({
    id: "acme/looks",
    setup: () => ({
      contributions: [depth.of(1)],
      toolCatalog: ({ sessionId, tools, permissions, contract, read }) => {
        const contracts = tools.map(({ name }) => contract(name)?.inputSchema.type ?? name);
        seen[sessionId] = [permissions, contracts, contract("nobody"), read(depth)];
        return contract("far") === undefined ? [] : [{ tool: "far", note: "Loaded." }];
      },
    }),
  });
  const permissions = { toolAccess: ["near", "far"], hiddenTools: ["hidden"] };
  await using world = await opened({
    tools: [named("near"), named("other"), named("hidden"), supplies("acme/far", [named("far")])],
    plugins: [looks, maker],
  });
  const child = await made(world.runtime, world.session, { id: "child", kind: "child", permissions });
  await did(child);
  expect(seen.child).toEqual([permissions, ["object", "far"], undefined, 1]);
  await did(world.session);
  expect(seen.one).toEqual([undefined, Array(4).fill("object"), undefined, 1]);
  const described = world.model.requests.at(-1)?.tools.find(({ name }) => name === "far")?.description;
  expect(described).toContain("Loaded.");
});

test("K15 a session's overlay is its own; a fork copies it, a fork with another has that one, a child has none", async () => {
  await using world = await opened({ tools: [named("a"), named("b")], plugins: [maker] });
  const seen = async (request: NewSessionRequest, from = world.session) => {
    const session = await made(world.runtime, from, request);
    await did(session);
    return { session, tools: world.offered() };
  };
  const origin = await seen({ overlay: [{ tool: "a", hide: true }] });
  expect(origin.tools).toEqual(["b"]);
  expect((await seen({ kind: "fork" }, origin.session)).tools).toEqual(["b"]);
  expect((await seen({ kind: "fork", overlay: [{ tool: "b", hide: true }] }, origin.session)).tools).toEqual(["a"]);
  expect((await seen({ kind: "fork", overlay: [] }, origin.session)).tools).toEqual(["a", "b"]);
  expect((await seen({ kind: "child" }, origin.session)).tools).toEqual(["a", "b"]);
  const copy = await origin.session.fork();
  await did(copy);
  expect(world.offered()).toEqual(["b"]);
  await did(world.session);
  expect(world.offered()).toEqual(["a", "b"]);
});

test("K15 a child with a copy of the states has its parent's overlay and choice of tools, and its own permissions", async () => {
  const tools = ["a", "b", "c", "d"].map((name) => named(name));
  await using world = await opened({ tools, plugins: [maker] });
  const parent = await made(world.runtime, world.session, { overlay: [{ tool: "a", hide: true }] });
  await parent.tools.set("b", "off");
  const offered = async (request: NewSessionRequest) => {
    await did(await made(world.runtime, parent, { kind: "child", ...request }));
    return world.offered();
  };
  const permissions = { hiddenTools: ["c"] };
  expect(await offered({ copiesState: true, permissions })).toEqual(["d"]);
  expect(await offered({ copiesState: true, overlay: [] })).toEqual(["a", "c", "d"]);
  expect(await offered({ permissions })).toEqual(["a", "b", "d"]);
});

// ── T2 Permissions ──────────────────────────────────────────────────────────────────────────────────────────────────

const PERMISSIONS: readonly (readonly [string, NewSessionRequest["permissions"] & object])[] = [
  ["hiddenTools", { hiddenTools: ["secret"] }],
  ["toolAccess", { toolAccess: ["open", "set"] }],
];

for (const [way, permissions] of PERMISSIONS) {
  /** A child that may not have `secret`, whatever is tried; `set` is a tool that tries. */
  const child = async (store = memory()) => {
    const secret = named("secret", () => "leaked");
    const searcher = definePlugin({
      id: "acme/search",
      setup: ({ tool }) => ({
        tools: [
          tool({
            name: "set",
            description: "Makes it callable, in three ways.",
            input: z.object({}),
            writes: true,
            execute: (_, { membership }) =>
              [
                () => membership.set("secret", "documented"),
                () => membership.grant("secret", { source: "app", tool: "secret" }),
                () => membership.grant("door", { source: "app", tool: "secret" }),
                () => membership.grant("set2", { source: "acme/search", tool: "set" }),
              ].map((attempt) => {
                try {
                  return attempt() ?? "done";
                } catch (error) {
                  return String(error); // To refuse it is right too.
                }
              }),
          }),
        ],
        toolCatalog: () => [{ tool: "secret", availability: "documented" as const, note: "Here." }],
      }),
    });
    const world = await opened({ tools: [secret, named("open")], plugins: [searcher, maker], store });
    return { world, session: await made(world.runtime, world.session, { kind: "child", id: "child", permissions }) };
  };

  test(`T2 ${way}: a hidden tool neither appears nor runs, whatever plugins, searches and grants say`, async () => {
    const { world, session } = await child();
    await using _ = world;
    const tried = await did(session, "secret", "set");
    expect(toolsIn(world.model.requests[0])).toEqual(["open", "set"]);
    expect(tried.shown[0]).toMatch(/^secret failed: Error \(tool\.unknown\)/);
    const after = await did(session, "secret", "door", "open");
    expect(world.offered()).toEqual(["open", "set"]);
    expect(after.shown[0]).toMatch(/^secret failed: Error \(tool\.unknown\)/);
    expect(after.shown[1]).toMatch(/^door failed: Error \(tool\.unknown\)/);
    expect(after.shown[2]).toBe("open ok: open!");
    expect(JSON.stringify(world.model.requests)).not.toContain("leaked");
    expect(world.model.requests.every(({ system }) => !system.includes("secret"))).toBe(true);
  });

  test(`T2 ${way}: a hidden tool is not among what hosts and plugins see of the session's tools`, async () => {
    const { world, session } = await child();
    await using _ = world;
    await did(session);
    expect(await session.query(maker, "tools")).toEqual(["open", "set"]);
    expect(await session.query(maker, "describe", "secret")).toBe(false);
    expect(await session.tools.describe("secret")).toBeUndefined();
    expect((await session.tools.list()).map(({ name }) => name).toSorted()).toEqual(["open", "set"]);
    expect(Object.keys((await session.tools.export()).tools).toSorted()).toEqual(["open", "set"]);
  });

  test(`T2 ${way}: a hidden tool stays hidden after a restore, a refresh of its source, a restart and a fork`, async () => {
    const store = memory();
    const { world, session } = await child(store);
    await using _ = world;
    await session.tools.restore({
      generation: 7,
      tools: { secret: { source: "app", availability: "documented" } },
    });
    const isShut = async (where: typeof session) => {
      const { shown } = await did(where, "secret");
      expect(shown[0]).toMatch(/^secret failed: Error \(tool\.un/);
    };
    await isShut(session);
    await isShut(await session.fork());
    await isShut(await made(world.runtime, session, { kind: "child", permissions: {} }));
    await isShut(await made(world.runtime, session, { kind: "fork", permissions: { toolAccess: ["secret"] } }));
    const supply = supplies("acme/live", [named("open2")]);
    await session.tools.add(supply);
    supply.change(named("secret", () => "leaked"));
    await isShut(session);
    const { world: again } = await (async () => {
      const second = await opened({ tools: [named("secret", () => "leaked"), named("open")], plugins: [maker], store });
      return { world: second };
    })();
    await isShut(await again.runtime.session("child"));
  });

  test(`T2 ${way}: a tool of the turn under a hidden name is hidden too`, async () => {
    await using world = await opened({
      plugins: [maker, gives(() => [named("secret", () => "leaked"), named("open")])],
    });
    const session = await made(world.runtime, world.session, { kind: "child", permissions });
    const { shown } = await did(session, "secret", "open");
    expect(world.offered()).toEqual(["open"]);
    expect(shown[0]).toMatch(/^secret failed: Error \(tool\.unknown\)/);
    expect(shown[1]).toBe("open ok: open!");
  });
}

test("T2 a session without any access has no tools at all, and a turn continues", async () => {
  await using world = await opened({ tools: [named("ping")], plugins: [maker] });
  const session = await made(world.runtime, world.session, { kind: "child", permissions: { toolAccess: [] } });
  expect((await did(session, "ping")).outcome.kind).toBe("answered");
  expect(world.offered()).toEqual([]);
});

test("T2 what is meant for the runtime is neither shown nor called, whatever its availability is set to", async () => {
  const inner = named("inner", () => "leaked", { audience: "runtime" });
  await using world = await opened({ tools: [inner, named("ping")], plugins: [maker] });
  await world.session.tools.set(["inner", "ping"], "documented");
  const { shown } = await did(world.session, "inner");
  expect(world.offered()).toEqual(["ping"]);
  expect(shown[0]).toMatch(/^inner failed: Error \(tool\.unknown\)/);
  expect(await world.session.query(maker, "tools")).toEqual(["ping"]);
});

// ── T3 Cache ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A protocol that counts how often it is asked what to tell of a catalog. */
function counting() {
  const counts = { preambles: 0, edits: 0 };
  const slots: Protocol = {
    protocolSession: {},
    protocolDriver: {
      driver: toolLoop,
      preamble: ({ tools }) => {
        counts.preambles++;
        return { tools, prompt: [] };
      },
    },
  };
  const protocol = definePlugin({ id: "acme/protocol", setup: () => slots });
  const editor = definePlugin({
    id: "acme/editor",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      toolCatalog: () => void counts.edits++,
      operations: { bump: command({ run: ({ state }) => state.update(({ n }) => ({ n: n + 1 })) }) },
    }),
  });
  const other = definePlugin({
    id: "acme/other",
    state: z.object({ n: z.number().default(0) }),
    setup: () => ({ afterTurn: ({ state }) => state.update(({ n }) => ({ n: n + 1 })) }),
  });
  return { counts, protocol, editor, other };
}

test("T3 the same four parts of the key: composed once, over turns and rounds", async () => {
  const { counts, protocol, editor } = counting();
  await using world = await opened({ tools: [named("ping")], plugins: [protocol, editor] });
  for (let turn = 0; turn < 3; turn++) await did(world.session, "ping");
  expect(counts).toEqual({ preambles: 1, edits: 1 });
});

test("T3 sessions with the same tools share what was composed", async () => {
  const { counts, protocol } = counting();
  await using world = await opened({ tools: [named("ping")], plugins: [protocol] });
  for (const id of ["a", "b", "c"]) await did(await world.runtime.session(id), "ping");
  expect(counts.preambles).toBe(1);
});

test("T3 a plugin's state counts where a plugin edits the catalog, and only there", async () => {
  const { counts, protocol, editor, other } = counting();
  await using world = await opened({ tools: [named("ping")], plugins: [protocol, editor] });
  await did(world.session);
  await world.session.command(editor, "bump");
  await did(world.session);
  await did(world.session);
  expect(counts.edits).toBe(2);
  expect(counts.preambles, "the edits came to the same catalog").toBe(1);
  const without = counting();
  await using second = await opened({ tools: [named("ping")], plugins: [without.protocol, other] });
  for (let turn = 0; turn < 3; turn++) await did(second.session);
  expect(without.counts.preambles).toBe(1);
});

test("T3 a new generation, other tools of the turn, and the base flag each compose again, once", async () => {
  const { counts, protocol, editor } = counting();
  let turn: readonly Tool[] = [];
  let hasBase = true;
  const own = named("own");
  await using world = await opened({
    tools: [named("ping"), named("pong")],
    plugins: [
      protocol,
      editor,
      gives(
        () => turn,
        () => hasBase,
      ),
    ],
  });
  const composed = async () => {
    const before = counts.edits;
    await did(world.session);
    await did(world.session);
    return counts.edits - before;
  };
  expect(await composed()).toBe(1);
  await world.session.tools.set("pong", "off");
  expect(await composed(), "generation").toBe(1);
  turn = [own];
  expect(await composed(), "overlay").toBe(1);
  turn = [own];
  expect(await composed(), "the same objects in the same order").toBe(0);
  turn = [named("own")];
  expect(await composed(), "another object").toBe(1);
  hasBase = false;
  expect(await composed(), "base flag").toBe(1);
  expect(world.offered()).toEqual(["own"]);
});

test("T3 the same tools of the turn in another order are another catalog", async () => {
  const [a, b] = [named("a"), named("b")];
  let turn: readonly Tool[] = [a, b];
  await using world = await opened({ plugins: [gives(() => turn)] });
  await did(world.session);
  turn = [b, a];
  await did(world.session);
  expect(world.offered()).toEqual(["b", "a"]);
});

test("T3 a catalog that could not be composed leaves the one before: the next turn works", async () => {
  let isBroken = false;
  const own = named("own");
  const editor = definePlugin({
    id: "acme/editor",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      toolCatalog: () => {
        if (isBroken) throw new Error("Not now.");
      },
      operations: { bump: command({ run: ({ state }) => state.update(({ n }) => ({ n: n + 1 })) }) },
    }),
  });
  let turn: readonly Tool[] = [];
  await using world = await opened({ tools: [named("ping")], plugins: [editor, gives(() => turn)] });
  await did(world.session, "ping");
  isBroken = true;
  turn = [own];
  await world.session.command(editor, "bump");
  expect((await did(world.session)).outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed" });
  isBroken = false;
  turn = [];
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
  expect(world.offered()).toEqual(["ping"]);
  turn = [own];
  expect((await did(world.session, "own")).shown).toEqual(["own ok: own!"]);
});

/** Hides `ping` as long as its state says so; `beforeTurn` changes it by the words of the input. */
const hider = (prompt: () => void = () => {}) =>
  definePlugin({
    id: "acme/hider",
    state: z.object({ isShut: z.boolean().default(false) }),
    setup: () => ({
      beforeTurn: ({ input, state }) => {
        const words = JSON.stringify(input.parts);
        if (words.includes("shut")) state.update(() => ({ isShut: true }));
        if (words.includes("open")) state.update(() => ({ isShut: false }));
      },
      toolCatalog: ({ state }) => (state.get().isShut ? [{ tool: "ping", hide: true as const }] : []),
      prompt: () => prompt(),
    }),
  });

test("T3 a state that is changed before the catalog is built counts in the same turn, the first or a later one", async () => {
  await using world = await opened({ tools: [named("ping")], plugins: [hider()] });
  await world.session.turn("shut").result();
  expect(world.offered(), "first turn").toEqual([]);
  await world.session.turn("open").result();
  expect(world.offered(), "opened again").toEqual(["ping"]);
  await world.session.turn("Hello.").result();
  await world.session.turn("shut").result();
  expect(world.offered(), "a catalog was composed before").toEqual([]);
});

test("T3 a catalog made of a state that was not kept is not used again", async () => {
  let isBroken = true;
  const plugin = hider(() => {
    if (isBroken) throw new Error("Not now.");
  });
  await using world = await opened({ tools: [named("ping")], plugins: [plugin] });
  expect((await world.session.turn("shut").result()).outcome.kind).toBe("failed");
  isBroken = false;
  await world.session.turn("Hello.").result(); // What the failed turn changed is forgotten.
  expect(world.offered()).toEqual(["ping"]);
});

test("T3 a thousand tools are composed once, and each is found", async () => {
  const { counts, protocol } = counting();
  const tools = Array.from({ length: 1_000 }, (_, index) => named(`tool_${index}`));
  await using world = await opened({ tools, plugins: [protocol] });
  const { shown } = await did(world.session, "tool_0", "tool_999");
  expect(shown).toEqual(["tool_0 ok: tool_0!", "tool_999 ok: tool_999!"]);
  await did(world.session);
  expect(world.offered()).toHaveLength(1_000);
  expect(counts.preambles).toBe(1);
});

// ── K20 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K20 one bundle of tools, a provider, prompt, hooks, catalog edits, operations and state is alike at root, child and fork", async () => {
  const bundle = definePlugin({
    id: "acme/bundle",
    state: z.object({ calls: z.number().default(0), notes: z.number().default(0) }),
    setup: ({ tool, query, session }) => ({
      tools: [
        tool({
          name: "note",
          description: "Notes.",
          input: z.object({}),
          writes: true,
          execute: (_, { state }) => {
            state.update((now) => ({ ...now, notes: now.notes + 1 }));
            return state.get().notes;
          },
        }),
        supplies("acme/bundle-far", [named("far")]),
      ],
      prompt: () => [{ slot: "guidance", text: `Bundled at ${session.isRoot ? "a root" : "a child"}.` }],
      toolCatalog: () => [{ tool: "far", note: "Far away." }],
      beforeToolCall: ({ state }) => state.update((now) => ({ ...now, calls: now.calls + 1 })),
      operations: { counted: query({ run: ({ state }) => state.get() }) },
    }),
  });
  await using world = await opened({ plugins: [bundle, maker] });
  const root = world.session;
  expect((await did(root, "note", "far")).shown).toEqual(["note ok: 1", "far ok: far!"]);
  const child = await made(world.runtime, root, { kind: "child" });
  const fork = await made(world.runtime, root, { kind: "fork" });
  expect((await did(child, "note", "far")).shown).toEqual(["note ok: 1", "far ok: far!"]);
  expect(world.model.requests.at(-1)?.system).toContain("Bundled at a child.");
  expect((await did(fork, "note", "far")).shown).toEqual(["note ok: 2", "far ok: far!"]);
  expect(world.model.requests.at(-1)?.system).toContain("Bundled at a root.");
  for (const request of world.model.requests) {
    expect(toolsIn(request)).toEqual(["note", "far"]);
    expect(request.tools[1]?.description).toBe("Does far.\n\nFar away.");
  }
  expect(await root.query(bundle, "counted")).toEqual({ calls: 2, notes: 1 });
  expect(await child.query(bundle, "counted")).toEqual({ calls: 2, notes: 1 });
  expect(await fork.query(bundle, "counted")).toEqual({ calls: 4, notes: 2 });
});

test("K20 a bundle's tools work in a session that a hook of the bundle made", async () => {
  const spawns = definePlugin({
    id: "acme/spawns",
    setup: ({ session }) => ({
      tools: [named("ping")],
      beforeToolCall: () => (session.isRoot ? [createSession({ id: "made", kind: "child" })] : []),
    }),
  });
  await using world = await opened({ plugins: [spawns] });
  await did(world.session, "ping");
  expect((await did(await world.runtime.session("made"), "ping")).shown).toEqual(["ping ok: ping!"]);
});
