import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import type { Transaction } from "./database.ts";

/** The row of a session: what is locked before anything of the session is written. */
export interface SessionRow {
  readonly n: number;
  readonly id: SessionId;
  readonly revision: number;
  readonly turns: number;
  readonly head: number | null;
  readonly head_index: number | null;
  /** Encoded, as JSON. */
  readonly usage: string;
  readonly generation: number;
  /** The open turn. */
  readonly turn: number | null;
  readonly owner: string | null;
  readonly process: string | null;
  readonly until: number;
  readonly length: number;
  readonly waiting: number;
  readonly has_more: boolean;
  readonly is_cancelled: boolean;
  /** Until when somebody elsewhere follows the session live. */
  readonly followed: number;
  /** How often its options were set. */
  readonly optioned: number;
  readonly wake: number | null;
  readonly parked: string | null;
}

const LOCK = "SELECT * FROM @session WHERE id = $1 FOR UPDATE";
const LOCK_NUMBER = "SELECT * FROM @session WHERE n = $1 FOR UPDATE";

/** Locks a session to the end of the transaction. What is read in later statements holds until then. */
export const lockSession = (tx: Transaction, id: SessionId): Promise<SessionRow | undefined> => tx.row(LOCK, id);

export const lockNumber = (tx: Transaction, n: number): Promise<SessionRow | undefined> => tx.row(LOCK_NUMBER, n);

export async function requireLocked(tx: Transaction, id: SessionId): Promise<SessionRow> {
  const row = await lockSession(tx, id);
  if (row === undefined) throw new RuntimeError("session.unknown", { id });
  return row;
}
