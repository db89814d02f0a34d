import { nodeAddress } from "../../model/ids.ts";
import type { Message } from "../../model/message.ts";
import type { SessionView } from "../../model/view.ts";
import type { UiMessage, UiPart } from "./chunks.ts";
import { type Item, storedItems } from "./items.ts";

/**
 * The messages of a session for `useChat({ messages, resume: true })`: one for each input and one for each ended turn.
 * The open turn has only its inputs, because the resumed stream shows the rest.
 */
export function uiMessages({ id, messages, openTurn, inputs }: SessionView): UiMessage[] {
  const turns = Map.groupBy(messages, (message) => nodeAddress(message.id)?.commit ?? message.id);
  const ended = [...turns].flatMap(([turnId, all]): UiMessage[] => {
    const parts = partsOf(storedItems(turnId, all));
    const answer: UiMessage = { id: turnId, role: "assistant", parts };
    return [...inputsIn(id, all), ...(parts.length > 0 ? [answer] : [])];
  });
  const waiting = inputs.filter(({ state }) => state === "waiting");
  const queued = waiting.map(({ id: input, turnId, message }) => ({
    ...message,
    id: turnId === undefined ? input : `${turnId}.0`,
    origin: { kind: "input", inputId: input } as const,
  }));
  return [...ended, ...inputsIn(id, openTurn?.messages ?? []), ...inputsIn(id, queued as unknown as Message[])];
}

const inputsIn = (session: string, messages: readonly Message[]): readonly UiMessage[] =>
  messages
    .filter(({ role, origin }) => role === "user" && origin?.kind === "input")
    .map(({ id, parts }) => ({
      id,
      role: "user",
      parts: parts.flatMap((part): readonly UiPart[] => {
        if (part.kind === "text") return [{ type: "text", text: part.shown ?? part.text }];
        if (part.kind !== "attachment") return [];
        const { hash, mediaType, name } = part;
        const url = `/v1/sessions/${encodeURIComponent(session)}/blobs/${hash}`;
        return [{ type: "file", mediaType, url, ...(name === undefined ? {} : { filename: name }) }];
      }),
    }));

function partsOf(items: readonly Item[]): UiPart[] {
  let step = -1;
  return items.flatMap((item): readonly UiPart[] => {
    const start: readonly UiPart[] = item.step > step ? [{ type: "step-start" }] : [];
    step = Math.max(step, item.step);
    if (item.kind !== "tool") return [...start, { type: item.kind, text: item.text, state: "done" }];
    const { id: toolCallId, name: toolName, input, result } = item;
    const tool = { type: "dynamic-tool", toolName, toolCallId, input } as const;
    if (result === undefined) return [...start, { ...tool, state: "input-available" }];
    if (result.kind === "output") return [...start, { ...tool, state: "output-available", output: result.output }];
    if (result.kind === "error") return [...start, { ...tool, state: "output-error", errorText: result.text }];
    return [...start, { ...tool, state: "output-denied" }];
  });
}
