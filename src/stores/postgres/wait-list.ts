import type { SessionId, TurnId, WaitId } from "../../model/ids.ts";
import type { WaitAbout } from "../../model/wait.ts";
import { corrupt } from "../rows/faults.ts";
import type { Store, StoredWait } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { cursorOf, limit } from "./facts.ts";
import { idOf } from "./job-row.ts";
import { TREE } from "./sessions.ts";
import { aboutIn, answerIn, askedAs, keyOf, questionIn, type WaitRow } from "./waits.ts";

/** What somebody is asked, for whoever answers. */

interface ListedRow extends WaitRow {
  readonly sessionId: SessionId;
  readonly turnId: TurnId | null;
  readonly path: readonly SessionId[];
}
// From the root of the tree to a session; one that is its own ancestor is there once.
const PATH = `(WITH RECURSIVE up(id, path) AS (
    SELECT s.id, ARRAY[s.id]
    UNION ALL
    SELECT p.parent_id, p.parent_id || up.path FROM up JOIN @session c ON c.id = up.id JOIN @profile p ON p.session = c.n
      WHERE p.parent_id <> ALL (up.path))
  SELECT path FROM up ORDER BY cardinality(path) DESC LIMIT 1)`;
const LISTED = `SELECT w.*, s.id AS "sessionId", t.id AS "turnId", ${PATH} AS path
  FROM @wait w JOIN @session s ON s.n = w.session LEFT JOIN @turn t ON t.n = w.turn`;

// Their place is the fact that they were asked. For waits that went along with a job, the row that tells of it is another.
// `$1`: the wait to begin after; none come after one whose session was deleted, or that nobody was asked.
const UNANSWERED = `w.key IS NOT NULL AND w.answer IS NULL AND coalesce(w.asked, w.moved) >
  CASE WHEN $2::text IS NULL THEN 0 ELSE (SELECT max(coalesce(b.asked, b.moved)) FROM @wait b WHERE b.id = $2) END
  ORDER BY coalesce(w.asked, w.moved) LIMIT $3`;
const OF_ALL = `${LISTED} WHERE $1::text IS NULL AND ${UNANSWERED}`;
const OF_ONE = `${LISTED} WHERE s.id = $1 AND ${UNANSWERED}`;
const OF_TREE = `${TREE} ${LISTED} WHERE s.id IN (SELECT id FROM tree) AND ${UNANSWERED}`;
const BY_NAME = `${LISTED} WHERE w.id = $1 AND w.key IS NOT NULL`;

export async function listWaits(
  db: Transaction | Database,
  page: Parameters<Store["waits"]["list"]>[0],
): Promise<readonly StoredWait[]> {
  const { session, tree, after, max } = page;
  const root = tree ?? session;
  const which = root === undefined ? OF_ALL : tree === undefined ? OF_ONE : OF_TREE;
  const rows = await db.rows<ListedRow>(which, root ?? null, after ?? null, limit(max));
  return rows.map((row) => shown(row, questionIn(row)));
}

export async function getWait(db: Transaction | Database, id: WaitId): Promise<StoredWait | undefined> {
  const row = await db.row<ListedRow>(BY_NAME, id);
  const about = row && aboutIn(row);
  return row === undefined || about === undefined || about.kind === "turns" ? undefined : shown(row, about);
}

function shown(row: ListedRow, about: WaitAbout): StoredWait {
  const { id, sessionId, path, turnId, job, effect, at, until, answered } = row;
  const asked = askedAs(row);
  const answer = answerIn(row);
  return {
    id,
    key: keyOf(row),
    sessionId,
    path,
    ...(job === null ? { turnId: requireTurn(row, turnId) } : { jobId: idOf({ id: job }) }),
    effect,
    at,
    until,
    about,
    ...(asked === null ? {} : { askedAs: cursorOf(asked) }),
    ...(answer === undefined ? {} : { answer }),
    ...(answered === null ? {} : { answeredAs: cursorOf(answered) }),
  };
}

/** The turn of a wait that has one. */
export function requireTurn({ id }: Pick<WaitRow, "id">, turnId: TurnId | null): TurnId {
  if (turnId === null) throw corrupt(`The wait ${id}`, "its turn is missing");
  return turnId;
}
