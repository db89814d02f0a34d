import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Database, Statement, Value } from "./database.ts";
import { isBusy, typed } from "./faults.ts";

/**
 * What a write survives. Every setting survives a killed process. `process`: a power cut may lose the latest writes.
 * `power`: acknowledged writes survive a power cut (inputs, commits, changes, answers, cancels; of jobs their start,
 * their end, and the events sent to them or by them; subscriptions and occurrences); later journal events, steps and
 * lines may be lost. `power-all`: every write survives a power cut.
 */
export type Durability = "process" | "power" | "power-all";
type Sync = "NORMAL" | "FULL";

/** How long a call may block the process while another one writes. After that it waits asynchronously. */
const BLOCK_MS = 4;
const BUSY_MS = 500;
const OPENING_MS = 5_000;

/**
 * One connection: its statements, its transactions, and its retries when another connection has locked the file. The
 * content of statements belongs elsewhere.
 *
 * connection-1: Calls run in the order in which they were made, even if some of them must wait.
 * connection-2: Work that found the file locked runs again from its beginning, because none of it was kept.
 * connection-3: Caches are cleared when a transaction fails.
 */
export class Connection {
  readonly path: string;
  readonly leaseMs: number;
  /** How long a lease holder's calls are retried: while the file is locked, no other process can take the turn. */
  readonly heldMs: number;
  readonly #db: Database;
  readonly #busyTimeoutMs: number;
  /** The sync mode of acknowledged writes, and of all others. */
  readonly #acknowledged: Sync;
  readonly #other: Sync;
  readonly #statements = new Map<string, Statement>();
  readonly #memories: { clear(): void }[] = [];
  #sync: Sync | undefined;
  #isClosed = false;
  /** Calls that wait for another connection, in order (connection-1). */
  #line: Waiting[] = [];

  constructor(db: Database, path: string, durability: Durability, busyTimeoutMs: number, leaseMs: number) {
    this.leaseMs = leaseMs;
    this.#db = db;
    this.path = path;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.heldMs = Math.max(busyTimeoutMs, leaseMs);
    this.#acknowledged = durability === "process" ? "NORMAL" : "FULL";
    this.#other = durability === "power-all" ? "FULL" : "NORMAL";
  }

  /** Registers a cache that is cleared when a transaction fails (connection-3). */
  remembers<M extends { clear(): void }>(memory: M): M {
    this.#memories.push(memory);
    return memory;
  }

  /** Runs `prepare` on an opened database. It may block for a while, because no other call can run before it. */
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

  /**
   * Retries, because SQLite does not wait for some locks, such as that of a connection which changes the journal mode.
   */
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

  /** Runs SQL that must not be prepared: a prepared `PRAGMA synchronous` does nothing on its first run. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: Value[]): number {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    return Number(statement.run(...values).changes);
  }

  /** Returns the number of the inserted row, if one was inserted. */
  insert(sql: string, ...values: Value[]): number | undefined {
    const statement = this.#statements.get(sql) ?? this.#prepare(sql);
    const { changes, lastInsertRowid } = statement.run(...values);
    return Number(changes) === 0 ? undefined : Number(lastInsertRowid);
  }

  /**
   * Returns the first row. For reads, and for writes inside a transaction: `get` does not finish its statement, and
   * outside a transaction the failure of the write would be unnoticed.
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

  /** Runs work that is one reading statement. */
  read<T>(work: () => T): Awaitable<T> {
    return this.#patiently(undefined, undefined, work);
  }

  /** Runs work of several statements on one snapshot. */
  readAll<T>(work: () => T): Awaitable<T> {
    return this.#patiently(undefined, "BEGIN", work);
  }

  /** Runs work that is one writing statement. If it returns rows, use `rows`. */
  writeOne<T>(isAcknowledged: boolean, work: () => T, busyTimeoutMs?: number): Awaitable<T> {
    return this.#patiently(isAcknowledged, undefined, work, busyTimeoutMs);
  }

  /** Keeps all of the work or nothing. Takes the write lock first, so that what it reads stays true until the end. */
  write<T>(isAcknowledged: boolean, work: () => T, busyTimeoutMs?: number): Awaitable<T> {
    return this.#patiently(isAcknowledged, "BEGIN IMMEDIATE", work, busyTimeoutMs);
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
    busyTimeoutMs = this.#busyTimeoutMs,
  ): Awaitable<T> {
    try {
      if (this.#line.length === 0) return this.#now(isAcknowledged, begin, work);
    } catch (error) {
      if (!isBusy(error)) throw typed(error, this.path);
    }
    return new Promise((resolve, reject) => {
      const end = performance.now() + busyTimeoutMs;
      const attempt = (): void => resolve(this.#now(isAcknowledged, begin, work));
      this.#line.push({ attempt, reject, busyTimeoutMs: busyTimeoutMs, end });
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
        // SQLite already rolled back, as it does after some failures. The first error has the reason.
      }
      throw error;
    }
  }

  /**
   * Retries until no call waits: a call runs when the file is free (connection-2), or is refused when its patience
   * ends.
   */
  async #serve(): Promise<void> {
    for (let waitMs = 2; this.#line.length > 0; waitMs = Math.min(waitMs * 1.6, 50)) {
      // Random, so that two conflicting connections do not conflict again.
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

  /** Refuses calls whose patience has ended, even behind others with more patience. */
  #refuseLate(cause: unknown): void {
    const now = performance.now();
    const late = this.#line.filter(({ end }) => end < now);
    if (late.length > 0) this.#line = this.#line.filter(({ end }) => end >= now);
    for (const { reject, busyTimeoutMs: ms } of late)
      reject(new RuntimeError("store.locked", { path: this.path, ms }, { cause }));
  }
}

/** A call that found the file locked, or that was made after such a call. */
interface Waiting {
  /** Throws while the file is locked. */
  attempt(): void;
  reject(error: unknown): void;
  readonly busyTimeoutMs: number;
  readonly end: number;
}
