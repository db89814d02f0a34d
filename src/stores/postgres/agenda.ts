import { hostname } from "node:os";
import type { SessionId } from "../../model/ids.ts";
import { isProvenDead } from "../rows/process.ts";
import type { Agenda } from "../store.ts";
import { clock, type Database, type Transaction } from "./database.ts";
import { INJECTED, WITHDRAWN } from "./endings.ts";
import { cursorOf, limit } from "./facts.ts";
import { jobsToDo } from "./job-claims.ts";
import { jobCursorOf, RUNNING } from "./job-row.ts";
import { triggersToDo } from "./triggers.ts";

interface Found {
  readonly id: SessionId;
}

// Turns that are open and not parked. Whether their holders still hold them is a matter of time, and of processes that die.
const LIVE = "FROM @session WHERE turn IS NOT NULL AND wake IS NULL";
const LAPSED = `SELECT id ${LIVE} AND until <= ${clock(1)} LIMIT $2`;
// Only a process of this machine can be proven dead.
const HOLDERS = `SELECT DISTINCT process ${LIVE} AND until > ${clock(1)} AND starts_with(process, $2)`;
const HELD_BY = `SELECT id ${LIVE} AND process = ANY ($1::text[]) LIMIT $2`;

const DUE = "SELECT id FROM @session WHERE wake IS NOT NULL AND wake <= $1 ORDER BY wake LIMIT $2";
const READY = `SELECT id FROM @session s WHERE turn IS NULL AND wake IS NULL AND waiting > 0
  AND EXISTS (SELECT 1 FROM @turn t WHERE t.session = s.n AND t.state = 0 AND t.aside < ${INJECTED}) LIMIT $1`;

// Of a turn or a job that is not over its row says so; of one that is, there may be none. A text with escapes of its own may
// be one that the server cannot take apart: such a turn counts as woken, and whoever opens its session looks closely.
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
// Parked turns that wait for other turns and jobs, which are over; and when the first of all others has mail by itself.
const PARKED = `WITH woken AS MATERIALIZED (
    SELECT DISTINCT s.n, s.id FROM @wait w JOIN @session s ON s.n = w.session AND s.turn = w.turn
      WHERE w.is_turns AND w.key IS NOT NULL AND w.answer IS NULL AND s.wake IS NOT NULL
        AND strpos(s.parked, '"' || w.id || '"') > 0 AND ${IS_OVER})
  SELECT array(SELECT id FROM woken) AS woken, (SELECT wake FROM @session
    WHERE wake IS NOT NULL AND wake > $1 AND n NOT IN (SELECT n FROM woken) ORDER BY wake LIMIT 1) AS next`;

// The server thinks what takes texts apart costs much, and would compile it each time, which takes fifty times as long.
const QUICK = "SET LOCAL jit = off";

const COUNTERS = `SELECT (SELECT value FROM @counter WHERE name = 'fact') AS latest,
  (SELECT value FROM @counter WHERE name = 'gone') AS gone`;

/**
 * What is to be done. Every runtime asks once a second, most often for nothing: so it asks all at once, and however many
 * turns are parked, the server looks at those alone that wait for other turns and jobs.
 */
export async function agenda(
  tx: Transaction,
  db: Database,
  now: number,
  max: number,
  operations: readonly string[] | undefined,
): Promise<Agenda> {
  const [most, time] = [limit(max), db.time(now)];
  tx.queue(QUICK);
  const [lapsed, holders, due, ready, parked, counters, jobs, triggers] = await Promise.all([
    tx.rows<Found>(LAPSED, time, most),
    tx.rows<{ process: string }>(HOLDERS, time, `${hostname()}/`),
    tx.rows<Found>(DUE, now, most),
    tx.rows<Found>(READY, most),
    tx.row<{ woken: readonly SessionId[]; next: number | null }>(PARKED, now),
    tx.row<{ latest: number; gone: number }>(COUNTERS),
    jobsToDo(tx, now, operations, time),
    triggersToDo(tx, now),
  ]);
  const dead = holders.map(({ process }) => process).filter(isProvenDead);
  const left = dead.length === 0 ? [] : await tx.rows<Found>(HELD_BY, dead, most);
  const found = [lapsed, left, due, parked!.woken.map((id) => ({ id })), ready].flat();
  const sessions = [...new Set(found.map(({ id }) => id))];
  const { latest, gone } = counters!;
  const next = Math.min(parked!.next ?? Infinity, jobs.next ?? Infinity, triggers.next ?? Infinity);
  return {
    sessions: sessions.length > max ? sessions.slice(0, max) : sessions,
    ...triggers,
    ...(next === Infinity ? {} : { next }),
    ...(jobs.hasJobs ? { hasJobs: true } : {}),
    ...(jobs.latest === 0 ? {} : { jobs: jobCursorOf(jobs.latest) }),
    ...(latest === 0 ? {} : { latest: cursorOf(latest) }),
    gone,
  };
}
