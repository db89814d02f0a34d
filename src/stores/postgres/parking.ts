import { waitIdOf } from "../../model/wait.ts";
import { leaseLost } from "../rows/faults.ts";
import type { Lease, ParkAnswer, ParkedTurn } from "../store.ts";
import type { Transaction } from "./database.ts";
import { requestOf, type TurnRow } from "./endings.ts";
import { isHeldBy, type Journals } from "./journal.ts";
import { parkedWaits } from "./parked.ts";
import { lockNumber, type SessionRow } from "./session-row.ts";
import { isAnswered, isOver, openWaits } from "./waits.ts";

/**
 * Parking: a turn that only waits gives up its lease.
 *
 * 1. A turn is parked in the write that finds no mail for it; whoever brings mail later finds it parked in the write that
 *    brings it, and makes it due (`wake`). Both hold the session's row. So mail is never left lying.
 * 2. A parked turn's generation is one that no lease has: it fences the one who parked, and the next lease is given it.
 * 3. Turns that are waited for end without knowing who waits: those are asked each time somebody looks.
 */
const PARK = `UPDATE @session SET generation = generation + 1, until = 0, wake = $2, parked = $3 WHERE n = $1`;

/** Undefined when something came first, and nothing was released. */
export async function park(
  tx: Transaction,
  journals: Journals,
  lease: Lease,
  { turnId, wakeAt, waits, cancel }: ParkedTurn,
): Promise<ParkAnswer | undefined> {
  const run = await journals.requireRun(tx, lease);
  const session = await lockNumber(tx, run.session);
  if (session?.turn !== run.turn || lease.turnId !== turnId) throw leaseLost(lease);
  if (session.generation === lease.generation + 1 && session.wake !== null) return { kind: "parked" }; // Again.
  if (!isHeldBy(session, lease)) throw leaseLost(lease);
  const ids = new Set(waits.map(waitIdOf));
  const cancelled = "SELECT id, cancel FROM @turn WHERE n = $1 AND cancel IS NOT NULL";
  const request = await tx.row<Pick<TurnRow, "id" | "cancel">>(cancelled, run.turn);
  if (request !== undefined && requestOf(request).requestId !== cancel) return undefined;
  for (const wait of await openWaits(tx, run.turn))
    if (ids.has(wait.id) && (await isAnswered(tx, wait))) return undefined;
  tx.queue(PARK, session.n, wakeAt, JSON.stringify([...ids]));
  return { kind: "parked" };
}

/** Whether somebody should take a parked turn up again (1, 3). */
export async function hasMail(
  tx: Transaction,
  session: Pick<SessionRow, "id" | "turn" | "wake" | "parked">,
  now: number,
): Promise<boolean> {
  if (session.wake! <= now) return true;
  const ids = parkedWaits(session);
  for (const wait of await openWaits(tx, session.turn!)) if (ids.has(wait.id) && (await isOver(tx, wait))) return true;
  return false;
}
