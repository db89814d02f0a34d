import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Availability, hasCode, type Tool } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { codeOf, within } from "../kit/reading.ts";
import { around } from "../kit/stores.ts";
import { held, named, twoOn } from "../kit/worlds.ts";
import { maker } from "./maker.ts";
import { begins, did, obeys, opened, toolsIn } from "./obedient.ts";
import { supplies } from "./supplies.ts";

const abc = (): readonly Tool[] => ["a", "b", "c"].map((name) => named(name));

// ── Looking and setting ─────────────────────────────────────────────────────────────────────────────────────────────

test("T4 the list shows every tool with its source and how far it is open", async () => {
  await using world = await opened({ tools: [named("a", undefined, { availability: "searchable" })] });
  await world.session.tools.add(supplies("acme/live", [named("b", undefined, { availability: "off" })]));
  expect(await world.session.tools.list({ raw: true })).toEqual([
    { name: "a", description: "Does a.", source: "app", availability: "searchable" },
    { name: "b", description: "Does b.", source: "acme/live", availability: "off" },
  ]);
});

test("T4 one tool or many are set at once, from the next turn on", async () => {
  await using world = await opened({ tools: abc() });
  await world.session.tools.set("a", "off");
  await did(world.session);
  expect(world.offered()).toEqual(["b", "c"]);
  await world.session.tools.set(["b", "c"], "searchable");
  await did(world.session);
  expect(world.offered()).toEqual([]);
  await world.session.tools.set(["a", "b", "c"], "callable");
  expect((await did(world.session, "a", "b", "c")).shown).toHaveLength(3);
});

test("T4 a tool that is off or can only be found is not called, and the model reads which it is", async () => {
  await using world = await opened({ tools: abc() });
  await world.session.tools.set("a", "off");
  await world.session.tools.set("b", "searchable");
  const { shown, outcome } = await did(world.session, "a", "b", "c");
  expect(shown).toEqual([
    "a failed: Error (tool.unavailable): The tool a is switched off. Do without it.",
    expect.stringMatching(/^b failed: Error \(tool\.unavailable\): The tool b is not open to you yet\. Open it/),
    "c ok: c!",
  ]);
  expect(outcome.kind).toBe("answered");
});

test("T4 the model reads it too if the tool itself declares that it is off, or searchable", async () => {
  const tools = [named("a", undefined, { availability: "off" }), named("b", undefined, { availability: "searchable" })];
  await using world = await opened({ tools });
  const { shown } = await did(world.session, "a", "b");
  expect(shown[0]).toContain("tool.unavailable");
  expect(shown[1]).toContain("tool.unavailable");
});

test("T4 many of which one is unknown are not set at all", async () => {
  await using world = await opened({ tools: abc() });
  const failing = world.session.tools.set(["a", "nowhere"], "off");
  expect(await codeOf(failing)).toBe("tool.unknown");
  await failing.catch((error: unknown) => {
    if (!hasCode(error, "tool.unknown")) throw error;
    expect(error.details).toEqual({ name: "nowhere", known: ["a", "b", "c"] });
  });
  await did(world.session);
  expect(world.offered()).toEqual(["a", "b", "c"]);
});

const WRONG: readonly (readonly [string, unknown, unknown])[] = [
  ["an availability that is none", "a", "sometimes"],
  ["no availability", "a", undefined],
  ["names that are none", 5, "off"],
  ["a list with something else", ["a", 5], "off"],
  ["no names", undefined, "off"],
];
for (const [what, names, availability] of WRONG) {
  test(`T4 ${what} is refused by code`, async () => {
    await using world = await opened({ tools: abc() });
    expect(await codeOf(world.session.tools.set(names as string, availability as Availability))).toBe("input.invalid");
  });
}

