import { Awaitable } from "../shared/model/awaitable.js";
import { CheckOptions } from "../shared/stores/rules/check/check.js";
import { Database } from "../shared/stores/sqlite/database.js";
import { Durability } from "../shared/stores/sqlite/connection.js";
import { Finding } from "../shared/stores/rules/port.js";
import { Store } from "../shared/stores/store.js";
import { SweepOptions, Swept } from "../shared/stores/rows/sweep.js";
import { VacuumOptions, Vacuumed } from "../shared/stores/sqlite/sweep.js";
interface SqliteOptions {
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
interface SqliteStore extends Store {
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
declare function sqlite(path: string | Database, options?: SqliteOptions): SqliteStore;
export {
  type CheckOptions,
  type Database,
  type Durability,
  type Finding,
  SqliteOptions,
  SqliteStore,
  type SweepOptions,
  type Swept,
  type VacuumOptions,
  type Vacuumed,
  sqlite,
};
