import type { SessionId } from "../../model/ids.ts";
import { type Lease, SHOWN_MAX, type Shown, type ShownRow, type ShownTurn } from "../store.ts";
import { INJECTED, WAITING } from "../tables.ts";
import type { Connection } from "./connection.ts";

/**
 * Previews of running turns, and who follows them from other processes. None of it has a checksum or is counted,
 * because it may be lost.
 *
 * live-1: Parts are numbered from `generation * PARTS`. Every lease has a new generation, so numbers ascend although
 * parts of earlier runs and turns are gone.
 * live-2: Only parts of the open turn are read. Parts of a turn whose process died are ignored.
 */
const PARTS = 2 ** 22;

const FOLLOW = `INSERT INTO follower SELECT n, ? FROM session WHERE id IN (SELECT value FROM json_each(?))
  ON CONFLICT (session) DO UPDATE SET until = max(until, excluded.until)`;

export function follow(db: Connection, sessions: readonly SessionId[], now: number, forMs: number): void {
  db.run("DELETE FROM follower WHERE until <= ?", now);
  db.run(FOLLOW, now + forMs, JSON.stringify(sessions));
}

/** Whether a session is followed at the time in the only parameter. */
export const IS_FOLLOWED = "EXISTS (SELECT 1 FROM follower f WHERE f.session = session.n AND f.until > ?)";

const NEXT = `SELECT s.n AS session, s.turn,
    max(s.generation * ${PARTS}, coalesce((SELECT max(n) FROM preview WHERE session = s.n), 0)) + 1 AS n
  FROM turn t JOIN session s ON s.n = t.session AND s.turn = t.n WHERE t.id = ? AND s.id = ? AND s.generation = ?
    AND s.owner = ?`;
/** The newest part always stays, however long it is. */
const TRIM = `DELETE FROM preview WHERE session = ? AND n <= (SELECT max(n) FROM (
    SELECT n, row_number() OVER parts AS nth, sum(length(body)) OVER parts AS chars FROM preview WHERE session = ?
    WINDOW parts AS (ORDER BY n DESC))
  WHERE nth > 1 AND (nth > ${SHOWN_MAX.parts} OR chars > ${SHOWN_MAX.chars}))`;

export function show(db: Connection, lease: Lease, shown: Shown): number | undefined {
  const { turnId, sessionId, generation, owner } = lease;
  const next = db.row<{ session: number; turn: number; n: number }>(NEXT, turnId, sessionId, generation, owner.id);
  if (next === undefined) return undefined;
  const { session, turn, n } = next;
  if (shown.part !== "more") db.run("DELETE FROM preview WHERE session = ?", session);
  db.run("INSERT INTO preview VALUES (?, ?, ?, ?)", session, n, turn, JSON.stringify(shown));
  if (shown.part === "more") db.run(TRIM, session, session);
  return n;
}

interface Row {
  readonly has: ShownTurn["has"];
  readonly last: number | null;
  readonly n: number | null;
  readonly body: string | null;
}
const READ = `SELECT CASE WHEN s.turn IS NULL
      THEN iif(EXISTS (SELECT 1 FROM turn t WHERE t.session = s.n AND t.state = ${WAITING} AND t.is_aside < ${INJECTED}), 'turn', 'nothing')
      ELSE iif(EXISTS (SELECT 1 FROM parked k WHERE k.session = s.n), 'parked', 'turn') END AS has,
    (SELECT max(n) FROM preview l WHERE l.session = s.n AND l.turn = s.turn) AS last, p.n, p.body
  FROM session s LEFT JOIN preview p ON p.session = s.n AND p.turn = s.turn AND p.n > ?
  WHERE s.id = ? ORDER BY p.n`;

export function readShown(db: Connection, session: SessionId, after: number): ShownTurn {
  const rows = db.rows<Row>(READ, after, session);
  const [first] = rows;
  if (first === undefined) return { rows: [], has: "nothing" };
  const { has, last } = first;
  return { rows: rows.flatMap(shownIn), has, ...(last === null ? {} : { last }) };
}

/** Skips a part that cannot be read. The gap in the numbers shows that it is missing. */
function shownIn({ n, body }: Row): readonly ShownRow[] {
  if (n === null || body === null) return [];
  try {
    return [{ n, ...(JSON.parse(body) as Shown) }];
  } catch {
    return [];
  }
}
