import { waitIdOf } from "../../model/wait.ts";
import { leaseLost } from "../rows/faults.ts";
import type { Lease, ParkAnswer, ParkedTurn } from "../store.ts";
import { SESSION, type SessionRow } from "../tables.ts";
import { requireLocked } from "./leases.ts";
import type { Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";
import { isAnswered, isOver, openWaits } from "./waits.ts";

/**
 * Parking: a turn that only waits releases its lease.
 *
 * parking-1: A turn parks in the write that finds no mail for it. A write that brings mail later finds it parked and
 * makes it due (`wake`). Both lock the session, so mail is never missed.
 * parking-2: Parking raises the generation. No lease has the new generation until the turn resumes, so the process that
 * parked the turn can no longer write.
 * parking-3: A turn that ends does not search for the turns that wait for it. `hasMail` reads that each time.
 */

/** Returns undefined if mail came first: the lease is kept, and the caller reads its mail. */
export function* park(db: Port, lease: Lease, parked: ParkedTurn): Rule<ParkAnswer | undefined> {
  const { turnId, wakeAt, waits, cancel } = parked;
  const { session, turn } = yield* requireLocked(db, lease);
  if (session.turn !== turn.n || lease.turnId !== turnId) throw leaseLost(lease);
  const isRepeat = session.generation === lease.generation + 1 && session.wake !== null;
  if (isRepeat) return { kind: "parked" };
  if (session.generation !== lease.generation || session.owner !== lease.owner.id) throw leaseLost(lease);
  if (turn.cancel !== null && turn.cancel.requestId !== cancel) return undefined;
  const ids = new Set(waits.map(waitIdOf));
  const open = (yield* openWaits(db, turn.n)).filter(({ id }) => ids.has(id));
  const answered = yield* all(open.map((row) => isAnswered(db, row)));
  if (answered.includes(true)) return undefined;
  // Only waits of this turn: an answer to another wait must not wake it.
  const own = open.map(({ id }) => id);
  db.update(SESSION, session, { generation: lease.generation + 1, until: 0, wake: wakeAt, parked: own });
  return { kind: "parked" };
}

/** Returns whether a process should resume a parked turn (parking-1, parking-3). */
export function* hasMail(db: Port, session: SessionRow, now: number): Rule<boolean> {
  if (session.wake! <= now) return true;
  const open = (yield* openWaits(db, session.turn!)).filter(({ id }) => session.parked?.includes(id));
  return (yield* all(open.map((row) => isOver(db, row)))).includes(true);
}
