import { RuntimeError } from "../../../model/errors.ts";
import type { JobCursor, JobId, SessionId } from "../../../model/ids.ts";
import { OVER } from "../../rows/job.ts";
import type { JobsPage, Store, StoredJob, StoredJobEvent } from "../../store.ts";
import { JOB, JOB_EVENT, type JobRow, SESSION } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { requireWhole, storedEvent, storedJobs } from "./events.ts";

export function* loadJob(db: Port, id: JobId): Rule<StoredJob | undefined> {
  const row = yield* db.get(JOB, "id", id);
  return row && (yield* storedJobs(db, [row]))[0];
}

/** Returns the events of a job after number `after`. */
export function* eventsOfJob(db: Port, id: JobId, after: number): Rule<readonly StoredJobEvent[]> {
  const row = yield* db.get(JOB, "id", id);
  if (row === undefined) return [];
  const start = Math.min(Math.max(after, 0), row.seq);
  const events = (yield* db.scan(JOB_EVENT, "job", [row.n], { above: start })).map(storedEvent);
  requireWhole(row, events, start);
  return events;
}

export function* countJobs(db: Port, session: SessionId): Rule<number> {
  const row = yield* db.get(SESSION, "id", session);
  return row === undefined ? 0 : yield* db.count(JOB, "live", row.n);
}

export function* listJobs(db: Port, page: JobsPage): Rule<readonly StoredJob[]> {
  const { session, isLive, visibility, kind, after, max } = page;
  const [owner, last] = yield* all([
    session === undefined ? undefined : db.get(SESSION, "id", session),
    after === undefined ? undefined : db.get(JOB, "id", after),
  ]);
  const isNowhere = (session !== undefined && owner === undefined) || (after !== undefined && last === undefined);
  if (isNowhere) return [];
  const isWanted = (row: JobRow): boolean =>
    (isLive !== true || row.state !== OVER) &&
    (visibility === undefined || row.isHidden === (visibility === "hidden")) &&
    (kind === undefined || row.kind === kind);
  const index = owner === undefined ? "all" : isLive === true ? "live" : "session";
  const key = owner === undefined ? [] : [owner.n];
  const pages: Pages = { index, key, above: last?.n ?? 0, max, next: ({ n }) => n };
  return yield* storedJobs(db, yield* wanted(db, pages, isWanted));
}

// ── Changes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns jobs that changed after a cursor, ordered by their latest change. */
export function* changedJobs(
  db: Port,
  after: JobCursor | undefined,
  { session, max }: Parameters<Store["jobs"]["changes"]>[1],
): Rule<readonly StoredJob[]> {
  const above = after === undefined ? 0 : changeIn(after);
  const [latest, owner] = yield* all([
    db.latestChange(),
    session === undefined ? undefined : db.get(SESSION, "id", session),
  ]);
  if (above > latest) throw new RuntimeError("cursor.unknown", { cursor: after! });
  if (session !== undefined && owner === undefined) return [];
  // The first read returns all jobs of the session. Later reads return changes only, because a session may have many
  // jobs.
  const rows =
    owner !== undefined && above === 0
      ? (yield* db.scan(JOB, "session", [owner.n])).toSorted((a, b) => a.changed - b.changed).slice(0, max)
      : yield* wanted(
          db,
          { index: "changed", key: [], above, max, next: ({ changed }) => changed },
          (row) => owner === undefined || row.session === owner.n,
        );
  return yield* storedJobs(db, rows);
}

/** Returns the number in a cursor. Throws `cursor.unknown` if it has none. */
export function changeIn(cursor: JobCursor): number {
  if (!/^[1-9]\d{0,15}$/.test(cursor)) throw new RuntimeError("cursor.unknown", { cursor });
  return Number(cursor);
}

// ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Pages {
  readonly index: keyof typeof JOB.indexes;
  readonly key: readonly number[];
  readonly above: number;
  readonly max: number;
  /** Returns the key of a row. The next page begins after it. */
  next(row: JobRow): number;
}

const PAGE_MIN = 100;

/** Returns the first `max` rows that pass the filter. Most rows pass, so few pages are read without a result. */
function* wanted(db: Port, pages: Pages, isWanted: (row: JobRow) => boolean): Rule<readonly JobRow[]> {
  const { index, key, max, next } = pages;
  const found: JobRow[] = [];
  if (max <= 0) return found;
  const size = Math.max(max, PAGE_MIN);
  for (let { above } = pages; ; ) {
    const rows = yield* db.scan(JOB, index, key, { above, ...(size === Infinity ? {} : { max: size }) });
    for (const row of rows) if (isWanted(row)) found.push(row);
    if (found.length >= max || rows.length < size) return found.slice(0, max);
    above = next(rows.at(-1)!);
  }
}
