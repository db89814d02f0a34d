import { Pool } from "../shared/stores/postgres/database.js";
import { Store } from "../shared/stores/store.js";
import { SweepOptions, Swept } from "../shared/stores/rows/sweep.js";
interface PostgresOptions {
  /** The schema that has the tables; "bowline" unless given. It is made by whichever process comes first. */
  readonly schema?: string | undefined;
  /** How many connections a pool of our own may open; 10 unless given. Two turns never share one in a write. */
  readonly connections?: number | undefined;
  /** How long a turn is held without being renewed, before another worker may take it over; 30 s unless given. */
  readonly leaseMs?: number | undefined;
  /**
   * How long a call is tried while the server cannot be reached, before `store.unreachable`; 10 s unless given. What a
   * running turn writes is tried as long as its lease holds.
   */
  readonly patienceMs?: number | undefined;
  /** How long the server may take to answer a statement before its connection counts as dead; 10 s unless given. */
  readonly answerMs?: number | undefined;
  /**
   * Whose clock tells when a lease lapses: the server's, so that the clocks of workers may differ, or for tests the `now`
   * that callers give. "server" unless given.
   */
  readonly clock?: "server" | "caller" | undefined;
  /**
   * Where the connection goes that hears what other workers did (LISTEN); the same place unless given. A pooler that gives
   * out connections by transaction forgets who listens: give the server's own URL then, or `false`. Without it workers look
   * for each other's news every second or so.
   */
  readonly listen?: string | false | undefined;
}
interface PostgresStore extends Store {
  /** Connects, and makes the tables or brings them up to date. Every other call does so too, and waits for it. */
  ready(): Promise<void>;
  /** Removes blobs that nothing names. Bounded; call it again while something remains. */
  sweep(options?: SweepOptions): Promise<Swept>;
}
/**
 * Keeps turns in a PostgreSQL database (15 or later), shared by any number of workers on any number of machines. The
 * first call connects, and makes the tables or brings them up to date. It needs the package pg, and throws
 * `package.unavailable` without it. A pool that is handed in stays yours: close it after the store.
 */
declare function postgres(where: string | Pool, options?: PostgresOptions): PostgresStore;
export { PostgresOptions, PostgresStore, type SweepOptions, type Swept, postgres };
