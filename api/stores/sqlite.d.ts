import { Awaitable } from "../shared/model/awaitable.js";
import { CheckOptions, Finding } from "../shared/stores/sqlite/check.js";
import { Database } from "../shared/stores/sqlite/database.js";
import { Store } from "../shared/stores/store.js";
import { Strength } from "../shared/stores/sqlite/connection.js";
import { SweepOptions, Swept } from "../shared/stores/rows/sweep.js";
import { VacuumOptions, Vacuumed } from "../shared/stores/sqlite/sweep.js";
interface SqliteOptions {
  /** What a power cut may cost; `power` unless given. A killed process costs nothing in any of them. */
  readonly strength?: Strength | undefined;
  /**
   * How long to wait for another process that writes, before `store.locked`; 5 s unless given. What a running turn
   * writes is tried as long as its lease holds.
   */
  readonly lockedMs?: number | undefined;
  /** How long a turn is held without being renewed, before another process may take it over; 30 s unless given. */
  readonly leaseMs?: number | undefined;
  /**
   * Makes a new file one that gives free pages back to the disk in slices, when `vacuum` is called. Writing a turn then
   * takes about a tenth longer. Without it, pages are used again, and `vacuum({ compact: true })` gives them back.
   */
  readonly shrinks?: boolean | undefined;
  /** The clock that tells the age of blobs; the real one unless given. */
  readonly now?: (() => number) | undefined;
}
interface SqliteStore extends Store {
  /** Removes blobs that nothing names. Bounded; call it again while something remains. */
  sweep(options?: SweepOptions): Awaitable<Swept>;
  /** Sweeps, and gives free pages back to the disk when asked to. */
  vacuum(options?: VacuumOptions): Awaitable<Vacuumed>;
  /** Looks for damage and changes nothing. */
  check(options?: CheckOptions): Awaitable<readonly Finding[]>;
}
/**
 * Keeps turns in one file, shared by any number of processes of one machine; ":memory:" keeps them as long as the store
 * is open. Answers come without a promise, except when another process holds the file. A database that is handed in is
 * the store's from then on, and closed with it. Only its owner can read a file that it creates.
 */
declare function sqlite(path: string | Database, options?: SqliteOptions): SqliteStore;
export {
  type CheckOptions,
  type Database,
  type Finding,
  SqliteOptions,
  SqliteStore,
  type Strength,
  type SweepOptions,
  type Swept,
  type VacuumOptions,
  type Vacuumed,
  sqlite,
};
