import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Database, Statement, Value } from "./database.ts";
import { isBusy, typed } from "./faults.ts";

/**
 * What a write survives. `process`: a killed process, always, and a power cut but for the latest writes. `power`: what
 * was acknowledged to someone (inputs, commits, changes, answers, cancels) survives a power cut; journal events since
 * may be lost. `power-all`: everything written survives one.
 */
export type Strength = "process" | "power" | "power-all";
type Sync = "NORMAL" | "FULL";

/** How long a call may block the whole process while another one writes. After that it waits without blocking. */
const BLOCK_MS = 4;
const BUSY_MS = 500;
const OPENING_MS = 5_000;

/**
 * One connection: its statements, its transactions, and its patience with other connections on the same file. What the
 * statements say is not its job.
 *
 * 1. Calls are done in the order in which they were made, also when some of them have to wait.
 * 2. Work that found the file locked is done again from its beginning: nothing of it was kept.
 * 3. Nothing is remembered of a transaction that failed.
 */
export class Connection {
  readonly path: string;
  readonly leaseMs: number;
  readonly #db: Database;
  readonly #patienceMs: number;
  /** The sync of writes that someone is told of, and of all others. */
  readonly #acknowledged: Sync;
  readonly #other: Sync;
  readonly #statements = new Map<string, Statement>();
  readonly #memories: { clear(): void }[] = [];
  #sync: Sync | undefined;
  #isClosed = false;
  /** The end of the line of calls that wait for another connection (1); undefined when none does. */
  #line: Promise<void> | undefined;

  constructor(db: Database, path: string, strength: Strength, patienceMs: number, leaseMs: number) {
    this.leaseMs = leaseMs;
    this.#db = db;
    this.path = path;
    this.#patienceMs = patienceMs;
    this.#acknowledged = strength === "process" ? "NORMAL" : "FULL";
    this.#other = strength === "power-all" ? "FULL" : "NORMAL";
  }

  /** Names something that remembers what was read or written, to be cleared when a transaction fails (3). */
  remembers<M extends { clear(): void }>(memory: M): M {
    this.#memories.push(memory);
    return memory;
  }

  /** Runs `prepare` on a fresh database. It may block for a while: nothing can go on before it. */
  setUp(prepare: () => void): void {
    try {
      this.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
      this.#untilFree(prepare);
      this.exec(`PRAGMA busy_timeout = ${BLOCK_MS}`);
    } catch (error) {
      this.close();
      if (isBusy(error)) throw new RuntimeError("store.locked", { path: this.path, ms: OPENING_MS }, { cause: error });
      throw typed(error, this.path);
    }
  }

  /** SQLite does not wait for some locks, such as that of a connection which changes the journal mode; this does. */
  #untilFree(prepare: () => void): void {
    for (const end = performance.now() + OPENING_MS; ; ) {
      try {
        return prepare();
      } catch (error) {
        if (!isBusy(error) || performance.now() > end) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10 + Math.random() * 20);
      }
    }
  }

  /** Runs what must not be prepared: a prepared `PRAGMA synchronous` does nothing on its first run. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Answers how many rows it changed. */
  run(sql: string, ...values: Value[]): number {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    return Number(statement.run(...values).changes);
  }

  /** Answers the number of the row that it inserted, if it did. */
  insert(sql: string, ...values: Value[]): number | undefined {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    const { changes, lastInsertRowid } = statement.run(...values);
    return Number(changes) === 0 ? undefined : Number(lastInsertRowid);
  }

  /**
   * The first row. For reads, and for writes inside a transaction: `get` does not finish its statement, and outside of
   * one nobody would hear that the write failed.
   */
  row<Row>(sql: string, ...values: Value[]): Row | undefined {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    return statement.get(...values) as Row | undefined;
  }

  rows<Row>(sql: string, ...values: Value[]): Row[] {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    return statement.all(...values) as Row[];
  }

  #prepare(sql: string): Statement {
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Runs work of one statement that reads. */
  read<T>(work: () => T): Awaitable<T> {
    return this.#patiently(undefined, undefined, work);
  }

  /** Runs work of several statements that read the same moment, though others write. */
  readAll<T>(work: () => T): Awaitable<T> {
    return this.#patiently(undefined, "BEGIN", work);
  }

  /** Runs work of one statement that writes; where it returns rows, `rows` must be used. */
  writeOne<T>(isAcknowledged: boolean, work: () => T): Awaitable<T> {
    return this.#patiently(isAcknowledged, undefined, work);
  }

  /** Keeps all of the work or nothing. The write lock comes first, so that what is read inside holds until the end. */
  write<T>(isAcknowledged: boolean, work: () => T): Awaitable<T> {
    return this.#patiently(isAcknowledged, "BEGIN IMMEDIATE", work);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#statements.clear();
    this.#db.close();
  }

  #patiently<T>(isAcknowledged: boolean | undefined, begin: string | undefined, work: () => T): Awaitable<T> {
    const isFirst = this.#line === undefined;
    try {
      if (isFirst) return this.#now(isAcknowledged, begin, work);
    } catch (error) {
      if (!isBusy(error)) throw typed(error, this.path);
    }
    return this.#inLine(isFirst, isAcknowledged, begin, work);
  }

  #now<T>(isAcknowledged: boolean | undefined, begin: string | undefined, work: () => T): T {
    if (this.#isClosed) throw new RuntimeError("runtime.closed", {});
    if (isAcknowledged !== undefined) {
      const sync = isAcknowledged ? this.#acknowledged : this.#other;
      if (sync !== this.#sync) this.exec(`PRAGMA synchronous = ${sync}`);
      this.#sync = sync;
    }
    if (begin === undefined) return work();
    this.run(begin);
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      for (const memory of this.#memories) memory.clear();
      try {
        this.run("ROLLBACK");
      } catch {
        // SQLite has rolled back by itself, as it does after some failures; the first error tells why.
      }
      throw error;
    }
  }

  /** Does the work behind the calls that wait already (1). */
  #inLine<T>(
    wasTried: boolean,
    isAcknowledged: boolean | undefined,
    begin: string | undefined,
    work: () => T,
  ): Promise<T> {
    const attempt = (): T => this.#now(isAcknowledged, begin, work);
    const turn = async (): Promise<T> => {
      try {
        if (!wasTried) return attempt();
      } catch (error) {
        if (!isBusy(error)) throw typed(error, this.path);
      }
      return this.#again(attempt);
    };
    const done = (this.#line ?? Promise.resolve()).then(turn);
    const line: Promise<void> = done.then(
      () => {},
      () => {},
    );
    this.#line = line;
    void line.then(() => {
      if (this.#line === line) this.#line = undefined;
    });
    return done;
  }

  /** Tries again until the file is free (2), or patience ends. */
  async #again<T>(work: () => T): Promise<T> {
    const end = performance.now() + this.#patienceMs;
    for (let waitMs = 2; ; waitMs = Math.min(waitMs * 1.6, 50)) {
      // By chance, so that two connections which met once do not go on meeting.
      await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw typed(error, this.path);
        if (performance.now() > end)
          throw new RuntimeError("store.locked", { path: this.path, ms: this.#patienceMs }, { cause: error });
      }
    }
  }
}
