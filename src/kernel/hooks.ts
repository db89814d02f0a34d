// Job: the table of hooks, and the types that follow from it. The runner, the checks at run time and docs/hooks.md read
// the same rows, so none of them can disagree with the others.
// Not its job: calling hooks (`hook-runner.ts`), merging verdicts on calls (`tool-gates.ts`), checking answers
// (`answers.ts`).

import type { Awaitable } from "../model/awaitable.ts";
import type { SessionConfig } from "../model/config.ts";
import type { SessionId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { AskedTrail, Draft, Message, Part } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { PromptPart } from "../model/prompt.ts";
import type { ModelRequest, Reply, ToolDeclaration } from "../model/request.ts";
import type { Any } from "../model/schema.ts";
import type { MadeCall, ResultPart, StateCell, StateView, ToolCall, ToolManifest, ToolOutput } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { CodeExecutor } from "./code.ts";
import type { DirectiveKind, DirectiveOf } from "./directive.ts";
import type { HandlerContext } from "./handler-context.ts";
import type { CatalogOverlay, Permissions, ServiceName, Services } from "./services.ts";
import type { ProseProjector, ProtocolDriverSlot, ProtocolSession } from "./slots.ts";
import type { Tool, ToolProvider } from "./tool.ts";

/**
 * How several answers become one. `observe` has no answers and runs concurrently. `transform` pipes. `collect` keeps
 * all answers in order. In a `gate` the strictest answer wins. `first` takes the first answer that is not empty.
 * `single` has one owner.
 */
export type Family = "observe" | "transform" | "collect" | "gate" | "first" | "single";

export type OnThrow =
  | "fail-turn"
  | "fail-call"
  | "fail-build"
  | "fail-compaction"
  | "refuse-input"
  | "deny"
  | "withhold"
  | "retry"
  | "skip"
  | "issue"
  | "trace"
  | "show";

export interface RowData {
  readonly family: Family;
  /** When the hook fires, in words for the documentation. */
  readonly fires: string;
  readonly onThrow: OnThrow;
  readonly deadlineMs: number;
  /** Whether the event's `state` can be changed, where the plugin has one. */
  readonly state: "read" | "write";
  /** Exactly these are in the event. */
  readonly services: readonly ServiceName[];
  /** The directives that an answer can contain. The check at run time reads the same list. */
  readonly directives?: readonly DirectiveKind[];
  /** The answer may not be a promise. */
  readonly isSync?: true;
  /** Observers run one after the other instead of concurrently. */
  readonly inOrder?: true;
  /** A slot that must be filled. */
  readonly isRequired?: true;
}

/**
 * An object of types, because without `exactOptionalPropertyTypes` a field of type `never` would be read as
 * `undefined`.
 */
interface HookTypes<Sees, Answer> {
  readonly "~types"?: { readonly sees: Sees; readonly answer: Answer };
}
const hook =
  <Sees, Answer = never>() =>
  <const Row extends RowData>(row: Row): Row & HookTypes<Sees, Answer> =>
    row;

/** An input of the session before it is stored. */
export interface GivenInput {
  readonly parts: readonly ResultPart[];
  /** Whether it opens a turn, or joins a running one at its next boundary. */
  readonly at: "next-turn" | "boundary";
  readonly key?: string;
}
/** What a turn starts with, before its first model call. */
export interface TurnContext {
  /** The messages of the active frame, and this turn's input. */
  readonly messages: readonly Message[];
  readonly prompt: readonly PromptPart[];
  /**
   * More tools for this turn. A tool replaces the session's tool of the same name. Two with one name throw
   * `tool.duplicate`.
   */
  readonly tools?: readonly (Tool<Any> | ToolProvider)[] | undefined;
  /** False leaves out the session's own tools. Default: true. */
  readonly includeBaseTools?: boolean | undefined;
}
/** What a `compact` hook sees. */
export interface CompactionSees {
  /** The messages of the active frame, including what the turn has added. */
  readonly messages: readonly Message[];
  /**
   * `overflow`: the window overflowed. `room`: a plugin wants room before an overflow. `asked`: the app called
   * `compact`.
   */
  readonly reason: "overflow" | "room" | "asked";
  /** What to keep, from the app or the plugin that requested the compaction. */
  readonly instructions?: string;
  /** Counts from 1. From 2 on, the compaction before did not make the request smaller. */
  readonly attempt: number;
}
/** The beginning of a new frame. */
export interface Compaction {
  readonly seed: readonly Draft[];
  /**
   * The id of a message: the conversation from this message on stays as it is. If the cut would separate a call from
   * its result, it moves to the next place where it does not.
   */
  readonly tail?: string | undefined;
}
/** A complete turn, before or after its commit. Messages and calls are collected when they are first read. */
export interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly rounds: number;
  /** The messages that the turn adds to the conversation. */
  readonly messages: readonly Message[];
  /** The calls that the turn has made, in the order in which rounds and code made them. */
  readonly calls: readonly MadeCall[];
}
/** A piece of a streamed reply. */
export interface Chunk {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
  /** The text has ended: return now what was held back. Only handlers with `atEnd` get this. */
  readonly isEnd?: true;
}
/** The answer of a `stream` handler to a piece. A field that is left out changes nothing. */
export interface ChunkAnswer {
  /** Replaces the delta in previews and in the stored reply. */
  readonly delta?: string | undefined;
  /** Reasoning to show beside the text. */
  readonly reasoning?: string | undefined;
  readonly events?: readonly { readonly name: string; readonly payload?: Json | undefined }[] | undefined;
  /** Ends the reply here, with the text so far. */
  readonly abort?: true | undefined;
}
export interface ReplyAnswer {
  readonly parts: readonly Part[];
  readonly events?: readonly { readonly name: string; readonly payload?: Json | undefined }[] | undefined;
}
/** What a `toolCatalog` hook sees. */
export interface CatalogSees {
  readonly tools: readonly ToolManifest[];
  /** Restrictions of the session; left out when there are none. */
  readonly permissions?: Permissions;
  /** One of the tools with its input schema; undefined for a provider's tool that is not loaded yet. */
  contract(name: string): ToolDeclaration | undefined;
}
/** One edit of one tool. A hidden tool is neither shown nor run. */
export type CatalogEdit = CatalogOverlay;
export type StreamEnd = "complete" | "aborted" | "cancelled" | "provider-error" | "attempt-reset";
export type LifecycleEvent =
  | { readonly kind: "turnFinalized"; readonly report: TurnReport }
  | { readonly kind: "turnPersisted"; readonly report: TurnReport; readonly revision: number }
  | { readonly kind: "sessionRestored"; readonly isNew: boolean }
  /** A fork of this session was made, by any caller. */
  | { readonly kind: "sessionForked"; readonly fork: SessionId }
  /** This process closes the session: all handles are closed, or the runtime closes. */
  | { readonly kind: "sessionClosed" }
  | { readonly kind: "sessionConfigChanged"; readonly previous: SessionConfig; readonly current: SessionConfig };

