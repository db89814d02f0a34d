import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import { RuntimeError } from "../model/errors.ts";
import type { TurnProgress } from "../model/event.ts";
import type { BlobHash, InputId, JobCursor, JobId, NodeId, SessionId, TurnId } from "../model/ids.ts";
import type { InjectedMessage, InjectOptions, Input } from "../model/input.ts";
import type { JobEnd, JobError, JobKind, JobRecord, JobWake } from "../model/job.ts";
import type { Json, JsonObject } from "../model/json.ts";
import type { Known, Optional } from "../model/known.ts";
import type { Draft, Message } from "../model/message.ts";
import type { CancelAnswer, TurnOutcome } from "../model/outcome.ts";
import type { ModelSettings, Reply, ToolDeclaration } from "../model/request.ts";
import type { JsonSchema, OutputOf, Schema, ToolSchema } from "../model/schema.ts";
import type { Availability, ToolListing, ToolManifest, ToolState } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
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
  readonly turns: number;
  /** The turn that is open, in this process or another. */
  readonly openTurn?: TurnId;
  /** Restrictions of the session; left out when there are none. */
  readonly authority?: Authority;
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
export interface Authority {
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
  /** The same key gives the same turn. Default in a turn: one that a rerun after a crash has again. */
  readonly key?: string | undefined;
  /** Lets the turn end with a value of this schema. */
  readonly output?: JsonSchema | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Input for plugins and the protocol of that session, as in `TurnOptions`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
}

/** A turn of another session. It goes on whatever becomes of the caller. */
export interface SessionTurn extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /** Waits for its end, wherever it runs. In a turn of that session, or below it, that is `operation.reentrant`. */
  result(): Promise<TurnEnd>;
  cancel(reason?: string): Promise<CancelAnswer>;
}

/** The tools of a session, for plugins. */
export interface ToolsOfSession {
  /** Lists all tools, also those that are off and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** Gives the choices as data, to edit and `apply`. */
  export(): Promise<ToolState>;
  /** Applies an edited export; gives the new generation. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<number>;
  /** Sets how far tools are open to the model, or with `null` back to their default; gives the new generation. */
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
  /** The session to fork, if not the asking one; `at` is the node at which. */
  readonly from?: string | undefined;
  readonly at?: string | undefined;
  /**
   * `fresh` stands alone; `child` belongs to the asking session and has at most its authority; `fork` shares the
   * history and copies the plugin states.
   */
  readonly kind?: "fresh" | "child" | "fork" | undefined;
  readonly config?: Optional<SessionConfig> | undefined;
  readonly authority?: Authority | undefined;
  /** Edits of its catalog, applied after those of plugins. A fork without its own takes over those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /**
   * Options of plugins for it: `[frugal.options({ … })]`. A child and a fork begin with those of the session that they
   * come from, and these replace them plugin by plugin. JSON, and no secrets.
   */
  readonly options?: readonly PluginOptions[] | undefined;
  /** Starts a child with a copy of the parent's plugin states. Default: false. */
  readonly copiesState?: boolean | undefined;
  /** A text for its first turn. `sessions.takeFirstInput` returns it once. */
  readonly firstInput?: string | undefined;
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
  authority: true,
  overlay: true,
  options: true,
  copiesState: true,
  firstInput: true,
  seed: true,
};

/** One model call outside the conversation. */
export interface CompletionRequest {
  readonly system?: string | undefined;
  readonly messages?: readonly Draft[] | undefined;
  /** A model other than the session's. */
  readonly model?: string | undefined;
  readonly settings?: ModelSettings | undefined;
}
export interface CompletionOptions {
  /** A model other than the session's, and than that of the request. */
  readonly model?: string | undefined;
  /** Settings in place of those of the request. */
  readonly settings?: ModelSettings | undefined;
  /** The label under which usage is booked in the ledger. */
  readonly label?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Told once what the completion cost, in a rerun as well: all model calls of it, also when it fails. It is booked
   * already. What this throws, the completion throws.
   */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}
/**
 * Model calls beside the conversation. They are booked in the session's ledger, and a rerun after a crash gets the
 * recorded reply.
 */
