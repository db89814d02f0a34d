import { RuntimeError } from "../../model/errors.ts";
import { isProvenDead, thisProcess } from "../rows/process.ts";
import { forgetNamed, type SweepOptions, type Swept } from "../rows/sweep.ts";
import { SWEEPS } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import type { Value } from "./database.ts";
import { latestFact, limit } from "./facts.ts";
import { SEQS } from "./layout-rows.ts";
import { OPEN_SESSIONS } from "./layout-sessions.ts";

export interface VacuumOptions extends SweepOptions {
  /**
   * Rewrites the whole file, which takes time and free disk space in proportion to its size. No process can write
   * meanwhile, so it throws `store.in-use` while other processes run turns or jobs. Default: free pages at the end are
   * returned in slices, for at most `ms`; a file of an earlier version must be compacted once first.
   */
  readonly compact?: boolean;
}
export interface Vacuumed extends Swept {
  /** The size of free pages in the file, which later writes reuse. */
  readonly freeBytes: number;
  readonly isCompacted: boolean;
  /** Whether the write-ahead log was emptied. That fails while another process reads. */
  readonly isLogEmptied: boolean;
}

/** An open turn or a held job: its process, and the end of its lease. */
interface LeaseRow {
  readonly process: string;
  readonly until: number;
}
const OPEN_TURNS = `${OPEN_SESSIONS} SELECT s.turn, s.process, max(s.until,
    (SELECT until FROM journal WHERE k < (s.n + 1) * ${SEQS} ORDER BY k DESC LIMIT 1)) AS until
  FROM open CROSS JOIN session s ON s.n = open.n`;
const openTurns = (db: Connection): readonly (LeaseRow & { readonly turn: number })[] => db.rows(OPEN_TURNS);
const HELD_JOBS = "SELECT o.process, o.until FROM job j JOIN job_owner o ON o.id = j.owner WHERE j.owner IS NOT NULL";

/** A table that refers to blobs, read in key order. */
interface Root {
  readonly sql: string;
  readonly start: readonly Value[];
}
/**
 * Rows that end with their turn are first: a reference that moves from them to a commit during the search was then
 * already seen.
 */
const ROOTS: readonly Root[] = [
  { sql: "SELECT k AS a, events AS text FROM journal WHERE k > ? ORDER BY k", start: [-1] },
  { sql: "SELECT n AS a, input AS text FROM turn WHERE n > ? AND input IS NOT NULL ORDER BY n", start: [-1] },
  {
    sql: "SELECT turn AS a, effect AS b, key AS c, value AS text FROM note WHERE (turn, effect, key) > (?, ?, ?) ORDER BY turn, effect, key",
    start: [-1, "", ""],
  },
  {
    sql: "SELECT session AS a, operation AS b, key AS c, value AS text FROM operation_note WHERE (session, operation, key) > (?, ?, ?) ORDER BY session, operation, key",
    start: [-1, "", ""],
  },
  {
    sql: "SELECT n AS a, coalesce(about, '') || coalesce(answer, '') AS text FROM wait WHERE n > ? ORDER BY n",
    start: [-1],
  },
  { sql: "SELECT n AS a, body AS text FROM subscription WHERE n > ? ORDER BY n", start: [-1] },
  { sql: "SELECT n AS a, payload AS text FROM occurrence WHERE n > ? ORDER BY n", start: [-1] },
  { sql: "SELECT k AS a, event AS text FROM job_event WHERE k > ? ORDER BY k", start: [-1] },
  {
    sql: "SELECT session AS a, plugin AS b, since AS c, body AS text FROM state WHERE (session, plugin, since) > (?, ?, ?) ORDER BY session, plugin, since",
    start: [-1, "", -1],
  },
  { sql: "SELECT n AS a, entries AS text FROM segment WHERE n > ? ORDER BY n", start: [-1] },
  { sql: "SELECT n AS a, ended AS text FROM turn WHERE n > ? AND ended IS NOT NULL ORDER BY n", start: [-1] },
  { sql: "SELECT n AS a, committed AS text FROM operation WHERE n > ? ORDER BY n", start: [-1] },
  { sql: "SELECT session AS a, body AS text FROM options WHERE session > ? ORDER BY session", start: [-1] },
  { sql: "SELECT session AS a, body AS text FROM config WHERE session > ? ORDER BY session", start: [-1] },
];
const PAGE = 50;
const SEARCH_MS = 1_000;
/** How many pages one transaction returns: a megabyte, which delays other writers only briefly. */
const SLICE = 256;

