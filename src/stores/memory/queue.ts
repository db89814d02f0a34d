import type { PendingAppend, PendingInput, Withdrawal } from "../store.ts";
import type { AppendRow, SessionRow, TurnRow, WaitingRow } from "./rows.ts";

/** The queue of a session: inputs that wait, and appends, in the order in which they came. */

/** The queue that all sessions begin with. They share it, so it is frozen: the first input that waits replaces it. */
export const NOBODY = Object.freeze([]) as never as WaitingRow[];

export function addToQueue(session: SessionRow, row: WaitingRow): void {
  if (session.waiting.length === 0) session.waiting = [row];
  else session.waiting.push(row);
}

export function removeFromQueue(session: SessionRow, row: TurnRow): void {
  session.waiting.splice(session.waiting.indexOf(row), 1);
}

/** The oldest input that waits to open a turn. */
export function nextOf({ waiting }: SessionRow): TurnRow | undefined {
  const next = waiting[0];
  return next === undefined || opensTurn(next) ? next : waiting.find(opensTurn);
}

export const hasInjected = ({ waiting }: SessionRow): boolean =>
  waiting.length > 0 && waiting.some((row) => isInput(row) && row.isInjected);

/** Removes the appends that wait, and answers them in their order. */
export function takeAppends(session: SessionRow): readonly AppendRow[] {
  const appends = session.waiting.filter((row): row is AppendRow => !isInput(row));
  for (const { operation } of appends) session.appends?.delete(operation);
  if (appends.length > 0) session.waiting = session.waiting.filter(isInput);
  return appends;
}

/** Withdraws an input that waits; for any other it answers what became of it. */
export function withdraw(session: SessionRow, row: TurnRow): Withdrawal {
  const { inputId } = row;
  const turn = row.isInjected ? {} : { turnId: row.id };
  if (row.state === "taken") return { inputId, ...turn, answer: row.end === undefined ? "taken" : "ended" };
  if (row.state === "waiting") removeFromQueue(session, row);
  row.state = "withdrawn";
  row.input = undefined;
  return { inputId, ...turn, answer: "withdrawn" };
}

export function takeForBoundary(session: SessionRow, max: number, isAppends: boolean): readonly WaitingRow[] {
  return take(session, max, isAppends ? (row) => !isInput(row) : isForBoundary);
}

/** Takes inputs in order, whatever their place, up to the first that wants something of the turn it would open. */
export function takeInOrder(session: SessionRow, max: number): readonly WaitingRow[] {
  const end = session.waiting.findIndex((row) => isInput(row) && isOthers(row) && row.input?.wants !== undefined);
  return take(session, max, (row, index) => isOthers(row) && (end < 0 || index < end));
}

function take(
  session: SessionRow,
  max: number,
  isWanted: (row: WaitingRow, index: number) => boolean,
): readonly WaitingRow[] {
  if (!session.waiting.some(isWanted)) return []; // Mostly: the queue of a busy session is not copied for nothing.
  const taken: WaitingRow[] = [];
  const left: WaitingRow[] = [];
  for (const [index, row] of session.waiting.entries())
    (taken.length < max && isWanted(row, index) ? taken : left).push(row);
  for (const row of taken) row.state = "taken";
  session.waiting = left;
  return taken;
}

export function giveBack(session: SessionRow, rows: readonly WaitingRow[]): void {
  if (rows.length === 0) return;
  for (const row of rows) row.state = "waiting";
  session.waiting = [...rows, ...session.waiting].sort((a, b) => a.seq - b.seq);
}

/** The input as callers see it. It must not be dropped yet. */
export const shown = (row: TurnRow): PendingInput => ({ ...row.input!, seq: row.seq });

export const shownAny = (row: WaitingRow): PendingInput | PendingAppend => {
  if (isInput(row)) return shown(row);
  const { inputId: id, operation, seq, change } = row;
  const spent = change?.spent === undefined ? {} : { spent: change.spent };
  return { id, operation, entries: change?.entries ?? [], ...spent, seq };
};

export const isInput = (row: WaitingRow): row is TurnRow => "hash" in row;
const opensTurn = (row: WaitingRow): row is TurnRow => isInput(row) && !row.isInjected;
/** Whether another turn may take this. A cancelled input must open its own turn, which is told of the cancel. */
const isOthers = (row: WaitingRow): boolean => !isInput(row) || row.cancel === undefined;
const isForBoundary = (row: WaitingRow): boolean => isOthers(row) && !(isInput(row) && row.input?.place === "turn");
