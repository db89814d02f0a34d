import { asCallId } from "../../model/ids.ts";
import { isObject, type Json, type JsonObject, storable } from "../../model/json.ts";
import { type FinishReason, type ModelPart, ProviderFailure } from "../../model/request.ts";
import { toFailure } from "./failure.ts";
import { usageOf } from "./usage.ts";

type StreamPart = { readonly [key: string]: unknown };
type Finish = Extract<ModelPart, { kind: "finish" }>;

/** A text or reasoning that is being streamed. */
interface Block {
  readonly of: "text" | "reasoning";
  /** The id in the stream, or a new one when the stream uses an id twice. */
  readonly id: string;
  data: JsonObject;
  isEmpty: boolean;
}

/** Reads the stream of one reply, of any version of the specification. Unknown parts are ignored. */
export class ReplyReader {
  /** The last `finish`: a stream may contain several messages, and some packages finish each. */
  finish: Finish | undefined;
  readonly #blocks = new Map<string, Block>();
  readonly #ids = new Set<string>();

  read(part: unknown): readonly ModelPart[] {
    if (!isObject(part)) return [];
    switch (part.type) {
      case "text-start":
      case "text-delta":
        return this.#said("text", part);
      case "reasoning-start":
      case "reasoning-delta":
        return this.#said("reasoning", part);
      case "text-end":
        return this.#ended("text", part);
      case "reasoning-end":
        return this.#ended("reasoning", part);
      case "tool-call":
        // A call that the provider runs itself comes with its result, so the runtime must not run it.
        return part.providerExecuted === true ? [] : [call(part)];
      case "finish":
        return this.#finished(part);
      case "error":
        throw toFailure(part.error, undefined, "stream");
      default:
        return [];
    }
  }

  #said(of: Block["of"], part: StreamPart): readonly ModelPart[] {
    const block = this.#blocks.get(keyOf(of, part)) ?? this.#open(of, part);
    block.data = merged(block.data, part.providerMetadata);
    if (typeof part.delta !== "string" || part.delta === "") return [];
    block.isEmpty = false;
    return [{ kind: of, delta: part.delta, id: block.id }];
  }

  #open(of: Block["of"], part: StreamPart): Block {
    const wanted = String(part.id ?? of);
    let id = wanted;
    for (let times = 2; this.#ids.has(`${of} ${id}`); times++) id = `${wanted}#${times}`;
    this.#ids.add(`${of} ${id}`);
    const block: Block = { of, id, data: {}, isEmpty: true };
    this.#blocks.set(keyOf(of, part), block);
    return block;
  }

  #ended(of: Block["of"], part: StreamPart): readonly ModelPart[] {
    const key = keyOf(of, part);
    const block = this.#blocks.get(key);
    if (block === undefined) return [];
    this.#blocks.delete(key);
    block.data = merged(block.data, part.providerMetadata);
    return madeOf(block);
  }

  #finished(part: StreamPart): readonly ModelPart[] {
    this.finish = finishOf(part);
    const unended = [...this.#blocks.values()];
    this.#blocks.clear();
    return this.finish === undefined ? [] : unended.flatMap(madeOf);
  }
}

const keyOf = (of: Block["of"], part: StreamPart): string => `${of} ${String(part.id)}`;

function madeOf({ of, id, data, isEmpty }: Block): readonly ModelPart[] {
  if (Object.keys(data).length === 0) return [];
  const made: ModelPart = { kind: "made", of, id, data };
  // Hidden reasoning has no text, but its metadata must keep its place among the parts.
  return isEmpty ? [{ kind: of, delta: "", id }, made] : [made];
}

function call(part: StreamPart): ModelPart {
  const data = merged({}, part.providerMetadata);
  return {
    kind: "call",
    callId: asCallId(String(part.toolCallId)),
    name: String(part.toolName),
    input: typeof part.input === "string" ? part.input : (storable(part.input) ?? {}),
    ...(Object.keys(data).length === 0 ? {} : { data }),
  };
}

/** Merges the metadata of a block's start, deltas and end, by provider. The latest value of a field wins. */
function merged(data: JsonObject, metadata: unknown): JsonObject {
  const more = metadata === undefined ? undefined : storable(metadata);
  if (!isObject(more)) return data;
  const all: { [provider: string]: Json } = { ...data };
  for (const [provider, fields] of Object.entries(more as JsonObject)) {
    const known = all[provider];
    all[provider] = isObject(known) && isObject(fields) ? { ...known, ...fields } : fields;
  }
  return all;
}

const REASONS: { readonly [reason: string]: FinishReason } = {
  stop: "stop",
  "tool-calls": "calls",
  length: "length",
  "content-filter": "refused",
};

/** Undefined for a `finish` that the package generated because its stream was cut. */
function finishOf(part: StreamPart): Finish | undefined {
  const said = part.finishReason;
  const { unified, raw } = isObject(said) ? said : { unified: said, raw: undefined };
  if (unified === "error") {
    const why = typeof raw === "string" && raw !== "error" ? ` (${raw})` : "";
    throw new ProviderFailure({ class: "stream", message: `The model ended its reply with an error${why}.` });
  }
  if (unified === "interrupted") return undefined;
  const usage = usageOf(part);
  const reason = (typeof unified === "string" ? REASONS[unified] : undefined) ?? "other";
  // Older packages do not mark a cut. Then they have neither a reason nor usage.
  if (reason === "other" && raw === undefined && usage === undefined) return undefined;
  return { kind: "finish", reason, ...(usage === undefined ? {} : { usage }) };
}
