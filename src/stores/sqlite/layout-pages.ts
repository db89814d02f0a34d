import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { corrupt } from "../rows/faults.ts";
import { isWhole as isWholeBlob } from "../rows/hashes.ts";
import type { BlobPage, Key, PageOptions, TablePage } from "../rules/port.ts";
import { PROFILE, SESSION, type Table } from "../tables.ts";
import type { Connection } from "./connection.ts";
import { isBusy, typed } from "./faults.ts";
import { type Cell, type Layout, LIMIT, readRow, type StoredRow } from "./layout-rows.ts";
import { type Sealed, sealOf } from "./layout-sessions.ts";
import { storedTableOf } from "./layouts.ts";

/** Reads a whole table in pages for a check. Continues after damaged rows. */

export function pageOf<Row extends object>(
  db: Connection,
  table: Table<Row>,
  after: readonly Key[] | undefined,
  max: number,
  { damage, isWhole = false }: PageOptions,
): TablePage<Row> {
  const { layout, statements } = storedTableOf(table);
  const place = layout.key.map((column) => (column.includes(".") ? column : `t.${column}`)).join(", ");
  const marks = `(${layout.key.map(() => "?").join(", ")})`;
  const sql = `SELECT ${isWhole ? statements.whole : statements.short} FROM ${layout.from ?? `${table.name} t`}
    ${after === undefined ? "" : `WHERE (${place}) > ${marks}`} ORDER BY ${place} ${LIMIT}`;
  const found = db.rows<StoredRow>(sql, ...((after ?? []) as Cell[]), max);
  const rows = found.flatMap((stored) => (rowIn(layout, stored, isWhole, damage) as Row | undefined) ?? []);
  const end = found.length < max ? undefined : keyOf(layout, found.at(-1)!);
  return { rows, last: end && (after === undefined || isAfter(db, marks, end, after)) ? end : undefined };
}

/** Raw column values, because the key of a damaged row can be undecodable. */
const keyOf = ({ key }: Layout, stored: StoredRow): readonly Cell[] =>
  key.map((column) => stored[column.slice(column.indexOf(".") + 1)]!);

/**
 * The pages of a damaged table may form a circle. SQLite compares the keys, because its order differs from
 * JavaScript's.
 */
function isAfter(db: Connection, marks: string, end: readonly Cell[], after: readonly Key[]): boolean {
  const compared = `SELECT ${marks} > ${marks} AS isAfter`;
  return db.row<{ isAfter: number }>(compared, ...end, ...(after as Cell[]))!.isAfter === 1;
}

/** A row with a wrong checksum may still show what else is wrong. */
function rowIn(layout: Layout, stored: StoredRow, isWhole: boolean, damage: unknown[]): object | undefined {
  try {
    if (layout.table === PROFILE && stored.config === null)
      throw corrupt(`The configuration of session ${stored.id}`, "it is missing");
    return readRow(layout, stored, isWhole);
  } catch (error) {
    damage.push(error instanceof RuntimeError ? error : corrupt(itemOf(layout, stored), describeThrown(error), error));
  }
  try {
    return layout.read === undefined
      ? readRow(withoutSum(layout), stored, isWhole)
      : layout.read({ ...stored, seal: sealOf(stored as unknown as Sealed), parked_seal: null });
  } catch {
    return undefined;
  }
}

const withoutSum = ({ sum: _, ...layout }: Layout): Layout => layout;

function itemOf({ item, table }: Layout, stored: StoredRow): string {
  if (table === SESSION || table === PROFILE) return `Session ${stored.id}`;
  return item === undefined ? `A row of ${table.name}` : item(stored);
}

// ── Blobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const BLOBS = `SELECT n, hash, data FROM blob WHERE n > ? ORDER BY n ${LIMIT}`;

export function blobsAfter(db: Connection, after: Key | undefined, max: number): BlobPage {
  const start = (after as number | undefined) ?? Number.MIN_SAFE_INTEGER;
  const rows = db.rows<{ n: number; hash: string; data: unknown }>(BLOBS, start, max);
  const isWhole = (hash: string, data: unknown): boolean => data instanceof Uint8Array && isWholeBlob(hash, data);
  const end = rows.length < max ? undefined : rows.at(-1)!.n;
  return {
    blobs: rows.map(({ hash, data }) => ({ hash: String(hash), isWhole: isWhole(hash, data) })),
    last: end !== undefined && end > start ? end : undefined,
  };
}

const HAS_BLOBS = "SELECT hash FROM blob WHERE hash IN (SELECT value FROM json_each(?))";

export const blobsAmong = (db: Connection, hashes: readonly string[]): ReadonlySet<string> =>
  new Set(db.rows<{ hash: string }>(HAS_BLOBS, JSON.stringify(hashes)).map(({ hash }) => hash));

// ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Converts SQLite errors about damaged pages and missing tables to `store.corrupt`. */
export function damageIn(error: unknown, path: string): unknown {
  if (isBusy(error)) return error;
  const typedError = typed(error, path);
  const isDamage =
    typedError instanceof RuntimeError && (typedError.code === "store.corrupt" || typedError.code === "store.failed");
  return isDamage ? corrupt(`The database ${path}`, describeThrown(error), error) : error;
}
