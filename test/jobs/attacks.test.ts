import { defer, definePlugin, defineTool, type Json, type Runtime } from "bowline";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { calls, recited, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { end, text } from "../kit/models.ts";
import { codeOf, eventually, passed, signalOf, within } from "../kit/reading.ts";
import { around, file, STORES, slowly } from "../kit/stores.ts";
import { held, open, running, runningOn } from "../kit/worlds.ts";
import { doing, WORK } from "./work.ts";

/** Begins the job, and gives its record when it is over. */
async function done(runtime: Runtime, input: Json = null) {
  const { jobs } = await runtime.session("s");
  const { id } = await jobs.spawn({ ...WORK, input });
  return within(runtime.jobs.await(id), 4_000);
}

/** A model whose replies are numbered. */
function numbered(): Provider {
  let replies = 0;
  return {
    id: "numbered",
    modelId: "test",
    async *stream() {
      yield text(`reply ${++replies}`);
      yield end;
    },
  };
}

describe.concurrent.each(STORES)("on %s", (_, store) => {
  test("J3 J5 a task that is handed over while it waits continues in its new session", async () => {
    const sessions: string[] = [];
    const work = doing(async ({ job, sessionId }) => {
      sessions.push(String(sessionId));
      return job!.receive("go");
    });
    await using runtime = await running({ store: store(), plugins: [work()] });
    const { jobs } = await runtime.session("s");
    await runtime.session("t");
    const { id } = await jobs.spawn({ ...WORK, signals: { go: {} } });
    await eventually(async () => (sessions.length === 1 ? true : undefined));
    await jobs.transfer("s", "t", [id]);
    await runtime.jobs.signal(id, "go", 7);
    expect(await within(runtime.jobs.await(id), 4_000)).toMatchObject({ state: "completed", result: 7 });
    expect(sessions).toEqual(["s", "t"]);
  });

  test("J1 registered work that was idle, and works again, still receives its cancel", async () => {
    await using runtime = await running({ store: store() });
    const { jobs } = await runtime.session("s");
    const heard: string[] = [];
    const { id } = await jobs.register({ label: "Build" }, (reason) => void heard.push(reason));
    await jobs.transition(id, "idle");
    await jobs.transition(id, "running");
    await jobs.transition(id, "idle");
    await jobs.cancel(id, "Not needed.");
    expect(heard).toEqual(["Not needed."]);
  });

  test("J2 a callback that never returns does not block the caller of cancel", async () => {
    await using runtime = await running({ store: store(), limits: { cancelGraceMs: 50 } });
    const { jobs } = await runtime.session("s");
    const { id } = await jobs.register({ label: "Build" }, () => new Promise(() => {}));
    expect(await within(jobs.cancel(id))).toMatchObject({ state: "cancelled" });
  });

  test("J1 work that is begun several times at once under one id runs once", async () => {
    let runs = 0;
    await using runtime = await running({ store: slowly(store()) });
    const { jobs } = await runtime.session("s");
    const begun = [1, 2, 3].map(() => jobs.spawn({ label: "Once", id: "once" }, () => ++runs));
    expect(await Promise.all(begun)).toEqual([{ id: "once" }, { id: "once" }, { id: "once" }]);
    expect(await within(jobs.await(["once"]))).toMatchObject([{ state: "completed", result: 1 }]);
    expect(runs).toBe(1);
    await jobs.spawn({ label: "Once", id: "once" }, () => ++runs);
    expect(runs).toBe(1);
  });

  test("J2 an agent that is below itself can be cancelled", async () => {
    await using runtime = await running({ store: store() });
    const { jobs } = await runtime.session("a");
    await runtime.session("b");
    const self = await jobs.register({ label: "Self", kind: "subagent", childId: "a" });
    await jobs.register({ label: "Other", kind: "subagent", childId: "b" });
    await runtime.jobs.of("b").register({ label: "Back", kind: "subagent", childId: "a" });
    expect(await within(jobs.cancel(self.id))).toMatchObject({ state: "cancelled" });
    expect(await runtime.jobs.list({ isLive: true })).toEqual([]);
  });

  test("J5 T1 what is done in a step is numbered there: a rerun, which does not enter it, numbers the rest alike", async () => {
    const work = doing(async ({ once, complete, job }) => {
      const first = await once("draft", () => complete.text("Draft it."));
      await once("told", async () => {
        await job!.wake("One.", { isNotice: true });
        return null;
      });
      await job!.sleep(1_100);
      await job!.wake("Two.", { isNotice: true });
      return [first, await complete.text("Check it."), await once("complete/0", () => 5)];
    });
    const limits = { parkAfterMs: 5 };
    await using runtime = await running({ store: store(), plugins: [work()], model: numbered(), limits });
    expect(await done(runtime)).toMatchObject({ starts: 2, wakes: 2, result: ["reply 1", "reply 2", 5] });
    const { ledger } = await runtime.sessions.usage("s");
    expect(ledger.map(({ calls }) => calls)).toEqual([2]);
  });

  test("J5 a step that waits for itself, and a signal that is received in a step, are refused", async () => {
    const work = doing(async ({ once, job, input }) =>
      input === "itself" ? once("a", () => once("b", () => once("a", () => 1))) : once("a", () => job!.receive("go")),
    );
    await using runtime = await running({ store: store(), plugins: [work()] });
    for (const input of ["itself", "receives"])
      expect(await done(runtime, input)).toMatchObject({ state: "failed", error: { code: "job.invalid" } });
  });

  test("J5 two calls of one tool have separate values, completions and jobs", async () => {
    const charge = defineTool({
      name: "charge",
      description: "Charges.",
      input: z.object({ eur: z.number() }),
      execute: async ({ eur }, { once, complete, jobs }) => {
        const charged = await once("charged", () => eur);
        return [charged, await complete.text("Say it."), (await jobs.register({ label: "Receipt" })).id];
      },
    });
    const gate = definePlugin({
      id: "test/gate",
      setup: () => ({
        beforeToolCall: async ({ complete }) => void (await complete.text("May it?")),
        afterToolCall: async ({ complete }) => void (await complete.text("Was it right?")),
      }),
    });
    const work = doing(async ({ job, complete }) => [
      await job!.call("charge", { eur: 1 }),
      await job!.call("charge", { eur: 2 }),
      await complete.text("Sum it up."),
    ]);
    const plugins = [gate(), work()];
    await using runtime = await running({ store: store(), plugins, tools: [charge], model: numbered() });
    const { result } = await done(runtime);
    const [[one, , first], [two, , second]] = result as [[number, string, string], [number, string, string]];
    expect([one, two]).toEqual([1, 2]);
    expect(first).not.toBe(second);
    expect(result).toEqual([[1, "reply 2", first], [2, "reply 5", second], "reply 7"]);
    const { ledger } = await runtime.sessions.usage("s");
    expect(ledger.reduce((sum, { calls }) => sum + calls, 0)).toBe(7);
  });

  test("J5 a call that waits for a job gives its slot to that job, and the tool is called again when the job has ended", async () => {
    const attempts: number[] = [];
    const waits = defineTool({
      name: "waits",
      description: "Waits.",
      input: z.object({ id: z.string() }),
      execute: ({ id }, { attempt }) => {
        attempts.push(attempt);
        return attempt === 1 ? defer({ jobs: [id] }) : "went on";
      },
    });
    const work = doing(async ({ input, jobs, job }) => {
      if (input === "child") return null;
      return job!.call("waits", { id: (await jobs.spawn({ ...WORK, input: "child" })).id });
    });
    const limits = { parallelJobsMax: 1, parkAfterMs: 60_000 };
    await using runtime = await running({ store: store(), plugins: [work()], tools: [waits], limits });
    expect(await done(runtime)).toMatchObject({ state: "completed", result: "went on" });
    expect(attempts).toEqual([1, 2]);
  });

  test("J5 an await of a task ends at its timeout, also when the task was parked meanwhile", async () => {
    const work = doing(async ({ input, jobs }) => {
      const records = await jobs.await(input as string[], { timeoutMs: 1_300 });
      return records.map(({ state }) => state);
    });
    await using runtime = await running({ store: store(), plugins: [work()], limits: { parkAfterMs: 5 } });
    const far = await (await runtime.session("s")).jobs.register({ label: "Far" });
    const record = await done(runtime, [far.id]);
    expect(record).toMatchObject({ state: "completed", result: ["running"] });
    expect(record.starts).toBe(2);
  });

  test("J5 a task that waits makes room at once for one that comes when all places are taken", async () => {
    const free = signalOf();
    const work = doing(async ({ input, once, job }) => {
      if (input === "waits") return job!.sleep(60_000);
      return input === "long" ? once("work", () => free.promise.then(() => null)) : "quick";
    });
    const limits = { parallelJobsMax: 2, parkAfterMs: 60_000 };
    await using runtime = await running({ store: store(), plugins: [work()], limits });
    const { jobs } = await runtime.session("s");
    for (const input of ["waits", "long"]) {
      const { id } = await jobs.spawn({ ...WORK, input });
      await eventually(async () => ((await jobs.get(id)).starts === 1 ? true : undefined));
    }
    expect(await done(runtime, "quick")).toMatchObject({ result: "quick" });
    free.resolve();
  });

  test("J5 a task that waits for several things, of which some have come, is parked too", async () => {
    let writes = 0;
    const kept = around(store(), {
      "jobs.append": (act) => {
        writes++;
        return act();
      },
    });
    const work = doing(async ({ input, jobs, job }) => {
      await Promise.all([jobs.await(input as string[]), job!.sleep(60_000)]);
    });
    const limits = { parallelJobsMax: 1, parkAfterMs: 5 };
    await using runtime = await running({ store: kept, plugins: [work()], limits });
    const { jobs } = await runtime.session("s");
    const [over, open] = [await jobs.register({ label: "Over" }), await jobs.register({ label: "Open" })];
    await jobs.complete(over.id, "completed");
    const { id } = await jobs.spawn({ ...WORK, input: [over.id, open.id] });
    await eventually(async () =>
      (await kept.jobs.events(id, 0)).some(({ event }) => event.kind === "parked") ? true : undefined,
    );
    const before = writes;
    await passed(200);
    expect(writes - before).toBe(0);
  });

  test("J5 nothing of a task is kept that was cancelled while it waited for the session", async () => {
    const hold = held("hold");
    const counts = definePlugin({
      id: "test/counts",
      state: z.object({ n: z.number().default(0) }),
      setup: ({ task, query }) => ({
        operations: {
          up: task({ run: ({ state }) => state.update(({ n }) => ({ n: n + 1 })) }),
          read: query({ run: ({ state }) => state.get().n }),
        },
      }),
    });
    const options = { store: store(), tools: [hold.tool], plugins: [counts()], limits: { cancelGraceMs: 20 } };
    await using world = await open(recited(calls("hold"), says("Done.")), options);
    const { session } = world;
    const turn = session.turn("Go.");
    await hold.began();
    const { id } = await session.jobs.spawn({ label: "Up", operation: "test/counts.up" });
    await eventually(async () => ((await session.jobs.get(id)).starts === 1 ? true : undefined));
    await passed(20);
    expect(await session.jobs.cancel(id)).toMatchObject({ state: "cancelled" });
    hold.release();
    await turn.result();
    await session.append([{ kind: "message", role: "user", text: "After it." }]);
    expect(await session.query(counts, "read")).toBe(0);
  });

  test("J2 wrong filters and pages, and signals that are too large, are typed", async () => {
    const limits = { inputBytesMax: 1_000 };
    await using runtime = await running({
      store: store(),
      plugins: [doing(({ job }) => job!.receive("go"))()],
      limits,
    });
    const { jobs } = await runtime.session("s");
    const { id } = await jobs.spawn({ ...WORK, signals: { go: {} } });
    for (const max of [-1, 0, 1.5, Number.NaN, "1" as never])
      for (const asked of [
        jobs.list({ max }),
        runtime.jobs.list({ max }),
        jobs.changes(undefined, { max }),
        runtime.jobs.changes(undefined, { max }),
      ])
        expect(await codeOf(asked)).toBe("options.invalid");
    for (const wrong of [{ kind: "none" }, { visibility: "none" }, { after: 5 }])
      for (const asked of [jobs.list(wrong as never), runtime.jobs.list(wrong as never)])
        expect(await codeOf(asked)).toBe("job.invalid");
    expect(await codeOf(jobs.signal(id, "go", "x".repeat(1_000)))).toBe("limit.bytes");
  });

  test("J2 registered work is notified when its session is deleted", async () => {
    await using runtime = await running({ store: store() });
    const { jobs } = await runtime.session("s");
    const told = signalOf();
    await jobs.register({ label: "Build" }, () => told.resolve());
    await runtime.sessions.delete("s");
    await within(told.promise);
  });
});

test.concurrent("J5 a task that is left again and again by processes that are closed has not ended any of them", async () => {
  const path = file();
  const work = doing(({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
  let id = "";
  for (let life = 1; life <= 4; life++) {
    await using runtime = await runningOn(path, { plugins: [work()], limits: { resumesMax: 2 } });
    if (id === "") id = (await (await runtime.session("s")).jobs.spawn(WORK)).id;
    await eventually(async () => ((await runtime.jobs.get(id)).starts === life ? true : undefined), 4_000);
  }
  await using runtime = await runningOn(path, {});
  expect(await runtime.jobs.get(id)).toMatchObject({ state: "running", starts: 4 });
}, 20_000);

test.concurrent("J5 T8 a tool whose result comes later is called once, over the end of its process; closing does not wait for it", async () => {
  const path = file();
  let asked = 0;
  const later = defineTool({
    name: "later",
    description: "Later.",
    input: z.object({}),
    execute: () => {
      asked++;
      return defer();
    },
  });
  const options = () => ({ plugins: [doing(({ job }) => job!.call("later", {}))()], tools: [later] });
  const first = await runningOn(path, options());
  const { id } = await (await first.session("s")).jobs.spawn(WORK);
  await eventually(async () => (await first.waits.list())[0]);
  await within(first.close(), 1_000);
  await using second = await runningOn(path, options());
  await eventually(async () => ((await second.jobs.get(id)).starts === 2 ? true : undefined), 4_000);
  const [wait] = await second.waits.list();
  await second.waits.resolve(wait!, { value: 5 } as never);
  expect(await within(second.jobs.await(id), 4_000)).toMatchObject({ state: "completed", result: 5 });
  expect(asked).toBe(1);
}, 20_000);

test.concurrent("J2 a callback that never returns, of a job that is cancelled elsewhere, keeps nobody here from awaiting", async () => {
  const path = file();
  await using here = await runningOn(path, {});
  await using elsewhere = await runningOn(path, {});
  const { jobs } = await here.session("s");
  const called = signalOf();
  const build = await jobs.register({ label: "Build" }, () => {
    called.resolve();
    return new Promise(() => {});
  });
  const other = await jobs.register({ label: "Other" });
  const waiting = jobs.await([other.id]);
  await elsewhere.jobs.cancel(build.id);
  await within(called.promise, 3_000);
  await elsewhere.jobs.of("s").complete(other.id, "completed");
  expect(await within(waiting, 4_000)).toMatchObject([{ state: "completed" }]);
}, 10_000);

test.concurrent("J1 work that two processes begin at once under one id runs in one of them", async () => {
  const path = file();
  const runtimes = await Promise.all([runningOn(path, {}), runningOn(path, {})]);
  const begun = await Promise.all(runtimes.map((runtime) => runtime.session("s")));
  for (let round = 0; round < 20; round++) {
    let runs = 0;
    const job = { label: "Once", id: `once ${round}` };
    await Promise.all(begun.map(({ jobs }) => jobs.spawn(job, () => ++runs)));
    await within(runtimes[0].jobs.await(job.id), 3_000);
    expect(runs).toBe(1);
  }
  for (const runtime of runtimes) await runtime.close();
}, 20_000);

test.concurrent("S4 J5 an input whose delivery fails once is delivered, and keeps nothing else from beginning", async () => {
  let fails = 1;
  const store = around(sqlite(":memory:", { durability: "process" }), {
    "jobs.append": (act, _lease, events) => {
      const [first] = events as readonly { readonly key: string }[];
      if (first?.key === "end" && fails-- > 0) throw new Error("The disk is full.");
      return act();
    },
  });
  await using runtime = await running({ store, plugins: [doing(() => "done")()] });
  const session = await runtime.session("s");
  const at = Date.now() + 60;
  const sent = await session.sendAt(new Date(at), "Hello.");
  const { id } = await session.jobs.spawn({ ...WORK, notBefore: at });
  expect(await within(runtime.jobs.await(id), 4_000)).toMatchObject({ result: "done" });
  expect(await within(runtime.jobs.await(sent.jobId), 4_000)).toMatchObject({ state: "completed" });
  await eventually(async () => ((await session.read()).turns === 1 ? true : undefined));
}, 10_000);

test.concurrent("J2 an await of a job throws when another process deletes its session", async () => {
  const path = file();
  await using here = await runningOn(path, {});
  await using elsewhere = await runningOn(path, {});
  const { jobs } = await here.session("s");
  const waiting = jobs.await([(await jobs.register({ label: "Gone" })).id]);
  await passed(5);
  await elsewhere.sessions.delete("s");
  expect(await within(waiting, 4_000)).toEqual([]);
}, 10_000);
