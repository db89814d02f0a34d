import type { FoundTurn } from "../store.ts";
import { type SessionRow, TAKEN, type TurnRow, WAITING } from "../tables.ts";

/** Returns the state of a turn. Without its session, an open turn counts as `taken`. */
export function stateOf(row: TurnRow, session: SessionRow | undefined): FoundTurn["state"] {
  if (row.state !== TAKEN) return row.state === WAITING ? "waiting" : "withdrawn";
  if (row.done !== null || row.endedBy !== null) return "ended";
  if (session?.turn !== row.n) return "taken";
  return session.wake === null ? "open" : "parked";
}
