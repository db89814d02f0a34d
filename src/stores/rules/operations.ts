import type { SessionId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { ChangedBy, Committed, FoundOperation, PartOperation } from "../store.ts";
import { OPERATION, OPERATION_NOTE, type OperationNoteRow, type OperationRow } from "../tables.ts";
import { appendRow } from "./inputs.ts";
import type { Port } from "./port.ts";
import { all, type Read, type Rule } from "./rule.ts";
import { requireSession } from "./sessions.ts";

/** Operations: the receipts of applied ones, and notes of the work of unfinished ones. */

export const operationRow = (db: Port, session: number, operation: string): Read<OperationRow | undefined> =>
  db.get(OPERATION, "name", session, operation);

/** The origin of an operation, and its answer. */
export interface Applied {
  readonly by: ChangedBy;
  /** Omitted in early versions. */
  readonly at?: number;
  readonly committed: Committed;
  readonly receipt?: Json;
}

export const receiptIn = (
  committed: Committed,
  more: { readonly at: number; readonly by: ChangedBy | undefined; readonly receipt: Json | undefined },
): Json => ({ ...committed, ...more }) as unknown as Json;

export function appliedOf({ committed: stored }: OperationRow): Applied {
  const { by = "command", at, receipt, ...committed } = stored as unknown as Committed & Partial<Applied>;
  return {
    by,
    committed: committed as Committed,
    ...(at === undefined ? {} : { at }),
    ...(receipt === undefined ? {} : { receipt }),
  };
}

export function* findOperation(db: Port, id: SessionId, operation: string): Rule<FoundOperation | undefined> {
  const session = yield* db.session(id);
  if (session === undefined) return undefined;
  const [row, queued, part] = yield* all([
    operationRow(db, session.n, operation),
    appendRow(db, operation),
    noteRow(db, session.n, operation, PART),
  ]);
  if (row !== undefined) {
    const { by: _, at: __, ...done } = appliedOf(row);
    return { kind: "done", ...done };
  }
  if (queued?.session === session.n) return { kind: "queued" };
  return part && { kind: "done", receipt: part.value };
}

// ── Notes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * The note key of the receipt of an operation that was part of a turn or of another operation. Keys of real notes are
 * never empty.
 */
const PART = "";
const noteKey = (key: string): string => `/${key}`;

const noteRow = (db: Port, session: number, operation: string, key: string): Read<OperationNoteRow | undefined> =>
  db.get(OPERATION_NOTE, "key", session, operation, key);

/** Returns whether an operation of this name was part of a turn or of another operation. */
export function* hasPart(db: Port, session: number, operation: string): Rule<boolean> {
  return (yield* noteRow(db, session, operation, PART)) !== undefined;
}

/** Stores the receipts of operations that are part of a larger write. The first receipt of a name stays. */
export function* keepParts(db: Port, session: number, parts: readonly PartOperation[]): Rule<void> {
  const before = yield* all(parts.map(({ operation }) => noteRow(db, session, operation, PART)));
  const names = new Set<string>();
  for (const [at, { operation, receipt }] of parts.entries()) {
    if (before[at] === undefined && !names.has(operation))
      db.insert(OPERATION_NOTE, { session, operation, key: PART, value: receipt });
    names.add(operation);
  }
}

/** Removes the notes of operations that are now applied. */
export function* forgetNotes(db: Port, session: number, operations: readonly string[]): Rule<void> {
  const rows = yield* all(operations.map((operation) => db.scan(OPERATION_NOTE, "operation", [session, operation])));
  const seen = new Set<string>();
  for (const [at, operation] of operations.entries())
    if (!seen.has(operation)) {
      seen.add(operation);
      for (const row of rows[at]!) if (row.key !== PART) db.remove(OPERATION_NOTE, row);
    }
}

/** Stores a note unless one exists, and returns the stored one. An applied operation stores none. */
export function* noteOperation(
  db: Port,
  id: SessionId,
  operation: string,
  key: string,
  value: Json | undefined,
): Rule<Json | undefined> {
  const session = yield* requireSession(db, id);
  const [first, applied] = yield* all([
    noteRow(db, session.n, operation, noteKey(key)),
    value === undefined ? undefined : operationRow(db, session.n, operation),
  ]);
  if (first !== undefined) return first.value;
  if (value === undefined || applied !== undefined) return value;
  yield* db.keepNamed(() => JSON.stringify(value));
  db.insert(OPERATION_NOTE, { session: session.n, operation, key: noteKey(key), value });
  return value;
}
