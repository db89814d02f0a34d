import { AppendNode, Appended, GraphAppendOptions } from "./append.js";
import { Availability, ToolManifest } from "../model/tool.js";
import {
  AwaitJobsOptions,
  CommonJobContext,
  JobChanges,
  JobCompletion,
  JobOptions,
  JobsFilter,
  JobsView,
  TaskJobOptions,
} from "./job-options.js";
import { Awaitable } from "../model/awaitable.js";
import { BlobHash, InputId, JobId, SessionId, TurnId } from "../model/ids.js";
import { CancelAnswer } from "../model/outcome.js";
import { Complete } from "./complete.js";
import { CreatedSession, FirstInput } from "./created.js";
import { HistoryPage, Node } from "../graph/history.js";
import { InjectOptions, InjectedMessage, Input } from "../model/input.js";
import { JobRecord } from "../model/job.js";
import { Json, JsonObject } from "../model/json.js";
import { JsonSchema } from "../model/schema.js";
import { Monitors } from "./monitor.js";
import {
  NewSessionRequest,
  SessionReading,
  SessionTurn,
  SessionTurnOptions,
  ToolGrant,
  ToolsOfSession,
  TurnEnd,
} from "./session-requests.js";
import { ToolDeclaration } from "../model/request.js";
import { Triggers } from "./trigger.js";
/**
 * The argument of a job's function. Its services stay usable after the hook or tool that started the job has ended.
 * What the function appends does not wait for a turn.
 */
