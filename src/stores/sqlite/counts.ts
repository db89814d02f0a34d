import type { Connection } from "./connection.ts";

/**
 * How many rows of a kind each of the latest sessions has. They are counted once and then reckoned with: a count takes
 * longer the more there are, and every acceptance needs it.
 */
export class Counts {
  readonly #db: Connection;
  readonly #sql: string;
  readonly #bySession = new Map<number, number>();
  #version: number | undefined;

  constructor(db: Connection, sql: string) {
    this.#db = db;
    this.#sql = sql;
  }

  clear(): void {
    this.#bySession.clear();
  }

  /** Only while what is counted is known: `by` is what this connection adds or takes. */
  change(session: number, by: number): void {
    const known = this.#bySession.get(session);
    if (known !== undefined) this.#bySession.set(session, known + by);
  }

  of(session: number): number {
    // Moves when another connection writes, and not when this one does.
    const { version } = this.#db.row<{ version: number }>("SELECT data_version AS version FROM pragma_data_version")!;
    if (version !== this.#version || this.#bySession.size >= SESSIONS) this.clear();
    this.#version = version;
    const known = this.#bySession.get(session) ?? this.#db.row<{ count: number }>(this.#sql, session)!.count;
    this.#bySession.set(session, known);
    return known;
  }
}
const SESSIONS = 1_000;

/** The counts of a connection, by a statement that counts the rows of one session. */
export function counting(sql: string): (db: Connection) => Counts {
  const known = new WeakMap<Connection, Counts>();
  return (db) => {
    const counts = known.get(db) ?? db.remembers(new Counts(db, sql));
    known.set(db, counts);
    return counts;
  };
}
