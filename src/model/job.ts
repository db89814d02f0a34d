// Job: the shared types of background work: a job, its events, and its record.
// Not its job: storing jobs (`stores/`), running them (`runtime/jobs/`).
// The store keeps the events of a job. Its record is always computed from them with `foldJob`.
import type { InputId, JobId, SessionId, TurnId, WaitId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import type { Draft } from "./message.ts";
import type { WaitAnswer } from "./wait.ts";

/** The kind of worker. It decides how a job is cancelled and shown. */
export type JobKind = "task" | "monitor" | "subagent" | "code" | "external";
/** How a job ended. `abandoned`: the process of the job died, and no other process can resume the work. */
export type JobEnd = "completed" | "failed" | "cancelled" | "abandoned";
/** `idle`: the job has no work now, for example an agent that waits for a message. */
export type JobState = "running" | "idle" | JobEnd;
/**
 * What happens to a job when its process dies. `rerunnable`: any process that has the plugin resumes it from its
 * recorded steps. `owner-bound`: the job is abandoned. `external`: the work runs outside of the runtime, and `complete`
 * ends the job.
 */
export type JobRecovery = "rerunnable" | "owner-bound" | "external";
/** What the end of a job does to its session: nothing, a message for the next boundary, or a turn. */
export type JobWake = "none" | "notify" | "wake";

/** The fields that a job has from its start. Only its session can change, by `transfer`. */
export interface NewJob {
  readonly id: JobId;
  readonly sessionId: SessionId;
  readonly kind: JobKind;
  readonly label: string;
  /** Hidden jobs belong to plugins: `awaitHidden` waits for them, and models do not see them. */
  readonly visibility: "hidden" | "managed";
  readonly recovery: JobRecovery;
  readonly wake: JobWake;
  /** The turn or the job that started it. */
  readonly parent?: { readonly turnId: TurnId } | { readonly jobId: JobId };
  /** Whether it is cancelled when its parent ends. */
  readonly onParentEnd: "cancel" | "keep";
  /** For a rerunnable job: the task to run, as `plugin.operation`, and its input. */
  readonly operation?: string;
  readonly input?: Json;
  /** The signals that the job receives, by name, each with the JSON Schema of its payload. */
  readonly signals?: { readonly [name: string]: JsonObject };
  /** For a subagent: the session that does the work. */
  readonly childId?: SessionId;
  /** More data of the app or the plugin, for example where the work runs. */
  readonly about?: Json;
  /** A rerunnable job does not start before this time. */
  readonly notBefore?: number;
  /** The only work of this job: at its time it delivers this input. */
  readonly delivers?: DeliveredInput;
  readonly at: number;
}

/** An input that is accepted later. */
export interface DeliveredInput {
  readonly id: InputId;
  readonly turnId: TurnId;
  readonly key?: string;
  readonly message: Draft;
  readonly place: "boundary" | "turn";
  readonly hash: string;
}

export interface JobError {
  readonly code: string;
  readonly message: string;
}

/** What happened to a job. */
export type JobEvent = { readonly at: number } & (
  | { readonly kind: "spawned"; readonly job: NewJob }
  /** A process started the job, or resumed it after another process. */
  | { readonly kind: "started"; readonly generation: number }
  /** A step has completed: a rerun gets its value and does not repeat it. */
  | { readonly kind: "stepped"; readonly name: string; readonly value: Json }
  /** Its process released the job, which only waits: until `due`, or until the next event. */
  | { readonly kind: "parked"; readonly due?: number }
  | { readonly kind: "transitioned"; readonly state: "running" | "idle" }
  | { readonly kind: "signalled"; readonly name: string; readonly payload: Json }
  /** A wait of the job was answered. */
  | { readonly kind: "resolved"; readonly wait: WaitId; readonly answer: WaitAnswer }
  /** The job sent a message to its session. `lost`: the message was dropped, because the job has sent too many. */
  | { readonly kind: "woke"; readonly inputId: InputId; readonly lost?: "full" }
  /** A cancel was requested. */
  | { readonly kind: "cancelling"; readonly reason: string }
  | { readonly kind: "transferred"; readonly to: SessionId }
  | {
      readonly kind: "ended";
      readonly state: JobEnd;
      readonly result?: Json;
      readonly error?: JobError;
    }
);

/** The current state of a job. */
export interface JobRecord extends Omit<NewJob, "at"> {
  readonly state: JobState;
  /**
   * No plugin of this process has the task `operation`: the job waits for a process that has it. `jobs.list`, `get` and
   * `await` set this for the calling process; it is not stored.
   */
  readonly isElsewhere?: true;
  /** All times are milliseconds since 1970. */
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** How often a process started or resumed the job. */
  readonly starts: number;
  /** The number of recorded steps. */
  readonly steps: number;
  /** The number of messages that the job has sent to its session. */
  readonly wakes: number;
  readonly cancel?: { readonly reason: string; readonly at: number };
  readonly result?: Json;
  readonly error?: JobError;
}

export const isOver = ({ state }: Pick<JobRecord, "state">): boolean => state !== "running" && state !== "idle";

/** Applies an event to a record. The first event is `spawned`. After `ended` only `woke` changes the record. */
export function foldJob(record: JobRecord | undefined, event: JobEvent): JobRecord {
  if (event.kind === "spawned") {
    const { at: createdAt, ...job } = event.job;
    return record ?? { ...job, state: "running", createdAt, starts: 0, steps: 0, wakes: 0 };
  }
  if (record === undefined) throw new Error("A job begins with `spawned`.");
  if (isOver(record) && event.kind !== "woke") return record;
  switch (event.kind) {
    case "started":
      return { ...record, startedAt: record.startedAt ?? event.at, starts: record.starts + 1 };
    case "stepped":
      return { ...record, steps: record.steps + 1 };
    case "transitioned":
      return { ...record, state: event.state };
    case "woke":
      return { ...record, wakes: record.wakes + 1 };
    case "cancelling":
      return record.cancel === undefined ? { ...record, cancel: { reason: event.reason, at: event.at } } : record;
    case "transferred":
      return { ...record, sessionId: event.to };
    case "ended": {
      const { state, result, error, at: endedAt } = event;
      const how = { ...(result === undefined ? {} : { result }), ...(error === undefined ? {} : { error }) };
      return { ...record, state, endedAt, ...how };
    }
    default:
      return record;
  }
}
