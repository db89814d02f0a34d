import type { PendingInput, Withdrawal } from "../store.ts";
import type { SessionRow, TurnRow } from "./rows.ts";

/** The queue of a session: inputs that wait, in the order of acceptance. */

/** The queue that all sessions begin with. They share it, so it is frozen: the first input that waits replaces it. */
export const NOBODY = Object.freeze([]) as never as TurnRow[];

export function addToQueue(session: SessionRow, row: TurnRow): void {
  if (session.waiting.length === 0) session.waiting = [row];
  else session.waiting.push(row);
}

export function removeFromQueue(session: SessionRow, row: TurnRow): void {
  session.waiting.splice(session.waiting.indexOf(row), 1);
}

/** Withdraws an input that waits; for any other it answers what became of it. */
export function withdraw(session: SessionRow, row: TurnRow): Withdrawal {
  const { inputId, id: turnId } = row;
  if (row.state === "taken") return { inputId, turnId, answer: row.end === undefined ? "taken" : "ended" };
  if (row.state === "waiting") removeFromQueue(session, row);
  row.state = "withdrawn";
  row.input = undefined;
  return { inputId, turnId, answer: "withdrawn" };
}

export function takeForBoundary(session: SessionRow, max: number): readonly TurnRow[] {
  return take(session, max, isForBoundary);
}

/** Takes inputs in order, whatever their place, up to the first that wants something of the turn it would open. */
export function takeInOrder(session: SessionRow, max: number): readonly TurnRow[] {
  const end = session.waiting.findIndex((row) => isOthers(row) && row.input?.wants !== undefined);
  return take(session, max, (row, index) => isOthers(row) && (end < 0 || index < end));
}

function take(
  session: SessionRow,
  max: number,
  isWanted: (row: TurnRow, index: number) => boolean,
): readonly TurnRow[] {
  if (!session.waiting.some(isWanted)) return []; // Mostly: the queue of a busy session is not copied for nothing.
  const taken: TurnRow[] = [];
  const left: TurnRow[] = [];
  for (const [index, row] of session.waiting.entries())
    (taken.length < max && isWanted(row, index) ? taken : left).push(row);
  for (const row of taken) row.state = "taken";
  session.waiting = left;
  return taken;
}

export function giveBack(session: SessionRow, rows: readonly TurnRow[]): void {
  if (rows.length === 0) return;
  for (const row of rows) row.state = "waiting";
  session.waiting = [...rows, ...session.waiting].sort((a, b) => a.seq - b.seq);
}

/** The input as callers see it. It must not be dropped yet. */
export const shown = (row: TurnRow): PendingInput => ({ ...row.input!, seq: row.seq });

/** Whether another turn may take this input. A cancelled one must open its own turn, which is told of the cancel. */
const isOthers = (row: TurnRow): boolean => row.cancel === undefined;
const isForBoundary = (row: TurnRow): boolean => isOthers(row) && row.input?.place === "boundary";
