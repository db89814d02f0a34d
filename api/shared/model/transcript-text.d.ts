import { Draft } from "./message.js";
interface TranscriptOptions {
  /** Characters that are shown of a call's arguments: their beginning and end. Default 2,000. */
  readonly inputCharsMax?: number | undefined;
  /** Characters that are shown of a result. Default 6,000. */
  readonly resultCharsMax?: number | undefined;
  /** Characters in all; what is left out are the oldest messages, and a note says so. Default: no bound. */
  readonly charsMax?: number | undefined;
  /** Shows reasoning, too. Default: false. */
  readonly reasoning?: boolean | undefined;
}
/**
 * A conversation as plain text, for a model that summarises or judges it. Lines begin with who speaks; later lines of
 * the same message are indented, so that nothing in a message or a file can pass for somebody else's words. A call and
 * its result have the same number. Attachments are named, not shown.
 */
declare function transcriptText(messages: readonly Draft[], options?: TranscriptOptions): string;
/** The same as a list, one text per message; one that says nothing is left out. */
declare function transcriptTexts(messages: readonly Draft[], options?: TranscriptOptions): readonly string[];
/** The beginning and the end of a text that is longer than this many characters; `gap` says what is between them. */
declare function shortened(text: string, charsMax: number, gap?: (chars: number) => string): string;
export { TranscriptOptions, shortened, transcriptText, transcriptTexts };
