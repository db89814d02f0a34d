import type { Awaitable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { idText } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import type { SweepOptions, Swept } from "./rows/sweep.ts";
import { type CheckOptions, checkStore, type Finding } from "./rules/check/check.ts";
import { RuleStore } from "./rules/store.ts";
import { Connection, type Durability } from "./sqlite/connection.ts";
import { type Database, openFile } from "./sqlite/database.ts";
import { SqliteEngine } from "./sqlite/engine.ts";
import { setUp } from "./sqlite/schema.ts";
import { Sweeper, type Vacuumed, type VacuumOptions } from "./sqlite/sweep.ts";
import { LEASE_MS, type Store } from "./store.ts";

export type { CheckOptions, Database, Durability, Finding, SweepOptions, Swept, Vacuumed, VacuumOptions };

export interface SqliteOptions {
  /** Which writes survive a power cut. `power` (default): all acknowledged ones. Every setting survives a killed process. */
  readonly durability?: Durability | undefined;
  /**
   * How long a call waits for another process that writes, before it throws `store.locked`. Default: 5 s. Writes of a
   * running turn are retried as long as its lease may be valid.
   */
  readonly busyTimeoutMs?: number | undefined;
  /** How long a lease lasts without renewal. After that another process may take the turn over. Default: 30 s. */
  readonly leaseMs?: number | undefined;
  /**
   * Creates a new file that can return free pages to the disk in slices when you call `vacuum`. Writing a turn takes
   * about a tenth longer. Default: free pages are reused, and only `vacuum({ compact: true })` returns them.
   */
  readonly autoVacuum?: boolean | undefined;
  /** The clock for the age of blobs. Default: the real one. */
  readonly now?: (() => number) | undefined;
}

export interface SqliteStore extends Store {
  /** Removes blobs that no row refers to. Bounded: call it again while `remaining` is above 0. */
  sweep(options?: SweepOptions): Awaitable<Swept>;
  /** Sweeps, and returns free pages to the disk if the options ask for it. */
  vacuum(options?: VacuumOptions): Awaitable<Vacuumed>;
  /** Reports damage. Changes nothing. */
  check(options?: CheckOptions): Awaitable<readonly Finding[]>;
}

/**
 * A store in one file, shared by any number of processes of one machine; with ":memory:" it lasts until the store is
 * closed. Calls return synchronously unless another process has locked the file. If you pass a database, the store owns
 * and closes it. A file that the store creates is readable only by its owner.
 */
export function sqlite(path: string | Database, options: SqliteOptions = {}): SqliteStore {
  requireRight(path, options);
  const { durability = "power", busyTimeoutMs = 5_000, leaseMs = LEASE_MS, now = Date.now } = options;
  const isPath = typeof path === "string";
  const name = isPath ? path : "(handed in)";
  const db = new Connection(isPath ? openFile(path) : path, name, durability, busyTimeoutMs, leaseMs);
  db.setUp(() => setUp(db, options.autoVacuum === true));
  return new Sqlite(new SqliteEngine(db, now), new Sweeper(db, now));
}

const DURABILITIES: readonly unknown[] = ["process", "power", "power-all"] satisfies Durability[];
const OPTIONS: Known<SqliteOptions> = {
  durability: true,
  busyTimeoutMs: true,
  leaseMs: true,
  autoVacuum: true,
  now: true,
};

/** For callers without types: an unknown `durability` would act like the weakest one. */
function requireRight(path: unknown, options: SqliteOptions): void {
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  const { prepare, exec, close } = Object(path) as Partial<Database>;
  const isDatabase = [prepare, exec, close].every((each) => typeof each === "function");
  if (typeof path !== "string" && !isDatabase)
    throw new RuntimeError("store.path", {
      path: idText(path),
      problem: 'it must be the path of a file, such as sqlite("agent.db"), or an open database',
    });
  if (typeof options !== "object" || options === null) wrong("options", "they must be an object");
  requireKnown("sqlite()", options, OPTIONS);
  const { durability = "power", busyTimeoutMs = 0, leaseMs = 1, now = Date.now } = options;
  if (!DURABILITIES.includes(durability))
    wrong("durability", `it must be "process", "power" or "power-all", and is ${JSON.stringify(durability)}`);
  if (!(typeof busyTimeoutMs === "number" && busyTimeoutMs >= 0))
    wrong("busyTimeoutMs", "it must be a number of 0 or more");
  if (!(typeof leaseMs === "number" && leaseMs > 0)) wrong("leaseMs", "it must be a number above 0");
  if (options.autoVacuum !== undefined && typeof options.autoVacuum !== "boolean")
    wrong("autoVacuum", "it must be true or false");
  if (typeof now !== "function") wrong("now", "it must be a function that returns a time in ms");
}

/** Runs the rules on a file, and adds what only this store offers. */
class Sqlite extends RuleStore<SqliteEngine> implements SqliteStore {
  readonly #sweeper: Sweeper;

  constructor(engine: SqliteEngine, sweeper: Sweeper) {
    super(engine);
    this.#sweeper = sweeper;
  }

  sweep(options: SweepOptions = {}) {
    return this.#sweeper.sweep(options);
  }

  vacuum(options: VacuumOptions = {}) {
    return this.#sweeper.vacuum(options);
  }

  check(options: CheckOptions = {}) {
    return checkStore(this.engine, options);
  }
}