test("T4 tools named like what every object has are set like any others", async () => {
  expect(() => named("__proto__")).toThrow(/Invalid tool name/); // Too much of the world trips over it.
  const names = ["constructor", "toString", "hasOwnProperty", "valueOf", "prototype"];
  const store = memory();
  await using world = await opened({ tools: names.map((name) => named(name)), store });
  for (const name of names) {
    await world.session.tools.set(name, "off");
    await did(world.session);
    expect(world.offered(), name).toEqual(names.slice(names.indexOf(name) + 1));
  }
  const again = await opened({ tools: names.map((name) => named(name)), store });
  await did(again.session);
  expect(again.offered()).toEqual([]);
  const { generation, tools } = await world.session.tools.export();
  const opening = Object.entries(tools).map(([name, entry]) => [name, { ...entry, availability: "callable" as const }]);
  await world.session.tools.apply({ generation, tools: Object.fromEntries(opening) });
  expect((await did(world.session, ...names)).shown).toEqual(names.map((name) => `${name} ok: ${name}!`));
});

test("T4 sets that come at once are all kept", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `tool_${index}`);
  await using world = await opened({ tools: names.map((name) => named(name)) });
  await Promise.all(names.slice(1).map((name) => world.session.tools.set(name, "off")));
  await did(world.session);
  expect(world.offered()).toEqual(["tool_0"]);
});

test("T4 sets from two runtimes on one store are all kept, and seen in both", async () => {
  await using both = await twoOn(memory(), { tools: abc(), model: obeys() });
  const [one, two] = [await both.one.session("s"), await both.two.session("s")];
  await Promise.all([one.tools.set("a", "off"), two.tools.set("b", "off"), one.tools.set("c", "searchable")]);
  for (const session of [one, two])
    expect((await session.tools.list({ raw: true })).map(({ availability }) => availability)).toEqual([
      "off",
      "off",
      "searchable",
    ]);
});

test("T4 what another runtime set between two turns counts in the next one here", async () => {
  const store = memory();
  await using here = await opened({ tools: abc(), store });
  const there = await opened({ tools: abc(), store });
  await did(here.session);
  await there.session.tools.set("a", "off");
  await did(here.session);
  expect(here.offered()).toEqual(["b", "c"]);
  await there.session.tools.set("a", "callable");
  await there.session.tools.set("c", "off");
  await did(here.session);
  expect(here.offered()).toEqual(["a", "b"]);
});

