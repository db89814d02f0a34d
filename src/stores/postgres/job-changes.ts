import type { JobId } from "../../model/ids.ts";
import { JOB, type JobRow } from "../tables.ts";
import type { Column } from "./columns.ts";
import type { Database, Transaction } from "./database.ts";
import { layoutOf } from "./layouts.ts";

/**
 * The jobs that one transaction adds or changes, and their numbers in the order of all changes.
 *
 * job-change-1: A transaction that takes a number holds the counter until it ends, and every other writer of jobs
 * waits. So changes are collected and sent only when something reads the table, before a fact is numbered, or at the
 * end.
 * job-change-2: The numbers are in the answers before the commit. `numbersOf` reads them after it.
 */

interface Pending {
  row: JobRow;
  readonly isNew: boolean;
  readonly columns: Set<Column>;
}

const NUMBER = "SELECT pg_catalog.nextval('@number'::regclass) AS n";
const NEXT = "c AS (UPDATE @counter SET value = value + 1 WHERE name = 'job' RETURNING value)";
const MOVE = `b AS (DELETE FROM @job_change WHERE n = (SELECT changed FROM @job WHERE n = $1::bigint)),
  a AS (INSERT INTO @job_change SELECT value, $1::bigint FROM c)`;
const CHANGES = "SELECT n, changed, seq FROM @job WHERE n = ANY ($1::bigint[])";
const REMOVE = `WITH j AS (DELETE FROM @job WHERE n = $1 RETURNING changed)
  DELETE FROM @job_change WHERE n IN (SELECT changed FROM j)`;

type ChangeRow = Pick<JobRow, "n" | "changed" | "seq">;

export class JobChanges {
  readonly #tx: Transaction;
  readonly #layout = layoutOf(JOB);
  readonly #pending = new Map<number, Pending>();
  /** The latest version of the rows whose numbers were requested. */
  readonly #written = new Map<number, JobRow>();
  readonly #answers: Promise<readonly ChangeRow[]>[] = [];

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Returns a row that was not sent yet. */
  pending(key: number | JobId): JobRow | undefined {
    if (typeof key === "number") return this.#pending.get(key)?.row;
    for (const { row } of this.#pending.values()) if (row.id === key) return row;
    return undefined;
  }

  async add(row: Omit<JobRow, "n">): Promise<JobRow> {
    const { n } = (await this.#tx.row<{ n: number }>(NUMBER))!;
    const added = { ...row, n, changed: 0 };
    this.#pending.set(n, { row: added, isNew: true, columns: new Set() });
    return added;
  }

  update(row: JobRow, change: Partial<JobRow>): JobRow {
    const after = { ...row, ...change };
    const isTold = change.seq !== undefined && change.seq !== row.seq;
    const pending = this.#pending.get(row.n);
    if (pending === undefined && !isTold) {
      const sent = this.#layout.update(row, change);
      if (sent !== undefined) this.#tx.queue(...sent);
      return after;
    }
    const known = pending ?? { row: after, isNew: false, columns: new Set<Column>() };
    known.row = after;
    for (const column of this.#layout.changed(row, change)) known.columns.add(column);
    this.#pending.set(row.n, known);
    return after;
  }

  remove({ n }: JobRow): void {
    const pending = this.#pending.get(n);
    this.#pending.delete(n);
    if (pending?.isNew !== true) this.#tx.queue(REMOVE, n);
  }

  /** Sends the collected changes in order (job-change-1). */
  flush(): void {
    for (const { row, isNew, columns } of this.#pending.values()) {
      if (isNew) this.#insert(row);
      else this.#update(row, columns);
      this.#written.set(row.n, row);
    }
    this.#pending.clear();
  }

  #insert(row: JobRow): void {
    const columns = this.#layout.columns.filter(({ name }) => name !== "changed");
    const values = columns.map((_, at) => `$${at + 1}`).join(", ");
    const sql = `WITH ${NEXT}, a AS (INSERT INTO @job_change SELECT value, $1::bigint FROM c)
      INSERT INTO @job (${namesOf(columns)}, changed) VALUES (${values}, (SELECT value FROM c)) RETURNING n, changed, seq`;
    this.#ask(sql, row, columns);
  }

  #update(row: JobRow, changed: ReadonlySet<Column>): void {
    const columns = this.#layout.columns.filter((column) => changed.has(column) && column.name !== "changed");
    const sets = columns.map(({ sql }, at) => `${sql} = $${at + 2}`).join(", ");
    const sql = `WITH ${NEXT}, ${MOVE}
      UPDATE @job SET ${sets}, changed = c.value FROM c WHERE n = $1::bigint RETURNING n, changed, seq`;
    const number = this.#layout.columns.filter(({ name }) => name === "n");
    this.#ask(sql, row, [...number, ...columns]);
  }

  #ask(sql: string, row: JobRow, columns: readonly Column[]): void {
    const values = columns.map(({ name, encode }) => encode(row[name as keyof JobRow], row));
    this.#answers.push(this.#tx.ask<ChangeRow>(sql, ...values));
  }

  /** Returns a lookup of change numbers, after the write was kept. */
  async numbersOf(db: Database): Promise<(job: JobRow) => number> {
    const rows = await Promise.all(this.#answers).catch(() => this.#read(db));
    const numbers = new Map(rows.flat().map(({ n, changed }) => [n, changed]));
    return ({ n, changed }) => numbers.get(n) ?? changed;
  }

  /**
   * The answers were lost together with that to the commit. If a job changed again since, its row has a later number.
   * The number before that is used then: a reader that continues from there misses nothing.
   */
  async #read(db: Database): Promise<readonly ChangeRow[]> {
    const rows = await db.rows<ChangeRow>(CHANGES, [...this.#written.keys()]);
    const seqs = new Map(rows.map((row) => [row.n, row]));
    return [...this.#written.values()].map(({ n, seq, changed }) => {
      const found = seqs.get(n);
      return { n, seq, changed: found?.seq === seq ? found.changed : Math.max(changed, 1) };
    });
  }
}

const namesOf = (columns: readonly Column[]): string => columns.map(({ sql }) => sql).join(", ");
