import { definePlugin, type Json, type Runtime } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually, signalOf, within } from "../kit/reading.ts";
import { around, file, slowly, STORES } from "../kit/stores.ts";
import { running, runningOn } from "../kit/worlds.ts";

type TaskRun = Parameters<Parameters<typeof definePlugin>[0]["setup"]>[0]["task"] extends (spec: infer S) => unknown
  ? S extends { run(context: infer C): unknown }
    ? (context: C) => unknown
    : never
  : never;
/** A plugin with one task. */
const doing = (run: TaskRun) =>
  definePlugin({
    id: "test/work",
    setup: ({ task }) => ({ operations: { work: task({ input: z.any(), run: run as never }) } }),
  });
const WORK = { label: "Work", operation: "test/work.work", input: null } as const;

/** Begins the job, and gives its record when it is over. */
async function done(runtime: Runtime, input: Json = null) {
  const { jobs } = await runtime.session("s");
  const { id } = await jobs.spawn({ ...WORK, input });
  return within(runtime.jobs.await(id), 4_000);
}

describe.each(STORES)("on %s", (_, store) => {
  test("J3 J5 a task that is handed over while it waits goes on in its new session", async () => {
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

  test("J1 registered work that was idle, and works again, still hears that it is cancelled", async () => {
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

  test("J2 a callback that never returns does not hold whoever cancels", async () => {
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
});

test("J2 a callback that never returns, of a job that is cancelled elsewhere, keeps nobody here from awaiting", async () => {
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

test("J1 work that two processes begin at once under one id runs in one of them", async () => {
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

test("S4 J5 an input whose delivery fails once is delivered, and keeps nothing else from beginning", async () => {
  let fails = 1;
  const store = around(sqlite(":memory:", { strength: "process" }), {
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
