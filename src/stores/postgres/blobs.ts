import { RuntimeError } from "../../model/errors.ts";
import type { BlobHash } from "../../model/ids.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { isWhole, RecentBlobs } from "../rows/hashes.ts";
import type { Database, Transaction } from "./database.ts";

/**
 * The number of the latest sweep. A transaction that has read it blocks the next sweep until it ends (see `Sweeper`),
 * so a decision based on the number is still right at the commit.
 */
export const SWEEPS = "coalesce((SELECT max(n) FROM @sweep), 0)";

const PUT = `INSERT INTO @blob AS b (hash, at, data, sweep) VALUES ($1, $2, $3, ${SWEEPS})
  ON CONFLICT (hash) DO UPDATE SET at = greatest(b.at, excluded.at), sweep = greatest(b.sweep, excluded.sweep)
    WHERE b.sweep < excluded.sweep OR b.at < excluded.at - 30000`;
// A blob that was put under the latest sweep is safe. Every other row is locked. A sweep that removes it comes either
// first, and then the row is not among the answers, or second, and then it finds the new number.
const KEEP = `WITH latest AS (SELECT ${SWEEPS} AS n),
  older AS (SELECT hash FROM @blob, latest WHERE hash = ANY ($1::text[]) AND sweep < latest.n),
  kept AS (UPDATE @blob b SET sweep = greatest(b.sweep, latest.n) FROM older, latest WHERE b.hash = older.hash
    RETURNING b.hash)
  SELECT hash FROM kept
  UNION ALL SELECT hash FROM @blob, latest WHERE hash = ANY ($1::text[]) AND sweep >= latest.n`;

export class Blobs {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #lately = new RecentBlobs();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * Writes the blob each time, even if this process put it a moment ago. Another process may have started a sweep
   * since, and a turn that has seen that sweep relies on what it puts after it.
   */
  async put(name: BlobHash, data: Uint8Array): Promise<void> {
    await this.#db.heldRows(PUT, name, this.#now(), data);
    this.#lately.add(name);
  }

  async get(name: BlobHash): Promise<Uint8Array | undefined> {
    const row = await this.#db.row<{ data: Buffer }>("SELECT data FROM @blob WHERE hash = $1", keyText(name));
    if (row === undefined) return undefined;
    if (!isWhole(name, row.data)) throw corrupt(`The blob ${name}`, "its content has another hash");
    return new Uint8Array(row.data.buffer, row.data.byteOffset, row.data.length);
  }

  /** Protects blobs that this transaction names from a running sweep. Throws if one is already gone. */
  async keep(tx: Transaction, names: Iterable<string>): Promise<void> {
    const all = [...new Set(names)].map(keyText);
    if (all.length === 0) return;
    const found = new Set((await tx.rows<{ hash: string }>(KEEP, all)).map(({ hash }) => hash));
    for (const hash of all) if (!found.has(hash)) throw new RuntimeError("store.swept", { hash: fromKeyText(hash) });
  }

  /** Protects recently put blobs of this process that the text names. */
  keepNamed(tx: Transaction, text: () => string): Promise<void> {
    return this.keep(tx, this.#lately.namedIn(text));
  }
}
