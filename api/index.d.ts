/** Ids that cannot be swapped. The casts live in this file and nowhere else. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
type SessionId = Id<"session">;
type TurnId = Id<"turn">;
type InputId = Id<"input">;
/** (commit, index): nodes are kept a segment per commit, so the id says where to look. */
type NodeId = Id<"node">;
/** The provider's name for a call. It is data and may repeat; a call's identity is its position. */
type CallId = Id<"call">;
/** A position in the turn, such as `r2.call.0`; unique in the turn. */
type EffectName = Id<"effect">;
/** `sha256` of the content, in base64url. */
type BlobHash = Id<"blob">;
/** 128 random bits that address a durable wait: whoever knows the key may answer. */
type WaitKey = Id<"wait">;
type Cursor = Id<"cursor">;
type Json = null | boolean | number | string | readonly Json[] | {
  readonly [key: string]: Json;
};
type JsonObject = {
  readonly [key: string]: Json;
};
type Awaitable<T> = T | PromiseLike<T>;
/** Who made a part, and what only that route understands: replayed to it and to nobody else. */
interface Provenance {
  /** `provider/model`. */
  readonly route: string;
  readonly data?: Json;
}
interface TextPart {
  readonly kind: "text";
  readonly text: string;
  readonly made?: Provenance;
}
interface ReasoningPart {
  readonly kind: "reasoning";
  readonly text: string;
  readonly made?: Provenance;
}
interface ToolCallPart {
  readonly kind: "toolCall";
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON; `input` is then {}. */
  readonly malformed?: string;
  readonly made?: Provenance;
}
interface Attachment {
  readonly kind: "attachment";
  readonly hash: BlobHash;
  readonly mediaType: string;
  readonly bytes: number;
  readonly name?: string;
}
interface ToolResultPart {
  readonly kind: "toolResult";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly parts: readonly (TextPart | Attachment)[];
}
/** What a code cell printed and how it ended, as the model is shown it. */
interface CodeOutputPart {
  readonly kind: "codeOutput";
  readonly status: "done" | "threw" | "stalled" | "stopped";
  readonly parts: readonly (TextPart | Attachment)[];
}
type Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | CodeOutputPart | Attachment;
type ToolStatus = "ok" | "failed" | "denied" | "cancelled" | "unknown";
type Role = "system" | "user" | "assistant" | "tool";
type Origin = {
  readonly kind: "input";
  readonly inputId: string;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
} |
/** The runtime's own words to the model: a repair, a limit. */
{
  readonly kind: "runtime";
} |
/** The reply was cut short by a cancel or a failure; this much was said. */
{
  readonly kind: "partial";
} |
/** Said in an older frame, and carried over into this one. */
{
  readonly kind: "carried";
  readonly from: string;
};
interface Draft {
  readonly role: Role;
  readonly parts: readonly Part[];
  readonly origin?: Origin;
}
interface Message extends Draft {
  readonly id: NodeId;
}
/** Tokens in disjoint buckets: their sum is what the provider billed. */
interface Usage {
  /** Not read from a cache and not written to one. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Not spent on reasoning. */
  readonly output: number;
  readonly reasoning: number;
  /** Calls that may have been billed although no usage was ever reported: cut, killed or retried. */
  readonly unknownCalls: number;
}
/** What calls of one source cost on one model. */
interface Spent {
  /** `turn`, or the label of direct completions. */
  readonly source: string;
  readonly model: string;
  readonly usage: Usage;
  readonly calls: number;
}
/** What a million tokens cost; without its own price a bucket costs what its kind does: input, or output. */
interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}
/** By `provider/model`, or the name that a session keeps. */
type PriceTable = {
  readonly [model: string]: Price;
};
/** A tool as a model is told of it. */
interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** To be described in the prompt too, with these examples. */
  readonly isDocumented?: true;
  readonly examples?: readonly JsonObject[];
}
interface ModelSettings {
  readonly temperature?: number;
  readonly maxOutputTokens?: number;
  readonly topP?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly reasoning?: "none" | "low" | "medium" | "high";
  /** Whether a provider that takes cache breakpoints is given them; `auto` unless set. */
  readonly cache?: "auto" | "off";
  /** Options only one provider knows, by its name. */
  readonly providerOptions?: {
    readonly [provider: string]: JsonObject;
  };
}
interface ModelRequest {
  readonly system: string;
  /** Must not be changed, and does not change, while the call runs; copy it to keep it. */
  readonly messages: readonly Message[];
  /**
   * How many of the messages will stand there again, word for word, in the next call: a provider may cache system,
   * tools and these. What changes every round comes after them. All of them unless given.
   */
  readonly stable?: number;
  /** Another model than the session's, for this call. */
  readonly model?: string;
  readonly tools: readonly ToolDeclaration[];
  readonly toolChoice?: "auto" | "none" | "required" | {
    readonly name: string;
  };
  readonly settings?: ModelSettings;
}
type FinishReason = "stop" | "calls" | "length" | "refused" | "other";
/** A stream is any number of these with one `finish` at the end. Deltas of one `id` belong together. */
type ModelPart = {
  readonly kind: "text";
  readonly delta: string;
  readonly id?: string;
} | {
  readonly kind: "reasoning";
  readonly delta: string;
  readonly id?: string;
} |
/** What only this route understands about the text or reasoning with this `id`. */
{
  readonly kind: "made";
  readonly of: "text" | "reasoning";
  readonly id?: string;
  readonly data: Json;
} | {
  readonly kind: "call";
  readonly callId: string;
  readonly name: string;
  readonly input: string | Json;
  readonly data?: Json;
} | {
  readonly kind: "finish";
  readonly reason: FinishReason;
  readonly usage?: Usage;
};
/** A whole reply: what the stream came to. */
interface Reply {
  readonly parts: readonly Part[];
  readonly finish: FinishReason | "aborted";
  readonly usage: Usage;
  readonly route: string;
}
type ProviderFailureClass = "auth" | "rate-limit" | "overloaded" | "network" | "timeout" | "stream" | "context-overflow" | "input" | "unsupported" | "cancelled" | "unknown";
/** What a provider throws. Anything else that it throws counts as `unknown`. */
declare class ProviderFailure extends Error {
  readonly class: ProviderFailureClass;
  readonly retryAfterMs?: number;
  /** Whether the same request may succeed later; by default the class decides. */
  readonly isRetryable: boolean;
  constructor(failure: {
    class: ProviderFailureClass;
    message: string;
    retryAfterMs?: number;
    isRetryable?: boolean;
  }, options?: ErrorOptions);
}
/** One try at a model call, for the record. */
interface Attempt {
  readonly startedAt: number;
  readonly ms: number;
  readonly error?: {
    readonly class: ProviderFailureClass;
    readonly message: string;
  };
  /** How long was waited before the next one. */
  readonly waitedMs?: number;
}
/** In template order. */
declare const SLOTS: readonly ["intro", "execution", "guidance", "project", "context", "environment"];
type Slot = (typeof SLOTS)[number];
interface PromptPart {
  readonly slot: Slot;
  readonly text: string;
  /** Lower first; 0 unless given. */
  readonly priority?: number;
  readonly title?: string;
  /** Takes the place of what came before in this slot, which an empty text clears. */
  readonly replaces?: true;
  /** Asked for anew before every model call, and said at the end: it never sits in what a provider caches. */
  readonly isVolatile?: true;
  /** Kept only while one of these tools is callable. */
  readonly tools?: readonly string[];
}
/** What a session keeps about how it is run. A name stands for the model, never an object. */
interface SessionConfig {
  /** `provider/model`, or the name a resolver knows. */
  readonly model: string;
  readonly instructions?: string;
  /** Parts of the prompt besides the instructions. */
  readonly prompt?: readonly PromptPart[];
  readonly settings?: ModelSettings;
  readonly budget?: Budget;
  /** Inputs that wait for turns of their own are taken into one turn, up to 65 of them. */
  readonly mergesInputs?: boolean;
  /** For people: what this session, or this branch, is. A fork begins without. */
  readonly label?: string;
}
/** What may be spent; checked before each model call. */
interface Allowance {
  /** Of all kinds, in and out. */
  readonly tokens?: number;
  /** In the currency of the price table. */
  readonly cost?: number;
}
interface Budget {
  /** Of one turn, with what its tools and hooks spend on completions. */
  readonly turn?: Allowance;
  /** Of a session and all that descend from it; children are held to it too. */
  readonly tree?: Allowance;
  /** The last round of `roundsMax` is for an answer: the model is told so, and has no tools in it. */
  readonly keepsAnswer?: boolean;
}
/** What a node of the session graph holds. */
type NodeBody = {
  readonly kind: "message";
  readonly message: Message;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly type: string;
  readonly body: Json;
} |
/** A fresh context window begins here; what came before stays readable. */
{
  readonly kind: "frame";
  readonly reason: string;
  readonly task?: string;
};
/** A node that a turn adds: its id follows from its place in the commit, its parent from the one before it. */
type Entry = {
  readonly at: number;
} & NodeBody;
/**
 * Every error a caller can meet: a code to match, details to log, a hint to act on, and whether trying again can help.
 * Expected endings of a turn are values (`TurnOutcome`) that carry the same codes; these are thrown.
 */
