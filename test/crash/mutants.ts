import { type CrashOptions, crashTest, type Trial, type ViolationKind } from "bowline/testing";
import { expect } from "vitest";
import { scenario } from "./scenarios.ts";

/** A rule that is broken, what it is tried on, and what must be found. */
type Mutant = readonly [mutant: string, scenario: string, CrashOptions, ViolationKind];
export const MUTANTS: readonly Mutant[] = [
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
  ["lines-told-in-a-second-write", "monitor", { trials: killsBetween(28, 31) }, "different"],
  ["group-not-recorded", "monitor", { trials: killsBetween(27, 31) }, "failed"],
  ["earlier-group-not-ended", "monitor", { trials: killsBetween(35, 36) }, "failed"],
  ["earlier-group-not-ended", "monitor-restarts", { trials: killsBetween(27, 31) }, "failed"],
  ["restarted-unasked", "monitor", { trials: killsBetween(35, 36) }, "failed"],
  ["claim-without-fence", "job-steps", { trials: [{ kind: "pair", at: 1_000 }] }, "repeated"],
  ["effect-before-flush", "code-parallel", { trials: killsBetween(25, 27) }, "early"],
  ["code-delivered-by-arrival", "code-parallel", { kills: 6 }, "different"],
  ["code-two-per-drain", "code-parallel", { kills: 6 }, "different"],
  ["code-image-after-commit", "code-cancel", { trials: killsBetween(22, 27) }, "different"],
  ["code-given-forgotten", "code-mode", { kills: 3 }, "different"],
  ["state-not-folded", "code-turns", { kills: 5 }, "different"],
];

/** Single kills where only some places of many are of interest, such as those after the first operation of a turn. */
function killsBetween(first: number, last: number): readonly Trial[] {
  return Array.from({ length: last - first + 1 }, (_, n) => ({ kind: "kills", at: [first + n] }));
}

export async function caught([mutant, name, options, kind]: Mutant, execArgv: readonly string[]): Promise<void> {
  const around = new URL(`./mutants/${mutant}.ts`, import.meta.url);
  const report = await crashTest(scenario(name), { timeoutMs: 15_000, ...options, around, execArgv });
  expect(report.violations.filter(({ trial }) => trial === undefined)).toEqual([]); // Only a kill shows it.
  expect(report.violations.map((violation) => violation.kind)).toContain(kind);
}
