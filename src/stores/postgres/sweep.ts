import { forgetNamed, type SweepOptions, type Swept } from "../rows/sweep.ts";
import { SWEEPS } from "./blobs.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { limit } from "./facts.ts";

export type { SweepOptions, Swept };

/** Rows in which blobs are named, read by their key. */
interface Root {
  readonly table: string;
  readonly key: readonly string[];
  readonly text: string;
  /** Before the first key. */
  readonly start: readonly Value[];
  readonly where?: string;
}
const numbered = (table: string, text: string, where?: string): Root => ({
  table,
  key: ["n"],
  text,
  start: [-1],
  ...(where === undefined ? {} : { where }),
});
/** Rows that end with their turn come first: a name that moves from them into a commit during the search was seen. */
const ROOTS: readonly Root[] = [
  { table: "journal", key: ["session", "seq"], text: "events", start: [-1, -1] },
  numbered("turn", "input", "input IS NOT NULL"),
  { table: "note", key: ["turn", "effect", "key"], text: "value", start: [-1, "", ""] },
  { table: "operation_note", key: ["session", "operation", "key"], text: "value", start: [-1, "", ""] },
  numbered("wait", "concat(about, ' ', answer)"),
  numbered("subscription", "body"),
  numbered("occurrence", "payload"),
  { table: "job_event", key: ["job", "seq"], text: "event", start: [-1, -1] },
  { table: "state", key: ["session", "plugin", "since"], text: "body", start: [-1, "", -1] },
  numbered("segment", "entries"),
  numbered("turn", "ended", "ended IS NOT NULL"),
  numbered("operation", "committed"),
  { table: "profile", key: ["session"], text: "concat(config, ' ', options)", start: [-1] },
];
const PAGE = 100;
const PAGES: readonly string[] = ROOTS.map(({ table, key, text, where = "true" }) => {
  const places = key.map((_, index) => `$${index + 1}`).join(", ");
  return `SELECT ${key.join(", ")}, ${text} AS text FROM @${table}
    WHERE (${key.join(", ")}) > (${places}) AND ${where} ORDER BY ${key.join(", ")} LIMIT ${PAGE}`;
});
const SEARCH_MS = 1_000;
/** Blobs that are removed in one transaction. */
const SLICE = 200;

/** A search for names that is under way. */
interface Search {
  readonly cutoff: number;
  /** Only blobs that were last put under an earlier sweep than this one are collected (2, 3). */
  readonly floor: number;
  /** The old blobs that nothing was found to name. */
  readonly unnamed: Set<string>;
  readonly size: number;
  readonly last: string;
  root: number;
  place: readonly Value[];
  deleted: number;
  bytes: number;
}

/** A new sweep only where old blobs were put since the last. */
const IS_MORE = `SELECT EXISTS (SELECT 1 FROM @blob WHERE sweep = ${SWEEPS} AND at < $1) AS yes`;
// Those who have read the latest number are waited for, and others wait. Not for long: a dump of the database reads the
// table too, and as long as this waits for that, no turn is opened.
const SHUT_OUT = "SET LOCAL lock_timeout = 100; LOCK TABLE @sweep IN ACCESS EXCLUSIVE MODE";
const BEGIN = `INSERT INTO @sweep (n, number) VALUES (${SWEEPS} + 1, pg_catalog.nextval('@number'::regclass))`;
// The latest sweep, or the one that the oldest open turn, parked or not, certainly knew of (3).
const FLOOR = `WITH oldest AS (SELECT least((SELECT min(turn) FROM @session WHERE turn IS NOT NULL AND wake IS NULL),
    (SELECT min(turn) FROM @session WHERE wake IS NOT NULL)) AS turn)
  SELECT least(${SWEEPS}, CASE WHEN turn IS NOT NULL THEN
    coalesce((SELECT max(n) FROM @sweep WHERE number < oldest.turn), 0) END) AS floor FROM oldest`;
const OLD = "SELECT hash FROM @blob WHERE hash > $1 AND at < $2 AND sweep < $3 ORDER BY hash LIMIT $4";
// One that was put again, or kept, meanwhile is not of the old number any more, also if that is seen only once it is locked.
const REMOVE = `WITH gone AS (
    DELETE FROM @blob WHERE hash = ANY ($1::text[]) AND sweep < $2 RETURNING octet_length(data) AS bytes)
  SELECT count(*) AS deleted, coalesce(sum(bytes), 0)::bigint AS bytes FROM gone`;
const LEFT = 'SELECT count(*) AS "left" FROM @blob WHERE hash > $1 AND at < $2 AND sweep < $3';

