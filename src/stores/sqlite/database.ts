import { closeSync, existsSync, lstatSync, openSync, readlinkSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { RuntimeError } from "../../model/errors.ts";
import { typed } from "./faults.ts";

/** What the store needs of a database; `node:sqlite` and better-sqlite3 both have it. */
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

/** Makes the file when it is not there, but no folder: a folder that is missing is most often a mistyped path. */
export function openFile(path: string): Database {
  if (path !== ":memory:") {
    requireFolder(path);
    createPrivate(path);
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
 * log and the index beside it the same mode. A file that exists keeps its mode. Errors are left to SQLite, which meets
 * them again when it opens the file.
 */
function createPrivate(path: string): void {
  if (path.startsWith("file:") || existsSync(path)) return; // SQLite reads `file:` as a URI, not as the name of a file.
  try {
    const link = lstatSync(path, { throwIfNoEntry: false }); // SQLite creates the missing target of a link.
    const file = link === undefined ? path : resolve(dirname(path), readlinkSync(path));
    // Exclusive: closing a second descriptor of an open database would release the locks of its connections.
    closeSync(openSync(file, "wx", 0o600));
  } catch {}
}

function requireFolder(path: string): void {
  const folder = dirname(resolve(path));
  if (path === "") throw new RuntimeError("store.path", { path: '""', problem: "the path is empty" });
  if (!existsSync(folder)) throw new RuntimeError("store.path", { path, problem: `there is no folder ${folder}` });
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new RuntimeError("store.path", { path, problem: "it is a folder" });
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
