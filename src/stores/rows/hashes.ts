import { hash } from "node:crypto";

/** Names of blobs are hashes of their content. */

const HASH_LENGTH = 43;

/** Returns everything that looks like a hash. A wrong guess only keeps a blob too long. */
export function* hashesIn(text: string): Iterable<string> {
  // No regular expression: it overflows on a word of some megabytes.
  for (let at = 0, start = 0; at <= text.length; at++) {
    if (at < text.length && isInHash(text.charCodeAt(at))) continue;
    for (let from = start; from + HASH_LENGTH <= at; from++) yield text.slice(from, from + HASH_LENGTH);
    start = at + 1;
  }
}

const IN_HASH: readonly boolean[] = Array.from({ length: 128 }, (_, code) => /[\w-]/.test(String.fromCharCode(code)));
const isInHash = (code: number): boolean => IN_HASH[code] === true;

/** Returns whether content matches its name. */
export const isWhole = (name: string, data: Uint8Array): boolean => hash("sha256", data, "base64url") === name;

/**
 * Up to this number, hashes are searched for one by one: a text of megabytes without a space contains as many
 * candidates as characters.
 */
const FEW = 32;
const LATELY = 1_000;

/** The blobs that this process put last. They are certain, unlike texts that only look like a hash. */
export class RecentBlobs {
  readonly #names = new Set<string>();

  add(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size > LATELY) this.#names.delete(this.#names.keys().next().value as string);
  }

  /** Returns those that a text contains. */
  namedIn(text: () => string): ReadonlySet<string> {
    const named = new Set<string>();
    if (this.#names.size === 0) return named;
    const all = text();
    if (this.#names.size > FEW) for (const name of hashesIn(all)) if (this.#names.has(name)) named.add(name);
    if (this.#names.size <= FEW) for (const name of this.#names) if (all.includes(name)) named.add(name);
    return named;
  }
}
