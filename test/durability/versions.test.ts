import { definePlugin, type Store } from "bowline";
import { deny } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Opened, TurnEvent } from "../../src/turn/event.ts";
import { outline, passed, within } from "../kit/reading.ts";
import { durable, over } from "../kit/stores.ts";
import { DAY, deployed, quickWorld } from "../kit/worlds.ts";
import { load, openedOf, type Recorded, unwordedIn } from "./recorded.ts";
import { journalOf, scenarioOf, taken, upTo } from "./resume.ts";
import { SCENARIOS } from "./scenarios.ts";
import { counter, inTurn, model, nothing, tool } from "./witness.ts";

const withOpened = ({ events }: Recorded, change: Partial<Opened>): readonly TurnEvent[] => [
  { ...(events[0] as Opened), ...change },
  ...events.slice(1),
];

// ── The machine and the protocol ────────────────────────────────────────────────────────────────────────────────────

test.each(SCENARIOS)(
  "D8 $name: a journal of another version of the machine that still folds is resumed",
  async ({ name }) => {
    const recorded = journalOf(name, "latest");
    const resumed = { kind: "resumed", at: recorded.events.at(-1)!.at, step: 98, generation: 1 } as const;
    await using today = await taken(recorded, { events: [...withOpened(recorded, { step: 99 }), resumed] });
    const { outcome, messages } = await today.ended();
    expect(outcome).toEqual(recorded.end.outcome);
    expect(unwordedIn(messages)).toEqual(unwordedIn(recorded.end.messages));
  },
);

test.each([
  ["another protocol", { id: "acme/protocol", version: 1 }],
  ["another version of it", { id: "bowline/tool-calls", version: 2 }],
] as const)("D8 a turn of %s is kept and ended, whatever was recorded", async (_, protocol) => {
  const recorded = journalOf("ten-tools");
  for (const cut of [1, 2, 3, 4, 5, recorded.events.length]) {
    const events = withOpened(recorded, { protocol }).slice(0, cut);
    await using today = await taken(recorded, { events });
    const { outcome, messages, session } = await today.ended();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "turn.diverged" });
    expect(outcome).toHaveProperty("reason", expect.stringContaining(protocol.id));
    expect(today.did).toEqual(nothing());
    expect(outline(messages).at(0)).toBe("user: How many kinds of tigers?");
    expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
  }
});

// ── Plugins ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const without = <O extends { plugins?: readonly unknown[] | undefined }>(options: O): O => ({
  ...options,
  plugins: [],
});

test("D8 a missing plugin: its committed state is kept, and the turn continues without it", async () => {
  const recorded = journalOf("boundary-input");
  const store = memory();
  const kept = { version: "1", revision: 7, state: { before: 40, after: 40, ends: 40 } };
  store.create({ id: recorded.input.sessionId, config: {}, at: 1 });
  store.apply({
    sessionId: recorded.input.sessionId,
    operation: "opr_before",
    at: 1,
    plugins: { "acme/counter": kept, "acme/long-gone": { ...kept, state: "x" } },
  });
  const cut = upTo(recorded, "replied");
  await using today = await taken(recorded, { store, cut, options: without });
  const { outcome, plugins } = await today.ended();
  expect(outcome.kind).toBe("answered");
  expect(plugins).toMatchObject({ "acme/counter": { version: "1" }, "acme/long-gone": { ...kept, state: "x" } });
});

test("D8 S5 a plugin that is gone: what it had changed in the turn is on record, and is kept with the turn", async () => {
  const recorded = journalOf("boundary-input");
  const cut = upTo(recorded, "settled");
  await using today = await taken(recorded, { cut, options: without });
  const { plugins } = await today.ended();
  expect(plugins["acme/counter"]).toMatchObject({ version: "1", state: { before: 1, after: 1 } });
});

test("D8 a plugin that is new joins a turn that others began: in its next effect, also where nobody had anything to do before", async () => {
  const recorded = journalOf("ten-tools"); // No plugin at all: gates and settling are skipped.
  const cut = upTo(recorded, "bounded", "r3.after-work");
  const seen: string[] = [];
  const guard = definePlugin({
    id: "acme/guard",
    setup: () => ({
      beforeToolCall: ({ call }) => {
        seen.push(call.name);
        return deny("Not any more.");
      },
    }),
  });
  await using today = await taken(recorded, { cut, options: (options) => ({ ...options, plugins: [guard] }) });
  await today.ended();
  expect(seen.length).toBeGreaterThan(0);
  expect(today.did.calls).toEqual([]);
});

