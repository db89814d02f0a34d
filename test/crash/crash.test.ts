import { crashTest } from "bowline/testing";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { isFull, sample } from "../kit/size.ts";
import { scenario, scenarios } from "./scenarios.ts";

// Samples, chosen by a seed; `npm run test:long` kills everything everywhere.
const every = (nth: number, from: number) => scenarios.filter((_, at) => at % nth === from);
const execArgv = await builtArgv();

test("D3 D6 a worker that slept past its lease does nothing more, and two workers share the work", async () => {
  const stops = sample(1, 3);
  const tried = (isFull ? ["pay-once", "ten-tools"] : ["ten-tools"]).map(scenario);
  const report = await crashTest(tried, { kills: 0, stops, pairs: 1, parallel: 4, execArgv }); // Most of them sleep.
  expect(report.violations).toEqual([]);
  expect(report.rows.map((row) => row.stops)).toEqual(tried.map(() => stops));
}, 120_000);

test("D6 a turn that kills every process is stopped, and the session continues", async () => {
  const report = await crashTest(scenario("two-workers"), { execArgv, kills: 0, loops: 1 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThan(1);
}, 60_000);

test("D2 D6 only the fold holds the past: on a host without a memory a killed turn resumes in the same way", async () => {
  const some = every(sample(27, 9), 1);
  const report = await crashTest(some, { execArgv, place: "amnesiac", kills: 1, seed: 3 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(some.length);
}, 120_000);

test("D2 D6 no kill at any boundary loses or repeats anything", async () => {
  const most = every(sample(9, 1), 0);
  const report = await crashTest(most, { execArgv, kills: 1, seed: 7 });
  console.log(String(report));
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(most.length);
}, 360_000);

test("D2 D6 nor do two kills, one after the other", async () => {
  const some = every(sample(27, 3), 3);
  const report = await crashTest(some, { execArgv, kills: 0, doubles: 1, seed: 7 });
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(some.length);
}, 120_000);
