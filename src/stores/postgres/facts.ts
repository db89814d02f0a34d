import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor } from "../../model/ids.ts";
import type { Database, Transaction } from "./database.ts";

/** Facts are numbered in one order over all sessions, and become visible in that order (see `counter` in the schema). */
export const ACCEPTED = 0;
export const ENDED = 1;
export const APPLIED = 2;
export const ASKED = 3;
export const ANSWERED = 4;
export type FactKind = typeof ACCEPTED | typeof ENDED | typeof APPLIED | typeof ASKED | typeof ANSWERED;

/** Takes the next number of a counter, as a part of a statement. It is the last lock that a transaction takes. */
export const NEXT_FACT = "UPDATE @counter SET value = value + 1 WHERE name = 'fact'";

const ADD = `WITH f AS (${NEXT_FACT} RETURNING value)
  INSERT INTO @fact SELECT value, $1, $2, $3 FROM f RETURNING n`;

/** Tells a fact, and answers its number. `of` is the row that tells more: see the table `fact`. */
export async function addFact(tx: Transaction, session: number, kind: FactKind, of: number): Promise<number> {
  return (await tx.row<{ n: number }>(ADD, session, kind, of))!.n;
}

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

export const LATEST = "SELECT value AS latest FROM @counter WHERE name = 'fact'";

export const latestFact = async (db: Database | Transaction): Promise<number> =>
  (await db.row<{ latest: number }>(LATEST))!.latest;

export async function requireFact(tx: Transaction, cursor: Cursor): Promise<number> {
  const fact = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (fact === 0 || fact > (await latestFact(tx))) throw new RuntimeError("cursor.unknown", { cursor });
  return fact;
}

/** No limit is written as null. */
export const limit = (max: number): number | null => (max === Infinity ? null : max);