test("D8 a plugin that is new has its say at the end of the turn, and in the next one", async () => {
  const recorded = journalOf("ten-tools");
  await using today = await taken(recorded, { options: (options) => ({ ...options, plugins: [counter] }) });
  const { session } = await today.ended();
  await session.turn("More.").result();
  expect(await session.query(counter, "counts")).toMatchObject({ ends: 2 });
});

const counterTwo = (migrate?: (state: never, from: string) => never) =>
  definePlugin({
    id: "acme/counter",
    version: "2",
    state: z.object({ total: z.number().default(0) }).strict(),
    ...(migrate === undefined ? {} : { migrate }),
    setup: ({ query }) => ({
      beforeToolCall: ({ state }) => state.update(({ total }) => ({ total: total + 1 })),
      afterToolCall: ({ state }) => state.update(({ total }) => ({ total: total + 1 })),
      operations: { total: query({ run: ({ state }) => state.get().total }) },
    }),
  });

test("D8 a plugin of another version takes over what was recorded of it in the turn, by its migrate", async () => {
  const recorded = journalOf("boundary-input");
  const froms: string[] = [];
  const migrating = counterTwo(((state: { before: number; after: number }, from: string) => {
    froms.push(from);
    return { total: (state.before ?? 0) * 10 + (state.after ?? 0) * 100 };
  }) as never);
  const cut = upTo(recorded, "returned"); // before: 1
  await using today = await taken(recorded, { cut, options: (options) => ({ ...options, plugins: [migrating] }) });
  const { outcome, plugins } = await today.ended();
  expect(outcome).toEqual(recorded.end.outcome);
  expect(plugins["acme/counter"]).toMatchObject({ version: "2", state: { total: 11 } });
  expect(new Set(froms)).toEqual(new Set(["1"]));
});

test.each([
  ["has no migrate", undefined],
  [
    "has one that throws",
    () => {
      throw new Error("I cannot.");
    },
  ],
] as const)("D8 a plugin of another version that %s ends the turn, which names it", async (_, migrate) => {
  const recorded = journalOf("boundary-input");
  const cut = upTo(recorded, "settled");
  const two = counterTwo(migrate as never);
  await using today = await taken(recorded, {
    cut,
    options: (options, did) => ({
      ...options,
      plugins: [two],
      model: model(did, inTurn(calls("search"), says("Yes."))),
    }),
  });
  const { outcome, messages, session } = await today.ended();
  expect(outcome).toMatchObject({ kind: "failed", code: "plugin.migrate" });
  expect(outcome).toHaveProperty("reason", expect.stringContaining("acme/counter"));
  expect(outline(messages)).toContain("search ok: Tigers.");
  expect(today.did.calls).toEqual([]);
  expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
});

test("D8 a committed state that a new version cannot read is refused by name, nothing is lost, and the version that can read it continues", async () => {
  const recorded = journalOf("boundary-input");
  const store = memory();
  store.create({ id: recorded.input.sessionId, config: {}, at: 1 });
  store.apply({
    sessionId: recorded.input.sessionId,
    operation: "opr_before",
    at: 1,
    plugins: { "acme/counter": { version: "1", revision: 7, state: { before: 4, after: 4, ends: 4 } } },
  });
  const cut = upTo(recorded, "settled");
  await using today = await taken(recorded, {
    store,
    cut,
    options: (options) => ({ ...options, plugins: [counterTwo()] }),
  });
  await expect(today.runtime.session(recorded.input.sessionId)).rejects.toMatchObject({ code: "plugin.migrate" });
  await expect(within(today.runtime.recover())).resolves.toBeDefined();
  expect((await today.runtime.session("other")).id).toBe("other");
  const did = nothing();
  const world = quickWorld({ now: today.world.now() + 1_000, name: "fixed" });
  const { runtime } = await deployed(durable(store), world, scenarioOf(recorded.name).options(did, undefined));
  const session = await runtime.session(recorded.input.sessionId);
  const { outcome } = await within(session.turn("How many kinds of tigers?", { key: "k" }).result());
  expect(outcome).toEqual(recorded.end.outcome);
  expect(did.calls).toEqual([]);
  await runtime.close();
});

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("D8 T14 an open call of a tool that is gone settles as unknown; one that was not open yet is an unknown tool", async () => {
  const recorded = journalOf("ten-tools");
  const cut = upTo(recorded, "replied", "r2.ask");
  await using today = await taken(recorded, { cut, options: (options) => ({ ...options, tools: [] }) });
  const { messages, outcome } = await today.ended();
  const results = outline(messages).filter((line) => line.startsWith("search "));
  expect(results[0]).toMatch(/^search ok/);
  expect(results[1]).toMatch(/^search unknown: .*interrupted/);
  expect(results.slice(2).every((line) => line.startsWith("search failed"))).toBe(true);
  expect(outcome.kind).not.toBe("failed");
});

