import { hash } from "node:crypto";

/** Names of blobs: hashes of their content. */

const HASH_LENGTH = 43;

/** Whatever looks like a hash: rather too much is kept than too little. */
export function* hashesIn(text: string): Iterable<string> {
  // Not by a regular expression: it fails on a run of some megabytes.
  for (let at = 0, start = 0; at <= text.length; at++) {
    if (at < text.length && isInHash(text.charCodeAt(at))) continue;
    for (let from = start; from + HASH_LENGTH <= at; from++) yield text.slice(from, from + HASH_LENGTH);
    start = at + 1;
  }
}

const IN_HASH: readonly boolean[] = Array.from({ length: 128 }, (_, code) => /[\w-]/.test(String.fromCharCode(code)));
const isInHash = (code: number): boolean => IN_HASH[code] === true;

/** Whether content fits its name. */
export const isWhole = (name: string, data: Uint8Array): boolean => hash("sha256", data, "base64url") === name;

/** So few are looked for one by one: a text of megabytes without a space has as many names as characters. */
const FEW = 32;
const LATELY = 1_000;

/** The latest blobs that were put by this process: among what looks like a hash, these certainly are. */
export class Lately {
  readonly #names = new Set<string>();

  add(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size > LATELY) this.#names.delete(this.#names.keys().next().value as string);
  }

  /** Those of them that a text names. */
  namedIn(text: () => string): ReadonlySet<string> {
    const named = new Set<string>();
    if (this.#names.size === 0) return named;
    const all = text();
    if (this.#names.size > FEW) for (const name of hashesIn(all)) if (this.#names.has(name)) named.add(name);
    if (this.#names.size <= FEW) for (const name of this.#names) if (all.includes(name)) named.add(name);
    return named;
  }
}
