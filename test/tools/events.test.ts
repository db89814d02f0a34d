import { definePlugin, defineTool, type SessionEvent, type Turn } from "bowline";
import { abort, ask, createSession, deny, replaceArgs, shortCircuit } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, end } from "../kit/models.ts";
import { eventsOf, only, outline, within } from "../kit/reading.ts";
import { answerWait, named, open } from "../kit/worlds.ts";
import { made, maker } from "./maker.ts";
import { begins, did, type Opened, opened } from "./obedient.ts";
import { supplies } from "./supplies.ts";

/** One start and one end for each of these calls, in this order of ids, and nothing else. */
function expectPairs(events: readonly SessionEvent[], wanted: { readonly [callId: string]: string }): void {
  const starts = only(events, "toolStarted").map(({ call: { id } }) => String(id));
  const ends = only(events, "toolEnded").map(({ callId, status }) => [String(callId), status] as const);
  expect(starts.toSorted()).toEqual(Object.keys(wanted).toSorted());
  expect(Object.fromEntries(ends)).toEqual(wanted);
  expect(ends).toHaveLength(starts.length);
  for (const [id] of ends) {
    const started = events.findIndex((event) => event.kind === "toolStarted" && event.call.id === id);
    const ended = events.findIndex((event) => event.kind === "toolEnded" && event.callId === id);
    expect(started, id).toBeLessThan(ended);
  }
}

const guard = definePlugin({
  id: "acme/guard",
  setup: () => ({
    beforeToolCall: ({ call: { name } }) => {
      if (name === "denied") return [deny("No.")];
      if (name === "short") return [shortCircuit("Cached.")];
      if (name === "broken") throw new Error("The gate broke.");
      return [];
    },
  }),
});
const watcher = definePlugin({ id: "acme/watcher", setup: () => ({ afterToolCall: () => {} }) });

const PLUGINS = [
  ["no hooks", []],
  ["a gate", [guard]],
  ["an after-hook", [watcher]],
  ["both", [guard, watcher]],
] as const;

for (const [what, plugins] of PLUGINS) {
  test(`T13 with ${what}: one start and one end for every native call, whatever becomes of it`, async () => {
    let tries = 0;
    const strict = defineTool({
      name: "strict",
      description: "Strict.",
      input: z.object({ n: z.number() }),
      execute: () => 1,
    });
    const tools = [
      ...["fine", "denied", "short", "broken"].map((name) => named(name)),
      named("later", async () => "later"),
      named("throws", () => {
        throw new Error("No.");
      }),
      named("slow", () => new Promise(() => {}), { timeoutMs: 20 }),
      named("serial", () => "alone", { isSerial: true }),
      named(
        "retried",
        () => {
          if (++tries < 3) throw new Error("Again.");
          return "well";
        },
        { retry: { policy: "idempotent", attempts: 3, baseMs: 1 } },
      ),
      strict,
    ];
    await using world = await opened({ tools, plugins: [...plugins] });
    const has = plugins.some(({ id }) => id === "acme/guard");
    const asked = ["fine", "denied", "short", "broken", "later", "throws", "slow", "serial", "retried", "strict"];
    const { events } = await did(world.session, ...asked, "nowhere");
    expectPairs(events, {
      c0: "ok",
      c1: has ? "denied" : "ok",
      c2: "ok",
      c3: has ? "denied" : "ok",
      c4: "ok",
      c5: "failed",
      c6: "failed",
      c7: "ok",
      c8: "ok",
      c9: "failed",
      c10: "failed",
    });
  });

  test(`T13 with ${what}: one start and one end for every call of a batch, a grant, a provider and a child`, async () => {
    const far = supplies("acme/far", [named("far")]);
    await using world = await opened({
      tools: [named("fine"), named("inner", undefined, { audience: "runtime" }), far],
      plugins: [...plugins, maker, toolCalls({ batch: true })],
    });
    const child = await made(world.runtime, world.session, { kind: "child" });
    for (const session of [world.session, child])
      await session.command(maker, "grant", ["door", { source: "app", tool: "inner" }]);
    const batch = { calls: ["fine", "door", "far", "nowhere"].map((tool) => ({ tool, input: {} })) };
    for (const session of [world.session, child]) {
      const { events } = await did(session, ["batch", batch], "door", "far", ["batch", { calls: [] }]);
      expectPairs(events, {
        "c0.0": "ok",
        "c0.1": "ok",
        "c0.2": "ok",
        "c0.3": "failed",
        c1: "ok",
        c2: "ok",
        c3: "failed",
      });
      const inner = only(events, "toolStarted").filter(({ call: { parentId } }) => parentId === "c0");
      expect(inner).toHaveLength(4);
    }
  });
}

test("T13 calls whose arguments are not JSON, or that are too many, start and end", async () => {
  const three = [call("ping", '{"n":', "a"), call("ping", {}, "b"), call("ping", {}, "c")];
  for (const plugins of [[], [guard, watcher]]) {
    const model = scripted([...three, { ...end, reason: "calls" } as typeof end], says("Done."));
    await using world = await open(model, { tools: [named("ping")], plugins, limits: { callsPerRoundMax: 2 } });
    expectPairs(await eventsOf(world.session.turn("Go.")), { a: "failed", b: "ok", c: "failed" });
  }
});

