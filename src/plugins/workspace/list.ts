import type { Dirent } from "node:fs";
import { readlink } from "node:fs/promises";
import { globMatcher } from "./glob.ts";
import { type Folder, withFolder } from "./resolve.ts";
import { DEPTH_SHOWN, PATHS_SHOWN, TEXTS } from "./texts.ts";

export const DEPTH_MAX = 32;
export const VISITS_MAX = 100_000;

export interface ListInput {
  readonly path?: string;
  readonly glob?: string;
  readonly depth?: number;
  readonly limit?: number;
}
interface ListOptions {
  readonly root: string;
  readonly ignore: readonly string[];
  readonly bytesMax: number;
}

/** One path per line, folders with a slash at the end; the last line in brackets shows that there are more. */
export function listFiles(
  { path = ".", glob, depth = glob === undefined ? DEPTH_SHOWN : DEPTH_MAX, limit = PATHS_SHOWN }: ListInput,
  { root, ignore, bytesMax }: ListOptions,
  signal: AbortSignal,
): Promise<string> {
  const isWanted = glob === undefined ? () => true : globMatcher(glob);
  return withFolder(root, path, async (folder, base) => {
    const lines: string[] = [];
    let bytes = 0;
    let cut: string | undefined;
    const visits = { left: VISITS_MAX, isOver: false };
    for await (const entry of walk(folder, { depth, ignore, signal, visits })) {
      if (!isWanted(entry.path)) continue;
      const line = oneLine((base === "." ? "" : `${base}/`) + entry.path) + (await suffix(entry));
      bytes += Buffer.byteLength(line) + 1;
      if (lines.length === limit || bytes > bytesMax) {
        cut = TEXTS.morePaths(lines.length);
        break;
      }
      lines.push(line);
    }
    if (visits.isOver) cut = TEXTS.visitsOver(VISITS_MAX);
    if (cut === undefined && lines.length === 0) return TEXTS.nothingListed;
    return cut === undefined ? lines.join("\n") : [...lines, `[${cut}]`].join("\n");
  });
}

/** A path with such a character is quoted, because a name with a line break would look like two names. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
export const oneLine = (path: string): string => (CONTROL.test(path) ? JSON.stringify(path) : path);

async function suffix({ kind, folder, name }: Entry): Promise<string> {
  if (kind === "folder") return "/";
  if (kind === "link") return ` -> ${oneLine(await readlink(folder.at(name)).catch(() => "?"))}`;
  return kind === "file" ? "" : TEXTS.notRegular;
}

export interface Entry {
  readonly kind: "file" | "folder" | "link" | "other";
  readonly name: string;
  /** Relative to the folder where the walk began. */
  readonly path: string;
  readonly folder: Folder;
}
interface Walk {
  readonly depth: number;
  readonly ignore: readonly string[];
  readonly signal: AbortSignal;
  /** The budget of names for the whole walk: `left` counts down. At 0 the walk ends and sets `isOver`. */
  readonly visits: { left: number; isOver: boolean };
}

/**
 * All names below a folder, sorted, each folder before what is in it. Yields symbolic links and does not follow them,
 * because they could make a loop or lead out of the workspace.
 */
export async function* walk(folder: Folder, options: Walk, prefix = ""): AsyncGenerator<Entry> {
  const { depth, ignore, signal, visits } = options;
  if (depth <= 0) return;
  for (const dirent of await sorted(folder, signal, visits)) {
    signal.throwIfAborted();
    const { name } = dirent;
    const [kind, path] = [kindOf(dirent), prefix + name];
    if (kind === "folder" && ignore.includes(name)) continue;
    yield { kind, name, path, folder };
    if (kind !== "folder" || depth === 1 || visits.isOver) continue;
    // The folder was removed or replaced, or access is not permitted.
    const inner = await folder.enter(name).catch(() => undefined);
    if (inner === undefined) continue;
    try {
      yield* walk(inner, { ...options, depth: depth - 1 }, `${path}/`);
    } finally {
      await inner.close();
    }
  }
}

async function sorted(folder: Folder, signal: AbortSignal, visits: Walk["visits"]): Promise<readonly Dirent[]> {
  const found: Dirent[] = [];
  try {
    for await (const dirent of folder.entries()) {
      signal.throwIfAborted();
      visits.isOver = visits.left === 0;
      if (visits.isOver) break;
      visits.left--;
      found.push(dirent);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error;
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function kindOf(dirent: Dirent): Entry["kind"] {
  if (dirent.isFile()) return "file";
  if (dirent.isDirectory()) return "folder";
  return dirent.isSymbolicLink() ? "link" : "other";
}
