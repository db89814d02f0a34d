import type { Message, Part, TextPart } from "../../index.ts";
import { nameOf } from "./prune.ts";
import { TEXTS } from "./texts.ts";

const RESULT_CHARS_MAX = 6_000;
const INPUT_CHARS_MAX = 2_000;

/** A conversation as plain text for the summary, one text per message. Reasoning is left out. */
export const wordsOf = (messages: readonly Message[]): readonly string[] =>
  messages.map(({ role, parts }) => parts.map((part) => lineOf(role, part)).join("")).filter((words) => words !== "");

function lineOf(role: Message["role"], part: Part): string {
  switch (part.kind) {
    case "text":
      return line(role, part.text);
    case "reasoning":
      return "";
    case "attachment":
      return line(role, `[${nameOf(part)}]`);
    case "toolCall":
      return line(`${role} calls ${part.name}`, shortened(JSON.stringify(part.input), INPUT_CHARS_MAX));
    case "toolResult":
      return line(`${part.name} gave (${part.status})`, shortened(textIn(part.parts), RESULT_CHARS_MAX));
    case "codeOutput":
      return line(`output (${part.status})`, shortened(textIn(part.parts), RESULT_CHARS_MAX));
  }
}

export const textIn = (parts: readonly Part[]): string =>
  parts.map((part) => (part.kind === "attachment" ? `[${nameOf(part)}]` : (part as Partial<TextPart>).text)).join("\n");

/** Later lines are indented, so that nothing in a message or a file can pass for somebody else's message. */
const line = (who: string, text: string): string =>
  text === "" ? "" : `${who}: ${text.replace(/\r\n|[\n\r\u2028\u2029]/gu, "\n  ")}\n`;

/** The beginning and the end of a long text. */
export function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = wholeTo(text, Math.floor(max * 0.7));
  const tail = wholeTo(text, text.length - Math.floor(max * 0.3));
  return `${text.slice(0, head)} ${TEXTS.charsLeftOut(tail - head)} ${text.slice(tail)}`;
}

/** The same place, or one before where it would part the two halves of a surrogate pair. */
export const wholeTo = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at - 1 : at);