type Retry = "never" | "unchanged" | "reload" | "reopen";
interface Said {
  readonly message: string;
  readonly hint: string;
  readonly retry?: Retry;
}
declare const ERRORS: {
  readonly "options.invalid": (d: {
    option: string;
    problem: string;
  }) => Said;
  readonly "runtime.closed": (_: object) => Said;
  readonly "session.id": (d: {
    id: string;
    problem: string;
  }) => Said;
  readonly "session.unknown": (d: {
    id: string;
  }) => Said;
  readonly "session.deleted": (d: {
    id: string;
  }) => Said;
  readonly "session.exists": (d: {
    id: string;
  }) => Said;
  readonly "session.closed": (d: {
    id: string;
  }) => Said;
  readonly "session.busy": (d: {
    id: string;
    holder: string;
  }) => Said;
  readonly "input.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "input.conflict": (d: {
    key: string;
  }) => Said;
  readonly "input.withdrawn": (d: {
    turnId: string;
  }) => Said;
  readonly "input.full": (d: {
    max: number;
  }) => Said;
  readonly "turn.unknown": (d: {
    turnId: string;
  }) => Said;
  readonly "plugin.duplicate": (d: {
    plugin: string;
  }) => Said;
  readonly "plugin.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.options": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.open": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.close": (d: {
    plugin: string;
    ms: number;
  }) => Said;
  readonly "plugin.setup": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "plugin.migrate": (d: {
    plugin: string;
    from: string;
    to: string;
    problem: string;
  }) => Said;
  readonly "hook.unknown": (d: {
    plugin: string;
    hook: string;
    known: readonly string[];
  }) => Said;
  readonly "hook.directive": (d: {
    plugin: string;
    hook: string;
    directive: string;
    allowed: readonly string[];
  }) => Said;
  readonly "hook.answer": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  readonly "hook.exclusive": (d: {
    hook: string;
    plugins: readonly string[];
  }) => Said;
  readonly "hook.missing": (d: {
    hook: string;
  }) => Said;
  readonly "hook.deadline": (d: {
    plugin: string;
    hook: string;
    ms: number;
  }) => Said;
  readonly "hook.failed": (d: {
    plugin: string;
    hook: string;
    problem: string;
  }) => Said;
  readonly "state.invalid": (d: {
    plugin: string;
    problem: string;
  }) => Said;
  readonly "state.parallel": (d: {
    plugin: string;
    where: string;
  }) => Said;
  readonly "state.too-large": (d: {
    plugin: string;
    bytes: number;
    max: number;
  }) => Said;
  readonly "service.unavailable": (d: {
    service: string;
    plugin: string;
  }) => Said;
  readonly "operation.unknown": (d: {
    name: string;
    known: readonly string[];
  }) => Said;
  readonly "operation.missing-session": (d: {
    name: string;
  }) => Said;
  readonly "operation.unexpected-session": (d: {
    name: string;
  }) => Said;
  readonly "operation.input": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "operation.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "operation.reentrant": (d: {
    name: string;
  }) => Said;
  readonly "tool.name": (d: {
    name: string;
  }) => Said;
  readonly "tool.invalid": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.duplicate": (d: {
    name: string;
    sources: readonly string[];
  }) => Said;
  readonly "tool.unknown": (d: {
    name: string;
    known: readonly string[];
  }) => Said;
  readonly "tool.unavailable": (d: {
    name: string;
    availability: string;
  }) => Said;
  readonly "tool.source": (d: {
    source: string;
    problem: string;
  }) => Said;
  readonly "tool.generation": (d: {
    expected: number;
    actual: number;
  }) => Said;
  readonly "tool.arguments": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.failed": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.timeout": (d: {
    name: string;
    ms: number;
  }) => Said;
  readonly "tool.cancelled": (d: {
    name: string;
  }) => Said;
  readonly "tool.denied": (d: {
    name: string;
    reason: string;
  }) => Said;
  readonly "tool.interrupted": (d: {
    name: string;
  }) => Said;
  readonly "tool.result": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "tool.too-many": (d: {
    max: number;
  }) => Said;
  readonly "schema.invalid": (d: {
    of: string;
    problem: string;
  }) => Said;
  readonly "schema.undescribed": (d: {
    of: string;
  }) => Said;
  readonly "provider.mismatch": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "provider.unconfigured": (d: {
    name: string;
  }) => Said;
  readonly "provider.unavailable": (d: {
    name: string;
    problem: string;
  }) => Said;
  readonly "provider.failed": (d: {
    route: string;
    class: string;
    problem: string;
  }) => Said;
  readonly "provider.empty": (d: {
    route: string;
  }) => Said;
  readonly "store.stale": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "store.conflict": (d: {
    turnId: string;
  }) => Said;
  readonly "store.corrupt": (d: {
    item: string;
    problem: string;
  }) => Said;
  readonly "store.path": (d: {
    path: string;
    problem: string;
  }) => Said;
  readonly "store.foreign": (d: {
    path: string;
  }) => Said;
  readonly "store.newer": (d: {
    path: string;
    found: number;
    known: number;
  }) => Said;
  readonly "store.locked": (d: {
    path: string;
    ms: number;
  }) => Said;
  readonly "store.full": (d: {
    path: string;
  }) => Said;
  readonly "store.readonly": (d: {
    path: string;
  }) => Said;
  readonly "store.failed": (d: {
    path: string;
    problem: string;
  }) => Said;
  readonly "lease.lost": (d: {
    sessionId: string;
    generation: number;
  }) => Said;
  readonly "append.conflict": (d: {
    operation: string;
  }) => Said;
  readonly "fork.unknown": (d: {
    node: string;
  }) => Said;
  readonly "fork.unpaired": (d: {
    node: string;
    legal: readonly string[];
  }) => Said;
  readonly "cursor.foreign": (d: {
    session: string;
  }) => Said;
  readonly "cursor.unknown": (d: {
    cursor: string;
  }) => Said;
  readonly "wait.unknown": (_: object) => Said;
  readonly "limit.rounds": (d: {
    max: number;
  }) => Said;
  readonly "limit.no-progress": (d: {
    max: number;
  }) => Said;
  readonly "limit.frames": (d: {
    max: number;
  }) => Said;
  readonly "limit.context": (_: object) => Said;
  readonly "limit.tokens": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  readonly "limit.money": (d: {
    of: string;
    spent: number;
    max: number;
  }) => Said;
  readonly "price.unknown": (d: {
    model: string;
  }) => Said;
  readonly "compact.useless": (d: {
    plugin: string;
    before: number;
    after: number;
  }) => Said;
  readonly "limit.bytes": (d: {
    what: string;
    bytes: number;
    max: number;
  }) => Said;
  readonly "reply.truncated": (_: object) => Said;
  readonly "reply.aborted": (_: object) => Said;
  readonly "reply.refused": (_: object) => Said;
  readonly "output.invalid": (d: {
    problem: string;
  }) => Said;
  readonly "turn.cancelled": (d: {
    reason: string;
  }) => Said;
  readonly "turn.diverged": (d: {
    effect: string;
    kind: string;
  }) => Said;
  readonly "turn.crash-loop": (d: {
    max: number;
  }) => Said;
  readonly "turn.expired": (d: {
    days: number;
  }) => Said;
  readonly "turn.host": (d: {
    expected: string;
    actual: string;
  }) => Said;
  readonly "protocol.failed": (d: {
    protocol: string;
    problem: string;
  }) => Said;
  readonly "code.unavailable": (_: object) => Said;
  readonly "code.stopped": (d: {
    problem: string;
  }) => Said;
};
type Code = keyof typeof ERRORS;
type Details<C extends Code> = Parameters<(typeof ERRORS)[C]>[0];
declare class RuntimeError<C extends Code = Code> extends Error {
  readonly code: C;
  readonly details: Details<C>;
  readonly hint: string;
  readonly retry: Retry;
  constructor(code: C, details: Details<C>, options?: ErrorOptions);
}
/** Narrows the details too: `if (hasCode(error, "tool.unknown")) error.details.known`. */
declare const hasCode: <C extends Code>(error: unknown, code: C) => error is RuntimeError<C>;
/** How a turn ended. Closed: every ending is one of these, and each of them is committed. */
type TurnOutcome<Value = Json> = {
  readonly kind: "answered";
  readonly message: Message;
  readonly text: string;
} | {
  readonly kind: "finished";
  readonly by: "model" | "tool";
  readonly value: Value;
} | Stopped | Failed;
interface Stopped {
  readonly kind: "stopped";
  readonly by: "cancel" | "limit" | "plugin" | "incomplete" | "input";
  readonly code: Code | (string & {});
  readonly reason: string;
  /** What was said so far, kept. */
  readonly text: string;
}
interface Failed {
  readonly kind: "failed";
  readonly by: "provider" | "tool" | "plugin" | "runtime";
  readonly code: Code | (string & {});
  readonly reason: string;
  readonly text: string;
}
/** An ending before the machine has added what was said. */
type Ending = Omit<Stopped, "text"> | Omit<Failed, "text">;
interface CancelRequest {
  readonly requestId: string;
  readonly reason: string;
  readonly at: number;
}
type CancelAnswer = {
  readonly kind: "requested";
  readonly request: CancelRequest;
} | {
  readonly kind: "already-requested";
  readonly request: CancelRequest;
} | {
  readonly kind: "already-completed";
  readonly outcome: TurnOutcome;
} | {
  readonly kind: "unknown";
};
/**
 * Everything that could grow without bound has a default here; `Infinity` is a choice the user writes down.
 * Milliseconds end in `Ms`, counts and bytes in `Max`. They are recorded when a turn opens: a turn that is resumed
 * keeps the limits it began with.
 */
