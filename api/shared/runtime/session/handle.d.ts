import { Any, OutputOf, ToolSchema } from "../../model/schema.js";
import { AppendNode, AppendOptions, Appended, Complete } from "../../kernel/services.js";
import { CancelAnswer } from "../../model/outcome.js";
import { Compacted } from "./change.js";
import { ForkOptions } from "./make.js";
import { HistoryPage, Node } from "../../graph/history.js";
import { Input } from "../live-turn/input.js";
import { InputArgs, InputFor, NamesOf, OperationDefinition, OperationKind, OutputFor } from "../../kernel/operation.js";
import { InputId, SessionId, TurnId } from "../../model/ids.js";
import { Json } from "../../model/json.js";
import { ObserveOptions } from "../readers/readers.js";
import { OperationOptions, Receipt } from "./operate.js";
import { Plugin, TriggerDeclaration } from "../../kernel/plugin.js";
import { Point } from "../../kernel/point.js";
import { PromptPart } from "../../model/prompt.js";
import { SessionConfig } from "../../model/config.js";
import { SessionEvent } from "../../model/event.js";
import { SessionTools } from "../toolset/tools.js";
import { SessionView } from "../../model/view.js";
import { Turn } from "../live-turn/handle.js";
interface TurnOptions {
  /** The same key with the same input joins the turn that is already there; with another input it is `input.conflict`. */
  readonly key?: string | undefined;
  /** Cancels the turn when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Parts of the prompt for this turn alone: the highest of its layers. */
  readonly prompt?: readonly PromptPart[] | undefined;
}
/** Inputs that wait for their turn. */
interface SessionInputs {
  /** Oldest first. */
  list(): Promise<readonly WaitingInput[]>;
  /** Takes back one that still waits, or all from one on; to change an input is to take it back and send another. */
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
  /** The turn that it opens, unless a running one takes it. */
  readonly turnId: TurnId;
  readonly key?: string;
  readonly at: "boundary" | "next-turn";
  readonly text: string;
  readonly acceptedAt: number;
}
interface CancelledInput {
  readonly id: InputId;
  readonly turnId: TurnId;
  /** Only what still waits can be cancelled: for the others see the turn. */
  readonly kind: "cancelled" | "already-taken" | "already-completed";
}
/** A conversation. Handles are cheap: several may be open on one session, and its turns run one after the other. */
interface Session extends AsyncDisposable {
  readonly id: SessionId;
  /** Starts a turn, or queues it behind the one that runs. */
  turn(input: Input, options?: TurnOptions): Turn;
  /** The turn ends with a value of this schema: `finished`, by `model`. */
  turn<S extends ToolSchema>(input: Input, options: TurnOptions & {
    readonly output: S;
  }): Turn<OutputOf<S>>;
  /** Says something to the session: a running turn takes it at its next boundary, else it is the next turn. */
  send(input: Input, options?: {
    readonly key?: string;
    readonly at?: "boundary" | "next-turn";
  }): Promise<{
    readonly turnId: TurnId;
  }>;
  readonly inputs: SessionInputs;
  /** A turn by its id, before, while and after it runs, wherever that is: what it shows here from now on, and its result. */
  follow(turnId: string): Turn;
  /** The turn that is under way here, also one that another process had left. */
  current(): Turn | undefined;
  /** Asks a turn to end, in whatever process it runs. Its result is the acknowledgement. */
  cancel(turnId: string, options?: {
    readonly reason?: string;
    readonly requestId?: string;
  }): Promise<CancelAnswer>;
  read(): Promise<SessionView>;
  /** What is kept, after a cursor and from now on, and what is shown meanwhile. Bounded: see `gap`. */
  observe(options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Nodes of all frames, newest first. */
  history(page?: HistoryPage): Promise<readonly Node[]>;
  /** Goes on in a fresh frame with a shorter conversation, where a plugin compacts. */
  compact(): Promise<Compacted>;
  /** Calls an operation of a plugin. A plugin that is not installed is `operation.unknown`. */
  query<Ops, N extends NamesOf<Ops, "query">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<OutputFor<Ops, N>>;
  /** Runs between turns; its changes of state and its events are kept together. */
  command<Ops, N extends NamesOf<Ops, "command">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<Receipt<OutputFor<Ops, N>>>;
  task<Ops, N extends NamesOf<Ops, "task">>(plugin: Plugin<Ops>, name: N, ...args: InputArgs<InputFor<Ops, N>, OperationOptions>): Promise<Receipt<OutputFor<Ops, N>>>;
  /** By wire name, `plugin.operation`; untyped. */
  invoke(kind: OperationKind, name: string, input?: Json, options?: OperationOptions): Promise<Receipt>;
  operations(): readonly OperationDefinition[];
  /** What plugins contributed to a point. */
  contributed<Out>(point: Point<Any, Out>): Out;
  triggers(): readonly TriggerDeclaration[];
  /** Of the plugins' states here: another one when a plugin, its version, its revision or their order is another. */
  readonly fingerprint: string;
  /** Changes what the session has of its own; `undefined` gives a field back to the runtime. */
  configure(patch: { readonly [K in keyof SessionConfig]?: SessionConfig[K] | undefined; }): Promise<SessionConfig>;
  /** Adds messages and nodes between turns. */
  append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  /** One model call outside the conversation, booked in its ledger. */
  readonly complete: Complete;
  /** Which tools the session has. */
  readonly tools: SessionTools;
  /** A second session over the same history; at the head unless told where. */
  fork(options?: ForkOptions): Promise<Session>;
  close(): Promise<void>;
}
export { Session, SessionInputs, TurnOptions };
