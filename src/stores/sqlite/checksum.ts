import { crc32 } from "node:zlib";
import { RuntimeError } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";

/**
 * Rows hold JSON behind a checksum of it. SQLite finds a damaged page only when its structure is hurt; a flipped bit in
 * a text would be read as what someone said. The seed is where the row belongs, so that a text in the wrong row is found
 * too.
 */
export function seal(value: unknown, seed: number): string {
  const text = JSON.stringify(value);
  return sum(text, seed) + text;
}

export const sealText = (text: string, seed: number): string => sum(text, seed) + text;

export function unseal<T>(sealed: string, seed: number, item: string): T {
  const text = unsealText(sealed, seed, item);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
}

export function unsealText(sealed: string, seed: number, item: string): string {
  const text = sealed.slice(SUM_LENGTH);
  if (!sealed.startsWith(sum(text, seed))) throw corrupt(item, "its checksum does not fit");
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

export const checksumOf = (values: readonly Json[]): number => crc32(JSON.stringify(values));
