import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { databaseFile } from "./path.ts";

/** SQLite's primary result codes that have a specific remedy. */
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const CONSTRAINT = 19;
const NOTADB = 26;
/** An extended code of IOERR: the disk has no room for the shared memory of the write-ahead log. */
const IOERR_SHMSIZE = 4874;
const BY_NAME: { readonly [name: string]: number } = {
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: LOCKED,
  SQLITE_READONLY: READONLY,
  SQLITE_IOERR: IOERR,
  SQLITE_CORRUPT: CORRUPT,
  SQLITE_FULL: FULL,
  SQLITE_CANTOPEN: CANTOPEN,
  SQLITE_CONSTRAINT: CONSTRAINT,
  SQLITE_NOTADB: NOTADB,
};

/** Returns the primary code. `node:sqlite` throws a number and better-sqlite3 a name; both may be extended codes. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { errcode, code } = error as { readonly errcode?: unknown; readonly code?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (typeof code !== "string") return undefined;
  return BY_NAME[/^SQLITE_[A-Z]+/.exec(code)?.[0] ?? ""];
}

export const isBusy = (error: unknown): boolean => {
  const code = primaryCode(error);
  return code === BUSY || code === LOCKED;
};
export const isConstraint = (error: unknown): boolean => primaryCode(error) === CONSTRAINT;

/** A number too big for JavaScript. The store never writes one, so it is damage. */
const isTooBig = (error: unknown): boolean =>
  error instanceof RangeError && (error as { readonly code?: unknown }).code === "ERR_OUT_OF_RANGE";

/** Converts an error of SQLite to one that a caller can act on. Returns other errors unchanged. */
export function typed(error: unknown, path: string): unknown {
  const cause = { cause: error };
  const problem = describeThrown(error);
  if (error instanceof Error && hasNoRoom(error, path)) return new RuntimeError("store.full", { path }, cause);
  switch (primaryCode(error)) {
    case undefined:
      return isTooBig(error)
        ? new RuntimeError("store.corrupt", { item: `A number in ${path}`, problem }, cause)
        : error;
    case READONLY:
      return new RuntimeError("store.readonly", { path }, cause);
    case CORRUPT:
      return new RuntimeError("store.corrupt", { item: `The database ${path}`, problem }, cause);
    case NOTADB:
      return new RuntimeError("store.corrupt", { item: path, problem: "it is not a SQLite database" }, cause);
    case CANTOPEN:
      return new RuntimeError("store.path", { path, problem }, cause);
    default:
      return new RuntimeError("store.failed", { path, problem }, cause);
  }
}

/** Opening a file creates two more beside it. On a full disk the error is about those. */
function hasNoRoom(error: Error, path: string): boolean {
  const { errcode, code } = error as { readonly errcode?: unknown; readonly code?: unknown };
  if (errcode === IOERR_SHMSIZE || code === "SQLITE_IOERR_SHMSIZE") return true;
  const primary = primaryCode(error);
  if (primary !== CANTOPEN) return primary === FULL;
  try {
    const place = databaseFile(path);
    if (place === undefined) return false;
    const { files, ffree } = statfsSync(dirname(place.file));
    return files > 0 && ffree === 0;
  } catch {
    return false; // The folder is missing too: the path is wrong.
  }
}
