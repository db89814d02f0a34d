import { LEASE_MS } from "../store.ts";
import { Connections } from "./connections.ts";
import { type Client, Database } from "./database.ts";
import { nameOf } from "./url.ts";

/** Facts about a store's database. */
export interface DatabaseInfo {
  /** The schema version. */
  readonly version: number;
  /** The disk space of its tables and indexes. */
  readonly bytes: number;
}

const IS_THERE = "SELECT to_regclass($1) IS NOT NULL AS found";
const BYTES = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 AS bytes FROM pg_class c
  JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relkind = 'r'`;

/** Inspects a database without opening a store, which would create its tables. Returns undefined if there are none. */
export async function inspectDatabase(url: string, schema: string): Promise<DatabaseInfo | undefined> {
  const statementTimeoutMs = 10_000;
  const own = new Connections(url, 1, statementTimeoutMs);
  const name = `${nameOf(url)}, schema ${schema}`;
  const times = { leaseMs: LEASE_MS, retryMs: 10_000, statementTimeoutMs, clock: "server" } as const;
  const db = new Database(own, { schema, name, ...times, setUp: async () => {} });
  try {
    return await db.patiently(db.retryMs, (client) => looked(client, schema, statementTimeoutMs), false);
  } finally {
    db.close();
    await own.end();
  }
}

async function looked(client: Client, schema: string, query_timeout: number): Promise<DatabaseInfo | undefined> {
  const ask = async <Row>(text: string, ...values: readonly string[]): Promise<Row | undefined> =>
    (await client.query({ text, values, query_timeout })).rows[0] as Row | undefined;
  const there = await ask<{ found: boolean }>(IS_THERE, `"${schema}".meta`);
  if (there?.found !== true) return undefined;
  const meta = await ask<{ version: number }>(`SELECT version FROM "${schema}".meta`);
  const size = await ask<{ bytes: number }>(BYTES, schema);
  return { version: meta?.version ?? 0, bytes: size?.bytes ?? 0 };
}
