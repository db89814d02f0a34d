import { Cursor, JobId, SessionId, TurnId } from "./ids.js";
import { JobWake } from "./job.js";
import { Json } from "./json.js";
/**
 * What happens to times at which no process was running: `all` of them occur, only the latest (`once`), or none
 * (`skip`). The latest time counts as missed when it is more than a minute ago.
 */
type MissedRuns = "skip" | "once" | "all";
/** What a subscription waits for. */
type TriggerSource =
/**
 * An event that a plugin declares. With `source`, only events of this source, for example one of several mailboxes.
 */
{
  readonly kind: "event";
  readonly event: string;
  readonly source?: string;
} | {
  readonly kind: "cron";
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: MissedRuns;
} |
/** Every `everyMs` milliseconds after `from`. */
{
  readonly kind: "interval";
  readonly everyMs: number;
  readonly from: number;
  readonly missed: MissedRuns;
} |
/** Commits of the session's turns. A subscription that opens turns ignores turns that triggers opened. */
{
  readonly kind: "commits";
};
/** What a subscription starts in its session. */
type TriggerTarget =
/** A turn. The model reads this text and a description of the event. */
{
  readonly kind: "turn";
  readonly text: string;
} |
/** A job with the task `plugin.task`. Default for `input`: the payload of the occurrence. */
{
  readonly kind: "job";
  readonly operation: string;
  readonly input?: Json;
  readonly wake: JobWake;
};
interface Subscription {
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
interface NewOccurrence {
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
interface Delivery {
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
interface Occurrence extends NewOccurrence {
  readonly deliveries: readonly Delivery[];
}
export { Delivery, MissedRuns, NewOccurrence, Occurrence, Subscription };
