import { JobCursor, JobId } from "../model/ids.js";
import { JobEnd, JobError, JobKind, JobRecord, JobWake } from "../model/job.js";
import { Json } from "../model/json.js";
import { ToolSchema } from "../model/schema.js";
/** Options of a new job. */
interface JobOptions {
  /** A short description of the job, for people and models. */
  readonly label: string;
  /** Default: a generated id; in a turn, an id that a rerun after a crash repeats. */
  readonly id?: string | undefined;
  /** Default: `task`; for a registered job `external`. */
  readonly kind?: JobKind | undefined;
  /** `awaitHidden` waits for `hidden` jobs, and models do not see them. Default: `managed`. */
  readonly visibility?: "hidden" | "managed" | undefined;
  /** What the end of the job does to the session. The end of a cancelled job does nothing. Default: `none`. */
  readonly wake?: JobWake | undefined;
  /** Whether the job is cancelled when the turn or job that started it ends. Default: `keep`. */
  readonly onParentEnd?: "cancel" | "keep" | undefined;
  /** The signals that the job receives, each with the schema of its payload. */
  readonly signals?: {
    readonly [name: string]: ToolSchema;
  } | undefined;
  /** For a subagent: the session that does the work. */
  readonly childId?: string | undefined;
  /** More data for the record, for example where the work runs. */
  readonly about?: Json | undefined;
}
/** A job that another process can resume: it names a task and contains the input of the task. */
interface TaskJobOptions extends JobOptions {
  /** The name of a task: `task` of the calling plugin, or `plugin.task` of any plugin. */
  readonly operation: string;
  readonly input?: Json | undefined;
  /**
   * Allows a task whose plugin is not installed in this process: the job waits for a process that has it. Default: false,
   * and such a task throws `operation.unknown`.
   */
  readonly isElsewhere?: boolean | undefined;
  /** When the job starts: a date, or milliseconds since 1970. Default: at once. */
  readonly notBefore?: Date | number | undefined;
}
interface WakeOptions {
  /** The text waits for the next boundary and opens no turn. Default: false. */
  readonly isNotice?: boolean | undefined;
}
/** What every job can do while it runs. */
interface CommonJobContext {
  readonly id: JobId;
  /**
   * Waits for the next signal of this name and returns its payload. Signals arrive in the order in which they were
   * sent.
   */
  receive<T extends Json = Json>(signal: string): Promise<T>;
  /** Sends a text to the session. The text opens a turn there, or with `isNotice` waits for the next boundary. */
  wake(text: string, options?: WakeOptions): Promise<void>;
  /** Records that the job is idle (it has no work now), or that it works again. */
  transition(state: "running" | "idle"): Promise<void>;
}
/** What a task can do besides, when it runs as a job. Each call is a recorded step: a rerun does not repeat it. */
interface TaskJob extends CommonJobContext {
  /** Sleeps for this many milliseconds, or until a date. The sleep survives restarts. */
  sleep(time: number | Date): Promise<void>;
  /**
   * Calls a tool of the session as a model would: gates, approvals, retries and after-hooks apply. Throws a `ToolError`
   * when the call fails or is denied.
   */
  call(tool: string, input: Json): Promise<Json>;
}
interface JobsFilter {
  /** Only jobs that have not ended. Default: false. */
  readonly isLive?: boolean | undefined;
  readonly kind?: JobKind | undefined;
  /** Default: both. */
  readonly visibility?: "hidden" | "managed" | undefined;
  /** The id of a job: only jobs that started after it. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
interface JobsView {
  /** The jobs of the session, in the order in which they started. */
  list(filter?: JobsFilter): Promise<readonly JobRecord[]>;
  /** One job of the session. Throws `job.unknown` and `job.foreign`. */
  get(id: string): Promise<JobRecord>;
  /** The jobs of another session. A query can only read them. */
  of(session: string): JobsView;
}
interface AwaitJobsOptions {
  /** Wait until all jobs have ended or are idle, or until any has. Default: `all`. */
  readonly need?: "any" | "all" | undefined;
  /** The longest wait. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}
interface JobChanges {
  /** The current records, in the order of their latest changes. */
  readonly jobs: readonly JobRecord[];
  /** Pass it as `after` to the next call. Left out while no job has ever changed. */
  readonly cursor?: JobCursor;
}
/** How a registered job ended. */
type JobCompletion = JobEnd | {
  readonly state: JobEnd;
  readonly result?: Json | undefined;
  readonly error?: JobError | undefined;
};
export {
  AwaitJobsOptions,
  CommonJobContext,
  JobChanges,
  JobCompletion,
  JobOptions,
  JobsFilter,
  JobsView,
  TaskJob,
  TaskJobOptions,
};
