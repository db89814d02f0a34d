import { definePlugin, defineTool, fail, retryable, type Tool, type ToolSpec } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { expect, test } from "vitest";
import { z } from "zod";
import { only, passed, within } from "../kit/reading.ts";
import { held, named } from "../kit/worlds.ts";
import { begins, did, opened } from "./obedient.ts";

/** Tools that say when they run beside each other: each waits a few ticks, and the most at once is noted. */
function crowd() {
  const running = new Set<string>();
  const log: string[] = [];
  let most = 0;
  const member = (name: string, more: Partial<ToolSpec<never, unknown>> = {}): Tool =>
    named(
      name,
      async () => {
        running.add(name);
        most = Math.max(most, running.size);
        log.push([...running].sort().join("+"));
        for (let tick = 0; tick < 20; tick++) await undefined;
        await new Promise((resolve) => setImmediate(resolve));
        running.delete(name);
        return name;
      },
      more as object,
    );
  return { member, log, most: () => most };
}

// ── T6 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T6 calls run beside each other, and their results come in call order", async () => {
  const [a, b, c] = [held("a", "a!"), held("b", "b!"), held("c", "c!")];
  await using world = await opened({ tools: [a.tool, b.tool, c.tool] });
  const doing = did(world.session, "a", "b", "c");
  await within(Promise.all([a.began(), b.began(), c.began()]));
  for (const each of [c, b, a]) each.release();
  expect((await doing).shown).toEqual(["a ok: a!", "b ok: b!", "c ok: c!"]);
});

test("T6 as many calls run at once as the limit allows, and the others follow", async () => {
  const { member, most } = crowd();
  const names = Array.from({ length: 12 }, (_, index) => `t${index}`);
  await using world = await opened({ tools: names.map((name) => member(name)), limits: { parallelCallsMax: 3 } });
  const { shown } = await did(world.session, ...names);
  expect(most()).toBe(3);
  expect(shown).toEqual(names.map((name) => `${name} ok: ${name}`));
});

test("T6 serial tools never overlap anything, whatever is called beside them", async () => {
  const { member, log } = crowd();
  const tools = [
    member("p1"),
    member("s1", { isSerial: true }),
    member("p2"),
    member("s2", { isSerial: true }),
    member("w", { writes: true } as object),
  ];
  await using world = await opened({ tools });
  const { shown } = await did(world.session, "s1", "p1", "w", "s2", "p2");
  expect(shown.map((line) => line.split(" ")[0])).toEqual(["s1", "p1", "w", "s2", "p2"]);
  expect(log.filter((running) => /s1|s2|w/.test(running))).toEqual(["s1", "w", "s2"]);
  expect(log).toContain("p1+p2");
});

test("T6 in a batch too: the limit holds, serial tools run alone, and the results are in order", async () => {
  const { member, log, most } = crowd();
  const tools = [member("p1"), member("p2"), member("p3"), member("s", { isSerial: true })];
  await using world = await opened({ tools, plugins: [toolCalls({ batch: true })], limits: { parallelCallsMax: 2 } });
  const batch = { calls: ["p1", "s", "p2", "p3"].map((tool) => ({ tool, input: {} })) };
  const { events } = await did(world.session, ["batch", batch]);
  expect(most()).toBe(2);
  expect(log.filter((running) => running.includes("s"))).toEqual(["s"]);
  expect(
    only(events, "toolEnded")
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["p1", "p2", "p3", "s"]);
});

test("T6 fifty calls at once pass a gate that counts five: exactly five run, and the state has five", async () => {
  let runs = 0;
  const counter = definePlugin({
    id: "acme/counter",
    state: z.object({ calls: z.number().default(0) }),
    setup: ({ query }) => ({
      beforeToolCall: async ({ state }) => {
        await undefined;
        if (state.get().calls >= 5) return [{ kind: "deny", reason: "Five are enough." }];
        state.update(({ calls }) => ({ calls: calls + 1 }));
        return [];
      },
      operations: { calls: query({ run: ({ state }) => state.get().calls }) },
    }),
  });
  const ping = named("ping", async () => ++runs);
  await using world = await opened({ tools: [ping], plugins: [counter] });
  const { shown } = await did(world.session, ...Array.from({ length: 50 }, () => "ping"));
  expect(runs).toBe(5);
  expect(shown.filter((line) => line.startsWith("ping ok"))).toHaveLength(5);
  expect(shown.filter((line) => line.startsWith("ping denied"))).toHaveLength(45);
  expect(await world.session.query(counter, "calls")).toBe(5);
});

