import { hostname } from "node:os";
import { asCursor, type SessionId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import { jobCursorOf, RUNNING, tasksOf } from "../rows/job.ts";
import { isProvenDead } from "../rows/process.ts";
import { COMMITS, SCHEDULE } from "../rows/trigger.ts";
import type { Agenda } from "../store.ts";
import { INJECTED, WITHDRAWN } from "../tables.ts";
import { clock, type Transaction } from "./database.ts";
import { limit } from "./pages.ts";

/**
 * Returns the work of a store. Every runtime asks once a second, and mostly gets nothing. So one call asks everything, and of
 * the parked turns the server reads only those that wait for other turns and jobs.
 */
export async function toDo(
  tx: Transaction,
  time: number | null,
  now: number,
  max: number,
  operations: readonly string[] | undefined,
): Promise<Agenda> {
  const most = limit(max);
  tx.queue(QUICK);
  const [lapsed, holders, due, ready, parked, counters, jobs, triggers] = await Promise.all([
    tx.rows<Found>(LAPSED, time, most),
    tx.rows<{ process: string }>(HOLDERS, time, `${hostname()}/`),
    tx.rows<Found>(DUE, now, most),
    tx.rows<Found>(READY, most),
    tx.row<{ woken: readonly SessionId[]; next: number | null }>(PARKED, now),
    tx.row<{ latest: number; gone: number; jobs: number }>(COUNTERS),
    jobsToDo(tx, now, operations, time),
    tx.row<{ first: number | null; next: number | null; commits: boolean }>(TRIGGERS, now),
  ]);
  const dead = holders.map(({ process }) => process).filter(isProvenDead);
  const left = dead.length === 0 ? [] : await tx.rows<Found>(HELD_BY, dead, most);
  const found = [lapsed, left, due, parked!.woken.map((id) => ({ id })), ready].flat();
  const sessions = [...new Set(found.map(({ id }) => id))];
  const { latest, gone, jobs: changes } = counters!;
  const next = Math.min(parked!.next ?? Infinity, jobs.next, triggers!.next ?? Infinity);
  return {
    sessions: sessions.length > max ? sessions.slice(0, max) : sessions,
    ...(triggers!.first !== null && triggers!.first <= now ? { hasSchedules: true } : {}),
    ...(triggers!.commits ? { hasCommits: true } : {}),
    ...(next === Infinity ? {} : { next }),
    ...(jobs.hasJobs ? { hasJobs: true } : {}),
    ...(changes === 0 ? {} : { jobs: jobCursorOf(changes) }),
    ...(latest === 0 ? {} : { latest: asCursor(String(latest)) }),
    gone,
  };
}

interface Found {
  readonly id: SessionId;
}

// The planner overestimates the cost of parsing JSON and would compile the query each time, which takes fifty times as
// long.
const QUICK = "SET LOCAL jit = off";

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

// Open turns that are not parked. Whether their leases are still valid depends on time and on processes that die.
const LIVE = "FROM @session WHERE turn IS NOT NULL AND wake IS NULL";
const LAPSED = `SELECT id ${LIVE} AND until <= ${clock(1)} LIMIT $2`;
// Only a process of this machine can be proven dead.
const HOLDERS = `SELECT DISTINCT process ${LIVE} AND until > ${clock(1)} AND starts_with(process, $2)`;
const HELD_BY = `SELECT id ${LIVE} AND process = ANY ($1::text[]) LIMIT $2`;

const DUE = "SELECT id FROM @session WHERE wake IS NOT NULL AND wake <= $1 ORDER BY wake LIMIT $2";
const READY = `SELECT id FROM @session s WHERE turn IS NULL AND wake IS NULL AND waiting > 0
  AND EXISTS (SELECT 1 FROM @turn t WHERE t.session = s.n AND t.state = 0 AND t.aside < ${INJECTED}) LIMIT $1`;

// A running turn or job has a row that shows it. An ended one may have no row. The server cannot parse some texts
// with escapes: such a turn counts as woken, and the write that opens its session checks exactly.
const IS_OVER = `CASE WHEN strpos(w.about, chr(92) || 'u') > 0 THEN true ELSE (
    SELECT CASE WHEN w.about::json ->> 'need' = 'all' THEN coalesce(bool_and(each.is_over), true)
      ELSE coalesce(bool_or(each.is_over), false) END
    FROM (
      SELECT NOT EXISTS (SELECT 1 FROM @turn t WHERE t.id = e ->> 'turnId' AND t.state < ${WITHDRAWN}
        AND t.done IS NULL AND t.ended_by IS NULL) AS is_over FROM json_array_elements(w.about::json -> 'turns') e
      UNION ALL
      SELECT NOT EXISTS (SELECT 1 FROM @job j WHERE j.id = e.id AND j.state = ${RUNNING})
        FROM json_array_elements_text(coalesce(w.about::json -> 'jobs', '[]')) e(id)
    ) each) END`;
// Parked turns whose awaited turns and jobs have ended, and the next time at which another one is due.
const PARKED = `WITH woken AS MATERIALIZED (
    SELECT DISTINCT s.n, s.id FROM @wait w JOIN @session s ON s.n = w.session AND s.turn = w.turn
      WHERE w.is_turns AND w.key IS NOT NULL AND w.answer IS NULL AND s.wake IS NOT NULL
        AND strpos(s.parked, '"' || w.id || '"') > 0 AND ${IS_OVER})
  SELECT array(SELECT id FROM woken) AS woken, (SELECT wake FROM @session
    WHERE wake IS NOT NULL AND wake > $1 AND n NOT IN (SELECT n FROM woken) ORDER BY wake LIMIT 1) AS next`;

const COUNTERS = `SELECT (SELECT value FROM @counter WHERE name = 'fact') AS latest,
  (SELECT value FROM @counter WHERE name = 'gone') AS gone, (SELECT value FROM @counter WHERE name = 'job') AS jobs`;

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const FREE = "SELECT min(due) FROM @job WHERE operation = t.operation AND owner IS NULL AND due IS NOT NULL";
const TIMES = `SELECT (${FREE}) AS first, (${FREE} AND due > $2) AS next FROM unnest($1::text[]) AS t (operation)`;
const OWNERS = `SELECT o.process, o.until <= ${clock(2)} AS is_late FROM @job_owner o
  WHERE EXISTS (SELECT 1 FROM @job j WHERE j.owner = o.id AND j.operation = ANY ($1::text[]))`;

/** Returns whether a process that can run these tasks has jobs to claim, and when the next unheld job is due. */
async function jobsToDo(
  tx: Transaction,
  now: number,
  operations: readonly string[] | undefined,
  time: number | null,
): Promise<{ readonly hasJobs: boolean; readonly next: number }> {
  if (operations === undefined) return { hasJobs: false, next: Infinity };
  const tasks = tasksOf(operations).map(keyText);
  const [times, owners] = await Promise.all([
    tx.rows<{ first: number | null; next: number | null }>(TIMES, tasks, now),
    tx.rows<{ process: string; is_late: boolean }>(OWNERS, tasks, time),
  ]);
  const isDue = times.some(({ first }) => first !== null && first <= now);
  const isLeft = owners.some(({ process, is_late }) => is_late || isProvenDead(process));
  return { hasJobs: isDue || isLeft, next: Math.min(...times.map(({ next }) => next ?? Infinity)) };
}

// ── Triggers ────────────────────────────────────────────────────────────────────────────────────────────────────────

// PostgreSQL uses a partial index only if the query repeats its condition.
const IS_DUE = `is_enabled AND kind >= ${SCHEDULE} AND next IS NOT NULL`;
const TRIGGERS = `SELECT
  (SELECT min(next) FROM @subscription WHERE ${IS_DUE}) AS first,
  (SELECT min(next) FROM @subscription WHERE ${IS_DUE} AND next > $1) AS next,
  EXISTS (SELECT 1 FROM @subscription WHERE is_enabled AND kind = ${COMMITS}) AS commits`;
