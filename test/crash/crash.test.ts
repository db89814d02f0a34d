import { crashTest } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build, scenario, scenarios } from "./build.ts";

// A sample, chosen by a seed; `npm run test:long` kills everything everywhere.
const built = build();
afterAll(() => built[Symbol.dispose]());
const { execArgv } = built;

test("D3 D6 a worker that slept past its lease does nothing more, and two workers share the work", async () => {
  const amounts = { kills: 0, stops: 3, pairs: 1, parallel: 4 }; // Most of them sleep.
  const report = await crashTest(["pay-once", "ten-tools"].map(scenario), { ...amounts, execArgv });
  expect(report.violations).toEqual([]);
  expect(report.rows.map(({ stops }) => stops)).toEqual([3, 3]);
}, 120_000);

test("D3 J5 a worker that slept past its time does no step of a job again, and begins no function of a lost turn", async () => {
  // After a claim, and before the answers are written that begin jobs.
  const trials = [7, 18, 43].map((at) => ({ kind: "stop", at }) as const);
  const report = await crashTest(scenario("job-spawned"), { execArgv, trials, parallel: 3 });
  expect(report.violations).toEqual([]);
}, 60_000);

test("D6 a turn that kills every process is given up, and the session goes on", async () => {
  const report = await crashTest(scenario("two-workers"), { execArgv, kills: 0, loops: 1 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
}, 60_000);

test("D2 D6 nothing but the fold knows of the past: on a host without a memory a killed turn goes on just the same", async () => {
  const some = scenarios.filter((_, nth) => nth % 9 === 1); // `npm run test:long` has all of them.
  const report = await crashTest(some, { execArgv, place: "amnesiac", kills: 1, seed: 3 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(some.length);
}, 120_000);

test("D2 D6 no kill at any boundary loses or repeats anything", async () => {
  const most = scenarios.filter((_, nth) => nth % 2 === 0); // `npm run test:long` has all of them.
  const report = await crashTest(most, { execArgv, kills: 1, seed: 7 });
  console.log(String(report));
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(most.length);
}, 360_000);

test("D2 D6 nor do two kills, one after the other", async () => {
  const some = scenarios.filter((_, nth) => nth % 6 === 3); // `npm run test:long` has all of them.
  const report = await crashTest(some, { execArgv, kills: 0, doubles: 1, seed: 7 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(some.length);
}, 120_000);
