import { crc32 } from "node:zlib";
import { RuntimeError } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";

/**
 * Rows hold JSON behind a checksum of it. SQLite finds a damaged page only when its structure is hurt; a flipped bit in
 * a text would be read as what someone said. The seed is where the row belongs, so that a text in the wrong row is found
 * too.
 */
export const pack = (value: unknown, seed: number): string => packText(JSON.stringify(value), seed);

export const packText = (text: string, seed: number): string => sum(text, seed) + text;

export function unpack<T>(packed: string, seed: number, item: string): T {
  const text = unpackText(packed, seed, item);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
}

export function unpackText(packed: string, seed: number, item: string): string {
  const text = packed.slice(SUM_LENGTH);
  if (!packed.startsWith(sum(text, seed))) throw corrupt(item, "its checksum does not fit");
  return text;
}

export const corrupt = (item: string, problem: string, cause?: unknown): RuntimeError =>
  new RuntimeError("store.corrupt", { item, problem }, { cause });

const SUM_LENGTH = 8;
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
function sum(text: string, seed: number): string {
  const crc = crc32(text, seed >>> 0);
  return BYTES[crc >>> 24]! + BYTES[(crc >>> 16) & 255] + BYTES[(crc >>> 8) & 255] + BYTES[crc & 255];
}

export const sumOf = (...values: readonly Json[]): number => crc32(JSON.stringify(values));

/**
 * A text as SQLite keeps it. It ends texts at NUL and replaces lone surrogates, so that two keys would become one:
 * such texts are kept as JSON behind a mark that no other kept text begins with.
 */
export function keyText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.isWellFormed() && !/\u0000|^\u0001/.test(text) ? text : `\u0001${JSON.stringify(text)}`;
}

export const fromKeyText = (kept: string): string =>
  kept.startsWith("\u0001") ? (JSON.parse(kept.slice(1)) as string) : kept;
