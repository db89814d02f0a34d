import type { HistoryPage, Node } from "../graph/history.ts";
import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { TurnProgress } from "../model/event.ts";
import type { BlobHash, InputId, JobCursor, JobId, NodeId, SessionId, TurnId } from "../model/ids.ts";
import type { InjectedMessage, InjectOptions, Input } from "../model/input.ts";
import type { JobEnd, JobError, JobKind, JobRecord, JobWake } from "../model/job.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Known, Optional } from "../model/known.ts";
import type { Attachment, Draft, Message } from "../model/message.ts";
import type { CancelAnswer, TurnOutcome } from "../model/outcome.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { JsonSchema, ToolSchema } from "../model/schema.ts";
import type { Attachable, Availability, ToolListing, ToolListOptions, ToolManifest, ToolState } from "../model/tool.ts";
import type { Spent, Usage } from "../model/usage.ts";
import type { ModelMismatch } from "../model/view.ts";
import type { Complete } from "./complete.ts";
import type { CreatedSession, FirstInput, SavedStates, SessionKind } from "./created.ts";
import type { ExtensionValue } from "./extension.ts";
import type { Monitors } from "./monitor.ts";
import type { Triggers } from "./trigger.ts";

/**
 * A session as plugins may read it: what is committed, and for the current session also what its turn has added so far.
 */
export interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** The usage by source and model. */
  readonly ledger: readonly Spent[];
  readonly turns: number;
  /** The options that the protocol keeps in the session. */
  readonly protocolOptions?: Json;
  /** The turn that is open, in this process or another. */
  readonly openTurn?: TurnId;
  /** Restrictions of the session; left out when there are none. */
  readonly permissions?: Permissions;
  readonly modelMismatch?: ModelMismatch;
}

/** Permission to call one tool, under a name of its own. */
export interface ToolGrant {
  /** The source of the tool: `app`, a plugin's id, or a provider's id. */
  readonly source: string;
  readonly tool: string;
  /** Given to the tool together with the bindings of its manifest. */
  readonly bindings?: JsonObject | undefined;
}

/** Restrictions of a session, most often of a child. Default: none. */
export interface Permissions {
  /** Tools that it never has, whatever plugins or the tool search say. */
  readonly hiddenTools?: readonly string[] | undefined;
  /** The only tools that it may have. Default: no such restriction. */
  readonly toolAccess?: readonly string[] | undefined;
  readonly subagent?:
    | {
        readonly capability: string;
        /** Generations below the root: 1 in a child of a root session. */
        readonly depth: number;
        readonly depthMax: number;
        /** The id of the turn that made it. */
        readonly cause?: string | undefined;
      }
    | undefined;
}

/** One edit of one tool in a catalog. */
export interface CatalogOverlay {
  readonly tool: string;
  readonly hide?: true | undefined;
  readonly availability?: Availability | undefined;
  readonly description?: string | undefined;
  readonly note?: string | undefined;
}

/** How a turn of another session ended. */
export interface TurnEnd {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
}

/** Options of `sessions.turn`. */
export interface SessionTurnOptions {
  /** Two calls with the same key return the same turn. Default in a turn: a key that a rerun after a crash repeats. */
  readonly key?: string | undefined;
  /** Lets the turn end with a value of this schema. */
  readonly output?: JsonSchema | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Input for plugins and the protocol of that session, as in `TurnOptions`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
}

/** A turn of another session. It continues also when the caller fails or ends. */
export interface SessionTurn extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /**
   * Waits until the turn ends, in any process. Throws `operation.reentrant` in a turn of that session or of a session
   * below it, because such a turn would wait for itself.
   */
  result(): Promise<TurnEnd>;
  /** Waits as `result()` does, and resolves with the text of the answer. Throws `turn.unanswered`, as `Turn.text` does. */
  text(): Promise<string>;
  cancel(reason?: string): Promise<CancelAnswer>;
}

/** The tools of a session, for plugins. */
export interface ToolsOfSession {
  /**
   * Lists the tools that the model gets: edits of plugins, the session's overlay and its permissions are applied, and tools
   * that are off are left out. A `searchable` tool is found by a search only. A protocol may declare them in its own way.
   */
  list(options?: ToolListOptions): Promise<readonly ToolListing[]>;
  /** Returns the choices as data, to edit and `apply`. */
  export(): Promise<ToolState>;
  /** Applies an edited export and returns the new generation. Throws `tool.generation` if the tools changed since. */
  apply(state: ToolState): Promise<number>;
  /** Sets the availability of tools, with `null` to their default, and returns the new generation. */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
}

/** Options of one plugin for one session, as they were given. They replace those it was installed with. */
export interface PluginOptions {
  readonly plugin: string;
  readonly options: unknown;
}