test("T13 calls of a cancelled turn start and end once: those that ran, that were left, and that never ran", async () => {
  for (const plugins of [[], [guard, watcher]]) {
    const entered = Promise.withResolvers<void>();
    const tools = [
      named("deaf", () => {
        entered.resolve();
        return new Promise(() => {});
      }),
      named("never"),
    ];
    await using world = await opened({ tools, plugins, limits: { parallelCallsMax: 1, cancelGraceMs: 20 } });
    const turn = begins(world.session, "deaf", "never");
    const events = eventsOf(turn);
    await entered.promise;
    await turn.cancel("Enough.");
    expectPairs(await within(events), { c0: "unknown", c1: "cancelled" });
  }
});

test("T13 calls of a turn that a gate stops start and end once, those that were not reached too", async () => {
  const stops = definePlugin({
    id: "acme/stops",
    setup: () => ({ beforeToolCall: ({ call: { name } }) => (name === "b" ? [abort("acme.stop", "Stop.")] : []) }),
  });
  await using world = await opened({ tools: ["a", "b", "c"].map((name) => named(name)), plugins: [stops] });
  const { events, outcome } = await did(world.session, "a", "b", "c");
  expect(outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "acme.stop" });
  expect(only(events, "toolStarted")).toHaveLength(3);
  expect(only(events, "toolEnded").map(({ callId }) => String(callId))).toEqual(["c0", "c1", "c2"]);
});

for (const hook of ["beforeToolCall", "afterToolCall"] as const) {
  test(`T13 calls of a round whose ${hook} asked for a session that cannot be made start and end once`, async () => {
    const breaks = definePlugin({
      id: "acme/breaks",
      setup: (): object => ({ [hook]: () => [createSession({ id: "\u0000" })] }),
    });
    await using world = await opened({ tools: [named("a"), named("b")], plugins: [breaks] });
    const { events } = await did(world.session, "a", "b");
    expect(only(events, "toolStarted").map(({ call: { id } }) => String(id))).toEqual(["c0", "c1"]);
    expect(only(events, "toolEnded").map(({ callId }) => String(callId))).toEqual(["c0", "c1"]);
  });
}

test("T13 an approval waits between start and end: given, refused, and denied by time", async () => {
  const asks = definePlugin({
    id: "acme/asks",
    setup: () => ({
      beforeToolCall: ({ call: { name } }) => [ask("May I?", name === "late" ? { waitMs: 20 } : {})],
    }),
  });
  await using world = await opened({ tools: ["yes", "no", "late"].map((name) => named(name)), plugins: [asks] });
  const turn = begins(world.session, "yes", "no", "late");
  const events: SessionEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    if (event.kind !== "waiting" || event.callId === ("c2" as never)) continue;
    await answerWait(world.runtime, event.wait, { approved: event.callId === ("c0" as never) });
  }
  expectPairs(events, { c0: "ok", c1: "denied", c2: "denied" });
});

test.each([
  ["memory", () => memory()],
  ["sqlite", () => sqlite(":memory:")],
])(
  "T13 %s: the person who is asked sees the arguments that the call is made with, also if a plugin has replaced them",
  async (_, store) => {
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({ beforeToolCall: () => [replaceArgs({ euros: 900 }), ask("May I?")] }),
    });
    const paid: unknown[] = [];
    const pay = named("pay", async (input) => void paid.push(input));
    await using world = await opened({ store: store(), tools: [pay], plugins: [asks] });
    const shown: unknown[] = [];
    const turn = begins(world.session, "pay");
    for await (const event of turn) {
      if (event.kind !== "waiting") continue;
      shown.push(event.call.input);
      await answerWait(world.runtime, event.wait, { approved: true });
    }
    expect(shown).toEqual([{ euros: 900 }]);
    expect(paid).toEqual(shown);
  },
);

test("T13 the typed result of a turn starts and ends like a call", async () => {
  const model = scripted(calls("submit_output", { n: "x" }, "a"), calls("submit_output", { n: 1 }, "b"));
  await using world = await open(model, {});
  const turn = world.session.turn("Go.", { output: z.object({ n: z.number() }) });
  expectPairs(await eventsOf(turn as Turn<unknown>), { a: "failed", b: "ok" });
  expect((await turn.result()).outcome).toMatchObject({ kind: "finished", value: { n: 1 } });
});

test("T13 an end has its duration and the result of the call", async () => {
  await using world = await opened({ tools: [named("a", async () => ({ n: 1 }))] });
  const { events } = await did(world.session, "a");
  const [ended] = only(events, "toolEnded");
  expect(ended).toMatchObject({ name: "a", status: "ok", output: { kind: "value", value: { n: 1 } } });
  expect(ended?.ms).toBeGreaterThanOrEqual(0);
});