interface Limits {
  /** Model calls in a turn. */
  readonly roundsMax: number;
  /** Rounds in a row in which nothing the model asked for succeeded. */
  readonly noProgressMax: number;
  /** New frames in a turn. */
  readonly framesMax: number;
  /** Tool calls in one reply; the others are refused and the model is told. */
  readonly callsPerRoundMax: number;
  /** Tool calls that run at the same time. */
  readonly parallelCallsMax: number;
  /** How long running calls may still finish after a cancel. */
  readonly cancelGraceMs: number;
  /** Times a turn may be resumed after a crash. */
  readonly resumesMax: number;
  /** A turn that was left longer ago is not gone on with. */
  readonly turnAgeMs: number;
  /** One tool attempt, unless the tool has its own `timeoutMs`. */
  readonly toolMs: number;
  /** A model that sends nothing for this long has failed. */
  readonly modelIdleMs: number;
  /** Attempts at one model call. */
  readonly modelAttemptsMax: number;
  /** All the waiting for a rate limit in one model call. */
  readonly throttleMs: number;
  /** One user input. */
  readonly inputBytesMax: number;
  /** One tool result. */
  readonly resultBytesMax: number;
  /** One model reply. */
  readonly replyBytesMax: number;
  /** The state of one plugin. */
  readonly stateBytesMax: number;
  /** Inputs of one session that wait for their turn. */
  readonly pendingInputsMax: number;
  /** Events kept for one reader that does not keep up. */
  readonly unreadEventsMax: number;
}
declare const DEFAULT_LIMITS: Limits;
/** A call as it is carried out: what the model asked for, at its position in the turn. */
interface ToolCall {
  readonly id: CallId;
  /** The batch that it is a part of. */
  readonly parentId?: CallId;
  readonly name: string;
  readonly input: Json;
  /** What the model wrote, when it was not JSON. */
  readonly malformed?: string;
}
type FailureClass = "arguments" | "unavailable" | "denied" | "timeout" | "failed" | "limit" | "internal";
interface ToolFailure {
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  /** The tool said that trying again is safe. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number;
}
/** What became of a call. */
type ToolOutput = {
  readonly kind: "value";
  readonly value: Json;
  readonly attachments?: readonly Attachment[];
  readonly control?: Control;
} | {
  readonly kind: "failure";
  readonly failure: ToolFailure;
  readonly control?: Control;
} | {
  readonly kind: "cancelled";
  readonly reason: string;
} |
/** It may have taken effect: it was interrupted, or did not return within the grace. */
{
  readonly kind: "unknown";
  readonly reason: string;
};
/** What a tool may decide about the turn. The first in call order counts. */
type Control = {
  readonly kind: "finish";
  readonly by: "model" | "tool";
  readonly value: Json;
} | {
  readonly kind: "fail";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "switchFrame";
  readonly task: string;
  readonly seed?: Json;
};
type ResultPart = TextPart | Attachment;
interface ToolResult {
  readonly call: ToolCall;
  readonly output: ToolOutput;
  /** What the model is shown. */
  readonly parts: readonly ResultPart[];
}
type RetryPolicy = "never" | "safe" | "idempotent";
/** What the turn machine must know of a tool to schedule its calls. Only what differs from these is journaled. */
interface CallPolicy {
  readonly isSerial?: true;
  readonly writes?: true;
  readonly onInterrupt?: "fail" | "ask";
  readonly retry?: {
    readonly policy: RetryPolicy;
    readonly attempts: number;
    readonly baseMs: number;
    readonly maxMs: number;
  };
}
/**
 * How far a tool is open to the model, each step more than the one before: not there; found by a search, which may make
 * it callable; declared; declared and described in the prompt.
 */
type Availability = "off" | "searchable" | "callable" | "documented";
/** What is known of a tool without its schemas. */
interface ToolManifest {
  readonly name: string;
  readonly description: string;
  /** `callable` unless given. */
  readonly availability?: Availability;
  /** `runtime`: never shown to the model nor called by it, except under a grant. */
  readonly audience?: "model" | "runtime";
  /** For whoever runs it, as `context.bindings`. */
  readonly bindings?: JsonObject;
  /** Arguments as one would write them. */
  readonly examples?: readonly JsonObject[];
}
interface StateView<S> {
  get(): S;
  /** Bigger things that the plugin keeps, by name. */
  readonly blobs: BlobsView;
}
interface BlobsView {
  names(): readonly string[];
  get(name: string): Promise<Uint8Array | undefined>;
}
interface StateCell<S> extends StateView<S> {
  /** Runs once; its value is journaled with the event of the effect it ran in. */
  update(change: (state: S) => S): void;
  readonly blobs: BlobsView & {
    put(name: string, data: Uint8Array): Promise<void>;
    remove(name: string): void;
  };
}
/** Returned or thrown by tools; made by `finish`, `fail`, `switchFrame`, `retryable` and `attach`. */
declare class ControlResult {
  readonly control: Control;
  constructor(control: Control);
}
/** Ends the turn with this value. */
declare const finish: (value: Json) => ControlResult;
/** Ends the turn as failed. */
declare const fail: (code: string, message: string) => ControlResult;
/** Goes on with this task in a fresh context window. */
declare const switchFrame: (task: string, seed?: Json) => ControlResult;
/** Thrown by a tool whose failure may pass: retried when its policy is `safe` or `idempotent`. */
declare class RetryableError extends Error {
  readonly retryAfterMs?: number;
  constructor(message: string, options?: {
    readonly afterMs?: number;
    readonly cause?: unknown;
  });
}
declare const retryable: (error: unknown, options?: {
  readonly afterMs?: number;
}) => RetryableError;
/** Thrown by a tool to say what kind of failure it is: a program reads the code, the model the message. */
declare class ToolError extends Error {
  readonly code: string;
  readonly class: FailureClass;
  constructor(code: string, message: string, options?: {
    readonly class?: FailureClass;
    readonly cause?: unknown;
  });
}
/** Bytes for a tool's result or an input; kept once, by their hash. */
declare class Attachable {
  readonly data: Uint8Array;
  readonly mediaType: string;
  readonly name?: string;
  constructor(data: Uint8Array, about: {
    readonly mediaType: string;
    readonly name?: string;
  });
}
declare const attach: (data: Uint8Array, about: {
  readonly mediaType: string;
  readonly name?: string;
}) => Attachable;
/** A call at its position among the calls of a round or cell: "0", or "0.3" inside a batch. */
interface PlacedCall {
  readonly at: string;
  readonly call: ToolCall;
}
/** One piece of code that a model wrote. */
interface Cell {
  readonly language: string;
  readonly code: string;
  readonly acceptFinish: boolean;
}
/** Where inputs come in. At the opening they are those that waited for turns of their own. */
type BoundaryKind = "opening" | "after-work" | "before-completion";
/**
 * What a turn wants done. An effect is named by its position, so a resumed turn asks for the same names.
 * Serial effects run hooks, and `step` never has two open that may write plugin state. `call` and `exec` are outward:
 * a host starts them only when the events that released them are durable.
 */
type Effect = {
  readonly name: EffectName;
} & ({
  readonly kind: "prepare";
  readonly round: number;
} | {
  readonly kind: "ask";
  readonly round: number;
} | {
  readonly kind: "respond";
  readonly round: number;
  readonly reply: Reply;
} | {
  readonly kind: "gate";
  readonly calls: readonly PlacedCall[];
} | {
  readonly kind: "settle";
  readonly results: readonly (PlacedCall & {
    readonly output: ToolOutput;
  })[];
} | {
  readonly kind: "boundary";
  readonly at: BoundaryKind;
} | {
  readonly kind: "compact";
} | {
  readonly kind: "finalize";
  readonly outcome: TurnOutcome;
} | {
  readonly kind: "call";
  readonly at: string;
  readonly call: ToolCall;
  readonly attempt: number;
  /** The position without the attempt: what the idempotency key is made of. */
  readonly position: EffectName;
  readonly onInterrupt?: "fail" | "ask";
  readonly writes?: true;
} | {
  readonly kind: "exec";
  readonly cell: Cell;
} | {
  readonly kind: "wait";
  readonly key: WaitKey;
  readonly until: number;
} | {
  readonly kind: "sleep";
  readonly until: number;
});
/** What a plugin keeps: its state, and bigger things as blobs by name. */
interface PluginState {
  readonly state: Json;
  readonly blobs?: {
    readonly [name: string]: BlobHash;
  };
}
/** By plugin id, the whole of what those keep that changed something. */
type Changes = {
  readonly [plugin: string]: PluginState;
};
/** Everything a fold needs to know of the world in which the turn began; it never reads today's configuration. */
interface Opened {
  readonly kind: "opened";
  readonly at: number;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly inputId: InputId;
  /** The input itself; a store may keep it once, with the input's row, and put it back here when it reads. */
  readonly input: Draft;
  readonly step: number;
  readonly protocol: {
    readonly id: string;
    readonly version: number;
  };
  readonly host: string;
  readonly plugins: readonly {
    readonly id: string;
    readonly version: string;
  }[];
  readonly limits: Limits;
  readonly config: SessionConfig;
  /** Parts of the prompt for this turn alone. */
  readonly prompt?: readonly PromptPart[];
  /** The JSON Schema of a typed result, when the caller asked for one. */
  readonly output?: JsonObject;
  /** The result is the field `value` of what is handed in. */
  readonly unwraps?: true;
  /** What else waits for a turn of its own is taken into this one before it begins. */
  readonly merges?: true;
  readonly generation: number;
}
/** Stages at which nobody has anything to do in this turn: the machine passes them by, and nothing is journaled there. */
interface Skips {
  /** Rounds after the first need no preparing. */
  readonly prepare?: true;
  readonly gate?: true;
  readonly settle?: true;
  readonly finalize?: true;
}
/** Of tools that are not plain, by name; without a gate to tell them call by call. */
type Policies = {
  readonly [tool: string]: CallPolicy;
};
/** A plugin ended the turn. */
interface Abort {
  readonly plugin: string;
  readonly code: string;
  readonly message: string;
}
/** What the gate said of one call. */
type Verdict = {
  readonly kind: "pass";
  readonly input?: Json;
  readonly policy?: CallPolicy;
} |
/** Denied, short-circuited, unknown or invalid: it will not run. */
{
  readonly kind: "settled";
  readonly output: ToolOutput;
} | {
  readonly kind: "wait";
  readonly key: WaitKey;
  readonly until: number;
  /** Why somebody is asked. */
  readonly reason?: string;
  readonly input?: Json;
  readonly policy?: CallPolicy;
};
/** What the after-hooks made of one result; nothing where they left it alone and its plain projection stands. */
type Settlement = {
  readonly output?: ToolOutput;
  readonly parts?: readonly ResultPart[];
} | null;
type WaitAnswer = {
  readonly kind: "value";
  readonly value: Json;
} | {
  readonly kind: "timeout";
} | {
  readonly kind: "revoked";
};
interface Failure {
  readonly class: ProviderFailureClass | "plugin" | "runtime" | "limit";
  readonly code: string;
  readonly message: string;
  readonly plugin?: string;
}
interface CellOutput {
  readonly state: "done" | "threw" | "stalled" | "stopped";
  readonly parts: readonly ResultPart[];
  readonly finish?: Json;
}
/** An answer closes the effect it names. */
type Answered = {
  readonly at: number;
  readonly effect: EffectName;
  readonly changes?: Changes;
  /** What nested model calls cost while it ran. */
  readonly spent?: readonly Spent[];
  /** Which noted ones that counts. */
  readonly booked?: readonly string[];
};
type Answer = Answered & ({
  readonly kind: "prepared";
  /** Left out when nothing changed since the round before. */
  readonly prompt?: BlobHash;
  readonly catalog?: BlobHash;
  /** What is said after the conversation in this round. */
  readonly tail?: string;
  /** The messages that plugins show instead of the plain conversation, as JSON. */
  readonly shown?: BlobHash;
  /** What the prompt was made of, as JSON; left out when plugins had no part in it. */
  readonly parts?: BlobHash;
  /** Plugins gave tools for this turn. */
  readonly hasTools?: true;
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  /** A plugin wants the conversation compacted before the model is asked. */
  readonly compact?: true;
  readonly frame?: {
    readonly task: string;
    readonly seed?: Json;
  };
  /** Response hooks and compactors are installed: without them the turn does not stop for them. */
  readonly responds?: true;
  readonly compacts?: true;
  readonly skips?: Skips;
  readonly policies?: Policies;
} | {
  readonly kind: "replied";
  readonly reply: Reply;
  readonly attempts?: readonly Attempt[];
  /** Asked instead of the session's. */
  readonly model?: string;
} | {
  readonly kind: "responded";
  readonly parts?: readonly Part[];
} | {
  readonly kind: "gated";
  readonly verdicts: readonly Verdict[];
  readonly abort?: Abort;
} | {
  readonly kind: "returned";
  readonly output: ToolOutput;
} | {
  readonly kind: "deferred";
  readonly key: WaitKey;
  readonly until: number;
} | {
  readonly kind: "settled";
  readonly results: readonly Settlement[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
} | {
  readonly kind: "executed";
  readonly output: CellOutput;
} | {
  readonly kind: "bounded";
  readonly inputs?: readonly {
    readonly inputId: InputId;
    readonly message: Draft;
  }[];
  readonly messages?: readonly Draft[];
  readonly abort?: Abort;
  readonly compact?: true;
} | {
  readonly kind: "compacted";
  readonly seed?: readonly Draft[];
} | {
  readonly kind: "resolved";
  readonly answer: WaitAnswer;
} | {
  readonly kind: "slept";
} | {
  readonly kind: "interrupted";
  readonly key?: WaitKey;
  readonly until?: number;
} | {
  readonly kind: "finalized";
  readonly messages?: readonly Draft[];
} | {
  readonly kind: "failed";
  readonly error: Failure;
  readonly attempts?: readonly Attempt[];
  readonly usage?: Usage;
  readonly model?: string;
  /** What a model had said when the call broke off. */
  readonly partial?: readonly Part[];
});
type TurnEvent = Opened | Answer | {
  readonly kind: "resumed";
  readonly at: number;
  readonly step: number;
  readonly generation: number;
} |
/** Calls made by a running code cell; it stays open. */
{
  readonly kind: "called";
  readonly at: number;
  readonly effect: EffectName;
  readonly calls: readonly PlacedCall[];
} |
/** A queued operation ran on a parked turn. */
{
  readonly kind: "applied";
  readonly at: number;
  readonly inputId: InputId;
  readonly changes: Changes;
} | {
  readonly kind: "cancelled";
  readonly at: number;
  readonly requestId: string;
  readonly reason: string;
};
/** A plugin's state as last committed. `revision` counts its changes. */
interface PluginSnapshot extends PluginState {
  readonly version: string;
  readonly revision: number;
}
type PluginSnapshots = {
  readonly [plugin: string]: PluginSnapshot;
};
interface NewSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What this session has of its own; the rest is the runtime's. */
  readonly config: Partial<SessionConfig>;
  readonly at: number;
  /** An existing session of this id is `session.exists`, not the answer. */
  readonly isNew?: true;
  /** States it begins with; over those that a fork copies. */
  readonly plugins?: PluginSnapshots;
}
interface StoredSession {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly createdAt: number;
  readonly config: Partial<SessionConfig>;
  /** Counts commits: the head moves with it and with nothing else. */
  readonly revision: number;
  readonly head?: NodeId;
  readonly plugins: PluginSnapshots;
  readonly usage: Usage;
  /** Where the usage comes from: one row per source and model. */
  readonly ledger: readonly Spent[];
  readonly turns: number;
  /** The turn that is open, whoever holds it. */
  readonly openTurn?: TurnId;
}
/** One commit's nodes. A segment's parent is a node of another one; a head may point inside it. */
interface Segment {
  readonly commit: string;
  readonly parent?: NodeId;
  readonly entries: readonly Entry[];
}
interface ViewPage {
  readonly from?: NodeId;
  readonly max?: number;
  /** Ends with the segment in which the frame of `from` begins. */
  readonly toFrame?: true;
}
interface NewInput {
  readonly id: InputId;
  readonly sessionId: SessionId;
  /** The turn this input opens, unless a running turn takes it at a boundary. */
  readonly turnId: TurnId;
  readonly key?: string;
  readonly message: Draft;
  /** `boundary`: a running turn may take it; else it is the next turn. */
  readonly place: "boundary" | "turn";
  /** What the caller wants of the turn that it opens, besides an answer. */
  readonly wants?: TurnWants;
  /** Of what the caller sent: the same key with another hash is a conflict. */
  readonly hash: string;
  readonly at: number;
}
interface TurnWants {
  readonly prompt?: readonly PromptPart[];
  /** JSON Schema of a typed result. */
  readonly output?: JsonObject;
  readonly unwraps?: true;
}
interface PendingInput extends NewInput {
  /** In the order of acceptance, per session. */
  readonly seq: number;
}
interface Owner {
  readonly id: string;
  /** host, boot, pid and start time, so that on one machine a dead holder is proven dead. */
  readonly process: string;
}
interface Lease {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** Every takeover adds 1; writes of an older generation change nothing. */
  readonly generation: number;
  readonly owner: Owner;
  readonly until: number;
  /** Of the session when the lease was taken, read in the same write: the turn runs on that head. */
  readonly revision: number;
}
/** Makes the first event of a turn for an input and the session's own config as it is now; the store adds the generation. Pure: it may run inside a transaction. */
type Opening = (input: NewInput, config: Partial<SessionConfig>) => Omit<Opened, "generation">;
/** An input is durable before anyone is told of this. */
type Receipt$1 = {
  readonly kind: "opened";
  readonly inputId: InputId;
  readonly turnId: TurnId;
  readonly lease: Lease;
  readonly opened: Opened;
} | {
  readonly kind: "queued";
  readonly inputId: InputId;
  readonly turnId: TurnId;
} |
/** The same key and content came before; this is what became of it. */
{
  readonly kind: "known";
  readonly inputId: InputId;
  readonly turnId: TurnId;
};
type OpenAnswer =
/** A turn was open and nobody holds it any more: fold the journal and go on. */
{
  readonly kind: "resumed";
  readonly lease: Lease;
  readonly journal: readonly TurnEvent[];
} |
/** The oldest waiting input became a turn. */
{
  readonly kind: "opened";
  readonly lease: Lease;
  readonly opened: Opened;
} | {
  readonly kind: "busy";
  readonly holder: Owner;
  readonly until: number;
} | {
  readonly kind: "idle";
};
/** What came for a turn since it last looked. */
interface Mail {
  readonly until: number;
  readonly cancel?: CancelRequest;
  /** All of the turn's answered waits, in every mail: who has folded one drops it. */
  readonly resolved?: readonly {
    readonly key: WaitKey;
    readonly answer: WaitAnswer;
  }[];
}
interface NewWait {
  readonly key: WaitKey;
  readonly until: number;
}
interface EndedTurn {
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly entries: readonly Entry[];
  readonly plugins: PluginSnapshots;
  /** All of it, nested calls included. */
  readonly usage: Usage;
  readonly spent: readonly Spent[];
  /** The claims to settle: exactly these. What else was claimed goes back to the queue. */
  readonly inputs: readonly InputId[];
  /** The head the turn ran on. */
  readonly base?: NodeId;
  /** The cancel that the turn has folded; another one that is waiting reopens it. */
  readonly cancel?: string;
}
type CommitAnswer = Committed |
/** A cancel came that the turn has not folded. Fold it and commit again. */
{
  readonly kind: "reopen";
  readonly cancel: CancelRequest;
};
interface Committed {
  readonly kind: "committed";
  readonly revision: number;
  readonly head?: NodeId;
  readonly cursor: Cursor;
  /** Set when the head had moved: the turn was kept beside it, and nothing moved. */
  readonly branch?: NodeId;
}
interface Terminal {
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly at: number;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly committed: Committed;
}
/** A change of a session between turns: appended nodes, a command's state, a new config. */
interface SessionChange {
  readonly sessionId: SessionId;
  /** The same operation with the same content again is answered as the first time; other content is `append.conflict`. */
  readonly operation: string;
  readonly at: number;
  /** What made it, for those who observe; `command` unless told. */
  readonly by?: ChangedBy;
  /** The revision it was worked out on; left out when it holds on any. */
  readonly base?: number;
  /** Must be on the active path. */
  readonly requires?: NodeId;
  readonly entries?: readonly Entry[];
  /** Of those that changed. */
  readonly plugins?: PluginSnapshots;
  readonly config?: Partial<SessionConfig>;
  readonly spent?: readonly Spent[];
}
type ChangeAnswer = Committed |
/** A turn is open: only its lease moves the head. */
{
  readonly kind: "busy";
} |
/** The session has moved since `base`, or left the required node. */
{
  readonly kind: "stale";
  readonly revision: number;
};
type ChangedBy = "append" | "configure" | "compact" | "command" | "completion";
/** One input, by its id or the caller's key; or this one and all that came after it. */
type InputRef = {
  readonly id: InputId;
} | {
  readonly key: string;
} | {
  readonly from: InputId;
};
/** What became of one input: only one that waits can be withdrawn, and its key is free again. */
interface Withdrawal {
  readonly inputId: InputId;
  readonly turnId: TurnId;
  readonly answer: "withdrawn" | "taken" | "ended";
}
interface FoundTurn {
  readonly sessionId: SessionId;
  /** `taken`: another turn that is open has claimed its input. Ended is also one whose input another turn settled. */
  readonly state: "waiting" | "open" | "taken" | "ended" | "withdrawn";
}
/** Something that is kept. */
type Change = {
  readonly cursor: Cursor;
  readonly sessionId: SessionId;
} & ({
  readonly kind: "accepted";
  readonly turnId: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | ({
  readonly kind: "committed";
  readonly nodes: readonly NodeId[];
  readonly frames?: readonly NodeId[];
} & ({
  readonly by: "turn";
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly branch?: NodeId;
} | {
  readonly by: ChangedBy;
  readonly operation: string;
})));
/** What one session of a tree has spent. */
interface Booked extends Spent {
  readonly sessionId: SessionId;
}
/**
 * Where turns are kept. All writes under a lease check its generation in the same step and throw `lease.lost` when it
 * moved; all are idempotent by the key named. A synchronous member may answer without a promise.
 */
interface Store {
  readonly kind: string;
  /** Whether a killed process loses nothing. */
  readonly isDurable: boolean;
  /** Idempotent by id: an existing session is answered as it is. Throws `session.deleted` for a used id. */
  create(session: NewSession): Awaitable<StoredSession>;
  /** The session as last committed; undefined if there is none, also when it was deleted. */
  load(id: SessionId): Awaitable<StoredSession | undefined>;
  /** By id, ascending: all, the children of one, or the forks of one. */
  list(page?: {
    readonly after?: SessionId;
    readonly max?: number;
    readonly parent?: SessionId;
    readonly origin?: SessionId;
  }): Awaitable<readonly StoredSession[]>;
  /**
   * A second head over shared history, at a node of the active path or at the head. It takes the plugin states of the
   * last commit at or before that node. Throws `fork.unknown`, `fork.unpaired`, `session.unknown`.
   */
  fork(from: SessionId, to: NewSession, at?: NodeId): Awaitable<StoredSession>;
  /** Final. Waits are revoked, pending inputs dropped, the id is never used again; shared history of forks stays. */
  delete(id: SessionId): Awaitable<void>;
  /**
   * Segments of the path that ends at `from` (default: the head), newest first; the first may be cut at `from`. `from`
   * may lie on a branch. Throws `session.unknown`, and `fork.unknown` when there is no such node.
   */
  view(session: SessionId, page?: ViewPage): Awaitable<readonly Segment[]>;
  /** Whether a node is on the path to the head. Throws `session.unknown`. */
  holds(session: SessionId, node: NodeId): Awaitable<boolean>;
  /** On an idle session with nothing waiting the turn is opened in the same write. Throws `session.unknown`, `input.conflict`, `input.full`. */
  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt$1>;
  /** Takes the session over if nobody holds it; a live lease of the same owner is `busy` too. Throws `session.unknown`. */
  open(session: SessionId, owner: Owner, now: number, opening: Opening): Awaitable<OpenAnswer>;
  renew(lease: Lease, now: number): Awaitable<Mail>;
  /** Lets another worker resume the turn at once. A stale release is harmless. */
  release(lease: Lease): Awaitable<void>;
  /**
   * Key: (turn, seq of the first event), where `opened` has 0; a gap, or other content at a seq, throws
   * `append.conflict`. Waits are rows written with the event that made them. It renews, and answers until when; mail is
   * for `renew` to bring.
   */
  append(lease: Lease, seq: number, events: readonly TurnEvent[], now: number, waits?: readonly NewWait[]): Awaitable<number>;
  /** In order, without the first `after`; none once the turn has ended. */
  journal(turn: TurnId, after: number): Awaitable<readonly TurnEvent[]>;
  /**
   * The whole turn or none of it: nodes, head, plugin states, settled inputs, usage, receipt, end of journal and lease.
   * The same content again (nodes, outcome, plugin states, usage, inputs) is answered by the first receipt, whatever the
   * generation; other content is `store.conflict`, or `lease.lost` when the turn was taken over meanwhile.
   */
  commit(lease: Lease, ended: EndedTurn): Awaitable<CommitAnswer>;
  /** Between turns only; atomic, like a commit. Entries are the nodes `(operation, index)`: operations are named uniquely over all sessions. */
  apply(change: SessionChange): Awaitable<ChangeAnswer>;
  /**
   * First request wins. A turn of another session than the one named is `unknown`. An input that waits is from then on
   * claimed by no other turn: its own opens, and is told.
   */
  cancel(turn: TurnId, request: CancelRequest, session?: SessionId): Awaitable<CancelAnswer>;
  /** What became of a turn; undefined when there is none, also when its session was deleted. */
  find(turn: TurnId): Awaitable<FoundTurn | undefined>;
  /** Of a turn whose input another one took and settled: that one's, as `cancel` answers its outcome. */
  terminal(turn: TurnId): Awaitable<Terminal | undefined>;
  readonly inputs: {
    /** Those that wait, oldest first. */
    list(session: SessionId): Awaitable<readonly PendingInput[]>;
    /** All or none of them, in one write, oldest first; none when there is no such input. */
    withdraw(session: SessionId, which: InputRef): Awaitable<readonly Withdrawal[]>;
    /**
     * Those a running turn may take at this boundary, oldest first. The same boundary is given the same inputs again.
     * With `takesTurns` also those that would open turns of their own, up to the first that wants something of its turn.
     * Those whose turn was cancelled are passed over.
     */
    claim(lease: Lease, boundary: EffectName, max: number, takesTurns?: true): Awaitable<readonly PendingInput[]>;
  };
  readonly waits: {
    /** First writer wins; an answer before anyone waits is kept. Unknown and revoked keys are told apart from nothing. */
    resolve(key: WaitKey, answer: WaitAnswer): Awaitable<"accepted" | "already-resolved" | "unknown">;
    peek(key: WaitKey): Awaitable<WaitAnswer | undefined>;
    due(now: number, max: number): Awaitable<readonly {
      readonly key: WaitKey;
      readonly turnId: TurnId;
    }[]>;
    revoke(turn: TurnId): Awaitable<void>;
  };
  /** First write wins; without a value it only reads. Nested paid work is noted here, so that a rerun is given it back until the turn ends. */
  note(turn: TurnId, effect: EffectName, key: string, value?: Json): Awaitable<Json | undefined>;
  /** `again` when this effect was begun before: it may have run. Also for a turn that is not open. */
  attempt(turn: TurnId, effect: EffectName): Awaitable<"first" | "again">;
  /** Sessions with work that nobody holds: a turn whose lease has lapsed, or inputs that wait. */
  runnable(now: number, max: number): Awaitable<readonly SessionId[]>;
  readonly blobs: {
    put(hash: BlobHash, data: Uint8Array): Awaitable<void>;
    get(hash: BlobHash): Awaitable<Uint8Array | undefined>;
  };
  /** Facts after a cursor, oldest first: of all sessions, of one, or of one and all that descend from it. */
  changes(after: Cursor | undefined, options: {
    readonly session?: SessionId;
    readonly tree?: SessionId;
    readonly max: number;
  }): Awaitable<readonly Change[]>;
  /** The cursor of the latest fact, if there is any. */
  latest(): Awaitable<Cursor | undefined>;
  /** Of a session and all that descend from it. */
  booked(tree: SessionId): Awaitable<readonly Booked[]>;
  close(): Awaitable<void>;
}
/** The light half of an AbortSignal: most effects never look, so the signal is made when somebody does. */
interface Scope {
  /** What it is for was begun by another run, and may have happened. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /** Why, when it is not that the turn is stopped: it is let go here, to be gone on with elsewhere. */
  readonly reason?: unknown;
  readonly signal: AbortSignal;
  /** Runs once, at once if it is aborted already. Gives back how to stop listening. */
  onAbort(run: () => void): () => void;
}
/** Time and chance, handed in so that tests can hold them still. Every id and time stamp comes from here. */
interface World {
  now(): number;
  /** Ends early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A time-ordered id with this prefix; unique. */
  id(prefix: string): string;
  /** 128 bits that nobody can guess, as text. */
  secret(): string;
}
/**
 * Does one effect and gives its answer. It never throws for what the effect met (that is a `failed` answer); a
 * synchronous answer joins the write of the event that released it.
 */
type Perform = (effect: Effect, scope: Scope) => Awaitable<Answer>;
interface TurnRef {
  readonly lease: Lease;
  /** What is recorded already: `opened`, and all that followed when the turn is resumed. */
  readonly journal: readonly TurnEvent[];
  /** Another run had it before. */
  readonly isResumed?: true;
}
/** What a host needs from the runtime; the runtime's own. */
interface HostContext {
  readonly store: Store;
  readonly world: World;
  /** A wait can be answered from now on: its row is there. Readers are told of its key no sooner. */
  waiting(key: WaitKey): void;
  /** Something a maintainer should see: a late answer dropped, a second answer, a lost lease. */
  trace(name: string, about: {
    readonly [key: string]: string | number;
  }): void;
}
/** Where effects run: inline (tests, memory), journal (the default), an engine. Laws: `hostLaws` in `bowline/testing`. */
interface EffectHost {
  /** Kept with the turn; another kind refuses it. */
  readonly kind: string;
  open(turn: TurnRef, perform: Perform, context: HostContext): Awaitable<TurnRun>;
}
interface TurnRun {
  /** Starts effects; outward ones are held until what released them is durable. Forgets dropped ones: signal aborted, a late answer dropped and traced. */
  start(effects: readonly Effect[], dropped: readonly EffectName[]): void;
  /** The next event, recorded ones first, in one order that every later run repeats. One at a time: it may close the effect that the following one answers. */
  next(): Awaitable<TurnEvent>;
  /** Ends the turn, or answers with events that must be folded first (a cancel that came before). */
  commit(turn: EndedTurn): Awaitable<Committed | {
    readonly reopen: readonly TurnEvent[];
  }>;
  /** The store may have mail for this turn: look now; answers when it has looked. A hint: a host looks by itself within a second. */
  poke(): Awaitable<void>;
  /** Lets go without ending the turn: signals abort, nothing more is written, another worker may resume it. */
  leave(): Awaitable<void>;
}
/** What a protocol may know when it decides: nothing that a replay could see differently. */
interface RoundView {
  readonly round: number;
  /** The protocol's own notes, as it last left them in this turn. */
  readonly memo: Json;
  /** What this turn has added so far. */
  readonly log: readonly Entry[];
  readonly limits: Limits;
  /** The JSON Schema of the typed result that the caller asked for. */
  readonly output?: JsonObject;
}
interface RequestView extends RoundView {
  readonly system: string;
  /** The active frame: history, then this turn. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDeclaration[];
  readonly settings?: ModelSettings;
}
/** What to do next. `add` is said to the model and kept; `memo` replaces the protocol's notes. */
type Decision = {
  readonly memo?: Json;
  readonly add?: readonly Draft[];
} & ({
  readonly kind: "calls";
  readonly calls: readonly PlacedCall[];
} | {
  readonly kind: "cell";
  readonly cell: Cell;
} |
/** The reply is the answer. */
{
  readonly kind: "answer";
} | {
  readonly kind: "finish";
  readonly value: Json;
  readonly by?: "model" | "tool";
} |
/** On to the next model call. */
{
  readonly kind: "ask";
} |
/** The same, because the reply was of no use: counts against `noProgressMax`. */
{
  readonly kind: "retry";
} | {
  readonly kind: "switchFrame";
  readonly task: string;
  readonly seed?: Json;
} | {
  readonly kind: "end";
  readonly ending: Ending;
});
interface PlacedResult extends ToolResult {
  readonly at: string;
}
/**
 * How a model acts, as the machine sees it. Pure and versioned: the same view gives the same answer in every run, and
 * a change that would answer an old journal differently takes a new version.
 */
interface ProtocolDriver {
  readonly id: string;
  readonly version: number;
  request(view: RequestView): ModelRequest;
  onReply(view: RoundView, reply: Reply): Decision;
  /** Its `add` must show every call of the reply a result, whatever it decides; `step` asks for it on a cancel too. */
  onResults(view: RoundView, reply: Reply, results: readonly PlacedResult[]): Decision;
  onExec(view: RoundView, reply: Reply, output: CellOutput, results: readonly PlacedResult[]): Decision;
}
/** Standard Schema v1 (standardschema.dev), by shape: zod, arktype, valibot and others fit without an import. */
interface StandardSchemaV1<In = unknown, Out = In> {
  readonly "~standard": StandardSchemaV1.Props<In, Out>;
}
declare namespace StandardSchemaV1 {
  interface Props<In = unknown, Out = In> {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Out> | Promise<Result<Out>>;
    readonly types?: {
      readonly input: In;
      readonly output: Out;
    } | undefined;
  }
  type Result<Out> = {
    readonly value: Out;
    readonly issues?: undefined;
  } | {
    readonly issues: readonly Issue[];
  };
  interface Issue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | {
      readonly key: PropertyKey;
    })[] | undefined;
  }
}
/** Standard JSON Schema v1: a schema that can describe itself to a model. */
interface JsonSchemaSource {
  readonly input: (options: {
    readonly target: "draft-2020-12";
  }) => Record<string, unknown>;
  readonly output: (options: {
    readonly target: "draft-2020-12";
  }) => Record<string, unknown>;
}
type Any = any;
type Schema<In = Any, Out = Any> = StandardSchemaV1<In, Out>;
interface DescribedSchema<In = Any, Out = Any> {
  readonly "~standard": StandardSchemaV1.Props<In, Out> & {
    readonly jsonSchema: JsonSchemaSource;
  };
}
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
  /** Not a field: it makes the compiler say what to do with a schema that cannot describe itself. */
  readonly "~standard"?: "This schema cannot describe itself to a model: wrap it in described(schema, json)";
}
type ToolSchema = DescribedSchema | JsonSchema;
type InputOf<S> = S extends StandardSchemaV1<infer In, Any> ? In : unknown;
type OutputOf<S> = S extends StandardSchemaV1<Any, infer Out> ? Out : unknown;
/** Gives a schema the JSON Schema that it cannot make itself; the two are promised to agree. */
declare function described<In, Out>(schema: Schema<In, Out>, document: JsonSchema): DescribedSchema<In, Out>;
/** A session as it may be read: what is committed, and of the current one what its turn has added so far. */
interface SessionReading {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  readonly head?: NodeId;
  readonly messages: readonly Message[];
  readonly config: SessionConfig;
  readonly usage: Usage;
  readonly turns: number;
  /** The turn that is open, here or elsewhere. */
  readonly openTurn?: TurnId;
  /** What it may do, where that is less than everything. */
  readonly authority?: Authority;
}
/** Authority to call one tool under a name of its own. */
interface ToolGrant {
  /** `app`, a plugin's id, or a provider's. */
  readonly source: string;
  readonly tool: string;
  /** Given to the tool with its own bindings. */
  readonly bindings?: JsonObject;
}
/** What a child may do. */
interface Authority {
  /** Tools it never has, whatever plugins or tool search say. */
  readonly hiddenTools?: readonly string[];
  /** The only tools it has. */
  readonly toolAccess?: readonly string[];
  readonly subagent?: {
    readonly capability: string;
    /** 1 in a child of a root. */
    readonly depth: number;
    readonly depthMax: number;
    /** The turn that made it. */
    readonly cause?: string;
  };
}
/** One edit of a session's catalog. */
interface CatalogOverlay {
  readonly tool: string;
  readonly hide?: true;
  readonly availability?: Availability;
  readonly description?: string;
  readonly note?: string;
}
/** How a turn of another session ended. */
interface TurnEnd {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
}
interface NewSessionRequest {
  readonly id?: string;
  /** What to do when there is one of this id: `refuse` it (`session.exists`), unless `take` says that it is the same. */
  readonly ifExists?: "refuse" | "take";
  /** The session to fork, if not this one, and the node. */
  readonly from?: string;
  readonly at?: string;
  /** `child` of the session that asks, with its authority; `fork` shares its history and copies its states. */
  readonly kind?: "fresh" | "child" | "fork";
  readonly config?: Partial<SessionConfig>;
  readonly authority?: Authority;
  /** Edits of its catalog, after those of plugins; a fork without its own has its origin's. */
  readonly overlay?: readonly CatalogOverlay[];
  /** Whether a child begins with a copy of the parent's plugin states. */
  readonly copiesState?: boolean;
  /** Said to it first; `sessions.takeFirstInput` gives it once. */
  readonly firstInput?: string;
  /** User and system messages that its conversation begins with. */
  readonly seed?: readonly Draft[];
}
/** One model call outside the conversation. */
interface CompletionRequest {
  readonly system?: string;
  readonly messages?: readonly Draft[];
  /** Another model than the session's. */
  readonly model?: string;
  readonly settings?: ModelSettings;
}
interface CompletionOptions {
  /** Under which its usage is booked. */
  readonly label?: string;
  readonly signal?: AbortSignal;
}
interface Complete {
  text(prompt: string | CompletionRequest, options?: CompletionOptions): Promise<string>;
  object<S extends Schema>(prompt: string | CompletionRequest, schema: S, options?: CompletionOptions): Promise<OutputOf<S>>;
  reply(request: CompletionRequest, options?: CompletionOptions): Promise<Reply>;
}
/** Work in the background; with the jobs runtime. */
interface Jobs {
  list(): Promise<readonly Json[]>;
}
/** What the runtime offers to plugins. A hook is given exactly the services that its row in the table names. */
interface Services {
  readonly session: {
    read(): SessionReading;
    /** Of any session; throws `session.unknown`. */
    snapshot(id: string): Promise<SessionReading>;
  };
  readonly catalog: {
    /** Also those that can only be found by a search; `availability` tells. */
    list(): readonly ToolManifest[];
    /** With its schema, which is loaded if need be. */
    describe(name: string): Promise<ToolDeclaration | undefined>;
  };
  /** Which tools this session has, from the next round on, also after a restart. A tool needs `writes: true` for it. */
  readonly membership: {
    set(names: string | readonly string[], availability: Availability): void;
    /** Lets the model call this tool of this source under this name, whatever the catalog shows. */
    grant(name: string, grant: ToolGrant): void;
    revoke(name: string): void;
  };
  readonly sessions: {
    create(request: NewSessionRequest): Promise<{
      readonly id: SessionId;
    }>;
    /** What `firstInput` said, once. */
    takeFirstInput(id: string): Promise<string | undefined>;
    /** Starts a turn of another session; the same key gives the same turn. It goes on whatever becomes of this one. */
    send(id: string, input: string, options?: {
      readonly key?: string;
      readonly output?: JsonSchema;
    }): Promise<{
      readonly turnId: TurnId;
    }>;
    /** How a turn of another session ended; waits for it, wherever it runs. */
    result(id: string, turnId: string, options?: {
      readonly signal?: AbortSignal;
    }): Promise<TurnEnd>;
    /** Asks a turn of another session to end; without one, whatever is open there, and takes back what waits. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /** The children of this session, or of another; without their messages. */
    children(id?: string): Promise<readonly SessionReading[]>;
  };
  readonly graph: {
    /** Adds plugin nodes and messages to the conversation between turns. */
    append(nodes: readonly AppendNode[], options?: AppendOptions): Promise<Appended>;
  };
  readonly complete: Complete;
  readonly blobs: {
    put(data: Uint8Array): Promise<BlobHash>;
    get(hash: BlobHash): Promise<Uint8Array | undefined>;
  };
  readonly trace: {
    emit(name: string, payload?: Json): void;
  };
  readonly jobs: Jobs;
}
type AppendNode = {
  readonly kind: "message";
  readonly role: "user" | "system";
  readonly text: string;
} | {
  readonly kind: "plugin";
  readonly type: string;
  readonly body: Json;
};
interface AppendOptions {
  /** Must still be on the active path; content that came after it is fine. */
  readonly requiresAncestor?: string;
  /** The same operation again is answered as the first time. */
  readonly operationId?: string;
}
type Appended = {
  readonly kind: "appended";
  readonly nodes: readonly NodeId[];
  readonly head: NodeId;
} | {
  readonly kind: "stale-branch";
  readonly required: string;
};
/** What a hook may ask for besides its answer: plain objects with a `kind`. Which hook may give which is in the table. */
type Directive = {
  readonly kind: "abortTurn";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "enqueueMessages";
  readonly messages: readonly Draft[];
} | {
  readonly kind: "compactHistory";
} | {
  readonly kind: "createSession";
  readonly request: NewSessionRequest;
} | {
  readonly kind: "emitEvent";
  readonly name: string;
  readonly payload: Json;
} | {
  readonly kind: "emitTrace";
  readonly name: string;
  readonly payload: Json;
} | {
  readonly kind: "abort";
  readonly code: string;
  readonly message: string;
} | {
  readonly kind: "deny";
  readonly reason: string;
} | {
  readonly kind: "ask";
  readonly reason: string;
  readonly waitMs?: number;
} | {
  readonly kind: "shortCircuit";
  readonly value: Json;
} | {
  readonly kind: "replaceArgs";
  readonly args: Json;
} | {
  readonly kind: "replaceResult";
  readonly value: Json;
};
type DirectiveKind = Directive["kind"];
type DirectiveOf<K extends DirectiveKind> = Extract<Directive, {
  readonly kind: K;
}>;
/** Ends the turn: `stopped` by `plugin`, with this code and message. */
declare const abortTurn: (code: string, message: string) => DirectiveOf<"abortTurn">;
/** Puts messages into the conversation; a string is a user message. Only user and system messages may be put in. */
declare const enqueueMessages: (...messages: readonly (string | Draft)[]) => DirectiveOf<"enqueueMessages">;
/** Has the conversation compacted before the next model call, where a `compact` hook can. At most once in two rounds. */
declare const compactHistory: () => DirectiveOf<"compactHistory">;
/** Makes another session: a fresh one, a child of this one, or a fork. */
declare const createSession: (request: NewSessionRequest) => DirectiveOf<"createSession">;
/** Shows readers of the session a `plugin` event. */
declare const emitEvent: (name: string, payload?: Json) => DirectiveOf<"emitEvent">;
declare const emitTrace: (name: string, payload?: Json) => DirectiveOf<"emitTrace">;
/** At a tool seam: the round is settled and the turn stops. */
declare const abort: (code: string, message: string) => DirectiveOf<"abort">;
/** The call does not run, or its result is not shown; the model is told why and the turn goes on. */
declare const deny: (reason: string) => DirectiveOf<"deny">;
/** The call waits until somebody answers the wait with `{ approved, reason? }`; by default for seven days. */
declare const ask: (reason: string, options?: {
  readonly waitMs?: number;
}) => DirectiveOf<"ask">;
/** The call is answered with this value and does not run. */
declare const shortCircuit: (value: Json) => DirectiveOf<"shortCircuit">;
declare const replaceArgs: (args: Json) => DirectiveOf<"replaceArgs">;
declare const replaceResult: (value: Json) => DirectiveOf<"replaceResult">;
/** An answer knows whose it is. */
interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}
/** What one plugin gives to a point. */
interface Contribution {
  readonly point: Point<Any, Any>;
  readonly value: unknown;
}
/**
 * A typed place to which plugins contribute and from which they read. It is recognised by identity, so whoever
 * contributes imports it from whoever reads it. `combine([])` is its value when nobody gave anything.
 */