export interface Complete {
  text(prompt: string | CompletionRequest, options?: CompletionOptions): Promise<string>;
  object<S extends Schema>(
    prompt: string | CompletionRequest,
    schema: S,
    options?: CompletionOptions,
  ): Promise<OutputOf<S>>;
  reply(request: CompletionRequest, options?: CompletionOptions): Promise<Reply>;
}

/** What a job is made from. */
export interface JobOptions {
  /** What it does, in a few words, for people and models. */
  readonly label: string;
  /** Default: a generated one; in a turn, one that a rerun after a crash has again. */
  readonly id?: string | undefined;
  /** Default: `task`; of a registered job `external`. */
  readonly kind?: JobKind | undefined;
  /** `hidden` jobs are for `awaitHidden`, and models are not shown them. Default: `managed`. */
  readonly visibility?: "hidden" | "managed" | undefined;
  /** What its end does to the session, unless it was cancelled. Default: `none`. */
  readonly wake?: JobWake | undefined;
  /** Whether it is cancelled when the turn or the job ends in which it was begun. Default: `keep`. */
  readonly onParentEnd?: "cancel" | "keep" | undefined;
  /** The signals that it takes, each with the schema of its payload. */
  readonly signals?: { readonly [name: string]: ToolSchema } | undefined;
  /** The session in which the work is done, of a subagent. */
  readonly childId?: string | undefined;
  /** Anything that the record shall say besides, for example where the work is done. */
  readonly about?: Json | undefined;
}
/** A job that can go on in another process: it names a task, and all that the task is given. */
export interface TaskJobOptions extends JobOptions {
  /** A task of the plugin that asks, by its name, or of any plugin, as `plugin.task`. */
  readonly operation: string;
  readonly input?: Json | undefined;
  /**
   * Allows a task whose plugin is not installed in this process: the job waits for a process that has it. Default: false,
   * and such a task throws `operation.unknown`.
   */
  readonly isElsewhere?: boolean | undefined;
  /** When it begins: a date, or milliseconds since 1970. Default: at once. */
  readonly notBefore?: Date | number | undefined;
}

export interface WakeOptions {
  /** Waits for the next boundary instead of opening a turn. Default: false. */
  readonly isNotice?: boolean | undefined;
}

/** What every job can do while it runs. */
interface JobHere {
  readonly id: JobId;
  /** The next signal of this name, in the order in which they were sent; waits for it. */
  receive<T extends Json = Json>(signal: string): Promise<T>;
  /** Tells the session something: opens a turn there, or with `isNotice` waits for its next boundary. */
  wake(text: string, options?: WakeOptions): Promise<void>;
  /** Says that the job lives and has nothing to do, or that it works again. */
  transition(state: "running" | "idle"): Promise<void>;
}

/**
 * What the function of a job is given. Its services outlive the hook or the tool that began the job; what it appends
 * waits for no turn.
 */
export interface JobContext
  extends JobHere,
    Pick<Services, "session" | "sessions" | "graph" | "complete" | "blobs" | "trace" | "jobs" | "triggers"> {
  readonly sessionId: SessionId;
  /** Aborts when the job is cancelled, and when the runtime closes. */
  readonly signal: AbortSignal;
}

/** What a task is given besides, when it runs as a job. Each of these is recorded: a rerun goes on after it. */
export interface TaskJob extends JobHere {
  /** Sleeps for so many milliseconds, or until a date, also across restarts. */
  sleep(time: number | Date): Promise<void>;
  /**
   * Calls a tool of the session as a model would: gates, approvals, retries and after-hooks apply. Throws a `ToolError`
   * when the call fails or is denied.
   */
  call(tool: string, input: Json): Promise<Json>;
}

