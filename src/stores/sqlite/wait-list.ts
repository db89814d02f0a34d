import type { SessionId, TurnId, WaitId } from "../../model/ids.ts";
import type { WaitAbout } from "../../model/wait.ts";
import { corrupt } from "../rows/faults.ts";
import type { Store, StoredWait } from "../store.ts";
import type { Connection } from "./connection.ts";
import { cursorOf, limit } from "./facts.ts";
import { idOf } from "./job-row.ts";
import { TREE } from "./sessions.ts";
import { aboutIn, answerIn, askedAs, questionIn, type WaitRow } from "./wait-row.ts";
import { keyOf } from "./waits.ts";

/** What somebody is asked, for whoever answers. */

interface ListedRow extends WaitRow {
  readonly sessionId: SessionId;
  readonly turnId: TurnId | null;
}
// `place`: the fact that it was asked. For waits that went along with a job, the row that tells of it is another.
const LISTED = "SELECT w.*, s.id AS sessionId, t.id AS turnId, coalesce(w.asked, w.moved) AS place";
const unanswered = (place: "asked" | "moved"): string =>
  `w.key IS NOT NULL AND w.${place} > ? AND w.answer IS NULL ORDER BY w.${place} LIMIT ?`;
const OF_ALL = `
  SELECT * FROM (${LISTED} FROM wait w INDEXED BY wait_open CROSS JOIN session s ON s.n = w.session
    LEFT JOIN turn t ON t.n = w.turn WHERE ${unanswered("asked")})
  UNION ALL SELECT * FROM (${LISTED} FROM wait w INDEXED BY wait_moved CROSS JOIN session s ON s.n = w.session
    LEFT JOIN turn t ON t.n = w.turn WHERE ${unanswered("moved")})
  ORDER BY place LIMIT ?`;
// Those of open turns, and those of jobs.
const ofJobs = (which: string, place: "asked" | "moved"): string => `
  SELECT * FROM (${LISTED} FROM session s CROSS JOIN wait w INDEXED BY wait_job_session ON w.session = s.n
    LEFT JOIN turn t ON t.n = w.turn WHERE s.id ${which} AND w.job IS NOT NULL
      ${place === "moved" ? "AND w.asked IS NULL" : ""} AND ${unanswered(place)})`;
const of = (which: string): string => `
  SELECT * FROM (${LISTED} FROM session s CROSS JOIN wait w ON w.turn = s.turn
    CROSS JOIN turn t ON t.n = w.turn WHERE s.id ${which} AND ${unanswered("asked")})
  UNION ALL ${ofJobs(which, "asked")} UNION ALL ${ofJobs(which, "moved")}
  ORDER BY place LIMIT ?`;
const OF_ONE = `WITH one(id) AS (VALUES (?)) ${of("= (SELECT id FROM one)")}`;
const OF_TREE = `${TREE} ${of("IN (SELECT id FROM tree)")}`;
const BY_NAME = `${LISTED} FROM wait w CROSS JOIN session s ON s.n = w.session LEFT JOIN turn t ON t.n = w.turn
  WHERE w.id = ? AND w.key IS NOT NULL`;
const ASKED = "SELECT max(coalesce(asked, moved)) AS asked FROM wait WHERE id = ?";

export function list(db: Connection, page: Parameters<Store["waits"]["list"]>[0]): readonly StoredWait[] {
  const { session, tree, after, max } = page;
  const last = after === undefined ? 0 : db.row<{ asked: number | null }>(ASKED, after)!.asked;
  if (last === null) return []; // Its session was deleted, or nobody was asked.
  const root = tree ?? session;
  const each = [last, limit(max)];
  const rows =
    root === undefined
      ? db.rows<ListedRow>(OF_ALL, ...each, ...each, limit(max))
      : db.rows<ListedRow>(tree === undefined ? OF_ONE : OF_TREE, root, ...each, ...each, ...each, limit(max));
  return rows.map((row) => shown(db, row, questionIn(row)));
}

export function get(db: Connection, id: WaitId): StoredWait | undefined {
  const row = db.row<ListedRow>(BY_NAME, id);
  const about = row && aboutIn(row);
  return row === undefined || about === undefined || about.kind === "turns" ? undefined : shown(db, row, about);
}

function shown(db: Connection, row: ListedRow, about: WaitAbout): StoredWait {
  const { id, sessionId, turnId, job, effect, at, until, answered } = row;
  const asked = askedAs(row);
  const answer = answerIn(row);
  return {
    id,
    key: keyOf(row),
    sessionId,
    path: pathTo(db, sessionId),
    ...(job === null ? { turnId: requireTurn(row, turnId) } : { jobId: idOf({ id: job }) }),
    effect: effect!,
    at: at!,
    until,
    about,
    ...(asked === null ? {} : { askedAs: cursorOf(asked) }),
    ...(answer === undefined ? {} : { answer }),
    ...(answered === null ? {} : { answeredAs: cursorOf(answered) }),
  };
}

/** The turn of a wait that has one. */
export function requireTurn({ id }: WaitRow, turnId: TurnId | null): TurnId {
  if (turnId === null) throw corrupt(`The wait ${id}`, "its turn is missing");
  return turnId;
}

function pathTo(db: Connection, session: SessionId): readonly SessionId[] {
  const path = new Set<SessionId>();
  for (let id: SessionId | null = session; id !== null && !path.has(id); ) {
    path.add(id);
    const parent: { id: SessionId | null } | undefined = db.row("SELECT parent_id AS id FROM session WHERE id = ?", id);
    id = parent?.id ?? null;
  }
  return [...path].reverse();
}
