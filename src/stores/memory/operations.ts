import { asInputId, type Cursor } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { addSpent, addUsage, totalOf } from "../../model/usage.ts";
import type { Committed, FoundOperation, PartOperation, SessionChange } from "../store.ts";
import { addToQueue } from "./queue.ts";
import type { AppendRow, OperationRow, Place, SessionRow } from "./rows.ts";

/** What a session knows of operations: those that were applied, those that wait, parts of others, and notes. */

/** What tells a repeat from a conflict. Times are no content: a retry has another clock. */
export const contentOf = ({ sessionId, requires, entries, plugins, config, spent }: SessionChange): string =>
  JSON.stringify({ sessionId, requires, entries, plugins, config, spent }, (key, value) =>
    key === "at" ? undefined : value,
  );

/** Keeps a change for the open turn. */
export function enqueue(session: SessionRow, change: SessionChange, content: string): void {
  const { operation } = change;
  session.accepted += 1;
  const inputId = asInputId(`append/${operation}`);
  const append: AppendRow = { inputId, seq: session.accepted, operation, content, change, state: "waiting" };
  session.appends ??= new Map();
  session.appends.set(operation, append);
  addToQueue(session, append);
}

/** Makes a change, whose nodes lie up to `added`. */
export function keepOperation(
  session: SessionRow,
  change: SessionChange,
  content: string,
  added: Place | undefined,
  cursor: Cursor,
): OperationRow {
  const { operation, by = "command", plugins, config, spent = [], receipt, parts } = change;
  session.head = added ?? session.head;
  if (plugins !== undefined) session.plugins = { ...session.plugins, ...plugins };
  if (config !== undefined) session.config = config;
  session.usage = addUsage(session.usage, totalOf(spent));
  session.ledger = addSpent(session.ledger, spent);
  session.revision += 1;
  const { revision, head } = session;
  const committed: Committed = {
    kind: "committed",
    revision,
    cursor,
    ...(head === undefined ? {} : { head: head.id }),
  };
  const row: OperationRow = { session, operation, by, segment: added?.segment, content, committed, receipt };
  session.operations ??= new Map();
  session.operations.set(operation, row);
  session.notes?.delete(operation);
  if (parts !== undefined) keepParts(session, parts);
  return row;
}

/** The first receipt of a name stays. */
export function keepParts(session: SessionRow, parts: readonly PartOperation[]): void {
  for (const { operation, receipt } of parts) {
    session.notes?.delete(operation);
    if (session.parts?.has(operation)) continue;
    session.parts ??= new Map();
    session.parts.set(operation, receipt);
  }
}

export function findOperation(session: SessionRow | undefined, operation: string): FoundOperation | undefined {
  const done = session?.operations?.get(operation);
  if (done !== undefined) {
    const { committed, receipt } = done;
    return { kind: "done", committed, ...(receipt === undefined ? {} : { receipt }) };
  }
  if (session?.appends?.has(operation)) return { kind: "queued" };
  const receipt = session?.parts?.get(operation);
  return receipt === undefined ? undefined : { kind: "done", receipt };
}

export function noteOperation(
  session: SessionRow,
  operation: string,
  key: string,
  value: Json | undefined,
): Json | undefined {
  const first = session.notes?.get(operation)?.get(key);
  if (first !== undefined || value === undefined) return first;
  if (session.operations?.has(operation)) return value; // Nobody would ever remove it.
  session.notes ??= new Map();
  const notes = session.notes.get(operation) ?? new Map<string, Json>();
  session.notes.set(operation, notes.set(key, value));
  return value;
}
