import { SessionId } from "../../model/ids.js";
import { Usage } from "../../model/usage.js";
/** Which turns a report covers: those that started at `since` or later, and before `until`. */
interface UsagePage {
  /** Milliseconds since 1970. Default: 24 hours before `until`. */
  readonly since?: number | undefined;
  /** Default: now. */
  readonly until?: number | undefined;
  /** Only turns of sessions with this owner. */
  readonly owner?: string | undefined;
}
/** What turns have spent, in steps of time. Only ended turns count. */
interface UsageReport {
  readonly since: number;
  readonly until: number;
  /** The length of a step: an hour, or a day when the time is longer than three days. Days begin at midnight in UTC. */
  readonly stepMs: number;
  /** A row for each step and model with turns, in the order of time. */
  readonly rows: readonly UsageRow[];
  /** The sessions that spent the most: at most 20. */
  readonly sessions: readonly (Spending & {
    readonly id: SessionId;
    readonly label?: string;
  })[];
  /** Tool calls of the latest `toolTurns` turns whose journal is kept. Each attempt is a call. */
  readonly tools: readonly ToolSpending[];
  readonly toolTurns: number;
  /** There are more turns than one report reads: older ones are left out. */
  readonly isPartial: boolean;
}
interface ToolSpending {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  /** How long all calls took. */
  readonly ms: number;
}
interface Spending {
  readonly turns: number;
  readonly usage: Usage;
  /** Omitted if a price is unknown. */
  readonly cost?: number;
}
interface UsageRow extends Spending {
  /** The beginning of the step. */
  readonly at: number;
  /** The model of the turn. What its nested calls spent on other models is included. */
  readonly model: string;
  /** Turns that failed or were stopped. */
  readonly failed: number;
}
export { UsagePage, UsageReport, UsageRow };