test("D8 a tool that is new is not declared in a turn that was prepared without it, and is in the next", async () => {
  const recorded = journalOf("ten-tools");
  const declared: string[][] = [];
  await using today = await taken(recorded, {
    cut: upTo(recorded, "bounded", "r9.after-work"),
    options: (options, did) => ({
      ...options,
      tools: [...(options.tools ?? []), tool(did, "newer")],
      model: {
        ...(options.model as Provider),
        stream: (request, context) => {
          declared.push(request.tools.map(({ name }) => name));
          return (options.model as Provider).stream(request, context);
        },
      },
    }),
  });
  const { session } = await today.ended();
  const before = declared.length;
  await session.turn("More.").result();
  expect(declared.slice(0, before).every((names) => names.join() === "search")).toBe(true);
  expect(declared.at(-1)).toEqual(["search", "newer"]);
});

// ── Host ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Counts what is asked of it, and gives the loop a chance; a loop without an end is broken here. */
function counted(store: Store, max = 2_000): { readonly store: Store; opens: number } {
  const counting = {
    opens: 0,
    store: over(store, {
      open: async (...given) => {
        if (++counting.opens > max) return new Promise<never>(() => {});
        await new Promise((resolve) => setImmediate(resolve));
        return store.open(...given);
      },
    }),
  };
  return counting;
}

test("D8 a turn of another host is refused by name, is left as it is, and keeps nobody busy", async () => {
  const recorded = journalOf("ten-tools");
  const store = memory();
  await load(store, recorded, { events: withOpened(recorded, { host: "restate" }) });
  const counting = counted(store);
  const did = nothing();
  const world = quickWorld({ now: recorded.events.at(-1)!.at + 1, name: "now" });
  const { runtime } = await deployed(durable(counting.store), world, scenarioOf("ten-tools").options(did, undefined));
  const session = await runtime.session(recorded.input.sessionId);
  const turn = session.turn("How many kinds of tigers?", { key: "k" });
  await expect(within(turn.result())).rejects.toMatchObject({ code: "turn.host" });
  await passed(50);
  expect(counting.opens).toBeLessThan(5);
  expect(did).toEqual(nothing());
  expect(await store.journal(recorded.input.turnId, 0)).toHaveLength(recorded.events.length);
  await within(runtime.close());
});

test("D8 a turn that waits behind a turn of another host does not spin: it waits, or reports why it cannot run", async () => {
  const recorded = journalOf("ten-tools");
  const store = memory();
  await load(store, recorded, { events: withOpened(recorded, { host: "restate" }) });
  const counting = counted(store);
  const world = quickWorld({ now: recorded.events.at(-1)!.at + 1, name: "now" });
  const { runtime } = await deployed(
    durable(counting.store),
    world,
    scenarioOf("ten-tools").options(nothing(), undefined),
  );
  const session = await runtime.session(recorded.input.sessionId);
  await passed(20);
  const before = counting.opens;
  void session
    .turn("Me too.")
    .result()
    .catch(() => {});
  await passed(200);
  expect(counting.opens - before).toBeLessThan(20);
});

// ── Models, limits, configs ─────────────────────────────────────────────────────────────────────────────────────────

