import { Json, JsonObject } from "./json.js";
import { Message, Part } from "./message.js";
import { Usage } from "./usage.js";
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
export {
  Attempt,
  FinishReason,
  ModelPart,
  ModelRequest,
  ModelSettings,
  ProviderFailure,
  ProviderFailureClass,
  Reply,
  ToolDeclaration,
};
