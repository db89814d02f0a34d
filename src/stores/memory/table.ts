import type { Key, ScanOptions } from "../rules/port.ts";
import { type Condition, type Index, meets, type Table } from "../tables.ts";

/** Holds a row. Indexes refer to cells, so a change of a column that no index contains leaves the indexes unchanged. */
export interface Cell<Row> {
  row: Row;
}

/** The cells under one key of an index, sorted. Most keys have one row, and a list for each would take more memory. */
type Bucket<Row> = Cell<Row> | Cell<Row>[];
type Column<Row> = keyof Row & string;

interface BuiltIndex<Row> {
  readonly on: readonly Column<Row>[];
  readonly only: readonly (readonly [Column<Row>, Condition])[];
  /** The sort order in a bucket. It ends with the key, so no two rows are equal. */
  readonly order: readonly Column<Row>[];
  /** All columns that determine the position of a row in the index. */
  readonly columns: readonly Column<Row>[];
  /** The columns never change. */
  readonly isFixed: boolean;
  readonly buckets: Map<Key, Bucket<Row>>;
}

function builtIndex<Row extends object>({ on, by = [], only = {} }: Index<Row>, table: Table<Row>): BuiltIndex<Row> {
  const conditions = Object.entries(only) as [Column<Row>, Condition][];
  const columns = [...on, ...by, ...conditions.map(([column]) => column)];
  const isFixed = columns.every((column) => column === "id");
  return { on, only: conditions, order: [...by, ...table.key], columns, isFixed, buckets: new Map() };
}

/**
 * The rows of one table. An index is built on first use: most tables of most processes are empty, and most indexes are
 * never used.
 */
export class MemoryTable<Row extends object> {
  readonly #table: Table<Row>;
  readonly cells = new Map<Key, Cell<Row>>();
  readonly #indexes = new Map<string, BuiltIndex<Row>>();
  readonly #built: BuiltIndex<Row>[] = [];

  constructor(table: Table<Row>, ...indexes: readonly string[]) {
    this.#table = table;
    for (const name of indexes) this.index(name);
  }

