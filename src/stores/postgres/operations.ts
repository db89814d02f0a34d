import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { keyText } from "../rows/codec.ts";
import type { ChangedBy, Committed, FoundOperation, PartOperation } from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Database, Transaction } from "./database.ts";
import { requireLocked } from "./session-row.ts";
import { parsed } from "./text.ts";

/** What is kept of operations: their receipts, and until then notes of the work they take. */

export interface OperationRow {
  readonly n: number;
  readonly session: number;
  readonly name: string;
  /** Of the content: it tells a repeat from a conflict. */
  readonly hash: string;
  readonly committed: string;
}

const BY_NAME = "SELECT * FROM @operation WHERE session = $1 AND name = $2";

export const operationRow = (tx: Transaction, session: number, operation: string): Promise<OperationRow | undefined> =>
  tx.row(BY_NAME, session, keyText(operation));

/** What made an operation, and what was answered. */
export interface Applied {
  readonly by: ChangedBy;
  readonly committed: Committed;
  readonly receipt?: Json;
}

/** `row.name` is kept as `keyText` gave it. */
export function addOperation(
  tx: Transaction,
  row: Omit<OperationRow, "committed">,
  committed: Committed,
  more: { readonly by: ChangedBy | undefined; readonly receipt: Json | undefined },
): void {
  const text = JSON.stringify({ ...committed, ...more });
  const add = "INSERT INTO @operation (n, session, name, hash, committed) VALUES ($1, $2, $3, $4, $5)";
  tx.queue(add, row.n, row.session, row.name, row.hash, text);
}

export function appliedOf({ name, committed: text }: Pick<OperationRow, "name" | "committed">): Applied {
  const kept = parsed<Committed & Partial<Applied>>(text, `The receipt of operation ${name}`);
  const { by = "command", receipt, ...committed } = kept;
  return { by, committed, ...(receipt === undefined ? {} : { receipt }) };
}

/** The id of the row of an append that waits, or was settled. No turn has one like it, and no name is kept like it. */
export const appendId = (operation: string): string => `\u0001append/${keyText(operation)}`;

/** The key of a receipt of an operation that was part of something else. Those of notes are never empty. */
const PART = "";
const noteKey = (key: string): string => keyText(`/${key}`);

interface Found {
  readonly committed: string | null;
  readonly is_queued: boolean;
  readonly part: string | null;
}
const FIND = `SELECT o.committed, EXISTS (SELECT 1 FROM @turn t WHERE t.id = $3 AND t.session = s.n) AS is_queued,
    (SELECT value FROM @operation_note p WHERE p.session = s.n AND p.operation = $2 AND p.key = '${PART}') AS part
  FROM @session s LEFT JOIN @operation o ON o.session = s.n AND o.name = $2 WHERE s.id = $1`;

export async function findOperation(
  db: Pick<Database | Transaction, "row">,
  id: SessionId,
  operation: string,
): Promise<FoundOperation | undefined> {
  const name = keyText(operation);
  const row = await db.row<Found>(FIND, id, name, appendId(operation));
  if (row === undefined) return undefined;
  if (row.committed !== null) {
    const { by: _, ...done } = appliedOf({ name, committed: row.committed });
    return { kind: "done", ...done };
  }
  if (row.is_queued) return { kind: "queued" };
  return row.part === null ? undefined : { kind: "done", receipt: noteIn(row.part, operation) };
}

const noteIn = (value: string, operation: string): Json => parsed(value, `A note of operation ${operation}`);

const NOTE = "SELECT value FROM @operation_note WHERE session = $1 AND operation = $2 AND key = $3";

/** Whether an operation of this name was part of a turn or of another operation. */
export const hasPart = async (tx: Transaction, session: number, operation: string): Promise<boolean> =>
  (await tx.row(NOTE, session, keyText(operation), PART)) !== undefined;

const ADD = `INSERT INTO @operation_note (session, operation, key, value)
  SELECT $1::bigint, operation, $2::text, value FROM unnest($3::text[], $4::text[]) AS added(operation, value)
  ON CONFLICT DO NOTHING`;

/** The first receipt of a name stays. */
export function keepParts(tx: Transaction, session: number, parts: readonly PartOperation[]): void {
  if (parts.length === 0) return;
  const names = parts.map(({ operation }) => keyText(operation));
  const receipts = parts.map(({ receipt }) => JSON.stringify(receipt));
  tx.queue(ADD, session, PART, names, receipts);
}

/** Forgets the notes of operations that are applied now. */
export function forgetNotes(tx: Transaction, session: number, ...operations: readonly string[]): void {
  const forget = `DELETE FROM @operation_note WHERE session = $1 AND operation = ANY ($2::text[]) AND key > '${PART}'`;
  if (operations.length > 0) tx.queue(forget, session, operations.map(keyText));
}

/** Reads a note; undefined when there is none. */
export async function operationNote(
  db: Pick<Database | Transaction, "row">,
  id: SessionId,
  operation: string,
  key: string,
): Promise<Json | undefined> {
  const row = await db.row<{ value: string | null }>(
    `SELECT n.value FROM @session s
       LEFT JOIN @operation_note n ON n.session = s.n AND n.operation = $2 AND n.key = $3 WHERE s.id = $1`,
    id,
    keyText(operation),
    noteKey(key),
  );
  if (row === undefined) throw new RuntimeError("session.unknown", { id });
  return row.value === null ? undefined : noteIn(row.value, operation);
}

/** Keeps a note unless it is there, and answers the one that is kept. An operation that was applied keeps none. */
export async function noteOperation(
  tx: Transaction,
  blobs: Blobs,
  id: SessionId,
  operation: string,
  key: string,
  value: Json,
): Promise<Json> {
  const { n: session } = await requireLocked(tx, id);
  const [first, applied] = await Promise.all([
    tx.row<{ value: string }>(NOTE, session, keyText(operation), noteKey(key)),
    operationRow(tx, session, operation),
  ]);
  if (first !== undefined) return noteIn(first.value, operation);
  if (applied !== undefined) return value;
  const text = JSON.stringify(value);
  await blobs.keepNamed(tx, () => text);
  tx.queue(ADD, session, noteKey(key), [keyText(operation)], [text]);
  return value;
}
