import { RuntimeError } from "../../model/errors.ts";
import { isObject } from "../../model/json.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../../model/request.ts";
import { type CallOptions, type LanguageModel, type Provider, routeOf } from "../provider.ts";
import { cacheStyleOf } from "./cache.ts";
import { callOptions } from "./call.ts";
import { toFailure } from "./failure.ts";
import type { Callee } from "./prompt.ts";
import { ReplyReader } from "./reply.ts";
import { VERSIONS } from "./versions.ts";

/** Makes a provider of an AI SDK language model, of specification v2, v3 or v4. Nothing of the SDK is imported. */
export function aiSdk(model: LanguageModel): Provider {
  const { provider: api, modelId, specificationVersion: version } = requireModel(model);
  const provider: Provider = {
    id: vendorOf(api),
    modelId,
    stream: (request, options) => stream(model, callee, request, options),
  };
  const route = routeOf(provider);
  const callee: Callee = { version, route, isChat: api.endsWith(".chat"), cache: cacheStyleOf(api, modelId) };
  return provider;
}

/** `anthropic.messages` contains the vendor and its API. A route has only the vendor, like names of models. */
const vendorOf = (api: string): string => api.slice(0, api.includes(".") ? api.lastIndexOf(".") : undefined);

function requireModel(model: unknown): LanguageModel {
  const refuse = (name: string, problem: string): never => {
    throw new RuntimeError("provider.unavailable", { name, problem });
  };
  if (!isObject(model)) return refuse(JSON.stringify(model) ?? "undefined", "it is not an AI SDK language model.");
  const { specificationVersion: version, provider, modelId } = model;
  if (typeof provider !== "string" || typeof modelId !== "string" || typeof model.doStream !== "function") {
    return refuse("(unnamed)", "it is not an AI SDK language model: it lacks provider, modelId or doStream.");
  }
  if (!VERSIONS.some((known) => known === version)) {
    const found = typeof version === "string" ? version : "none";
    return refuse(
      `${provider}/${modelId}`,
      `its AI SDK specification version is ${found}, and ${VERSIONS.join(", ")} are known.`,
    );
  }
  return model as unknown as LanguageModel;
}

async function* stream(
  model: LanguageModel,
  callee: Callee,
  request: ModelRequest,
  options: CallOptions,
): AsyncGenerator<ModelPart | readonly ModelPart[], void, undefined> {
  const { signal } = options;
  const reply = new ReplyReader();
  let source: Source | undefined;
  // Cancelling the source also ends a stream whose model ignores the signal: the pending read then returns `done`.
  const stop = (): void => cancel(source);
  signal.addEventListener("abort", stop);
  try {
    signal.throwIfAborted();
    source = await open(model, await callOptions(request, callee, options), signal);
    for (;;) {
      const { done, value } = await source.read();
      signal.throwIfAborted();
      if (done) break;
      const parts = reply.read(value);
      // Yields an empty list too, because it shows that the model still works.
      yield parts.length === 1 ? parts[0]! : parts;
    }
    // `finish` is held back until the stream is read to its end, so that the connection can be used again.
    if (reply.finish !== undefined) yield reply.finish;
  } catch (thrown) {
    if (reply.finish !== undefined && !signal.aborted) yield reply.finish;
    else throw toFailure(thrown, signal);
  } finally {
    signal.removeEventListener("abort", stop);
    cancel(source);
  }
}

interface Source {
  read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(): Promise<void>;
}

/** Does not wait: cancelling half of a teed stream ends only when the other half is cancelled. */
const cancel = (source: Source | undefined): void => void source?.cancel().catch(() => undefined);

async function open(model: LanguageModel, options: unknown, signal: AbortSignal): Promise<Source> {
  const asked = Promise.resolve((model as { doStream(options: unknown): PromiseLike<unknown> }).doStream(options));
  let giveUp = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal.reason);
    signal.addEventListener("abort", giveUp);
  });
  try {
    return sourceOf(await Promise.race([asked, aborted]));
  } catch (thrown) {
    // A model that ignores the signal can still open a stream, which no code would close.
    if (signal.aborted) asked.then((late) => cancel(sourceOf(late))).catch(() => undefined);
    throw thrown;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}

function sourceOf(answer: unknown): Source {
  const readable = isObject(answer) ? answer.stream : undefined;
  if (!isObject(readable) || typeof readable.getReader !== "function") {
    throw new ProviderFailure({ class: "unsupported", message: "The model gave no readable stream." });
  }
  return readable.getReader() as Source;
}
