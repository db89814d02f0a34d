import type { PendingInput, Withdrawal } from "../store.ts";
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

/** Only one that waits is withdrawn; of the others it is told what became of them. */
export function withdraw(session: SessionRow, row: TurnRow): Withdrawal {
  const { inputId, id: turnId } = row;
  if (row.state === "taken") return { inputId, turnId, answer: row.end === undefined ? "taken" : "ended" };
  if (row.state === "waiting") removeFromQueue(session, row);
  row.state = "withdrawn";
  row.input = undefined;
  return { inputId, turnId, answer: "withdrawn" };
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

/** In order, whatever their place, up to the first that wants something of the turn it would open. */
export function takeInOrder(session: SessionRow, max: number): readonly TurnRow[] {
  const end = session.waiting.findIndex((row, index) => index >= max || row.input?.wants !== undefined);
  const taken = session.waiting.splice(0, end < 0 ? session.waiting.length : end);
  for (const row of taken) row.state = "taken";
  session.boundaryInputs -= taken.filter(isForBoundary).length;
  return taken;
}

export function giveBack(session: SessionRow, rows: readonly TurnRow[]): void {
  if (rows.length === 0) return;
  for (const row of rows) row.state = "waiting";
  session.waiting = [...rows, ...session.waiting].sort((a, b) => a.seq - b.seq);
  session.boundaryInputs += rows.filter(isForBoundary).length;
}

/** As others may see it: a row of an input that is not dropped yet. */
export const shown = (row: TurnRow): PendingInput => ({ ...row.input!, seq: row.seq });

const isForBoundary = (row: TurnRow): boolean => row.input?.place === "boundary";
