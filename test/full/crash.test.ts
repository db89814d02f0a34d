import { journal } from "bowline/hosts/journal";
import { memory } from "bowline/stores/memory";
import { crashTest, hostLaws } from "bowline/testing";
import { expect, test } from "vitest";
import { store as parksAnyway } from "../crash/mutants/park-ignores-mail.ts";
import { caught, MUTANTS } from "../crash/mutants.ts";
import { scenario } from "../crash/scenarios.ts";
import { builtArgv } from "../kit/built.ts";

const execArgv = await builtArgv();

test.each(MUTANTS)("D6 the crash kit catches %s on %s", (...mutant) => caught(mutant, execArgv), 60_000);

test.concurrent.each([
  ["resolve-does-not-wake", "parked", "stuck"],
  ["job-park-ignores-mail", "job-approval", "stuck"],
  ["schedule-not-advanced", "trigger-schedule", "stuck"],
  ["code-guest-reused", "code-cancel", "different"],
])(
  "D4 D6 the crash kit catches %s on %s, and needs no kill for it",
  async (mutant, name, kind) => {
    const around = new URL(`../crash/mutants/${mutant}.ts`, import.meta.url);
    const options = { kills: 0, around, execArgv, timeoutMs: 8_000 };
    const report = await crashTest(scenario(name), options);
    expect(report.violations.map((violation) => violation.kind)).toContain(kind);
  },
  60_000,
);

test("D3 J5 a worker that slept past its time does no step of a job again, and begins no function of a lost turn", async () => {
  // After a claim, and before the answers are written that begin jobs.
  const trials = [7, 18, 43].map((at) => ({ kind: "stop", at }) as const);
  const report = await crashTest(scenario("job-spawned"), { execArgv, trials, parallel: 3 });
  expect(report.violations).toEqual([]);
}, 60_000);

test("D4 D6 the laws of hosts catch park-ignores-mail", async () => {
  const broken: string[] = [];
  for (const { law, needs, check } of hostLaws)
    if (needs === "parking")
      await check({ host: journal, store: () => parksAnyway(memory()) }).catch(() => broken.push(law));
  expect(broken).toEqual([
    "park: refused when an answer came first, which is heard once",
    "park: refused when a cancel came first, which is heard once",
    "park: what comes while it is under way is lost by nobody, and heard once",
  ]);
});
