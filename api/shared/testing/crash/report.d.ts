import { Trial } from "./plan.js";
import { ViolationKind } from "./judge.js";
interface Violation {
  readonly scenario: string;
  readonly kind: ViolationKind;
  readonly problem: string;
  /** The trial; `crashTest(scenario, { trials: [trial] })` runs it again. Absent for the run without a kill. */
  readonly trial?: Trial;
  /** The boundaries at which processes were killed or suspended. */
  readonly places: readonly string[];
}
/** The report's line for one scenario. */
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
  /** The number of all killed processes. */
  get kills(): number;
  get lost(): number;
  get repeated(): number;
  /** Returns a table of scenarios, the violations, and the sum. */
  toString(): string;
}
export { CrashReport, CrashRow, Violation };
