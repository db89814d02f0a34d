import { setTimeout as sleep } from "node:timers/promises";
import { journal } from "../../../hosts/journal.ts";
import { loadDriver } from "../../../stores/postgres/driver.ts";
import type { CrashBackend, TrialResources } from "./backend.ts";

/** How many consecutive checks must find the server idle, and the time between two checks. */
const STILL_TIMES = 4;
const STILL_MS = 4;
const STILL_MAX_MS = 15_000;

/**
 * A PostgreSQL database and the journal host. Each trial has a schema with its name. Use it in the default export of a
 * module, which every process loads, and take the URL from the environment, for example. It needs the package `pg`.
 *
 * Leases use the server's clock as in production, except where the kit speeds up the clock of the processes: there an
 * expired lease would stay valid on the server for twenty times as long.
 */
export const postgresBackend = (url: string): CrashBackend => ({
  async open({ name, isHastened }) {
    return {
      store: await storeAt(calledBy(url, name), name, isHastened === true ? "caller" : "server"),
      host: journal(),
    };
  },
  async look(at, read, during) {
    if (during === "still") await still(url, at);
    // The caller's clock, because the last look asks for leases at a time when all of them have expired.
    const store = await storeAt(url, at.name, "caller");
    try {
      return await read(store);
    } finally {
      await store.close();
    }
  },
  async drop({ name }) {
    await query(url, `DROP SCHEMA IF EXISTS "${name}" CASCADE`);
  },
});

/** Loaded on demand, because tests of other stores run without `pg`. */
const storeAt = async (url: string, schema: string, clock: "caller" | "server") =>
  (await import("../../../stores/postgres.ts")).postgres(url, { schema, clock });

/** Names the connections of a trial. */
function calledBy(url: string, name: string): string {
  const named = new URL(url);
  named.searchParams.set("application_name", name);
  return named.href;
}

const UNDER_WAY = `SELECT count(*)::int AS all, count(*) FILTER (WHERE state = 'active')::int AS active
  FROM pg_stat_activity WHERE application_name = $1`;

/**
 * Resolves when the server has finished everything that the processes of a trial sent before they died. It may notice
 * their death late. Connections of a suspended process stay open and idle.
 */
async function still(url: string, { name }: TrialResources): Promise<void> {
  const { Client } = await loadDriver();
  const client = new Client(url);
  await client.connect();
  try {
    const end = performance.now() + STILL_MAX_MS;
    for (let times = 0; times < STILL_TIMES && performance.now() < end; await sleep(STILL_MS)) {
      const { rows } = await client.query<{ all: number; active: number }>(UNDER_WAY, [name]);
      if (rows[0]?.all === 0) return;
      times = rows[0]?.active === 0 ? times + 1 : 0;
    }
  } finally {
    await client.end();
  }
}

async function query(url: string, sql: string): Promise<void> {
  const { Client } = await loadDriver();
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
