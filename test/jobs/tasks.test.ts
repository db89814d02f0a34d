import { defer, definePlugin, defineTool, type Json, type Runtime, retryable } from "bowline";
import { ask, deny } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, eventually, signalOf, within } from "../kit/reading.ts";
import { file, mortal, STORES } from "../kit/stores.ts";
import { running, runningOn } from "../kit/worlds.ts";
import { doing, WORK } from "./work.ts";

/** Begins the job, and gives its record when it is over. */
async function done(runtime: Runtime, input: Json = null, session = "s") {
  const { jobs } = await runtime.session(session);
  const { id } = await jobs.spawn({ ...WORK, input });
  return within(runtime.jobs.await(id), 5_000);
}

describe.concurrent.each(STORES)("on %s", (_, store) => {
  test("J5 a task runs as a job: its steps are recorded, and what it changes is kept at its end, in one change", async () => {
    const reports = definePlugin({
      id: "test/reports",
      state: z.object({ made: z.number().default(0), last: z.string().default("") }),
      setup: ({ task, query }) => ({
        operations: {
          report: task({
            input: z.object({ topic: z.string() }),
            output: z.string(),
            run: async ({ input, once, job, state, emit, queueTurn, configure }) => {
              const found = await once("search", () => `about ${input.topic}`);
              await job?.sleep(5);
              state.update(({ made, last }) => ({ made: made + 1, last: `${last}+` }));
              state.update((now) => ({ ...now, last: input.topic }));
              expect(state.get()).toEqual({ made: 1, last: input.topic });
              emit("made", { topic: input.topic });
              queueTurn("Look at it.");
              configure({ label: "Reporter" });
              return found.toUpperCase();
            },
          }),
          read: query({ run: ({ state }) => state.get() }),
        },
      }),
    });
    await using runtime = await running({ store: store(), plugins: [reports()] });
    const session = await runtime.session("s");
    const { id } = await session.jobs.spawn({ label: "R", operation: "test/reports.report", input: { topic: "cats" } });
    const record = await runtime.jobs.await(id);
    expect(record).toMatchObject({ state: "completed", result: "ABOUT CATS", starts: 1, steps: 3 });
    expect(await session.query(reports, "read")).toEqual({ made: 1, last: "cats" });
    await eventually(async () => ((await session.read()).turns === 1 ? true : undefined));
    expect((await session.read()).config.label).toBe("Reporter");
    expect((await session.history()).filter(({ kind }) => kind === "plugin")).toHaveLength(1);
  });

  test("J5 the input of a job is checked where it is begun, and unknown tasks are refused there", async () => {
    const typed = definePlugin({
      id: "test/typed",
      setup: ({ task, command }) => ({
        operations: {
          ok: task({ input: z.object({ n: z.number() }), run: ({ input }) => input.n + 1 }),
          other: command({ run: () => 1 }),
        },
      }),
    });
    await using runtime = await running({ store: store(), plugins: [typed()] });
    const { jobs } = await runtime.session("s");
    const begin = (operation: string, input?: Json) => codeOf(jobs.spawn({ label: "x", operation, input }));
    expect(await begin("test/typed.ok", { n: "one" })).toBe("operation.input");
    expect(await begin("test/typed.ok")).toBe("operation.input");
    expect(await begin("test/typed.other", {})).toBe("operation.unknown");
    expect(await begin("test/typed.none", {})).toBe("operation.unknown");
    expect(await codeOf(jobs.spawn({ label: "x", operation: "", input: {} }))).toBe("job.invalid");
    const unsure = { label: "x", operation: "test/typed.ok", isElsewhere: "yes" as never, input: { n: 1 } };
    expect(await codeOf(jobs.spawn(unsure))).toBe("job.invalid");
    expect(await jobs.list()).toEqual([]);
  });

  test("J5 a task of a plugin that is not installed is refused with the nearest name, unless it may be elsewhere", async () => {
    await using runtime = await running({ store: store(), plugins: [doing(() => "done")()] });
    const { jobs } = await runtime.session("s");
    await expect(jobs.spawn({ ...WORK, operation: "test/wrok.work" })).rejects.toMatchObject({
      code: "operation.unknown",
      details: { name: "test/wrok.work", plugin: "test/wrok", known: ["test/work.work"], nearest: "test/work.work" },
      hint: expect.stringMatching(/Did you mean test\/work\.work\?.*isElsewhere: true/s),
    });
    expect(await jobs.list()).toEqual([]);
    const { id } = await jobs.spawn({ ...WORK, operation: "test/wrok.work", isElsewhere: true });
    expect(await jobs.get(id)).toMatchObject({ state: "running", isElsewhere: true });
    expect(await runtime.jobs.list()).toMatchObject([{ id, isElsewhere: true }]);
    expect(await jobs.await([id], { timeoutMs: 0 })).toMatchObject([{ id, isElsewhere: true }]);
    expect(await jobs.cancel(id)).not.toHaveProperty("isElsewhere"); // It is over, and waits for nobody.
  });

  test("J5 a name that no task can have is refused, also for a task elsewhere, and the error shortens it", async () => {
    await using runtime = await running({ store: store() });
    const { jobs } = await runtime.session("s");
    const tooLong = [`${"p".repeat(129)}.work`, `acme/x.${"w".repeat(65)}`, `acme/${"x".repeat(1_000_000)}.work`];
    for (const operation of [".", "..", ".job", "acme/x.", "__proto__.x", "acme/x.do it", ...tooLong]) {
      const error: unknown = await jobs.spawn({ ...WORK, operation, isElsewhere: true }).catch((thrown) => thrown);
      expect(error, operation.slice(0, 20)).toMatchObject({ code: "job.invalid" });
      expect(JSON.stringify(error).length + String(error).length).toBeLessThan(1_000);
    }
    expect(await jobs.list()).toEqual([]);
    const longest = `${"p".repeat(128)}.${"w".repeat(64)}`;
    const { id } = await jobs.spawn({ ...WORK, operation: longest, isElsewhere: true });
    expect(await jobs.get(id)).toMatchObject({ operation: longest, isElsewhere: true });
    await jobs.cancel(id);
  });

  test("J5 a task that throws fails its job with its error, and keeps nothing that it changed", async () => {
    const fails = definePlugin({
      id: "test/fails",
      state: z.object({ n: z.number().default(0) }),
      setup: ({ task, query }) => ({
        operations: {
          fail: task({
            run: ({ state }) => {
              state.update(() => ({ n: 7 }));
              throw new Error("No luck.");
            },
          }),
          read: query({ run: ({ state }) => state.get().n }),
        },
      }),
    });
    await using runtime = await running({ store: store(), plugins: [fails()] });
    const session = await runtime.session("s");
    const { id } = await session.jobs.spawn({ label: "x", operation: "test/fails.fail" });
    expect(await runtime.jobs.await(id)).toMatchObject({
      state: "failed",
      error: { code: "job.failed", message: "No luck." },
    });
    expect(await session.query(fails, "read")).toBe(0);
  });

  test("J5 only so many tasks run at once; those that only wait make room for others", async () => {
    let most = 0;
    let now = 0;
    const allRun = signalOf();
    const work = doing(async ({ job, input, once }) => {
      if (input === "sleeps") return job?.sleep(60_000);
      await once("work", async () => {
        most = Math.max(most, ++now);
        if (now === 3) allRun.resolve();
        await allRun.promise; // Jobs that ran one after another would wait here forever.
        await new Promise((resolve) => setTimeout(resolve, 2)); // A fourth job would begin meanwhile.
        now--;
        return null;
      });
      return input;
    });
    await using runtime = await running({ store: store(), plugins: [work()], limits: { parallelJobsMax: 3 } });
    const { jobs } = await runtime.session("s");
    const sleepers: string[] = [];
    for (let n = 0; n < 5; n++) sleepers.push((await jobs.spawn({ ...WORK, input: "sleeps" })).id);
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await jobs.spawn({ ...WORK, input: n })).id);
    const records = await within(jobs.await(ids), 5_000);
    expect(records.every(({ state }) => state === "completed")).toBe(true);
    expect(most).toBe(3);
    for (const id of sleepers) expect((await jobs.cancel(id)).state).toBe("cancelled");
  });

  test("J5 a task awaits jobs that it began itself, and cancels those that are to end with it", async () => {
    const work = doing(async ({ input, jobs }) => {
      if (typeof input === "number") return input * 2;
      const children = [];
      for (const n of [1, 2, 3]) children.push(await jobs.spawn({ ...WORK, input: n }));
      await jobs.register({ label: "with me", onParentEnd: "cancel" });
      await jobs.register({ label: "stays" });
      const ended = await jobs.await(children.map(({ id }) => id));
      return ended.map(({ result }) => result ?? null);
    });
    await using runtime = await running({ store: store(), plugins: [work()] });
    expect(await done(runtime, "parent")).toMatchObject({ state: "completed", result: [2, 4, 6] });
    const all = await runtime.jobs.list();
    expect(all.find(({ label }) => label === "with me")).toMatchObject({ state: "cancelled" });
    expect(all.find(({ label }) => label === "stays")).toMatchObject({ state: "running" });
  });

  test("J5 P9 tool calls of a task go through gates and after-hooks, and may change plugin states", async () => {
    const seen: string[] = [];
    const guards = definePlugin({
      id: "test/guards",
      state: z.object({ calls: z.number().default(0) }),
      setup: ({ query }) => ({
        beforeToolCall: ({ call, state }) => {
          if (call.name === "forbidden") return deny("Not this one.");
          state.update(({ calls }) => ({ calls: calls + 1 }));
          return undefined;
        },
        afterToolCall: ({ call, output }) => {
          seen.push(`${call.name} ${output.kind}`);
        },
        operations: { calls: query({ run: ({ state }) => state.get().calls }) },
      }),
    });
    const keys: string[] = [];
    const add = defineTool({
      name: "add",
      description: "Adds.",
      input: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        return a + b;
      },
    });
    const forbidden = defineTool({ name: "forbidden", description: "No.", input: z.object({}), execute: () => "ran" });
    let tries = 0;
    const flaky = defineTool({
      name: "flaky",
      description: "Fails once.",
      input: z.object({}),
      retry: { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 },
      execute: () => {
        if (++tries < 2) throw retryable(new Error("Busy."));
        return "at last";
      },
    });
    const work = doing(async ({ job }) => {
      const call = (tool: string, input: Json) =>
        job!.call(tool, input).catch((error) => (error as { code: string }).code);
      return [
        await call("add", { a: 1, b: 2 }),
        await call("add", { a: 1 }),
        await call("forbidden", {}),
        await call("unknown", {}),
        await call("flaky", {}),
        await call("add", { a: 1, b: 2 }),
      ];
    });
    const tools = [add, forbidden, flaky];
    await using runtime = await running({ store: store(), plugins: [guards(), work()], tools });
    const record = await done(runtime);
    expect(record.result).toEqual([3, "tool.arguments", "tool.denied", "tool.unknown", "at last", 3]);
    expect(new Set(keys).size).toBe(2);
    expect(await (await runtime.session("s")).query(guards, "calls")).toBe(4); // An unknown tool has no gate.
    expect(seen.slice(0, 2)).toEqual(["add value", "add failure"]);
  });

  test("J5 T9 an approval is a wait of the job: listed with it, answered, and the call continues", async () => {
    const asks = definePlugin({
      id: "test/asks",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("Money.") : undefined) }),
    });
    const paid: number[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ eur: z.number() }),
      execute: ({ eur }) => {
        paid.push(eur);
        return `paid ${eur}`;
      },
    });
    const work = doing(async ({ job }) => {
      const denied = await job!.call("pay", { eur: 1 }).catch((error) => (error as Error).message);
      return [denied, await job!.call("pay", { eur: 2 })];
    });
    const limits = { parkAfterMs: 1 };
    await using runtime = await running({ store: store(), plugins: [asks(), work()], tools: [pay], limits });
    const session = await runtime.session("s");
    const { id } = await session.jobs.spawn(WORK);
    const next = async (eur: number) =>
      eventually(async () => {
        const [wait] = await runtime.waits.list({ tree: "s" });
        return (wait?.arguments as { eur: number } | undefined)?.eur === eur ? wait : undefined;
      });
    const first = await next(1);
    expect(first).toMatchObject({ kind: "approval", jobId: id, tool: "pay", reason: "Money.", path: ["s"] });
    expect(first).not.toHaveProperty("turnId");
    expect((await session.read()).waits).toMatchObject([{ jobId: id, wants: "approval" }]);
    await runtime.waits.resolve(first, { approved: false, reason: "Too soon." } as never);
    await runtime.waits.resolve(await next(2), { approved: true, args: { eur: 3 } } as never);
    const record = await within(runtime.jobs.await(id), 5_000);
    expect(record.result).toEqual([expect.stringContaining("Too soon."), "paid 3"]);
    expect(paid).toEqual([3]);
    expect(await runtime.waits.list()).toEqual([]);
  });

  test("J5 T8 a deferred result is a wait of the job, and its end takes the question back", async () => {
    const later = defineTool({ name: "later", description: "Later.", input: z.object({}), execute: () => defer() });
    const work = doing(({ job }) => job!.call("later", {}));
    await using runtime = await running({
      store: store(),
      plugins: [work()],
      tools: [later],
      limits: { parkAfterMs: 1 },
    });
    const session = await runtime.session("s");
    const wait = () => eventually(async () => (await runtime.waits.list())[0]);
    const { id } = await session.jobs.spawn(WORK);
    await runtime.waits.resolve(await wait(), { value: { all: "good" } } as never);
    expect(await within(runtime.jobs.await(id))).toMatchObject({ state: "completed", result: { all: "good" } });
    const other = await session.jobs.spawn(WORK);
    const open = await wait();
    await session.jobs.cancel(other.id);
    expect(await codeOf(runtime.waits.resolve(open, { value: 1 } as never))).toBe("wait.unknown");
    expect(await runtime.waits.list()).toEqual([]);
  });

  test("J5 S9 completions of a task are paid once and booked in the session's ledger", async () => {
    const work = doing(async ({ complete, once }) => {
      const text = await complete.text("Sum it up.", { label: "summary" });
      return [text, await once("n", () => 1)];
    });
    await using runtime = await running({ store: store(), plugins: [work()], model: recited(says("Short.")) });
    expect((await done(runtime)).result).toEqual(["Short.", 1]);
    const { ledger } = await runtime.sessions.usage("s");
    expect(ledger.map(({ source, calls }) => [source, calls])).toEqual([["summary", 1]]);
  });

  test("J5 a job that records more than it may is stopped, and a step must be JSON", async () => {
    const work = doing(async ({ once, input }) => {
      if (input === "json") return once("x", () => (() => 1) as never);
      for (let n = 0; ; n++) await once(`step ${n}`, () => n);
    });
    await using runtime = await running({ store: store(), plugins: [work()], limits: { jobStepsMax: 20 } });
    expect(await done(runtime)).toMatchObject({ state: "failed", steps: 20, error: { code: "job.steps" } });
    expect(await done(runtime, "json")).toMatchObject({ state: "failed", error: { code: "job.invalid" } });
  });

  test("J5 a job is begun at its time, and a job that nobody here can run is left alone", async () => {
    const kept = store();
    await using runtime = await running({ store: kept, plugins: [doing(() => "done")()] });
    const { jobs } = await runtime.session("s");
    const later = await jobs.spawn({ ...WORK, notBefore: Date.now() + 80 });
    const work = { operation: "not/here.task", isElsewhere: true, input: { any: 1 } };
    const foreign = await jobs.spawn({ label: "Elsewhere", ...work });
    expect((await jobs.get(later.id)).starts).toBe(0);
    const record = await within(runtime.jobs.await(later.id), 3_000);
    expect((record.startedAt ?? 0) - record.createdAt).toBeGreaterThanOrEqual(75);
    const shown = await jobs.list({ isLive: true });
    expect(shown).toMatchObject([{ id: foreign.id, state: "running", starts: 0, isElsewhere: true }]);
    expect(record).not.toHaveProperty("isElsewhere");
    expect(await jobs.cancel(foreign.id)).toMatchObject({ state: "cancelled", starts: 0 });
  });
});

