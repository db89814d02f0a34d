import { RuntimeError } from "../../model/errors.ts";
import type { JobCursor, JobId, SessionId } from "../../model/ids.ts";
import type { JobsPage, Store, StoredJob, StoredJobEvent } from "../store.ts";
import type { Database, Value } from "./database.ts";
import { limit } from "./facts.ts";
import { type EventRow, requireWhole, storedEvent } from "./job-events.ts";
import {
  FIRST,
  type JobRow,
  keptId,
  LIVE,
  OVER,
  STORED,
  STORED_BY_ID,
  type StoredRow,
  storedOf,
  WITH_FIRST,
} from "./job-row.ts";

/** Jobs, for whoever wants to know of them. Each answer is one statement, and so of one moment. */

export async function loadJob(db: Database, id: JobId): Promise<StoredJob | undefined> {
  const row = await db.row<StoredRow>(STORED_BY_ID, keptId(id));
  return row && storedOf(row);
}

const EVENTS = `SELECT j.id, j.seq AS length, e.* FROM @job j LEFT JOIN @job_event e ON e.job = j.n AND e.seq > $2
  WHERE j.id = $1 ORDER BY e.seq`;
type OfJob = Pick<JobRow, "id"> & { readonly length: number };

export async function eventsOfJob(db: Database, id: JobId, after: number): Promise<readonly StoredJobEvent[]> {
  const start = Math.min(Math.max(after, 0), 2 ** 31 - 1);
  const rows = await db.rows<OfJob & (EventRow | { readonly seq: null })>(EVENTS, keptId(id), start);
  const events = rows.flatMap((row) => (row.seq === null ? [] : storedEvent(row)));
  for (const { id: kept, length } of rows.slice(0, 1)) requireWhole(events, kept, Math.min(start, length), length);
  return events;
}

export async function listJobs(db: Database, page: JobsPage): Promise<readonly StoredJob[]> {
  const { session, isLive, visibility, kind, after, max } = page;
  const terms: readonly (readonly [string, Value | undefined])[] = [
    ["j.n > (SELECT n FROM @job WHERE id = ?)", after === undefined ? undefined : keptId(after)],
    ["j.session = (SELECT n FROM @session WHERE id = ?)", session],
    [`j.state < ${OVER} AND ?::boolean`, isLive],
    ["j.is_hidden = ?", visibility === undefined ? undefined : visibility === "hidden"],
    ["j.kind = ?", kind],
  ];
  const given = terms.filter((term): term is readonly [string, Value] => term[1] !== undefined);
  const which = given.map(([term], nth) => term.replace("?", `$${nth + 2}`)).join(" AND ");
  const sql = `${STORED} ${which === "" ? "" : `WHERE ${which}`} ORDER BY j.n LIMIT $1`;
  const rows = await db.rows<StoredRow>(sql, limit(max), ...given.map(([, value]) => value));
  return rows.map(storedOf);
}

export async function countJobs(db: Database, session: SessionId): Promise<number> {
  return (await db.row<{ live: number }>(LIVE, session))!.live;
}

/** Rows beside the number of the latest change, as of one moment; one without a job where there are none. */
const withLatest = (rows: string): string => `SELECT c.value AS latest, r.* FROM @counter c
  LEFT JOIN LATERAL (${rows}) r ON true WHERE c.name = 'job' ORDER BY r.changed`;
const CHANGED = `SELECT ${WITH_FIRST} FROM @job_change h JOIN @job j ON j.n = h.job ${FIRST} WHERE h.n > $1`;
const ALL_CHANGED = withLatest(`${CHANGED} ORDER BY h.n LIMIT $2`);
// Whoever follows asks for the latest, and a session may have many jobs: these are found by their changes.
const CHANGED_IN = withLatest(
  `${CHANGED} AND j.session = (SELECT n FROM @session WHERE id = $3) ORDER BY h.n LIMIT $2`,
);
const ALL_IN = withLatest(`${STORED} WHERE j.changed > $1 AND j.session = (SELECT n FROM @session WHERE id = $3)
  ORDER BY j.changed LIMIT $2`);

export async function changedJobs(
  db: Database,
  after: JobCursor | undefined,
  { session, max }: Parameters<Store["jobs"]["changes"]>[1],
): Promise<readonly StoredJob[]> {
  const last = after === undefined ? 0 : changeIn(after);
  const values: readonly Value[] = [last, limit(max), ...(session === undefined ? [] : [session])];
  const sql = session === undefined ? ALL_CHANGED : last === 0 ? ALL_IN : CHANGED_IN;
  const rows = await db.rows<{ readonly latest: number } & (StoredRow | { readonly n: null })>(sql, ...values);
  if (after !== undefined) requireGiven(after, rows[0]!.latest);
  return rows.flatMap((row) => (row.n === null ? [] : storedOf(row)));
}

/** The number that a cursor tells. Throws where none does. */
export function changeIn(cursor: JobCursor): number {
  if (!/^[1-9]\d{0,15}$/.test(cursor)) throw new RuntimeError("cursor.unknown", { cursor });
  return Number(cursor);
}

export function requireGiven(cursor: JobCursor, latest: number): void {
  if (changeIn(cursor) > latest) throw new RuntimeError("cursor.unknown", { cursor });
}
