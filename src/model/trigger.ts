// Job: the shared types of triggers: subscriptions, their sources and targets, and occurrences.
// Not its job: storing subscriptions (`stores/`), computing times and serving due subscriptions (`runtime/triggers/`).
// An occurrence is one event, and it is recorded once. The same write starts one job for each matching subscription. So
// a crash leaves both or neither, and the job is resumed like every job.
import type { Cursor, JobId, SessionId, TurnId } from "./ids.ts";
import type { JobWake } from "./job.ts";
import type { Json } from "./json.ts";

/**
 * What happens to times at which no process was running: `all` of them occur, only the latest (`once`), or none
 * (`skip`). The latest time counts as missed when it is more than a minute ago.
 */
export type MissedRuns = "skip" | "once" | "all";

/** What a subscription waits for. */
export type TriggerSource =
  /**
   * An event that a plugin declares. With `source`, only events of this source, for example one of several mailboxes.
   */
  | { readonly kind: "event"; readonly event: string; readonly source?: string }
  | { readonly kind: "cron"; readonly cron: string; readonly timeZone: string; readonly missed: MissedRuns }
  /** Every `everyMs` milliseconds after `from`. */
  | { readonly kind: "interval"; readonly everyMs: number; readonly from: number; readonly missed: MissedRuns }
  /** Commits of the session's turns. A subscription that opens turns ignores turns that triggers opened. */
  | { readonly kind: "commits" };

/** What a subscription starts in its session. */
export type TriggerTarget =
  /** A turn. The model reads this text and a description of the event. */
  | { readonly kind: "turn"; readonly text: string }
  /** A job with the task `plugin.task`. Default for `input`: the payload of the occurrence. */
  | { readonly kind: "job"; readonly operation: string; readonly input?: Json; readonly wake: JobWake };

export interface Subscription {
  /** Unique in its session. */
  readonly id: string;
  readonly sessionId: SessionId;
  /** 1 for a new subscription. Every change by `update` adds 1. */
  readonly revision: number;
  /** Unique for all time: a later subscription with the same id has another incarnation. */
  readonly incarnation: string;
  readonly label: string;
  readonly on: TriggerSource;
  readonly starts: TriggerTarget;
  /** A disabled subscription starts nothing. */
  readonly isEnabled: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** For a schedule: the next time; left out if there is none. */
  readonly next?: number;
  /** For commits: the last fact that was handled. */
  readonly after?: Cursor;
}

/** An event that happened. */
export interface NewOccurrence {
  /** Derived from the event: the same event always has the same id. */
  readonly id: string;
  /** `event:<name>`, or `subscription:<incarnation>` for a time or commit of one subscription. */
  readonly source: string;
  /** The payload of an event, the time of a schedule, or the turn of a commit. */
  readonly payload: Json;
  /** When it happened. For a schedule: the planned time. */
  readonly at: number;
}

/** The work that an occurrence started for one subscription. */
export interface Delivery {
  readonly sessionId: SessionId;
  readonly subscription: string;
  readonly revision: number;
  /** The job that was started; left out if the delivery is lost. */
  readonly jobId?: JobId;
  /** The turn that it opens. */
  readonly turnId?: TurnId;
  /** Nothing was started, because the session had too many live jobs or waiting inputs. */
  readonly lost?: "full";
}

export interface Occurrence extends NewOccurrence {
  readonly deliveries: readonly Delivery[];
}

export const isSchedule = ({ kind }: TriggerSource): boolean => kind === "cron" || kind === "interval";
