import type pg from "pg";
import { RuntimeError } from "../model/errors.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { Connections } from "./postgres/connections.ts";
import { Database, type Pool } from "./postgres/database.ts";
import { loadDriver } from "./postgres/driver.ts";
import { PostgresEngine } from "./postgres/engine.ts";
import { setUp } from "./postgres/schema.ts";
import { addressIn, nameOf } from "./postgres/url.ts";
import type { SweepOptions, Swept } from "./rows/sweep.ts";
import { type CheckOptions, checkStore, type Finding } from "./rules/check/check.ts";
import { RuleStore } from "./rules/store.ts";
import { LEASE_MS, type Store } from "./store.ts";

export type { CheckOptions, Finding, SweepOptions, Swept };

export interface PostgresOptions {
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

export interface PostgresStore extends Store {
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
export function postgres(where: string | Pool, options: PostgresOptions = {}): PostgresStore {
  requireRight(where, options);
  const { schema = "bowline", connections = 10, leaseMs = LEASE_MS } = options;
  const { retryMs = 10_000, statementTimeoutMs = 10_000, clock = "server" } = options;
  const isUrl = typeof where === "string";
  const own = isUrl ? new Connections(where, connections, statementTimeoutMs) : undefined;
  const name = `${isUrl ? nameOf(where) : "the database of the pool"}, schema ${schema}`;
  const db = new Database(own ?? (where as Pool), { schema, name, leaseMs, retryMs, statementTimeoutMs, clock, setUp });
  const listenTo = options.listen ?? (isUrl ? where : (where as Partial<pg.Pool>).options);
  const connect = listenTo === undefined || listenTo === false ? undefined : () => newListener(listenTo);
  return new Postgres(new PostgresEngine(db, own, connect));
}

async function newListener(to: string | pg.PoolOptions): Promise<pg.Client> {
  const { Client } = await loadDriver();
  const own = typeof to === "string" ? { connectionString: to } : { ...to, pipeline: false };
  return new Client({ ...own, keepAlive: true, application_name: "bowline hints" });
}

const OPTIONS: Known<PostgresOptions> = {
  schema: true,
  connections: true,
  leaseMs: true,
  retryMs: true,
  statementTimeoutMs: true,
  clock: true,
  listen: true,
};

function requireRight(where: unknown, options: PostgresOptions): void {
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (typeof where === "string") addressIn(where);
  else if (typeof (Object(where) as Partial<Pool>).connect !== "function")
    throw new RuntimeError("store.url", {
      problem:
        where == null ? `it is ${where} (check that its environment variable is set)` : `it is a ${typeof where}`,
    });
  if (typeof options !== "object" || options === null) wrong("options", "they must be an object");
  requireKnown("postgres()", options, OPTIONS);
  const { schema = "bowline", clock = "server" } = options;
  if (typeof schema !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_"))
    wrong("schema", "it must be a name of letters, digits and _ that does not begin with a digit or pg_");
  if (typeof options.listen === "string") addressIn(options.listen);
  else if (![undefined, false].includes(options.listen)) wrong("listen", "it must be a URL or false");
  if (clock !== "server" && clock !== "caller") wrong("clock", 'it must be "server" or "caller"');
  for (const option of ["connections", "leaseMs", "statementTimeoutMs"] as const)
    if (!isCount(options[option] ?? 1)) wrong(option, "it must be a whole number above 0");
  const { retryMs = 0 } = options;
  if (!(typeof retryMs === "number" && retryMs >= 0)) wrong("retryMs", "it must be a number of 0 or more");
}

const COUNT_MAX = 2 ** 31 - 1; // The maximum of both PostgreSQL's `integer` and timers.
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0 && Number(value) <= COUNT_MAX;

/** Runs the rules on a server, and adds what only this store offers. */
class Postgres extends RuleStore<PostgresEngine> implements PostgresStore {
  readonly hints?: NonNullable<Store["hints"]>;

  constructor(engine: PostgresEngine) {
    super(engine);
    if (engine.hints !== undefined) this.hints = engine.hints;
  }

  ready() {
    return this.engine.ready();
  }

  sweep(options: SweepOptions = {}) {
    return this.engine.sweep(options);
  }

  async check(options: CheckOptions = {}) {
    return checkStore(this.engine, options);
  }

  override close() {
    return this.engine.close();
  }
}
