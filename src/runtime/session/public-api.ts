// The public interface `Session` with its options and results. `handle.ts` implements it.
import type { HistoryPage, Node } from "../../graph/history.ts";
import type { Appended, AppendNode, AppendOptions } from "../../kernel/append.ts";
import type { Complete } from "../../kernel/complete.ts";
import type { SavedStates } from "../../kernel/created.ts";
import type { CompactOptions } from "../../kernel/directive.ts";
import type { ExtensionValue } from "../../kernel/extension.ts";
import type { InstalledHooks } from "../../kernel/hook-runner.ts";
import type { Monitors } from "../../kernel/monitor.ts";
import type {
  ConfigPatch,
  InputArgs,
  InputFor,
  NamesOf,
  OperationDefinition,
  OperationKind,
  OutputFor,
} from "../../kernel/operation.ts";
import type { Plugin } from "../../kernel/plugin.ts";
import type { Point } from "../../kernel/point.ts";
import type { Jobs } from "../../kernel/services.ts";
import type { Triggers } from "../../kernel/trigger.ts";
import type { SessionConfig } from "../../model/config.ts";
import type { SessionEvent } from "../../model/event.ts";
import type { InputId, JobId, SessionId, TurnId } from "../../model/ids.ts";
import type { Input } from "../../model/input.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { Any, OutputOf, ToolSchema } from "../../model/schema.ts";
import type { SessionView } from "../../model/view.ts";
import type { CancelAnswer } from "../../stores/store.ts";
import type { Turn } from "../live-turn/handle.ts";
import type { ObserveOptions } from "../readers/readers.ts";
import type { SessionTools } from "../toolset/tools.ts";
import type { Compacted } from "./change.ts";
import type { InstalledPlugin } from "./installed.ts";
import type { ForkOptions } from "./make.ts";
import type { OperationOptions, Receipt } from "./operate.ts";

/** Options of one turn. */
export interface TurnOptions {
  /** Makes a repeat safe: the same key and input join the existing turn. Another input throws `input.conflict`. */
  readonly key?: string | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Prompt parts for this turn only: the last layer. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Input for plugins and the protocol. The plugin that declares it checks it: `[urgency.of({ level: 2 })]`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
  /**
   * The app's notes about the turn, for example a user id or a `traceparent`: JSON of at most 8 KB. Records and
   * telemetry show them, and the model does not see them. A repeat with the same key can have different metadata.
   */
  readonly metadata?: JsonObject | undefined;
}

/** Options of `session.send`. */
export interface SendOptions {
  /** Makes a repeat safe, as in `TurnOptions`. */
  readonly key?: string | undefined;
  /** Where a running turn takes the input. Default: `boundary`. */
  readonly at?: "boundary" | "next-turn" | undefined;
  /** Notes about the turn that the input opens, as in `TurnOptions`. */
  readonly metadata?: JsonObject | undefined;
}
/** An input that is sent later. */
export interface LaterInput {
  readonly jobId: JobId;
  /** The turn that it will open, unless a running turn takes it. It can be followed from then on. */
  readonly turnId: TurnId;
}
/** Options of `session.cancel`. */
export interface CancelOptions {
  readonly reason?: string | undefined;
  /** Makes a repeat safe: a request with the same id cancels once. */
  readonly requestId?: string | undefined;
}

/** The inputs that no turn has taken yet. */
export interface SessionInputs {
  /** Oldest first. */
  list(): Promise<readonly WaitingInput[]>;
  /**
   * Withdraws a waiting input, or with `from` this input and all later ones. To change an input, cancel it and send
   * another.
   */
  cancel(
    which: { readonly id: string } | { readonly key: string } | { readonly from: string },
  ): Promise<readonly CancelledInput[]>;
}
export interface WaitingInput {
  readonly id: InputId;
  /** The turn that the input opens, unless a running turn takes it. An injected input opens no turn. */
  readonly turnId?: TurnId;
  readonly key?: string;
  /** `injected`: for a boundary of the running or the next turn (`sessions.inject`). */
  readonly at: "boundary" | "next-turn" | "injected";
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly acceptedAt: number;
}
export interface CancelledInput {
  readonly id: InputId;
  /** Left out for an injected input, which has none. */
  readonly turnId?: TurnId;
  /** Only a waiting input can be cancelled. Use `follow` for the turn of another input. */
  readonly kind: "cancelled" | "already-taken" | "already-completed";
}