interface Point<In, Out = readonly In[]> {
  readonly id: string;
  /** To contribute: `contributions: [point.of(value)]`. */
  of(value: In): Contribution;
  combine(given: readonly Owned<In>[]): Out;
}
declare function point<In>(id: string): Point<In>;
declare function point<In, Out>(id: string, combine: (given: readonly Owned<In>[]) => Out): Point<In, Out>;
/** The session half of a protocol. Everything is optional. */
interface ProtocolSession {
  /** A session was made. */
  initialize?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** A session was opened again. */
  restore?(context: {
    readonly sessionId: SessionId;
    readonly isRoot: boolean;
  }): Awaitable<void>;
  /** Before each model call: may go on in a fresh frame instead. */
  beforeAsk?(context: {
    readonly sessionId: SessionId;
    readonly round: number;
  }): Awaitable<{
    readonly task: string;
    readonly seed?: Json;
  } | undefined | void>;
}
/** What a protocol tells the model. Made once per catalog. */
interface Preamble {
  readonly tools: readonly ToolDeclaration[];
  readonly prompt: readonly PromptPart[];
}
/** The other half: how a model acts. The value of the slot `protocolDriver`. */
interface ProtocolDriverSlot {
  /** Reads replies; pure. */
  readonly driver: ProtocolDriver;
  preamble(catalog: readonly ToolDeclaration[]): Preamble;
}
/** Runs cells for a code protocol. */
interface CodeExecutor {
  execute(cell: Cell, context: {
    readonly sessionId: SessionId;
    readonly signal: AbortSignal;
  }): Awaitable<CellOutput>;
}
/** Raw model text to what a person sees. */
type ProseProjector = (text: string) => string;
type ToolServices = Pick<Services, "session" | "sessions" | "catalog" | "membership" | "complete" | "blobs" | "trace">;
/** What a tool is given besides its arguments. What is nested in a call and costs something is noted: a rerun is given it back. */
interface ToolContext extends ToolServices {
  readonly callId: CallId;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  /** 1, 2, … */
  readonly attempt: number;
  /**
   * Aborts on cancel and on timeout: its reason has the code `tool.cancelled` or `tool.timeout`. With any other code the
   * turn is only let go here, and goes on elsewhere: what was started for it is still wanted.
   */
  readonly signal: AbortSignal;
  /** The same in every attempt at this call, also after a crash. Hand it to whatever must not act twice. */
  readonly idempotencyKey: string;
  /** Of the tool's manifest, and of the grant it is called under. */
  readonly bindings: JsonObject;
  /** Says that the call is getting on: its timeout starts anew. */
  progress(note?: string): void;
  /** What plugins contributed to a point. */
  read<Out>(point: Point<Any, Out>): Out;
  /** Runs once in this call, whatever the attempt. */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
type StateOf$1<S, Writes> = S extends undefined ? object : {
  readonly state: Writes extends true ? StateCell<S> : StateView<S>;
};
interface ToolSpec<I extends ToolSchema, O, S = undefined, Writes extends true | undefined = undefined> extends ToolManifest {
  readonly input: I;
  readonly output?: Schema<Any, O>;
  readonly timeoutMs?: number;
  /** Never beside another call of the same reply. */
  readonly isSerial?: boolean;
  /** May change the plugin's state and the session's tools; such calls are released one at a time. */
  readonly writes?: Writes;
  readonly retry?: RetryPolicy | {
    readonly policy: RetryPolicy;
    readonly attempts?: number;
    readonly baseMs?: number;
    readonly maxMs?: number;
  };
  /**
   * What to do with a call that a crash interrupted: `rerun` (with the same idempotency key), `fail` (the model is told
   * that the result is unknown), or `ask` (somebody answers its wait with `{ approved: true }`, and it runs again).
   */
  readonly onInterrupt?: "rerun" | "fail" | "ask";
  execute(input: OutputOf<I>, context: ToolContext & StateOf$1<S, Writes>): Awaitable<O | ControlResult>;
}
declare const toolState: unique symbol;
type Check = Awaitable<{
  readonly ok: true;
  readonly value: unknown;
} | {
  readonly ok: false;
  readonly problem: string;
}>;
/** A tool, ready to be listed and called. Made by `defineTool`, or by `tool` in a plugin's setup. */
interface Tool<S = undefined> extends ToolManifest {
  readonly inputSchema: JsonObject;
  readonly policy: CallPolicy;
  readonly timeoutMs?: number;
  /** Checks the arguments as the tool's author wrote them; the value may differ from the input (defaults, transforms). */
  check(input: Json): Check;
  run(input: unknown, context: ToolContext & {
    readonly state?: unknown;
  }): Awaitable<unknown>;
  checkOutput?(output: unknown): Check;
  readonly [toolState]?: S;
}
/** Tools that come and go, or are too many to be made at once. Made by `defineToolProvider`. */
interface ToolProvider {
  /** Names the source: what a session remembers of its tools holds for it. */
  readonly id: string;
  /** Light: no schema is made. A throw leaves the list as it was. */
  list(signal: AbortSignal): Awaitable<readonly ToolManifest[]>;
  /** Heavy: one tool, when it is first needed. Nothing means that it is not there any more. */
  load(name: string, signal: AbortSignal): Awaitable<Tool | undefined>;
  /** Calls back when the list has changed: it is read again before the next turn. Answers how to stop. */
  watch?(changed: () => void): () => void;
}
interface HookTypes<Sees, Answer> {
  readonly "~sees"?: Sees;
  readonly "~answer"?: Answer;
}
/** What a turn sets out with, before its first model call. */
interface TurnContext {
  /** The active frame and this turn's input. */
  readonly messages: readonly Message[];
  readonly prompt: readonly PromptPart[];
  /** More tools for this turn; one of the same name as another stands in its place. */
  readonly tools?: readonly (Tool<Any> | ToolProvider)[];
  /** False leaves only those. */
  readonly includeBaseTools?: boolean;
}
interface CompactionSees {
  /** Of the active frame, with what the turn has added. */
  readonly messages: readonly Message[];
  /** The window overflowed, a plugin wants room before it does, or the app asked for it. */
  readonly reason: "overflow" | "room" | "asked";
  /** From 1: what was given before did not make the request smaller. */
  readonly attempt: number;
}
/** What a new frame begins with. */
interface Compaction {
  readonly seed: readonly Draft[];
  /** From this message on the conversation is carried over as it is; at the next place where no call is cut from its result. */
  readonly tail?: string | undefined;
}
interface TurnReport {
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  readonly rounds: number;
  /** What the turn adds to the conversation. */
  readonly messages: readonly Message[];
}
interface Chunk {
  readonly kind: "text" | "reasoning";
  readonly delta: string;
  /** Nothing follows: what was held back can be said now. Only handlers with `atEnd` are told. */
  readonly isEnd?: true;
}
interface ChunkAnswer {
  /** What is shown and kept instead of the delta. */
  readonly delta?: string;
  /** Reasoning to show beside it. */
  readonly reasoning?: string;
  readonly events?: readonly {
    readonly name: string;
    readonly payload?: Json;
  }[];
  /** The reply ends here, with the text so far. */
  readonly abort?: true;
}
interface ReplyAnswer {
  readonly parts: readonly Part[];
  readonly events?: readonly {
    readonly name: string;
    readonly payload?: Json;
  }[];
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
} | {
  readonly kind: "sessionConfigChanged";
  readonly previous: SessionConfig;
  readonly current: SessionConfig;
};
/** The rules of composition: for every hook when it fires, what it is given, what it may answer, what a throw means. */
declare const HOOKS: {
  readonly context: {
    readonly family: "transform";
    readonly fires: "at the start of a turn";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "complete"];
  } & HookTypes<{
    readonly context: TurnContext;
  }, TurnContext>;
  readonly compact: {
    readonly family: "first";
    readonly fires: "when the conversation must be compacted";
    readonly onThrow: "fail-compaction";
    readonly deadlineMs: 300000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "graph", "jobs", "complete"];
  } & HookTypes<CompactionSees, Compaction | readonly Draft[]>;
  readonly prompt: {
    readonly family: "collect";
    readonly fires: "when the prompt is built";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "jobs", "complete"];
  } & HookTypes<object, PromptPart>;
  readonly toolCatalog: {
    readonly family: "collect";
    readonly fires: "when the catalog is built";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 1000;
    readonly state: "read";
    readonly services: readonly [];
    readonly isSync: true;
  } & HookTypes<{
    readonly tools: readonly ToolManifest[];
  }, CatalogOverlay>;
  readonly beforeTurn: {
    readonly family: "collect";
    readonly fires: "after `context`, before the first model call";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "membership", "sessions", "trace"];
    readonly directives: readonly ["abortTurn", "enqueueMessages", "compactHistory", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly input: Message;
  }, never>;
  readonly checkpoint: {
    readonly family: "collect";
    readonly fires: "when work is done, and before the turn completes";
    readonly onThrow: "fail-turn";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "sessions", "trace"];
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
    readonly services: readonly ["session", "sessions", "trace"];
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
    readonly fires: "for each whole reply, after it is recorded; at least once, so derive and do not count";
    readonly onThrow: "retry";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog"];
  } & HookTypes<{
    readonly reply: Reply;
  }, ReplyAnswer>;
  readonly streamFinished: {
    readonly family: "observe";
    readonly fires: "when a stream ends, however it does";
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
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs"];
    readonly directives: readonly ["abort", "deny", "ask", "shortCircuit", "replaceArgs", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
  }, never>;
  readonly afterToolCall: {
    readonly family: "gate";
    readonly fires: "for each final result, in call order";
    readonly onThrow: "withhold";
    readonly deadlineMs: 30000;
    readonly state: "write";
    readonly services: readonly ["session", "catalog", "membership", "sessions", "graph", "complete", "blobs", "trace", "jobs"];
    readonly directives: readonly ["abort", "deny", "replaceResult", "enqueueMessages", "createSession", "emitEvent", "emitTrace"];
  } & HookTypes<{
    readonly call: ToolCall;
    readonly output: ToolOutput;
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
    readonly fires: "when a turn is finalized or persisted, a session restored or reconfigured";
    readonly onThrow: "issue";
    readonly deadlineMs: 30000;
    readonly state: "read";
    readonly services: readonly ["session", "catalog", "complete", "trace"];
  } & HookTypes<{
    readonly event: LifecycleEvent;
  }, never>;
  readonly protocolSession: {
    readonly family: "single";
    readonly fires: "see protocols";
    readonly onThrow: "fail-build";
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
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
    readonly deadlineMs: 5000;
    readonly state: "read";
    readonly services: readonly [];
  } & HookTypes<never, CodeExecutor>;
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
/** What every handler is told besides what its hook shows. */
interface Here {
  readonly sessionId: SessionId;
  /** Absent outside a turn. */
  readonly turnId?: TurnId;
  /** Aborts when the turn is cancelled, and at the handler's deadline. */
  readonly signal: AbortSignal;
  /** What plugins contributed to a point. */
  read<Out>(point: Point<Any, Out>): Out;
  /** Runs once in this turn, under this name of the plugin's own: a rerun after a crash is given the recorded value. */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
type StateFor$1<N extends HookName, S> = [S] extends [undefined] ? object : {
  readonly state: Rows[N]["state"] extends "write" ? StateCell<S> : StateView<S>;
};
type HookEvent<N extends HandledName, S = undefined> = SeesOf<N> & Here & Pick<Services, Rows[N]["services"][number]> & StateFor$1<N, S>;
type Many<A> = A | readonly A[];
type Maybe<A, Sync> = Sync extends true ? A | void : Awaitable<A | void | undefined>;
type SyncOf<N extends HookName> = Rows[N] extends {
  readonly isSync: true;
} ? true : false;
type HookAnswer<N extends HandledName> = Rows[N]["family"] extends "observe" ? Awaitable<void> : Rows[N]["family"] extends "collect" | "gate" ? Maybe<Many<AnswerOf<N>>, SyncOf<N>> : Rows[N]["family"] extends "single" ? Awaitable<AnswerOf<N>> : Maybe<AnswerOf<N>, SyncOf<N>>;
/** Nothing returned means no opinion, in every family but `single`. */
type Handler<N extends HandledName, S = undefined> = (event: HookEvent<N, S>) => HookAnswer<N>;
type Order = "early" | "normal" | "late";
interface Placed<H> {
  /** Wins over the plugin's own order. */
  readonly order?: Order;
  readonly deadlineMs?: number;
  /** Of `stream`: called once more when the text has ended, with `chunk.isEnd`, to say what it held back. */
  readonly atEnd?: true;
  readonly run: H;
}
type Handlers<H> = H | Placed<H> | readonly (H | Placed<H>)[];
type Hooks<S = undefined> = { readonly [N in HandledName]?: Rows[N]["family"] extends "single" ? Handler<N, S> | Placed<Handler<N, S>> : Handlers<Handler<N, S>>; } & { readonly [N in SlotName]?: AnswerOf<N>; };
/** A query reads; a command changes; a task may also take long, ask models and be cancelled. */
type OperationKind = "query" | "command" | "task";
/** Which services each kind is given. */
declare const POWERS: {
  readonly query: readonly ["session", "catalog", "blobs", "jobs"];
  readonly command: readonly ["session", "catalog", "blobs", "jobs", "sessions", "graph", "membership", "trace"];
  readonly task: readonly ["session", "catalog", "blobs", "jobs", "sessions", "graph", "membership", "trace", "complete"];
};
/** What a plugin said while an operation ran. */
interface PluginEvent {
  readonly name: string;
  readonly payload: Json;
}
interface Common<I> {
  readonly input: I extends Schema ? OutputOf<I> : undefined;
  /** Absent when the operation was called without a session. */
  readonly sessionId?: SessionId;
  readonly signal: AbortSignal;
  read<Out>(point: Point<Any, Out>): Out;
}
interface Changing {
  /** Kept in the session's history and given to the caller. */
  emit(name: string, payload?: Json): void;
  /** The session's next turn, once the operation is done. The same key is queued once. */
  queueTurn(input: string, options?: {
    readonly key?: string;
  }): void;
}
type StateFor<K extends OperationKind, S> = [S] extends [undefined] ? object : {
  readonly state: K extends "query" ? StateView<S> : StateCell<S>;
};
type OperationContext<K extends OperationKind, I, S> = Common<I> & Pick<Services, (typeof POWERS)[K][number]> & StateFor<K, S> & (K extends "query" ? object : Changing);
interface OperationSpec<K extends OperationKind, I extends Schema | undefined, O, S> {
  readonly description?: string;
  /** Whether it runs on a session: `required` unless said otherwise. */
  readonly session?: "required" | "optional" | "forbidden";
  readonly input?: I;
  readonly output?: Schema<Any, O>;
  run(context: OperationContext<K, I, S>): Awaitable<O>;
}
interface Operation<K extends OperationKind = OperationKind, In = Any, Out = Any, S = Any> {
  readonly kind: K;
  readonly spec: OperationSpec<K, Any, Any, Any>;
  readonly "~types"?: {
    readonly input: In;
    readonly output: Out;
    readonly state: S;
  };
}
/** A maker knows the plugin's state; `setup` is handed one of each kind. */
type OperationMaker<K extends OperationKind, S> = <O, I extends Schema | undefined = undefined>(spec: OperationSpec<K, I, O, S>) => Operation<K, I extends Schema ? InputOf<I> : undefined, O, S>;
/** How callers see a plugin's operations; it travels with the plugin value. */
type SignaturesOf<Parts> = Parts extends {
  readonly operations: infer Ops;
} ? { readonly [N in keyof Ops]: Ops[N] extends Operation<infer K, infer In, infer Out, Any> ? {
  readonly kind: K;
  readonly input: In;
  readonly output: Out;
} : never; } : object;
type NamesOf<Ops, K extends OperationKind> = { [N in keyof Ops]: Ops[N] extends {
  readonly kind: K;
} ? N : never; }[keyof Ops] & string;
type Signature<Ops, N extends string> = N extends keyof Ops ? Ops[N] : never;
type InputFor<Ops, N extends string> = Signature<Ops, N> extends {
  readonly input: infer In;
} ? In : never;
type OutputFor<Ops, N extends string> = Signature<Ops, N> extends {
  readonly output: infer Out;
} ? Out : never;
/** The input may be left out where nothing, or {}, fits. */
type InputArgs<In, Options> = undefined extends In ? [input?: In, options?: Options] : object extends In ? [input?: In, options?: Options] : [input: In, options?: Options];
/** An operation as a session lists it. */
interface OperationDefinition {
  /** `plugin.operation`: what `invoke` takes. */
  readonly name: string;
  readonly plugin: string;
  readonly kind: OperationKind;
  readonly description: string;
  readonly session: "required" | "optional" | "forbidden";
  readonly input?: Json;
  readonly output?: Json;
}
type StateOf<S> = S extends Schema ? OutputOf<S> : undefined;
type OptionsOf<O> = O extends Schema ? OutputOf<O> : undefined;
interface SetupContext<Options, Shared, S> {
  readonly options: Options;
  /** What `open` returned. */
  readonly shared: Shared;
  readonly session: {
    readonly id: SessionId;
    readonly parentId?: SessionId;
    readonly isRoot: boolean;
  };
  /** Makers that know the plugin's state. */
  tool<I extends ToolSchema, O, Writes extends true | undefined = undefined>(spec: ToolSpec<I, O, S, Writes>): Tool<S>;
  readonly query: OperationMaker<"query", S>;
  readonly command: OperationMaker<"command", S>;
  readonly task: OperationMaker<"task", S>;
}
/** An event that triggers can be subscribed to. */
interface TriggerDeclaration {
  /** `resource.event`. */
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of what comes with it. */
  readonly payload?: JsonSchema;
}
/** What a plugin adds to a session. */
type PluginParts<S = undefined> = Hooks<S> & {
  readonly tools?: readonly (Tool<S> | Tool | ToolProvider)[];
  readonly operations?: {
    readonly [name: string]: Operation<Any, Any, Any, S>;
  };
  readonly contributions?: readonly Contribution[];
  readonly triggers?: readonly TriggerDeclaration[];
};
/** A key that is no hook does not compile, and the compiler says which. */
type Others<Parts> = Exclude<keyof Parts, keyof PluginParts>;
type NoOthers<Parts> = [Others<Parts>] extends [never] ? unknown : { readonly [K in Others<Parts>]: `\`${K & string}\` is not a hook`; };
interface PluginSpec<Parts, O extends Schema | undefined, S extends Schema | undefined, Shared> {
  readonly id: string;
  readonly version?: string;
  /** Then the order of installation; there are no numbers to outbid. */
  readonly order?: Order;
  readonly options?: O;
  /** Must accept {}: that is the first state. The state must be JSON. */
  readonly state?: S;
  migrate?(state: Json, from: string): Json;
  /** Once per runtime: connections, caches. */
  open?(context: {
    readonly options: OptionsOf<O>;
    readonly signal: AbortSignal;
  }): Awaitable<Shared>;
  close?(shared: Shared): Awaitable<void>;
  /** At every open of a session: cheap, synchronous, no I/O. */
  setup(context: SetupContext<OptionsOf<O>, Shared, StateOf<S>>): Parts & NoOthers<Parts>;
}
declare const definition: unique symbol;
/** Installed with `createRuntime({ plugins })`. */
interface Plugin<Ops = unknown> {
  readonly id: string;
  readonly version: string;
  /** Types only: what its operations take and give. */
  readonly "~operations"?: Ops;
  readonly [definition]: Definition;
}
/** May be left out where nothing in them is needed. */
type Given<In> = [In] extends [void] ? [] : Record<never, never> extends In ? [options?: In] : [options: In];
interface PluginFactory<In, Ops = unknown> extends Plugin<Ops> {
  (...options: Given<In>): Plugin<Ops>;
  /** The same options for one session: `runtime.session(id, { plugins: [frugal.options({ … })] })`. */
  options(options: In): PluginOptions;
}
/** Options of one plugin for one session; they take the place of those it was installed with. */
interface PluginOptions {
  readonly plugin: string;
  readonly options: unknown;
}
type AnySpec = PluginSpec<Any, Any, Any, Any>;
interface Definition {
  readonly spec: AnySpec;
  /** Undefined until given; then parsed. */
  readonly options: unknown;
}
declare function definePlugin<Parts extends PluginParts<StateOf<S>>, O extends Schema | undefined = undefined, S extends Schema | undefined = undefined, Shared = undefined>(spec: PluginSpec<Parts, O, S, Shared>): PluginFactory<O extends Schema ? InputOf<O> : void, SignaturesOf<Parts>>;
/** What a model can take, as data. Absent means: not known, so try. */
interface Capabilities {
  /** Media types, `image/*` included, that may be attached. */
  readonly attachments?: readonly string[];
  readonly contextTokens?: number;
  readonly isParallelCalls?: boolean;
}
interface CallOptions {
  /** Aborts on cancel; the stream must then end soon, by any means. */
  readonly signal: AbortSignal;
  /** The bytes of an attachment in the messages. */
  load(hash: BlobHash): Awaitable<Uint8Array>;
}
/**
 * Who is asked. A stream gives parts, singly or in lists, and ends with exactly one `finish`; a stream that ends
 * without it was cut. Failures are thrown as `ProviderFailure`. It keeps nothing between calls, never retries
 * (`runtime/ask.ts` does that once for all) and resolves credentials inside `stream`, so that none is ever kept.
 */
interface Provider {
  readonly id: string;
  readonly modelId: string;
  readonly capabilities?: Capabilities;
  stream(request: ModelRequest, options: CallOptions): AsyncIterable<ModelPart | readonly ModelPart[]>;
}
/** An AI SDK language model, by shape: `never` lets every version's own option types fit without an import. */
interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<{
    stream: unknown;
  }>;
}
type Model = LanguageModel | Provider;
/** A session's config keeps a model's name, never the object; this finds it again. */
type ModelResolver = (name: string) => Awaitable<Model | undefined>;
/** A node of a session's history. */
type Node = {
  readonly id: NodeId;
  readonly parent?: NodeId;
  readonly at: number;
} & NodeBody;
interface HistoryPage {
  /** The node to begin with, going back; the head unless given. */
  readonly from?: string | undefined;
  /** Instead of `from`: what came before this node. For the next page, the last node of the one before it. */
  readonly before?: string;
  /** 100 unless given. */
  readonly max?: number | undefined;
}
/** How two sessions of one origin differ. */
interface Comparison {
  /** The last node that both have; left out when they have none in common. */
  readonly common?: NodeId;
  /** What each has after it, oldest first. */
  readonly ours: readonly Node[];
  readonly theirs: readonly Node[];
}
/** A section of the prompt: a heading over some slots. It is left out when they are empty. */
interface Section {
  readonly title?: string;
  readonly slots: readonly PromptPart["slot"][];
}
/** Something went wrong in an observer, which may not fail anything. */
interface Issue$1 {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
}
type Probe = (phase: {
  readonly kind: "begin" | "end";
  readonly hook: HookName;
  readonly plugin: string;
}) => void;
/** Something worth knowing that is nobody's result: a late answer, a conflict of plugins, a skipped observer. */
interface TraceRecord {
  readonly at: number;
  readonly name: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly about: {
    readonly [key: string]: Json;
  };
}
/** The library never writes to the console; what a table calls "logged" comes here. It must not throw. */
type TraceSink = (record: TraceRecord) => void;
type RuntimeOptions = {
  readonly store: Store;
  readonly host?: EffectHost;
  readonly trace?: TraceSink;
  readonly tools?: readonly (Tool | ToolProvider)[];
  readonly plugins?: readonly Plugin[];
  readonly instructions?: string;
  /** More of the prompt, for every session: the lowest of its layers. */
  readonly prompt?: readonly PromptPart[];
  /** Headings and order of the prompt's slots. */
  readonly template?: readonly Section[];
  readonly settings?: ModelSettings;
  readonly limits?: Partial<Limits>;
  /** What may be spent, unless a session has a budget of its own. */
  readonly budget?: Budget;
  /** What models cost, by the name that sessions keep. */
  readonly prices?: PriceTable;
  /** Whether turns that others left are gone on with by themselves: `auto` on a durable store, unless set. */
  readonly recover?: "auto" | "manual";
  /** Sees the beginning and the end of every hook call. */
  readonly probe?: Probe;
} & ({
  readonly model: Model;
  readonly models?: ModelResolver;
} | {
  readonly model: string;
  readonly models: ModelResolver;
});
/** An input that has not ended. */
interface OpenInput {
  readonly id: InputId;
  /** The turn that has it, or that it opens. */
  readonly turnId: TurnId;
  readonly state: "running" | "waiting";
  readonly message: Draft;
}
/** The session as it stands: what is committed, and what is not answered yet. */
interface SessionView {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly head?: NodeId;
  /** Where the active frame begins; left out in the first. */
  readonly frame?: NodeId;
  /** Of the active frame. */
  readonly messages: readonly Message[];
  /** Said to it and in no committed turn yet, oldest first: what the open turn has taken, then what waits. */
  readonly inputs: readonly OpenInput[];
  readonly turns: number;
  readonly config: SessionConfig;
  readonly usage: Usage;
  /** Where it comes from. */
  readonly ledger: readonly Spent[];
  /** What it cost, where the price of every model in the ledger is known. */
  readonly cost?: number;
  /** Facts up to here are in the view: observe after it. Left out while there are none. */
  readonly cursor?: Cursor;
}
/** A preview belongs to one attempt at one effect: a higher key, or the fact, makes lower ones void. */
interface PreviewKey {
  readonly effect: EffectName;
  readonly generation: number;
  readonly attempt: number;
}
interface Previewed {
  readonly fact: false;
  readonly sessionId: SessionId;
  readonly turnId: TurnId;
  readonly key: PreviewKey;
}
interface Fact {
  readonly fact: true;
  readonly sessionId: SessionId;
  readonly cursor: Cursor;
}
/** What streams while a turn runs. Only a commit makes it true. */
type Preview = Previewed & ({
  readonly kind: "text";
  readonly delta: string;
} | {
  readonly kind: "reasoning";
  readonly delta: string;
} |
/** Everything shown under this key is void: the attempt is tried again. */
{
  readonly kind: "retracted";
} | {
  readonly kind: "toolStarted";
  readonly call: ToolCall;
} | {
  readonly kind: "toolEnded";
  readonly callId: CallId;
  readonly name: string;
  readonly status: ToolStatus;
  readonly ms: number;
  readonly output: ToolOutput;
} | {
  readonly kind: "waiting";
  readonly callId: CallId;
  readonly wait: WaitKey;
  readonly reason: string;
} | {
  readonly kind: "plugin";
  readonly plugin: string;
  readonly name: string;
  readonly payload: Json;
} |
/** Of a session that this turn has started. */
{
  readonly kind: "child";
  readonly event: SessionEvent;
});
/** What is kept. */
type FactEvent = Fact &
/** Durable: it has its turn now, later, or a running turn takes it at a boundary. */
({
  readonly kind: "accepted";
  readonly turnId: TurnId;
  readonly inputId: InputId;
  readonly key?: string;
} | TurnCommitted |
/** Between turns. */
{
  readonly kind: "committed";
  readonly by: "append" | "configure" | "compact" | "command" | "completion";
  readonly nodes: readonly NodeId[];
} |
/** A fresh window begins at this node. */
{
  readonly kind: "frame";
  readonly frame: NodeId;
} |
/** Previews were lost, because the reader did not keep up or came too late for them: this is how the session stands. */
{
  readonly kind: "gap";
  readonly view: SessionView;
});
interface TurnCommitted {
  readonly kind: "committed";
  readonly by: "turn";
  readonly turnId: TurnId;
  readonly nodes: readonly NodeId[];
  readonly outcome: TurnOutcome;
  readonly usage: Usage;
  /** Set when the session had moved: the turn was kept beside it. */
  readonly branch?: NodeId;
}
/** Closed; `fact` splits it in two. */
type SessionEvent = Preview | FactEvent;
/** What the readers of one turn see: what it shows, and at last how it ended. */
type TurnProgress = Preview | (Fact & TurnCommitted);
/** A session's tools as a host sees them: to be shown, kept elsewhere, edited and given back. */
interface ToolState {
  /** Of the surface it was read from: `apply` refuses another one. */
  readonly generation: number;
  /** Of the names and sources that were there. */
  readonly surface?: string;
  readonly tools: {
    readonly [name: string]: ToolStateEntry;
  };
}
interface ToolStateEntry {
  readonly source: string;
  readonly availability: Availability;
  /** Its source is not there: it is kept, cannot be called, and is bound again when the source offers it. */
  readonly isOrphan?: true;
}
interface ToolListing extends ToolStateEntry {
  readonly name: string;
  readonly description: string;
}
interface ObserveOptions {
  /** The cursor of a fact, or of a view: facts after it come first. Without one, all of them from the beginning. */
  readonly after?: string | undefined;
  /** Also every session that descends from this one, in one order. */
  readonly tree?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
/** What a recovery did. */
interface Recovered {
  /** Sessions with a turn that was left, or with inputs that waited, and nobody at them. */
  readonly sessions: number;
}
/** What a user says: text, or parts. */
type Input = string | readonly (string | TextPart | Attachable | Attachment)[];
/** What a command or a task came to. */
interface Receipt<O = unknown> {
  readonly plugin: string;
  readonly output: O;
  readonly events: readonly PluginEvent[];
  /** The turns it queued. */
  readonly queued: readonly TurnId[];
}
interface OperationOptions {
  /** `null` passes no session; this session's id insists on it. */
  readonly session?: string | null;
  readonly signal?: AbortSignal;
}
type Compacted = {
  readonly kind: "compacted";
  readonly frame: NodeId;
} |
/** Nobody compacts, or there is nothing to. */
{
  readonly kind: "nothing";
};
/**
 * A JSON Schema whose type you promise: values are checked when they come. Where no promise may be waited for (options,
 * states, operations) it must be plain: types, properties, items, enums and bounds.
 */
declare function jsonSchema<T>(document: JsonSchema): DescribedSchema<T, T>;
interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set when the session had moved: the turn was kept beside it, and this is its last node. */
  readonly branch?: NodeId;
  /** Observers that failed; none of them changed anything. */
  readonly issues: readonly Issue$1[];
}
/** A turn under way. Leaving the iteration is not cancelling. */
interface Turn<Value = Json> extends AsyncIterable<TurnProgress> {
  /** Known once the input is accepted. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit and after the observers of it are done. Rejects only when the input was not accepted, or the turn was taken over. */
  result(): Promise<TurnResult<Value>>;
  cancel(reason?: string): Promise<CancelAnswer>;
}
interface ForkOptions {
  /** The last node that it has; the head unless given. */
  readonly at?: string;
  /** Instead of `at`: the first node that it has not. Before the first of all there is nothing: it begins empty. */
  readonly before?: string;
  readonly id?: string;
  /** For people, in lists of branches. */
  readonly label?: string;
}
/** The tools of a session, for its host. What is changed here counts from the next turn on, and is kept. */
interface SessionTools {
  /** Also those that are off, and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** With its schema, which is loaded if need be. */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  set(names: string | readonly string[], availability: Availability): Promise<void>;
  /** More tools for this session, as long as it is open here; what was chosen for them is kept for when they come back. */
  add(provider: ToolProvider): Promise<{
    remove(): Promise<void>;
  }>;
  export(): Promise<ToolState>;
  /** Gives back an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Takes over a state from elsewhere or before; tools that are not there now are kept as orphans. */
  restore(state: ToolState): Promise<{
    readonly state: ToolState;
    readonly orphans: readonly string[];
  }>;
}
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
interface Runtime extends AsyncDisposable {
  /** Opens a session, or creates it; without an id, a new one. */
  session(id?: string, options?: SessionOptions): Promise<Session>;
  readonly sessions: {
    /** All of them, the children of one, or its forks; by id. */
    list(page?: SessionsPage): Promise<readonly SessionSummary[]>;
    /** Any session as it is committed; throws `session.unknown`. */
    get(id: string): Promise<SessionReading>;
    /** A second session over the same history, with its own future; at the head unless told where. */
    fork(id: string, options?: ForkOptions): Promise<Session>;
    /** Asks a turn to end, or without one whatever is open, without opening the session; inputs that wait are taken back then. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /** Where two sessions part, and what each has after that. */
    compare(id: string, other: string): Promise<Comparison>;
    /** What a session and all that descend from it have spent. */
    usage(id: string): Promise<TreeUsage>;
    /** Final: the id is never used again. Refused while a turn runs here. */
    delete(id: string): Promise<void>;
  };
  readonly waits: {
    /** Answers a wait; the first answer counts. Throws `wait.unknown`. */
    resolve(key: string, answer: Json): Promise<"accepted" | "already-resolved">;
  };
  /**
   * Goes on with turns that another process left, and with inputs that wait, in any session; answers when they are
   * done. A runtime on a durable store does so by itself, at its start and then every ten seconds.
   */
  recover(): Promise<Recovered>;
  /** Accepts nothing more, gives running turns 5 seconds, closes plugins in reverse order, then the store. */
  close(): Promise<void>;
}
interface SessionOptions {
  /** What the session has of its own; given when it is made, changed with `configure`. */
  readonly config?: Partial<SessionConfig>;
  /** Options of plugins for this opening, in the place of those they were installed with. */
  readonly plugins?: readonly PluginOptions[];
}
interface SessionsPage {
  readonly after?: string;
  readonly max?: number;
  readonly parent?: string;
  readonly origin?: string;
}
interface TreeUsage {
  readonly usage: Usage;
  /** Where the price of every model is known. */
  readonly cost?: number;
  /** By session, source and model. */
  readonly ledger: readonly (Spent & {
    readonly sessionId: SessionId;
    readonly cost?: number;
  })[];
}
interface SessionSummary {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly label?: string;
  readonly createdAt: number;
  readonly turns: number;
  /** The turn that is open, here or elsewhere. */
  readonly openTurn?: TurnId;
}
/**
 * How a model acts: a plugin that fills these two slots. Its driver must be pure (`protocolLaws` in `bowline/testing`
 * calls every function twice on frozen input), and must show every call of a reply exactly one result.
 */
interface Protocol {
  readonly protocolSession: ProtocolSession;
  readonly protocolDriver: ProtocolDriverSlot;
}
/** A tool without a plugin. Its arguments and its result are typed by its schemas. */
declare function defineTool<I extends ToolSchema, O = unknown, W extends true | undefined = undefined>(spec: ToolSpec<I, O, undefined, W>): Tool;
/** Tools that come and go: listed light, loaded by name. */
declare function defineToolProvider(spec: ToolProvider): ToolProvider;
/** Opens a runtime. The defaults are bound here: the journal host where the store keeps things and the inline one elsewhere, the tool-calls protocol, the AI SDK adapter. */
declare function createRuntime(options: RuntimeOptions): Promise<Runtime>;
export { type Allowance, type Attachable, type Attachment, type Availability, type Budget, type CancelAnswer, type Capabilities, type Code, type Compaction, type CompactionSees, type Comparison, type Cursor, DEFAULT_LIMITS, type Decision, type DescribedSchema, type Draft, type EffectHost, type Failed, type FailureClass, HOOKS, type HistoryPage, type HookName, type Input, type Issue$1 as Issue, type Json, type JsonSchema, type LanguageModel, type Limits, type Message, type Model, type ModelPart, type ModelRequest, type ModelResolver, type ModelSettings, type NewSessionRequest, type Node, type NodeId, type OpenInput, type OperationDefinition, type Origin, type Part, type Plugin, type PluginFactory, type PluginOptions, type Point, type PreviewKey, type Price, type PriceTable, type Probe, type PromptPart, type Protocol, type ProtocolDriver, type Provider, ProviderFailure, type Receipt, type Reply, type RequestView, type RoundView, type Runtime, RuntimeError, type RuntimeOptions, type Schema, type Section, type Services, type Session, type SessionConfig, type SessionEvent, type SessionId, type SessionInputs, type SessionSummary, type SessionTools, type SessionView, type Spent, type StateCell, type StateView, type Stopped, type Store, type TextPart, type Tool, type ToolCall, type ToolContext, ToolError, type ToolManifest, type ToolOutput, type ToolProvider, type ToolSchema, type ToolSpec, type TraceRecord, type TraceSink, type TreeUsage, type TriggerDeclaration, type Turn, type TurnId, type TurnOptions, type TurnOutcome, type TurnProgress, type TurnResult, type Usage, type WaitKey, abort, abortTurn, ask, attach, compactHistory, createRuntime, createSession, definePlugin, defineTool, defineToolProvider, deny, described, emitEvent, emitTrace, enqueueMessages, fail, finish, hasCode, jsonSchema, point, replaceArgs, replaceResult, retryable, shortCircuit, switchFrame };