/**
 * Removes blobs that nothing names and nobody is about to name. A blob is put before it is named, and the clocks of
 * processes differ: age alone never makes a blob fit to be removed.
 *
 * 1. Sweeps are numbered. A blob has the number of the latest sweep that had begun when it was last put.
 * 2. A turn that is opened after a sweep began knows that (`Lease.sweeps`): it puts again what it would name. An input
 *    or a change between turns keeps what it names in the transaction that names it (`Blobs.keep`).
 * 3. A turn that was open when the sweep began may name what was put since the last sweep before its acceptance. Sweeps
 *    and turns have their numbers from one sequence, which tells what was before.
 * 4. "Before" and "after" must be sure while others write: a sweep begins alone. Whoever puts, keeps or opens a turn reads
 *    the number of the latest sweep in its transaction, and so has the table of sweeps until it ends. A sweep begins when
 *    nobody has it, and sees all that they did; whoever comes later sees the sweep.
 */
export class Sweeper {
  readonly #db: Database;
  readonly #now: () => number;
  #search: Search | undefined;
  /** The last blob that was decided on; the next sweep goes on after it. */
  #decided = "";
  #before: Promise<unknown> = Promise.resolve();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** One after the other: they go on with one search. */
  sweep(options: SweepOptions): Promise<Swept> {
    const swept = this.#before.then(() => this.#sweep(options));
    this.#before = swept.catch(() => {});
    return swept;
  }

  async #sweep({ olderThanMs = 3_600_000, max = 1_000, ms = SEARCH_MS }: SweepOptions): Promise<Swept> {
    const end = performance.now() + ms;
    this.#search ??= await this.#begin(this.#now() - olderThanMs, max);
    const search = this.#search;
    while (search.root < ROOTS.length) {
      if (performance.now() > end) return this.#told(search, true);
      await this.#page(search);
    }
    await this.#remove(search);
    this.#decided = search.last;
    this.#search = undefined;
    return this.#told(search, false);
  }

  async #begin(cutoff: number, max: number): Promise<Search> {
    const db = this.#db;
    const isMore = (await db.row<{ yes: boolean }>(IS_MORE, cutoff))!.yes;
    const { floor } = isMore ? await db.write(begin) : (await db.row<Floor>(FLOOR))!;
    const find = (): Promise<{ hash: string }[]> => db.rows(OLD, this.#decided, cutoff, floor, limit(max));
    let rows = await find();
    if (rows.length === 0 && this.#decided !== "") {
      this.#decided = "";
      rows = await find();
    }
    const unnamed = new Set(rows.map(({ hash }) => hash));
    const root = rows.length === 0 ? ROOTS.length : 0;
    const found = { size: rows.length, last: rows.at(-1)?.hash ?? "", deleted: 0, bytes: 0 };
    return { cutoff, floor, unnamed, ...found, root, place: ROOTS[0]!.start };
  }

  async #page(search: Search): Promise<void> {
    const { key } = ROOTS[search.root]!;
    const rows = await this.#db.rows<Page>(PAGES[search.root]!, ...search.place);
    for (const { text } of rows) forgetNamed(search.unnamed, text);
    const last = rows.at(-1);
    if (last !== undefined) search.place = key.map((column) => last[column]!);
    if (rows.length === PAGE) return;
    search.root += 1;
    search.place = ROOTS[search.root]?.start ?? [];
  }

  /** In slices, so that whoever names one of them again waits for few. One that fails is gone on with by the next call. */
  async #remove(search: Search): Promise<void> {
    while (search.unnamed.size > 0) {
      const slice = [...search.unnamed].slice(0, SLICE);
      const { deleted, bytes } = (await this.#db.row<Removed>(REMOVE, slice, search.floor))!;
      for (const hash of slice) search.unnamed.delete(hash);
      search.deleted += deleted;
      search.bytes += bytes;
    }
  }

  async #told({ last, cutoff, floor, size, deleted, bytes }: Search, isPartial: boolean): Promise<Swept> {
    const { left } = (await this.#db.row<{ left: number }>(LEFT, last, cutoff, floor))!;
    if (isPartial) return { isPartial, deleted: 0, bytes: 0, kept: 0, remaining: left + size };
    return { isPartial, deleted, bytes, kept: size - deleted, remaining: left };
  }
}

interface Floor {
  readonly floor: number;
}
interface Removed {
  readonly deleted: number;
  readonly bytes: number;
}
type Page = { readonly [column: string]: string | number } & { readonly text: string };

/** Alone (4). What is slow was found out before. */
async function begin(tx: Transaction): Promise<Floor> {
  tx.queue(SHUT_OUT);
  tx.queue(BEGIN);
  return (await tx.row<Floor>(FLOOR))!;
}