  keyOf(row: Row): Key {
    return keyIn(row, this.#table.key);
  }

  /** Stores or removes the row under a key, and returns the previous row. */
  put(key: Key, row: Row | undefined): Row | undefined {
    let cell = this.cells.get(key);
    const before = cell?.row;
    if (cell === undefined) {
      if (row === undefined) return undefined;
      cell = { row };
      this.cells.set(key, cell);
    } else if (row === undefined) this.cells.delete(key);
    // A counted loop: every turn passes here, and an iterator would allocate for each step.
    for (let at = 0; at < this.#built.length; at += 1) {
      const index = this.#built[at]!;
      if (before !== undefined && row !== undefined) {
        const { columns } = index;
        let same = 0;
        while (same < columns.length && before[columns[same]!] === row[columns[same]!]) same += 1;
        if (same === columns.length) continue;
      }
      if (before !== undefined) {
        cell.row = before;
        leave(index, cell);
      }
      if (row !== undefined) {
        cell.row = row;
        enter(index, cell);
      }
    }
    if (row !== undefined) cell.row = row;
    return before;
  }

  /**
   * Removes a row from the indexes over columns that are about to change in place, or adds it again. For a caller that
   * never undoes.
   */
  relist(cell: Cell<Row>, isBack: boolean): void {
    for (let at = 0; at < this.#built.length; at += 1) {
      const index = this.#built[at]!;
      if (index.isFixed) continue;
      if (isBack) enter(index, cell);
      else leave(index, cell);
    }
  }

  /** Returns the first row under a key of an index. */
  find(name: string, key: readonly Key[]): Row | undefined {
    return this.cell(name, key)?.row;
  }

  cell(name: string, key: readonly Key[]): Cell<Row> | undefined {
    if (name === "key") return this.cells.get(joined(key));
    const bucket = this.index(name).get(joined(key));
    return Array.isArray(bucket) ? bucket[0] : bucket;
  }

  count(name: string, key: readonly Key[]): number {
    const bucket = this.index(name).get(joined(key));
    return Array.isArray(bucket) ? bucket.length : bucket === undefined ? 0 : 1;
  }

  scan(name: string, key: readonly Key[], options: ScanOptions = {}): readonly Row[] {
    const { above, upTo, upToNext, max = Infinity, isDescending = false } = options;
    if (name === "key") {
      const all = key.length > 0 ? [this.cells.get(joined(key)) ?? []].flat() : [...this.cells.values()];
      return all.map(({ row }) => row).sort((a, b) => compare(a, b, this.#table.key));
    }
    const bucket = this.index(name).get(joined(key));
    if (bucket === undefined || max <= 0) return [];
    const cells = Array.isArray(bucket) ? bucket : [bucket];
    const { order, by = [] } = { ...this.#indexes.get(name)!, ...this.#table.indexes[name]! };
    // If the index has no `by` order, a scan starts after a value of the last key column.
    const first = by.length > 0 ? order[0]! : this.#table.key.at(-1)!;
    const start = above === undefined ? 0 : firstAfter(cells, first, above);
    let end = upTo === undefined ? cells.length : firstAfter(cells, first, upTo);
    const next = order[1];
    if (upToNext !== undefined && next !== undefined)
      while (end > 0 && cells[end - 1]!.row[first] === upTo && (cells[end - 1]!.row[next] as number) > upToNext) end--;
    const count = Math.min(max, Math.max(0, end - start));
    const page = isDescending ? cells.slice(end - count, end).reverse() : cells.slice(start, start + count);
    return page.map(({ row }) => row);
  }

  /** Returns the cells of an index: one per key, or a list. */
  index(name: string): ReadonlyMap<Key, Bucket<Row>> {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known.buckets;
    const index = this.#table.indexes[name];
    if (index === undefined) throw new Error(`The table ${this.#table.name} has no index ${name}.`);
    const built = builtIndex(index, this.#table);
    for (const cell of this.cells.values()) enter(built, cell);
    this.#indexes.set(name, built);
    this.#built.push(built);
    return built.buckets;
  }
}

/**
 * Joins several columns into one map key. A single column stays as it is. The length prefix keeps different texts apart
 * that would otherwise join to the same text.
 */
export function joined(key: readonly Key[]): Key {
  if (key.length === 1) return key[0]!;
  let all = "";
  for (let at = 0; at < key.length; at += 1) {
    const value = key[at]!;
    all += typeof value === "string" ? `/${value.length}:${value}` : `/${value}`;
  }
  return all;
}

const keyIn = <Row extends object>(row: Row, columns: readonly Column<Row>[]): Key =>
  columns.length === 1 ? (row[columns[0]!] as Key) : joined(columns.map((column) => row[column] as Key));

/** Returns the bucket key of a row; undefined if the index does not contain the row. */
function bucketOf<Row extends object>({ on, only }: BuiltIndex<Row>, row: Row): Key | undefined {
  for (let at = 0; at < only.length; at += 1) if (!meets(row[only[at]![0]], only[at]![1])) return undefined;
  return on.length === 1 ? (row[on[0]!] as Key) : keyIn(row, on);
}

function enter<Row extends object>(index: BuiltIndex<Row>, cell: Cell<Row>): void {
  const key = bucketOf(index, cell.row);
  if (key === undefined) return;
  const bucket = index.buckets.get(key);
  if (bucket === undefined) index.buckets.set(key, cell);
  else if (Array.isArray(bucket)) bucket.splice(positionOf(bucket, cell.row, index.order), 0, cell);
  else index.buckets.set(key, compare(bucket.row, cell.row, index.order) < 0 ? [bucket, cell] : [cell, bucket]);
}

function leave<Row extends object>(index: BuiltIndex<Row>, cell: Cell<Row>): void {
  const key = bucketOf(index, cell.row);
  const bucket = key === undefined ? undefined : index.buckets.get(key);
  if (bucket === cell) index.buckets.delete(key!);
  if (!Array.isArray(bucket)) return;
  bucket.splice(positionOf(bucket, cell.row, index.order), 1);
  if (bucket.length === 0) index.buckets.delete(key!);
}

/** Returns the position of a row in a sorted list, or where to insert it. New rows usually go to the end. */
function positionOf<Row extends object>(cells: readonly Cell<Row>[], row: Row, order: readonly Column<Row>[]): number {
  let [low, high] = [0, cells.length];
  if (high > 0 && compare(cells[high - 1]!.row, row, order) < 0) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(cells[middle]!.row, row, order) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the position of the first row whose column is above a value. */
function firstAfter<Row>(cells: readonly Cell<Row>[], column: Column<Row>, value: string | number): number {
  let [low, high] = [0, cells.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cells[middle]!.row[column] as string | number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare<Row extends object>(a: Row, b: Row, order: readonly Column<Row>[]): number {
  for (const column of order) {
    const [one, other] = [a[column], b[column]];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
