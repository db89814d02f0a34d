import { hash } from "node:crypto";
import { RuntimeError } from "../../model/errors.ts";
import type { BlobHash } from "../../model/ids.ts";
import { corrupt } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** The number of the latest sweep. */
export const SWEEPS = "coalesce((SELECT max(n) FROM sweep), 0)";

const PUT = `INSERT INTO blob (hash, at, data, sweep) VALUES (?, ?, ?, ${SWEEPS})
  ON CONFLICT DO UPDATE SET at = max(at, excluded.at), sweep = excluded.sweep
    WHERE sweep < excluded.sweep OR at < excluded.at - 30000`;
const KEEP = `UPDATE blob SET sweep = max(sweep, ${SWEEPS}) WHERE hash = ?`;

const LATELY = 1_000;
const HASH_LENGTH = 43;

export class Blobs {
  readonly #db: Connection;
  readonly #now: () => number;
  /** The latest blobs that were put here: among what looks like a hash, these certainly are. */
  readonly #lately = new Set<string>();

  constructor(db: Connection, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  put(name: BlobHash, data: Uint8Array): void {
    this.#db.run(PUT, name, this.#now(), data);
    this.#lately.delete(name);
    this.#lately.add(name);
    if (this.#lately.size > LATELY) this.#lately.delete(this.#lately.keys().next().value as string);
  }

  get(name: BlobHash): Uint8Array | undefined {
    const row = this.#db.row<{ data: Uint8Array }>("SELECT data FROM blob WHERE hash = ?", name);
    if (row === undefined) return undefined;
    if (!isWhole(name, row.data)) throw corrupt(`The blob ${name}`, "its content has another hash");
    return row.data;
  }

  /** Keeps blobs that the same transaction names from a sweep that is under way. Throws when one is gone already. */
  keep(names: Iterable<string>): void {
    for (const name of names) if (this.#db.run(KEEP, name) === 0) throw new RuntimeError("store.swept", { hash: name });
  }

  /** The same for what was put here lately, wherever a text names it. */
  keepNamed(text: () => string): void {
    if (this.#lately.size === 0) return;
    const named = new Set<string>();
    const all = text();
    if (this.#lately.size > FEW) for (const name of hashesIn(all)) if (this.#lately.has(name)) named.add(name);
    if (this.#lately.size <= FEW) for (const name of this.#lately.keys()) if (all.includes(name)) named.add(name);
    this.keep(named);
  }
}

/** So few are looked for one by one: a text of megabytes without a space has as many names as characters. */
const FEW = 32;

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