test("T6 tools that write among parallel ones each see what the one before kept, and none is lost", async () => {
  const tally = definePlugin({
    id: "acme/tally",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "add",
          description: "Adds one.",
          input: z.object({}),
          writes: true,
          execute: async (_, { state }) => {
            const before = state.get().n;
            await new Promise((resolve) => setImmediate(resolve));
            state.update(() => ({ n: before + 1 }));
            return before + 1;
          },
        }),
        tool({
          name: "look",
          description: "Looks.",
          input: z.object({}),
          execute: async (_, { state }) => state.get().n,
        }),
      ],
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await opened({ plugins: [tally] });
  const { shown } = await did(world.session, "add", "look", "add", "look", "add");
  expect(shown.filter((line) => line.startsWith("add"))).toEqual(["add ok: 1", "add ok: 2", "add ok: 3"]);
  expect(await world.session.query(tally, "n")).toBe(3);
});

test("T6 what a tool that fails wrote is not kept, and the next one sees nothing of it", async () => {
  const tally = definePlugin({
    id: "acme/tally",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "add",
          description: "Adds, and fails if told.",
          input: z.object({ fails: z.boolean().default(false) }),
          writes: true,
          execute: ({ fails }, { state }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            if (fails) throw new Error("No.");
            return state.get().n;
          },
        }),
      ],
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await opened({ plugins: [tally] });
  const { shown } = await did(world.session, ["add", { fails: true }], "add", ["add", { fails: true }]);
  expect(shown[1]).toBe("add ok: 1");
  expect(await world.session.query(tally, "n")).toBe(1);
});

// ── T7 Time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T7 a tool that does not finish in its time is notified by its signal, the model by a result, and the turn continues", async () => {
  const reasons: unknown[] = [];
  const slow = named(
    "slow",
    (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push((signal.reason as { code?: string }).code);
          reject(new Error("Too late to matter."));
        });
      }),
    { timeoutMs: 30 },
  );
  const deaf = named("deaf", () => new Promise(() => {}), { timeoutMs: 30 });
  await using world = await opened({ tools: [slow, deaf] });
  const { shown, outcome, outputs } = await within(did(world.session, "slow", "deaf"));
  expect(shown[0]).toMatch(/^slow failed: Error \(tool\.timeout\): slow did not finish within 30 ms/);
  expect(shown[1]).toMatch(/^deaf failed: Error \(tool\.timeout\)/);
  expect(outputs[0]).toMatchObject({ failure: { class: "timeout" } });
  expect(reasons).toEqual(["tool.timeout"]);
  expect(outcome.kind).toBe("answered");
});

