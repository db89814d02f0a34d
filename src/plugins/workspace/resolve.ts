// Finds paths below the root without ever leaving it. All file tools go through here.
//
// path-1: A path is resolved name by name, in folders that stay open. So another process cannot swap a folder for a
//    link between the check and the use.
// path-2: Symbolic links are resolved by hand and only below the root. Nothing outside is read, not even to refuse it.
// path-3: Without `/proc` (not on Linux), names are opened by path, and the result is compared with the path
// afterwards.
import { type Dirent, existsSync, type Stats } from "node:fs";
import { constants, type FileHandle, lstat, mkdir, open, opendir, readlink, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { explained, Refusal, shown } from "./refusal.ts";
import { TEXTS } from "./texts.ts";

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0 } = constants;
const PATH_BYTES_MAX = 4_096;
const LINKS_MAX = 40;

/** Whether names can be opened through the descriptor of an open folder (path-1). */
const HAS_DESCRIPTORS = process.platform === "linux" && existsSync("/proc/self/fd");

/** An open folder. Names are opened in it and not by its path, because the path can later lead to another folder. */
export class Folder {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #holds: boolean;

  private constructor(handle: FileHandle, path: string, holds: boolean) {
    this.#handle = handle;
    this.path = path;
    this.#holds = holds;
  }

  static async root(path: string, holds = HAS_DESCRIPTORS): Promise<Folder> {
    return new Folder(await open(path, O_RDONLY | O_DIRECTORY), path, holds);
  }

  /** The path by which the system finds a name of this folder. */
  at(name: string): string {
    return this.#holds ? `/proc/self/fd/${this.#handle.fd}/${name}` : join(this.path, name);
  }

