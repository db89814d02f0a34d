// Writes and edits files.
//
// file-write-1: A file changes as a whole: a reader finds the old or the new content, also after a crash.
// file-write-2: An edit keeps every byte that it does not replace: encoding, line ends, byte order mark.
import { randomBytes } from "node:crypto";
import { constants, link, rename, unlink } from "node:fs/promises";
import { hashOf, readWhole, tooLarge } from "./read.ts";
import { Refusal, shown } from "./refusal.ts";
import { type Folder, openFile, type ResolvedPath, requireFile, withResolved } from "./resolve.ts";
import { TEXTS } from "./texts.ts";

interface WriteOptions {
  readonly root: string;
  readonly fileBytesMax: number;
}
export interface WriteInput {
  readonly path: string;
  readonly content: string;
  readonly ifMatch?: string;
}

/** The value of `ifMatch` for a file that must not exist yet. */
const ABSENT = "none";

/** Writes the whole file or nothing: other readers see the old or the new content. */
export function writeFile({ path, content, ifMatch }: WriteInput, { root, fileBytesMax }: WriteOptions) {
  const data = Buffer.from(content);
  if (data.length > fileBytesMax) throw tooLarge(path, data.length, fileBytesMax);
  return withResolved(
    root,
    path,
    async (place) => {
      if (place.found !== undefined || place.name === undefined) requireFile(place, path);
      const done = { path: place.path, bytes: data.length, hash: hashOf(data), isNew: place.found === undefined };
      if (ifMatch !== undefined) {
        const hash = await currentHash(place, path, fileBytesMax);
        // A second run after a crash finds its own content, which is not a conflict.
        if (hash === done.hash) return { ...done, isNew: false };
        if (hash !== ifMatch) throw changed(path, hash);
      }
      await replace(place, path, data, ifMatch === ABSENT);
      return done;
    },
    { creates: true },
  );
}

async function currentHash({ folder, name, found }: ResolvedPath, path: string, bytesMax: number): Promise<string> {
  if (found === undefined) return ABSENT;
  const file = await openFile(folder, name as string, path);
  try {
    return hashOf(await readWhole(file, path, bytesMax));
  } finally {
    await file.close();
  }
}

const changed = (path: string, hash: string): Refusal =>
  new Refusal("workspace.changed", hash === ABSENT ? TEXTS.gone(shown(path)) : TEXTS.changed(shown(path), hash));

const { O_WRONLY, O_CREAT, O_EXCL, O_NONBLOCK } = constants;