export interface JobsFilter {
  /** Only those that are not over. Default: false. */
  readonly isLive?: boolean | undefined;
  readonly kind?: JobKind | undefined;
  /** Default: both. */
  readonly visibility?: "hidden" | "managed" | undefined;
  /** Only jobs that were begun after this one. */
  readonly after?: string | undefined;
  /** Default: 1,000. */
  readonly max?: number | undefined;
}
export interface JobsView {
  /** The jobs of the session, in the order in which they were begun. */
  list(filter?: JobsFilter): Promise<readonly JobRecord[]>;
  /** One job of the session. Throws `job.unknown` and `job.foreign`. */
  get(id: string): Promise<JobRecord>;
}
export interface AwaitJobsOptions {
  /** Go on when all of them are over, or one. Default: `all`. */
  readonly need?: "any" | "all" | undefined;
  /** Go on then at the latest. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}
export interface JobChanges {
  /** As they stand now, in the order of their latest changes. */
  readonly jobs: readonly JobRecord[];
  /** To go on after. Left out while nothing ever happened. */
  readonly cursor?: JobCursor;
}
/** How a job ended that was done elsewhere. */
export type JobCompletion =
  | JobEnd
  | { readonly state: JobEnd; readonly result?: Json | undefined; readonly error?: JobError | undefined };