// ── Other processes ─────────────────────────────────────────────────────────────────────────────────────────────────

test.concurrent("J5 D2 a task resumes in another process from its recorded steps, and none of them is done again", async () => {
  const path = file();
  const ran: string[] = [];
  const [reached, never] = [signalOf(), new Promise<never>(() => {})];
  const work = (life: number) =>
    doing(async ({ once, job, complete }) => {
      const a = await once("a", () => `a${ran.push(`a in ${life}`)}`);
      const text = await complete.text("Sum it up.");
      await job!.call("act", { n: 1 });
      const b = await once("b", async () => {
        ran.push(`b in ${life}`);
        if (life === 1) {
          reached.resolve();
          await never;
        }
        return "b";
      });
      return [a, text, b];
    })();
  const act = defineTool({
    name: "act",
    description: "Acts.",
    input: z.object({ n: z.number() }),
    execute: () => `${ran.push("act")}`,
  });
  const model = () => recited(says("Short."), says("Another."));
  const first = await runningOn(path, { model: model(), plugins: [work(1)], tools: [act] });
  const { id } = await (await first.session("s")).jobs.spawn(WORK);
  await reached.promise;
  await first.close({ graceMs: 10 });
  await using second = await runningOn(path, { model: model(), plugins: [work(2)], tools: [act] });
  const record = await within(second.jobs.await(id), 5_000);
  expect(record).toMatchObject({ state: "completed", result: ["a1", "Short.", "b"], starts: 2 });
  expect(ran).toEqual(["a in 1", "act", "b in 1", "b in 2"]);
  expect((await second.sessions.usage("s")).ledger).toMatchObject([{ calls: 1 }]);
}, 20_000);

