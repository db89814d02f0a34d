import { OVER } from "../rows/job.ts";
import { JOB, SUBSCRIPTION, type Table, TURN, WAITING } from "../tables.ts";
import type { Connection } from "./connection.ts";
import { Counts } from "./counts.ts";
import type { StoredRow } from "./layout-rows.ts";

/**
 * A session counts its rows in other tables, because a missing row leaves no other trace. The changes of one write are
 * written at its end, in one statement per session.
 */
export class RowCounts {
  readonly #db: Connection;
  readonly #by = new Map<number, number>();

  constructor(db: Connection) {
    this.#db = db;
  }

  clear(): void {
    this.#by.clear();
  }

  change(session: number, by: number): void {
    if (by !== 0) this.#by.set(session, (this.#by.get(session) ?? 0) + by);
  }

  /** Returns and clears the pending count, for a statement that writes the session anyway. */
  take(session: number): number {
    const by = this.#by.get(session) ?? 0;
    this.#by.delete(session);
    return by;
  }

  /** The session is removed. */
  forget(session: number): void {
    this.#by.delete(session);
  }

  write(): void {
    for (const [session, by] of this.#by) if (by !== 0) this.#db.run(COUNT, by, session);
    this.#by.clear();
  }
}
const COUNT = "UPDATE session SET own_rows = own_rows + ? WHERE n = ?";

/** An index whose rows per session are counted once and then tracked, because every acceptance needs the number. */
interface Tallied {
  readonly table: Table;
  readonly index: string;
  readonly sql: string;
  readonly has: (row: StoredRow) => boolean;
}
const TALLIED: readonly Tallied[] = [
  {
    table: TURN,
    index: "waiting",
    sql: `SELECT count(*) AS count FROM turn WHERE session = ? AND state = ${WAITING}`,
    has: ({ state }) => state === WAITING,
  },
  {
    table: JOB,
    index: "live",
    sql: `SELECT count(*) AS count FROM job INDEXED BY job_live WHERE session = ? AND state < ${OVER}`,
    has: ({ state }) => Number(state) < OVER,
  },
  {
    table: SUBSCRIPTION,
    index: "session",
    sql: "SELECT count(*) AS count FROM subscription WHERE session = ?",
    has: () => true,
  },
];

export class Tallies {
  readonly #of: ReadonlyMap<Table, { readonly tallied: Tallied; readonly counts: Counts }>;

  constructor(db: Connection) {
    this.#of = new Map(
      TALLIED.map((tallied) => [tallied.table, { tallied, counts: db.remembers(new Counts(db, tallied.sql)) }]),
    );
  }

  /** Returns the count of a session; undefined if this index is not tracked. */
  of(table: Table, index: string, session: number): number | undefined {
    const found = this.#of.get(table);
    return found?.tallied.index === index ? found.counts.of(session) : undefined;
  }

  /** A row of the file was added, changed or removed. */
  change(table: Table, before: StoredRow | undefined, after: StoredRow | undefined): void {
    const found = this.#of.get(table);
    if (found === undefined) return;
    const { tallied, counts } = found;
    if (before !== undefined && tallied.has(before)) counts.change(Number(before.session), -1);
    if (after !== undefined && tallied.has(after)) counts.change(Number(after.session), 1);
  }

  /** Rows were removed without being read. */
  forget(table: Table): void {
    this.#of.get(table)?.counts.clear();
  }
}
