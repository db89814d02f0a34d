import type { SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { keyText } from "../rows/codec.ts";
import type { ChangedBy, Committed, FoundOperation, PartOperation } from "../store.ts";
import { appendRow } from "./appends.ts";
import type { Blobs } from "./blobs.ts";
import { seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { countRows } from "./own-rows.ts";
import type { Sessions } from "./sessions.ts";

/** What is kept of operations: their receipts, and until then notes of the work they take. */

export interface OperationRow {
  readonly n: number;
  readonly session: number;
  readonly name: string;
  /** Of the content: it tells a repeat from a conflict. */
  readonly hash: string;
  readonly committed: string;
}
const seedOf = ({ n, session, name, hash }: Omit<OperationRow, "committed">): number => sumOf([n, session, name, hash]);

export const operationRow = (db: Connection, session: number, operation: string): OperationRow | undefined =>
  db.row("SELECT * FROM operation WHERE session = ? AND name = ?", session, keyText(operation));

/** What made an operation, and what was answered. */
export interface Applied {
  readonly by: ChangedBy;
  readonly committed: Committed;
  readonly receipt?: Json;
}

export function addOperation(
  db: Connection,
  row: Omit<OperationRow, "committed">,
  committed: Committed,
  more: { readonly by: ChangedBy | undefined; readonly receipt: Json | undefined },
): void {
  const text = seal({ ...committed, ...more }, seedOf(row));
  db.run("INSERT INTO operation VALUES (?, ?, ?, ?, ?)", row.n, row.session, row.name, row.hash, text);
}

export function appliedOf(row: OperationRow): Applied {
  const item = `The receipt of operation ${row.name}`;
  const kept = unseal<Committed & Partial<Applied>>(row.committed, seedOf(row), item, row.n);
  const { by = "command", receipt, ...committed } = kept;
  return { by, committed, ...(receipt === undefined ? {} : { receipt }) };
}

export function findOperation(
  db: Connection,
  sessions: Sessions,
  id: SessionId,
  operation: string,
): FoundOperation | undefined {
  const session = sessions.find(id)?.n;
  if (session === undefined) return undefined;
  const row = operationRow(db, session, operation);
  if (row !== undefined) {
    const { by: _, ...done } = appliedOf(row);
    return { kind: "done", ...done };
  }
  if (appendRow(db, operation)?.session === session) return { kind: "queued" };
  const part = noteRow(db, session, operation, PART);
  return part && { kind: "done", receipt: operationNoteIn(part) };
}

export interface OperationNoteRow {
  readonly session: number;
  readonly operation: string;
  readonly key: string;
  readonly value: string;
}
/** The key of a receipt of an operation that was part of something else. Those of notes are never empty. */
const PART = "";
const noteKey = (key: string): string => keyText(`/${key}`);

const noteRow = (db: Connection, session: number, operation: string, key: string): OperationNoteRow | undefined =>
  db.row(
    "SELECT * FROM operation_note WHERE session = ? AND operation = ? AND key = ?",
    session,
    keyText(operation),
    key,
  );

/** Whether an operation of this name was part of a turn or of another operation. */
export const hasPart = (db: Connection, session: number, operation: string): boolean =>
  noteRow(db, session, operation, PART) !== undefined;

export const operationNoteIn = ({ session, operation, key, value }: OperationNoteRow): Json =>
  unseal(value, sumOf([session, operation, key]), `A note of operation ${operation}`);

/** Keeps a value unless there is one, and answers how many rows the session has more. */
function addNote(db: Connection, session: number, operation: string, key: string, value: Json): number {
  const name = keyText(operation);
  const text = seal(value, sumOf([session, name, key]));
  return db.run("INSERT INTO operation_note VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", session, name, key, text);
}

/** The first receipt of a name stays. */
export function keepParts(db: Connection, session: number, parts: readonly PartOperation[]): number {
  let rows = 0;
  for (const { operation, receipt } of parts) rows += addNote(db, session, operation, PART, receipt);
  return rows;
}

/** Forgets the notes of an operation that is applied now. */
export const forgetNotes = (db: Connection, session: number, operation: string): number =>
  -db.run("DELETE FROM operation_note WHERE session = ? AND operation = ? AND key > ''", session, keyText(operation));

/** Keeps a note unless it is there, and answers the one that is kept. An operation that was applied keeps none. */
export function noteOperation(
  db: Connection,
  sessions: Sessions,
  blobs: Blobs,
  id: SessionId,
  operation: string,
  key: string,
  value: Json | undefined,
): Json | undefined {
  const session = sessions.require(id).n;
  const first = noteRow(db, session, operation, noteKey(key));
  if (first !== undefined) return operationNoteIn(first);
  if (value === undefined || operationRow(db, session, operation) !== undefined) return value;
  blobs.keepNamed(() => JSON.stringify(value));
  countRows(db, session, addNote(db, session, operation, noteKey(key), value));
  return value;
}