const EMIT = ["createSession", "emitEvent", "emitTrace"] as const;
const READS = ["session", "catalog"] as const;
const HISTORY = ["session", "sessions", "graph", "jobs", "triggers", "complete"] as const;
const EVERYTHING = [
  "session",
  "catalog",
  "membership",
  "sessions",
  "graph",
  "complete",
  "blobs",
  "trace",
  "jobs",
  "monitors",
  "triggers",
] as const;

/** The rules of composition: when each hook fires, what it gets, what it can answer, and what a throw means. */
export const HOOKS = {
  input: hook<{ readonly input: GivenInput }, string | readonly ResultPart[]>()({
    family: "transform",
    fires: "before an input is stored, once for each key",
    onThrow: "refuse-input",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "blobs"],
  }),
  /** `latestUsage`: the usage of the latest model call; left out without a call in the active frame. */
  context: hook<{ readonly context: TurnContext; readonly latestUsage?: Usage }, TurnContext>()({
    family: "transform",
    fires: "at the start of a turn",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: HISTORY,
  }),
  compact: hook<CompactionSees, Compaction | readonly Draft[]>()({
    family: "first",
    fires: "when the conversation must be compacted",
    onThrow: "fail-compaction",
    deadlineMs: 300_000,
    state: "write",
    services: HISTORY,
  }),
  prompt: hook<object, PromptPart>()({
    family: "collect",
    fires: "when the prompt is built",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "sessions", "jobs", "triggers", "complete"],
  }),
  toolCatalog: hook<CatalogSees, CatalogEdit>()({
    family: "collect",
    fires: "when the catalog is built",
    onThrow: "fail-build",
    deadlineMs: 1_000,
    state: "read",
    services: [],
    isSync: true,
  }),
  beforeTurn: hook<{ readonly input: Message }>()({
    family: "collect",
    fires: "after `context`, before the first model call",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "membership", "sessions", "trace", "jobs", "triggers"],
    directives: ["abortTurn", "answer", "enqueueMessages", "compactHistory", ...EMIT],
  }),
  checkpoint: hook<{ readonly at: "after-work" | "before-completion" }>()({
    family: "collect",
    fires: "when work is done, and before the turn completes",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "sessions", "trace", "jobs", "triggers"],
    directives: ["abortTurn", "enqueueMessages", "compactHistory", ...EMIT],
  }),
  afterTurn: hook<{ readonly report: TurnReport }>()({
    family: "collect",
    fires: "when the turn is assembled, before its commit",
    onThrow: "fail-turn",
    deadlineMs: 30_000,
    state: "write",
    services: ["session", "sessions", "trace", "jobs", "triggers"],
    directives: ["enqueueMessages", ...EMIT],
  }),
  request: hook<{ readonly request: ModelRequest }, ModelRequest>()({
    family: "transform",
    fires: "before each model call; the change is for this call only",
    onThrow: "fail-call",
    deadlineMs: 30_000,
    state: "read",
    services: READS,
  }),
  stream: hook<{ readonly chunk: Chunk }, ChunkAnswer>()({
    family: "transform",
    fires: "for each delta of a reply",
    onThrow: "fail-call",
    deadlineMs: 5_000,
    state: "read",
    services: [],
  }),
  response: hook<{ readonly reply: Reply }, ReplyAnswer>()({
    family: "transform",
    fires: "for each complete reply, after it is recorded; at least once, so derive and do not count",
    onThrow: "retry",
    deadlineMs: 30_000,
    state: "read",
    services: READS,
  }),
  streamFinished: hook<{ readonly reason: StreamEnd }>()({
    family: "observe",
    fires: "when a stream ends, for any reason",
    onThrow: "trace",
    deadlineMs: 5_000,
    state: "read",
    services: [],
    inOrder: true,
  }),
  beforeToolCall: hook<{ readonly call: ToolCall }>()({
    family: "gate",
    fires: "for each resolved call, before its final arguments are validated",
    onThrow: "deny",
    deadlineMs: 30_000,
    state: "write",
    services: EVERYTHING,
    directives: ["abort", "deny", "ask", "shortCircuit", "replaceArgs", ...EMIT],
  }),
  /**
   * `durationMs`: the time of all attempts and waits of the call; left out if the call was not made. `asked`: the
   * people who were asked about the call, with their answers; left out if there were none.
   */
  afterToolCall: hook<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly durationMs?: number;
    readonly asked?: readonly AskedTrail[];
  }>()({
    family: "gate",
    fires: "for each final result, in call order",
    onThrow: "withhold",
    deadlineMs: 30_000,
    state: "write",
    services: EVERYTHING,
    directives: ["abort", "deny", "replaceResult", "enqueueMessages", ...EMIT],
  }),
  projectResult: hook<
    /** `parts`: what the model would see without the hook. */
    {
      readonly call: ToolCall;
      readonly output: ToolOutput;
      readonly parts: readonly ResultPart[];
      readonly durationMs?: number;
    },
    readonly ResultPart[]
  >()({
    family: "single",
    fires: "when a result is shown to the model",
    onThrow: "show",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "blobs"],
  }),
  config: hook<{ readonly config: SessionConfig }, SessionConfig>()({
    family: "transform",
    fires: "when the session's config really changed",
    onThrow: "skip",
    deadlineMs: 5_000,
    state: "read",
    services: READS,
  }),
  lifecycle: hook<{ readonly event: LifecycleEvent }>()({
    family: "observe",
    fires: "when a turn is finalized or persisted; when a session is restored, reconfigured, forked or closed",
    onThrow: "issue",
    deadlineMs: 30_000,
    state: "read",
    services: ["session", "catalog", "graph", "complete", "trace", "jobs", "triggers"],
  }),
  protocolSession: hook<never, ProtocolSession>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 300_000,
    state: "read",
    services: ["session", "membership", "graph", "jobs", "triggers", "complete"],
    isRequired: true,
  }),
  protocolDriver: hook<never, ProtocolDriverSlot>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 5_000,
    state: "read",
    services: [],
    isRequired: true,
  }),
  codeExecutor: hook<never, CodeExecutor<Any>>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 3_600_000, // Restoring repeats all computations of the turn.
    state: "write",
    services: [
      "session",
      "sessions",
      "catalog",
      "membership",
      "graph",
      "complete",
      "blobs",
      "trace",
      "jobs",
      "triggers",
    ],
  }),
  proseProjector: hook<never, ProseProjector>()({
    family: "single",
    fires: "see protocols",
    onThrow: "fail-build",
    deadlineMs: 5_000,
    state: "read",
    services: [],
  }),
} as const satisfies { readonly [name: string]: RowData };

