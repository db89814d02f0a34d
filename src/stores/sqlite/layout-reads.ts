import { fromKeyText, keyText } from "../rows/codec.ts";
import { kindOf } from "../rows/trigger.ts";
import type { PathPage } from "../rules/port.ts";
import type { PluginSnapshot, PluginSnapshots, Store } from "../store.ts";
import { SEGMENT, type SegmentRow, STATE, SUBSCRIPTION, type SubscriptionRow, WAIT, type WaitRow } from "../tables.ts";
import type { Connection } from "./connection.ts";
import type { Value } from "./database.ts";
import { limit } from "./facts.ts";
import { LIMIT, readRow, type StoredRow } from "./layout-rows.ts";
import { entriesIn, type StoredTable, storedTableOf } from "./layouts.ts";

/** Reads that take one statement here and several in the rules. */

/** Decodes a row of the file and caches it for a later change. */
export type Reader = <Row extends object>(place: StoredTable, stored: StoredRow, isWhole: boolean) => Row;

// ── The graph ───────────────────────────────────────────────────────────────────────────────────────────────────────

const segments = storedTableOf(SEGMENT);
// CROSS JOIN keeps the order of the path, because SQLite then starts with the left table. A parent must have a lower
// depth than its child, so that damaged rows cannot form a circle. (Its number may be higher: a turn is numbered at
// acceptance, an operation when it is applied.)
const pathOf = (columns: string): string => `WITH RECURSIVE path(n, parent, depth) AS (
    SELECT n, parent, depth FROM segment WHERE n = ? AND depth >= ?
    UNION ALL SELECT s.n, s.parent, s.depth
      FROM path JOIN segment s ON s.n = path.parent AND s.depth < path.depth AND s.depth >= ?
    ${LIMIT})
  SELECT ${columns} FROM path CROSS JOIN segment t ON t.n = path.n`;
const PATH = pathOf(segments.statements.short);
const WHOLE_PATH = pathOf(segments.statements.whole);

export function pathFrom(
  db: Connection,
  read: Reader,
  from: number,
  { max, depth = LOWEST, isWhole = false }: PathPage,
): readonly SegmentRow[] {
  const rows = db.rows<StoredRow>(isWhole ? WHOLE_PATH : PATH, from, depth, depth, limit(max));
  return rows.map((stored) => {
    const row = read<SegmentRow>(segments, stored, false);
    return isWhole ? withEntries(row, stored) : row;
  });
}

/** A path is often read only up to its frame. Entries behind it are not decoded, and may be damaged. */
function withEntries(row: SegmentRow, stored: StoredRow): SegmentRow {
  const show = (how: { get(): SegmentRow["entries"] } | { value: SegmentRow["entries"] }) =>
    Object.defineProperty(row, "entries", { ...how, enumerable: true, configurable: true });
  return show({
    get: () => {
      const value = entriesIn(stored);
      show({ value });
      return value;
    },
  });
}
/** Below all depths, because a damaged one may be negative. */
const LOWEST = Number.MIN_SAFE_INTEGER;

// ── States of plugins ───────────────────────────────────────────────────────────────────────────────────────────────

const states = storedTableOf(STATE);
// Jumps from plugin to plugin along the key, so that a long history is not read.
const STATES = `WITH RECURSIVE name(plugin) AS (
    SELECT min(plugin) FROM state WHERE session = ?
    UNION ALL
    SELECT (SELECT min(plugin) FROM state WHERE session = ? AND plugin > name.plugin) FROM name
      WHERE name.plugin IS NOT NULL
  )
  SELECT s.session, s.plugin, s.since, s.body FROM name JOIN state s ON s.session = ? AND s.plugin = name.plugin
    AND s.since = (SELECT max(since) FROM state WHERE session = ? AND plugin = name.plugin AND since <= ?)`;

export function statesAt(db: Connection, session: number, revision: number): PluginSnapshots {
  const rows = db.rows<StoredRow>(STATES, session, session, session, session, revision);
  const found: { [plugin: string]: PluginSnapshot } = {};
  for (const stored of rows) {
    const { body } = readRow(states.layout, stored, false) as { readonly body: PluginSnapshot | null };
    if (body === null) continue;
    const plugin = fromKeyText(stored.plugin as string);
    Object.defineProperty(found, plugin, { value: body, enumerable: true, configurable: true, writable: true });
  }
  return found;
}

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const waits = storedTableOf(WAIT);

