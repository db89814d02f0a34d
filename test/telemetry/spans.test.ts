// What a runtime reports to its listeners.
import { definePlugin, type Span, type TelemetryListener } from "bowline";
import { says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { passed, within } from "../kit/reading.ts";
import { held, open } from "../kit/worlds.ts";
import { INPUT, KEPT_IN, recorder, search, searches } from "./kit.ts";

const isWithin = ({ startedAt, endedAt }: Span, { startedAt: from, endedAt: to }: Span): boolean =>
  startedAt >= from && endedAt !== undefined && to !== undefined && endedAt >= startedAt && endedAt <= to;

describe.each(KEPT_IN)("spans of a turn %s", (_, make) => {
  test("E4 a turn has spans of its rounds, model calls, tools and its commit, each within its parent", async () => {
    const seen = recorder();
    await using world = await open(searches(), { store: make(), tools: [search], telemetry: seen });
    const { id: sessionId } = world.session;
    const turn = world.session.turn(INPUT, { metadata: { user: "u1" } });
    const { usage } = await turn.result();
    const turnId = await turn.id;

    expect(seen.tree()).toEqual(["turn", "  round", "    model", "    tool", "  round", "    model", "  commit"]);
    for (const span of seen.started) {
      if (span.kind === "store") continue;
      expect(span).toMatchObject({ sessionId, turnId });
      if (span.parent !== undefined) expect(isWithin(span, span.parent)).toBe(true);
    }
    expect(seen.of("turn")[0]).toMatchObject({
      metadata: { user: "u1" },
      generation: 1,
      isResumed: false,
      how: "committed",
      outcome: { kind: "answered" },
      usage,
      rounds: 2,
    });
    expect(seen.of("round").map(({ round }) => round)).toEqual([1, 2]);
    expect(seen.of("tool")[0]).toMatchObject({ call: { name: "search" }, attempt: 1, output: { kind: "value" } });
  });

  test("E4 store calls have spans with names and no parent, and all spans have ended when the runtime is closed", async () => {
    const seen = recorder();
    const world = await open(searches(), { store: make(), tools: [search], telemetry: seen });
    await world.session.turn(INPUT).result();
    await world.runtime.close();
    const stores = seen.of("store");
    expect(stores.map(({ operation }) => operation)).toContain("commit");
    expect(stores.filter(({ parent }) => parent !== undefined)).toEqual([]);
    expect(seen.started.filter(({ endedAt }) => endedAt === undefined)).toEqual([]);
  });
});

test("E4 a hook has a span with its plugin, its turn and the kind of its lifecycle event", async () => {
  const plugin = definePlugin({
    id: "acme/watch",
    setup: () => ({ lifecycle: () => {}, beforeToolCall: () => undefined }),
  });
  const seen = recorder();
  await using world = await open(searches(), { tools: [search], plugins: [plugin], telemetry: seen });
  const turn = world.session.turn(INPUT);
  const { turnId } = await turn.result();
  const hooks = seen.of("hook").filter((span) => span.turnId === turnId);
  expect(hooks.map(({ plugin }) => plugin)).toEqual(hooks.map(() => "acme/watch"));
  expect(hooks.find(({ hook }) => hook === "beforeToolCall")).toMatchObject({ call: { name: "search" } });
  expect(hooks.filter(({ hook }) => hook === "lifecycle").every(({ event }) => event !== undefined)).toBe(true);
});

test("E4 a job has a span from its start to its end", async () => {
  const seen = recorder();
  await using world = await open(searches(), { telemetry: seen });
  const { id } = await world.session.jobs.spawn({ label: "Count" }, () => 3);
  await world.session.jobs.await([id]);
  expect(seen.of("job")).toMatchObject([{ jobId: id, job: "task", label: "Count", state: "completed" }]);
});

test("E4 a cancelled turn has no span of its grace", async () => {
  const work = held();
  const seen = recorder();
  const model = searches();
  await using world = await open(model, { tools: [{ ...work.tool, name: "search" }], telemetry: seen });
  const turn = world.session.turn(INPUT);
  await within(work.began());
  await turn.cancel("Enough.");
  expect((await turn.result()).outcome.kind).toBe("stopped");
  expect(seen.of("wait")).toEqual([]);
  expect(seen.of("turn")[0]).toMatchObject({ how: "committed", outcome: { kind: "stopped" } });
  expect(seen.of("turn")[0]).not.toHaveProperty("error");
});

const spin = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until; );
};

test.each<[string, string, TelemetryListener]>([
  [
    "throws",
    "telemetry.failed",
    {
      end: () => {
        throw new Error("Full.");
      },
    },
  ],
  ["rejects", "telemetry.failed", { end: () => Promise.reject(new Error("Full.")) as unknown as undefined }],
  ["blocks", "telemetry.slow", { end: (span) => (span.kind === "model" ? spin(120) : undefined) }],
])("E4 a listener that %s changes no turn and is reported once as %s", async (_, name, listener) => {
  const seen = recorder();
  await using world = await open(searches(), { tools: [search], telemetry: [listener, seen] });
  expect((await world.session.turn(INPUT).result()).outcome).toMatchObject({ kind: "answered" });
  await world.runtime.close();
  expect(seen.events.filter((event) => event.name.startsWith("telemetry."))).toMatchObject([
    { name, about: { listener: 0, problem: expect.any(String) } },
  ]);
});

test("E4 a listener whose close fails does not keep the runtime from closing", async () => {
  const seen = recorder();
  const close = async (): Promise<void> => {
    await passed(0);
    throw new Error("Gone.");
  };
  const world = await open(scripted(says("Hi.")), { telemetry: [seen, { event: () => {}, close }] });
  await within(world.runtime.close());
  expect(seen.events).toMatchObject([{ name: "telemetry.failed", about: { listener: 1, problem: "Gone." } }]);
});