type Rows = typeof HOOKS;
export type HookName = keyof Rows;
export const HOOK_NAMES: readonly HookName[] = Object.keys(HOOKS) as HookName[];

export type SeesOf<N extends HookName> = Rows[N] extends HookTypes<infer Sees, unknown> ? Sees : never;
export type AnswerOf<N extends HookName> = Rows[N] extends {
  readonly directives: readonly (infer K extends DirectiveKind)[];
}
  ? DirectiveOf<K>
  : Rows[N] extends HookTypes<unknown, infer Answer>
    ? Answer
    : never;

export type Took = Pick<SeesOf<"afterToolCall">, "durationMs" | "asked">;

/** Slots hold a value; every other hook is a handler. */
export type SlotName = { [N in HookName]: [SeesOf<N>] extends [never] ? N : never }[HookName];
export type HandledName = Exclude<HookName, SlotName>;

type StateFor<N extends HookName, S> = [S] extends [undefined]
  ? object
  : { readonly state: Rows[N]["state"] extends "write" ? StateCell<S> : StateView<S> };

type Around<N extends HandledName, S> = HandlerContext & Pick<Services, Rows[N]["services"][number]> & StateFor<N, S>;
export type HookEvent<N extends HandledName, S = undefined> = SeesOf<N> & Around<N, S>;

