// What turns have spent, and how the store and its workers are: on every store, and as another process sees it.
import { hostname } from "node:os";
import { defer, type Runtime } from "bowline";
import { definePlugin } from "bowline/plugin";
import { type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { RuntimeError } from "../../src/model/errors.ts";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { codeOf, eventually, wordsOf } from "../kit/reading.ts";
import { around } from "../kit/stores.ts";
import { DAY, HOUR, named, running, Stop, stopping } from "../kit/worlds.ts";
import { onEveryStore, onFile } from "./places.ts";

const spent = (turns: number) => ({
  ...{ input: 10 * turns, cacheRead: 0, cacheWrite: 0, output: 5 * turns, reasoning: 0, unknownCalls: 0 },
});

/** Repeats what it is told, fails when it is told to, and calls the tool that it is told to call. */
const speaks = (modelId = "test"): Provider => ({
  id: "speaks",
  modelId,
  async *stream({ messages }) {
    const words = wordsOf(messages.findLast(({ role }) => role === "user"));
    if (words === "Fail.") throw new ProviderFailure({ class: "auth", message: "No." });
    const [, tool] = /^Call (\w+)/.exec(words) ?? [];
    if (tool !== undefined && messages.at(-1)?.role === "user") {
      yield call(tool);
      return yield endInCalls;
    }
    yield text(`re: ${words}`);
    yield end;
  },
});

onEveryStore("E6 a report adds up turns by time, model, session and tool, of one owner or all", async (place) => {
  const midnight = Math.floor(Date.now() / DAY) * DAY;
  const world = simulatedWorld({ now: midnight + HOUR });
  const names = (name: string) => (name === "speaks/other" ? speaks("other") : undefined);
  const prices = { "speaks/test": { input: 1_000_000, output: 0 } };
  const fails = named("bad", () => {
    throw new Error("No.");
  });
  const slow = named("slow", async () => {
    await world.advance(70);
    return "Done.";
  });
  const options = { model: speaks(), models: names, world, prices, tools: [fails, slow] };
  const runtime = await place.open(options);
  const ann = { owner: "ann", config: { label: "Trip" } };
  const a = await runtime.session("a", ann);
  const b = await runtime.session("b", { config: { model: "speaks/other" } });
  await a.turn("One.").result();
  await a.turn("Fail.").result();
  await world.advance(HOUR);
  await a.turn("Call bad").result();
  await a.turn("Call slow").result();
  await b.turn("Two.").result();
  await b.turn("Call slow").result();

  const other = await place.open({ ...options, recover: "manual" });
  const [first, second] = [midnight + HOUR, midnight + 2 * HOUR];
  const report = await other.usage();
  expect(report).toMatchObject({ since: world.now() - DAY, until: world.now(), stepMs: HOUR, isPartial: false });
  expect(report.rows).toEqual([
    { at: first, model: "speaks/test", turns: 2, failed: 1, usage: expect.anything(), cost: 10 },
    { at: second, model: "speaks/other", turns: 2, failed: 0, usage: spent(3) },
    { at: second, model: "speaks/test", turns: 2, failed: 0, usage: spent(4), cost: 40 },
  ]);
  expect(report.sessions).toMatchObject([
    { id: "a", label: "Trip", turns: 4, cost: 50 },
    { id: "b", turns: 2, usage: spent(3) },
  ]);
  expect(report.sessions[1]).not.toHaveProperty("cost");
  expect(report.toolTurns).toBe(6);
  expect(report.tools).toEqual([
    { name: "slow", calls: 2, failed: 0, ms: 140 },
    { name: "bad", calls: 1, failed: 1, ms: 0 },
  ]);

  const turnsOf = async (page: Parameters<Runtime["usage"]>[0]) =>
    (await other.usage(page)).rows.map(({ at, model, turns }) => `${(at - midnight) / HOUR} ${model} ${turns}`);
  expect(await turnsOf({ owner: "ann" })).toEqual(["1 speaks/test 2", "2 speaks/test 2"]);
  expect(await turnsOf({ owner: "bob" })).toEqual([]);
  expect(await turnsOf({ since: second })).toEqual(["2 speaks/other 2", "2 speaks/test 2"]);
  expect(await turnsOf({ since: midnight, until: second })).toEqual(["1 speaks/test 2"]);
  expect(await turnsOf({ until: first })).toEqual([]);
  expect(await turnsOf({ since: second - 4 * DAY })).toEqual(["0 speaks/other 2", "0 speaks/test 4"]);
  for (const wrong of [{ since: Number.NaN }, { until: "now" }, { owner: "" }, { from: 1 }])
    expect(await codeOf(other.usage(wrong as never))).toMatch(/^options\./);
});

test("E6 a report reads a bounded number of turns, the latest first, and lets other code run meanwhile", async () => {
  const kept = memory();
  let read = 0;
  const store = around(kept, {
    "turns.list": async (act, page) => {
      const [turn] = (await act()) as readonly object[];
      const from = (page as { before?: string }).before === undefined ? 0 : read;
      read = from + 200;
      for (const until = performance.now() + 2; performance.now() < until; ); // As a synchronous store blocks.
      return Array.from({ length: 200 }, (_, nth) => ({ ...turn, cursor: "1000000", turnId: `trn_${from + nth}` }));
    },
  });
  await using runtime = await running({ store });
  const session = await runtime.session("s");
  await session.turn("Hi.").result();
  let isOver = false;
  let passes = 0;
  const watching = (async () => {
    for (; !isOver; passes++) await new Promise((resolve) => setImmediate(resolve));
  })();
  const report = await runtime.usage();
  isOver = true;
  await watching;
  expect(read).toBe(20_000);
  expect(report).toMatchObject({ isPartial: true, rows: [{ turns: 20_000 }], sessions: [{ id: "s", turns: 20_000 }] });
  expect(passes).toBeGreaterThan(10); // All slices take 200 ms and more, and it rests every 5 ms.
});

test("E6 a list of turns that few turns match lets other code run while it reads", async () => {
  const kept = memory();
  let [read, passes] = [0, 0];
  const store = around(kept, {
    "turns.list": async (act) => {
      const [turn] = (await act()) as readonly object[];
      read += 200;
      for (const until = performance.now() + 2; performance.now() < until; ); // As a synchronous store blocks.
      const length = read < 20_000 ? 200 : 199;
      return Array.from({ length }, (_, nth) => ({ ...turn, cursor: "1000000", turnId: `trn_${read + nth}` }));
    },
  });
  await using runtime = await running({ store });
  await (await runtime.session("s")).turn("Hi.").result();
  let isOver = false;
  const watching = (async () => {
    for (; !isOver; passes++) await new Promise((resolve) => setImmediate(resolve));
  })();
  expect(await runtime.turns.list({ outcome: "failed" })).toEqual([]);
  isOver = true;
  await watching;
  expect(passes).toBeGreaterThan(10);
});

// ── Status and check ────────────────────────────────────────────────────────────────────────────────────────────────

onEveryStore("E6 any process reads how much work there is, and which process does it", async (place) => {
  const stop = new Stop();
  const works = definePlugin({
    id: "test/work",
    setup: ({ task }) => ({
      operations: { wait: task({ input: z.any(), run: async ({ job }) => (await job?.receive("go")) as never }) },
    }),
  });
  const tools = [stopping(stop), named("later", () => defer())];
  const runtime = await place.open({ model: speaks(), tools, plugins: [works], limits: { parkAfterMs: 1 } });
  const watcher = await place.open({ recover: "never" });
  const idle = await watcher.status();
  expect(idle).toMatchObject({ turns: { queued: 0, running: 0, waiting: 0, interrupted: 0 }, waits: 0, jobs: 0 });
  expect(idle.workers).toEqual([]);
  expect(idle).not.toHaveProperty("oldestQueuedAt");

  const a = await runtime.session("a");
  const running = a.turn("Call slow");
  await stop.reached;
  const before = Date.now();
  const queued = a.turn("Next.");
  await queued.id;
  const waiting = (await runtime.session("b")).turn("Call later");
  const { id } = await a.jobs.spawn({ label: "Wait", operation: "test/work.wait", input: null, signals: { go: {} } });
  const busy = await eventually(async () => {
    const found = await watcher.status();
    return found.turns.waiting === 1 && (found.workers[0]?.jobs ?? 0) === 0 ? found : undefined;
  });
  expect(busy).toMatchObject({ turns: { queued: 1, running: 1, waiting: 1, interrupted: 0 }, waits: 1, jobs: 1 });
  expect(busy.store).toMatch(/^(?:memory|sqlite|postgres)$/);
  expect(busy.oldestQueuedAt).toBeGreaterThanOrEqual(before);
  expect(busy.workers).toEqual([
    { name: `${hostname()}/${process.pid}`, turns: 1, jobs: 0, until: expect.any(Number) },
  ]);
  expect(busy.workers[0]?.until).toBeGreaterThan(busy.now);

  stop.go();
  await queued.result();
  await running.result();
  await runtime.waits.resolve((await runtime.waits.list())[0]!, { value: 1 });
  await waiting.result();
  await runtime.jobs.signal(id, "go");
  await runtime.jobs.await(id);
  expect({ ...(await watcher.status()), now: idle.now }).toEqual(idle);
});

onEveryStore("D7 E6 a check of an open store that is whole finds nothing, also while a turn runs", async (place) => {
  const stop = new Stop();
  const runtime = await place.open({ model: speaks(), tools: [stopping(stop)] });
  const turn = (await runtime.session("a")).turn("Call slow");
  await stop.reached;
  for (const deep of [false, true]) expect(await runtime.check({ deep })).toEqual([]);
  expect(await codeOf(runtime.check({ depth: 1 } as never))).toBe("options.unknown");
  stop.go();
  expect((await turn.result()).outcome.kind).toBe("answered");
});

test("D7 E6 a check reports damage, which does not hide the status of the rest", async () => {
  const place = onFile();
  const runtime = await place.open();
  for (const id of ["a", "b"]) await (await runtime.session(id)).turn("Hi.").result();
  await place.sql?.("UPDATE session SET revision = revision + 1 WHERE id = $1", "a");
  const again = await place.open({ recover: "never" });
  expect((await again.check()).map(({ item }) => item)).toContain("Session a");
  expect(await again.check({ max: 1 })).toHaveLength(1);
  expect(await again.status()).toMatchObject({ store: "sqlite", turns: { running: 0 } });
});

test("D7 E6 a check that cannot read the store reports that as damage", async () => {
  const store = Object.assign(memory(), {
    check: () => {
      throw new RuntimeError("store.corrupt", { item: "The database a.db", problem: "a page is malformed" });
    },
  });
  await using runtime = await running({ store });
  expect(await runtime.check()).toEqual([{ item: "The database a.db", problem: "a page is malformed" }]);
});
