import { asCallId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { type FinishReason, type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { NO_USAGE, type Usage } from "../model/usage.ts";
import type { Provider } from "./provider.ts";

/** One reply of a scripted model: parts, a failure to throw, or a function of the request that gives either. */
export type Reply =
  | readonly ModelPart[]
  | ProviderFailure
  | ((request: ModelRequest) => readonly ModelPart[] | ProviderFailure);

export interface Scripted extends Provider {
  /** All requests so far, oldest first. */
  readonly requests: readonly ModelRequest[];
}

const USAGE: Usage = { ...NO_USAGE, input: 10, output: 5 };
const finish = (reason: FinishReason, usage: Usage = USAGE): ModelPart => ({ kind: "finish", reason, usage });

/** A reply of text, streamed in these deltas. */
export const says = (...deltas: readonly string[]): readonly ModelPart[] => [
  ...deltas.map((delta): ModelPart => ({ kind: "text", delta })),
  finish("stop"),
];

/** A reply that begins with reasoning. */
export const thinks = (words: string, then: readonly ModelPart[]): readonly ModelPart[] => [
  { kind: "reasoning", delta: words },
  ...then,
];

/** A reply that calls one tool. `both(calls(…), calls(…))` calls several in one reply. */
export const calls = (name: string, input: Json = {}, id?: string): readonly ModelPart[] => [
  { kind: "call", callId: asCallId(id ?? `call_${name}`), name, input },
  finish("calls"),
];

/** Joins replies into one: all texts and calls, then one `finish`. */
export function both(...replies: readonly (readonly ModelPart[])[]): readonly ModelPart[] {
  const parts = replies.flat().filter((part) => part.kind !== "finish");
  const isCalling = parts.some((part) => part.kind === "call");
  return [
    ...parts.map((part, index) =>
      part.kind === "call" ? { ...part, callId: asCallId(`${part.callId}_${index}`) } : part,
    ),
    finish(isCalling ? "calls" : "stop"),
  ];
}

/** A reply of text that ends for another reason than `stop`: `length` for the output limit, `refused`, … */
export const ends = (reason: FinishReason, ...deltas: readonly string[]): readonly ModelPart[] => [
  ...deltas.map((delta): ModelPart => ({ kind: "text", delta })),
  finish(reason),
];

/** A reply that ends after these deltas without a `finish`, like a cut stream. */
export const cut = (...deltas: readonly string[]): readonly ModelPart[] =>
  deltas.map((delta) => ({ kind: "text", delta }));

/** A model for tests that gives these replies in order. A further request fails with an error. */
export function scripted(...replies: Reply[]): Scripted {
  const requests: ModelRequest[] = [];
  return {
    id: "scripted",
    modelId: "test",
    requests,
    async *stream(request, { signal }) {
      const reply = replies[requests.length];
      requests.push({ ...request, messages: [...request.messages] });
      const parts = typeof reply === "function" ? reply(request) : reply;
      if (parts === undefined)
        throw new ProviderFailure({
          class: "unknown",
          message: `The script has ${replies.length} ${replies.length === 1 ? "reply" : "replies"} and was asked for one more.`,
        });
      if (parts instanceof ProviderFailure) throw parts;
      for (const part of parts) {
        if (signal.aborted) throw new ProviderFailure({ class: "cancelled", message: "Aborted." });
        yield part;
      }
    },
  };
}