/** Refuses a read-only file, because a rename would replace it. */
async function requireWritable(folder: Folder, name: string): Promise<void> {
  try {
    await (await folder.open(name, O_WRONLY | O_NONBLOCK)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ETXTBSY") throw error; // A running program can still be replaced.
  }
}

/** Writes to a temporary file and renames it, so that a crash leaves at most a stray `.bowline-….tmp`. */
async function replace(
  { folder, name = "", found }: ResolvedPath,
  path: string,
  data: Uint8Array,
  isExclusive: boolean,
) {
  if (found !== undefined) await requireWritable(folder, name);
  const beside = `.bowline-${randomBytes(9).toString("base64url")}.tmp`;
  const file = await folder.open(beside, O_WRONLY | O_CREAT | O_EXCL, 0o666);
  try {
    try {
      await file.writeFile(data);
      if (found !== undefined) {
        const own = await file.stat();
        if (own.uid !== found.uid || own.gid !== found.gid) await file.chown(found.uid, found.gid).catch(() => {});
        await file.chmod(found.mode & 0o777);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (!isExclusive) return await rename(folder.at(beside), folder.at(name));
    await link(folder.at(beside), folder.at(name)).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EEXIST" ? new Refusal("workspace.changed", TEXTS.existsAlready(shown(path))) : error;
    });
    await unlink(folder.at(beside));
  } catch (error) {
    await unlink(folder.at(beside)).catch(() => {});
    throw error;
  }
}

export interface EditInput {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly all?: boolean;
  readonly ifMatch?: string;
}

/** Replaces text that occurs exactly once, or all occurrences with `all`. The line ends of the file do not change. */
export function editFile(input: EditInput, { root, fileBytesMax }: WriteOptions) {
  const { path, ifMatch } = input;
  return withResolved(root, path, async (place) => {
    requireFile(place, path);
    const file = await openFile(place.folder, place.name as string, path);
    const before = await readWhole(file, path, fileBytesMax).finally(() => file.close());
    const hash = hashOf(before);
    if (ifMatch !== undefined && ifMatch !== hash) throw changed(path, hash);
    const { text, replaced, line } = edited(textOf(before, path), input);
    const after = Buffer.from(text);
    if (after.length > fileBytesMax) throw tooLarge(path, after.length, fileBytesMax);
    await replace(place, path, after, false);
    return { path: place.path, replaced, line, hash: hashOf(after) };
  });
}

/** Decodes without loss, also the byte order mark, because the rest of the file must not change by a byte. */
function textOf(data: Uint8Array, path: string): string {
  if (data.includes(0)) throw new Refusal("workspace.kind", TEXTS.binaryFile(shown(path)));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch (cause) {
    throw new Refusal("workspace.kind", TEXTS.notUtf8(shown(path)), { cause });
  }
}

const COUNT_MAX = 100;

/**
 * File and `oldText` are compared with LF line ends, because a model reads only LF. The new text gets the line ends of
 * the replaced text.
 */
export function edited(
  text: string,
  { path, oldText, newText, all = false }: EditInput,
): { readonly text: string; readonly replaced: number; readonly line: number } {
  const [sought, wanted, plain] = [unixed(oldText), unixed(newText), unixed(text)];
  if (sought === "") throw new Refusal("workspace.edit", TEXTS.emptyOldText);
  if (sought === wanted) throw new Refusal("workspace.edit", TEXTS.sameTexts);
  const first = plain.indexOf(sought);
  if (first === -1) throw new Refusal("workspace.edit", TEXTS.notFound(shown(path)));
  // Occurrences that overlap count too: `aa` is twice in `aaa`.
  const count = all ? 1 : positions(plain, sought, 1, COUNT_MAX).length;
  if (count > 1)
    throw new Refusal(
      "workspace.edit",
      TEXTS.notUnique(shown(path), count === COUNT_MAX ? `at least ${count}` : String(count)),
    );
  const found = all ? positions(plain, sought, sought.length, Number.POSITIVE_INFINITY) : [first];
  return {
    text: spliced(text, plain, found, sought.length, wanted),
    replaced: found.length,
    line: plain.slice(0, first).split("\n").length,
  };
}

const unixed = (text: string): string => text.replaceAll("\r\n", "\n");

function positions(text: string, sought: string, stride: number, max: number): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(sought); at !== -1 && found.length < max; at = text.indexOf(sought, at + stride))
    found.push(at);
  return found;
}

/** `found` are positions in `plain`, where a CRLF is one character. The rest comes from `text` unchanged. */
function spliced(text: string, plain: string, found: readonly number[], length: number, wanted: string): string {
  const breaks = plain.split("\n").length - 1;
  const usual = (text.length - plain.length) * 2 > breaks ? "\r\n" : "\n";
  const pieces: string[] = [];
  let [at, plainAt] = [0, 0];
  const advance = (to: number): string => {
    const from = at;
    for (; plainAt < to; plainAt++) at += plain[plainAt] === "\n" && text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
    return text.slice(from, at);
  };
  for (const position of found) {
    pieces.push(advance(position));
    const gone = advance(position + length);
    const end = gone.includes("\r\n") ? "\r\n" : gone.includes("\n") ? "\n" : usual;
    pieces.push(wanted.replaceAll("\n", end));
  }
  return pieces.join("") + text.slice(at);
}
