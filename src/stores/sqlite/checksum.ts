import { crc32 } from "node:zlib";
import type { Json } from "../../model/json.ts";
import { corrupt } from "../rows/faults.ts";

/**
 * Rows store JSON after its checksum. SQLite detects a damaged page only if its structure is broken; a flipped bit in a
 * text would be read as content. The seed is the position of the row, so that a text in the wrong row is found too.
 */
export function seal(value: unknown, seed: number): string {
  const text = JSON.stringify(value);
  return sum(text, seed) + text;
}

export const sealText = (text: string, seed: number): string => sum(text, seed) + text;

/** `before` is the seed of rows that were written before schema 5. */
export function unseal<T>(sealed: string, seed: number, item: string, before?: number): T {
  const text = unsealText(sealed, seed, item, before);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
}

export function unsealText(sealed: string, seed: number, item: string, before?: number): string {
  if (typeof sealed !== "string") throw corrupt(item, "it is not a text"); // A damaged page may contain any value.
  const text = sealed.slice(SUM_LENGTH);
  const isWhole = sealed.startsWith(sum(text, seed)) || (before !== undefined && sealed.startsWith(sum(text, before)));
  if (!isWhole) throw corrupt(item, NO_FIT);
  return text;
}

/** Returns the checksum of a sealed text, which represents the text in the checksum of its row. */
export const sumIn = (sealed: string | null): Json =>
  typeof sealed === "string" ? sealed.slice(0, SUM_LENGTH) : sealed;

/** Throws unless the checksum of a row's columns matches. Rows from before schema 5 have none. */
export function requireFit(seal: number | null, columns: readonly Json[], item: string): void {
  if (seal !== null && seal !== sumOf(columns)) throw corrupt(item, NO_FIT);
}

const NO_FIT = "its checksum does not fit";
const SUM_LENGTH = 8;
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
function sum(text: string, seed: number): string {
  const crc = crc32(text, seed >>> 0);
  return BYTES[crc >>> 24]! + BYTES[(crc >>> 16) & 255] + BYTES[(crc >>> 8) & 255] + BYTES[crc & 255];
}

/** Returns the checksum of a row's columns. Uses zlib, because a loop in JavaScript is slow until it is compiled. */
export const sumOf = (columns: readonly Json[]): number => crc32(JSON.stringify(columns));
