import { expect, test } from "vitest";
import { crashOnPostgres } from "../crash/postgres.ts";
import { scenario } from "../crash/scenarios.ts";
import { builtArgv } from "../kit/built.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { CAUGHT_BY, raced } from "../postgres/races.ts";

const execArgv = await builtArgv();

describePostgres("the crash kit and the races find defects of a store on Postgres", () => {
  test("E7 D6 the crash kit catches a host that does not look at the deadline of its lease", async () => {
    const around = new URL("../crash/mutants/clock-not-read.ts", import.meta.url);
    const report = await crashOnPostgres(scenario("text-turn"), {
      execArgv,
      around,
      kills: 0,
      stops: 4,
      parallel: 4,
    });
    expect(report.violations.map(({ kind }) => kind)).toContain("repeated");
  }, 60_000);

  test("E7 D6 the crash kit catches a store that reports waiting inputs, and not claimed ones", async () => {
    // Around the first claim: killed before its event is written, the turn must ask for it again.
    const trials = [21, 22, 23, 24].map((at) => ({ kind: "kills", at: [at] }) as const);
    const report = await crashOnPostgres(scenario("steering"), { execArgv, trials }, "claims are not pending");
    expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]); // Only a kill shows it.
    expect(report.violations.map(({ kind }) => kind)).toContain("different");
  }, 60_000);
  test.each(CAUGHT_BY)("E7 D6 the races catch a store with %s: %s", async (mutant, name) => {
    const { wrong, changed } = await raced(name, 600, mutant, { isSample: true });
    expect(changed).toBeGreaterThan(0);
    expect(wrong.length).toBeGreaterThan(0);
  });
});
