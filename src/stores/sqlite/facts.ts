import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Change } from "../store.ts";
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

export const latestFact = (db: Connection): number =>
  db.row<{ latest: number }>(`SELECT ${LATEST_FACT} AS latest`)!.latest;

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

interface ChangeRow {
  readonly fact: number;
  readonly kind: Change["kind"];
  readonly turn: TurnId;
  readonly session: SessionId;
}

export function changes(
  db: Connection,
  after: Cursor | undefined,
  { session, max }: { readonly session?: SessionId; readonly max: number },
): readonly Change[] {
  const last = after === undefined ? 0 : requireFact(db, after);
  const found =
    session === undefined
      ? db.rows<ChangeRow>(
          `SELECT f.fact, f.kind, f.turn, s.id AS session FROM (
             SELECT * FROM (SELECT n AS fact, 'accepted' AS kind, id AS turn, session FROM turn
               WHERE n > ? ORDER BY n LIMIT ?)
             UNION ALL
             SELECT * FROM (SELECT done AS fact, 'committed' AS kind, id AS turn, session FROM turn
               WHERE done > ? ORDER BY done LIMIT ?)
           ) f JOIN session s ON s.n = f.session ORDER BY f.fact LIMIT ?`,
          last,
          limit(max),
          last,
          limit(max),
          limit(max),
        )
      : db.rows<ChangeRow>(
          `SELECT f.fact, f.kind, f.turn, s.id AS session FROM session s JOIN (
             SELECT n AS fact, 'accepted' AS kind, id AS turn, session FROM turn
             UNION ALL
             SELECT done AS fact, 'committed' AS kind, id AS turn, session FROM turn WHERE done IS NOT NULL
           ) f ON f.session = s.n WHERE s.id = ? AND f.fact > ? ORDER BY f.fact LIMIT ?`,
          session,
          last,
          limit(max),
        );
  return found.map(({ fact, kind, turn, session }) => ({
    cursor: cursorOf(fact),
    sessionId: session,
    kind,
    turnId: turn,
  }));
}

function requireFact(db: Connection, cursor: Cursor): number {
  const fact = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (fact === 0 || fact > latestFact(db)) throw new RuntimeError("cursor.unknown", { cursor });
  return fact;
}

/** No limit is -1 to SQLite. */
export const limit = (max: number): number => (max === Infinity ? -1 : max);
