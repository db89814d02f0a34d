import type pg from "pg";
import type { Answered, Client, Pool, Statement } from "./database.ts";
import { closingClient, type Driver, loadDriver } from "./driver.ts";

/** Interval of the search for connections that were not used since the last search. */
const AT_HAND_MS = 100;
/** Also the driver's message. */
const EXHAUSTED = "timeout exceeded when trying to connect";

/**
 * The connections of a store that was given a URL. The driver's pool opens, times and ends them. But a turn sends many
 * single statements, and in that pool each costs two timers, two listeners and a tick. So a released connection is
 * passed to the next caller here, and goes back to the pool only after it was idle for a moment.
 *
 * pool-1: Every connection that the pool has given out is either in use or idle here. While all are in use, callers
 * wait here and not in the pool, because the pool would not notice a release.
 * pool-2: An idle connection here keeps the process alive for that moment. In the pool it does not.
 */
export class Connections implements Pool {
  readonly isTimed = true;
  readonly #url: string;
  readonly #max: number;
  readonly #waitMs: number;
  /** Created with the first connection, because that loads the driver. */
  #opening: Promise<Opened> | undefined;
  /** How many connections the pool has given out or is about to give out (pool-1). */
  #out = 0;
  /** Ordered by last use, the latest at the end. */
  readonly #atHand: Connection[] = [];
  readonly #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(url: string, max: number, statementTimeoutMs: number) {
    this.#url = url;
    this.#max = max;
    this.#waitMs = statementTimeoutMs;
  }

  async #openPool(): Promise<Opened> {
    const driver = await loadDriver();
    const pool = new driver.Pool({
      connectionString: this.#url,
      Client: closingClient(driver),
      max: this.#max,
      pipeline: true,
      connectionTimeoutMillis: this.#waitMs,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
      keepAlive: true,
      application_name: "bowline",
    } as pg.PoolConfig);
    // An idle connection may break without a failed call. Without a listener its error would end the process.
    pool.on("error", () => {});
    // Attached before the connection is given out: the server may close it in the same packet that greets.
    pool.on("connect", (client) => client.on("error", () => {}));
    return { pool, driver };
  }

  connect(): Promise<Client> {
    for (let last = this.#atHand.pop(); last !== undefined; last = this.#atHand.pop()) {
      if (!last.isBroken) return Promise.resolve(last);
      this.#drop(last);
    }
    if (this.#out < this.#max)
      return this.#open().catch((error: unknown) => {
        this.#serve();
        throw error;
      });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject, until: performance.now() + this.#waitMs });
      this.#watch();
    });
  }

  async #open(): Promise<Connection> {
    this.#out++;
    try {
      this.#opening ??= this.#openPool().catch((error: unknown) => {
        this.#opening = undefined; // The next attempt may succeed.
        throw error;
      });
      const { pool, driver } = await this.#opening;
      return new Connection(await pool.connect(), driver, (connection) => this.#take(connection));
    } catch (error) {
      this.#out--;
      throw error;
    }
  }

  /** Receives a released connection. */
  #take(connection: Connection): void {
    if (connection.isBroken || this.#isEnding) return this.#drop(connection);
    const next = this.#waiting.shift();
    if (next !== undefined) return next.resolve(connection);
    this.#atHand.push(connection);
    this.#watch();
  }

  #drop(connection: Connection): void {
    connection.leave();
    this.#out--;
    this.#serve();
  }

  /** Opens a connection for waiting callers if the maximum allows it. They may get a released one earlier. */
  #serve(): void {
    if (this.#waiting.length === 0 || this.#out >= this.#max) return;
    this.#open().then(
      (connection) => this.#take(connection),
      (error: unknown) => {
        this.#waiting.shift()?.reject(error);
        this.#serve();
      },
    );
  }

  #watch(): void {
    this.#timer ??= setInterval(() => this.#look(), AT_HAND_MS).unref();
  }

  #look(): void {
    const now = performance.now();
    while (this.#waiting[0] !== undefined && this.#waiting[0].until <= now)
      this.#waiting.shift()!.reject(new Error(EXHAUSTED));
    for (const connection of this.#atHand.splice(0))
      if (connection.isUnused()) this.#drop(connection);
      else this.#atHand.push(connection);
    if (this.#waiting.length > 0 || this.#atHand.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    for (const connection of this.#atHand.splice(0)) this.#drop(connection);
    await (await this.#opening?.catch(() => undefined))?.pool.end();
  }
}

interface Opened {
  readonly pool: pg.Pool;
  readonly driver: Driver;
}

interface Waiting {
  readonly resolve: (client: Client) => void;
  readonly reject: (error: unknown) => void;
  readonly until: number;
}

/** Fields that the driver reads from a query and that its types omit. */
interface QueryInternals {
  name: string | undefined;
  values: readonly unknown[] | undefined;
  query_timeout: number | undefined;
  callback: (error: unknown, result: Answered) => void;
  _result: { _types: unknown };
}

/** A connection of the pool, for one loan. */
class Connection implements Client {
  readonly pipeline = true;
  /** The connection was lost, or its user reported that it is unusable. */
  isBroken = false;
  readonly #client: pg.PoolClient;
  readonly #driver: Driver;
  readonly #back: (connection: Connection) => void;
  readonly #breaks = (): void => {
    this.isBroken = true;
  };
  #uses = 0;
  #usesSeen = 0;

  constructor(client: pg.PoolClient, driver: Driver, back: (connection: Connection) => void) {
    this.#client = client;
    this.#driver = driver;
    this.#back = back;
    client.on("error", this.#breaks);
    client.on("end", this.#breaks);
  }

  /** Constructs the driver's query directly. If the driver got an object, it would copy it property by property. */
  query({ text, name, values, types, query_timeout }: Statement): Promise<Answered> {
    const query = new this.#driver.Query(text);
    const inside = query as unknown as QueryInternals;
    inside.name = name;
    inside.values = values;
    inside.query_timeout = query_timeout;
    if (types !== undefined) inside._result._types = types;
    return new Promise((resolve, reject) => {
      inside.callback = (error, result) => (error ? reject(error) : resolve(result));
      this.#client.query(query);
    });
  }

  release(broken?: Error | boolean): void {
    if (broken) this.isBroken = true;
    this.#uses++;
    this.#back(this);
  }

  /** Returns whether it was unused since the last call of this method. */
  isUnused(): boolean {
    const before = this.#usesSeen;
    this.#usesSeen = this.#uses;
    return before === this.#uses;
  }

  /** Returns it to the pool. The pool ends it if it is broken. */
  leave(): void {
    this.#client.release(this.isBroken);
    this.#client.off("error", this.#breaks);
    this.#client.off("end", this.#breaks);
  }
}
