import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor } from "../../model/ids.ts";
import type { Connection } from "./connection.ts";

/**
 * What happened, in one order over all sessions. Numbers are given out under the write lock, so they become visible in
 * their order; those of deleted sessions are not given out again, which `floor` sees to.
 */
export const LATEST_FACT = `max(
  coalesce((SELECT max(n) FROM turn), 0),
  coalesce((SELECT max(done) FROM turn WHERE done IS NOT NULL), 0),
  coalesce((SELECT max(n) FROM operation), 0),
  (SELECT floor FROM meta))`;

const LATEST = `SELECT ${LATEST_FACT} AS latest`;

export const latestFact = (db: Connection): number => db.row<{ latest: number }>(LATEST)!.latest;

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

export function requireFact(db: Connection, cursor: Cursor): number {
  const fact = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (fact === 0 || fact > latestFact(db)) throw new RuntimeError("cursor.unknown", { cursor });
  return fact;
}

/** No limit is -1 to SQLite. */
export const limit = (max: number): number => (max === Infinity ? -1 : max);
