import { keyText } from "../rows/codec.ts";
import { keptId } from "../rows/job.ts";
import type { Lock } from "../rules/port.ts";
import type { Sent } from "./layouts.ts";

/** The statements that take the locks of a rule. They return nothing: the rule reads after them. */

// Includes the schema name, so that two stores in one database do not wait for each other.
const SOURCE = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))";
const SESSIONS = "SELECT 1 FROM @session WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE";
const SUBSCRIPTIONS = `SELECT 1 FROM unnest($1::text[], $2::text[]) AS e (session, id)
  JOIN @session s ON s.id = e.session JOIN @subscription u ON u.session = s.n AND u.id = e.id
  ORDER BY u.n FOR UPDATE OF u`;
const OCCURRENCES = "SELECT 1 FROM @occurrence WHERE n = ANY ($1::bigint[]) ORDER BY n FOR UPDATE";
const OWNER = "SELECT 1 FROM @job_owner WHERE id = $1 FOR UPDATE";
const JOBS = "SELECT 1 FROM @job WHERE id = ANY ($1::text[]) ORDER BY n FOR UPDATE";

/**
 * Selects jobs that may end or become idle and all jobs that this affects: their children at any depth, which end with
 * them, and the jobs that await one of these. Ordered by number, because a job that awaits its child is affected from
 * two sides when both end.
 */
const touching = (which: string): string => `SELECT 1 FROM @job WHERE n IN (
    WITH RECURSIVE ending AS (SELECT n, id FROM @job WHERE ${which}
      UNION SELECT c.n, c.id FROM ending e JOIN @job c ON c.parent = 'job/' || e.id)
    SELECT n FROM ending
    UNION ALL SELECT a.job FROM ending e JOIN @job_await a ON a.awaited = e.id
    UNION ALL SELECT n FROM @job WHERE id = ANY ($2::text[]))
  ORDER BY n FOR UPDATE`;
const ENDINGS = touching("id = ANY ($1::text[])");
const CHILDREN = touching("parent = $1");
const OF_SESSION = touching("session = $1");

// A write that deletes a session counts it in this row. Without the lock, two concurrent deletes would both keep a
// segment that only the two of them used.
const GRAPH = "SELECT value FROM @counter WHERE name = 'gone' FOR UPDATE";

/** Returns undefined if there is nothing to lock. */
export function lockOf(what: Lock, schema: string): Sent | undefined {
  if ("source" in what) return [SOURCE, `${schema} ${keyText(what.source)}`];
  if ("sessions" in what) return what.sessions.length === 0 ? undefined : [SESSIONS, what.sessions];
  if ("subscriptions" in what) {
    const { subscriptions } = what;
    const [sessions, ids] = [
      subscriptions.map((each) => each.sessionId),
      subscriptions.map((each) => keyText(each.id)),
    ];
    return ids.length === 0 ? undefined : [SUBSCRIPTIONS, sessions, ids];
  }
  if ("occurrences" in what) return what.occurrences.length === 0 ? undefined : [OCCURRENCES, what.occurrences];
  if ("owner" in what) return [OWNER, keyText(what.owner)];
  if ("jobs" in what) return what.jobs.length === 0 ? undefined : [JOBS, what.jobs.map(keptId)];
  if ("endings" in what) return [ENDINGS, what.endings.map(keptId), (what.others ?? []).map(keptId)];
  if ("childrenOf" in what) return [CHILDREN, keyText(what.childrenOf), []];
  if ("jobsOf" in what) return [OF_SESSION, what.jobsOf, []];
  return [GRAPH];
}
