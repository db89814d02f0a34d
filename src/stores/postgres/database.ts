import { hash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError } from "../../model/errors.ts";
import { keyText } from "../rows/codec.ts";
import { loadDriver } from "./driver.ts";
import { isCut, isOutdated, isPassing, isPreparedLost, isUnknownHost, typed, Undecided } from "./faults.ts";

/** A parameter, or the value of a column. */
export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | boolean | null)[];

/** What the store needs of a `pg` pool. A caller's pool may be any object with these methods. */
export interface Pool {
  connect(): Promise<Client>;
  /** `connect` has its own timeout. */
  readonly isTimed?: boolean;
}
export interface Client {
  query(statement: Statement): Promise<Answered>;
  release(broken?: Error | boolean): void;
  on?(event: "error", listener: () => void): unknown;
  /** Sends statements without waiting for earlier answers. */
  readonly pipeline?: boolean;
}
export interface Answered {
  readonly rows: unknown[];
  readonly rowCount: number | null;
}
export interface Statement {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
  readonly types?: { getTypeParser(oid: number, format?: string): unknown };
  readonly query_timeout?: number;
}

export interface DatabaseOptions {
  readonly schema: string;
  /** Names the store in errors: host, port, database and schema, without secrets. */
  readonly name: string;
  readonly leaseMs: number;
  /** How long a call is retried while the server is unreachable. */
  readonly retryMs: number;
  /** How long the server may take to answer before the connection counts as dead. */
  readonly statementTimeoutMs: number;
  /** The clock of leases: the server's, or the `now` that callers pass. */
  readonly clock: "server" | "caller";
  /** Creates or updates the schema. Every other call waits for it. */
  setUp(db: Database): Promise<void>;
}

/** Row numbers and revisions are integers that fit a JavaScript number. */
const INT8 = 20;
async function loadTypes(): Promise<NonNullable<Statement["types"]>> {
  const { types } = await loadDriver();
  return {
    getTypeParser: (oid: number, format?: "text" | "binary"): unknown =>
      oid === INT8 ? Number : types.getTypeParser(oid, format),
  };
}

/** The lease clock in ms: the parameter with this number, or the server's clock if that is null. */
export const clock = (parameter: number): string =>
  `coalesce($${parameter}::float8, date_part('epoch', clock_timestamp()) * 1000)`;

/** The server refuses NUL in a text. So a name with NUL is looked up in its stored form. */
const hasNul = (value: Value): boolean =>
  Array.isArray(value) ? value.some(hasNul) : typeof value === "string" && value.includes("\0");
const withoutNul = (value: Value): Value => {
  if (Array.isArray(value))
    return value.map((each) => (typeof each === "string" && hasNul(each) ? keyText(each) : each));
  return typeof value === "string" && hasNul(value) ? keyText(value) : value;
};

const PREPARED_TRIES = 5;
/** A transaction id, and the era of the server in which it is valid. */
interface TransactionId {
  readonly id: string;
  readonly era: string | null;
}
/** The server's time, as in `clock`. */
export const SERVER_TIME = "date_part('epoch', clock_timestamp()) * 1000";
const NUMBER = `SELECT pg_current_xact_id()::text AS id, (SELECT id FROM @era) AS era, ${SERVER_TIME} AS time`;
const STATUS = "SELECT CASE WHEN $2 = (SELECT id FROM @era) THEN pg_xact_status($1::xid8) END AS status";
const NEW_ERA = "INSERT INTO @era (id) VALUES ($1) ON CONFLICT DO NOTHING";

/** Connections that already have an error listener. Several stores may share a pool. */
const HAS_LISTENER = new WeakSet<object>();

/** A pool emits errors of idle connections. Without a listener these would end the process. */
function listenTo(pool: object): void {
  const heard = pool as { on?(event: string, listener: (client: unknown) => void): unknown };
  if (HAS_LISTENER.has(pool) || typeof heard.on !== "function") return;
  HAS_LISTENER.add(pool);
  heard.on("error", () => {});
  // Attached before the connection is given out: the server may close it in the same packet that greets.
  heard.on("connect", (client) => {
    HAS_LISTENER.add(client as Client);
    (client as Client).on?.("error", () => {});
  });
}