test("T4 choices and grants are kept in a file, with turns on a host that keeps a journal", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bowline-tools-"));
  try {
    const inner = named("inner", (_, { bindings }) => bindings, { audience: "runtime" });
    const tools = () => [...abc(), inner];
    const plugins = [maker];
    await using first = await opened({ tools: tools(), plugins, store: sqlite(join(folder, "agent.db")) });
    await first.session.tools.set("a", "off");
    await first.session.command(maker, "grant", ["door", { source: "app", tool: "inner", bindings: { n: 1 } }]);
    expect((await did(first.session, "b", "door")).shown).toEqual(["b ok: b!", 'door ok: {"n":1}']);
    await first.runtime.close();
    await using second = await opened({ tools: tools(), plugins, store: sqlite(join(folder, "agent.db")) });
    expect((await did(second.session, "a", "door")).shown[1]).toBe('door ok: {"n":1}');
    expect(second.offered()).toEqual(["b", "c"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("T4 a set that the store does not keep changes nothing", async () => {
  let isBroken = false;
  const store = around(memory(), {
    apply: (act) => (isBroken ? Promise.reject(new Error("The disk is full.")) : act()),
  });
  await using world = await opened({ tools: abc(), store });
  await did(world.session);
  isBroken = true;
  await expect(world.session.tools.set("a", "off")).rejects.toThrow(/disk is full/);
  isBroken = false;
  expect((await world.session.tools.list({ raw: true }))[0]?.availability).toBe("callable");
  await did(world.session);
  expect(world.offered()).toEqual(["a", "b", "c"]);
});

test("T4 two thousand tools can be set, and the choice is kept", async () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `server_name_tool_${index}`);
  const store = memory();
  const tools = names.map((name) => named(name));
  await using world = await opened({ tools, store });
  await world.session.tools.set(names, "searchable");
  const again = await opened({ tools, store });
  await did(again.session);
  expect(again.offered()).toEqual([]);
});

// ── Beside and inside turns ─────────────────────────────────────────────────────────────────────────────────────────

test("T4 what is set while a turn runs counts from the next turn on", async () => {
  const slow = held("slow", "slow!");
  await using world = await opened({ tools: [slow.tool, named("a")] });
  const turn = begins(world.session, "slow");
  await slow.began();
  const set = world.session.tools.set("a", "off");
  slow.release();
  await turn.result();
  await within(set);
  expect(world.offered()).toEqual(["slow", "a"]);
  await did(world.session);
  expect(world.offered()).toEqual(["slow"]);
});

test("T4 a tool cannot change the choices of its session in code, can read and add, and its turn continues", async () => {
  const world = await opened({
    tools: [
      named("a"),
      named("tries", async () => {
        const { tools } = world.session;
        const state = await tools.export();
        return {
          seen: (await tools.list({ raw: true })).length,
          described: (await tools.describe("a"))?.name ?? null,
          codes: await Promise.all(
            [tools.set("a", "off"), tools.apply(state), tools.restore(state), tools.add(supplies("acme/x"))].map(
              codeOf,
            ),
          ),
        };
      }),
    ],
  });
  await using _ = world;
  const { outputs, outcome } = await within(did(world.session, "tries"));
  expect(outputs[0]).toEqual({
    kind: "value",
    value: { seen: 2, described: "a", codes: [...Array(3).fill("operation.reentrant"), "nothing was thrown"] },
  });
  expect(outcome.kind).toBe("answered");
  await world.session.tools.set("a", "off");
});

test("T4 a tool may change the tools of another session", async () => {
  const world = await opened({
    tools: [named("a"), named("tries", async () => (await world.runtime.session("other")).tools.set("a", "off"))],
  });
  await using _ = world;
  await within(did(world.session, "tries"));
  await did(await world.runtime.session("other"));
  expect(world.offered()).toEqual(["tries"]);
});

test("T4 nothing is done through a closed session or runtime", async () => {
  const world = await opened({ tools: abc() });
  const { tools } = world.session;
  await world.session.close();
  expect(await codeOf(tools.list())).toBe("session.closed");
  expect(await codeOf(tools.set("a", "off"))).toBe("session.closed");
  const second = await world.runtime.session("two");
  await world.runtime.close();
  expect(await codeOf(second.tools.export())).toBe("runtime.closed");
});

// ── Export, apply, restore ──────────────────────────────────────────────────────────────────────────────────────────

test("T4 an export that is edited and applied is what counts; what was taken out is off", async () => {
  await using world = await opened({ tools: abc() });
  const { tools } = world.session;
  const state = await tools.export();
  expect(state.tools).toEqual({
    a: { source: "app", availability: "callable" },
    b: { source: "app", availability: "callable" },
    c: { source: "app", availability: "callable" },
  });
  const { c: _, ...rest } = state.tools;
  const after = await tools.apply({ ...state, tools: { ...rest, a: { source: "app", availability: "documented" } } });
  expect(after.tools).toEqual({
    a: { source: "app", availability: "documented" },
    b: { source: "app", availability: "callable" },
    c: { source: "app", availability: "off" },
  });
  expect(after.generation).toBeGreaterThan(state.generation);
  await did(world.session);
  expect(world.offered()).toEqual(["a", "b"]);
});

test("T4 an export is of the generation it was read from: a set, a list or a source in between refuses it", async () => {
  const supply = supplies("acme/live", [named("d")]);
  await using world = await opened({ tools: abc(), plugins: [maker] });
  const { tools } = world.session;
  const moves: readonly (() => Promise<unknown> | void)[] = [
    () => tools.set("a", "off"),
    () => tools.add(supply),
    () => supply.change(named("e")),
    () => world.session.command(maker, "set", ["b", "off"]),
  ];
  for (const move of moves) {
    const state = await tools.export();
    await move();
    expect(await codeOf(tools.apply(state))).toBe("tool.generation");
  }
  const fresh = await tools.export();
  expect((await tools.apply(fresh)).tools).toEqual(fresh.tools);
  expect(await codeOf(tools.apply(fresh)), "an apply is a change too").toBe("tool.generation");
});

test("T4 an export of other tools is refused by another runtime that has more of them", async () => {
  const store = memory();
  await using world = await opened({ tools: [named("a")], store });
  const state = await world.session.tools.export();
  const again = await opened({ tools: [named("a"), named("b")], store });
  expect(await codeOf(again.session.tools.apply(state))).toBe("tool.generation");
  await did(again.session);
  expect(again.offered()).toEqual(["a", "b"]);
});

test("T4 a tool that is not there, or of another source, is not applied", async () => {
  await using world = await opened({ tools: abc() });
  const { tools } = world.session;
  const state = await tools.export();
  const with1 = (name: string, source: string) =>
    tools.apply({ ...state, tools: { ...state.tools, [name]: { source, availability: "callable" } } });
  expect(await codeOf(with1("nowhere", "app"))).toBe("tool.unknown");
  expect(await codeOf(with1("a", "elsewhere"))).toBe("tool.unknown");
  expect(await tools.export()).toEqual(state);
});

const NO_STATES: readonly unknown[] = [
  undefined,
  null,
  5,
  {},
  { generation: "1", tools: {} },
  { generation: 1.5, tools: {} },
  { generation: 0, tools: [1] },
  { generation: 0, tools: { a: null } },
  { generation: 0, tools: { a: { source: "app" } } },
  { generation: 0, tools: { a: { source: 5, availability: "off" } } },
  { generation: 0, tools: { a: { source: "app", availability: "sometimes" } } },
];
test("T4 an invalid tool state is neither applied nor restored", async () => {
  await using world = await opened({ tools: abc() });
  for (const state of NO_STATES) {
    expect(await codeOf(world.session.tools.apply(state as never)), JSON.stringify(state)).toBe("input.invalid");
    expect(await codeOf(world.session.tools.restore(state as never)), JSON.stringify(state)).toBe("input.invalid");
  }
});

test("T4 a state of another session is restored: a missing tool is an orphan, a new tool has its declared availability", async () => {
  await using world = await opened({ tools: abc() });
  const { state, orphans } = await world.session.tools.restore({
    generation: 40,
    tools: {
      a: { source: "app", availability: "off" },
      far: { source: "acme/far", availability: "documented" },
    },
  });
  expect(orphans).toEqual(["far"]);
  expect(state.generation).toBeGreaterThan(40);
  expect(state.tools.far).toEqual({ source: "acme/far", availability: "documented", isOrphan: true });
  const { shown } = await did(world.session, "far", "b");
  expect(world.offered()).toEqual(["b", "c"]);
  expect(shown[0]).toMatch(/^far failed: Error \(tool\.un/);
});

test("T4 an orphan is bound again when its source comes back, with what was chosen for it", async () => {
  await using world = await opened({ tools: [named("a")] });
  const { tools } = world.session;
  await tools.restore({
    generation: 0,
    tools: {
      far: { source: "acme/far", availability: "documented" },
      off: { source: "acme/far", availability: "off" },
    },
  });
  await tools.add(supplies("acme/far", [named("far"), named("off")]));
  expect((await tools.list({ raw: true })).map(({ name, isOrphan = false }) => [name, isOrphan])).toEqual([
    ["a", false],
    ["far", false],
    ["off", false],
  ]);
  expect((await did(world.session, "far")).shown).toEqual(["far ok: far!"]);
  expect(world.offered()).toEqual(["a", "far"]);
  expect(world.model.requests[0]?.system).toContain("`far`: Does far.");
});

test("T4 a choice holds for one source's tool and not for another's of the same name", async () => {
  await using world = await opened();
  const { tools } = world.session;
  const first = await tools.add(supplies("acme/one", [named("ping", () => "one")]));
  await tools.set("ping", "off");
  await first.remove();
  await tools.add(supplies("acme/two", [named("ping", () => "two")]));
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: two"]);
});

test("T4 an opt-out from before a restart does not carry to another source's tool of the same name", async () => {
  const store = memory();
  await using world = await opened({ store });
  await world.session.tools.add(supplies("acme/one", [named("ping", () => "one")]));
  await world.session.tools.set("ping", "off");
  const again = await opened({ store, tools: [supplies("acme/two", [named("ping", () => "two")])] });
  expect((await did(again.session, "ping")).shown).toEqual(["ping ok: two"]);
  const { tools } = await again.session.tools.export();
  expect(tools.ping, "an export shows the tool that is there, not the orphan").toEqual({
    source: "acme/two",
    availability: "callable",
  });
});

test("T4 what was chosen for a live source is kept while it is away, and goes when it is removed", async () => {
  const store = memory();
  await using world = await opened({ store });
  await world.session.tools.add(supplies("acme/live", [named("a"), named("b")]));
  await world.session.tools.set("a", "off");
  const again = await opened({ store });
  expect(await again.session.tools.list({ raw: true })).toEqual([
    { name: "a", description: "", source: "acme/live", availability: "off", isOrphan: true },
  ]);
  const back = await again.session.tools.add(supplies("acme/live", [named("a"), named("b")]));
  await did(again.session);
  expect(again.offered()).toEqual(["b"]);
  await back.remove();
  await again.session.tools.add(supplies("acme/live", [named("a"), named("b")]));
  await did(again.session);
  expect(again.offered()).toEqual(["a", "b"]);
});

test("T4 a removed source is removed in a restart too", async () => {
  const store = memory();
  await using world = await opened({ store });
  const live = await world.session.tools.add(supplies("acme/live", [named("a")]));
  await world.session.tools.set("a", "off");
  await live.remove();
  const again = await opened({ store });
  expect(await again.session.tools.list({ raw: true })).toEqual([]);
});

test("T4 choices survive a restart, are copied by forks, and each goes its own way after", async () => {
  const store = memory();
  await using world = await opened({ tools: abc(), store });
  await world.session.tools.set("a", "off");
  const fork = await world.session.fork({ id: "fork" });
  await fork.tools.set("b", "off");
  await world.session.tools.set("c", "off");
  const again = await opened({ tools: abc(), store });
  for (const runtime of [world, again]) {
    await did(await runtime.runtime.session("one"));
    expect(runtime.offered()).toEqual(["b"]);
    await did(await runtime.runtime.session("fork"));
    expect(runtime.offered()).toEqual(["c"]);
  }
});

test("T4 the largest generation there is does not stop later changes from counting", async () => {
  await using world = await opened({ tools: abc() });
  const { tools } = world.session;
  const largest = { generation: Number.MAX_SAFE_INTEGER, tools: {} };
  if ((await codeOf(tools.restore(largest))) === "input.invalid") return; // To refuse it is right too.
  for (const name of ["a", "b"]) {
    await tools.set(name, "off");
    await did(world.session);
    expect(world.offered()).not.toContain(name);
  }
  const state = await tools.export();
  expect((await tools.apply(state)).tools).toEqual(state.tools);
});

// ── Round trips ─────────────────────────────────────────────────────────────────────────────────────────────────────

const NAMES = ["a", "b", "c", "toString", "constructor"];
const availability = fc.constantFrom<Availability>("off", "searchable", "callable", "documented");

test("T4 any edits of an export, applied, are exported again, restored elsewhere, and kept", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.constantFrom(...NAMES), availability, { noNullPrototype: true }),
      fc.subarray(NAMES),
      async (edits, deleted) => {
        const store = memory();
        const tools = NAMES.map((name, index) =>
          named(name, undefined, index % 2 === 0 ? {} : { availability: "searchable" }),
        );
        await using world = await opened({ tools, store });
        const { generation, tools: exported } = await world.session.tools.export();
        const edited = Object.entries(exported)
          .filter(([name]) => !deleted.includes(name))
          .map(([name, entry]) => [name, Object.hasOwn(edits, name) ? { ...entry, availability: edits[name] } : entry]);
        const applied = await world.session.tools.apply({ generation, tools: Object.fromEntries(edited) });
        const wanted = (name: string) => {
          if (deleted.includes(name)) return "off";
          return Object.hasOwn(edits, name) ? edits[name] : exported[name]?.availability;
        };
        const seen = (state: typeof applied) =>
          Object.fromEntries(Object.entries(state.tools).map(([name, entry]) => [name, entry.availability]));
        const expected = Object.fromEntries(NAMES.map((name) => [name, wanted(name)]));
        expect(seen(applied)).toEqual(expected);
        expect(seen(await world.session.tools.export())).toEqual(expected);
        const elsewhere = await world.runtime.session("elsewhere");
        const { state, orphans } = await elsewhere.tools.restore(applied);
        expect([seen(state), orphans]).toEqual([expected, []]);
        const again = await opened({ tools, store });
        await did(again.session);
        const open = NAMES.filter((name) => ["callable", "documented"].includes(wanted(name) as string));
        expect(toolsIn(again.model.requests[0])).toEqual(open);
      },
    ),
    { numRuns: 60 },
  );
});

