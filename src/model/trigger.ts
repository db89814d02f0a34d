// Trigger: the words for what starts work by itself: what a subscription waits for, what it starts, what has happened.
// Not its job: keeping subscriptions (`stores/`), telling times and serving what is due (`runtime/triggers/`).
// An occurrence is one thing that happened, and it happens once. For each subscription that it meets it starts one job,
// in the same write: a crash leaves both or neither, and the job is gone on with as every job is.
import type { Cursor, JobId, SessionId, TurnId } from "./ids.ts";
import type { JobWake } from "./job.ts";
import type { Json } from "./json.ts";

/**
 * What becomes of times at which no process was there: all of them happen, or only the latest, or none. The latest counts
 * as missed when it is more than a minute past.
 */
export type MissedRuns = "skip" | "once" | "all";

/** What a subscription waits for. */
export type TriggerSource =
  /** An event that a plugin declares; with `source` only from there, for example one of several mailboxes. */
  | { readonly kind: "event"; readonly event: string; readonly source?: string }
  | { readonly kind: "cron"; readonly cron: string; readonly timeZone: string; readonly missed: MissedRuns }
  /** Every so many milliseconds after `from`. */
  | { readonly kind: "interval"; readonly everyMs: number; readonly from: number; readonly missed: MissedRuns }
  /** The turns of its own session that are committed. One that opens turns is not told of those that triggers opened. */
  | { readonly kind: "commits" };

/** What it starts in its session. */
export type TriggerTarget =
  /** A turn; the model reads this text, and what happened. */
  | { readonly kind: "turn"; readonly text: string }
  /** A job with a task of a plugin, as `plugin.task`. Its input is this one, or else what happened. */
  | { readonly kind: "job"; readonly operation: string; readonly input?: Json; readonly wake: JobWake };

export interface Subscription {
  /** Unique in its session. */
  readonly id: string;
  readonly sessionId: SessionId;
  /** 1 for a new one; every change adds 1. That its time moves on is no change. */
  readonly revision: number;
  /** Unique among all that ever were: another one of the same id, made later, is not this one. */
  readonly incarnation: string;
  readonly label: string;
  readonly on: TriggerSource;
  readonly starts: TriggerTarget;
  /** One that is not enabled is passed by. */
  readonly isEnabled: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** Of a schedule: when it occurs next; left out when it never does again. */
  readonly next?: number;
  /** Of commits: the fact up to which they are told. */
  readonly after?: Cursor;
}

/** Something that happened. */
export interface NewOccurrence {
  /** Made of what happened: the same thing has the same id again. */
  readonly id: string;
  /** `event:<name>`, or `subscription:<incarnation>` for what only one subscription waits for. */
  readonly source: string;
  /** The payload of an event; of a schedule its time; of a commit the turn. */
  readonly payload: Json;
  /** When it happened: of a schedule the time that it was to happen. */
  readonly at: number;
}

/** What an occurrence started for one subscription. */
export interface Delivery {
  readonly sessionId: SessionId;
  readonly subscription: string;
  readonly revision: number;
  /** The job that it is; left out when it is lost. */
  readonly jobId?: JobId;
  /** The turn that it opens. */
  readonly turnId?: TurnId;
  /** Nothing was started: the session had too many jobs that are not over, or inputs that wait. */
  readonly lost?: "full";
}

export interface Occurrence extends NewOccurrence {
  readonly deliveries: readonly Delivery[];
}

export const isSchedule = ({ kind }: TriggerSource): boolean => kind === "cron" || kind === "interval";