/** How much longer than the server the pool may take. */
const POOL_MS = 500;

const BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/**
 * Connections, transactions and retries. The content of statements belongs elsewhere. In a statement `@turn` means the
 * table `turn` in the schema of the store, because the search path of a connection is unknown.
 *
 * database-1: Work that failed because a connection was lost, or because two transactions conflicted, runs again from
 * its beginning. So it may change nothing but the database. If the answer to a COMMIT was lost, the server is asked
 * whether that transaction was kept, so that no work is kept twice. A single statement has no transaction id: it is
 * sent again and must tolerate that. The same is true for all work after a server crash (database-4); it receives the
 * number of its attempt.
 * database-2: Lock, then read. A transaction that decides something locks its session's row first (`FOR UPDATE`) and
 * reads in later statements. A statement sees the data of its start, which may be before it got its lock.
 * database-3: Locks are taken in one order: sessions by number, jobs by number, the counter of jobs, the counter of
 * facts.
 * database-4: A crashed server reuses the transaction ids that it had not written to disk, and a caller would then get
 * the status of another transaction. So an id is valid only in its era. The name of the era is in an unlogged table,
 * which is empty after a crash and on a server that replaces another.
 */
export class Database {
  readonly schema: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly retryMs: number;
  readonly statementTimeoutMs: number;
  /** The statement that begins a write transaction. */
  readonly begin: string;
  /** How long a lease holder's calls are retried: as long as the lease may be valid. */
  readonly heldMs: number;
  /** The channel of hints: short texts that name what to read again. */
  readonly channel: string;
  readonly #pool: Pool;
  readonly #options: DatabaseOptions;
  readonly #prefix: string;
  readonly #statements = new Map<string, { readonly name: string; readonly text: string }>();
  /** Whether prepared statements work. A pooler may prevent them. */
  #isPrepared = true;
  #isClosed = false;
  readonly #memories: { clear(): void }[] = [];
  /** Connections that were asked for the era. */
  readonly #greeted = new WeakSet<Client>();
  #era: string | undefined;
  #setUp: Promise<void> | undefined;
  /** How the driver parses columns. Loaded before the first statement. */
  #types: Statement["types"] | undefined;
  #wasReady = false;

  constructor(pool: Pool, options: DatabaseOptions) {
    this.#pool = pool;
    listenTo(pool);
    this.#options = options;
    this.schema = options.schema;
    this.name = options.name;
    this.channel = `bowline_${hash("sha1", options.schema, "hex").slice(0, 16)}`;
    this.leaseMs = options.leaseMs;
    this.retryMs = options.retryMs;
    this.statementTimeoutMs = options.statementTimeoutMs;
    // A process that hangs inside a transaction would otherwise block the rows that it has locked.
    this.begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${options.statementTimeoutMs};
      SET LOCAL idle_in_transaction_session_timeout = ${options.statementTimeoutMs}`;
    this.heldMs = Math.max(options.retryMs, options.leaseMs);
    this.#prefix = `"${options.schema.replaceAll('"', '""')}".`;
  }

  /** Returns the parameter of `clock`: the caller's time, or null for the server's clock. */
  time(now: number): number | null {
    return this.#options.clock === "caller" ? now : null;
  }