test("T7 a tool's timeout comes before the runtime's, and a timeout of Infinity never ends", async () => {
  const slow = (name: string, timeoutMs?: number): Tool =>
    named(
      name,
      async () => {
        await passed(60);
        return "done";
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
  await using world = await opened({
    tools: [slow("short"), slow("long", 5_000), slow("endless", Number.POSITIVE_INFINITY)],
    limits: { toolMs: 20 },
  });
  const { shown } = await within(did(world.session, "short", "long", "endless"));
  expect(shown[0]).toMatch(/tool\.timeout/);
  expect(shown.slice(1)).toEqual(["long ok: done", "endless ok: done"]);
});

test("T7 each word of progress restarts the timeout", async () => {
  const steady = named(
    "steady",
    async (_, { progress }) => {
      for (let step = 0; step < 20; step++) {
        await passed(60);
        progress("Getting on.");
      }
      return "done";
    },
    { timeoutMs: 1_000 },
  );
  await using world = await opened({ tools: [steady] });
  expect((await within(did(world.session, "steady"))).shown).toEqual(["steady ok: done"]);
});

test("T7 a time that is none is refused when the tool is made", () => {
  for (const timeoutMs of [0, -1, Number.NaN, "5" as never])
    expect(() => named("slow", undefined, { timeoutMs }), String(timeoutMs)).toThrow(/timeoutMs/);
});

// ── T7 Retries ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Retry = NonNullable<ToolSpec<never, unknown>["retry"]>;

/** A tool that fails as often as told, and notes its attempts. */
function flaky(retry: Retry | undefined, failures: readonly (() => unknown)[]) {
  const attempts: { attempt: number; key: string; at: number }[] = [];
  const tool = named(
    "flaky",
    (_, { attempt, idempotencyKey }) => {
      attempts.push({ attempt, key: idempotencyKey, at: performance.now() });
      const failure = failures[attempts.length - 1];
      if (failure !== undefined) throw failure();
      return `after ${attempts.length}`;
    },
    retry === undefined ? {} : { retry },
  );
  return { tool, attempts };
}
const plain = () => new Error("Broken.");
const passing = () => retryable(new Error("Busy."));
const quick = (policy: "safe" | "idempotent", attempts = 3): Retry => ({ policy, attempts, baseMs: 1, maxMs: 5 });

const POLICIES: readonly (readonly [string, Retry | undefined, () => unknown, number])[] = [
  ["no policy, a failure that may pass", undefined, passing, 1],
  ["never, a failure that may pass", "never", passing, 1],
  ["safe, any failure", quick("safe"), plain, 1],
  ["safe, a failure that may pass", quick("safe"), passing, 3],
  ["idempotent, any failure", quick("idempotent"), plain, 3],
  ["idempotent, one attempt", quick("idempotent", 1), plain, 1],
];
for (const [what, retry, failure, wanted] of POLICIES) {
  test(`T7 ${what}: ${wanted} ${wanted === 1 ? "attempt" : "attempts"}, one key, one result`, async () => {
    const { tool, attempts } = flaky(retry, Array(5).fill(failure));
    await using world = await opened({ tools: [tool] });
    const { shown, events } = await within(did(world.session, "flaky"));
    expect(attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: wanted }, (_, index) => index + 1));
    expect(new Set(attempts.map(({ key }) => key)).size).toBe(1);
    expect(shown).toHaveLength(1);
    expect(shown[0]).toMatch(/^flaky failed: Error \(tool\.failed\)/);
    expect([only(events, "toolStarted").length, only(events, "toolEnded").length]).toEqual([1, 1]);
  });
}

test("T7 a retry that succeeds is all that the model sees", async () => {
  const { tool } = flaky(quick("safe"), [passing, passing]);
  await using world = await opened({ tools: [tool] });
  expect((await did(world.session, "flaky")).shown).toEqual(["flaky ok: after 3"]);
});

test("T7 a timeout is tried again where the tool is idempotent", async () => {
  let tries = 0;
  const slow = named("slow", () => (++tries < 2 ? new Promise(() => {}) : "in time"), {
    timeoutMs: 20,
    retry: quick("idempotent"),
  });
  await using world = await opened({ tools: [slow] });
  expect((await within(did(world.session, "slow"))).shown).toEqual(["slow ok: in time"]);
});

test("T7 wrong arguments, a denial and a result that is too large are not tried again", async () => {
  let [runs, gates] = [0, 0];
  const guard = definePlugin({
    id: "acme/guard",
    setup: () => ({
      beforeToolCall: ({ call }) => {
        gates++;
        return call.name === "denied" ? [{ kind: "deny" as const, reason: "No." }] : [];
      },
    }),
  });
  const tools = ["denied", "big"].map((name) =>
    named(name, () => ++runs && "x".repeat(2_000), { retry: quick("idempotent") }),
  );
  const strict = defineTool({
    name: "strict",
    description: "Strict.",
    input: z.object({ n: z.number() }),
    retry: quick("idempotent"),
    execute: () => ++runs,
  });
  await using world = await opened({ tools: [...tools, strict], plugins: [guard], limits: { resultBytesMax: 1_000 } });
  const { shown } = await did(world.session, "denied", "big", "strict");
  expect(shown.map((line) => line.split(":")[0])).toEqual(["denied denied", "big failed", "strict failed"]);
  expect([runs, gates]).toEqual([1, 3]);
});

test("T7 what a tool decided is not tried again: a turn that it fails, fails at once", async () => {
  let runs = 0;
  const tool = named(
    "stop",
    () => {
      runs++;
      return fail("acme.over", "It is over.");
    },
    { retry: quick("idempotent") },
  );
  await using world = await opened({ tools: [tool] });
  const { outcome } = await did(world.session, "stop");
  expect(outcome).toMatchObject({ kind: "failed", by: "tool", code: "acme.over" });
  expect(runs).toBe(1);
});