type Many<A> = A | readonly A[];
type Maybe<A, Sync> = Sync extends true ? A | void : Awaitable<A | void | undefined>;
type SyncOf<N extends HookName> = Rows[N] extends { readonly isSync: true } ? true : false;
export type HookAnswer<N extends HandledName> = Rows[N]["family"] extends "observe"
  ? Awaitable<void>
  : Rows[N]["family"] extends "collect" | "gate"
    ? Maybe<Many<AnswerOf<N>>, SyncOf<N>>
    : Rows[N]["family"] extends "single"
      ? Awaitable<AnswerOf<N>>
      : Maybe<AnswerOf<N>, SyncOf<N>>;

/** A handler that returns nothing has no opinion, in every family except `single`. */
export type Handler<N extends HandledName, S = undefined> = (event: HookEvent<N, S>) => HookAnswer<N>;

export type Order = "early" | "normal" | "late";
export interface Placed<H> {
  /** Overrides the plugin's own order. */
  readonly order?: Order | undefined;
  readonly deadlineMs?: number | undefined;
  /** For `stream`: also called when the text has ended, with `chunk.isEnd`, to return what was held back. */
  readonly atEnd?: true | undefined;
  readonly run: H;
}
export type Handlers<H> = H | Placed<H> | readonly (H | Placed<H>)[];

/** The hooks before and after a tool call. Their handlers can be limited to some tools. */
export type GateName = "beforeToolCall" | "afterToolCall";
/** A tool, or the name of one. */
export type ToolRef = Tool<Any> | string;
/** A call of one of these tools. `call.name` is the tool. */
type CallOf<T> =
  T extends Tool<Any, infer Name, infer In>
    ? Omit<ToolCall, "name" | "input"> & {
        readonly name: Name;
        readonly input: unknown extends In ? Json : In;
      }
    : Omit<ToolCall, "name"> & { readonly name: T & string };
type GateEvent<N extends GateName, S, T> = Omit<SeesOf<N>, "call"> & { readonly call: CallOf<T> } & Around<N, S>;

/** A handler of a gate, with its order and its tools. */
export interface Gate<N extends GateName, S = undefined, T extends ToolRef = ToolRef> {
  /** Overrides the plugin's own order. */
  readonly order?: Order | undefined;
  readonly deadlineMs?: number | undefined;
  /**
   * Calls the handler only for these tools. A tool matches by its name, from any source, also when it is granted under
   * another name. The input of the call has passed the tool's schema. A call with an invalid input is settled before,
   * and later handlers do not see it. `call.input` is what the model sent, so its type is the input of the schema,
   * without defaults and transforms. Default: all calls, also calls with an invalid input.
   */
  readonly tools?: readonly T[] | undefined;
  // A method, because handlers for different tools can be in one list.
  run(event: GateEvent<N, S, T>): HookAnswer<N>;
}
type Gates<N extends GateName, S, T extends ToolRef> =
  | Handler<N, S>
  | Gate<N, S, T>
  | readonly (Handler<N, S> | Gate<N, S>)[];
/** The gates of a plugin, typed by their tools. */
export interface Gated<S, Before extends ToolRef, After extends ToolRef> {
  readonly beforeToolCall?: Gates<"beforeToolCall", S, Before> | undefined;
  readonly afterToolCall?: Gates<"afterToolCall", S, After> | undefined;
}

/** All hooks but the gates. */
export type Ungated<S> = {
  readonly [N in Exclude<HandledName, GateName>]?: Rows[N]["family"] extends "single"
    ? Handler<N, S> | Placed<Handler<N, S>> | undefined
    : Handlers<Handler<N, S>> | undefined;
} & { readonly [N in SlotName]?: (N extends "codeExecutor" ? CodeExecutor<S> : AnswerOf<N>) | undefined };
export type Hooks<S = undefined> = Ungated<S> & Gated<S, ToolRef, ToolRef>;

export type { Owned } from "./owned.ts";
