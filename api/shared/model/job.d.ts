import { Draft } from "./message.js";
import { InputId, JobId, SessionId, TurnId, WaitId } from "./ids.js";
import { Json, JsonObject } from "./json.js";
import { WaitAnswer } from "./wait.js";
/** What does the work. It tells how a job is cancelled, and what to show of it. */
type JobKind = "task" | "monitor" | "subagent" | "code" | "external";
/** How a job ended. `abandoned`: the process that did the work is gone, and nobody else can go on with it. */
type JobEnd = "completed" | "failed" | "cancelled" | "abandoned";
/** `idle`: it lives and has nothing to do, for example an agent that waits for a message. */
type JobState = "running" | "idle" | JobEnd;
/**
 * Who goes on with a job when its process is gone. `rerunnable`: any process that has its plugin, from its recorded
 * steps. `owner-bound`: nobody, it is abandoned. `external`: the work is done elsewhere, and its end is told.
 */
type JobRecovery = "rerunnable" | "owner-bound" | "external";
/** What the end of a job does to its session: nothing, a message for the next boundary, or a turn. */
type JobWake = "none" | "notify" | "wake";
/** What a job is from its beginning on. Only its session changes, when it is handed over. */
interface NewJob {
  readonly id: JobId;
  readonly sessionId: SessionId;
  readonly kind: JobKind;
  readonly label: string;
  /** Hidden jobs are the plugins' own: `awaitHidden` waits for them, and models are not shown them. */
  readonly visibility: "hidden" | "managed";
  readonly recovery: JobRecovery;
  readonly wake: JobWake;
  /** The turn or the job in which it was begun. */
  readonly parent?: {
    readonly turnId: TurnId;
  } | {
    readonly jobId: JobId;
  };
  /** Whether it is cancelled when its parent ends. */
  readonly onParentEnd: "cancel" | "keep";
  /** Of a rerunnable job: the task to run, as `plugin.operation`, and its input. */
  readonly operation?: string;
  readonly input?: Json;
  /** The signals that it takes, by name, each with the JSON Schema of its payload. */
  readonly signals?: {
    readonly [name: string]: JsonObject;
  };
  /** The session in which the work is done: of a subagent. */
  readonly childId?: SessionId;
  /** What the app or the plugin wants to know of it, for example where the work is done. */
  readonly about?: Json;
  /** A rerunnable job does not begin before this time. */
  readonly notBefore?: number;
  /** The whole work of the job: at its time this input is accepted. */
  readonly delivers?: DeliveredInput;
  readonly at: number;
}
/** An input that is accepted later. */
interface DeliveredInput {
  readonly id: InputId;
  readonly turnId: TurnId;
  readonly key?: string;
  readonly message: Draft;
  readonly place: "boundary" | "turn";
  readonly hash: string;
}
interface JobError {
  readonly code: string;
  readonly message: string;
}
/** What happened to a job. */
type JobEvent = {
  readonly at: number;
} & ({
  readonly kind: "spawned";
  readonly job: NewJob;
} |
/** A process began with it, or went on after another one. */
{
  readonly kind: "started";
  readonly generation: number;
} |
/** A step of the work is done: a rerun is given the value. */
{
  readonly kind: "stepped";
  readonly name: string;
  readonly value: Json;
} |
/** Its process gave it up, because it only waits: until then, or until something comes. */
{
  readonly kind: "parked";
  readonly due?: number;
} | {
  readonly kind: "transitioned";
  readonly state: "running" | "idle";
} | {
  readonly kind: "signalled";
  readonly name: string;
  readonly payload: Json;
} |
/** A wait of the job was answered. */
{
  readonly kind: "resolved";
  readonly wait: WaitId;
  readonly answer: WaitAnswer;
} |
/** Its session was told something. `lost`: it was not, for it was told too often. */
{
  readonly kind: "woke";
  readonly inputId: InputId;
  readonly lost?: "full";
} |
/** It is asked to end. */
{
  readonly kind: "cancelling";
  readonly reason: string;
} | {
  readonly kind: "transferred";
  readonly to: SessionId;
} | {
  readonly kind: "ended";
  readonly state: JobEnd;
  readonly result?: Json;
  readonly error?: JobError;
});
/** A job as it stands. */
interface JobRecord extends Omit<NewJob, "at"> {
  readonly state: JobState;
  /**
   * No plugin of this process has the task `operation`: the job waits for a process that has it. Set by `jobs.list`, `get`
   * and `await`, each time for the process that calls them; it is not stored.
   */
  readonly isElsewhere?: true;
  /** All times are milliseconds since 1970. */
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** How often a process began with it. */
  readonly starts: number;
  /** How many steps are recorded, and how often its session was told something. */
  readonly steps: number;
  readonly wakes: number;
  readonly cancel?: {
    readonly reason: string;
    readonly at: number;
  };
  readonly result?: Json;
  readonly error?: JobError;
}
export { JobEnd, JobError, JobEvent, JobKind, JobRecord, JobState, JobWake, NewJob };
