// Finds the file that SQLite opens for a path, by SQLite's own rules, so that the store can create a missing file first.
import { readlinkSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { RuntimeError } from "../../model/errors.ts";

/** The file of a database, and whether SQLite creates it when it is missing. */
export interface DatabaseFile {
  readonly file: string;
  readonly isCreated: boolean;
}

/** SQLite follows at most this many links, and fails after that. */
const LINKS_MAX = 200;

/** Returns undefined for a database in memory. Throws `store.path` for a path that names no file. */
export function databaseFile(path: string): DatabaseFile | undefined {
  const wrong = (problem: string): never => {
    throw new RuntimeError("store.path", { path: path || '""', problem });
  };
  const { name, mode } = path.startsWith("file:") ? (uriParts(path) ?? wrong("its URI is malformed")) : { name: path };
  if (name === ":memory:" || mode === "memory") return undefined;
  if (name === "") return wrong("the path is empty");
  if (name.includes("\0")) return wrong("the path has a NUL character");
  const file = realFile(name) ?? wrong("its symbolic links form a loop");
  return { file, isCreated: mode === undefined || mode === "rwc" };
}

/** SQLite reads a path that begins with `file:` as a URI: https://sqlite.org/uri.html. */
function uriParts(uri: string): { readonly name: string; readonly mode?: string | undefined } | undefined {
  const [, name = "", query = ""] = /^file:(?:\/\/(?:localhost)?(?=\/))?([^?#]*)(?:\?([^#]*))?/.exec(uri) ?? [];
  try {
    return { name: decodeURIComponent(name), mode: new URLSearchParams(query).getAll("mode").at(-1) };
  } catch {
    return undefined;
  }
}

/**
 * Resolves links one element at a time, as SQLite does on POSIX systems. `resolve` alone takes `..` out of the text, also
 * behind a link, and would name another file; `realpath` fails where the file or a folder before a `..` is missing.
 */
function realFile(name: string): string | undefined {
  if (process.platform === "win32") return resolve(name.replace(/^\/(?=[a-z]:)/i, "")); // SQLite follows no links there.
  const rest = `${isAbsolute(name) ? "" : process.cwd()}/${name}`.split("/");
  let file = "/";
  for (let links = 0, element = rest.shift(); element !== undefined; element = rest.shift()) {
    if (element === "" || element === ".") continue;
    if (element === "..") {
      file = dirname(file);
      continue;
    }
    const next = join(file, element);
    const target = linkTarget(next);
    if (target === undefined) file = next;
    else if (++links > LINKS_MAX) return undefined;
    else {
      if (isAbsolute(target)) file = "/";
      rest.unshift(...target.split("/"));
    }
  }
  return file;
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // The path is missing, or is not a link.
  }
}
