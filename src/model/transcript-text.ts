import type { CallId } from "./ids.ts";
import { type Known, requireKnown } from "./known.ts";
import type { Attachment, Draft, Part, TextPart } from "./message.ts";
import { TEXTS } from "./texts.ts";

export interface TranscriptOptions {
  /** How many characters of a call's arguments are shown: their beginning and end. Default 2,000. */
  readonly inputCharsMax?: number | undefined;
  /** How many characters of a result are shown. Default 6,000. */
  readonly resultCharsMax?: number | undefined;
  /** The maximum length in characters. A note replaces the oldest messages if they do not fit. Default: no limit. */
  readonly charsMax?: number | undefined;
  /** Shows reasoning too. Default: false. */
  readonly reasoning?: boolean | undefined;
}
const OPTIONS: Known<TranscriptOptions> = {
  inputCharsMax: true,
  resultCharsMax: true,
  charsMax: true,
  reasoning: true,
};

/**
 * A conversation as plain text, for a model that summarises or judges it. A message begins with its speaker, and its
 * later lines are indented. So no text in a message or a file looks like another speaker's message. A call and its
 * result have the same number. Attachments are named, not shown.
 */
export function transcriptText(messages: readonly Draft[], options: TranscriptOptions = {}): string {
  const { charsMax = Number.POSITIVE_INFINITY } = options;
  const texts = transcriptTexts(messages, options);
  let first = texts.length;
  let chars = 0;
  while (first > 0 && chars + (texts[first - 1] as string).length <= charsMax)
    chars += (texts[--first] as string).length;
  if (first === 0) return texts.join("");
  if (first === texts.length) return `${shortened(texts.at(-1)?.trimEnd() ?? "", charsMax)}\n`;
  return `[… ${first} earlier messages left out …]\n${texts.slice(first).join("")}`;
}

/** The same as a list, one text per message, without empty ones. */
export function transcriptTexts(messages: readonly Draft[], options: TranscriptOptions = {}): readonly string[] {
  requireKnown("transcriptText", options, OPTIONS);
  const { inputCharsMax = 2_000, resultCharsMax = 6_000, reasoning = false } = options;
  const numbers = new Map<CallId, number>(); // A later call can have the id of an earlier one. Its result follows it.
  let calls = 0;
  const lineOf = (role: string, part: Part): string => {
    switch (part.kind) {
      case "text":
        return line(role, part.text);
      case "reasoning":
        return reasoning ? line(`${role} thinks`, part.text) : "";
      case "attachment":
        return line(role, nameOf(part));
      case "toolCall":
        numbers.set(part.callId, ++calls);
        return line(
          `${role} calls ${part.name} #${calls}`,
          shortened(part.malformed ?? JSON.stringify(part.input), inputCharsMax),
        );
      case "toolResult": {
        const number = numbers.get(part.callId);
        const which = number === undefined ? part.name : `${part.name} #${number}`;
        return line(`${which} gave (${part.status})`, shortened(textIn(part.parts), resultCharsMax));
      }
      case "codeOutput":
        return line(`output (${part.status})`, shortened(textIn(part.parts), resultCharsMax));
    }
  };
  return messages
    .map(({ role, parts }) => parts.map((part) => lineOf(role, part)).join(""))
    .filter((words) => words !== "");
}

/** The beginning and the end of a text that is longer than this many characters; `gap` makes the text between them. */
export function shortened(
  text: string,
  charsMax: number,
  gap: (chars: number) => string = (chars) => ` ${TEXTS.charsLeftOut(chars)} `,
): string {
  if (text.length <= charsMax) return text;
  const head = wholeTo(text, Math.floor(charsMax * 0.7));
  const tail = wholeTo(text, text.length - Math.floor(charsMax * 0.3));
  return `${text.slice(0, head)}${gap(tail - head)}${text.slice(tail)}`;
}

/** The same position, or one less if it would split a surrogate pair. */
const wholeTo = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at - 1 : at);

const textIn = (parts: readonly (TextPart | Attachment)[]): string =>
  parts.map((part) => (part.kind === "attachment" ? nameOf(part) : part.text)).join("\n");

const nameOf = ({ mediaType, name, bytes }: Attachment): string =>
  `[${mediaType}${name === undefined ? "" : ` ${JSON.stringify(name)}`}, ${bytes} bytes]`;

const line = (who: string, text: string): string =>
  text === "" ? "" : `${who}: ${text.replace(/\r\n|[\n\r\u2028\u2029]/gu, "\n  ")}\n`;
