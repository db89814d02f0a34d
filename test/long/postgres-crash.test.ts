import { expect, test } from "vitest";
import { crashOnPostgres } from "../crash/postgres.ts";
import { scenario, scenarios } from "../crash/scenarios.ts";
import { builtArgv } from "../kit/built.ts";
import { describePostgres } from "../kit/shared-postgres.ts";

const execArgv = await builtArgv();

const seed = Number(process.env.CRASH_SEED ?? 1);

describePostgres("the crash kit on Postgres", () => {
  test("E7 D1 D2 D5 D6 a kill at every boundary of every scenario loses nothing and repeats nothing", async () => {
    const amounts = { kills: "all", doubles: 5, triples: 3, loops: 1, stops: 3, pairs: 3 } as const;
    const report = await crashOnPostgres(scenarios, { ...amounts, execArgv, seed, parallel: 3 });
    console.log(String(report));
    expect(report.violations).toEqual([]);
    expect(report.kills).toBeGreaterThanOrEqual(2_000);
  }, 7_200_000);

  test("E7 D6 the crash kit catches a host that does not look at the deadline of its lease", async () => {
    const around = new URL("../crash/mutants/clock-not-read.ts", import.meta.url);
    for (const name of ["text-turn", "pay-once"]) {
      const report = await crashOnPostgres(scenario(name), { execArgv, around, kills: 0, stops: "all", parallel: 4 });
      console.log(String(report));
      expect(report.violations.map(({ kind }) => kind)).toContain("repeated");
    }
  }, 300_000);

  test("E7 D6 the crash kit catches a store that reports waiting inputs, and not claimed ones", async () => {
    const options = { execArgv, kills: "all", parallel: 3 } as const;
    const report = await crashOnPostgres(scenario("steering"), options, "claims are not pending");
    console.log(String(report));
    expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]);
    expect(report.violations.map(({ kind }) => kind)).toContain("different");
  }, 300_000);
});
