import type pg from "pg";
import type { Answered, Client, Pool, Statement } from "./database.ts";
import { closingClient, type Driver, loadDriver } from "./driver.ts";

/** How often it is looked which connections nobody has used since the last time. */
const AT_HAND_MS = 100;
/** What the driver says, too. */
const EXHAUSTED = "timeout exceeded when trying to connect";

/**
 * The connections of a store that was given a URL. The driver's pool opens them, times them and ends them; but a turn sends
 * many single statements, and to that pool each is two timers, two listeners and a tick. So whoever is done with a
 * connection hands it to the next one here, and only a connection that nobody has used for a moment goes back.
 *
 * 1. All connections that the pool has given out are in use or at hand. While all are in use, callers wait here and not
 *    in the pool, which would not hear that one is free.
 * 2. A connection at hand keeps the process alive, for that moment. In the pool it does not.
 */
export class Connections implements Pool {
  readonly isTimed = true;
  readonly #url: string;
  readonly #max: number;
  readonly #waitMs: number;
  /** Made for the first connection, as the driver is loaded then. */
  #opening: Promise<Opened> | undefined;
  /** How many the pool has given out, or is about to (1). */
  #out = 0;
  /** The one that was used last is the last. */
  readonly #atHand: Connection[] = [];
  readonly #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(url: string, max: number, answerMs: number) {
    this.#url = url;
    this.#max = max;
    this.#waitMs = answerMs;
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
    // A connection that breaks while nobody uses it is no failure of anybody's call. Without a listener it would end the process.
    pool.on("error", () => {});
    // Before anybody is given it: the server may end it in the same breath in which it greets.
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
        this.#opening = undefined; // The driver may load the next time.
        throw error;
      });
      const { pool, driver } = await this.#opening;
      return new Connection(await pool.connect(), driver, (connection) => this.#take(connection));
    } catch (error) {
      this.#out--;
      throw error;
    }
  }

  /** Takes a connection that somebody is done with. */
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

  /** Opens a connection for those who wait, if there is room for another. Until it is open any other will do, too. */
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

/** What the driver reads of a query that it is handed, and its types do not tell. */
interface Inside {
  name: string | undefined;
  values: readonly unknown[] | undefined;
  query_timeout: number | undefined;
  callback: (error: unknown, result: Answered) => void;
  _result: { _types: unknown };
}

/** A connection that the pool has given out, once. */
class Connection implements Client {
  readonly pipeline = true;
  /** It was lost, or somebody said that it is of no use any more. */
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

  /** Makes the driver's query itself: handed the parts of one, the driver would copy them property by property. */
  query({ text, name, values, types, query_timeout }: Statement): Promise<Answered> {
    const query = new this.#driver.Query(text);
    const inside = query as unknown as Inside;
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

  /** Whether nobody has used it since this was last asked. */
  isUnused(): boolean {
    const before = this.#usesSeen;
    this.#usesSeen = this.#uses;
    return before === this.#uses;
  }

  /** Gives it back to the pool, or has the pool end it if it is broken. */
  leave(): void {
    this.#client.release(this.isBroken);
    this.#client.off("error", this.#breaks);
    this.#client.off("end", this.#breaks);
  }
}