interface JobContext extends CommonJobContext, Pick<Services, "session" | "sessions" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "triggers"> {
  readonly sessionId: SessionId;
  /** Aborts when the job is cancelled, and when the runtime closes. */
  readonly signal: AbortSignal;
}
/** The background work of a session. */
interface Jobs extends JobsView {
  /**
   * The same service for another session. Plugins and tools reach the descendants of their session, and more with
   * `sessionAccess`; the app reaches every session. For other sessions each call throws `session.foreign` or
   * `session.unknown`. A job of another session starts at once, also in a turn, and stays when that turn fails. A rerun
   * of the turn after a crash finds the job.
   * `awaitHidden` then does not add nodes of the jobs to the conversation: the turns of that session add them.
   */
  of(session: string): Jobs;
  /**
   * Starts a job with a function. The function runs only in this process: when the process dies, the job is abandoned.
   * In a turn the job starts when the answer of the hook or tool is recorded. It never starts if the hook or tool
   * fails.
   */
  spawn(options: JobOptions, run: (job: JobContext) => Awaitable<unknown>): Promise<{
    readonly id: JobId;
  }>;
  /** Starts a job that names a task. Any process that has the plugin can resume it. */
  spawn(options: TaskJobOptions): Promise<{
    readonly id: JobId;
  }>;
  /** Starts a hidden job with a function. */
  spawnHidden(label: string, run: (job: JobContext) => Awaitable<unknown>): Promise<{
    readonly id: JobId;
  }>;
  /**
   * Waits for the hidden jobs of the session, in any process, and returns their records. A returned job that has not
   * ended took too long. In a turn, this call adds to the conversation what the jobs appended.
   */
  awaitHidden(options?: Pick<AwaitJobsOptions, "timeoutMs" | "signal">): Promise<readonly JobRecord[]>;
  /** Registers work that runs outside of the runtime. Cancelling the job calls `cancel` in this process. */
  register(options: JobOptions, cancel?: (reason: string) => Awaitable<unknown>): Promise<{
    readonly id: JobId;
  }>;
  /** Deletes the record of a job that has ended or was registered. Does nothing when no job has this id. */
  unregister(id: string): Promise<void>;
  /** Ends a registered job. The first end counts. Throws `job.bound` for a job that runs a function or a task. */
  complete(id: string, how: JobCompletion): Promise<void>;
  /** Records whether a registered job works or is idle. Does nothing when the job has ended. */
  transition(id: string, state: "running" | "idle"): Promise<void>;
  /** Cancels a job, waits a short time for its end, and returns its record. A job that has ended does not change. */
  cancel(id: string, reason?: string): Promise<JobRecord>;
  /**
   * Cancels all jobs that have not ended, one after the other, in the order of `list`. If a job cannot be cancelled,
   * this throws an error whose `cancelled` has the records so far.
   */
  cancelAll(filter?: Pick<JobsFilter, "kind" | "visibility">, reason?: string): Promise<readonly JobRecord[]>;
  /** Throws `job.unknown`, `job.foreign` or `job.over` unless all of these are live jobs of the session. */
  validate(handles: readonly string[]): Promise<void>;
  /**
   * Moves live jobs from one session to another, all or none. One of the two must be the session of this service, and a
   * plugin must have access to both, as with `of`.
   */
  transfer(from: string, to: string, handles: readonly string[]): Promise<void>;
  /** Cancels all live managed jobs that are not in this list, and returns their records. */
  cancelUnreferenced(keep: readonly string[]): Promise<readonly JobRecord[]>;
  /** Waits until jobs have ended or are idle, and returns their records. */
  await(ids: readonly string[], options?: AwaitJobsOptions): Promise<readonly JobRecord[]>;
  /** Sends a signal that the job declares. The store keeps it until the job receives it. The same key counts once. */
  signal(id: string, name: string, payload?: Json, options?: {
    readonly key?: string | undefined;
  }): Promise<void>;
  /** Jobs of the session that changed after a cursor, each once. */
  changes(after?: string, options?: {
    readonly max?: number | undefined;
  }): Promise<JobChanges>;
}
/** What the runtime offers to plugins. A hook gets exactly the services that its row in the table names. */
interface Services {
  readonly session: {
    read(): SessionReading;
    /** Reads any session. Throws `session.unknown`. */
    snapshot(id: string): Promise<SessionReading>;
    /**
     * Returns nodes of all frames of this session or of any other, newest first. For this session they begin with what
     * the turn or operation has added so far. Nodes that wait for the results of the round are not yet among them.
     * Throws `session.unknown` and `fork.unknown`.
     */
    history(page?: HistoryPage, id?: string): Promise<readonly Node[]>;
  };
  readonly catalog: {
    /** All tools that are not switched off, including those that only a search finds. See `availability`. */
    list(): readonly ToolManifest[];
    /** The declaration of a tool with its schema. Loads the schema if necessary. */
    describe(name: string): Promise<ToolDeclaration | undefined>;
  };
  /**
   * Changes which tools this session has, from the next round on and across restarts. A tool that uses this needs
   * `writes: true`.
   */
  readonly membership: {
    /** `null` sets tools back to their default. */
    set(names: string | readonly string[], availability: Availability | null): void;
    /** Lets the model call this tool of this source under this name, whether or not the catalog shows it. */
    grant(name: string, grant: ToolGrant): void;
    revoke(name: string): void;
  };
  readonly sessions: {
    create(request: NewSessionRequest): Promise<CreatedSession>;
    /** Returns the `firstInput` of a session; undefined from the second time on. */
    takeFirstInput(id: string): Promise<FirstInput | undefined>;
    /** Starts a turn of another session and returns a handle to follow and cancel it. Never throws. */
    turn(id: string, input: Input, options?: SessionTurnOptions): SessionTurn;
    /**
     * Starts a turn of another session. Two calls with the same key return the same turn. Default in a turn: a key that
     * a rerun after a crash repeats. The turn continues also when the caller fails or ends.
     */
    send(id: string, input: Input, options?: {
      readonly key?: string | undefined;
      readonly output?: JsonSchema | undefined;
    }): Promise<{
      readonly turnId: TurnId;
    }>;
    /** Waits for the end of a turn of another session, in whichever process it runs. */
    result(id: string, turnId: string, options?: {
      readonly signal?: AbortSignal | undefined;
    }): Promise<TurnEnd>;
    /** Cancels a turn of another session. Without `turnId` it cancels the open turn and withdraws waiting inputs. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /**
     * Adds a message to this session or another at the next boundary of its running turn. If no turn runs, the next
     * turn begins with the message. It opens no turn. Default id in a turn: an id that a rerun after a crash repeats.
     */
    inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{
      readonly id: InputId;
    }>;
    /**
     * Releases a session that `turn` holds open in this process. Its turns continue. A session that is idle, or whose turn
     * waits, then leaves memory, unless an app has it open.
     */
    close(id: string): Promise<void>;
    /**
     * The tools of a session. Tools of this session change as with `membership`, tools of another between its turns.
     */
    tools(id: string): ToolsOfSession;
    /** The children of this session, or of another, without their messages. */
    children(id?: string): Promise<readonly SessionReading[]>;
  };
  readonly graph: {
    /**
     * Adds plugin nodes and messages to the conversation of this session or of another. In a turn they are stored with
     * the answer of the hook or tool, and follow the results of the round.
     */
    append(nodes: readonly AppendNode[], options?: GraphAppendOptions): Promise<Appended>;
  };
  readonly complete: Complete;
  readonly blobs: {
    put(data: Uint8Array): Promise<BlobHash>;
    get(hash: BlobHash): Promise<Uint8Array | undefined>;
  };
  readonly trace: {
    /** `context` is small JSON, such as `{ callId }`. The record has it next to the session and the turn. */
    emit(name: string, payload?: Json, context?: JsonObject): void;
  };
  readonly jobs: Jobs;
  readonly monitors: Monitors;
  readonly triggers: Triggers;
}
export { JobContext, Jobs, Services };
