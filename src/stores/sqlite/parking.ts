import { waitIdOf } from "../../model/wait.ts";
import { leaseLost } from "../rows/faults.ts";
import type { Lease, ParkAnswer, ParkedTurn } from "../store.ts";
import type { Connection } from "./connection.ts";
import { requestOf } from "./endings.ts";
import type { Journals } from "./journal.ts";
import { keepParked, type ParkedRow, parkedRow, waitsOf } from "./parked-row.ts";
import { type SessionRow, type Sessions, sealOf } from "./sessions.ts";
import { isAnswered, isOver, openWaits } from "./waits.ts";

/**
 * Parking: a turn that only waits gives up its lease.
 *
 * 1. A turn is parked in the write that finds no mail for it; whoever brings mail later finds it parked in the write that
 *    brings it, and makes it due (`wake`). So mail is never left lying.
 * 2. A parked turn's generation is one that no lease has: it fences the one who parked, and the next lease is given it.
 * 3. Turns that are waited for end without knowing who waits: those are asked each time somebody looks.
 */

type Held = Pick<SessionRow, "n" | "id" | "revision" | "generation" | "turn" | "owner" | "process"> & {
  readonly cancel: string | null;
};
const HELD = `SELECT s.n, s.id, s.revision, s.generation, s.turn, s.owner, s.process, t.cancel
  FROM session s LEFT JOIN turn t ON t.n = s.turn WHERE s.n = ?`;
const LET_GO = "UPDATE session SET generation = ?, seal = ?, own_rows = own_rows + 1 WHERE n = ?";

export function park(
  db: Connection,
  sessions: Sessions,
  journals: Journals,
  lease: Lease,
  { turnId, wakeAt, waits, cancel }: ParkedTurn,
  now: number,
): ParkAnswer {
  const { session: n, turn } = journals.requireRun(lease);
  const session = db.row<Held>(HELD, n);
  if (session?.turn !== turn || lease.turnId !== turnId) throw leaseLost(lease);
  const isRepeat = session.generation === lease.generation + 1 && parkedRow(db, n) !== undefined;
  if (isRepeat) return { kind: "parked" };
  if (session.generation !== lease.generation) throw leaseLost(lease);
  const ids = new Set(waits.map(waitIdOf));
  const request = session.cancel === null ? undefined : requestOf(turn, session.cancel);
  const isCancelled = request !== undefined && request.requestId !== cancel;
  if (isCancelled || openWaits(db, turn).some((wait) => ids.has(wait.id) && isAnswered(db, wait)))
    return { kind: "mail", mail: journals.renew(lease, now) };
  journals.release(lease);
  keepParked(db, { session: n, turn, wake: wakeAt, waits: JSON.stringify([...ids]) });
  const held = { ...session, generation: lease.generation + 1 };
  db.run(LET_GO, held.generation, sealOf(sessions.memo(session).row, held), n);
  return { kind: "parked" };
}

/** Whether somebody should take a parked turn up again (1, 3). */
export const hasMail = (db: Connection, row: ParkedRow, now: number): boolean => row.wake <= now || hasOver(db, row);

function hasOver(db: Connection, row: ParkedRow): boolean {
  const ids = waitsOf(row);
  return openWaits(db, row.turn).some((wait) => ids.has(wait.id) && isOver(db, wait));
}
