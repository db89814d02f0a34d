// Prints text of models, tools and errors. `--help` loads this file, so it imports no file of the runtime.
import { inspect } from "node:util";
import type { Io, Settings } from "./io.ts";

/**
 * Control characters, which control a terminal, and bidirectional ones, which show text in a wrong order. Joiners and
 * other invisible characters are part of ordinary words and emoji, and are printed unchanged.
 */
const UNSAFE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;
/** All characters that have no visible shape. */
const HIDDEN = /[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu;

const spelt = (character: string): string => `\\u{${character.codePointAt(0)?.toString(16)}}`;
const speltInJson = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${hex(character.charCodeAt(at))}`).join("");
const hex = (unit: number): string => unit.toString(16).padStart(4, "0");

/** The text with unsafe characters escaped (`\u{1b}`), and with LF for CRLF. */
export const printable = (words: string): string => words.replaceAll("\r\n", "\n").replace(UNSAFE, spelt);

/** Escapes all hidden characters too, because a person who allows a call must see what the call does. */
export const visible = (words: string): string => words.replace(HIDDEN, spelt);

/** The JSON of a question, for a person to read or edit. Hidden characters are escaped, also with `--raw`. */
export const editable = (value: unknown): string => JSON.stringify(value).replace(HIDDEN, speltInJson);

/** The option `--raw`. */
export type Raw = Partial<Pick<Settings, "raw">>;
export const textFor = ({ raw = false }: Raw): ((words: string) => string) => (raw ? (words) => words : printable);

/** JSON for printing. It has the same value with and without `raw`. */
export function jsonFor({ raw = false }: Raw, value: unknown, indent?: number): string {
  const json = JSON.stringify(value, undefined, indent);
  return raw ? json : json.replace(UNSAFE, speltInJson);
}

export const oneLine = (words: string, text = printable): string => text(words.replace(/\s+/g, " ").trim());
export const cut = (words: string, max: number): string => (words.length > max ? `${words.slice(0, max)}…` : words);
export const SHOWN_MAX = 80;
export const firstWords = (words: string, max = SHOWN_MAX, text = printable): string => cut(oneLine(words, text), max);

/** An error in one line, with what to do. With BOWLINE_DEBUG the stack follows. */
export function explain(error: unknown, env: Io["env"]): string {
  const { hint } = faultOf(error);
  const line = `bowline: ${oneLine(messageOf(error) + (hint === undefined ? "" : ` ${hint}`))}`;
  return env.BOWLINE_DEBUG === "1" ? `${line}\n${printable(inspect(error))}` : line;
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

/** The code and the hint of an error of this package. An app can throw errors of another copy of the package. */
export function faultOf(error: unknown): { readonly code?: string | undefined; readonly hint?: string | undefined } {
  const { code, hint } = (error ?? {}) as { readonly code?: unknown; readonly hint?: unknown };
  return typeof hint === "string" ? { hint, code: typeof code === "string" ? code : undefined } : {};
}