/** How to make another session. */
export interface NewSessionRequest {
  readonly id?: string | undefined;
  /**
   * What to do when a session of this id exists: `refuse` (the default) throws `session.exists`; `take` uses the
   * existing one.
   */
  readonly ifExists?: "refuse" | "take" | undefined;
  /**
   * For an app: the parent of a child, or the session to fork. For a plugin: the session to fork. Default: the asking
   * session.
   */
  readonly from?: string | undefined;
  /** The last node that a fork has. Default: the head. */
  readonly at?: string | undefined;
  /**
   * `fresh` (the default) stands alone; `child` has a parent and at most its permissions; `fork` shares the history and
   * copies the plugin states.
   */
  readonly kind?: SessionKind | undefined;
  readonly config?: Optional<SessionConfig> | undefined;
  readonly permissions?: Permissions | undefined;
  /** Edits of its catalog, applied after those of plugins. A fork without its own takes over those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /**
   * False leaves out the tools of the runtime and its plugins: a turn has only those of its `context` hooks, and what was
   * granted. Default: true; in a fork, as in its origin.
   */
  readonly includeBaseTools?: boolean | undefined;
  /**
   * Options of plugins for it: `[frugal.options({ … })]`. A child and a fork begin with those of the session that they
   * come from, and these replace them plugin by plugin. JSON, and no secrets.
   */
  readonly options?: readonly PluginOptions[] | undefined;
  /** Starts a child with a copy of the parent's plugin states. Default: false. */
  readonly copiesState?: boolean | undefined;
  /** Plugin states to begin with, as `session.states()` returns them. They replace copied ones of the same plugins. */
  readonly states?: SavedStates | undefined;
  /** The input of its first turn. `sessions.takeFirstInput` returns it once. */
  readonly firstInput?: Input | undefined;
  /** User and system messages with which its conversation begins. */
  readonly seed?: readonly Draft[] | undefined;
}

export const NEW_SESSION: Known<NewSessionRequest> = {
  id: true,
  ifExists: true,
  from: true,
  at: true,
  kind: true,
  config: true,
  permissions: true,
  overlay: true,
  includeBaseTools: true,
  options: true,
  copiesState: true,
  states: true,
  firstInput: true,
  seed: true,
};

