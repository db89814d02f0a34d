import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { crashOnPostgres } from "./postgres.ts";
import { scenario } from "./scenarios.ts";

const execArgv = await builtArgv();

describePostgres("the crash kit on Postgres", () => {
  test("E7 D1 D2 D6 no kill loses or repeats anything", async () => {
    const all = ["parked", "pay-once", "job-steps", "input-mid-turn", "trigger-event"].map(scenario);
    const some = all.slice(0, sample(3, all.length));
    const report = await crashOnPostgres(some, { execArgv, kills: sample(1, 8), seed: 5 });
    console.log(String(report));
    expect(report.violations).toEqual([]);
    // A run can have fewer boundaries than the one that was counted, and then ends before its kill.
    expect(report.kills).toBeGreaterThan(some.length * sample(1, 8) * 0.9);
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
});
