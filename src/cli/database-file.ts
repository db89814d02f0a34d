import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { type SqliteStore, sqlite } from "../stores/sqlite.ts";
import type { Io } from "./io.ts";

/** The file that stores conversations. */
export interface DatabaseFile {
  readonly path: string;
  /** The path as a user would type it in the working directory. */
  readonly shown: string;
  /**
   * Whether the path is the default. Only then a missing folder is created, because a named folder that is missing is
   * most likely a typing error.
   */
  readonly isDefault: boolean;
}

export const MEMORY = ":memory:";
const DEFAULT = join(".bowline", "agent.db");

const chosenBy = ({ env }: Pick<Io, "env">, given: string | undefined): string | undefined =>
  given ?? (env.BOWLINE_DB || undefined);

/** The address of a Postgres database, if `--db` or else BOWLINE_DB has one. */
export function addressOf(io: Pick<Io, "env">, given: string | undefined): string | undefined {
  const chosen = chosenBy(io, given);
  return chosen !== undefined && /^postgres(ql)?:\/\//.test(chosen) ? chosen : undefined;
}

/** The file of `--db`, else of BOWLINE_DB, else one in the working directory. Call `addressOf` first. */
export function databaseFileOf(io: Pick<Io, "cwd" | "env">, given?: string): DatabaseFile {
  const { cwd } = io;
  const chosen = chosenBy(io, given);
  if (chosen === MEMORY || chosen === "") return { path: chosen, shown: chosen, isDefault: false };
  const path = resolve(cwd, chosen ?? DEFAULT);
  const near = relative(cwd, path);
  return { path, shown: near.startsWith("..") ? path : near, isDefault: chosen === undefined };
}

/** Opens an existing file: a command that only reads a store must not create it. */
export function openExisting(place: DatabaseFile): SqliteStore {
  if (isThere(place)) return sqlite(place.path);
  const hint = "Pass an existing file: --db <file>.";
  throw Object.assign(new Error(`There is no file ${place.shown}.`), { code: "store.path", hint });
}

export const isThere = ({ path }: DatabaseFile): boolean => path === MEMORY || existsSync(path);

/** The path or address of the store, without a password. */
export async function shownPlace(io: Pick<Io, "cwd" | "env">, given?: string): Promise<string> {
  const address = addressOf(io, given);
  return address === undefined
    ? databaseFileOf(io, given).shown
    : (await import("../stores/postgres/url.ts")).nameOf(address);
}
