/**
 * One PostgreSQL server for all test files of a run. It is started when the first of them asks, by the process that runs
 * them all (`global-setup.ts`), which ends it with the run.
 */
import { randomBytes } from "node:crypto";
import { describe, test } from "vitest";
import { shared } from "./broker.ts";
import { findPgbouncer, PGBOUNCER_ABSENT } from "./pgbouncer.ts";
import { findPostgres, POSTGRES_ABSENT, queryOnce } from "./postgres.ts";
import { stopAtEnd } from "./programs.ts";
import { sample } from "./size.ts";

const TEST_MS = sample(30_000, 300_000); // To start a server, or to end one, may take a slow disk a while.

/** The URL of the server that all tests share, as its superuser. Have a database or a schema of your own in it. */
export const sharedPostgres = (): Promise<string> => shared("postgres");

/** A database of its own on the shared server. It is dropped at the end of the test file, whoever is connected. */
export async function freshDatabase(): Promise<string> {
  const shared = await sharedPostgres();
  const name = freshName();
  await queryOnce(shared, `CREATE DATABASE ${name}`);
  dropAtEnd(`DROP DATABASE ${name} WITH (FORCE)`);
  const url = new URL(shared);
  url.pathname = name;
  return url.href;
}

/**
 * A schema of its own on the shared server, which takes a tenth of the time of a database. Channels of `NOTIFY`, advisory
 * locks and what the catalog lists are shared with all others. Unqualified names mean this schema when `url` is used.
 */
export async function freshSchema(): Promise<{ readonly url: string; readonly schema: string }> {
  const shared = await sharedPostgres();
  const schema = freshName();
  await queryOnce(shared, `CREATE SCHEMA ${schema}`);
  dropAtEnd(`DROP SCHEMA ${schema} CASCADE`);
  const url = new URL(shared);
  url.searchParams.set("options", `-c search_path=${schema}`);
  return { url: url.href, schema };
}

const freshName = (): string => `test_${randomBytes(6).toString("hex")}`;

function dropAtEnd(drop: string): void {
  const atEnd = stopAtEnd(async () => {
    atEnd.forget();
    await queryOnce(await sharedPostgres(), drop);
  });
}

// ── Where there is none ─────────────────────────────────────────────────────────────────────────────────────────────

/** A suite that needs PostgreSQL. Without it the suite is skipped; with `BOWLINE_POSTGRES=required` it fails. */
export const describePostgres = (name: string, body: () => void): void =>
  describeIf(findPostgres() === undefined ? POSTGRES_ABSENT : undefined, name, body);

/** A suite that needs PostgreSQL and PgBouncer, likewise. */
export const describePgbouncer = (name: string, body: () => void): void =>
  findPgbouncer() === undefined ? describeIf(PGBOUNCER_ABSENT, name, body) : describePostgres(name, body);

function describeIf(absent: string | undefined, name: string, body: () => void): void {
  if (absent === undefined) return void describe(name, { timeout: TEST_MS }, body);
  if (process.env.BOWLINE_POSTGRES === "required")
    return void describe(name, () =>
      test("what it needs is there", () => {
        throw new Error(absent);
      }),
    );
  if (!said.has(absent)) process.stderr.write(`Tests are skipped. ${absent}\n`); // The console would frame the line.
  said.add(absent);
  describe.skip(name, body);
}
const said = new Set<string>();
