import { crashTest } from "bowline/testing";
import { expect, test } from "vitest";
import { scenarios } from "../crash/scenarios.ts";
import { builtArgv } from "../kit/built.ts";

const execArgv = await builtArgv();

const seed = Number(process.env.CRASH_SEED ?? 1);

test("D2 D3 D6 two thousand kills lose nothing and repeat nothing", async () => {
  const amounts = { kills: "all", doubles: 25, triples: 15, loops: 2, stops: 6, pairs: 6 } as const;
  const report = await crashTest(scenarios, { ...amounts, execArgv, seed, parallel: 3 });
  console.log(String(report));
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(2_000);
}, 3_600_000);

test("D2 D6 on a host without a memory killed turns and jobs resume in the same way", async () => {
  const report = await crashTest(scenarios, {
    execArgv,
    place: "amnesiac",
    kills: 4,
    doubles: 1,
    seed,
    parallel: 3,
  });
  console.log(String(report));
  expect(report.violations).toEqual([]);
}, 1_800_000);
