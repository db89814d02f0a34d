/** The crash kit on Postgres: the server that all tests share, and a database of its own there. */
import { type CrashOptions, type CrashReport, crashTest } from "bowline/testing";
import { freshDatabase } from "../kit/shared-postgres.ts";
import type { MutantName } from "../postgres/mutants.ts";

const place = new URL("./places/postgres.ts", import.meta.url);
const mutantPlace = new URL("./places/postgres-mutant.ts", import.meta.url);

let database: Promise<string> | undefined;

export async function crashOnPostgres(
  scenarios: URL | readonly URL[],
  options: CrashOptions,
  mutant?: MutantName,
): Promise<CrashReport> {
  database ??= freshDatabase();
  process.env.BOWLINE_TEST_POSTGRES = await database; // Processes of trials get both.
  if (mutant !== undefined) process.env.BOWLINE_TEST_MUTANT = mutant;
  return crashTest(scenarios, { ...options, place: mutant === undefined ? place : mutantPlace });
}
