import type { Awaitable } from "../model/awaitable.ts";
import type { BlobHash } from "../model/ids.ts";
import type { ModelPart, ModelRequest } from "../model/request.ts";

/** The capabilities of a model. If a field is missing, the capability is unknown and is tried. */
export interface Capabilities {
  /** Media types that may be attached, for example `image/*`. */
  readonly attachments?: readonly string[] | undefined;
  /** The size of the context window, in tokens. */
  readonly contextTokens?: number | undefined;
  /** Whether a reply may call several tools. */
  readonly isParallelCalls?: boolean | undefined;
}

export interface CallOptions {
  /** Aborts on cancel. The stream must then end soon, normally or with an error. */
  readonly signal: AbortSignal;
  /** Returns the bytes of an attachment in the messages. */
  load(hash: BlobHash): Awaitable<Uint8Array>;
}

/**
 * A model that can be called.
 *
 * 1. A stream yields parts, singly or in lists, and ends with exactly one `finish`. A stream without `finish` was cut.
 * 2. Failures are thrown as `ProviderFailure`.
 * 3. A provider never retries: `runtime/services/model-call.ts` does, and the retries of both would multiply.
 * 4. It keeps no data between calls. It reads credentials inside `stream`, so that they do not stay in memory.
 */
export interface Provider {
  readonly id: string;
  readonly modelId: string;
  readonly capabilities?: Capabilities | undefined;
  stream(request: ModelRequest, options: CallOptions): AsyncIterable<ModelPart | readonly ModelPart[]>;
}

/** An AI SDK language model, as a type. `never` makes the option types of every version match without an import. */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: never): PromiseLike<unknown>;
  doStream(options: never): PromiseLike<{ stream: unknown }>;
}

export type Model = LanguageModel | Provider;

/** Finds a model by its name. Sessions keep the name of their model, never the object. */
export type ModelResolver = (name: string) => Awaitable<Model | undefined>;

export const isProvider = (model: Model): model is Provider =>
  typeof (model as Partial<Provider>).stream === "function";

/**
 * Names the model that a reply came from, as in `anthropic/claude-…`. Its reasoning is sent back to that model only.
 */
export const routeOf = (provider: Provider): string => `${provider.id}/${provider.modelId}`;