test.concurrent("J5 D4 a task that sleeps is parked, and any process resumes it when its time has come", async () => {
  const path = file();
  const ran: number[] = [];
  const plugins = () => [
    doing(async ({ job, once }) => {
      await once("before", () => ran.push(1));
      await job!.sleep(400);
      return "slept";
    })(),
  ];
  const limits = { parkAfterMs: 10 };
  const first = await runningOn(path, { plugins: plugins(), limits });
  const { id } = await (await first.session("s")).jobs.spawn(WORK);
  await eventually(async () => (ran.length === 1 ? true : undefined));
  await first.close();
  await using second = await runningOn(path, { plugins: plugins(), limits });
  expect(await within(second.jobs.await(id), 5_000)).toMatchObject({ state: "completed", result: "slept" });
  expect(ran).toEqual([1]);
}, 20_000);

test.concurrent("J5 a process without the plugin leaves a job alone; one that has it takes it within a second or two", async () => {
  const path = file();
  const plugins = [doing(() => "done")()];
  const first = await runningOn(path, { plugins, recover: "never" });
  const session = await first.session("s");
  const { id } = await session.jobs.spawn(WORK);
  await first.close();
  await using without = await runningOn(path, {});
  expect(await without.jobs.await(id, { timeoutMs: 800 })).toMatchObject({ state: "running", starts: 0 });
  await using withIt = await runningOn(path, { plugins });
  expect(await within(without.jobs.await(id), 5_000)).toMatchObject({ state: "completed" });
  expect(await withIt.jobs.get(id)).toMatchObject({ result: "done" });
}, 20_000);

