import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Database, Statement, Value } from "./database.ts";
import { isBusy, typed } from "./faults.ts";

/**
 * What a write survives. `process`: a killed process, always, and a power cut but for the latest writes. `power`: what
 * was acknowledged to someone (inputs, commits, changes, answers, cancels; of jobs their beginning, their end, and what
 * is sent to them or by them; subscriptions, and what has happened) survives a power cut; journal events, steps and lines
 * since may be lost. `power-all`: everything written survives one.
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
  /** The patience of whoever holds a lease: while the file is locked, nobody else can take the turn. */
  readonly heldMs: number;
  readonly #db: Database;
  readonly #patienceMs: number;
  /** The sync of writes that someone is told of, and of all others. */
  readonly #acknowledged: Sync;
  readonly #other: Sync;
  readonly #statements = new Map<string, Statement>();
  readonly #memories: { clear(): void }[] = [];
  #sync: Sync | undefined;
  #isClosed = false;
  /** The calls that wait for another connection, in their order (1). */
  #line: Waiting[] = [];

  constructor(db: Database, path: string, strength: Strength, patienceMs: number, leaseMs: number) {
    this.leaseMs = leaseMs;
    this.#db = db;
    this.path = path;
    this.#patienceMs = patienceMs;
    this.heldMs = Math.max(patienceMs, leaseMs);
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
  writeOne<T>(isAcknowledged: boolean, work: () => T, patienceMs?: number): Awaitable<T> {
    return this.#patiently(isAcknowledged, undefined, work, patienceMs);
  }

  /** Keeps all of the work or nothing. The write lock comes first, so that what is read inside holds until the end. */
  write<T>(isAcknowledged: boolean, work: () => T, patienceMs?: number): Awaitable<T> {
    return this.#patiently(isAcknowledged, "BEGIN IMMEDIATE", work, patienceMs);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#statements.clear();
    this.#db.close();
  }

  #patiently<T>(
    isAcknowledged: boolean | undefined,
    begin: string | undefined,
    work: () => T,
    patienceMs = this.#patienceMs,
  ): Awaitable<T> {
    try {
      if (this.#line.length === 0) return this.#now(isAcknowledged, begin, work);
    } catch (error) {
      if (!isBusy(error)) throw typed(error, this.path);
    }
    return new Promise((resolve, reject) => {
      const end = performance.now() + patienceMs;
      const attempt = (): void => resolve(this.#now(isAcknowledged, begin, work));
      this.#line.push({ attempt, reject, patienceMs, end });
      if (this.#line.length === 1) void this.#serve();
    });
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

  /** Tries again until nobody waits: a call is done when the file is free (2), or refused when its patience ends. */
  async #serve(): Promise<void> {
    for (let waitMs = 2; this.#line.length > 0; waitMs = Math.min(waitMs * 1.6, 50)) {
      // By chance, so that two connections which met once do not go on meeting.
      await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
      for (let first = this.#line[0]; first !== undefined; first = this.#line[0]) {
        try {
          first.attempt();
        } catch (error) {
          if (isBusy(error)) {
            this.#refuseLate(error);
            break;
          }
          first.reject(typed(error, this.path));
        }
        this.#line.shift();
        waitMs = 2;
      }
    }
  }

  /** Nobody waits longer than was agreed because others, before it in the line, have more patience. */
  #refuseLate(cause: unknown): void {
    const now = performance.now();
    const late = this.#line.filter(({ end }) => end < now);
    if (late.length > 0) this.#line = this.#line.filter(({ end }) => end >= now);
    for (const { reject, patienceMs: ms } of late)
      reject(new RuntimeError("store.locked", { path: this.path, ms }, { cause }));
  }
}

/** A call that found the file locked, or came after one that did. */
interface Waiting {
  /** Throws when the file is still locked. */
  attempt(): void;
  reject(error: unknown): void;
  readonly patienceMs: number;
  readonly end: number;
}
