import type { Connection } from "./connection.ts";

/**
 * Caches how many rows of a kind recent sessions have. Counting takes longer the more rows there are, and every
 * acceptance needs the number.
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

  /** Applies what this connection adds or removes, if the count is cached. */
  change(session: number, by: number): void {
    const known = this.#bySession.get(session);
    if (known !== undefined) this.#bySession.set(session, known + by);
  }

  of(session: number): number {
    // `data_version` changes when another connection writes, and not when this one does.
    const { version } = this.#db.row<{ version: number }>("SELECT data_version AS version FROM pragma_data_version")!;
    if (version !== this.#version || this.#bySession.size >= SESSIONS) this.clear();
    this.#version = version;
    const known = this.#bySession.get(session) ?? this.#db.row<{ count: number }>(this.#sql, session)!.count;
    this.#bySession.set(session, known);
    return known;
  }
}
const SESSIONS = 1_000;
