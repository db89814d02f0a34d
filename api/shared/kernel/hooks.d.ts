import { Any } from "../model/schema.js";
import { AskedTrail, Draft, Message, Part } from "../model/message.js";
import { Awaitable } from "../model/awaitable.js";
import { CatalogOverlay, Permissions, Services } from "./services.js";
import { CodeExecutor } from "./code.js";
import { DirectiveKind, DirectiveOf } from "./directive.js";
import { HandlerContext } from "./handler-context.js";
import { Json } from "../model/json.js";
import { MadeCall, ResultPart, StateCell, StateView, ToolCall, ToolManifest, ToolOutput } from "../model/tool.js";
import { ModelRequest, Reply, ToolDeclaration } from "../model/request.js";
import { PromptPart } from "../model/prompt.js";
import { ProseProjector, ProtocolDriverSlot, ProtocolSession } from "./slots.js";
import { SessionConfig } from "../model/config.js";
import { SessionId } from "../model/ids.js";
import { Tool, ToolProvider } from "./tool.js";
import { TurnOutcome } from "../model/outcome.js";
import { Usage } from "../model/usage.js";
/**
 * An object of types, because without `exactOptionalPropertyTypes` a field of type `never` would be read as
 * `undefined`.
 */
interface HookTypes<Sees, Answer> {
  readonly "~types"?: {
    readonly sees: Sees;
    readonly answer: Answer;
  };
}
/** An input of the session before it is stored. */
interface GivenInput {
  readonly parts: readonly ResultPart[];
  /** Whether it opens a turn, or joins a running one at its next boundary. */
  readonly at: "next-turn" | "boundary";
  readonly key?: string;
}
/** What a turn starts with, before its first model call. */
interface TurnContext {
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
interface CompactionSees {
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
interface Compaction {
  readonly seed: readonly Draft[];
  /**
   * The id of a message: the conversation from this message on stays as it is. If the cut would separate a call from
   * its result, it moves to the next place where it does not.
   */
  readonly tail?: string | undefined;
}
/** A complete turn, before or after its commit. Messages and calls are collected when they are first read. */
interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly rounds: number;
  /** The messages that the turn adds to the conversation. */
  readonly messages: readonly Message[];
  /** The calls that the turn has made, in the order in which rounds and code made them. */
  readonly calls: readonly MadeCall[];
}
/** A piece of a streamed reply. */
interface Chunk {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
  /** The text has ended: return now what was held back. Only handlers with `atEnd` get this. */
  readonly isEnd?: true;
}
/** The answer of a `stream` handler to a piece. A field that is left out changes nothing. */
interface ChunkAnswer {
  /** Replaces the delta in previews and in the stored reply. */
  readonly delta?: string | undefined;
  /** Reasoning to show beside the text. */
  readonly reasoning?: string | undefined;
  readonly events?: readonly {
    readonly name: string;
    readonly payload?: Json | undefined;
  }[] | undefined;
  /** Ends the reply here, with the text so far. */
  readonly abort?: true | undefined;
}
interface ReplyAnswer {
  readonly parts: readonly Part[];
  readonly events?: readonly {
    readonly name: string;
    readonly payload?: Json | undefined;
  }[] | undefined;
}
/** What a `toolCatalog` hook sees. */
interface CatalogSees {
  readonly tools: readonly ToolManifest[];
  /** Restrictions of the session; left out when there are none. */
  readonly permissions?: Permissions;
  /** One of the tools with its input schema; undefined for a provider's tool that is not loaded yet. */
  contract(name: string): ToolDeclaration | undefined;
}
type StreamEnd = "complete" | "aborted" | "cancelled" | "provider-error" | "attempt-reset";
type LifecycleEvent = {
  readonly kind: "turnFinalized";
  readonly report: TurnReport;
} | {
  readonly kind: "turnPersisted";
  readonly report: TurnReport;
  readonly revision: number;
} | {
  readonly kind: "sessionRestored";
  readonly isNew: boolean;
} |
/** A fork of this session was made, by any caller. */
{
  readonly kind: "sessionForked";
  readonly fork: SessionId;
} |
/** This process closes the session: all handles are closed, or the runtime closes. */
{
  readonly kind: "sessionClosed";
} | {
  readonly kind: "sessionConfigChanged";
  readonly previous: SessionConfig;
  readonly current: SessionConfig;
};
/** The rules of composition: when each hook fires, what it gets, what it can answer, and what a throw means. */
declare const HOOKS: {
  readonly input: {
    readonly family: "transform";
    readonly fires: "before an input is stored, once for each key";
    readonly onThrow: "refuse-input";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "blobs"];
  } & HookTypes<{
    readonly input: GivenInput;
  }, string | readonly ResultPart[]>;
  /** `latestUsage`: the usage of the latest model call; left out without a call in the active frame. */
  readonly context: {
    readonly family: "transform";
    readonly fires: "at the start of a turn";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "triggers", "complete"];
  } & HookTypes<{
    readonly context: TurnContext;
    readonly latestUsage?: Usage;
  }, TurnContext>;
  readonly compact: {
    readonly family: "first";
    readonly fires: "when the conversation must be compacted";
    readonly onThrow: "fail-compaction";
    readonly deadlineMs: 300000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "triggers", "complete"];
  } & HookTypes<CompactionSees, Compaction | readonly Draft[]>;
  readonly prompt: {
    readonly family: "collect";
    readonly fires: "when the prompt is built";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "sessions", "jobs", "triggers", "complete"];
  } & HookTypes<object, PromptPart>;
  readonly toolCatalog: {
    readonly family: "collect";
    readonly fires: "when the catalog is built";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 1000;
    readonly state: "read";
    readonly services: readonly [];
    readonly isSync: true;
  } & HookTypes<CatalogSees, CatalogOverlay>;
  readonly beforeTurn: {
    readonly family: "collect";
    readonly fires: "after `context`, before the first model call";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "membership", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["abortTurn", "answer", "enqueueMessages", "compactHistory", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly input: Message;
  }, never>;
  readonly checkpoint: {
    readonly family: "collect";
    readonly fires: "when work is done, and before the turn completes";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["abortTurn", "enqueueMessages", "compactHistory", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly at: "after-work" | "before-completion";
  }, never>;
  readonly afterTurn: {
    readonly family: "collect";
    readonly fires: "when the turn is assembled, before its commit";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "trace", "jobs", "triggers"];
    readonly directives: readonly ["enqueueMessages", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly report: TurnReport;
  }, never>;
  readonly request: {
    readonly family: "transform";
    readonly fires: "before each model call; the change is for this call only";
    readonly onThrow: "fail-call";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly request: ModelRequest;
  }, ModelRequest>;
  readonly stream: {
    readonly family: "transform";
    readonly fires: "for each delta of a reply";
    readonly onThrow: "fail-call";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
  } & HookTypes<{
    readonly chunk: Chunk;
  }, ChunkAnswer>;
  readonly response: {
    readonly family: "transform";
    readonly fires: "for each complete reply, after it is recorded; at least once, so derive and do not count";
    readonly onThrow: "retry";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly reply: Reply;
  }, ReplyAnswer>;
  readonly streamFinished: {
    readonly family: "observe";
    readonly fires: "when a stream ends, for any reason";
    readonly onThrow: "trace";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
    readonly inOrder: true;
  } & HookTypes<{
    readonly reason: StreamEnd;
  }, never>;
  readonly beforeToolCall: {
    readonly family: "gate";
    readonly fires: "for each resolved call, before its final arguments are validated";
    readonly onThrow: "deny";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs", "monitors", "triggers"];
    readonly directives: readonly ["abort", "deny", "ask", "shortCircuit", "replaceArgs", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
  }, never>;
  /**
   * `durationMs`: the time of all attempts and waits of the call; left out if the call was not made. `asked`: the
   * people who were asked about the call, with their answers; left out if there were none.
   */
  readonly afterToolCall: {
    readonly family: "gate";
    readonly fires: "for each final result, in call order";
    readonly onThrow: "withhold";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs", "monitors", "triggers"];
    readonly directives: readonly ["abort", "deny", "replaceResult", "enqueueMessages", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly durationMs?: number;
    readonly asked?: readonly AskedTrail[];
  }, never>;
  readonly projectResult: {
    readonly family: "single";
    readonly fires: "when a result is shown to the model";
    readonly onThrow: "show";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "blobs"];
  } & HookTypes<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
    readonly parts: readonly ResultPart[];
    readonly durationMs?: number;
  }, readonly ResultPart[]>;
  readonly config: {
    readonly family: "transform";
    readonly fires: "when the session's config really changed";
    readonly onThrow: "skip";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly config: SessionConfig;
  }, SessionConfig>;
  readonly lifecycle: {
    readonly family: "observe";
    readonly fires: "when a turn is finalized or persisted; when a session is restored, reconfigured, forked or closed";
    readonly onThrow: "issue";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "graph", "complete", "trace", "jobs", "triggers"];
  } & HookTypes<{
    readonly event: LifecycleEvent;
  }, never>;
  readonly protocolSession: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 300000;
    readonly state: "read";
    readonly services: readonly ["session", "membership", "graph", "jobs", "triggers", "complete"];
    readonly isRequired: true;
  } & HookTypes<never, ProtocolSession>;
  readonly protocolDriver: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
    readonly isRequired: true;
  } & HookTypes<never, ProtocolDriverSlot>;
  readonly codeExecutor: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 3600000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "catalog", "membership", "graph", "complete", "blobs", "trace", "jobs", "triggers"];
  } & HookTypes<never, CodeExecutor<any>>;
  readonly proseProjector: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
  } & HookTypes<never, ProseProjector>;
};
type Rows = typeof HOOKS;
type HookName = keyof Rows;
type SeesOf<N extends HookName> = Rows[N] extends HookTypes<infer Sees, unknown> ? Sees : never;
type AnswerOf<N extends HookName> = Rows[N] extends {
  readonly directives: readonly (infer K extends DirectiveKind)[];
} ? DirectiveOf<K> : Rows[N] extends HookTypes<unknown, infer Answer> ? Answer : never;
/** Slots hold a value; every other hook is a handler. */
type SlotName = { [N in HookName]: [SeesOf<N>] extends [never] ? N : never; }[HookName];
type HandledName = Exclude<HookName, SlotName>;
type StateFor<N extends HookName, S> = [S] extends [undefined] ? object : {
  readonly state: Rows[N]["state"] extends "write" ? StateCell<S> : StateView<S>;
};
type Around<N extends HandledName, S> = HandlerContext & Pick<Services, Rows[N]["services"][number]> & StateFor<N, S>;
type HookEvent<N extends HandledName, S = undefined> = SeesOf<N> & Around<N, S>;
type Many<A> = A | readonly A[];
type Maybe<A, Sync> = Sync extends true ? A | void : Awaitable<A | void | undefined>;
type SyncOf<N extends HookName> = Rows[N] extends {
  readonly isSync: true;
} ? true : false;
type HookAnswer<N extends HandledName> = Rows[N]["family"] extends "observe" ? Awaitable<void> : Rows[N]["family"] extends "collect" | "gate" ? Maybe<Many<AnswerOf<N>>, SyncOf<N>> : Rows[N]["family"] extends "single" ? Awaitable<AnswerOf<N>> : Maybe<AnswerOf<N>, SyncOf<N>>;
/** A handler that returns nothing has no opinion, in every family except `single`. */
type Handler<N extends HandledName, S = undefined> = (event: HookEvent<N, S>) => HookAnswer<N>;
type Order = "early" | "normal" | "late";
interface Placed<H> {
  /** Overrides the plugin's own order. */
  readonly order?: Order | undefined;
  readonly deadlineMs?: number | undefined;
  /** For `stream`: also called when the text has ended, with `chunk.isEnd`, to return what was held back. */
  readonly atEnd?: true | undefined;
  readonly run: H;
}
type Handlers<H> = H | Placed<H> | readonly (H | Placed<H>)[];
/** The hooks before and after a tool call. Their handlers can be limited to some tools. */
type GateName = "beforeToolCall" | "afterToolCall";
/** A tool, or the name of one. */
type ToolRef = Tool<Any> | string;
/** A call of one of these tools. `call.name` is the tool. */
type CallOf<T> = T extends Tool<Any, infer Name, infer In> ? Omit<ToolCall, "name" | "input"> & {
  readonly name: Name;
  readonly input: unknown extends In ? Json : In;
} : Omit<ToolCall, "name"> & {
  readonly name: T & string;
};
type GateEvent<N extends GateName, S, T> = Omit<SeesOf<N>, "call"> & {
  readonly call: CallOf<T>;
} & Around<N, S>;
/** A handler of a gate, with its order and its tools. */
interface Gate<N extends GateName, S = undefined, T extends ToolRef = ToolRef> {
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
  run(event: GateEvent<N, S, T>): HookAnswer<N>;
}
type Gates<N extends GateName, S, T extends ToolRef> = Handler<N, S> | Gate<N, S, T> | readonly (Handler<N, S> | Gate<N, S>)[];
/** The gates of a plugin, typed by their tools. */
interface Gated<S, Before extends ToolRef, After extends ToolRef> {
  readonly beforeToolCall?: Gates<"beforeToolCall", S, Before> | undefined;
  readonly afterToolCall?: Gates<"afterToolCall", S, After> | undefined;
}
/** All hooks but the gates. */
type Ungated<S> = { readonly [N in Exclude<HandledName, GateName>]?: Rows[N]["family"] extends "single" ? Handler<N, S> | Placed<Handler<N, S>> | undefined : Handlers<Handler<N, S>> | undefined; } & { readonly [N in SlotName]?: (N extends "codeExecutor" ? CodeExecutor<S> : AnswerOf<N>) | undefined; };
type Hooks<S = undefined> = Ungated<S> & Gated<S, ToolRef, ToolRef>;
export { Compaction, CompactionSees, Gate, GateName, Gated, HOOKS, HookName, Hooks, Order, ToolRef, Ungated };