/** A running search for references. */
interface Search {
  readonly cutoff: number;
  /** Only blobs last put under an earlier sweep than this one are removed (sweep-2, sweep-3). */
  readonly floor: number;
  /** Old blobs without a reference so far: their numbers by hash. */
  readonly unnamed: Map<string, number>;
  readonly size: number;
  readonly last: number;
  root: number;
  place: readonly Value[];
}

/**
 * Removes blobs that no row refers to and no process is about to refer to. A blob is put before it is referred to, and
 * the clocks of processes differ, so age alone never justifies a removal.
 *
 * sweep-1: Sweeps are numbered. A blob has the number of the latest sweep that had started when it was last put.
 * sweep-2: A turn that opens after a sweep started has its number (`Lease.sweeps`) and puts its blobs again before it
 * refers to them. An input or a change between turns protects its blobs in its own transaction (`Blobs.keep`).
 * sweep-3: A turn that was open when the sweep started may refer to blobs that were put since the last sweep before its
 * acceptance.
 */
export class Sweeper {
  readonly #db: Connection;
  readonly #now: () => number;
  #search: Search | undefined;
  /** The number of the last processed blob. The next sweep continues after it. */
  #decided = 0;

  constructor(db: Connection, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  async sweep({ olderThanMs = 3_600_000, max = 1_000, ms = SEARCH_MS }: SweepOptions): Promise<Swept> {
    const end = performance.now() + ms;
    this.#search ??= await this.#db.write(false, () => this.#begin(olderThanMs, max));
    const search = this.#search;
    while (search.root < ROOTS.length) {
      if (performance.now() > end) return this.#result(search, true, 0, 0);
      await this.#db.read(() => this.#page(search));
    }
    const { deleted, bytes } = await this.#db.write(false, () => this.#remove(search));
    this.#decided = search.last;
    this.#search = undefined;
    return this.#result(search, false, deleted, bytes);
  }

  async vacuum(options: VacuumOptions): Promise<Vacuumed> {
    if (options.compact === true) await this.#db.read(() => this.#requireUnused());
    const swept = await this.sweep(options);
    const isCompacted = options.compact === true && !swept.isPartial;
    if (isCompacted) await this.#db.writeOne(true, () => this.#db.exec("VACUUM"));
    else await this.#giveBack(options.ms);
    const log = await this.#db.read(() => this.#db.rows<{ busy: number }>("PRAGMA wal_checkpoint(TRUNCATE)")[0]);
    const page = await this.#db.read(() => this.#db.row<{ page_size: number }>("PRAGMA page_size"));
    const freeBytes = (await this.#free()) * (page?.page_size ?? 0);
    return { ...swept, freeBytes, isCompacted, isLogEmptied: log?.busy === 0 };
  }

  #requireUnused(): void {
    const [now, ours] = [this.#now(), thisProcess()];
    const isLive = ({ process, until }: LeaseRow): boolean => process !== ours && until > now && !isProvenDead(process);
    const turns = [...openTurns(this.#db), ...this.#db.rows<LeaseRow>(HELD_JOBS)].filter(isLive).length;
    if (turns > 0) throw new RuntimeError("store.in-use", { path: this.#db.path, turns });
  }

  async #giveBack(ms = SEARCH_MS): Promise<void> {
    const end = performance.now() + ms;
    for (let [before, free] = [Infinity, await this.#free()]; free > 0 && free < before; ) {
      if (performance.now() > end) return;
      await this.#db.writeOne(false, () => this.#db.exec(`PRAGMA incremental_vacuum(${SLICE})`));
      await new Promise((resolve) => setImmediate(resolve)); // Other turns of this process run between two slices.
      [before, free] = [free, await this.#free()];
    }
  }

  async #free(): Promise<number> {
    const row = await this.#db.read(() =>
      this.#db.row<{ pages: number }>("SELECT freelist_count AS pages FROM pragma_freelist_count"),
    );
    return row?.pages ?? 0;
  }

  #begin(olderThanMs: number, max: number): Search {
    const cutoff = this.#now() - olderThanMs;
    const floor = Math.min(this.#number(cutoff), this.#oldestOpen());
    const old = "SELECT n, hash FROM blob WHERE n > ? AND at < ? AND sweep < ? ORDER BY n LIMIT ?";
    const find = (): { n: number; hash: string }[] => this.#db.rows(old, this.#decided, cutoff, floor, limit(max));
    let rows = find();
    if (rows.length === 0 && this.#decided > 0) {
      this.#decided = 0;
      rows = find();
    }
    const unnamed = new Map(rows.map(({ n, hash }) => [hash, n]));
    const root = rows.length === 0 ? ROOTS.length : 0;
    return { cutoff, floor, unnamed, size: rows.length, last: rows.at(-1)?.n ?? 0, root, place: ROOTS[0]!.start };
  }

  /**
   * Returns the number of this sweep (sweep-1). A new number is only used if old blobs were put since the last sweep.
   */
  #number(cutoff: number): number {
    const since = `SELECT ${SWEEPS} AS last, EXISTS (SELECT 1 FROM blob WHERE sweep = ${SWEEPS} AND at < ?) AS is_more`;
    const { last, is_more: isMore } = this.#db.row<{ last: number; is_more: number }>(since, cutoff)!;
    if (isMore === 0) return last;
    this.#db.run("INSERT INTO sweep VALUES (?, ?)", last + 1, latestFact(this.#db));
    return last + 1;
  }

  /** Returns the latest sweep that the oldest open turn was certainly opened after (sweep-3). */
  #oldestOpen(): number {
    const oldest = openTurns(this.#db).reduce((least, { turn }) => Math.min(least, turn), Infinity);
    if (oldest === Infinity) return Infinity;
    return this.#db.row<{ n: number }>("SELECT coalesce(max(n), 0) AS n FROM sweep WHERE fact < ?", oldest)!.n;
  }

  #page(search: Search): void {
    const { sql } = ROOTS[search.root]!;
    const rows = this.#db.rows<{ a: Value; b?: Value; c?: Value; text: string | null }>(
      `${sql} LIMIT ${PAGE}`,
      ...search.place,
    );
    for (const { text } of rows) forgetNamed(search.unnamed, text);
    const last = rows.at(-1);
    if (last !== undefined) search.place = last.b === undefined ? [last.a] : [last.a, last.b, last.c!];
    if (rows.length === PAGE) return;
    search.root += 1;
    search.place = ROOTS[search.root]?.start ?? [];
  }

  #remove({ unnamed, floor }: Search): { readonly deleted: number; readonly bytes: number } {
    let [deleted, bytes] = [0, 0];
    for (const n of unnamed.values()) {
      const gone = "DELETE FROM blob WHERE n = ? AND sweep < ? RETURNING length(data) AS bytes";
      const row = this.#db.row<{ bytes: number }>(gone, n, floor);
      if (row === undefined) continue;
      deleted += 1;
      bytes += row.bytes;
    }
    return { deleted, bytes };
  }

  #result(search: Search, isPartial: boolean, deleted: number, bytes: number): Swept {
    const left = this.#db.row<{ left: number }>(
      "SELECT count(*) AS left FROM blob WHERE n > ? AND at < ? AND sweep < ?",
      search.last,
      search.cutoff,
      search.floor,
    )!.left;
    if (isPartial) return { isPartial, deleted: 0, bytes: 0, kept: 0, remaining: left + search.size };
    return { isPartial, deleted, bytes, kept: search.size - deleted, remaining: left };
  }
}
