import { RuntimeError } from "../../model/errors.ts";
import type { JobCursor, JobId, SessionId } from "../../model/ids.ts";
import type { JobsPage, Store, StoredJob, StoredJobEvent } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { Value } from "./database.ts";
import { limit } from "./facts.ts";
import { eventsAfter } from "./job-events.ts";
import {
  jobRow,
  keptId,
  latestChange,
  liveCounts,
  OVER,
  STORED,
  type StoredRow,
  storedOf,
  storedRow,
} from "./job-row.ts";

/** Jobs, for whoever wants to know of them. */

export function loadJob(db: Connection, id: JobId): StoredJob | undefined {
  const row = storedRow(db, id);
  return row && storedOf(row);
}

export function eventsOfJob(db: Connection, id: JobId, after: number): readonly StoredJobEvent[] {
  const row = jobRow(db, id);
  return row === undefined ? [] : eventsAfter(db, row, after);
}

export function listJobs(db: Connection, page: JobsPage): readonly StoredJob[] {
  const { session, isLive, visibility, kind, after, max } = page;
  const last = after === undefined ? 0 : db.row<{ n: number }>("SELECT n FROM job WHERE id = ?", keptId(after))?.n;
  if (last === undefined) return [];
  const terms: readonly (readonly [string, Value | undefined])[] = [
    ["j.n > ?", last],
    ["j.session = (SELECT n FROM session WHERE id = ?)", session],
    [`j.state < ${OVER} AND 1 = ?`, isLive === true ? 1 : undefined],
    ["j.is_hidden = ?", visibility === undefined ? undefined : visibility === "hidden" ? 1 : 0],
    ["j.kind = ?", kind],
  ];
  const given = terms.filter((term): term is readonly [string, Value] => term[1] !== undefined);
  const which = given.map(([term]) => term).join(" AND ");
  const values = given.map(([, value]) => value);
  return db.rows<StoredRow>(`${STORED} WHERE ${which} ORDER BY j.n LIMIT ?`, ...values, limit(max)).map(storedOf);
}

export function countJobs(db: Connection, session: SessionId): number {
  const row = db.row<{ n: number }>("SELECT n FROM session WHERE id = ?", session);
  return row === undefined ? 0 : liveCounts(db).of(row.n);
}

const CHANGED = `${STORED} WHERE j.changed > ?`;
const ALL_IN = `${CHANGED} AND j.session = (SELECT n FROM session WHERE id = ?)`;
// Whoever follows asks for the latest, and a session may have many jobs: these are found by their changes.
const CHANGED_IN = `${CHANGED} AND +j.session = (SELECT n FROM session WHERE id = ?)`;
const IN_ORDER = "ORDER BY j.changed LIMIT ?";

export function changedJobs(
  db: Connection,
  after: JobCursor | undefined,
  { session, max }: Parameters<Store["jobs"]["changes"]>[1],
): readonly StoredJob[] {
  const last = after === undefined ? 0 : requireChange(db, after);
  const rows =
    session === undefined
      ? db.rows<StoredRow>(`${CHANGED} ${IN_ORDER}`, last, limit(max))
      : db.rows<StoredRow>(`${last === 0 ? ALL_IN : CHANGED_IN} ${IN_ORDER}`, last, session, limit(max));
  return rows.map(storedOf);
}

export function requireChange(db: Connection, cursor: JobCursor): number {
  const change = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (change === 0 || change > latestChange(db)) throw new RuntimeError("cursor.unknown", { cursor });
  return change;
}
