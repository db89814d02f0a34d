import { RuntimeError } from "../../model/errors.ts";
import type { BlobHash } from "../../model/ids.ts";
import { corrupt } from "../rows/faults.ts";
import { isWhole, RecentBlobs } from "../rows/hashes.ts";
import type { Connection } from "./connection.ts";

/** The number of the latest sweep. */
export const SWEEPS = "coalesce((SELECT max(n) FROM sweep), 0)";

const PUT = `INSERT INTO blob (hash, at, data, sweep) VALUES (?, ?, ?, ${SWEEPS})
  ON CONFLICT DO UPDATE SET at = max(at, excluded.at), sweep = excluded.sweep
    WHERE sweep < excluded.sweep OR at < excluded.at - 30000`;
const KEEP = `UPDATE blob SET sweep = max(sweep, ${SWEEPS}) WHERE hash = ?`;

/** Node 22 binds an empty array from `TextEncoder` as NULL, and this one as an empty blob. */
const EMPTY = new Uint8Array(0);

export class Blobs {
  readonly #db: Connection;
  readonly #now: () => number;
  readonly #lately = new RecentBlobs();

  constructor(db: Connection, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  put(name: BlobHash, data: Uint8Array): void {
    this.#db.run(PUT, name, this.#now(), data.length === 0 ? EMPTY : data);
    this.#lately.add(name);
  }

  get(name: BlobHash): Uint8Array | undefined {
    const row = this.#db.row<{ data: Uint8Array }>("SELECT data FROM blob WHERE hash = ?", name);
    if (row === undefined) return undefined;
    if (!isWhole(name, row.data)) throw corrupt(`The blob ${name}`, "its content has another hash");
    return row.data;
  }

  /** Protects blobs that this transaction names from a running sweep. Throws if one is already gone. */
  keep(names: Iterable<string>): void {
    for (const name of names) if (this.#db.run(KEEP, name) === 0) throw new RuntimeError("store.swept", { hash: name });
  }

  /** Protects recently put blobs of this process that the text names. */
  keepNamed(text: () => string): void {
    this.keep(this.#lately.namedIn(text));
  }
}
