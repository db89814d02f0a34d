import { Draft } from "./message.js";
interface TranscriptOptions {
  /** How many characters of a call's arguments are shown: their beginning and end. Default 2,000. */
  readonly inputCharsMax?: number | undefined;
  /** How many characters of a result are shown. Default 6,000. */
  readonly resultCharsMax?: number | undefined;
  /** The maximum length in characters. A note replaces the oldest messages if they do not fit. Default: no limit. */
  readonly charsMax?: number | undefined;
  /** Shows reasoning too. Default: false. */
  readonly reasoning?: boolean | undefined;
}
/**
 * A conversation as plain text, for a model that summarises or judges it. A message begins with its speaker, and its
 * later lines are indented. So no text in a message or a file looks like another speaker's message. A call and its
 * result have the same number. Attachments are named, not shown.
 */
declare function transcriptText(messages: readonly Draft[], options?: TranscriptOptions): string;
/** The same as a list, one text per message, without empty ones. */
declare function transcriptTexts(messages: readonly Draft[], options?: TranscriptOptions): readonly string[];
/** The beginning and the end of a text that is longer than this many characters; `gap` makes the text between them. */
declare function shortened(text: string, charsMax: number, gap?: (chars: number) => string): string;
export { TranscriptOptions, shortened, transcriptText, transcriptTexts };