test.each([
  ["before the model was asked", 2],
  ["between two model calls", 5],
] as const)(
  "D8 a turn whose model is gone stays open, %s, and a cancel frees the session for another model",
  async (_, cut) => {
    const recorded = journalOf("ten-tools");
    const gone = withOpened(recorded, { config: { model: "gone/test" } }).slice(0, cut);
    await using today = await taken(recorded, { events: gone });
    await expect(today.ended()).rejects.toMatchObject({ code: "turn.model", details: { model: "gone/test" } });
    const { sessionId, turnId } = recorded.input;
    const session = await today.runtime.session(sessionId);
    expect((await session.read()).openTurn).toMatchObject({ id: turnId });
    await session.cancel(turnId);
    expect((await within(session.follow(turnId).result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
  },
);

test("D8 a turn keeps the limits, the instructions and the model settings that it began with", async () => {
  const recorded = journalOf("ten-tools");
  const { limits, config } = openedOf(recorded);
  const cut = 5;
  const events = withOpened(recorded, {
    limits: { ...limits, roundsMax: 4 },
    config: { ...config, settings: { temperature: 0.25 } },
  }).slice(0, cut);
  const requests: { system: string; temperature: number | undefined }[] = [];
  await using today = await taken(recorded, {
    events,
    options: (options) => ({
      ...options,
      instructions: "Be brief.",
      settings: { temperature: 0.75 },
      limits: { roundsMax: 40 },
      model: {
        ...(options.model as Provider),
        stream: (request, context) => {
          requests.push({ system: request.system, temperature: request.settings?.temperature });
          return (options.model as Provider).stream(request, context);
        },
      },
    }),
  });
  const { outcome, session } = await today.ended();
  expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.rounds" });
  expect(requests).toEqual(Array.from({ length: 3 }, () => ({ system: "", temperature: 0.25 })));
  await session.turn("More.").result();
  expect(requests.at(-1)).toMatchObject({ system: expect.stringContaining("Be brief."), temperature: 0.75 });
});

test("D8 a turn that was left too long ago ends with its expiry code and its earlier messages, and is not resumed", async () => {
  const recorded = journalOf("ten-tools");
  for (const cut of [1, 3, 4, recorded.events.length]) {
    await using today = await taken(recorded, { cut, now: recorded.events[cut - 1]!.at + 31 * DAY });
    const { outcome, messages, session } = await today.ended();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "turn.expired" });
    expect(today.did).toEqual(nothing());
    expect(outline(messages).at(0)).toBe("user: How many kinds of tigers?");
    expect(outline(messages).join()).not.toContain("upgrade"); // It was not one.
    expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
  }
});

test("D8 the age that counts is the limit on record, not today's", async () => {
  const recorded = journalOf("ten-tools");
  const { limits } = openedOf(recorded);
  const events = withOpened(recorded, { limits: { ...limits, turnAgeMs: 400 * DAY } });
  await using today = await taken(recorded, { events, now: recorded.events.at(-1)!.at + 31 * DAY });
  expect((await today.ended()).outcome.kind).toBe("answered");
});

test("D8 a turn that waited in the queue for long was not left: its age counts from when it began", async () => {
  const store = durable(memory());
  const did = nothing();
  const world = quickWorld({ name: "slow" });
  const options = { model: model(did, () => says("Yes.")) };
  const { runtime } = await deployed(store, world, options);
  const session = await runtime.session("s");
  await store.accept(
    {
      id: "inp_old" as never,
      turnId: "trn_old" as never,
      sessionId: session.id,
      key: "old",
      message: { role: "user", parts: [{ kind: "text", text: "Old." }] },
      place: "turn",
      hash: "h",
      at: world.now(),
    },
    { id: "gone", process: "elsewhere" },
    undefined,
    10,
  );
  world.pass(40 * DAY);
  // It begins now; the process that begins it dies at once.
  const opened = openedOf(journalOf("text"));
  const found = await store.open(session.id, { id: "gone", process: "elsewhere" }, world.now(), (input) => ({
    ...opened,
    at: world.now(),
    sessionId: session.id,
    turnId: input.turnId,
    inputId: input.id,
    input: input.message,
  }));
  if (found.kind === "opened") await store.release(found.lease);
  await within(runtime.recover());
  expect((await store.terminal("trn_old" as never))?.outcome).toMatchObject({ kind: "answered" });
});