test.concurrent("J5 signals and cancels reach a job in another process", async () => {
  const path = file();
  const plugins = [doing(async ({ job, input }) => (input === "waits" ? job!.receive("go") : job!.sleep(60_000)))()];
  await using worker = await runningOn(path, { plugins });
  await using app = await runningOn(path, {});
  const { jobs } = await app.session("s");
  const there = { ...WORK, isElsewhere: true };
  const waits = await jobs.spawn({ ...there, input: "waits", signals: { go: {} } });
  const sleeps = await jobs.spawn({ ...there, input: "sleeps" });
  expect(await worker.jobs.get(sleeps.id)).not.toHaveProperty("isElsewhere"); // Where its plugin is.
  await eventually(async () => ((await worker.jobs.get(sleeps.id)).starts === 1 ? true : undefined), 5_000);
  await jobs.signal(waits.id, "go", { now: true });
  expect(await within(app.jobs.await(waits.id), 5_000)).toMatchObject({ state: "completed", result: { now: true } });
  expect(await within(jobs.cancel(sleeps.id), 5_000)).toMatchObject({ state: "cancelled" });
}, 20_000);

test.concurrent("J5 a job that ends its process again and again ends as failed", async () => {
  const store = sqlite(file(), { durability: "process", leaseMs: 50 });
  let isAlive = true;
  const plugins = [
    doing(() => {
      isAlive = false; // From here on nothing of this life is written.
      return new Promise<never>(() => {});
    })(),
  ];
  const limits = { resumesMax: 2 };
  let id = "";
  for (let life = 1; life <= 4; life++) {
    let mine = true;
    isAlive = true;
    const runtime = await running({ plugins, limits, store: mortal(store, () => mine && isAlive) });
    if (id === "") id = (await (await runtime.session("s")).jobs.spawn(WORK)).id;
    await eventually(
      async () => (!isAlive || (await store.jobs.load(id as never))?.record.endedAt ? true : undefined),
      3_000,
    );
    mine = false;
  }
  expect((await store.jobs.load(id as never))?.record).toMatchObject({
    state: "failed",
    starts: 3,
    error: { code: "job.crash-loop" },
  });
}, 20_000);

