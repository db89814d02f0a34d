import type { ViolationKind } from "./judge.ts";
import type { Trial } from "./plan.ts";

export interface Violation {
  readonly scenario: string;
  readonly kind: ViolationKind;
  readonly problem: string;
  /** The trial; `crashTest(scenario, { trials: [trial] })` runs it again. Absent for the run without a kill. */
  readonly trial?: Trial;
  /** The boundaries at which processes were killed or suspended. */
  readonly places: readonly string[];
}

/** The report's line for one scenario. */
export interface CrashRow {
  readonly scenario: string;
  readonly boundaries: number;
  readonly trials: number;
  readonly kills: number;
  readonly stops: number;
  readonly ms: number;
}

export class CrashReport {
  readonly rows: readonly CrashRow[];
  readonly violations: readonly Violation[];

  constructor(rows: readonly CrashRow[], violations: readonly Violation[]) {
    this.rows = rows;
    this.violations = violations;
  }

  /** The number of all killed processes. */
  get kills(): number {
    return this.rows.reduce((sum, { kills }) => sum + kills, 0);
  }
  get lost(): number {
    return this.#count(["lost"]);
  }
  get repeated(): number {
    return this.#count(["repeated"]);
  }

  #count(kinds: readonly ViolationKind[], scenario?: string): number {
    return this.violations.filter(
      (each) => kinds.includes(each.kind) && (scenario === undefined || each.scenario === scenario),
    ).length;
  }

  /** Returns a table of scenarios, the violations, and the sum. */
  toString(): string {
    const known: readonly ViolationKind[] = ["lost", "repeated"];
    const head = ["scenario", "boundaries", "kills", "stops", "lost", "repeated", "other"];
    const lines = this.rows.map(({ scenario, boundaries, kills, stops }) => [
      scenario,
      boundaries,
      kills,
      stops,
      this.#count(["lost"], scenario),
      this.#count(["repeated"], scenario),
      this.violations.filter((each) => each.scenario === scenario && !known.includes(each.kind)).length,
    ]);
    const shown = this.violations.slice(0, SHOWN_MAX).map(describeViolation);
    const more = this.violations.length - shown.length;
    const others = this.violations.length - this.lost - this.repeated;
    return [
      ...aligned([head, ...lines]),
      ...shown,
      ...(more > 0 ? [`… and ${more} more`] : []),
      `crash kit: ${this.kills} kills, ${this.lost} lost, ${this.repeated} repeated${others > 0 ? `, ${others} other violations` : ""}`,
    ].join("\n");
  }
}

const SHOWN_MAX = 40;

const describeViolation = ({ scenario, kind, problem, trial, places }: Violation): string =>
  `${scenario}: ${kind}: ${problem} [${trial === undefined ? "no kill" : JSON.stringify(trial)}${places.length === 0 ? "" : `: ${places.join(", ")}`}]`;

function aligned(rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? String(cell).padEnd(widths[column] ?? 0) : String(cell).padStart(widths[column] ?? 0),
      )
      .join("  "),
  );
}
