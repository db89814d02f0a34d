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
    for (const name of hashesIn(text())) if (this.#lately.has(name)) named.add(name);
    this.keep(named);
  }
}

/** Whatever looks like a hash: rather too much is kept than too little. */
export function* hashesIn(text: string): Iterable<string> {
  for (const [run] of text.matchAll(/[\w-]{43,}/g))
    for (let at = 0; at + HASH_LENGTH <= run.length; at++) yield run.slice(at, at + HASH_LENGTH);
}

/** Whether content fits its name. */
export const isWhole = (name: string, data: Uint8Array): boolean => hash("sha256", data, "base64url") === name;
