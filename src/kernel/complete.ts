import type { Draft } from "../model/message.ts";
import type { ModelRequest, ModelSettings, Reply, ToolDeclaration } from "../model/request.ts";
import type { OutputOf, Schema } from "../model/schema.ts";
import type { Usage } from "../model/usage.ts";

/** One model call outside the conversation. */
export interface CompletionRequest {
  readonly system?: string | undefined;
  readonly messages?: readonly Draft[] | undefined;
  /** Default: the model of the session. */
  readonly model?: string | undefined;
  readonly settings?: ModelSettings | undefined;
}
/**
 * The same with tools. The runtime does not run the calls: they are parts of the reply. A `ModelRequest` of a hook fits
 * too, also with other messages, tools or settings.
 */
export interface ReplyRequest extends CompletionRequest {
  readonly tools?: readonly ToolDeclaration[] | undefined;
  /** Default: the default of the provider, mostly `auto`. */
  readonly toolChoice?: ModelRequest["toolChoice"];
  /** How many of the messages a provider can cache, as in `ModelRequest`. */
  readonly stable?: number | undefined;
}
export interface CompletionOptions {
  /** Replaces the model of the request. Default: the model of the request, then of the session. */
  readonly model?: string | undefined;
  /** Replaces the settings of the request. */
  readonly settings?: ModelSettings | undefined;
  /** The label under which usage is booked in the ledger. */
  readonly label?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called once with the cost of all model calls of the completion, also when it fails, and also in a rerun. The cost
   * is already booked. If this throws, the completion throws the same error.
   */
  readonly onUsage?: ((usage: Usage) => void) | undefined;
}
/**
 * Model calls beside the conversation. They are booked in the session's ledger, and a rerun after a crash gets the
 * recorded reply.
 */
export interface Complete {
  text(prompt: string | CompletionRequest, options?: CompletionOptions): Promise<string>;
  object<S extends Schema>(
    prompt: string | CompletionRequest,
    schema: S,
    options?: CompletionOptions,
  ): Promise<OutputOf<S>>;
  /** Returns the complete reply, with its calls if the request had tools. */
  reply(request: ReplyRequest, options?: CompletionOptions): Promise<Reply>;
}
