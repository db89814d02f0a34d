import type pg from "pg";
import type { BlobHash, SessionId } from "../../model/ids.ts";
import { LatestStates } from "../rows/latest-states.ts";
import type { Engine, Fast, Numbered, Port, WriteOptions } from "../rules/port.ts";
import { type Rule, runLater } from "../rules/rule.ts";
import type { Lease, Shown, Store } from "../store.ts";
import { Blobs } from "./blobs.ts";
import { CallQueue } from "./call-queue.ts";
import type { Connections } from "./connections.ts";
import type { Database } from "./database.ts";
import { FastTurns } from "./fast.ts";
import { isDuplicate } from "./faults.ts";
import { Hints } from "./hints.ts";
import { follow, readLive, show } from "./live.ts";
import { PostgresPort } from "./port.ts";
import { Runs } from "./runs.ts";
import { Sweeper, type SweepOptions, type Swept } from "./sweep.ts";

/** Maximum retries after another write added the same row. The next attempt reads that row. */
const DUPLICATES_MAX = 5;

/**
 * Runs rules on a PostgreSQL database: a read on one snapshot, a write in one transaction. The transaction is retried
 * after a lost connection or a conflict (`database.ts`).
 */
export class PostgresEngine implements Engine {
  readonly kind = "postgres";
  readonly isDurable = true;
  readonly fast: Fast;
  readonly hints?: NonNullable<Store["hints"]>;
  readonly #db: Database;
  /** The store's own pool, which it closes. */
  readonly #own: Connections | undefined;
  readonly #calls = new CallQueue();
  readonly #blobs: Blobs;
  readonly #runs: Runs;
  readonly #states: LatestStates;
  readonly #sweeper: Sweeper;
  readonly #hints: Hints | undefined;

  constructor(db: Database, own: Connections | undefined, connect: (() => Promise<pg.Client>) | undefined) {
    this.#db = db;
    this.#own = own;
    // Errors of hints are ignored: they only make waiting callers slower, because these also poll.
    const hints = connect && new Hints(connect, db.channel, () => {});
    this.#hints = hints;
    if (hints !== undefined) this.hints = (listener) => hints.listen(listener);
    this.#blobs = new Blobs(db, Date.now);
    this.#runs = new Runs(db);
    this.#states = db.remembers(new LatestStates());
    this.#sweeper = new Sweeper(db);
    this.fast = new FastTurns(db, this.#runs, this.#calls, this.#states, (rule) => this.write(rule, { isRetry: true }));
  }

  ready(): Promise<void> {
    return this.#db.patiently(this.#db.retryMs, async () => {});
  }

  read<T>(rule: (db: Port) => Rule<T>): Promise<T> {
    const options = { isWrite: false, attempt: 1, tried: new Map(), blobs: this.#blobs, states: this.#states };
    return this.#db.read((tx) => runLater(rule(new PostgresPort(tx, this.#db, options))));
  }

  async write<T>(rule: (db: Port) => Rule<T>, options: WriteOptions = {}): Promise<T> {
    return (await this.#inLine(rule, options)).answer;
  }

  async writeJobs<T>(rule: (db: Port) => Rule<Numbered<T>>, options: WriteOptions = {}): Promise<T> {
    const { answer, port } = await this.#inLine(rule, options);
    return answer(await port.jobs.numbersOf(this.#db));
  }

  #inLine<T>(rule: (db: Port) => Rule<T>, { line, isHeld, isRetry }: WriteOptions): Promise<Written<T>> {
    const retryMs = isHeld === true ? this.#db.heldMs : this.#db.retryMs;
    const write = () => this.#write(rule, retryMs, isRetry === true ? 1 : 0);
    return line === undefined ? write() : this.#calls.run(line, write);
  }

  /** `before`: the number of attempts that were made in another way. */
  async #write<T>(rule: (db: Port) => Rule<T>, retryMs: number, before: number): Promise<Written<T>> {
    const tried = new Map<string, unknown>();
    let finished = before; // Only an attempt that ran to its end may have been kept.
    for (let duplicates = 0; ; duplicates++)
      try {
        const written = await this.#db.write(async (tx, _, time) => {
          const options = {
            isWrite: true,
            attempt: finished + 1,
            tried,
            blobs: this.#blobs,
            states: this.#states,
            time,
          };
          const port = new PostgresPort(tx, this.#db, options);
          const answer = await runLater(rule(port));
          port.finish();
          finished++;
          return { answer, port };
        }, retryMs);
        written.port.committed();
        return written;
      } catch (error) {
        if (!isDuplicate((error as Error).cause) || duplicates >= DUPLICATES_MAX) throw error;
      }
  }

  readonly blobs = {
    put: (hash: BlobHash, data: Uint8Array) => this.#blobs.put(hash, data),
    get: (hash: BlobHash) => this.#blobs.get(hash),
  };

  readonly live = {
    follow: (sessions: readonly SessionId[], now: number, forMs: number) => follow(this.#db, sessions, now, forMs),
    show: async (lease: Lease, shown: Shown) => {
      const run = await this.#runs.find(lease.turnId);
      if (run === undefined || run.sessionId !== lease.sessionId) return undefined;
      return show(this.#db, run, lease, shown);
    },
    read: (session: SessionId, after: number) => readLive(this.#db, session, after),
  };

  sweep(options: SweepOptions = {}): Promise<Swept> {
    return this.#sweeper.sweep(options);
  }

  async close(): Promise<void> {
    if (!this.#db.close()) return; // Already closed.
    await this.#hints?.close();
    await this.#own?.end();
  }
}

/** The answer of a write, and its transaction. */
interface Written<T> {
  readonly answer: T;
  readonly port: PostgresPort;
}
