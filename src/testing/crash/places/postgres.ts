import { setTimeout as sleep } from "node:timers/promises";
import { journal } from "../../../hosts/journal.ts";
import { loadDriver } from "../../../stores/postgres/driver.ts";
import type { Place, TrialPlace } from "./place.ts";

/** How often in a row nothing must be under way, and how long to wait between two looks. */
const STILL_TIMES = 4;
const STILL_MS = 4;
const STILL_MAX_MS = 15_000;

/**
 * A PostgreSQL database and the journal host: each trial has a schema of its own, named after it. For the default export
 * of a module, which every process loads for itself: take the URL from the environment, for example. Needs the package
 * `pg`.
 *
 * Leases go by the clock of the server, as they do outside of tests, but where the kit hastens the clock of the processes:
 * there a lease that lapsed for them would hold on the server for twenty times as long.
 */
export const postgresPlace = (url: string): Place => ({
  async open({ name, isHastened }) {
    return {
      store: await storeAt(calledBy(url, name), name, isHastened === true ? "caller" : "server"),
      host: journal(),
    };
  },
  async look(at, read, during) {
    if (during === "still") await still(url, at);
    // By the caller's clock: the last look asks for leases as of a time when all of them have lapsed.
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

/** Loaded when it is needed: whoever tests on other stores has no `pg`. */
const storeAt = async (url: string, schema: string, clock: "caller" | "server") =>
  (await import("../../../stores/postgres.ts")).postgres(url, { schema, clock });

/** The connections of a trial are known by this name. */
function calledBy(url: string, name: string): string {
  const named = new URL(url);
  named.searchParams.set("application_name", name);
  return named.href;
}

const UNDER_WAY = `SELECT count(*)::int AS all, count(*) FILTER (WHERE state = 'active')::int AS active
  FROM pg_stat_activity WHERE application_name = $1`;

/**
 * Settles when the server has done what the processes of a trial had sent it before they died: it may take a moment to
 * notice that they have. The connections of one that is stopped stay open, and idle.
 */
async function still(url: string, { name }: TrialPlace): Promise<void> {
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
