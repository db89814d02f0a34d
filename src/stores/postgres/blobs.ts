import { RuntimeError } from "../../model/errors.ts";
import type { BlobHash } from "../../model/ids.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import { isWhole, Lately } from "../rows/hashes.ts";
import type { Database, Transaction } from "./database.ts";

/**
 * The number of the latest sweep. Whoever has read it shuts out the next sweep until its transaction ends (see
 * `Sweeper`): so what a transaction decides by this number still holds when it is kept.
 */
export const SWEEPS = "coalesce((SELECT max(n) FROM @sweep), 0)";

const PUT = `INSERT INTO @blob AS b (hash, at, data, sweep) VALUES ($1, $2, $3, ${SWEEPS})
  ON CONFLICT (hash) DO UPDATE SET at = greatest(b.at, excluded.at), sweep = greatest(b.sweep, excluded.sweep)
    WHERE b.sweep < excluded.sweep OR b.at < excluded.at - 30000`;
// A blob that was put under the latest sweep is safe as it is. Of the others each row is locked: a sweep that is about to
// remove it comes first, and then it is not among the answers; or second, and then it finds the new number.
const KEEP = `WITH latest AS (SELECT ${SWEEPS} AS n),
  older AS (SELECT hash FROM @blob, latest WHERE hash = ANY ($1::text[]) AND sweep < latest.n),
  kept AS (UPDATE @blob b SET sweep = greatest(b.sweep, latest.n) FROM older, latest WHERE b.hash = older.hash
    RETURNING b.hash)
  SELECT hash FROM kept
  UNION ALL SELECT hash FROM @blob, latest WHERE hash = ANY ($1::text[]) AND sweep >= latest.n`;

export class Blobs {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #lately = new Lately();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * Puts it each time it is asked to, though it was put a moment ago: another process may have begun a sweep since, and
   * a turn that knows of that sweep relies on what it puts after it.
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

  /** Keeps blobs that the same transaction names from a sweep that is under way. Throws when one is gone already. */
  async keep(tx: Transaction, names: Iterable<string>): Promise<void> {
    const all = [...new Set(names)].map(keyText);
    if (all.length === 0) return;
    const found = new Set((await tx.rows<{ hash: string }>(KEEP, all)).map(({ hash }) => hash));
    for (const hash of all) if (!found.has(hash)) throw new RuntimeError("store.swept", { hash: fromKeyText(hash) });
  }

  /** The same for what was put here lately, wherever a text names it. */
  keepNamed(tx: Transaction, text: () => string): Promise<void> {
    return this.keep(tx, this.#lately.namedIn(text));
  }
}
