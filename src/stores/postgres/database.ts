import { hash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { RuntimeError } from "../../model/errors.ts";
import { keyText } from "../rows/codec.ts";
import { loadDriver } from "./driver.ts";
import { isCut, isOutdated, isPassing, isPreparedLost, isUnknownHost, typed, Undecided } from "./faults.ts";

/** What a statement is given, and what it may answer in a column. */
export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | boolean | null)[];

/** The store's view of a pool of `pg`; one that is handed in may be any that has these. */
export interface Pool {
  connect(): Promise<Client>;
  /** It lets nobody wait for longer than for a server. */
  readonly isTimed?: boolean;
}
export interface Client {
  query(statement: Statement): Promise<Answered>;
  release(broken?: Error | boolean): void;
  on?(event: "error", listener: () => void): unknown;
  /** Statements are sent without waiting for the answers to those before. */
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
  /** What errors call the store: host, port, database and schema, and nothing that is secret. */
  readonly name: string;
  readonly leaseMs: number;
  /** How long a call is tried while the server cannot be reached. */
  readonly patienceMs: number;
  /** How long the server may take to answer, before the connection counts as dead. */
  readonly answerMs: number;
  /** Lease times are told by the server's clock, or by the `now` that callers give. */
  readonly clock: "server" | "caller";
  /** Brings the schema up to date; every other call waits for it. */
  setUp(db: Database): Promise<void>;
}

/** Numbers of rows and revisions are whole and small enough for JavaScript. */
const INT8 = 20;
async function loadTypes(): Promise<NonNullable<Statement["types"]>> {
  const { types } = await loadDriver();
  return {
    getTypeParser: (oid: number, format?: "text" | "binary"): unknown =>
      oid === INT8 ? Number : types.getTypeParser(oid, format),
  };
}

/** The time of a lease, in ms: the parameter of this number, and where that is null, the server's clock. */
export const clock = (parameter: number): string =>
  `coalesce($${parameter}::float8, date_part('epoch', clock_timestamp()) * 1000)`;

/** No text of a row has NUL, which the server refuses: such a name is asked for in the form in which it would be kept. */
const hasNul = (value: Value): boolean =>
  Array.isArray(value) ? value.some(hasNul) : typeof value === "string" && value.includes("\0");
const withoutNul = (value: Value): Value => {
  if (Array.isArray(value))
    return value.map((each) => (typeof each === "string" && hasNul(each) ? keyText(each) : each));
  return typeof value === "string" && hasNul(value) ? keyText(value) : value;
};

const PREPARED_TRIES = 5;
/** A transaction, and the era of the server in which it has this number. */
interface Numbered {
  readonly id: string;
  readonly era: string | null;
}
const NUMBER = "SELECT pg_current_xact_id()::text AS id, (SELECT id FROM @era) AS era";
const STATUS = "SELECT CASE WHEN $2 = (SELECT id FROM @era) THEN pg_xact_status($1::xid8) END AS status";
const NEW_ERA = "INSERT INTO @era (id) VALUES ($1) ON CONFLICT DO NOTHING";

/** Connections whose errors are heard: once each, though several stores may share a pool. */
const HEARD = new WeakSet<object>();

/** A pool tells of connections that broke while nobody used them. Without a listener that would end the process. */
function listenTo(pool: object): void {
  const heard = pool as { on?(event: string, listener: (client: unknown) => void): unknown };
  if (HEARD.has(pool) || typeof heard.on !== "function") return;
  HEARD.add(pool);
  heard.on("error", () => {});
  // Before anybody is given the connection: the server may end it in the same breath in which it greets.
  heard.on("connect", (client) => {
    HEARD.add(client as Client);
    (client as Client).on?.("error", () => {});
  });
}

/** How much longer than the server a pool may take. */
const POOL_MS = 500;

const BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/**
 * The server: its connections, its transactions, and the store's patience with it. What statements say is not its job.
 * In a statement `@turn` is the table `turn` in the schema of the store: the search path of a connection may be anybody's.
 *
 * 1. Work that failed because a connection was lost, or because two transactions were in each other's way, is done again
 *    from its beginning: it may change nothing but the database. When the answer to a COMMIT was lost, the server is asked
 *    what became of that transaction, so that none is kept twice. A statement by itself has no such number: it is sent
 *    again, and must bear that. So must all work after a crash of the server (4), and is told which attempt it is.
 * 2. Lock, then read: a transaction that decides something locks the row of its session first (`FOR UPDATE`), and reads in
 *    later statements. A statement sees what was there when it began, which may be before it got its lock.
 * 3. Locks are taken in one order: sessions by number, jobs by number, the counter of jobs, the counter of facts.
 * 4. A server that crashed gives out the numbers of transactions again which it had not yet written down, and whoever has
 *    such a number would be told of another's transaction. So a number counts only in its era: the name of the era is in an
 *    unlogged table, which a crash empties, and so does a server that takes the place of another.
 */
export class Database {
  readonly schema: string;
  readonly name: string;
  readonly leaseMs: number;
  readonly patienceMs: number;
  readonly answerMs: number;
  /** Begins a transaction that writes. */
  readonly begin: string;
  /** The patience of whoever holds a lease: it is tried as long as the lease may hold. */
  readonly heldMs: number;
  /** Where hints are told; hints are short texts that say what to look at. */
  readonly channel: string;
  readonly #pool: Pool;
  readonly #options: DatabaseOptions;
  readonly #prefix: string;
  readonly #statements = new Map<string, { readonly name: string; readonly text: string }>();
  /** Whether the server remembers statements by name; a pooler between may not. */
  #isPrepared = true;
  #isClosed = false;
  readonly #memories: { clear(): void }[] = [];
  /** Connections over which the era was asked for. */
  readonly #greeted = new WeakSet<Client>();
  #era: string | undefined;
  #setUp: Promise<void> | undefined;
  /** How the driver reads columns; loaded before the first statement. */
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
    this.patienceMs = options.patienceMs;
    this.answerMs = options.answerMs;
    // A process that hangs with its transaction open would keep others from the rows that it has locked.
    this.begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${options.answerMs};
      SET LOCAL idle_in_transaction_session_timeout = ${options.answerMs}`;
    this.heldMs = Math.max(options.patienceMs, options.leaseMs);
    this.#prefix = `"${options.schema.replaceAll('"', '""')}".`;
  }

  /** The time that a caller gave, for `clock` in a statement: null where the server's own counts. */
  time(now: number): number | null {
    return this.#options.clock === "caller" ? now : null;
  }

  /** Brings the schema up to date, once; a failure is tried again by the next call. */
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

  /** One statement by itself, kept when it answers. `attempt` of `work` counts from 1. */
  rows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.patiently(this.patienceMs, (client) => this.send<Row>(client, sql, values));
  }

  async row<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0];
  }

  /** The same for whoever holds a lease. */
  heldRows<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return this.patiently(this.heldMs, (client) => this.send<Row>(client, sql, values));
  }

  /** Several statements that read one moment, though others write. */
  read<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.patiently(this.patienceMs, (client) => this.#within(client, BEGIN_READ, work));
  }

  /** Keeps all of the work or nothing, once. */
  write<T>(work: (tx: Transaction, attempt: number) => Promise<T>, patienceMs = this.patienceMs): Promise<T> {
    /** The transaction whose COMMIT was sent and not answered. */
    let last: (Numbered & { readonly result: T }) | undefined;
    return this.patiently(patienceMs, async (client, attempt) => {
      if (last !== undefined && (await this.#isKept(client, last))) return last.result;
      return this.#within(client, this.begin, async (tx) => {
        const numbered = tx.row<Numbered>(NUMBER);
        numbered.catch(() => {});
        const result = await work(tx, attempt);
        last = { ...(await numbered)!, result };
        if (last.era === null) tx.queue(NEW_ERA, randomUUID());
        return result;
      });
    });
  }

  /** Whether a transaction is known to be kept. Of one before a crash of the server nothing is known (4). */
  async #isKept(client: Client, { id, era }: Numbered): Promise<boolean> {
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

  /** Runs work on a connection, and again while that can help (1). Errors are typed on the way out. */
  async patiently<T>(
    patienceMs: number,
    work: (client: Client, attempt: number) => Promise<T>,
    isReady = true,
  ): Promise<T> {
    const began = performance.now();
    let end: number | undefined; // Counted from the first failure: a connection that is dead takes its time to show it.
    for (let attempt = 1, waitMs = 20; ; attempt++, waitMs = Math.min(waitMs * 1.6, 1_000)) {
      try {
        if (this.#isClosed) throw new RuntimeError("runtime.closed", {});
        if (isReady) await this.ready();
        return await this.#once(work, attempt, isReady);
      } catch (error) {
        if (error instanceof RuntimeError) throw error;
        if (isPreparedLost(error) && attempt < PREPARED_TRIES) {
          this.#isPrepared = false; // From now on; calls that were under way with a name come here, too.
          continue;
        }
        end ??= performance.now() + patienceMs;
        const mayPass = isPassing(error) || (this.#wasReady && isUnknownHost(error));
        if (!mayPass || performance.now() + waitMs > end)
          throw typed(error, this.name, Math.round(performance.now() - began));
        // By chance, so that two transactions which met once do not go on meeting.
        await sleep(waitMs * (0.5 + Math.random()));
      }
    }
  }

  /** Names something that remembers rows, to be cleared when the server may have lost some (4). */
  remembers<M extends { clear(): void }>(memory: M): M {
    this.#memories.push(memory);
    return memory;
  }

  /** A server that crashed ends all connections. So whoever opens one looks whether it is still the same era. */
  async #greet(client: Client): Promise<void> {
    const [row] = await this.send<{ id: string }>(client, "SELECT id FROM @era", []);
    if (row !== undefined && row.id === this.#era) return;
    this.#era = row?.id;
    for (const memory of this.#memories) memory.clear();
  }

  async #once<T>(work: (client: Client, attempt: number) => Promise<T>, attempt: number, isReady: boolean): Promise<T> {
    const client = await this.#connect();
    const isNew = !this.#greeted.has(client);
    if (isNew && !HEARD.has(client)) {
      // Whoever waits for an answer is told that the connection broke; without a listener it would also end the process.
      HEARD.add(client);
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

  /** A pool that is handed in may let callers wait for ever. Our own knows what it waited for. */
  async #connect(): Promise<Client> {
    if (this.#pool.isTimed === true) return this.#pool.connect();
    const connecting = this.#pool.connect();
    const given = new AbortController();
    const late = sleep(this.answerMs + POOL_MS, undefined, { signal: given.signal }).then(() => {
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

  /** Sends a statement over a connection that `patiently` gave. */
  async send<Row>(client: Client, sql: string, values: readonly Value[]): Promise<Row[]> {
    const { rows } = await client.query(this.#statement(sql, values));
    return rows as Row[];
  }

  #statement(sql: string, values: readonly Value[]): Statement {
    const known = this.#statements.get(sql) ?? this.#prepare(sql);
    const query_timeout = this.answerMs;
    const types = this.#types!;
    if (values.some(hasNul)) return this.#statement(sql, values.map(withoutNul));
    // Without values several statements can be sent as one text, which cannot be prepared.
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

  /** Answers whether it was open. */
  close(): boolean {
    const wasOpen = !this.#isClosed;
    this.#isClosed = true;
    return wasOpen;
  }
}

/** Statements that are kept together. */
export class Transaction {
  readonly #send: (sql: string, values: readonly Value[]) => Promise<unknown[]>;
  readonly #isPipelined: boolean;
  readonly #channel: string;
  /** Statements that nobody waits for by themselves. */
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

  /** Sends a statement whose answer nobody needs: it costs no waiting, and what it runs into fails the transaction. */
  queue(sql: string, ...values: Value[]): void {
    const sent = this.#next(sql, values);
    sent.catch(() => {});
    this.#queued.push(sent);
  }

  /** Tells other processes, once all of this is kept. */
  hint(payload: string): void {
    this.queue("SELECT pg_notify($1, $2)", this.#channel, payload);
  }

  async end(sql: "COMMIT" | "ROLLBACK"): Promise<void> {
    this.queue(sql);
    const queued = this.#queued;
    this.#queued = [];
    await Promise.all(queued);
  }

  /** The error that the others followed from: after one, the server refuses all later statements. */
  async firstFailure(error: unknown): Promise<unknown> {
    await this.#last;
    return this.#failure === undefined ? error : this.#failure.error;
  }
}
