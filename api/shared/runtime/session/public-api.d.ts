import { Any, OutputOf, ToolSchema } from "../../model/schema.js";
import { AppendNode, AppendOptions, Appended } from "../../kernel/append.js";
import { CancelAnswer } from "../../model/outcome.js";
import { CompactOptions } from "../../kernel/directive.js";
import { Compacted } from "./change.js";
import { Complete } from "../../kernel/complete.js";
import {
  ConfigPatch,
  InputArgs,
  InputFor,
  NamesOf,
  OperationDefinition,
  OperationKind,
  OutputFor,
} from "../../kernel/operation.js";
import { ExtensionValue } from "../../kernel/extension.js";
import { ForkOptions } from "./make.js";
import { HistoryPage, Node } from "../../graph/history.js";
import { Input } from "../../model/input.js";
import { InputId, JobId, SessionId, TurnId } from "../../model/ids.js";
import { InstalledHooks } from "../../kernel/hook-runner.js";
import { InstalledPlugin } from "./installed.js";
import { Jobs } from "../../kernel/services.js";
import { Json, JsonObject } from "../../model/json.js";
import { Monitors } from "../../kernel/monitor.js";
import { ObserveOptions } from "../readers/readers.js";
import { OperationOptions, Receipt } from "./operate.js";
import { Plugin } from "../../kernel/plugin.js";
import { Point } from "../../kernel/point.js";
import { PromptPart } from "../../model/prompt.js";
import { SavedStates } from "../../kernel/created.js";
import { SessionConfig } from "../../model/config.js";
import { SessionEvent } from "../../model/event.js";
import { SessionTools } from "../toolset/tools.js";
import { SessionView } from "../../model/view.js";
import { Triggers } from "../../kernel/trigger.js";
import { Turn } from "../live-turn/handle.js";
/** Options of one turn. */
interface TurnOptions {
  /** Makes a repeat safe: the same key and input join the turn that is there; another input is `input.conflict`. */
  readonly key?: string | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Prompt parts for this turn only: the highest layer. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Input for plugins and the protocol, each checked by the plugin that declares it: `[urgency.of({ level: 2 })]`. */
  readonly extensions?: readonly ExtensionValue[] | undefined;
  /**
   * The app's notes about the turn, for example a user id or a `traceparent`: JSON of at most 8 KB. Records and telemetry
   * show them, and the model does not see them. A repeat with the same key may have others.
   */
  readonly metadata?: JsonObject | undefined;
}
/** Options of `session.send`. */
interface SendOptions {
  /** Makes a repeat safe, as in `TurnOptions`. */
  readonly key?: string | undefined;
  /** Where a running turn takes the input. Default: `boundary`. */
  readonly at?: "boundary" | "next-turn" | undefined;
  /** Notes about the turn that the input opens, as in `TurnOptions`. */
  readonly metadata?: JsonObject | undefined;
}
/** An input that is sent later. */
interface LaterInput {
  readonly jobId: JobId;
  /** The turn that it will open, unless a running turn takes it. It can be followed from then on. */
  readonly turnId: TurnId;
}
/** Options of `session.cancel`. */
interface CancelOptions {
  readonly reason?: string | undefined;
  /** Makes a repeat safe: the same request cancels once. */
  readonly requestId?: string | undefined;
}
/** The inputs that no turn has taken yet. */
interface SessionInputs {
  /** Oldest first. */
  list(): Promise<readonly WaitingInput[]>;
  /** Withdraws a waiting input, or with `from` all from this one on. To change an input, cancel it and send another. */
  cancel(which: {
    readonly id: string;
  } | {
    readonly key: string;
  } | {
    readonly from: string;
  }): Promise<readonly CancelledInput[]>;
}
interface WaitingInput {
  readonly id: InputId;
  /** The turn that the input opens, unless a running turn takes it. An injected one opens none. */
  readonly turnId?: TurnId;
  readonly key?: string;
  /** `injected`: for a boundary of the running or the next turn (`sessions.inject`). */
  readonly at: "boundary" | "next-turn" | "injected";
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly acceptedAt: number;
}
interface CancelledInput {
  readonly id: InputId;
  /** Left out for an injected input, which has none. */
  readonly turnId?: TurnId;
  /** Only a waiting input can be cancelled; for the others `follow` the turn. */
  readonly kind: "cancelled" | "already-taken" | "already-completed";
}
/** A conversation. Its turns run one after the other. Handles are cheap: several may be open on one session. */
interface Session extends AsyncDisposable {
  readonly id: SessionId;
  /** Starts a turn, or queues it behind the one that runs. */
  turn(input: Input, options?: TurnOptions): Turn;
  /** Starts a turn that ends with a value of this schema: the outcome is `finished`, by `model`. */
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & {
    readonly output: S;
  }): Turn<OutputOf<S>>;
  /** Sends an input. A running turn takes it at its next boundary, unless `at` is `next-turn`; else it opens a turn. */
  send(input: Input, options?: SendOptions): Promise<{
    readonly turnId: TurnId;
  }>;
  /**
   * Sends an input at a time: a date, or milliseconds since 1970. It is durable at once, and a job until then:
   * `session.jobs.cancel(jobId)` takes it back. The same key sends once.
   */
  sendAt(time: Date | number, input: Input, options?: SendOptions): Promise<LaterInput>;
  /** Sends an input after so many milliseconds, as `sendAt`. */
  sendAfter(ms: number, input: Input, options?: SendOptions): Promise<LaterInput>;
  readonly inputs: SessionInputs;
  /** Background work of the session. */
  readonly jobs: Jobs;
  /** Commands that are watched for the session. */
  readonly monitors: Monitors;
  /** Follows a turn before, while or after it runs, in whatever process: what it shows here, and its result. */
  follow(turnId: string): Turn;
  /** The turn that is under way in this process, also one that another process had left. */
  current(): Turn | undefined;
  /** Asks a turn to end, in whatever process it runs. The turn's result is the acknowledgement. */
  cancel(turnId: string, options?: CancelOptions): Promise<CancelAnswer>;
  /** Reads the session as last committed, with its open turn, open inputs and the cursor to observe from. */
  read(): Promise<SessionView>;
  /** Streams facts, from a cursor on, and previews as they are shown. A slow reader may lose previews: see `gap`. */
  observe(options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Nodes of all frames, newest first. */
  history(page?: HistoryPage): Promise<readonly Node[]>;
  /** Begins a new frame with a shorter conversation; answers `nothing` when no plugin compacts. */
  compact(options?: CompactOptions): Promise<Compacted>;
  /** Calls a plugin's query at once; it changes nothing. Throws `operation.unknown` if the plugin is not installed. */
  query<Ops, N extends NamesOf<Ops, "query">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<OutputFor<Ops, N>>;
  /** Calls a plugin's command between turns; its state changes and events are committed together. */
  command<Ops, N extends NamesOf<Ops, "command">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Like `command`, for operations that may also call a model. */
  task<Ops, N extends NamesOf<Ops, "task">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<Receipt<OutputFor<Ops, N>>>;
  /** Calls an operation by its wire name, `plugin.operation`, without types. */
  invoke(kind: OperationKind, name: string, input?: Json, options?: OperationOptions): Promise<Receipt>;
  operations(): readonly OperationDefinition[];
  /** Returns which plugins handle each hook in this session. A hook that nobody handles has an empty list. */
  hooks(): InstalledHooks;
  /** Lists the plugins of the session, and what each adds. */
  plugins(): Promise<readonly InstalledPlugin[]>;
  contributed<Out>(point: Point<Any, Out>): Out;
  /** What starts work of the session by itself: declared events, subscriptions, occurrences. */
  readonly triggers: Triggers;
  /** A hash of the plugins' states: it changes with a plugin, its version, its state's revision, or their order. */
  readonly fingerprint: string;
  /** Changes the session's own settings; a field set to `undefined` falls back to the runtime's. */
  configure(patch: ConfigPatch): Promise<SessionConfig>;
  /** Adds messages and nodes between turns. */
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  /** Makes model calls outside the conversation, booked in the session's ledger. */
  readonly complete: Complete;
  /** Gives the protocol an extension for the session, between turns. Throws `protocol.extension` if it takes none. */
  extend(value: ExtensionValue): Promise<void>;
  readonly tools: SessionTools;
  /** Returns the plugin states as last committed, to begin another session with: `sessions.create({ states })`. */
  states(): Promise<SavedStates>;
  /** Creates a session over the same history. Default: at the head. */
  fork(options?: ForkOptions): Promise<Session>;
  /** Closes this handle; turns go on. */
  close(): Promise<void>;
}
export { CancelledInput, SendOptions, Session, TurnOptions, WaitingInput };
