import { closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { RuntimeError } from "../../model/errors.ts";
import { typed } from "./faults.ts";
import { databaseFile } from "./path.ts";

/** What the store needs from a database. Both `node:sqlite` and better-sqlite3 have it. */
export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}
export interface Statement {
  run(...values: Value[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}
export type Value = string | number | null | Uint8Array;

/** Creates a missing file but no missing folder, which is usually a typo in the path. */
export function openFile(path: string): Database {
  const place = databaseFile(path);
  if (place !== undefined) {
    requireFolder(path, place.file);
    if (place.isCreated) createPrivate(place.file);
  }
  const { DatabaseSync } = quietSqlite();
  try {
    return new DatabaseSync(path) as unknown as Database;
  } catch (error) {
    throw typed(error, path);
  }
}

/**
 * Creates a missing file that only its owner can read; SQLite would create it readable by every user. SQLite gives the
 * log and the index beside it the same mode. A file that exists keeps its mode. SQLite reports any other failure when it
 * opens the file. Setting the umask for the open instead would change files that other threads create meanwhile, and
 * worker threads cannot set it.
 */
function createPrivate(file: string): void {
  try {
    // Exclusive: closing a second descriptor of an open database would release the locks of its connections.
    closeSync(openSync(file, "wx", 0o600));
  } catch {}
}

function requireFolder(path: string, file: string): void {
  const folder = dirname(file);
  if (!isFolder(folder)) throw new RuntimeError("store.path", { path, problem: `there is no folder ${folder}` });
  if (isFolder(file)) throw new RuntimeError("store.path", { path, problem: "it is a folder" });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Node 22 warns on loading that it is experimental; users of this store cannot act on it. Other warnings pass. */
function quietSqlite(): typeof import("node:sqlite") {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: never[]) => {
    if (!/SQLite is an experimental/.test(String(warning))) emitWarning.call(process, warning, ...rest);
  }) as typeof emitWarning;
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}
