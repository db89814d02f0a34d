import { hash } from "node:crypto";
import type { BlobHash } from "../../model/ids.ts";
import { corrupt } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** A blob that is put is about to be named: a sweep leaves it alone for at least twice this time. */
export const FRESH_MS = 60_000;

const KNOWN = 1_000;

export class Blobs {
  readonly #db: Connection;
  readonly #now: () => number;
  /** When each of the latest blobs was put: those need not be written again. */
  readonly #fresh: Map<BlobHash, number>;

  constructor(db: Connection, now: () => number) {
    this.#db = db;
    this.#now = now;
    this.#fresh = db.remembers(new Map());
  }

  isFresh(hash: BlobHash): boolean {
    return this.#now() - (this.#fresh.get(hash) ?? -Infinity) < FRESH_MS / 2;
  }

  put(hash: BlobHash, data: Uint8Array): void {
    const now = this.#now();
    this.#db.run(
      `INSERT INTO blob (hash, at, data) VALUES (?, ?, ?)
         ON CONFLICT DO UPDATE SET at = excluded.at WHERE at < excluded.at - ${FRESH_MS / 2}`,
      hash,
      now,
      data,
    );
    if (this.#fresh.size >= KNOWN) this.#fresh.clear();
    this.#fresh.set(hash, now);
  }

  get(name: BlobHash): Uint8Array | undefined {
    const row = this.#db.row<{ data: Uint8Array }>("SELECT data FROM blob WHERE hash = ?", name);
    if (row === undefined) return undefined;
    if (!isWhole(name, row.data)) throw corrupt(`The blob ${name}`, "its content has another hash");
    return row.data;
  }
}

/** Whether content fits its name. */
export const isWhole = (name: string, data: Uint8Array): boolean => hash("sha256", data, "base64url") === name;