/** A conversation. Its turns run one after the other. Handles are cheap: a session can have several. */
export interface Session extends AsyncDisposable {
  readonly id: SessionId;
  /** Starts a turn, or queues it behind the running turn. */
  turn(input: Input, options?: TurnOptions): Turn;
  /** Starts a turn that ends with a value of this schema: the outcome is `finished`, by `model`. */
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & { readonly output: S }): Turn<OutputOf<S>>;
  /**
   * Sends an input. A running turn takes it at its next boundary, unless `at` is `next-turn`. Otherwise it opens a
   * turn.
   */
  send(input: Input, options?: SendOptions): Promise<{ readonly turnId: TurnId }>;
  /**
   * Sends an input at a time: a date, or milliseconds since 1970. It is durable at once. Until that time it is a job,
   * and `session.jobs.cancel(jobId)` withdraws it. The same key sends once.
   */
  sendAt(time: Date | number, input: Input, options?: SendOptions): Promise<LaterInput>;
  /** Sends an input after this many milliseconds, like `sendAt`. */
  sendAfter(ms: number, input: Input, options?: SendOptions): Promise<LaterInput>;
  readonly inputs: SessionInputs;
  /** Background work of the session. */
  readonly jobs: Jobs;
  /** The monitors of the session. */
  readonly monitors: Monitors;
  /** Follows a turn before, while or after it runs, in any process. Returns a handle for its events and its result. */
  follow(turnId: string): Turn;
  /** The turn that runs in this process. It can be an orphaned turn of another process. */
  current(): Turn | undefined;
  /** Asks a turn to end, in any process. The turn's result is the acknowledgement. */
  cancel(turnId: string, options?: CancelOptions): Promise<CancelAnswer>;
  /** Reads the committed session, with its open turn, open inputs and the cursor for `observe`. */
  read(): Promise<SessionView>;
  /** Streams facts after a cursor, and live previews. A slow reader may lose previews: see `gap`. */
  observe(options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Nodes of all frames, newest first. */
  history(page?: HistoryPage): Promise<readonly Node[]>;
  /** Begins a new frame with a shorter conversation; returns `nothing` if no plugin compacts. */
  compact(options?: CompactOptions): Promise<Compacted>;

  /**
   * Calls a plugin's query at once. A query changes nothing. Throws `operation.unknown` if the plugin is not installed.
   */
  query<Ops, N extends NamesOf<Ops, "query">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<OutputFor<Ops, N>>;
  /** Calls a plugin's command between turns; its state changes and events are committed together. */
  command<Ops, N extends NamesOf<Ops, "command">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Like `command`, for operations that may also call a model. */
  task<Ops, N extends NamesOf<Ops, "task">>(
    plugin: Plugin<Ops>,
    name: N,
    ...args: InputArgs<InputFor<Ops, N>, OperationOptions>
  ): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Calls an operation by its wire name, `plugin.operation`, without types. */
  invoke(kind: OperationKind, name: string, input?: Json, options?: OperationOptions): Promise<Receipt>;
  operations(): readonly OperationDefinition[];
  /** Returns which plugins handle each hook in this session. A hook without handlers has an empty list. */
  hooks(): InstalledHooks;
  /** Lists the plugins of the session, and what each adds. */
  plugins(): Promise<readonly InstalledPlugin[]>;
  contributed<Out>(point: Point<Any, Out>): Out;
  /** The triggers of the session: declared events, subscriptions, occurrences. */
  readonly triggers: Triggers;
  /**
   * A hash of the plugins' states: it changes if a plugin, its version, its state's revision or the order of plugins
   * changes.
   */
  readonly fingerprint: string;

  /** Changes the session's own settings; a field set to `undefined` falls back to the runtime's. */
  configure(patch: ConfigPatch): Promise<SessionConfig>;
  /** Adds messages and nodes between turns. */
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  /** Makes model calls outside the conversation, booked in the session's ledger. */
  readonly complete: Complete;
  /**
   * Passes an extension for the session to the protocol, between turns. Throws `protocol.extension` if the protocol
   * accepts none.
   */
  extend(value: ExtensionValue): Promise<void>;
  readonly tools: SessionTools;
  /** Returns the committed plugin states, for example for a new session: `sessions.create({ states })`. */
  states(): Promise<SavedStates>;
  /** Creates a session that shares the history up to a node. Default: the head. */
  fork(options?: ForkOptions): Promise<Session>;
  /** Closes this handle. Turns continue. */
  close(): Promise<void>;
}
