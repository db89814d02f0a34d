// Faults that are known and not mended. Each of these tests fails, and says so when it does not any more: then it belongs
// to the others.
import { setTimeout as sleep } from "node:timers/promises";
import { crashTest } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build } from "../crash/build.ts";
import { file } from "../kit/stores.ts";
import { runningOn } from "../kit/worlds.ts";

const built = build();
afterAll(() => built[Symbol.dispose]());

// The desk asks whether the job is there, then begins it; the store does not tell who of two was first.
test.fails("J2 a function that two processes begin under one id runs in one of them", async () => {
  const path = file();
  const ran: string[] = [];
  const worlds = await Promise.all(["a", "b"].map(() => runningOn(path, {})));
  await Promise.all(
    worlds.map(async (runtime, nth) => {
      const { jobs } = await runtime.session("s");
      await jobs.spawn({ id: "one", label: "One" }, () => void ran.push(String(nth)));
      await jobs.await(["one"]);
    }),
  );
  await sleep(50);
  for (const runtime of worlds) await runtime.close();
  expect(ran.length).toBe(1);
});

// The booking waits for the open turn in memory. The job ends meanwhile, and nobody knows of it after a kill. When this is
// mended the scenario belongs to `test/crash/scenarios`.
test.fails("J5 D6 what a job pays for while a turn is open is in the ledger, also after a kill", async () => {
  const scenario = new URL("../crash/open/job-paid.ts", import.meta.url);
  const trials = [24, 28, 32].map((at) => ({ kind: "kills", at: [at] }) as const);
  const report = await crashTest(scenario, { trials, execArgv: built.execArgv });
  expect(report.violations).toEqual([]);
}, 60_000);
