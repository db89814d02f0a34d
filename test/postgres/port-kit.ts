/** Engines on schemas of their own, and what tests of the port write over and over. */
import pg from "pg";
import { NO_USAGE } from "../../src/model/usage.ts";
import { Database, type Pool } from "../../src/stores/postgres/database.ts";
import { PostgresEngine } from "../../src/stores/postgres/engine.ts";
import { setUp } from "../../src/stores/postgres/schema.ts";
import type { Key, Port, ScanOptions } from "../../src/stores/rules/port.ts";
import { now, type Read, type Rule } from "../../src/stores/rules/rule.ts";
import { JOB, SESSION, type SessionRow, TABLES, type Table, TURN, WAIT } from "../../src/stores/tables.ts";
import { NOW } from "../../src/testing/cast.ts";
import { freshDatabase } from "../kit/shared-postgres.ts";
import { ROWS, type Row } from "./port-rows.ts";

/** A database for the tests of one file. */
export class Engines {
  readonly pool: pg.Pool;
  #made = 0;

  private constructor(pool: pg.Pool) {
    this.pool = pool;
  }

  static async begin(): Promise<Engines> {
    const connectionString = await freshDatabase();
    return new Engines(new pg.Pool({ connectionString, max: 8, pipeline: true } as pg.PoolConfig));
  }

  /** An engine on an empty schema. */
  open(clock: "caller" | "server" = "caller"): Opened {
    const { pool } = this;
    const schema = `port_${++this.#made}`;
    const times = { leaseMs: 30_000, retryMs: 10_000, statementTimeoutMs: 10_000 };
    const db = new Database(pool as unknown as Pool, { schema, name: schema, clock, setUp, ...times });
    const rows = async (sql: string) => (await pool.query<Row>(sql.replaceAll("@", `${schema}.`))).rows;
    return { schema, engine: new PostgresEngine(db, undefined, undefined), rows };
  }

  end(): Promise<void> {
    return this.pool.end();
  }
}

export interface Opened {
  readonly schema: string;
  readonly engine: PostgresEngine;
  /** Asks the server itself: `@turn` is the table `turn`. */
  readonly rows: (sql: string) => Promise<readonly Row[]>;
}

// ── Rules ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A rule that reads one thing. */
export function* reads<T>(read: Read<T>): Rule<T> {
  return yield* read;
}

/** A rule that only writes. */
export const does =
  (work: (db: Port) => void) =>
  (db: Port): Rule<void> =>
    reads(now(work(db)));

/** Lets a rule wait for something else. */
export function* waits<T>(promise: Promise<T>): Rule<T> {
  return (yield promise) as T;
}

/** Adds or inserts rows. */
export const put = (engine: PostgresEngine, table: Table, given: readonly Row[]): Promise<readonly Row[]> =>
  engine.write((db) => putAll(db, table, given));

export function* putAll(db: Port, table: Table, given: readonly Row[]): Rule<readonly Row[]> {
  const kept: Row[] = [];
  for (const row of given) {
    if (table.key[0] === "n" && row.n === undefined) kept.push(yield* db.add(table, row as never));
    else {
      db.insert(table, row);
      kept.push(row);
    }
  }
  return kept;
}

export const scan = (
  engine: PostgresEngine,
  table: Table,
  index: string,
  key: readonly Key[],
  options?: ScanOptions,
): Promise<readonly Row[]> => engine.read((db) => reads(db.scan(table, index, key, options)));

/** Everything that is there. */
export const contentOf = ({ rows }: Opened): Promise<unknown> =>
  Promise.all(
    ["fact", "counter", "job_change", ...TABLES.map(({ name }) => name)].map((name) => rows(`SELECT * FROM @${name}`)),
  );

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export const rowsOf = (table: Table): readonly Row[] => ROWS.find(([each]) => each === table)![1];

export const IDLE = {
  ...{ revision: 0, turns: 0, head: null, headIndex: null, usage: NO_USAGE, generation: 0, turn: null },
  ...{ owner: null, process: null, until: 0, written: 0, wake: null, parked: null },
  ...{ ownedBy: null, tags: null, activity: 0, words: null },
};
export const PROFILED = {
  ...{ parentId: null, originId: null, originAt: null, createdAt: NOW, config: { model: "m" }, options: null },
};
export const PLUGIN = { version: "1", revision: 1, state: { n: 1 } };

export const newSessions = async (engine: PostgresEngine, ...ids: readonly string[]): Promise<readonly SessionRow[]> =>
  (await put(
    engine,
    SESSION,
    ids.map((id) => ({ ...IDLE, id })),
  )) as unknown as readonly SessionRow[];

/** A row to be added, of whichever table it is for. */
const rowLike = (table: Table, other: Row): never => ({ ...rowsOf(table)[0], ...other }) as never;
export const inputLike = (name: string, other: Row = {}): never =>
  rowLike(TURN, { id: name, inputId: name, key: null, aside: 0, ...other });
export const waitLike = (other: Row): never => rowLike(WAIT, other);
export const jobLike = (id: string, other: Row = {}): never => rowLike(JOB, { id, ...other });
