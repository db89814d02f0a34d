import { asCallId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { type FinishReason, type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { NO_USAGE, type Usage } from "../model/usage.ts";
import type { Provider } from "./provider.ts";

/** One reply of a scripted model: parts, or a function of the request, or a failure to throw. */
export type Reply =
  | readonly ModelPart[]
  | ProviderFailure
  | ((request: ModelRequest) => readonly ModelPart[] | ProviderFailure);

export interface Scripted extends Provider {
  /** What it was asked, oldest first. */
  readonly requests: readonly ModelRequest[];
}

const USAGE: Usage = { ...NO_USAGE, input: 10, output: 5 };
const finish = (reason: FinishReason, usage: Usage = USAGE): ModelPart => ({ kind: "finish", reason, usage });

/** Says this, in one delta or in the given ones. */
export const says = (...deltas: readonly string[]): readonly ModelPart[] => [
  ...deltas.map((delta): ModelPart => ({ kind: "text", delta })),
  finish("stop"),
];

/** Thinks this, then goes on. */
export const thinks = (words: string, then: readonly ModelPart[]): readonly ModelPart[] => [
  { kind: "reasoning", delta: words },
  ...then,
];

/** Calls one tool; `both(calls(…), calls(…))` calls several in one reply. */
export const calls = (name: string, input: Json = {}, id?: string): readonly ModelPart[] => [
  { kind: "call", callId: asCallId(id ?? `call_${name}`), name, input },
  finish("calls"),
];

/** Several replies as one: everything they say and call, then one end. */
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

/** Ends otherwise than well: cut off by the output limit, or refused. */
export const ends = (reason: FinishReason, ...deltas: readonly string[]): readonly ModelPart[] => [
  ...deltas.map((delta): ModelPart => ({ kind: "text", delta })),
  finish(reason),
];

/** Breaks off after these parts, without an end. */
export const cut = (...deltas: readonly string[]): readonly ModelPart[] =>
  deltas.map((delta) => ({ kind: "text", delta }));

/** A model that plays these replies in order, for tests. Asked once more than it knows, it fails and says so. */
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
