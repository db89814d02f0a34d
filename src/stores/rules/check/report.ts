import { RuntimeError } from "../../../model/errors.ts";
import { describeThrown } from "../../../model/json.ts";
import type { Table } from "../../tables.ts";
import type { Finding, Key, PageOptions, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";

/**
 * Shared by all parts of a check: reading whole tables, looking up the rows that others name, and collecting findings.
 */

export const PAGE = 200;
/** How many rows one finding lists. */
const NAMED_MAX = 20;

/** Collects findings, one of each kind, up to a maximum. */
export class Report {
  readonly findings: Finding[] = [];
  /** The blobs that rows name, each with one row that names it. */
  readonly named = new Map<string, string>();
  readonly #max: number;
  readonly #reported = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  get isFull(): boolean {
    return this.findings.length >= this.#max;
  }

  add(item: string, problem: string): void {
    const text = `${item}: ${problem}`;
    if (this.isFull || this.#reported.has(text)) return;
    this.#reported.add(text);
    this.findings.push({ item, problem });
  }

  /** Records the problem that `work` returns, or the error that damaged values cause in it. */
  look(item: string, work: () => string | undefined): void {
    try {
      const problem = work();
      if (problem !== undefined) this.add(item, problem);
    } catch (error) {
      this.thrown(item, error);
    }
  }

  /** Records an error that a damaged row or value has caused. Rethrows every other error. */
  thrown(item: string, error: unknown, db?: Pick<Port, "damageIn">): void {
    const found = corruption(error);
    if (found !== undefined) return this.add(found.item, found.problem);
    const inStore = corruption(db?.damageIn?.(error));
    if (inStore !== undefined) return this.add(item, inStore.problem);
    if (!BY_VALUES.some((kind) => error instanceof kind)) throw error;
    this.add(item, describeThrown(error));
  }

  name(item: string, blobs: readonly string[]): void {
    for (const hash of blobs) this.named.set(hash, item);
  }
}

/** Errors of code that reads a value which no store writes. Connection errors have other classes. */
const BY_VALUES = [TypeError, RangeError, SyntaxError] as const;

/** Returns the message of a damaged row's error, without its hint. */
function corruption(error: unknown): Finding | undefined {
  if (!(error instanceof RuntimeError && error.code === "store.corrupt")) return undefined;
  const { item, problem } = error.details as RuntimeError<"store.corrupt">["details"];
  return { item, problem };
}

/** Runs one part of a check. Damage that stops this part does not stop the others. */
export function* guarded(db: Port, report: Report, item: string, part: Rule<void>): Rule<void> {
  try {
    yield* part;
  } catch (error) {
    report.thrown(item, error, db);
  }
}

/** Passes all rows of a table to `see`, page by page. Returns true if every row was read and none was damaged. */
export function* eachPage<Row extends object>(
  db: Port,
  report: Report,
  table: Table<Row>,
  see: (rows: readonly Row[]) => Rule<void> | undefined,
  { max = PAGE, isWhole = false }: { readonly max?: number; readonly isWhole?: boolean } = {},
): Rule<boolean> {
  const item = `The table ${table.name}`;
  let isSound = true;
  let after: readonly Key[] | undefined;
  do {
    const options: PageOptions = { damage: [], isWhole };
    let rows: readonly Row[] = [];
    try {
      ({ rows, last: after } = yield* db.page(table, after, max, options));
    } catch (error) {
      report.thrown(item, error, db);
      return false;
    }
    for (const error of options.damage) report.thrown(item, error);
    if (options.damage.length > 0) isSound = false;
    const part = see(rows);
    if (part !== undefined) yield* guarded(db, report, item, part);
  } while (after !== undefined && !report.isFull);
  return isSound && !report.isFull;
}

/** Rows that other rows name. A damaged row exists (`has`) but cannot be read. */
export interface Lookup<Row> {
  has(key: Key): boolean;
  row(key: Key): Row | undefined;
}

/** Reads the rows under these keys of a one-column index in parallel. */
export function* lookUp<Row extends object>(
  db: Port,
  table: Table<Row>,
  keys: Iterable<Key>,
  { index = "key", isWhole = false }: { readonly index?: string; readonly isWhole?: boolean } = {},
): Rule<Lookup<Row>> {
  const asked = [...new Set(keys)].filter((key) => key !== null);
  const found = new Map<Key, Row | undefined>();
  const find = function* (key: Key): Rule<void> {
    const damage: unknown[] = [];
    const [row] = yield* db.scan(table, index, [key], { damage, isWhole, max: 1 });
    if (row !== undefined || damage.length > 0) found.set(key, row);
  };
  yield* all(asked.map(find));
  return { has: (key) => found.has(key), row: (key) => found.get(key) };
}

/** Returns whether a row exists under a key, damaged or not. */
export function* isThere(db: Port, table: Table, index: string, ...key: readonly Key[]): Rule<boolean> {
  const damage: unknown[] = [];
  const rows = yield* db.scan(table, index, key, { damage, max: 1 });
  return rows.length + damage.length > 0;
}

/** Collects rows with the same problem into one finding. */
export class RowList {
  readonly #rows = new Set<Key>();

  add(row: Key): void {
    if (this.#rows.size < NAMED_MAX) this.#rows.add(row);
  }

  report(report: Report, item: string, problem: (rows: string) => string): void {
    if (this.#rows.size > 0) report.add(item, problem([...this.#rows].join(", ")));
  }
}
