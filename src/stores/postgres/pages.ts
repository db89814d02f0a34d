import type { JobId } from "../../model/ids.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { keptId } from "../rows/job.ts";
import { kindOf } from "../rows/trigger.ts";
import type { PathPage } from "../rules/port.ts";
import type { PluginSnapshot, PluginSnapshots, Store } from "../store.ts";
import type { Transaction, Value } from "./database.ts";
import type { Sent } from "./layouts.ts";
import { parsed } from "./text.ts";

/** Reads that take one statement here and one per row in the rules. */

/** `LIMIT NULL` means no limit. */
export const limit = (max: number): number | null => (max === Infinity ? null : Math.max(0, max));

// ── The graph ───────────────────────────────────────────────────────────────────────────────────────────────────────

const BONES = "n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name";
const columns = (row: string, isWhole: boolean): string =>
  `${BONES}${isWhole ? ", entries" : ""}`
    .split(", ")
    .map((column) => `${row}${column}`)
    .join(", ");

// The depth must decrease on a path, so that damaged rows in a circle end.
const path = (isWhole: boolean): string => `WITH RECURSIVE path AS (
    SELECT 1 AS nth, ${columns("", isWhole)} FROM @segment WHERE n = $1 AND depth >= $3
    UNION ALL
    SELECT p.nth + 1, ${columns("s.", isWhole)} FROM path p JOIN @segment s ON s.n = p.parent AND s.depth < p.depth
      WHERE s.depth >= $3 AND ($2::integer IS NULL OR p.nth < $2))`;
const READ_PATH = `${path(false)} SELECT * FROM path ORDER BY nth`;
const READ_WHOLE_PATH = `${path(true)} SELECT * FROM path ORDER BY nth`;
// Returns the rows as they are under their locks, because a fork may have started to use one meanwhile.
const LOCK_PATH = `${path(false)} SELECT ${columns("s.", false)} FROM @segment s WHERE s.n IN (SELECT n FROM path)
  ORDER BY s.depth DESC FOR UPDATE`;
const LOCK_WHOLE_PATH = LOCK_PATH.replace(" FROM @segment s WHERE", ", s.entries FROM @segment s WHERE");

export function pathOf(from: number, { max, depth = 0, isWhole = false, isLocked = false }: PathPage): Sent {
  const reading = isWhole ? READ_WHOLE_PATH : READ_PATH;
  const locking = isWhole ? LOCK_WHOLE_PATH : LOCK_PATH;
  return [isLocked ? locking : reading, from, limit(max), depth];
}

export const NAME_SEGMENTS = "UPDATE @segment SET is_named = true WHERE n IN (SELECT n FROM @turn WHERE session = $1)";
export const USE = "UPDATE @segment SET users = users + $2 WHERE n = $1";

// ── States ──────────────────────────────────────────────────────────────────────────────────────────────────────────

// Jumps from plugin to plugin along the key, so that a long history is not read.
const STATES = `WITH RECURSIVE name(plugin) AS (
    (SELECT plugin FROM @state WHERE session = $1 ORDER BY plugin LIMIT 1)
    UNION ALL
    SELECT (SELECT s.plugin FROM @state s WHERE s.session = $1 AND s.plugin > name.plugin ORDER BY s.plugin LIMIT 1)
      FROM name WHERE name.plugin IS NOT NULL
  )
  SELECT latest.plugin, latest.body FROM name CROSS JOIN LATERAL (
    SELECT s.plugin, s.body FROM @state s WHERE s.session = $1 AND s.plugin = name.plugin AND s.since <= $2
      ORDER BY s.since DESC LIMIT 1) latest`;

