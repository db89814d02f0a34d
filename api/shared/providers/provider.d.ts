import { Awaitable } from "../model/json.js";
import { BlobHash } from "../model/ids.js";
import { ModelPart, ModelRequest } from "../model/request.js";
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
export { Capabilities, LanguageModel, Model, ModelResolver, Provider };
