import { journal } from "bowline/hosts/journal";
import { memory } from "bowline/stores/memory";
import { type CrashOptions, crashTest, hostLaws, type Trial, type ViolationKind } from "bowline/testing";
import { afterAll, expect, test } from "vitest";
import { build, scenario } from "./build.ts";
import { store as parksAnyway } from "./mutants/park-ignores-mail.ts";

const built = build();
afterAll(() => built[Symbol.dispose]());

/** A rule that is broken, what it is tried on, and what must be found. */
const MUTANTS: readonly (readonly [mutant: string, scenario: string, CrashOptions, ViolationKind])[] = [
  ["effect-before-flush", "pay-once", { kills: 12 }, "repeated"],
  ["effect-before-flush", "ten-tools", { kills: 12 }, "early"],
  ["state-not-folded", "plugin-state", { kills: 6 }, "different"],
  ["claim-not-written", "input-mid-turn", { kills: 6 }, "doubled"],
  ["resumed-not-journaled", "text-turn", { kills: 0, loops: 1 }, "stuck"],
  ["key-forgotten", "text-turn", { kills: 8 }, "different"],
  ["input-left-out", "text-turn", { kills: 8 }, "lost"],
  ["clock-not-read", "text-turn", { kills: 0, stops: "all", parallel: 4 }, "repeated"],
  ["lease-not-respected", "text-turn", { kills: 0, pairs: 2 }, "repeated"],
  ["applied-not-journaled", "parked-operation", { trials: killsBetween(13, 22) }, "different"],
  ["spawn-before-append", "job-spawned", { trials: killsBetween(72, 81) }, "different"],
  ["bound-job-rerun", "job-spawned", { kills: 4 }, "different"],
  ["step-not-recorded", "job-steps", { kills: 8 }, "different"],
  ["delivery-without-key", "job-wakes", { kills: 4 }, "different"],
  ["wake-in-a-second-write", "job-wakes", { trials: killsBetween(37, 40), timeoutMs: 6_000, parallel: 4 }, "stuck"],
  ["schedule-before-occurrence", "trigger-schedule", { trials: killsBetween(7, 8) }, "different"],
  ["occurrence-without-key", "trigger-event", { trials: killsBetween(33, 36) }, "different"],
  ["delivery-in-a-second-write", "trigger-event", { trials: killsBetween(13, 14) }, "lost"],
  ["commits-from-memory", "trigger-commits", { trials: killsBetween(40, 41), timeoutMs: 6_000, parallel: 4 }, "stuck"],
  ["lines-told-in-a-second-write", "monitor", { trials: killsBetween(30, 31) }, "different"],
  ["group-not-recorded", "monitor", { trials: killsBetween(29, 31) }, "failed"],
  ["earlier-group-not-ended", "monitor", { trials: killsBetween(35, 36) }, "failed"],
  ["earlier-group-not-ended", "monitor-restarts", { trials: killsBetween(30, 31) }, "failed"],
  ["restarted-unasked", "monitor", { trials: killsBetween(35, 36) }, "failed"],
  ["claim-without-fence", "job-steps", { trials: [{ kind: "pair", at: 1_000 }] }, "repeated"],
];

/** Single kills where only some places of many are of interest, such as those after the first operation of a turn. */
function killsBetween(first: number, last: number): readonly Trial[] {
  return Array.from({ length: last - first + 1 }, (_, n) => ({ kind: "kills", at: [first + n] }));
}

test.each(MUTANTS)(
  "D6 the crash kit catches %s on %s",
  async (mutant, name, options, kind) => {
    const around = new URL(`./mutants/${mutant}.ts`, import.meta.url);
    const report = await crashTest(scenario(name), { timeoutMs: 15_000, ...options, around, execArgv: built.execArgv });
    expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]); // Only a kill shows it.
    expect(report.violations.map((violation) => violation.kind)).toContain(kind);
  },
  60_000,
);

test.concurrent.each([
  ["resolve-does-not-wake", "parked"],
  ["job-park-ignores-mail", "job-approval"],
  ["schedule-not-advanced", "trigger-schedule"],
])(
  "D4 D6 the crash kit catches %s on %s, and needs no kill for it",
  async (mutant, name) => {
    const around = new URL(`./mutants/${mutant}.ts`, import.meta.url);
    const options = { kills: 0, around, execArgv: built.execArgv, timeoutMs: 8_000 };
    const report = await crashTest(scenario(name), options);
    expect(report.violations.map((violation) => violation.kind)).toContain("stuck");
  },
  60_000,
);

test("D4 D6 the laws of hosts catch park-ignores-mail", async () => {
  const caught: string[] = [];
  for (const { law, needs, check } of hostLaws)
    if (needs === "parking")
      await check({ host: journal, store: () => parksAnyway(memory()) }).catch(() => caught.push(law));
  expect(caught).toEqual([
    "park: refused when an answer came first, which is heard once",
    "park: refused when a cancel came first, which is heard once",
    "park: what comes while it is under way is lost by nobody, and heard once",
  ]);
});
