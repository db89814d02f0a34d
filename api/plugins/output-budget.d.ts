/** Ids that cannot be swapped. The casts live in this file and nowhere else. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
type SessionId = Id<"session">;
type TurnId = Id<"turn">;
/** (commit, index): nodes are kept a segment per commit, so the id says where to look. */
type NodeId = Id<"node">;
/** The provider's name for a call. It is data and may repeat; a call's identity is its position. */
type CallId = Id<"call">;
/** `sha256` of the content, in base64url. */
type BlobHash = Id<"blob">;
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
/** A whole reply: what the stream came to. */
interface Reply {
  readonly parts: readonly Part[];
  readonly finish: FinishReason | "aborted";
  readonly usage: Usage;
  readonly route: string;
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
interface CellOutput {
  readonly state: "done" | "threw" | "stalled" | "stopped";
  readonly parts: readonly ResultPart[];
  readonly finish?: Json;
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
type Keep = "head" | "tail";
interface OutputBudgetOptions {
  /** The most that one text of a result may take up; 16 KiB unless given. */
  readonly bytesMax?: number;
  /** 400 unless given. */
  readonly linesMax?: number;
  /** Which end of a long text is shown, for all tools or by the tool's name; the head, and of `shell` the tail. */
  readonly keep?: Keep | {
    readonly [tool: string]: Keep;
  };
  /** Texts and attachments of one result that are shown; the others are named. 32 unless given. */
  readonly partsMax?: number;
  /** Long texts of a session that can still be read; 100 unless given, then the oldest are let go. */
  readonly keptMax?: number;
}
/**
 * Shows of a long result what fits, says how much it left out, and lets the model page through the whole. The whole is
 * kept as a named blob of this plugin's state: so it is committed, restored and forked with the session, no sweep of
 * the store takes it, and nothing but what this session was shown can be read by its hash.
 */
declare const outputBudget: PluginFactory<OutputBudgetOptions, object>;
export { OutputBudgetOptions, outputBudget };
