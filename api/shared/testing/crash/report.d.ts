import { Trial } from "./plan.js";
import { ViolationKind } from "./judge.js";
interface Violation {
  readonly scenario: string;
  readonly kind: ViolationKind;
  readonly problem: string;
  /** What was done: `crashTest(scenario, { trials: [trial] })` does it again. Nothing for the run without a kill. */
  readonly trial?: Trial;
  /** Where its processes were killed or stopped. */
  readonly places: readonly string[];
}
/** One scenario's line. */
interface CrashRow {
  readonly scenario: string;
  readonly boundaries: number;
  readonly trials: number;
  readonly kills: number;
  readonly stops: number;
  readonly ms: number;
}
declare class CrashReport {
  #private;
  readonly rows: readonly CrashRow[];
  readonly violations: readonly Violation[];
  constructor(rows: readonly CrashRow[], violations: readonly Violation[]);
  /** How many processes were killed. */
  get kills(): number;
  get lost(): number;
  get repeated(): number;
  /** A table, what was wrong, and the sum. */
  toString(): string;
}
export { CrashReport, CrashRow, Violation };
