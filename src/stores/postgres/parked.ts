import type { WaitId } from "../../model/ids.ts";
import type { Transaction } from "./database.ts";
import type { SessionRow } from "./session-row.ts";
import { parsed } from "./text.ts";

/** A parked turn, as the row of its session tells of it. */

/** Something came for a turn: if it is parked, and with `wait` only if it still waits for that, it is due. */
export function wake(tx: Transaction, session: SessionRow, turn: number, wait?: WaitId): void {
  if (session.wake === null || session.turn !== turn) return;
  if (wait !== undefined && !parkedWaits(session).has(wait)) return;
  tx.queue("UPDATE @session SET wake = 0 WHERE n = $1", session.n);
}

/** The ids of the waits whose answers wake a parked turn. */
export const parkedWaits = ({ id, parked }: Pick<SessionRow, "id" | "parked">): ReadonlySet<WaitId> =>
  new Set(parked === null ? [] : parsed<WaitId[]>(parked, `The parking of session ${id}`));
