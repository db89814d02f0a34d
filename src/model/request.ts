import type { Json, JsonObject } from "./json.ts";
import type { Message, Part } from "./message.ts";
import type { Usage } from "./usage.ts";

/** A tool as the model sees it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** The tool is also described in the prompt, with these examples. */
  readonly isDocumented?: true;
  readonly examples?: readonly JsonObject[];
  /**
   * The path by which code calls the tool, and the schema of its result, for protocols in which a model writes code.
   */
  readonly path?: string;
  readonly outputSchema?: JsonObject;
}

/** Settings of a model call. A setting that is left out has the default of the provider. */
export interface ModelSettings {
  /** How varied replies are: 0 for the likeliest words. Many reasoning models refuse it. */
  readonly temperature?: number | undefined;
  /** The most tokens of one reply. If it cuts an answer off, the turn ends as `reply.truncated`. */
  readonly maxOutputTokens?: number | undefined;
  /** Samples only from the likeliest words that together have this probability. Set this or `temperature`, not both. */
  readonly topP?: number | undefined;
  /** The reply ends before the first of these texts. */
  readonly stopSequences?: readonly string[] | undefined;
  /** For repeatable replies, from providers that offer them. */
  readonly seed?: number | undefined;
  /** How much a reasoning model reasons before it replies. */
  readonly reasoning?: "none" | "low" | "medium" | "high" | undefined;
  /** Whether cache breakpoints are sent to providers that take them. Default: `auto`. */
  readonly cache?: "auto" | "off" | undefined;
  /** Options that only one provider understands, by the provider's name. */
  readonly providerOptions?: { readonly [provider: string]: JsonObject } | undefined;
}

/** One model call, as a provider gets it and as `request` hooks may change it. */
export interface ModelRequest {
  readonly system: string;
  /** Unchanged while the call runs. Do not change the list, and copy it to keep it: it grows after the call. */
  readonly messages: readonly Message[];
  /**
   * How many of the messages the next call repeats unchanged, so that a provider can cache system, tools and these
   * messages. Messages after them change every round. Default: all.
   */
  readonly stable?: number | undefined;
  /** A model for this call instead of the session's. */
  readonly model?: string | undefined;
  readonly tools: readonly ToolDeclaration[];
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string } | undefined;
  readonly settings?: ModelSettings | undefined;
}

export type FinishReason = "stop" | "calls" | "length" | "refused" | "other";

/**
 * A piece of a streamed reply. A stream has any number of them and one `finish` at the end; deltas with the same `id`
 * form one part.
 */
export type ModelPart =
  | { readonly kind: "text"; readonly delta: string; readonly id?: string }
  | { readonly kind: "reasoning"; readonly delta: string; readonly id?: string }
  /** Data for this route only, for the text or reasoning with this `id`. */
  | { readonly kind: "made"; readonly of: "text" | "reasoning"; readonly id?: string; readonly data: Json }
  | {
      readonly kind: "call";
      readonly callId: string;
      readonly name: string;
      readonly input: string | Json;
      readonly data?: Json;
    }
  | { readonly kind: "finish"; readonly reason: FinishReason; readonly usage?: Usage };

/** A complete reply, collected from the stream. */
export interface Reply {
  readonly parts: readonly Part[];
  readonly finish: FinishReason | "aborted";
  readonly usage: Usage;
  readonly route: string;
}

export type ProviderFailureClass =
  | "auth"
  /** The account's limit: the runtime waits and retries. */
  | "rate-limit"
  /** Too many callers (503, 529): the runtime waits and retries. */
  | "overloaded"
  /** The provider failed (500, 502, 504): the runtime retries. */
  | "server"
  | "network"
  | "timeout"
  | "stream"
  | "context-overflow"
  /** The model cannot process the conversation or its attachments. */
  | "input"
  | "unsupported"
  /** The model, its address or a setting that it needs is wrong or missing. */
  | "setup"
  /** The provider refused the request: a model setting, a tool's schema, or the form of the messages. */
  | "request"
  | "cancelled"
  | "unknown";

/** The error that a provider throws. Anything else that it throws counts as class `unknown`. */
export class ProviderFailure extends Error {
  readonly class: ProviderFailureClass;
  readonly retryAfterMs?: number;
  /**
   * Whether the same request may succeed later. Default: yes for rate-limit, overloaded, server, network, timeout and
   * stream.
   */
  readonly isRetryable: boolean;

  constructor(
    failure: {
      class: ProviderFailureClass;
      message: string;
      retryAfterMs?: number | undefined;
      isRetryable?: boolean | undefined;
    },
    options?: ErrorOptions,
  ) {
    super(failure.message, options);
    this.name = "ProviderFailure";
    this.class = failure.class;
    this.isRetryable = failure.isRetryable ?? RETRYABLE.has(failure.class);
    if (failure.retryAfterMs !== undefined) this.retryAfterMs = failure.retryAfterMs;
  }
}

const RETRYABLE: ReadonlySet<ProviderFailureClass> = new Set([
  "rate-limit",
  "overloaded",
  "server",
  "network",
  "timeout",
  "stream",
]);

/** A hint for each class of failure. */
export const FAILURE_HINTS: { readonly [failure: string]: string } = {
  auth: "Check the API key and its permissions.",
  "rate-limit": "Wait, or raise the limits or the credit of the account.",
  overloaded: "Try again later, or use another model.",
  server: "Try again later, or use another model.",
  network: "Check the network and the provider's address.",
  timeout: "Try again, or raise limits.modelIdleMs.",
  stream: "Try again. If it fails again, update the provider's package.",
  "context-overflow": "Compact the session, or send less.",
  input: "Change the input or what is attached to it.",
  unsupported: "Use a model that can do this, or leave it out.",
  setup: "Check the model's name, the provider's address (base URL) and its settings.",
  request: "Check `settings`, the tools' schemas, and plugins that change requests.",
} satisfies { readonly [C in Exclude<ProviderFailureClass, "cancelled" | "unknown">]: string };

/** The record of one attempt at a model call. */
export interface Attempt {
  readonly startedAt: number;
  readonly ms: number;
  readonly error?: { readonly class: ProviderFailureClass; readonly message: string };
  /** Milliseconds waited before the next attempt. */
  readonly waitedMs?: number;
}