test.concurrent("J3 J5 what a task has done before it is handed over is not done again in its new session", async () => {
  const couriers = doing(async ({ complete, graph, job }) => {
    await complete.text("Where to?", { label: "courier" });
    await graph.append([{ kind: "plugin", type: "fetched", body: null }]);
    return job!.receive("go");
  });
  await using runtime = await running({ plugins: [couriers()], limits: { parkAfterMs: 5 } });
  const [from, to] = [await runtime.session("from"), await runtime.session("to")];
  const { id } = await from.jobs.spawn({ ...WORK, signals: { go: {} } });
  await eventually(async () => ((await from.read()).head === undefined ? undefined : true));
  await from.jobs.transfer("from", "to", [id]);
  await to.jobs.signal(id, "go", "on");
  expect((await within(to.jobs.await([id]), 3_000))[0]).toMatchObject({ state: "completed", result: "on" });
  const [before, after] = [await from.read(), await to.read()];
  expect([before.usage.input > 0, after.usage.input]).toEqual([true, 0]);
  expect([before.head === undefined, after.head === undefined]).toEqual([false, true]);
});

test.concurrent("J3 J5 a task that is handed over while it works continues in its new session", async () => {
  const couriers = doing(async ({ once, sessionId }) => {
    const first = await once(
      "first",
      () => new Promise<string>((resolve) => setTimeout(() => resolve(sessionId ?? ""), 80)),
    );
    return [first, await once("second", () => sessionId ?? "")];
  });
  await using runtime = await running({ plugins: [couriers()] });
  const [from, to] = [await runtime.session("from"), await runtime.session("to")];
  const { id } = await from.jobs.spawn(WORK);
  await eventually(async () => ((await from.jobs.get(id)).starts === 1 ? true : undefined));
  await from.jobs.transfer("from", "to", [id]);
  const [record] = await within(to.jobs.await([id]), 3_000);
  expect(record).toMatchObject({ state: "completed", sessionId: "to", result: ["to", "to"] });
});

