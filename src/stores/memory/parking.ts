import type { Agenda, Lease, ParkedTurn } from "../store.ts";
import type { Run, SessionRow } from "./rows.ts";
import { advance } from "./run.ts";
import type { Waits } from "./waits.ts";

/** Turns that gave up their leases, and what is to be done in a store: for them, and for all others. */

/** Gives up the lease at once: a generation that no lease has fences whoever had it. */
export function park(run: Run, { wakeAt, waits }: ParkedTurn): void {
  advance(run);
  run.until = 0;
  run.parked = { wakeAt, waits: new Set(waits), hasMail: false };
}

/** Something came for a turn that is parked, or not. */
export function wake({ parked }: Run): void {
  if (parked !== undefined) parked.hasMail = true;
}

/** Whether the turn was parked under this lease, and nobody took it since. */
export function hasParked(session: SessionRow | undefined, { generation, turnId }: Lease): boolean {
  const run = session?.run;
  return run?.parked !== undefined && run.generation === generation + 1 && run.turn.id === turnId;
}

/** Whether something came that a turn which wants to be parked has not folded. */
export function hasNews(run: Run, parked: ParkedTurn, waits: Waits): boolean {
  const { cancel } = run.turn;
  return (cancel !== undefined && cancel.requestId !== parked.cancel) || waits.isAnswered(run, new Set(parked.waits));
}

/** Whether somebody should take a parked turn up again. */
export const hasMail = (run: Run, waits: Waits, now: number): boolean =>
  run.parked !== undefined && (run.parked.hasMail || run.parked.wakeAt <= now || waits.isOver(run));

/** The work of sessions with an open turn or inputs that wait to open one. */
export function workIn(
  active: Iterable<SessionRow>,
  waits: Waits,
  now: number,
  max: number,
): Pick<Agenda, "sessions" | "next"> {
  const sessions: Agenda["sessions"][number][] = [];
  let next = Infinity;
  for (const { id, run } of active) {
    const isWork = run?.parked === undefined ? run === undefined || run.until <= now : hasMail(run, waits, now);
    if (!isWork) next = Math.min(next, run?.parked?.wakeAt ?? Infinity);
    else if (sessions.length < max) sessions.push(id);
  }
  return next === Infinity ? { sessions } : { sessions, next };
}