/** Options of a new job. */
export interface JobOptions {
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
  readonly signals?: { readonly [name: string]: ToolSchema } | undefined;
  /** For a subagent: the session that does the work. */
  readonly childId?: string | undefined;
  /** More data for the record, for example where the work runs. */
  readonly about?: Json | undefined;
}
/** A job that another process can resume: it names a task and contains the input of the task. */
export interface TaskJobOptions extends JobOptions {
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

export interface WakeOptions {
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

/**
 * The argument of a job's function. Its services stay usable after the hook or tool that started the job has ended.
 * What the function appends does not wait for a turn.
 */
export interface JobContext
  extends CommonJobContext,
    Pick<Services, "session" | "sessions" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "triggers"> {
  readonly sessionId: SessionId;
  /** Aborts when the job is cancelled, and when the runtime closes. */
  readonly signal: AbortSignal;
}

/** What a task can do besides, when it runs as a job. Each call is a recorded step: a rerun does not repeat it. */
export interface TaskJob extends CommonJobContext {
  /** Sleeps for this many milliseconds, or until a date. The sleep survives restarts. */
  sleep(time: number | Date): Promise<void>;
  /**
   * Calls a tool of the session as a model would: gates, approvals, retries and after-hooks apply. Throws a `ToolError`
   * when the call fails or is denied.
   */
  call(tool: string, input: Json): Promise<Json>;
}

export interface JobsFilter {
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
export interface JobsView {
  /** The jobs of the session, in the order in which they started. */
  list(filter?: JobsFilter): Promise<readonly JobRecord[]>;
  /** One job of the session. Throws `job.unknown` and `job.foreign`. */
  get(id: string): Promise<JobRecord>;
  /** The jobs of another session. A query can only read them. */
  of(session: string): JobsView;
}
export interface AwaitJobsOptions {
  /** Wait until all jobs have ended or are idle, or until any has. Default: `all`. */
  readonly need?: "any" | "all" | undefined;
  /** The longest wait. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}
export interface JobChanges {
  /** The current records, in the order of their latest changes. */
  readonly jobs: readonly JobRecord[];
  /** Pass it as `after` to the next call. Left out while no job has ever changed. */
  readonly cursor?: JobCursor;
}
/** How a registered job ended. */
export type JobCompletion =
  | JobEnd
  | { readonly state: JobEnd; readonly result?: Json | undefined; readonly error?: JobError | undefined };

/** The background work of a session. */
export interface Jobs extends JobsView {
  /**
   * The same service for another session. Plugins and tools reach the descendants of their session, and more with
   * `sessionAccess`; the app reaches every session. Each call throws `session.foreign` or `session.unknown` for others.
   * A job of another session starts at once, also in a turn, and stays when that turn fails. A rerun of the turn after
   * a crash finds the job.
   * `awaitHidden` leaves what the jobs appended to the turns of that session.
   */
  of(session: string): Jobs;
  /**
   * Starts a job with a function. The function runs only in this process: when the process dies, the job is abandoned.
   * In a turn the job starts when the answer of the hook or tool is recorded. It never starts if the hook or tool
   * fails.
   */
  spawn(options: JobOptions, run: (job: JobContext) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
  /** Starts a job that names a task. Any process that has the plugin can resume it. */
  spawn(options: TaskJobOptions): Promise<{ readonly id: JobId }>;
  /** Starts a hidden job with a function. */
  spawnHidden(label: string, run: (job: JobContext) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
  /**
   * Waits for the hidden jobs of the session, in any process, and returns their records. A returned job that has not
   * ended took too long. In a turn, this call adds to the conversation what the jobs appended.
   */
  awaitHidden(options?: Pick<AwaitJobsOptions, "timeoutMs" | "signal">): Promise<readonly JobRecord[]>;
  /** Registers work that runs outside of the runtime. Cancelling the job calls `cancel` in this process. */
  register(options: JobOptions, cancel?: (reason: string) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
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
  signal(id: string, name: string, payload?: Json, options?: { readonly key?: string | undefined }): Promise<void>;
  /** Jobs of the session that changed after a cursor, each once. */
  changes(after?: string, options?: { readonly max?: number | undefined }): Promise<JobChanges>;
}

/** What the runtime offers to plugins. A hook gets exactly the services that its row in the table names. */
export interface Services {
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
    /** All tools that are not off, including those that only a search finds; see `availability`. */
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
    send(
      id: string,
      input: Input,
      options?: { readonly key?: string | undefined; readonly output?: JsonSchema | undefined },
    ): Promise<{ readonly turnId: TurnId }>;
    /** Waits for the end of a turn of another session, in whichever process it runs. */
    result(id: string, turnId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<TurnEnd>;
    /** Cancels a turn of another session. Without `turnId` it cancels the open turn and withdraws waiting inputs. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /**
     * Adds a message to this session or another at the next boundary of its running turn. If no turn runs, the next
     * turn begins with the message. It opens no turn. Default id in a turn: an id that a rerun after a crash repeats.
     */
    inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{ readonly id: InputId }>;
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
  readonly blobs: { put(data: Uint8Array): Promise<BlobHash>; get(hash: BlobHash): Promise<Uint8Array | undefined> };
  readonly trace: {
    /** `context` is small JSON, such as `{ callId }`. The record has it beside the session and the turn. */
    emit(name: string, payload?: Json, context?: JsonObject): void;
  };
  readonly jobs: Jobs;
  readonly monitors: Monitors;
  readonly triggers: Triggers;
}
export type ServiceName = keyof Services;

export type AppendNode =
  | {
      readonly kind: "message";
      readonly role: "user" | "system";
      /** May be empty where there are attachments. */
      readonly text: string;
      /** Bytes made with `attach`, or attachments of other messages. They follow the text. */
      readonly attachments?: readonly (Attachable | Attachment)[] | undefined;
    }
  | { readonly kind: "plugin"; readonly type: string; readonly body: Json };
export interface AppendOptions {
  /**
   * A node that must still be on the active path. If it is not, the call returns `stale-branch`. Content after the node
   * does not matter.
   */
  readonly requiresAncestor?: string | undefined;
  /** Makes the call repeatable: a call with the same id adds nothing and returns the first answer. */
  readonly operationId?: string | undefined;
}
export const APPEND: Known<AppendOptions> = { requiresAncestor: true, operationId: true };
export interface GraphAppendOptions extends AppendOptions {
  /** The session to append to. Default: the one in which the hook, tool or operation runs. */
  readonly session?: string | undefined;
}
export type Appended =
  | { readonly kind: "appended"; readonly nodes: readonly NodeId[]; readonly head: NodeId }
  /** Stored but not yet placed: the open turn adds it after the results of its round, or at its end. */
  | { readonly kind: "queued"; readonly operationId: string }
  /** Nothing was written. `head` is the last node of the current path; left out while the path is empty. */
  | { readonly kind: "stale-branch"; readonly required: string; readonly head?: NodeId };

/** Replaces a missing service: every use throws `service.unavailable` with the name of the plugin. */
export const unavailable = <S extends ServiceName>(service: S, plugin: string): Services[S] =>
  new Proxy({} as Services[S], {
    get: (_, property) => {
      // Inspecting the object, or returning it from an async function, must not throw.
      if (typeof property === "symbol" || property === "then") return undefined;
      throw new RuntimeError("service.unavailable", { service, plugin });
    },
  });