test.concurrent("J5 T8 a tool that waits many times for an ended job fails, and keeps nothing else from running", async () => {
  const spins = defineTool({
    name: "spins",
    description: "Waits for what is over.",
    input: z.object({}),
    execute: () => defer({ jobs: ["over"] }),
  });
  const work = doing(({ job }) => job!.call("spins", {}).catch((error) => (error as { code: string }).code));
  const model = recited(calls("spins"), says("Never mind."));
  await using runtime = await running({ plugins: [work()], tools: [spins], model });
  const session = await runtime.session("s");
  await session.jobs.register({ label: "Over", id: "over" });
  await session.jobs.complete("over", "completed");
  expect((await within(session.turn("Go").result(), 5_000)).outcome).toMatchObject({ text: "Never mind." });
  expect((await done(runtime)).result).toBe("tool.result");
});

test.concurrent("J3 J5 a task that is handed over after it began a child finds the child, and awaits it", async () => {
  const child = doing(async ({ input, jobs, job }) => {
    if (input === "child") return job!.receive("go");
    const { id } = await jobs.spawn({ ...WORK, input: "child", signals: { go: {} }, id: "child" });
    return (await jobs.await([id])).map(({ result }) => result ?? null);
  });
  await using runtime = await running({ plugins: [child()], limits: { parkAfterMs: 5 } });
  const [from, to] = [await runtime.session("from"), await runtime.session("to")];
  const { id } = await from.jobs.spawn({ ...WORK, input: "parent" });
  await eventually(async () => ((await from.jobs.list()).length === 2 ? true : undefined));
  await from.jobs.transfer("from", "to", [id]);
  await runtime.jobs.signal("child", "go", 7);
  expect((await within(to.jobs.await([id]), 4_000))[0]).toMatchObject({ state: "completed", result: [7] });
}, 10_000);
