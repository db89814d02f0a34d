import type { WaitId } from "../../model/ids.ts";
import { SESSION, type SessionRow } from "../tables.ts";
import type { Port } from "./port.ts";

/** Earlier than every clock. */
const AT_ONCE = 0;

/** Makes a parked turn due because mail arrived. With `wait`, only if the turn still waits for it. */
export function wakeTurn(db: Port, session: SessionRow, turn: number, wait?: WaitId): void {
  if (session.wake === null || session.turn !== turn) return;
  if (wait === undefined || session.parked?.includes(wait)) db.update(SESSION, session, { wake: AT_ONCE });
}
