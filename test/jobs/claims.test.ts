import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin, type Store } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { z } from "zod";
import { around } from "../kit/stores.ts";
import { quickWorld, running } from "../kit/worlds.ts";

const ELSEWHERE = { id: "elsewhere", process: "another machine" };
const HOUR_MS = 3_600_000;

/** A plugin whose task waits, in a step, for as long as the test wants. */
function slow() {
  const runs: string[] = [];
  const doors: (() => void)[] = [];
  const plugin = definePlugin({
    id: "test/slow",
    setup: ({ task }) => ({
      operations: {
        work: task({
          input: z.object({ isSlow: z.boolean() }),
          run: ({ input, once }) =>
            once("work", async () => {
              runs.push("work");
              if (input.isSlow) await new Promise<void>((resolve) => doors.push(resolve));
              return runs.length;
            }),
        }),
      },
    }),
  });
  return { plugin: plugin(), runs, open: () => doors.splice(0).forEach((door) => void door()) };
}

test("J5 a job that another process took and gave back while its holder was late continues with its holder", async () => {
  const store = sqlite(":memory:");
  const { plugin, runs, open } = slow();
  await using runtime = await running({ store, plugins: [plugin] });
  const { jobs } = await runtime.session("s");
  const work = { label: "Work", operation: "test/slow.work" };
  await jobs.spawn({ ...work, id: "slow", input: { isSlow: true } });
  while (runs.length === 0) await sleep(2);
  const [taken] = await store.jobs.claim(ELSEWHERE, Date.now() + HOUR_MS, 1, ["test/slow.work"]);
  expect(taken?.record.id).toBe("slow");
  await store.jobs.leave(ELSEWHERE);
  await jobs.spawn({ ...work, id: "quick", input: { isSlow: false } }); // So it looks for jobs, and is given both.
  await jobs.await(["quick"]);
  open();
  await sleep(20);
  open();
  const [record] = await jobs.await(["slow"], { timeoutMs: 3_000 });
  expect(record?.state).toBe("completed");
});

test("J2 what was claimed beside a job that cannot be abandoned is run all the same", async () => {
  let faults = 1;
  const inner = sqlite(":memory:");
  const store: Store = around(inner, {
    "jobs.append": (act, _, events) => {
      const isEnd = (events as readonly { event: { kind: string; state?: string } }[]).some(
        ({ event }) => event.kind === "ended" && event.state === "abandoned",
      );
      if (isEnd && faults-- > 0) throw Object.assign(new Error("busy"), { code: "store.busy" });
      return act();
    },
  });
  const { plugin } = slow();
  await using runtime = await running({ store, plugins: [plugin], recover: "manual" });
  const { jobs } = await runtime.session("s");
  const bound = { id: "bound", sessionId: "s", kind: "task", label: "Bound", visibility: "managed" } as const;
  const job = { ...bound, recovery: "owner-bound", wake: "none", onParentEnd: "keep", at: 1 } as never;
  await inner.jobs.spawn({ job, owner: ELSEWHERE }, Infinity);
  await inner.jobs.leave(ELSEWHERE);
  const work = { label: "Work", operation: "test/slow.work", input: { isSlow: false } };
  await jobs.spawn({ ...work, id: "work" });
  const [record] = await jobs.await(["work"], { timeoutMs: 4_000 });
  expect(record?.state).toBe("completed");
});

test("J5 a job whose processes die before it records anything is stopped, and its record has the reason", async () => {
  const store = sqlite(":memory:");
  const { plugin, runs } = slow();
  await using runtime = await running({ store, plugins: [plugin], recover: "manual" });
  const { jobs } = await runtime.session("s");
  const notBefore = Date.now() + HOUR_MS;
  await jobs.spawn({ id: "one", label: "One", operation: "test/slow.work", input: { isSlow: false }, notBefore });
  for (let deaths = 0; deaths < 6; deaths++) {
    await store.jobs.claim(ELSEWHERE, notBefore, 1, ["test/slow.work"]);
    await store.jobs.leave(ELSEWHERE);
  }
  await runtime.recover();
  expect(await jobs.get("one")).toMatchObject({ state: "failed", error: { code: "job.crash-loop" }, starts: 7 });
  expect(runs).toEqual([]);
});

test("J5 D3 a process that sleeps right after it prolonged its time begins no step of a job that another one has by then", async () => {
  const inner = sqlite(":memory:");
  const world = quickWorld();
  const taken: string[] = [];
  const store: Store = around(inner, {
    "jobs.renew": async (act) => {
      const answer = await act();
      if (taken.length > 0) return answer;
      world.pass(HOUR_MS);
      const claimed = await inner.jobs.claim(ELSEWHERE, world.now(), 1, ["test/slow.work"]);
      taken.push(...claimed.map(({ record }) => record.id));
      return answer;
    },
  });
  const { plugin, runs } = slow();
  await using runtime = await running({ store, plugins: [plugin], world, recover: "manual" });
  const { jobs } = await runtime.session("s");
  await jobs.spawn({ id: "one", label: "One", operation: "test/slow.work", input: { isSlow: false } });
  await runtime.recover();
  expect(taken).toEqual(["one"]);
  expect(runs).toEqual([]);
});
