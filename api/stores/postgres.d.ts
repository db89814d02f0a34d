import { CheckOptions } from "../shared/stores/rules/check/check.js";
import { Finding } from "../shared/stores/rules/port.js";
import { Pool } from "../shared/stores/postgres/database.js";
import { Store } from "../shared/stores/store.js";
import { SweepOptions, Swept } from "../shared/stores/rows/sweep.js";
interface PostgresOptions {
  /** The schema with the tables. Default: "bowline". The first process creates it. */
  readonly schema?: string | undefined;
  /**
   * Maximum connections of a pool that the store opens. Default: 10. Two turns never share a connection during a write.
   */
  readonly connections?: number | undefined;
  /** How long a lease lasts without renewal. After that another worker may take the turn over. Default: 30 s. */
  readonly leaseMs?: number | undefined;
  /**
   * How long a call is retried while the server is unreachable, before it throws `store.unreachable`. Default: 10 s.
   * Writes of a running turn are retried as long as its lease may be valid.
   */
  readonly retryMs?: number | undefined;
  /** How long the server may take to answer a statement before the connection counts as dead. Default: 10 s. */
  readonly statementTimeoutMs?: number | undefined;
  /**
   * The clock that decides when a lease expires: the server's, so that the clocks of workers may differ, or for tests
   * the `now` of callers. Default: "server".
   */
  readonly clock?: "server" | "caller" | undefined;
  /**
   * The URL of the connection that receives notifications from other workers (LISTEN). Default: the same URL. A pooler
   * in transaction mode does not support LISTEN: pass the server's own URL then, or `false`. Without notifications
   * workers poll about once a second.
   */
  readonly listen?: string | false | undefined;
}
interface PostgresStore extends Store {
  /** Connects, and creates or updates the tables. Every other call waits for that too. */
  ready(): Promise<void>;
  /** Removes blobs that no row refers to. Bounded: call it again while `remaining` is above 0. */
  sweep(options?: SweepOptions): Promise<Swept>;
  /** Reports damage. Changes nothing. */
  check(options?: CheckOptions): Promise<readonly Finding[]>;
}
/**
 * A store in a PostgreSQL database (15 or later), shared by any number of workers on any number of machines. The first
 * call connects, and creates or updates the tables. Throws `package.unavailable` if the package pg is not installed. If
 * you pass a pool, close it yourself after the store.
 */
declare function postgres(where: string | Pool, options?: PostgresOptions): PostgresStore;
export { type CheckOptions, type Finding, PostgresOptions, PostgresStore, type SweepOptions, type Swept, postgres };