test("T13 a result event has what after-hooks made of the result", async () => {
  const redact = definePlugin({
    id: "acme/redact",
    setup: () => ({ afterToolCall: () => [{ kind: "replaceResult" as const, value: "***" }] }),
  });
  await using world = await opened({ tools: [named("a", () => "secret")], plugins: [redact] });
  const { events } = await did(world.session, "a");
  expect(JSON.stringify(events)).not.toContain("secret");
});

// ── THE gate on every path ──────────────────────────────────────────────────────────────────────────────────────────

test("T13 I5 native, batched, granted, provided and contextual calls, at root and in a child: each is gated once and inspected once", async () => {
  const before: string[] = [];
  const after: string[] = [];
  const gate = definePlugin({
    id: "acme/gate",
    setup: () => ({
      beforeToolCall: ({ sessionId, call: { id, name } }) => void before.push(`${sessionId} ${id} ${name}`),
      afterToolCall: ({ sessionId, call: { id, name } }) => void after.push(`${sessionId} ${id} ${name}`),
      tools: [named("owned")],
      context: ({ context }) => ({
        ...context,
        tools: [named("turned"), turnsOwn],
      }),
    }),
  });
  const turnsOwn = supplies("acme/turns", [named("listed")]);
  const app = supplies("acme/far", [named("far")]);
  const live = supplies("acme/live", [named("live")]);
  const world: Opened = await opened({
    id: "root",
    tools: [named("native"), named("inner", undefined, { audience: "runtime" }), app],
    plugins: [gate, maker, toolCalls({ batch: true })],
  });
  await using _ = world;
  const child = await made(world.runtime, world.session, { id: "child", kind: "child" });
  const wanted: string[] = [];
  for (const session of [world.session, child]) {
    await session.command(maker, "grant", ["door", { source: "app", tool: "inner" }]);
    await session.tools.add(live);
    const names = ["native", "owned", "far", "live", "door", "turned", "listed"];
    const batch = { calls: names.map((tool) => ({ tool, input: {} })) };
    const { shown } = await did(session, ...names, ["batch", batch]);
    expect(shown.slice(0, -1)).toEqual(names.map((name) => `${name} ok: ${name === "door" ? "inner" : name}!`));
    wanted.push(...names.map((name, index) => `${session.id} c${index} ${name}`));
    wanted.push(...names.map((name, index) => `${session.id} c${names.length}.${index} ${name}`));
  }
  expect(before).toEqual(wanted);
  expect(after).toEqual(wanted);
});

test("T13 a denial holds on every path: nothing runs that the gate refused", async () => {
  const ran: string[] = [];
  const noting = (name: string, more: object = {}) => named(name, () => void ran.push(name), more);
  const never = definePlugin({ id: "acme/never", setup: () => ({ beforeToolCall: () => [deny("No.")] }) });
  await using world = await opened({
    tools: [noting("native"), noting("inner", { audience: "runtime" }), supplies("acme/far", [noting("far")])],
    plugins: [never, maker, toolCalls({ batch: true })],
  });
  await world.session.command(maker, "grant", ["door", { source: "app", tool: "inner" }]);
  const names = ["native", "far", "door"];
  const batch = { calls: names.map((tool) => ({ tool, input: {} })) };
  const { shown } = await did(world.session, ...names, ["batch", batch]);
  expect(ran).toEqual([]);
  expect(shown.every((line) => / denied: /.test(line))).toBe(true);
});

// ── Batch ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("P4 a batch that is off, hidden or not installed is not taken apart: nothing in it runs", async () => {
  let runs = 0;
  const ping = named("ping", () => ++runs);
  const batch = ["batch", { calls: [{ tool: "ping", input: {} }] }] as const;
  await using world = await opened({ tools: [ping], plugins: [toolCalls({ batch: true }), maker] });
  const child = await made(world.runtime, world.session, { kind: "child", permissions: { hiddenTools: ["batch"] } });
  expect((await did(child, batch)).shown[0], "hidden").toMatch(/^batch failed: .*tool\.un/s);
  await world.session.tools.set("batch", "off");
  expect((await did(world.session, batch)).shown[0], "off").toMatch(/^batch failed: .*tool\.un/s);
  await using without = await opened({ tools: [ping] });
  expect((await did(without.session, batch)).shown[0], "not installed").toMatch(/^batch failed: .*tool\.un/s);
  expect(runs).toBe(0);
});

test("P4 a batch shows each of its results under its name, in order, and is one result to the model", async () => {
  await using world = await opened({
    tools: [named("a"), named("b", () => JSON.parse("{"))],
    plugins: [toolCalls({ batch: true })],
  });
  const calls = ["a", "b", "nowhere", "a"].map((tool) => ({ tool, input: {} }));
  await did(world.session, ["batch", { calls }]);
  const lines = outline((await world.session.read()).messages).filter((line) => line.startsWith("batch ok"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/\[1\] a: ok.*\[2\] b: failed.*\[3\] nowhere: failed.*\[4\] a: ok/s);
});
