import type { Attachment, Message, Part, TextPart } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

/** Whether the message is from a user, not from a plugin, the runtime or code. */
export const isSaid = (message: Message): boolean => {
  const { role, origin } = message;
  return role === "user" && origin?.kind !== "plugin" && origin?.kind !== "runtime" && !isResult(message);
};

/** Whether the message has results of the message before it: the two belong together. */
export const isResult = ({ role, parts }: Message): boolean =>
  role === "tool" || parts.some(({ kind }) => kind === "codeOutput");

/** Each message is pruned once and cached, so that its size is also measured only once. */
const pruned = new WeakMap<Message, Message>();

/**
 * Replaces the attachments before the user's latest `keepTurns` turns by their names. Returns the same list if there
 * are none.
 */
export function prune(messages: readonly Message[], keepTurns: number): readonly Message[] {
  const firstKept = beginningOf(messages, keepTurns);
  if (!messages.slice(0, firstKept).some(hasAttachment)) return messages;
  return messages.map((message, index) => (index < firstKept && hasAttachment(message) ? prunedOf(message) : message));
}

/** The index where the user's latest `turns` turns begin. Consecutive messages of the user count as one turn. */
function beginningOf(messages: readonly Message[], turns: number): number {
  let left = turns;
  for (let index = messages.length - 1; index > 0; index--)
    if (isSaid(messages[index] as Message) && !isSaid(messages[index - 1] as Message) && --left === 0) return index;
  return 0;
}

const hasAttachment = ({ parts }: Message): boolean => parts.some(isOrHasAttachment);
const isOrHasAttachment = (part: Part): boolean =>
  part.kind === "attachment" || ("parts" in part && part.parts.some(({ kind }) => kind === "attachment"));

function prunedOf(message: Message): Message {
  const before = pruned.get(message);
  if (before !== undefined) return before;
  const made: Message = {
    ...message,
    parts: message.parts.map((part) => ("parts" in part ? { ...part, parts: part.parts.map(named) } : named(part))),
  };
  pruned.set(message, made);
  return made;
}

const named = <P extends Part>(part: P): P | TextPart =>
  part.kind === "attachment" ? { kind: "text", text: TEXTS.attachmentLeftOut(nameOf(part)) } : part;

export const nameOf = ({ mediaType, name, bytes }: Attachment): string =>
  `${mediaType}${name === undefined ? "" : ` ${JSON.stringify(name)}`}, ${bytes} bytes`;
