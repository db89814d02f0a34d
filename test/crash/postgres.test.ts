import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { isFull, sample } from "../kit/size.ts";
import { crashOnPostgres } from "./postgres.ts";
import { scenario } from "./scenarios.ts";

const execArgv = await builtArgv();

// The kit is tried on broken hosts and stores in the full run alone; in the quick one `mutants.test.ts` does so on SQLite.
describePostgres("the crash kit on Postgres", () => {
  test("E7 D1 D2 D6 no kill loses or repeats anything", async () => {
    const all = ["parked", "pay-once", "job-steps", "input-mid-turn", "trigger-event"].map(scenario);
    const some = all.slice(0, sample(3, all.length));
    const report = await crashOnPostgres(some, { execArgv, kills: sample(1, 8), seed: 5 });
    console.log(String(report));
    expect(report.violations).toEqual([]);
    expect(report.kills).toBe(some.length * sample(1, 8));
  }, 300_000);

  test("E7 D5 D6 a worker that slept past its lease does nothing more, and two workers share the work", async () => {
    const report = await crashOnPostgres(scenario("pay-once"), {
      execArgv,
      kills: 0,
      stops: sample(1, 4),
      pairs: 1,
      parallel: 3,
    });
    expect(report.violations).toEqual([]);
    expect(report.rows[0]).toMatchObject({ stops: sample(1, 4) });
  }, 60_000);

  test.runIf(isFull)(
    "E7 D6 the crash kit catches a host that does not look at the deadline of its lease",
    async () => {
      const around = new URL("./mutants/clock-not-read.ts", import.meta.url);
      const report = await crashOnPostgres(scenario("text-turn"), {
        execArgv,
        around,
        kills: 0,
        stops: 4,
        parallel: 4,
      });
      expect(report.violations.map(({ kind }) => kind)).toContain("repeated");
    },
    60_000,
  );

  test.runIf(isFull)(
    "E7 D6 the crash kit catches a store that tells of waiting inputs, and not of claimed ones",
    async () => {
      // Around the first claim: killed before its event is written, the turn must ask for it again.
      const trials = [21, 22, 23, 24].map((at) => ({ kind: "kills", at: [at] }) as const);
      const report = await crashOnPostgres(scenario("steering"), { execArgv, trials }, "claims are not pending");
      expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]); // Only a kill shows it.
      expect(report.violations.map(({ kind }) => kind)).toContain("different");
    },
    60_000,
  );
});
