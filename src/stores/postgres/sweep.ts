import { forgetNamed, type SweepOptions, type Swept } from "../rows/sweep.ts";
import { SWEEPS } from "./blobs.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { limit } from "./pages.ts";

export type { SweepOptions, Swept };

/** A table that refers to blobs, read in key order. */
interface Root {
  readonly table: string;
  readonly key: readonly string[];
  readonly text: string;
  /** A value before the first key. */
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
/**
 * Rows that end with their turn are first: a reference that moves from them to a commit during the search was then
 * already seen.
 */
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
/** How many blobs one transaction removes. */
const SLICE = 200;

/** A running search for references. */
interface Search {
  readonly cutoff: number;
  /** Only blobs last put under an earlier sweep than this one are removed (sweep-2, sweep-3). */
  readonly floor: number;
  /** Old blobs without a reference so far. */
  readonly unnamed: Set<string>;
  readonly size: number;
  readonly last: string;
  root: number;
  place: readonly Value[];
  deleted: number;
  bytes: number;
}

/** A new sweep starts only if old blobs were put since the last one. */
const IS_MORE = `SELECT EXISTS (SELECT 1 FROM @blob WHERE sweep = ${SWEEPS} AND at < $1) AS yes`;
// Waits for readers of the latest number and blocks new ones. The timeout is short: a database dump reads the table
// too, and while this statement waits for it no turn can open.
const SHUT_OUT = "SET LOCAL lock_timeout = 100; LOCK TABLE @sweep IN ACCESS EXCLUSIVE MODE";
const BEGIN = `INSERT INTO @sweep (n, number) VALUES (${SWEEPS} + 1, pg_catalog.nextval('@number'::regclass))`;
// The latest sweep, or the latest that the oldest open turn (parked or not) was certainly opened after (sweep-3).
const FLOOR = `WITH oldest AS (SELECT least((SELECT min(turn) FROM @session WHERE turn IS NOT NULL AND wake IS NULL),
    (SELECT min(turn) FROM @session WHERE wake IS NOT NULL)) AS turn)
  SELECT least(${SWEEPS}, CASE WHEN turn IS NOT NULL THEN
    coalesce((SELECT max(n) FROM @sweep WHERE number < oldest.turn), 0) END) AS floor FROM oldest`;
const OLD = "SELECT hash FROM @blob WHERE hash > $1 AND at < $2 AND sweep < $3 ORDER BY hash LIMIT $4";
// A blob that was put or protected again has a newer number, even if that is visible only once its row is locked.
const REMOVE = `WITH gone AS (
    DELETE FROM @blob WHERE hash = ANY ($1::text[]) AND sweep < $2 RETURNING octet_length(data) AS bytes)
  SELECT count(*) AS deleted, coalesce(sum(bytes), 0)::bigint AS bytes FROM gone`;
const LEFT = 'SELECT count(*) AS "left" FROM @blob WHERE hash > $1 AND at < $2 AND sweep < $3';

/**
 * Removes blobs that no row refers to and no process is about to refer to. A blob is put before it is referred to, and
 * the clocks of processes differ, so age alone never justifies a removal.
 *
 * sweep-1: Sweeps are numbered. A blob has the number of the latest sweep that had started when it was last put.
 * sweep-2: A turn that opens after a sweep started has its number (`Lease.sweeps`) and puts its blobs again before it
 * refers to them. An input or a change between turns protects its blobs in its own transaction (`Blobs.keep`).
 * sweep-3: A turn that was open when the sweep started may refer to blobs that were put since the last sweep before its
 * acceptance. Sweeps and turns take numbers from one sequence, which shows which came first.
 * sweep-4: A sweep starts alone, so that "before" and "after" are certain while others write. A transaction that puts
 * or protects a blob, or opens a turn, reads the number of the latest sweep and so locks the table of sweeps until it
 * ends. A sweep starts when no transaction has this lock, and sees everything that they did. Later transactions see the
 * sweep.
 */
export class Sweeper {
  readonly #db: Database;
  readonly #now: () => number;
  #search: Search | undefined;
  /** The last processed blob. The next sweep continues after it. */
  #decided = "";
  #before: Promise<unknown> = Promise.resolve();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** Sequential, because all calls share one search. */
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
      if (performance.now() > end) return this.#result(search, true);
      await this.#page(search);
    }
    await this.#remove(search);
    this.#decided = search.last;
    this.#search = undefined;
    return this.#result(search, false);
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

  /**
   * Removes in slices, so that a transaction that refers to one of the blobs again waits for few. The next call
   * continues after a failure.
   */
  async #remove(search: Search): Promise<void> {
    while (search.unnamed.size > 0) {
      const slice = [...search.unnamed].slice(0, SLICE);
      const { deleted, bytes } = (await this.#db.row<Removed>(REMOVE, slice, search.floor))!;
      for (const hash of slice) search.unnamed.delete(hash);
      search.deleted += deleted;
      search.bytes += bytes;
    }
  }

  async #result({ last, cutoff, floor, size, deleted, bytes }: Search, isPartial: boolean): Promise<Swept> {
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

/** Runs alone (sweep-4). The slow queries ran before. */
async function begin(tx: Transaction): Promise<Floor> {
  tx.queue(SHUT_OUT);
  tx.queue(BEGIN);
  return (await tx.row<Floor>(FLOOR))!;
}
