import type { WaitId } from "../../model/ids.ts";
import { requireFit, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/** A turn that is parked has a row here. Whoever has mail for it makes it due in the same write. */
export interface ParkedRow {
  readonly session: number;
  readonly turn: number;
  /** When it has mail by itself; `NOW` when something has come for it. */
  readonly wake: number;
  /** The ids of the waits whose answers wake it, as JSON. */
  readonly waits: string;
  readonly seal: number;
}
/** Before any time at which somebody looks. */
const NOW = 0;

const columnsOf = ({ session, turn, wake, waits }: Omit<ParkedRow, "seal">) => [session, turn, wake, waits];

export function requireParked(row: ParkedRow): ParkedRow {
  requireFit(row.seal, columnsOf(row), `The parking of turn ${row.turn}`);
  return row;
}

export function parkedRow(db: Connection, session: number): ParkedRow | undefined {
  const row = db.row<ParkedRow>("SELECT * FROM parked WHERE session = ?", session);
  return row && requireParked(row);
}

export function keepParked(db: Connection, row: Omit<ParkedRow, "seal">): void {
  const { session, turn, wake, waits } = row;
  db.run("REPLACE INTO parked VALUES (?, ?, ?, ?, ?)", session, turn, wake, waits, sumOf(columnsOf(row)));
}

export const forgetParked = (db: Connection, session: number): number =>
  db.run("DELETE FROM parked WHERE session = ?", session);

export const waitsOf = ({ waits }: Pick<ParkedRow, "waits">): ReadonlySet<WaitId> =>
  new Set(JSON.parse(waits) as WaitId[]);

/** Something came for a turn: if it is parked, and with `wait` only if it still waits for that, it is due. */
export function wake(db: Connection, session: number, turn: number, wait?: WaitId): void {
  const row = parkedRow(db, session);
  if (row?.turn !== turn || (wait !== undefined && !waitsOf(row).has(wait))) return;
  keepParked(db, { ...row, wake: NOW });
}