/** The background work of a session. */
export interface Jobs extends JobsView {
  /**
   * Begins a job with a function. It is bound to this process: when that is gone, the job is abandoned. In a turn it
   * begins with the answer of the hook or the tool, and not at all if that fails.
   */
  spawn(options: JobOptions, run: (job: JobContext) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
  /** Begins a job that names a task: it goes on in any process that has the plugin. */
  spawn(options: TaskJobOptions): Promise<{ readonly id: JobId }>;
  /** Begins a hidden job with a function. */
  spawnHidden(label: string, run: (job: JobContext) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
  /**
   * Waits for the hidden jobs of the session, in whatever process they run, and returns their records; one that is not
   * over then took too long. In a turn, what they appended is taken into the conversation here.
   */
  awaitHidden(options?: Pick<AwaitJobsOptions, "timeoutMs" | "signal">): Promise<readonly JobRecord[]>;
  /** Registers work that is done elsewhere; `cancel` is called in this process when the job is cancelled. */
  register(options: JobOptions, cancel?: (reason: string) => Awaitable<unknown>): Promise<{ readonly id: JobId }>;
  /** Forgets a job that is over or done elsewhere. This one and the next two never fail. */
  unregister(id: string): Promise<void>;
  /** Tells the end of a registered job. */
  complete(id: string, how: JobCompletion): Promise<void>;
  transition(id: string, state: "running" | "idle"): Promise<void>;
  /** Cancels a job, waits for its end for a moment, and returns its record. One that is over stays as it is. */
  cancel(id: string, reason?: string): Promise<JobRecord>;
  /**
   * Cancels all that are not over, one after the other, in the order of `list`. When one cannot be cancelled, the error
   * has the records so far as `cancelled`.
   */
  cancelAll(filter?: Pick<JobsFilter, "kind" | "visibility">, reason?: string): Promise<readonly JobRecord[]>;
  /** Throws `job.unknown`, `job.foreign` or `job.over` when one of these is no live job of the session. */
  validate(handles: readonly string[]): Promise<void>;
  /** Hands live jobs over from one session to another, all or none. One of the two must be this session. */
  transfer(from: string, to: string, handles: readonly string[]): Promise<void>;
  /** Cancels all managed jobs that are not over and not among these; returns the records of those. */
  cancelUnreferenced(keep: readonly string[]): Promise<readonly JobRecord[]>;
  /** Waits until jobs are over or idle, and returns their records as they stand then. */
  await(ids: readonly string[], options?: AwaitJobsOptions): Promise<readonly JobRecord[]>;
  /** Sends a signal that the job declares. It waits until the job receives it; the same key counts once. */
  signal(id: string, name: string, payload?: Json, options?: { readonly key?: string | undefined }): Promise<void>;
  /** Jobs of the session that changed after a cursor, each once. */
  changes(after?: string, options?: { readonly max?: number | undefined }): Promise<JobChanges>;
}

/** What the runtime offers to plugins. A hook is given exactly the services that its row in the table names. */
export interface Services {
  readonly session: {
    read(): SessionReading;
    /** Reads any session. Throws `session.unknown`. */
    snapshot(id: string): Promise<SessionReading>;
  };
  readonly catalog: {
    /** All tools that are not off, including those that only a search finds; see `availability`. */
    list(): readonly ToolManifest[];
    /** The declaration of a tool with its schema, which is loaded if need be. */
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
    create(request: NewSessionRequest): Promise<{ readonly id: SessionId }>;
    /** Returns the `firstInput` of a session; undefined from the second time on. */
    takeFirstInput(id: string): Promise<string | undefined>;
    /** Starts a turn of another session, to be followed and cancelled as an app would. Never throws. */
    turn(id: string, input: Input, options?: SessionTurnOptions): SessionTurn;
    /**
     * Starts a turn of another session. The same key gives the same turn; in a turn the default key is one that a rerun
     * after a crash has again. The turn goes on whatever becomes of the caller.
     */
    send(
      id: string,
      input: Input,
      options?: { readonly key?: string | undefined; readonly output?: JsonSchema | undefined },
    ): Promise<{ readonly turnId: TurnId }>;
    /** Waits for the end of a turn of another session, in whichever process it runs. */
    result(id: string, turnId: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<TurnEnd>;
    /** Asks a turn of another session to end. Without `turnId`: the open turn, and inputs that wait are withdrawn. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /**
     * Puts a message into a session, this one or another, at the next boundary of its running turn, else when its next
     * turn begins. It opens no turn. In a turn the default id is one that a rerun after a crash has again.
     */
    inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{ readonly id: InputId }>;
    /** Lets go of a session that `turn` holds open in this process. Its turns go on. */
    close(id: string): Promise<void>;
    /**
     * The tools of a session. Those of this one change as with `membership`, those of another between its turns.
     */
    tools(id: string): ToolsOfSession;
    /** The children of this session, or of another, without their messages. */
    children(id?: string): Promise<readonly SessionReading[]>;
  };
  readonly graph: {
    /**
     * Adds plugin nodes and messages to the conversation of this session, or of another. In a turn they are kept with
     * what the hook or the tool answers, and follow the results of the round.
     */
    append(nodes: readonly AppendNode[], options?: GraphAppendOptions): Promise<Appended>;
  };
  readonly complete: Complete;
  readonly blobs: { put(data: Uint8Array): Promise<BlobHash>; get(hash: BlobHash): Promise<Uint8Array | undefined> };
  readonly trace: { emit(name: string, payload?: Json): void };
  readonly jobs: Jobs;
  readonly monitors: Monitors;
  readonly triggers: Triggers;
}
export type ServiceName = keyof Services;

export type AppendNode =
  | { readonly kind: "message"; readonly role: "user" | "system"; readonly text: string }
  | { readonly kind: "plugin"; readonly type: string; readonly body: Json };
export interface AppendOptions {
  /**
   * A node that must still be on the active path, else the answer is `stale-branch`. Content that was added after it
   * does not matter.
   */
  readonly requiresAncestor?: string | undefined;
  /** Makes the call repeatable: the same id again gets the answer of the first time and adds nothing. */
  readonly operationId?: string | undefined;
}
export const APPEND: Known<AppendOptions> = { requiresAncestor: true, operationId: true };
export interface GraphAppendOptions extends AppendOptions {
  /** The session to append to. Default: the one in which the hook, tool or operation runs. */
  readonly session?: string | undefined;
}
export type Appended =
  | { readonly kind: "appended"; readonly nodes: readonly NodeId[]; readonly head: NodeId }
  /** Taken, and not yet in its place: an open turn takes it in after the results of its round, or at its end. */
  | { readonly kind: "queued"; readonly operationId: string }
  | { readonly kind: "stale-branch"; readonly required: string };

/** Stands in for a service that is not there: every use throws `service.unavailable` with the plugin's name. */
export const unavailable = <S extends ServiceName>(service: S, plugin: string): Services[S] =>
  new Proxy({} as Services[S], {
    get: (_, property) => {
      // Inspecting the object, or returning it from an async function, must not throw.
      if (typeof property === "symbol" || property === "then") return undefined;
      throw new RuntimeError("service.unavailable", { service, plugin });
    },
  });
