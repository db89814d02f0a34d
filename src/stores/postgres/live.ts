import type { SessionId } from "../../model/ids.ts";
import { type Lease, SHOWN_MAX, type Shown, type ShownRow, type ShownTurn } from "../store.ts";
import { clock, type Database } from "./database.ts";
import { payloadOf } from "./hints.ts";
import type { Run } from "./runs.ts";

/**
 * Previews of running turns, and how long another process follows them. All of it may be lost.
 *
 * live-1: Parts are numbered from `generation * PARTS`. Every lease has a new generation, so numbers ascend although
 * parts of earlier runs and turns are gone.
 * live-2: A part contains the number of its turn. Only parts of the open turn are read. Leftovers of a turn are removed
 * with the first part of the next one.
 */
const PARTS = 2 ** 22;

// A follow that is still valid for at least half of its time is not written again, because every append writes the same
// row. Rows are locked in order. The hint notifies the process that runs the turn; it sees later followers in its mail.
const FOLLOW = `WITH asked AS (SELECT * FROM unnest($1::text[], $4::text[]) AS a(id, hint)),
  was AS (SELECT s.n, s.followed, a.hint FROM @session s JOIN asked a ON a.id = s.id
    WHERE s.followed < ${clock(2)} + $3 / 2 ORDER BY s.n FOR NO KEY UPDATE OF s),
  f AS (UPDATE @session s SET followed = ${clock(2)} + $3 FROM was WHERE s.n = was.n)
  SELECT pg_notify($5, hint) FROM was WHERE followed <= ${clock(2)}`;

export async function follow(db: Database, sessions: readonly SessionId[], now: number, forMs: number): Promise<void> {
  if (sessions.length === 0) return;
  const hints = sessions.map((sessionId) => payloadOf({ kind: "session", sessionId, what: "followed" }));
  await db.rows(FOLLOW, sessions, db.time(now), forMs, hints, db.channel);
}

// The row lock keeps the lease valid until the part is written. The newest part always stays, however long it is.
const SHOW = `WITH s AS (SELECT n, generation FROM @session
    WHERE n = $1 AND turn = $2 AND generation = $3 AND owner = $8 FOR SHARE),
  old AS (SELECT p.n, row_number() OVER parts AS nth, sum(length(p.body)) OVER parts AS chars
    FROM @preview p WHERE p.session = $1 WINDOW parts AS (ORDER BY p.n DESC)),
  d AS (DELETE FROM @preview p USING s, old WHERE p.session = s.n AND p.n = old.n
    AND ($4 OR old.nth >= ${SHOWN_MAX.parts} OR old.chars + length($5) > ${SHOWN_MAX.chars}))
  INSERT INTO @preview SELECT s.n, greatest(s.generation * ${PARTS}, (SELECT max(n) FROM old)) + 1, $5 FROM s
  RETURNING n, pg_notify($6, $7)`;

/** Returns undefined if the lease is lost. */
export async function show(
  db: Database,
  { session, turn }: Run,
  { sessionId, generation, owner }: Lease,
  shown: Shown,
): Promise<number | undefined> {
  const body = `${turn} ${JSON.stringify(shown)}`;
  const hint = payloadOf({ kind: "session", sessionId, what: "preview" });
  const startsAnew = shown.part !== "more";
  const values = [session, turn, generation, startsAnew, body, db.channel, hint, owner.id];
  // No retry: a part whose answer was lost would be shown twice. The caller starts again after a failure.
  const [row] = await db.patiently(0, (client) => db.send<{ n: number }>(client, SHOW, values));
  return row?.n;
}

interface Row {
  readonly has: ShownTurn["has"];
  readonly last: number | null;
  readonly n: number | null;
  readonly body: string | null;
}
const isOfTurn = (row: string): string => `${row}.session = s.n AND starts_with(left(${row}.body, 24), s.turn || ' ')`;
const READ = `SELECT CASE WHEN s.wake IS NOT NULL THEN 'parked' WHEN s.turn IS NOT NULL OR s.waiting > 0 AND EXISTS (
      SELECT 1 FROM @turn t WHERE t.session = s.n AND t.state = 0 AND t.aside < 2) THEN 'turn' ELSE 'nothing' END AS has,
    l.n AS last, p.n, p.body
  FROM @session s
    LEFT JOIN LATERAL (SELECT l.n FROM @preview l WHERE ${isOfTurn("l")} ORDER BY l.n DESC LIMIT 1) l ON true
    LEFT JOIN @preview p ON p.n > $2 AND ${isOfTurn("p")}
  WHERE s.id = $1 ORDER BY p.n`;

export async function readLive(db: Database, session: SessionId, after: number): Promise<ShownTurn> {
  const rows = await db.rows<Row>(READ, session, after);
  const [first] = rows;
  if (first === undefined) return { rows: [], has: "nothing" };
  const { has, last } = first;
  return { rows: rows.flatMap(shownIn), has, ...(last === null ? {} : { last }) };
}

/** Skips a part that cannot be read. The gap in the numbers shows that it is missing. */
function shownIn({ n, body }: Row): readonly ShownRow[] {
  if (n === null || body === null) return [];
  try {
    return [{ n, ...(JSON.parse(body.slice(body.indexOf(" "))) as Shown) }];
  } catch {
    return [];
  }
}