/** Selects the ids of a session and its descendants. `UNION` ends a circle. The only parameter is the session. */
const TREE = `WITH RECURSIVE tree(id) AS (
  VALUES (?) UNION SELECT child.id FROM tree JOIN session child ON child.parent_id = tree.id)`;

// `place`: the fact of the question. For a wait that moved with its job, the fact belongs to another row.
const LISTED = "SELECT w.*, coalesce(w.asked, w.moved) AS place";
const unanswered = (place: "asked" | "moved"): string =>
  `w.key IS NOT NULL AND w.${place} > ? AND w.answer IS NULL ORDER BY w.${place} ${LIMIT}`;
const OF_ALL = `
  SELECT * FROM (${LISTED} FROM wait w INDEXED BY wait_open WHERE ${unanswered("asked")})
  UNION ALL SELECT * FROM (${LISTED} FROM wait w INDEXED BY wait_moved WHERE ${unanswered("moved")})
  ORDER BY place ${LIMIT}`;
// Waits of jobs; the others are of open turns.
const ofJobs = (which: string, place: "asked" | "moved"): string => `
  SELECT * FROM (${LISTED} FROM session s CROSS JOIN wait w INDEXED BY wait_job_session ON w.session = s.n
    WHERE s.id ${which} AND w.job IS NOT NULL ${place === "moved" ? "AND w.asked IS NULL" : ""}
      AND ${unanswered(place)})`;
const ofSessions = (which: string): string => `
  SELECT * FROM (${LISTED} FROM session s CROSS JOIN wait w ON w.turn = s.turn WHERE s.id ${which}
    AND ${unanswered("asked")})
  UNION ALL ${ofJobs(which, "asked")} UNION ALL ${ofJobs(which, "moved")}
  ORDER BY place ${LIMIT}`;
const OF_ONE = `WITH one(id) AS (VALUES (?)) ${ofSessions("= (SELECT id FROM one)")}`;
const OF_TREE = `${TREE} ${ofSessions("IN (SELECT id FROM tree)")}`;
const ASKED = "SELECT max(coalesce(asked, moved)) AS asked FROM wait WHERE id = ?";

export function listWaits(
  db: Connection,
  read: Reader,
  page: Parameters<Store["waits"]["list"]>[0],
): readonly WaitRow[] {
  const { session, tree, after, max } = page;
  const last = after === undefined ? 0 : db.row<{ asked: number | null }>(ASKED, after)!.asked;
  if (last === null) return []; // The session of that wait was deleted, or the wait has no question.
  const root = tree ?? session;
  const each = [last, limit(max)];
  const rows =
    root === undefined
      ? db.rows<StoredRow>(OF_ALL, ...each, ...each, limit(max))
      : db.rows<StoredRow>(tree === undefined ? OF_ONE : OF_TREE, root, ...each, ...each, ...each, limit(max));
  return rows.map((stored) => read<WaitRow>(waits, stored, false));
}

// ── Subscriptions ───────────────────────────────────────────────────────────────────────────────────────────────────

const subscriptions = storedTableOf(SUBSCRIPTION);

export function listSubscriptions(
  db: Connection,
  read: Reader,
  { session, event, kinds, after, max }: Parameters<Store["triggers"]["list"]>[0],
): readonly SubscriptionRow[] {
  const terms: readonly (readonly [string, readonly Value[] | undefined])[] = [
    ["u.session = (SELECT n FROM session WHERE id = ?)", session && [session]],
    [
      "u.is_enabled = 1 AND u.event = ? AND (u.source IS NULL OR u.source = ?)",
      event && [keyText(event.name), event.source === undefined ? null : keyText(event.source)],
    ],
    [
      "u.is_enabled = 1 AND u.kind IN (SELECT value FROM json_each(?))",
      kinds && [JSON.stringify(kinds.map((kind) => kindOf(kind)))],
    ],
    ["(s.id, u.id) > (?, ?)", after && [after.session, keyText(after.id)]],
  ];
  const given = terms.filter((term): term is readonly [string, readonly Value[]] => term[1] !== undefined);
  const which = given.length === 0 ? "" : `WHERE ${given.map(([term]) => term).join(" AND ")}`;
  const values = given.flatMap(([, each]) => each);
  const sql = `SELECT u.* FROM subscription u CROSS JOIN session s ON s.n = u.session ${which}
    ORDER BY s.id, u.id ${LIMIT}`;
  return db
    .rows<StoredRow>(sql, ...values, limit(max))
    .map((stored) => read<SubscriptionRow>(subscriptions, stored, false));
}
