/** Ids that cannot be swapped. The casts live in this file and nowhere else. */
declare const kind: unique symbol;
type Id<Kind extends string> = string & {
  readonly [kind]: Kind;
};
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
/** An AI SDK language model of specification v2, v3 or v4 as a provider. Nothing of the SDK is imported. */
declare function aiSdk(model: LanguageModel): Provider;
/**
 * Finds `anthropic/claude-…` in the package @ai-sdk/anthropic that the app has installed, and so on for every name.
 * `openai-compatible/…` is any server at BOWLINE_BASE_URL, with the key BOWLINE_API_KEY if it wants one.
 */
declare function installed(options?: {
  readonly from?: string;
}): ModelResolver;
export { aiSdk, installed };