  /** Creates or updates the schema once. The next call retries a failure. */
  ready(): Promise<void> {
    this.#setUp ??= this.#start().then(
      () => {
        this.#wasReady = true;
      },
      (error: unknown) => {
        this.#setUp = undefined;
        throw error;
      },
    );
    return this.#setUp;
  }

  async #start(): Promise<void> {
    this.#types = await loadTypes();
    await this.#options.setUp(this);
  }

  /** Runs a single statement in autocommit mode. `attempt` of `work` starts at 1. */
  rows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.patiently(this.retryMs, (client) => this.send<Row>(client, sql, values));
  }

  async row<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0];
  }

  /** Runs a single statement for a lease holder. */
  heldRows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.patiently(this.heldMs, (client) => this.send<Row>(client, sql, values));
  }

  /** Runs several statements on one snapshot. */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.patiently(this.retryMs, (client) => this.#within(client, BEGIN_READ, work));
  }

  /**
   * Runs a transaction: all of the work is kept, once, or nothing. `work` receives the server's time at the beginning.
   */
  write<T>(
    work: (tx: Transaction, attempt: number, time: Promise<number>) => Promise<T>,
    retryMs = this.retryMs,
  ): Promise<T> {
    /** The transaction whose COMMIT was sent but not answered. */
    let last: (TransactionId & { readonly result: T }) | undefined;
    return this.patiently(retryMs, async (client, attempt) => {
      if (last !== undefined && (await this.#isKept(client, last))) return last.result;
      return this.#within(client, this.begin, async (tx) => {
        const numbered = tx.row<TransactionId & { readonly time: number }>(NUMBER);
        const time = numbered.then((row) => row!.time);
        time.catch(() => {});
        const result = await work(tx, attempt, time);
        last = { ...(await numbered)!, result };
        if (last.era === null) tx.queue(NEW_ERA, randomUUID());
        return result;
      });
    });
  }

  /** Returns whether a transaction is known to be kept. After a server crash that is unknown (database-4). */
  async #isKept(client: Client, { id, era }: TransactionId): Promise<boolean> {
    const [row] = await this.send<{ status: string | null }>(client, STATUS, [id, era]);
    if (row!.status === "in progress") throw new Undecided();
    return row!.status === "committed";
  }

  async #within<T>(client: Client, begin: string, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const send = (sql: string, values: readonly Value[]) => this.send<unknown>(client, sql, values);
    const tx = new Transaction(send, client.pipeline === true, this.channel);
    try {
      tx.begin(begin);
      const result = await work(tx);
      await tx.end("COMMIT");
      return result;
    } catch (error) {
      const first = await tx.firstFailure(error);
      if (!isCut(first)) await tx.end("ROLLBACK").catch(() => {});
      throw first;
    }
  }

  /** Runs work on a connection, and retries while that can help (database-1). Converts errors to typed ones. */
  async patiently<T>(
    retryMs: number,
    work: (client: Client, attempt: number) => Promise<T>,
    isReady = true,
  ): Promise<T> {
    const began = performance.now();
    let end: number | undefined; // Starts at the first failure, because a dead connection is noticed late.
    for (let attempt = 1, waitMs = 20; ; attempt++, waitMs = Math.min(waitMs * 1.6, 1_000)) {
      try {
        if (this.#isClosed) throw new RuntimeError("runtime.closed", {});
        if (isReady) await this.ready();
        return await this.#once(work, attempt, isReady);
      } catch (error) {
        if (error instanceof RuntimeError) throw error;
        if (isPreparedLost(error) && attempt < PREPARED_TRIES) {
          this.#isPrepared = false; // Permanent. Concurrent calls with a prepared name fail and reach this line too.
          continue;
        }
        end ??= performance.now() + retryMs;
        const mayPass = isPassing(error) || (this.#wasReady && isUnknownHost(error));
        if (!mayPass || performance.now() + waitMs > end)
          throw typed(error, this.name, Math.round(performance.now() - began));
        // Random, so that two conflicting transactions do not conflict again.
        await sleep(waitMs * (0.5 + Math.random()));
      }
    }
  }

  /** Registers a cache that is cleared when the server may have lost data (database-4). */
  remembers<M extends { clear(): void }>(memory: M): M {
    this.#memories.push(memory);
    return memory;
  }

  /** A server crash ends all connections. So each new connection checks that the era is the same. */
  async #greet(client: Client): Promise<void> {
    const [row] = await this.send<{ id: string }>(client, "SELECT id FROM @era", []);
    if (row !== undefined && row.id === this.#era) return;
    this.#era = row?.id;
    for (const memory of this.#memories) memory.clear();
  }

  async #once<T>(work: (client: Client, attempt: number) => Promise<T>, attempt: number, isReady: boolean): Promise<T> {
    const client = await this.#connect();
    const isNew = !this.#greeted.has(client);
    if (isNew && !HAS_LISTENER.has(client)) {
      // The pending call already receives the error. Without a listener it would also end the process.
      HAS_LISTENER.add(client);
      client.on?.("error", () => {});
    }
    let isBroken = false;
    try {
      if (isNew && isReady) {
        await this.#greet(client);
        this.#greeted.add(client);
      }
      return await work(client, attempt);
    } catch (error) {
      isBroken = isCut(error) || isPreparedLost(error) || isOutdated(error);
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  /** A caller's pool may make callers wait forever, so this adds a timeout. The store's own pool has one. */
  async #connect(): Promise<Client> {
    if (this.#pool.isTimed === true) return this.#pool.connect();
    const connecting = this.#pool.connect();
    const given = new AbortController();
    const late = sleep(this.statementTimeoutMs + POOL_MS, undefined, { signal: given.signal }).then(() => {
      connecting.then((client) => client.release()).catch(() => {});
      throw new Error("timeout exceeded when trying to connect");
    });
    late.catch(() => {});
    try {
      return await Promise.race([connecting, late]);
    } finally {
      given.abort();
    }
  }

  /** Sends a statement over a connection from `patiently`. */
  async send<Row>(client: Client, sql: string, values: readonly Value[]): Promise<Row[]> {
    const { rows } = await client.query(this.#statement(sql, values));
    return rows as Row[];
  }

  #statement(sql: string, values: readonly Value[]): Statement {
    const known = this.#statements.get(sql) ?? this.#prepare(sql);
    const query_timeout = this.statementTimeoutMs;
    const types = this.#types!;
    if (values.some(hasNul)) return this.#statement(sql, values.map(withoutNul));
    // Without values the text may contain several statements, which cannot be prepared.
    if (values.length === 0) return { text: known.text, types, query_timeout };
    if (!this.#isPrepared) return { text: known.text, values, types, query_timeout };
    return { ...known, values, types, query_timeout };
  }

  #prepare(sql: string): { readonly name: string; readonly text: string } {
    const text = sql.replaceAll("@", this.#prefix);
    const statement = { name: `bowline_${hash("sha1", text, "hex").slice(0, 16)}`, text };
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Returns whether it was open. */
  close(): boolean {
    const wasOpen = !this.#isClosed;
    this.#isClosed = true;
    return wasOpen;
  }
}

/** One transaction. */
export class Transaction {
  readonly #send: (sql: string, values: readonly Value[]) => Promise<unknown[]>;
  readonly #isPipelined: boolean;
  readonly #channel: string;
  /** Statements whose answers are not awaited. */
  #queued: Promise<unknown>[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(
    send: (sql: string, values: readonly Value[]) => Promise<unknown[]>,
    isPipelined: boolean,
    channel: string,
  ) {
    this.#send = send;
    this.#channel = channel;
    this.#isPipelined = isPipelined;
  }

  #next(sql: string, values: readonly Value[]): Promise<unknown[]> {
    const sent = this.#isPipelined ? this.#send(sql, values) : this.#last.then(() => this.#send(sql, values));
    this.#last = sent.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return sent;
  }

  begin(sql: string): void {
    this.queue(sql);
  }

  async rows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#next(sql, values)) as Row[];
  }

  async row<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0];
  }

  /** Sends a statement without awaiting its answer. Its failure fails the transaction. */
  queue(sql: string, ...values: Value[]): void {
    this.ask(sql, ...values);
  }

  /** Sends a statement whose answer may be read after the end. */
  ask<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    const sent = this.#next(sql, values);
    sent.catch(() => {});
    this.#queued.push(sent);
    return sent as Promise<Row[]>;
  }

  /** Notifies other processes after the commit. */
  hint(payload: string): void {
    this.queue("SELECT pg_notify($1, $2)", this.#channel, payload);
  }

  async end(sql: "COMMIT" | "ROLLBACK"): Promise<void> {
    this.queue(sql);
    const queued = this.#queued;
    this.#queued = [];
    await Promise.all(queued);
  }

  /** Returns the first error. After it, the server refuses all later statements of the transaction. */
  async firstFailure(error: unknown): Promise<unknown> {
    await this.#last;
    return this.#failure === undefined ? error : this.#failure.error;
  }
}