test("T4 whatever comes and goes, what was chosen for a source's tool holds whenever that tool is there", async () => {
  const SOURCES = ["acme/a", "acme/b"];
  const move = fc.oneof(
    fc.record({ do: fc.constant("toggle" as const), source: fc.constantFrom(...SOURCES) }),
    fc.record({ do: fc.constant("set" as const), name: fc.constantFrom("x", "y"), to: availability }),
    fc.record({ do: fc.constant("restart" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 12 }), async (moves) => {
      const store = memory();
      let world = await opened({ store });
      const live = new Map<string, { remove(): Promise<void> }>();
      /** By the model: of the tools that are there, in the order of their sources. */
      const chosen = new Map<string, Availability>();
      const owner = (): string | undefined => [...live.keys()][0];
      for (const each of moves) {
        if (each.do === "toggle") {
          const there = live.get(each.source);
          if (there === undefined)
            live.set(each.source, await world.session.tools.add(supplies(each.source, [named("x"), named("y")])));
          else {
            live.delete(each.source);
            await there.remove();
            for (const key of [...chosen.keys()]) if (key.startsWith(`${each.source} `)) chosen.delete(key);
          }
        } else if (each.do === "set") {
          if (owner() === undefined) continue;
          await world.session.tools.set(each.name, each.to);
          for (const source of SOURCES) chosen.delete(`${source} ${each.name}`); // One choice for a name.
          chosen.set(`${owner()} ${each.name}`, each.to);
        } else {
          world = await opened({ store });
          live.clear();
        }
        const listed = (await world.session.tools.list({ raw: true })).filter(({ isOrphan }) => isOrphan !== true);
        const expected =
          owner() === undefined
            ? []
            : ["x", "y"].map((name) => [name, owner(), chosen.get(`${owner()} ${name}`) ?? "callable"]);
        expect(listed.map(({ name, source, availability: is }) => [name, source, is])).toEqual(expected);
      }
    }),
    { numRuns: 60 },
  );
});