test("T7 the pauses between attempts grow, and what the tool asks for goes before, up to the most", async () => {
  const growing = flaky({ policy: "idempotent", attempts: 4, baseMs: 10, maxMs: 25 }, Array(5).fill(plain));
  await using world = await opened({ tools: [growing.tool] });
  await did(world.session, "flaky");
  const pauses = growing.attempts.slice(1).map(({ at }, index) => at - (growing.attempts[index]?.at ?? 0));
  expect(pauses[0]).toBeGreaterThanOrEqual(9);
  expect(pauses[1]).toBeGreaterThanOrEqual(19);
  expect(pauses[2]).toBeGreaterThanOrEqual(24);
  const asked = flaky({ policy: "safe", attempts: 3, baseMs: 10_000, maxMs: 20_000 }, [
    () => retryable(new Error("Soon."), { afterMs: 5 }),
    () => retryable("Soon.", { afterMs: 0 }),
  ]);
  await using second = await opened({ tools: [asked.tool] });
  expect((await within(did(second.session, "flaky"))).shown).toEqual(["flaky ok: after 3"]);
});

for (const afterMs of [Number.NaN, -5, Number.POSITIVE_INFINITY, "soon" as never]) {
  test(`T7 a pause of ${String(afterMs)} is none that lasts: the call ends`, async () => {
    const { tool, attempts } = flaky({ policy: "safe", attempts: 2, baseMs: 1, maxMs: 10 }, [
      () => retryable(new Error("Soon."), { afterMs }),
    ]);
    await using world = await opened({ tools: [tool], limits: { cancelGraceMs: 20 } });
    const turn = begins(world.session, "flaky");
    await within(turn.result(), 800).catch(() => turn.cancel("It hangs."));
    expect((await turn.result()).outcome.kind).toBe("answered");
    expect(attempts).toHaveLength(2);
  });
}

test("T7 a retry policy that is none is refused when the tool is made", () => {
  const wrong = ["sometimes", { policy: "sometimes" }, { policy: "safe", attempts: 0 }, { policy: "safe", baseMs: -1 }];
  for (const retry of wrong)
    expect(() => named("flaky", undefined, { retry: retry as never }), JSON.stringify(retry)).toThrow(/retry/);
});

// ── T7 Cancellation ─────────────────────────────────────────────────────────────────────────────────────────────────

test("T7 a cancel reaches running calls; what returns in the grace is kept, what does not is unknown, what never ran is cancelled", async () => {
  const entered: PromiseWithResolvers<void>[] = [Promise.withResolvers(), Promise.withResolvers()];
  const polite = named("polite", (_, { signal }) => {
    entered[0]?.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve("Stopped in time.")));
  });
  const deaf = named("deaf", () => {
    entered[1]?.resolve();
    return new Promise(() => {});
  });
  await using world = await opened({
    tools: [polite, deaf, named("late")],
    limits: { cancelGraceMs: 250, parallelCallsMax: 2 },
  });
  const turn = begins(world.session, "polite", "deaf", "late");
  await Promise.all(entered.map(({ promise }) => promise));
  await turn.cancel("Enough.");
  expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  const { messages } = await world.session.read();
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "toolResult"));
  expect(results.map(({ name, status }) => [name, status])).toEqual([
    ["polite", "ok"],
    ["deaf", "unknown"],
    ["late", "cancelled"],
  ]);
  expect((await did(world.session, "late")).shown).toEqual(["late ok: late!"]);
});

test("T7 a cancel ends a pause between two attempts", async () => {
  const tried = Promise.withResolvers<void>();
  const tool = named(
    "flaky",
    () => {
      tried.resolve();
      throw new Error("Broken.");
    },
    { retry: { policy: "idempotent", attempts: 3, baseMs: 60_000, maxMs: 60_000 } },
  );
  await using world = await opened({ tools: [tool], limits: { cancelGraceMs: 20 } });
  const turn = begins(world.session, "flaky");
  await tried.promise;
  await new Promise((resolve) => setImmediate(resolve));
  await turn.cancel("Enough.");
  expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
});
