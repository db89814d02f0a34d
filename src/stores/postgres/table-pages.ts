import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { BlobPage, Key, PageOptions, TablePage } from "../rules/port.ts";
import type { Table } from "../tables.ts";
import type { Fields, SessionNames } from "./columns.ts";
import type { Transaction } from "./database.ts";
import { layoutOf } from "./layouts.ts";

/** Reads a whole table in pages for a check. Continues after damaged rows. */

export async function pageOf<Row extends object>(
  tx: Transaction,
  known: SessionNames,
  table: Table<Row>,
  after: readonly Key[] | undefined,
  max: number,
  { damage, isWhole = false }: PageOptions,
): Promise<TablePage<Row>> {
  const layout = layoutOf(table as Table);
  const selected = layout.columns.filter(({ kind }) => isWhole || kind !== "long").map(({ sql }) => sql);
  const key = table.key.map((name) => layout.columns.find((column) => column.name === name)!.sql);
  const marks = key.map((_, at) => `$${at + 2}`).join(", ");
  const sql = `SELECT ${selected.join(", ")} FROM @${table.name}
    ${after === undefined ? "" : `WHERE (${key.join(", ")}) > (${marks})`} ORDER BY ${key.join(", ")} LIMIT $1`;
  const found = await tx.rows<Fields>(sql, max, ...(after ?? []));
  const rows = found.flatMap((stored): readonly Row[] => {
    try {
      return [layout.decode(stored, known, isWhole) as Row];
    } catch (error) {
      damage.push(
        error instanceof RuntimeError ? error : corrupt(`A row of ${table.name}`, describeThrown(error), error),
      );
      return [];
    }
  });
  // Raw column values, because the key of a damaged row can be undecodable.
  return { rows, last: found.length < max ? undefined : key.map((column) => found.at(-1)![column] as Key) };
}

// ── Blobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

// The server computes the hashes, so no content is sent. A hash is base64url without padding.
const BLOBS = `SELECT hash, translate(encode(sha256(data), 'base64'), '+/=', '-_') = hash AS "isWhole" FROM @blob
  WHERE hash > $1 OR $2 ORDER BY hash LIMIT $3`;

export async function blobsAfter(tx: Transaction, after: Key | undefined, max: number): Promise<BlobPage> {
  const blobs = await tx.rows<BlobPage["blobs"][number]>(BLOBS, (after as string) ?? "", after === undefined, max);
  return { blobs, last: blobs.length < max ? undefined : blobs.at(-1)!.hash };
}

const HAS_BLOBS = "SELECT hash FROM @blob WHERE hash = ANY ($1::text[])";

export async function blobsAmong(tx: Transaction, hashes: readonly string[]): Promise<ReadonlySet<string>> {
  const byText = new Map(hashes.map((hash) => [keyText(hash), hash]));
  const found = await tx.rows<{ hash: string }>(HAS_BLOBS, [...byText.keys()]);
  return new Set(found.map(({ hash }) => byText.get(hash)!));
}