  /** Opens a name of this folder. Fails on a symbolic link. */
  async open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    const handle = await open(this.at(name), flags | O_NOFOLLOW, mode);
    if (this.#holds) return handle;
    try {
      await this.#verify(handle, join(this.path, name));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async enter(name: string): Promise<Folder> {
    const handle = await this.open(name, O_RDONLY | O_DIRECTORY);
    return new Folder(handle, join(this.path, name), this.#holds);
  }

  /** The names in this folder, in no order. */
  async *entries(): AsyncGenerator<Dirent> {
    yield* await opendir(this.at("."), { bufferSize: 512 });
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  /** Compares the opened file with the file that the path leads to now (path-3). */
  async #verify(handle: FileHandle, path: string): Promise<void> {
    const [opened, meant, real] = await Promise.all([handle.stat(), lstat(path), realpath(path)]);
    if (real !== path || opened.ino !== meant.ino || opened.dev !== meant.dev)
      throw new Refusal("workspace.changed", `${shown(path)} was replaced meanwhile.`);
  }
}

/** The target of a path: a name in a folder or, without a name, the folder itself. */
export interface ResolvedPath {
  readonly folder: Folder;
  readonly name?: string;
  /** The existing file or folder, never a link. Undefined if there is none. */
  readonly found?: Stats;
  /** Relative to the root, in the form that a model writes. */
  readonly path: string;
}

interface Options {
  /** Creates missing folders of the path. */
  readonly creates?: boolean;
  /** For tests: false works as on a system without `/proc`. */
  readonly holds?: boolean;
}

/** Walks from the root to a path (path-1, path-2), and lets `use` work there while the folders are open. */
export async function withResolved<T>(
  root: string,
  path: string,
  use: (place: ResolvedPath) => Promise<T>,
  options: Options = {},
): Promise<T> {
  const stack: Folder[] = [];
  try {
    return await use(await walkTo(stack, root, path, options));
  } catch (error) {
    throw explained(error, path);
  } finally {
    await Promise.all(stack.map((folder) => folder.close()));
  }
}

async function walkTo(stack: Folder[], root: string, path: string, { creates, holds }: Options): Promise<ResolvedPath> {
  const real = await realpath(root);
  const names = namesOf(path, [root, real]);
  const plain = names.join("/") || ".";
  stack.push(await Folder.root(real, holds));
  for (let links = 0; names.length > 0; ) {
    const name = names.shift() as string;
    const folder = stack.at(-1) as Folder;
    if (name === "..") {
      if (stack.length === 1) throw outside(path);
      await stack.pop()?.close();
      continue;
    }
    const found = await statIn(folder, name);
    if (found?.isSymbolicLink()) {
      if (++links > LINKS_MAX) throw new Refusal("workspace.path", TEXTS.linkLoop(shown(path)));
      const target = await readlink(folder.at(name));
      if (isAbsolute(target)) for (const left of stack.splice(1)) await left.close();
      names.unshift(...(isAbsolute(target) ? namesOf(target, [root, real], path) : target.split(sep).filter(isName)));
      continue;
    }
    if (names.length === 0) return { folder, name, path: plain, ...(found === undefined ? {} : { found }) };
    if (found === undefined && creates !== true) throw new Refusal("workspace.missing", TEXTS.missing(shown(path)));
    if (found === undefined) await mkdir(folder.at(name)).catch(unlessThere);
    else if (!found.isDirectory()) throw new Refusal("workspace.kind", TEXTS.partIsFile(shown(path)));
    stack.push(await folder.enter(name));
  }
  return { folder: stack.at(-1) as Folder, path: plain };
}

const isName = (name: string): boolean => name !== "" && name !== ".";
const outside = (path: string) => new Refusal("workspace.outside", TEXTS.outside(shown(path)));

/** The names from the root down, without `..`. An absolute path must begin with the root. */
function namesOf(path: string, roots: readonly string[], asked = path): string[] {
  if (path.includes("\0")) throw new Refusal("workspace.path", TEXTS.nulInPath);
  if (Buffer.byteLength(path) > PATH_BYTES_MAX)
    throw new Refusal("workspace.path", TEXTS.pathTooLong(shown(path), PATH_BYTES_MAX));
  for (const root of roots) {
    const names = relative(root, resolve(root, path)).split(sep).filter(isName);
    if (names[0] !== ".." && !isAbsolute(names[0] ?? "")) return names;
  }
  throw outside(asked);
}

async function statIn(folder: Folder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(folder.at(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/**
 * Opens a regular file for `use`. Refuses anything else, because reading a pipe would hang, and a device could react.
 */
export async function withFile<T>(
  root: string,
  path: string,
  use: (file: FileHandle, stats: Stats, place: ResolvedPath) => Promise<T>,
): Promise<T> {
  return withResolved(root, path, async (place) => {
    requireFile(place, path);
    const file = await openFile(place.folder, place.name as string, path);
    try {
      return await use(file, await file.stat(), place);
    } finally {
      await file.close();
    }
  });
}

/** Opens without blocking, because the name may lead to a pipe since the check. */
export async function openFile(folder: Folder, name: string, path = name): Promise<FileHandle> {
  const file = await folder.open(name, O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw new Refusal("workspace.kind", TEXTS.special(shown(path)));
}

export function requireFile({ name, found }: ResolvedPath, path: string): void {
  if (name === undefined || found?.isDirectory()) throw new Refusal("workspace.kind", TEXTS.isFolder(shown(path)));
  if (found === undefined) throw new Refusal("workspace.missing", TEXTS.missingFile(shown(path)));
  if (!found.isFile()) throw new Refusal("workspace.kind", TEXTS.special(shown(path)));
}

/** Opens an existing folder for `use`. */
export function withFolder<T>(
  root: string,
  path: string,
  use: (folder: Folder, path: string) => Promise<T>,
): Promise<T> {
  return withResolved(root, path, async ({ folder, name, found, path: plain }) => {
    if (name === undefined) return use(folder, plain);
    if (found === undefined) throw new Refusal("workspace.missing", TEXTS.missingFolder(shown(path)));
    if (!found.isDirectory()) throw new Refusal("workspace.kind", TEXTS.isFile(shown(path)));
    const inner = await folder.enter(name);
    try {
      return await use(inner, plain);
    } finally {
      await inner.close();
    }
  });
}
