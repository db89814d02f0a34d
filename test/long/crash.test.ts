import { crashTest } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build, scenarios } from "../crash/build.ts";
import { caught, mutants } from "../crash/mutants.ts";

const built = build();
afterAll(() => built[Symbol.dispose]());

const seed = Number(process.env.CRASH_SEED ?? 1);

test("D2 D3 D6 two thousand kills lose nothing and repeat nothing", async () => {
  const amounts = { kills: "all", doubles: 25, triples: 15, loops: 2, stops: 6, pairs: 6 } as const;
  const report = await crashTest(scenarios, { ...amounts, execArgv: built.execArgv, seed, parallel: 3 });
  console.log(String(report));
  expect(report.violations).toEqual([]);
  expect(report.kills).toBeGreaterThanOrEqual(2_000);
}, 3_600_000);

test("D2 D6 on a host without a memory killed turns and jobs go on just the same", async () => {
  const report = await crashTest(scenarios, {
    execArgv: built.execArgv,
    place: "amnesiac",
    kills: 4,
    doubles: 1,
    seed,
    parallel: 3,
  });
  console.log(String(report));
  expect(report.violations).toEqual([]);
}, 1_800_000);

test.each(mutants("rest"))("D6 the crash kit catches %s on %s", (...mutant) => caught(mutant, built.execArgv), 60_000);