/** Returns the plugin states as of a revision. */
export async function statesAt(tx: Transaction, session: number, revision: number): Promise<PluginSnapshots> {
  const states: { [plugin: string]: PluginSnapshot } = {};
  for (const { plugin, body } of await tx.rows<{ plugin: string; body: string }>(STATES, session, revision)) {
    const name = fromKeyText(plugin);
    const value = parsed<PluginSnapshot | null>(body, `The state of plugin ${name}`);
    if (value === null) continue;
    Object.defineProperty(states, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return states;
}

// ── Facts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

export const NEXT_FACT = "UPDATE @counter SET value = value + 1 WHERE name = 'fact'";
export const ADD_FACT = `WITH f AS (${NEXT_FACT} RETURNING value)
  INSERT INTO @fact SELECT value, $1, $2, $3 FROM f RETURNING n`;
const OF_ALL = "SELECT n, session, kind, of FROM @fact WHERE n > $1 ORDER BY n LIMIT $2";
// Reads at most the page size from each session.
const OF_SOME = `SELECT f.n, f.session, f.kind, f.of FROM unnest($3::bigint[]) AS s (n) CROSS JOIN LATERAL (
    SELECT * FROM @fact each WHERE each.session = s.n AND each.n > $1 ORDER BY each.n LIMIT $2) f
  ORDER BY f.n LIMIT $2`;

export const factsOf = (after: number, sessions: readonly number[] | undefined, max: number): Sent =>
  sessions === undefined ? [OF_ALL, after, limit(max)] : [OF_SOME, after, limit(max), sessions];

export const COUNTER = "SELECT value FROM @counter WHERE name = $1";
export const SWEEPS = "SELECT coalesce(max(n), 0) AS value FROM @sweep";

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Selects the ids of a session and its descendants. `UNION` ends a circle. `$1` is the session. */
const TREE = `WITH RECURSIVE tree(id) AS (
  SELECT $1::text COLLATE "C" UNION SELECT s.id FROM tree JOIN @profile p ON p.parent_id = tree.id
    JOIN @session s ON s.n = p.session)`;
// Ordered by the facts of the questions. A page after a wait whose session was deleted, or that had no question, is empty.
const UNANSWERED = `w.key IS NOT NULL AND w.answer IS NULL AND coalesce(w.asked, w.moved) >
  CASE WHEN $2::text IS NULL THEN 0 ELSE (SELECT max(coalesce(b.asked, b.moved)) FROM @wait b WHERE b.id = $2) END
  ORDER BY coalesce(w.asked, w.moved) LIMIT $3`;
const WAITS = "SELECT w.* FROM @wait w JOIN @session s ON s.n = w.session";
const WAITS_OF_ALL = `${WAITS} WHERE $1::text IS NULL AND ${UNANSWERED}`;
const WAITS_OF_ONE = `${WAITS} WHERE s.id = $1 AND ${UNANSWERED}`;
const WAITS_OF_TREE = `${TREE} ${WAITS} WHERE s.id IN (SELECT id FROM tree) AND ${UNANSWERED}`;

export function waitsOf({ session, tree, after, max }: Parameters<Store["waits"]["list"]>[0]): Sent {
  const root = tree ?? session;
  const which = root === undefined ? WAITS_OF_ALL : tree === undefined ? WAITS_OF_ONE : WAITS_OF_TREE;
  return [which, root ?? null, after ?? null, limit(max)];
}

// ── Subscriptions ───────────────────────────────────────────────────────────────────────────────────────────────────

export function subscriptionsOf(page: Parameters<Store["triggers"]["list"]>[0]): Sent {
  const { session, event, kinds, after, max } = page;
  const values: Value[] = [];
  const given = (value: Value): string => `$${values.push(value)}`;
  const terms: string[] = [];
  if (session !== undefined) terms.push(`u.session = (SELECT n FROM @session WHERE id = ${given(session)})`);
  if (event !== undefined) {
    const source = event.source === undefined ? "" : `OR u.source = ${given(keyText(event.source))}`;
    terms.push(`u.is_enabled AND u.event = ${given(keyText(event.name))} AND (u.source IS NULL ${source})`);
  }
  if (kinds !== undefined) terms.push(`u.is_enabled AND u.kind = ANY (${given(kinds.map(kindOf))}::smallint[])`);
  if (after !== undefined) terms.push(`(s.id, u.id) > (${given(after.session)}, ${given(keyText(after.id))})`);
  const where = terms.length === 0 ? "" : `WHERE ${terms.join(" AND ")}`;
  const found = "SELECT u.* FROM @subscription u JOIN @session s ON s.n = u.session";
  return [`${found} ${where} ORDER BY s.id, u.id LIMIT ${given(limit(max))}`, ...values];
}

export const SESSION_IDS = "SELECT n, id FROM @session WHERE n = ANY ($1::bigint[])";

// ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const EVENTS_UNDER = `SELECT e.* FROM @job j JOIN @job_event e ON e.job = j.n
  WHERE j.id = $1 AND e.key = ANY ($2::text[]) ORDER BY e.seq`;

export const eventsUnder = (id: JobId, keys: readonly string[]): Sent => [EVENTS_UNDER, keptId(id), keys.map(keyText)];

// Selects up to the maximum for each task. Surplus rows are unlocked when the transaction ends.
const DUE = `SELECT j.* FROM unnest($1::text[]) AS t (operation) CROSS JOIN LATERAL (
    SELECT * FROM @job WHERE operation = t.operation AND owner IS NULL AND due IS NOT NULL AND due <= $2
    ORDER BY due, n LIMIT $3 FOR UPDATE SKIP LOCKED) j`;
// An owner is locked before its jobs are given away. If it returns meanwhile, it waits and then reads what it still
// holds. An owner whose row has changed since it was read is not gone.
const LEFT = `WITH gone AS (SELECT o.id FROM unnest($1::text[], $4::float8[]) AS e (id, until)
    JOIN @job_owner o ON o.id = e.id AND o.until = coalesce(e.until, o.until) FOR UPDATE OF o SKIP LOCKED)
  SELECT * FROM @job WHERE owner IN (SELECT id FROM gone) AND operation = ANY ($2::text[])
  ORDER BY n LIMIT $3 FOR UPDATE SKIP LOCKED`;

export const dueJobs = (tasks: readonly string[], now: number, max: number): Sent => [
  DUE,
  tasks.map(keyText),
  now,
  limit(max),
];
/** `until`: the lease end of each owner, as it was read. */
export const leftJobs = (
  gone: readonly string[],
  until: readonly (number | null)[],
  tasks: readonly string[],
  max: number,
): Sent => [LEFT, gone.map(keyText), tasks.map(keyText), limit(max), until];

export const FORGET_OWNERS = `DELETE FROM @job_owner WHERE id IN (SELECT o.id FROM @job_owner o WHERE o.until <= $1
  AND NOT EXISTS (SELECT 1 FROM @job j WHERE j.owner = o.id) FOR UPDATE SKIP LOCKED)`;
