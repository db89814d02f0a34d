import { globMatcher } from "./glob.ts";
import { DEPTH_MAX, type Entry, oneLine, VISITS_MAX, walk } from "./list.ts";
import { Matcher, TooSlow } from "./matcher.ts";
import { readWhole } from "./read.ts";
import { Refusal, shown } from "./refusal.ts";
import { openFile, withResolved } from "./resolve.ts";
import { MATCHES_SHOWN, SEARCHED_BYTES_MAX, TEXTS } from "./texts.ts";

const FILE_MS = 2_000;
const SEARCH_MS = 30_000;

export interface SearchInput {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly isLiteral?: boolean;
  readonly ignoreCase?: boolean;
  readonly limit?: number;
}
interface SearchOptions {
  readonly root: string;
  readonly ignore: readonly string[];
  readonly bytesMax: number;
}

/** Every line that matches, as `file:line: text`; the last lines in brackets show what is missing. */
export function searchFiles(
  { pattern, path = ".", glob, isLiteral = false, ignoreCase = false, limit = MATCHES_SHOWN }: SearchInput,
  { root, ignore, bytesMax }: SearchOptions,
  signal: AbortSignal,
): Promise<string> {
  const source = isLiteral ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : pattern;
  const flags = ignoreCase ? "i" : "";
  requirePattern(source, flags);
  const isWanted = glob === undefined ? () => true : globMatcher(glob);
  return withResolved(root, path, async ({ folder, name, found, path: base }) => {
    if (name !== undefined && found === undefined) throw new Refusal("workspace.missing", TEXTS.missing(shown(path)));
    const started = performance.now();
    const visits = { left: VISITS_MAX, isOver: false };
    const top = name === undefined ? folder : found?.isDirectory() ? await folder.enter(name) : undefined;
    const entries =
      top === undefined
        ? [{ kind: found?.isFile() ? "file" : "other", name: name ?? "", path: "", folder } satisfies Entry]
        : walk(top, { depth: DEPTH_MAX, ignore, signal, visits });
    const results = new Results(limit, bytesMax);
    const matcher = new Matcher(source, flags, FILE_MS);
    try {
      for await (const entry of entries) {
        if (entry.kind !== "file" || !(entry.path === "" || isWanted(entry.path))) continue;
        const whole = [base === "." ? "" : base, entry.path].filter((part) => part !== "").join("/");
        await searchOne(entry, whole, results, matcher, signal);
        if (performance.now() - started > SEARCH_MS) results.cut ??= TEXTS.searchStopped(SEARCH_MS);
        if (results.cut !== undefined) break;
      }
    } finally {
      await matcher.close();
      if (top !== folder) await top?.close();
    }
    if (visits.isOver) results.cut ??= TEXTS.searchVisitsOver(VISITS_MAX);
    return results.text();
  });
}

function requirePattern(source: string, flags: string): void {
  try {
    new RegExp(source, flags);
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new Refusal("workspace.pattern", TEXTS.badPattern(problem), { cause });
  }
}

async function searchOne(
  { folder, name }: Entry,
  path: string,
  results: Results,
  matcher: Matcher,
  signal: AbortSignal,
): Promise<void> {
  const bytes = await searchable(folder, name, results);
  if (bytes === undefined) return;
  try {
    const { hits, isBinary } = await matcher.hits(bytes, results.room, signal);
    if (isBinary) results.skipped.binary++;
    else results.add(path, hits);
  } catch (error) {
    if (!(error instanceof TooSlow)) throw error;
    const slow = TEXTS.slowPattern(FILE_MS, shown(path));
    if (results.isEmpty) throw new Refusal("workspace.pattern", `Stopped: ${slow}.`);
    results.cut = `stopped: ${slow}`;
  }
}

/** The bytes of a file; undefined if the file cannot be searched. The search counts such files and continues. */
async function searchable(folder: Entry["folder"], name: string, { skipped }: Results) {
  try {
    const file = await openFile(folder, name);
    try {
      const { size } = await file.stat();
      if (size <= SEARCHED_BYTES_MAX) return await readWhole(file, name, SEARCHED_BYTES_MAX);
      skipped.large++;
    } finally {
      await file.close();
    }
  } catch {
    skipped.unreadable++;
  }
  return undefined;
}

class Results {
  cut: string | undefined;
  readonly skipped = { binary: 0, large: 0, unreadable: 0 };
  readonly #lines: string[] = [];
  readonly #limit: number;
  #bytesLeft: number;
  #files = 0;

  constructor(limit: number, bytesMax: number) {
    this.#limit = limit;
    this.#bytesLeft = bytesMax;
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** How many matches to ask for: one more than fits, to find out whether there are more. */
  get room(): number {
    return this.#limit - this.#lines.length + 1;
  }

  add(path: string, hits: readonly { readonly line: number; readonly text: string }[]): void {
    this.#files++;
    for (const { line, text } of hits) {
      const shownLine = `${oneLine(path)}:${line}: ${text}`;
      this.#bytesLeft -= Buffer.byteLength(shownLine) + 1;
      if (this.#lines.length === this.#limit || this.#bytesLeft < 0) {
        this.cut = TEXTS.moreMatches(this.#lines.length);
        return;
      }
      this.#lines.push(shownLine);
    }
  }

  text(): string {
    const { binary, large, unreadable } = this.skipped;
    const skipped = [
      ...(binary > 0 ? [TEXTS.binary(binary)] : []),
      ...(large > 0 ? [TEXTS.large(large)] : []),
      ...(unreadable > 0 ? [TEXTS.unreadable(unreadable)] : []),
    ];
    return [
      ...this.#lines,
      ...(this.isEmpty ? [TEXTS.noMatch(this.#files)] : []),
      ...(this.cut === undefined ? [] : [`[${this.cut}]`]),
      ...(skipped.length === 0 ? [] : [TEXTS.skipped(skipped.join(", "))]),
    ].join("\n");
  }
}
