import { definePlugin, type Json, type Runtime } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { eventually, within } from "../kit/reading.ts";
import { around, STORES } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

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
});

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
