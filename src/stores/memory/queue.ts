import type { PendingInput } from "../store.ts";
import type { SessionRow, TurnRow } from "./rows.ts";

/** The inputs of one session that wait, in the order they were accepted. */

export function enqueue(session: SessionRow, row: TurnRow): void {
  session.waiting.push(row);
  if (isForBoundary(row)) session.boundaryInputs += 1;
}

export function removeFromQueue(session: SessionRow, row: TurnRow): void {
  session.waiting.splice(session.waiting.indexOf(row), 1);
  if (isForBoundary(row)) session.boundaryInputs -= 1;
}

export function takeForBoundary(session: SessionRow, max: number): readonly TurnRow[] {
  const taken: TurnRow[] = [];
  const left: TurnRow[] = [];
  for (const row of session.waiting) (taken.length < max && isForBoundary(row) ? taken : left).push(row);
  for (const row of taken) row.state = "taken";
  session.waiting = left;
  session.boundaryInputs -= taken.length;
  return taken;
}

export function giveBack(session: SessionRow, rows: readonly TurnRow[]): void {
  if (rows.length === 0) return;
  for (const row of rows) row.state = "waiting";
  session.waiting = [...rows, ...session.waiting].sort((a, b) => a.seq - b.seq);
  session.boundaryInputs += rows.length;
}

/** As others may see it: a row of an input that is not dropped yet. */
export const shown = (row: TurnRow): PendingInput => ({ ...row.input!, seq: row.seq });

const isForBoundary = (row: TurnRow): boolean => row.input?.place === "boundary";
