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
type FinishReason = "stop" | "calls" | "length" | "refused" | "other";
/** A whole reply: what the stream came to. */
interface Reply {
  readonly parts: readonly Part[];
  readonly finish: FinishReason | "aborted";
  readonly usage: Usage;
  readonly route: string;
}
type ProviderFailureClass = "auth" | "rate-limit" | "overloaded" | "network" | "timeout" | "stream" | "context-overflow" | "input" | "unsupported" | "cancelled" | "unknown";
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
/** A call at its position among the calls of a round or cell: "0", or "0.3" inside a batch. */
interface PlacedCall {
  readonly at: string;
  readonly call: ToolCall;
}
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
type Receipt = {
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
  accept(input: NewInput, owner: Owner, opening: Opening | undefined, pendingMax: number): Awaitable<Receipt>;
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
/** What the store needs of a database; `node:sqlite` and better-sqlite3 both have it. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}
interface Statement {
  /** With the number of rows that it changed, as `changes`. */
  run(...values: Value[]): unknown;
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}
type Value = string | number | null | Uint8Array;
/**
 * What a write survives. `process`: a killed process, always, and a power cut but for the latest writes. `power`: what
 * was acknowledged to someone (inputs, commits, changes, answers, cancels) survives a power cut; journal events since
 * may be lost. `power-all`: everything written survives one.
 */
type Strength = "process" | "power" | "power-all";
/** Something that is not as it must be. */
interface Finding {
  readonly item: string;
  readonly problem: string;
}
interface CheckOptions {
  /** How many to find before giving up; 100 unless given. */
  readonly max?: number;
  /** Compares every index with its table too, which takes much longer. */
  readonly deep?: boolean;
}
interface SweepOptions {
  /** Younger blobs stay, named or not: someone may be about to name them. An hour unless given, two minutes at least. */
  readonly olderThanMs?: number;
  /** How many blobs to decide on. */
  readonly max?: number;
  /** How long to look; a batch under way is finished. */
  readonly ms?: number;
}
interface Swept {
  /** Nothing removed, because the search for names was not finished in time; another call goes on with it. */
  readonly isPartial: boolean;
  readonly deleted: number;
  readonly bytes: number;
  /** Old blobs that something names. */
  readonly kept: number;
  /** Old blobs not decided on. */
  readonly remaining: number;
}
interface VacuumOptions extends SweepOptions {
  /** Rewrites the whole file without its free pages. Takes as long and as much room as the file is big, and blocks. */
  readonly compact?: boolean;
}
interface Vacuumed extends Swept {
  /** Of the file: pages that are free for what comes next. */
  readonly freeBytes: number;
  readonly isCompacted: boolean;
  /** Whether the write-ahead log could be emptied; not while another process reads. */
  readonly isLogEmptied: boolean;
}
interface SqliteOptions {
  /** What a power cut may cost; `power` unless given. A killed process costs nothing in any of them. */
  readonly strength?: Strength;
  /** How long to wait for another process that writes, before `store.locked`. */
  readonly lockedMs?: number;
  /** How long a turn is held without being renewed, before another process may take it over; 30 s unless given. */
  readonly leaseMs?: number;
  /** For the age of blobs; the real clock unless given. */
  readonly now?: () => number;
}
interface SqliteStore extends Store {
  /** Removes blobs that nothing names. Bounded; call it again while something remains. */
  sweep(options?: SweepOptions): Awaitable<Swept>;
  /** Sweeps, and gives free pages back to the disk when asked to. */
  vacuum(options?: VacuumOptions): Awaitable<Vacuumed>;
  /** Looks for damage and changes nothing. */
  check(options?: CheckOptions): Awaitable<readonly Finding[]>;
}
/**
 * Keeps turns in one file, shared by any number of processes of one machine; ":memory:" keeps them as long as the store
 * is open. Answers come without a promise, except when another process holds the file. A database that is handed in is
 * the store's from then on, and closed with it.
 */
declare function sqlite(path: string | Database, options?: SqliteOptions): SqliteStore;
export { type CheckOptions, type Database, type Finding, SqliteOptions, SqliteStore, type Strength, type SweepOptions, type Swept, type VacuumOptions, type Vacuumed, sqlite };
