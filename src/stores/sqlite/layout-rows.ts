import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Key } from "../rules/port.ts";
import type { Kind, Table } from "../tables.ts";
import { seal, sumIn, sumOf, unseal } from "./checksum.ts";

/** How rows are stored in the file, read and written. Statements are in `layout-statements.ts`. */

/** The value of a column in the file. */
export type Cell = string | number | null;
/** A row in the file. */
export interface StoredRow {
  [column: string]: Cell;
}

/** Converts a value of a column. `write` receives the row with the columns before this one. */
export interface Codec {
  write(value: unknown, row: StoredRow): Cell;
  read(cell: Cell, row: StoredRow): unknown;
}
export interface Column extends Codec {
  readonly name: string;
  /** The column's name in the file. */
  readonly storedAs: string;
  readonly kind: Kind;
}

/** Rows of one owner are adjacent in the file, under the key `of * SEQS + at` in column `k`. */
export interface Span {
  readonly of: string;
  readonly at: string;
}
export const SEQS = 2 ** 22;

/** SQLite reads the value of a bare parameter when it plans, and would plan again for each other value. */
export const LIMIT = "LIMIT ? + 0";

/** Extra conditions that make SQLite use the intended index. */
export interface ScanHints {
  readonly with?: string;
  readonly from?: string;
  /** The default start of a scan. With a start SQLite searches the index instead of reading the whole table. */
  readonly start?: string;
  /** Conditions in the exact words of an index of the file, by column. */
  readonly only?: { readonly [column: string]: string };
}

/** Storage details of a table that `tables.ts` does not contain. */
export interface TableFormat {
  /** Names a row in errors. */
  readonly item?: (row: StoredRow) => string;
  readonly codecs?: { readonly [column: string]: Codec };
  /** Column names in the file that differ from the snake case of the table's. */
  readonly names?: { readonly [column: string]: string };
  /** Computes the checksum of a row. Rows from before schema 5 may have none. */
  readonly sum?: (row: StoredRow) => number;
  /** The columns that seed the checksums of texts. They never change. */
  readonly seeds?: readonly string[];
  readonly span?: Span;
  readonly ways?: { readonly [index: string]: ScanHints };
  /** The session counts the row. The column contains the session or its turn. */
  readonly countedBy?: "session" | "turn";
  /** A new row replaces an existing one, which may be damaged. */
  readonly isReplaced?: true;
  readonly select?: string;
  readonly from?: string;
  readonly read?: (row: StoredRow) => object;
}

export interface Layout extends TableFormat {
  readonly table: Table;
  readonly columns: readonly Column[];
  /** The columns except long ones. */
  readonly short: readonly Column[];
  /** The position of a column in `columns`. */
  readonly places: ReadonlyMap<string, number>;
  /** A mask of the columns that never change. */
  readonly fixed: number;
  /** The columns that identify a row of the file. */
  readonly key: readonly string[];
}

export function layout(table: Table, lying: TableFormat = {}): Layout {
  const { codecs = {}, names = {}, seeds = [], span } = lying;
  const columns = Object.entries(table.columns).map(
    ([name, kind]): Column => ({
      name,
      storedAs: names[name] ?? (span?.at === name ? "k" : snakeCase(name)),
      kind,
      ...(codecs[name] ?? (span?.at === name ? atSpan(span) : KINDS[kind])),
    }),
  );
  const places = new Map(columns.map(({ name }, at) => [name, at]));
  const fixed = [...table.key, ...seeds].reduce((mask, name) => mask | (1 << places.get(name)!), 0);
  const key = span === undefined ? table.key.map((name) => columns[places.get(name)!]!.storedAs) : ["k"];
  return { ...lying, table, columns, short: columns.filter(({ kind }) => kind !== "long"), places, fixed, key };
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const PLAIN: Codec = { write: (value) => value as Cell, read: (cell) => cell };
const NAME: Codec = {
  write: (value) => (value === null ? null : keyText(value as string)),
  read: (cell) => (cell === null ? null : fromKeyText(cell as string)),
};
const FLAG: Codec = { write: (value) => (value === true ? 1 : 0), read: (cell) => cell === 1 };
const KINDS: { readonly [kind in Kind]: Codec } = {
  ...{ number: PLAIN, text: PLAIN, name: NAME, flag: FLAG, json: PLAIN, long: PLAIN },
};

const atSpan = ({ of }: Span): Codec => ({
  write: (value, row) => Number(row[of]) * SEQS + (value as number),
  read: (cell) => (cell as number) % SEQS,
});

/** Returns a key value as the file stores it. */
export const keyCell = (kind: Kind, value: Key): Cell => {
  if (typeof value === "boolean") return value ? 1 : 0;
  return kind === "name" && value !== null ? keyText(String(value)) : value;
};

// ── Checksums ───────────────────────────────────────────────────────────────────────────────────────────────────────

const cellsOf = (row: StoredRow, columns: readonly string[]): readonly Cell[] =>
  columns.map((column) => row[column] ?? null);

/** Returns the checksum of these columns. Sealed texts contribute their own checksums. */
export const sumOver =
  (columns: readonly string[], sealed: readonly string[] = []): ((row: StoredRow) => number) =>
  (row) =>
    sumOf(
      columns.map((column) => (sealed.includes(column) ? sumIn(row[column] as string | null) : (row[column] ?? null))),
    );

/** Returns a codec of JSON after a checksum. The seed is a number of the row, or the checksum of several columns. */
export function sealed(how: {
  readonly seed: string | readonly string[];
  readonly item: (row: StoredRow) => string;
  /** The seed column of rows from before schema 5. */
  readonly before?: string;
  /** The column may be NULL. */
  readonly isOptional?: true;
  readonly encode?: (value: never, row: StoredRow) => unknown;
  readonly decode?: (value: never, row: StoredRow) => unknown;
}): Codec {
  const { seed, item, before, isOptional, encode, decode } = how;
  const seedOf = (row: StoredRow): number => (typeof seed === "string" ? Number(row[seed]) : sumOf(cellsOf(row, seed)));
  return {
    write: (value, row) => {
      if (isOptional === true && value === null) return null;
      return seal(encode === undefined ? value : encode(value as never, row), seedOf(row));
    },
    read: (cell, row) => {
      if (isOptional === true && cell === null) return null;
      const value = unseal(
        cell as string,
        seedOf(row),
        item(row),
        before === undefined ? undefined : Number(row[before]),
      );
      return decode === undefined ? value : decode(value as never, row);
    },
  };
}

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Decodes a row of the file. Throws `store.corrupt` if a checksum is wrong. */
export function readRow(layout: Layout, stored: StoredRow, isWhole: boolean): object {
  const { sum, item } = layout;
  if (layout.read !== undefined) return layout.read(stored);
  if (sum !== undefined && stored.seal !== null && stored.seal !== sum(stored))
    throw corrupt(item!(stored), "its checksum does not fit");
  const row: { [column: string]: unknown } = {};
  for (const column of isWhole ? layout.columns : layout.short)
    row[column.name] = column.read(stored[column.storedAs] as Cell, stored);
  return row;
}

/** Encodes a new row for the file. */
export function writeRow({ columns, sum }: Layout, row: { readonly [column: string]: unknown }): StoredRow {
  const stored: StoredRow = {};
  for (const { name, storedAs: column, write } of columns) stored[column] = write(row[name] ?? null, stored);
  if (sum !== undefined) stored.seal = sum(stored);
  return stored;
}
