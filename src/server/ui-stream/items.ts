// The items of a turn in the order of a chat: from the previews of a running turn, and from its messages.
//
// items-1 Both ways give the same items for the same turn, so a client that saw it live shows what a later one loads.
import type { Json } from "../../model/json.ts";
import type { Message, ToolResultPart, ToolStatus } from "../../model/message.ts";
import { projectOutput, statusOf, type ToolOutput } from "../../model/tool.ts";
import type { OpenTurn } from "../../model/view.ts";
import type { LivePart } from "./live-turn.ts";

export type Item = TextItem | ToolItem;

/** Text that comes in one piece. `step` counts the rounds that show something, from 0. */
export interface TextItem {
  readonly kind: "text" | "reasoning";
  readonly step: number;
  readonly text: string;
}

export interface ToolItem {
  readonly kind: "tool";
  readonly step: number;
  /** `turnId/effect`. */
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  readonly result?: Result;
  /** The tool has returned, and hooks look at its result. */
  readonly isReturned?: boolean;
}

export type Result =
  | { readonly kind: "output"; readonly output: Json }
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "denied" };

/** The items of a running turn. */
export function liveItems(turnId: string, parts: readonly LivePart[]): readonly Item[] {
  const rounds: string[] = [];
  return parts.flatMap((part): readonly Item[] => {
    if (part.kind !== "call" && part.text === "") return [];
    const round = part.effect.slice(0, part.effect.indexOf("."));
    if (rounds.at(-1) !== round) rounds.push(round);
    const step = rounds.length - 1;
    if (part.kind !== "call") return [{ kind: part.kind, step, text: part.text }];
    const { effect, output, isReturned } = part;
    const { name, input } = part.call;
    const call = { kind: "tool", step, id: `${turnId}/${effect}`, name, input, isReturned } as const;
    if (output === undefined) return [call];
    const result = RESULTS.get(output) ?? resultOf(statusOf(output), projectOutput(output));
    RESULTS.set(output, result);
    return [{ ...call, result }];
  });
}
/** A stream reads the items of its turn many times per second. */
const RESULTS = new WeakMap<ToolOutput, Result>();

/** The items of the recorded part of an open turn. */
export function openItems({ id: turnId, messages, calls }: OpenTurn): readonly Item[] {
  return storedItems(turnId, messages).map((item) => {
    const call = item.kind === "tool" ? calls.find(({ effect }) => item.id === `${turnId}/${effect}`) : undefined;
    if (call?.output === undefined) return item;
    return { ...item, result: resultOf(statusOf(call.output), projectOutput(call.output)) };
  });
}

/** The items of a turn from its messages. */
export function storedItems(turnId: string, messages: readonly Message[]): readonly Item[] {
  const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "toolResult"));
  const items: Item[] = [];
  let round = 0;
  for (const { role, parts } of messages) {
    if (role !== "assistant") continue;
    round++;
    let calls = 0;
    const step = (items.at(-1)?.step ?? -1) + 1;
    for (const part of parts) {
      const last = items.at(-1);
      if (part.kind === "text" || part.kind === "reasoning") {
        const text = part.kind === "text" ? (part.shown ?? part.text) : part.text;
        if (text === "") continue;
        if (last?.kind === part.kind && last.step === step)
          items[items.length - 1] = { ...last, text: last.text + text };
        else items.push({ kind: part.kind, step, text });
      } else if (part.kind === "toolCall") {
        const { callId, name, input } = part;
        const at = results.findIndex((each) => each.callId === callId);
        const [found] = at < 0 ? [] : results.splice(at, 1); // A provider can repeat an id in a later round.
        const id = `${turnId}/r${round}.call.${calls++}`;
        const call = { kind: "tool", step, id, name, input } as const;
        items.push(found === undefined ? call : { ...call, result: resultOf(found.status, found.parts) });
      }
    }
  }
  return items;
}

/** The result as the model reads it, because the history keeps nothing else. JSON becomes data again. */
function resultOf(status: ToolStatus, parts: ToolResultPart["parts"]): Result {
  const text = parts.flatMap((part) => (part.kind === "text" ? [part.text] : [`[${part.name ?? part.mediaType}]`]));
  const words = text.join("\n");
  if (status === "denied") return { kind: "denied" };
  return status === "ok" ? { kind: "output", output: dataIn(words) } : { kind: "error", text: words };
}

function dataIn(text: string): Json {
  if (!/^[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
