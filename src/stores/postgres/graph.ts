import { requireLegalEnd } from "../../graph/fork.ts";
import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeAddress, nodeId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { decodeEntries, type EncodedEntry, encodeEntries, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Segment } from "../store.ts";
import type { Database, Transaction, Value } from "./database.ts";
import { limit } from "./facts.ts";
import { parsed } from "./text.ts";

/** What reads need: a transaction, or the database where one statement is enough. */
type Reader = Pick<Database | Transaction, "row" | "rows">;

/** A node: the number of its segment, and where in there. */
export interface Place {
  readonly segment: number;
  readonly index: number;
}

/** A segment without its entries, which may be long. */
export interface Bones {
  readonly n: number;
  readonly session: number;
  /** Of its session, before the commit. */
  readonly revision: number;
  readonly depth: number;
  readonly parent: number | null;
  readonly parent_index: number | null;
  readonly size: number;
  readonly is_branch: boolean;
  readonly name: string;
}
const BONES = "s.n, s.session, s.revision, s.depth, s.parent, s.parent_index, s.size, s.is_branch, s.name";

// A segment is found by its turn; by its own name when an operation made it, or when its session was deleted.
const NUMBER = `coalesce((SELECT n FROM @turn WHERE id = $1), (SELECT n FROM @segment WHERE name = $1 AND is_named))`;

export async function numberOf(tx: Reader, commit: string): Promise<number | undefined> {
  const row = await tx.row<{ n: number | null }>(`SELECT ${NUMBER} AS n`, keyText(commit));
  return row?.n ?? undefined;
}

const BY_NAME = `SELECT ${BONES} FROM @segment s WHERE s.n = ${NUMBER}`;

/** Throws `fork.unknown` when there is no such node. */
export async function requirePlace(tx: Reader, id: NodeId): Promise<Place> {
  const address = nodeAddress(id);
  const bones = address === undefined ? undefined : await tx.row<Bones>(BY_NAME, keyText(address.commit));
  if (address === undefined || bones === undefined || address.index >= bones.size)
    throw new RuntimeError("fork.unknown", { node: id });
  return { segment: bones.n, index: address.index };
}

const missing = (segment: number): RuntimeError => corrupt(`Segment ${segment}`, "it is missing");

/** A segment's name, and how many are before it on its path. */
export interface Tip {
  readonly name: string;
  readonly depth: number;
}

export async function tipOf(tx: Reader, segment: number): Promise<Tip> {
  const bones = await tx.row<Tip>("SELECT name, depth FROM @segment WHERE n = $1", segment);
  if (bones === undefined) throw missing(segment);
  return { name: fromKeyText(bones.name), depth: bones.depth };
}

const parentOf = ({ parent, parent_index: index }: Pick<Bones, "parent" | "parent_index">): Place | undefined =>
  parent === null || index === null ? undefined : { segment: parent, index };

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export interface NewSegment {
  readonly n: number;
  readonly name: string;
  readonly depth: number;
  /** It is found by its own name: no turn made it. */
  readonly isNamed: boolean;
  readonly isBranch: boolean;
}
/** A session, as it is before the commit. */
type Before = { readonly n: number; readonly revision: number };

/** The columns of a new segment, in the order of `segmentRow`. It counts one user: whoever keeps its last place. */
export const SEGMENT_COLUMNS = `n, session, revision, depth, parent, parent_index, size, users, is_named, is_branch, name,
  entries`;

export const segmentRow = (
  of: NewSegment,
  session: Before,
  base: Place | undefined,
  entries: readonly Entry[],
): Value[] => [
  of.n,
  session.n,
  session.revision,
  of.depth,
  base?.segment ?? null,
  base?.index ?? null,
  entries.length,
  1,
  of.isNamed,
  of.isBranch,
  keyText(of.name),
  JSON.stringify(encodeEntries(entries, of.name)),
];

const LAY = `INSERT INTO @segment (${SEGMENT_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`;

/** Keeps a commit's nodes and answers the last one. The segment counts one user: whoever keeps that place. */
export function lay(
  tx: Transaction,
  of: NewSegment,
  session: Before,
  base: Place | undefined,
  entries: readonly Entry[],
): Place {
  tx.queue(LAY, ...segmentRow(of, session, base, entries));
  return { segment: of.n, index: entries.length - 1 };
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A segment with its entries. */
export interface SegmentRow {
  readonly n: number;
  readonly size: number;
  readonly name: string;
  readonly entries: string;
}

export async function entriesOf(tx: Reader, segment: number): Promise<readonly Entry[]> {
  const row = await tx.row<SegmentRow>("SELECT n, size, name, entries FROM @segment WHERE n = $1", segment);
  if (row === undefined) throw missing(segment);
  return entriesIn(row);
}

export function entriesIn(row: SegmentRow): readonly Entry[] {
  const commit = fromKeyText(row.name);
  const item = `The segment of ${commit}`;
  const found = decodeEntries(parsed<readonly EncodedEntry[]>(row.entries, item), commit);
  if (found.length !== row.size) throw corrupt(item, `it has ${found.length} nodes, not ${row.size}`);
  return found;
}

interface PathRow extends SegmentRow {
  readonly parent: number | null;
  readonly parent_index: number | null;
  /** The name of its parent; only in the last row of a page, which has no row after it to tell it. */
  readonly above: string | null;
}
// A path goes up in depth: rows that led in a circle would never end.
const PATH = `WITH RECURSIVE path(nth, n, depth, parent, parent_index, size, name, entries) AS (
    SELECT 1, n, depth, parent, parent_index, size, name, entries FROM @segment WHERE n = $1
    UNION ALL
    SELECT p.nth + 1, s.n, s.depth, s.parent, s.parent_index, s.size, s.name, s.entries
      FROM path p JOIN @segment s ON s.n = p.parent AND s.depth < p.depth WHERE $2::integer IS NULL OR p.nth < $2)
  SELECT n, parent, parent_index, size, name, entries,
    CASE WHEN nth = $2 THEN (SELECT name FROM @segment s WHERE s.n = path.parent) END AS above
  FROM path ORDER BY nth`;
/** How many segments are read at first where nobody knows how far the frame is. */
const PAGE = 50;

/** Segments of the path that ends at `from`, newest first, as `Store.view` answers them. */
export async function view(
  tx: Reader,
  from: Place | undefined,
  max: number,
  toFrame: boolean,
): Promise<readonly Segment[]> {
  const path: Segment[] = [];
  let page: readonly PathRow[] = [];
  for (let place = from, at = 0; place !== undefined && path.length < max; at++) {
    if (at === page.length) {
      const left = max - path.length;
      page = await tx.rows(PATH, place.segment, limit(toFrame ? Math.min(left, PAGE + 3 * path.length) : left));
      at = 0;
    }
    const row: PathRow | undefined = page[at];
    if (row?.n !== place.segment) throw missing(place.segment);
    const whole = entriesIn(row);
    const entries = place.index === whole.length - 1 ? whole : whole.slice(0, place.index + 1);
    const commit = fromKeyText(row.name);
    place = parentOf(row);
    if (place === undefined) path.push({ commit, entries });
    else {
      const above = page[at + 1]?.name ?? row.above;
      if (above === null) throw missing(place.segment);
      path.push({ commit, parent: nodeId(fromKeyText(above), place.index), entries });
    }
    if (toFrame && hasFrame(entries)) break;
  }
  return path;
}

function hasFrame(entries: readonly Entry[]): boolean {
  for (let index = 0; index < entries.length; index++) if (entries[index]?.kind === "frame") return true;
  return false;
}

// `last`: up to which of its nodes a segment is on the path. It ends at the depth of the segment that is looked for.
const DOWN_TO = `path(n, last, depth, parent, parent_index) AS (
    SELECT n, $3::integer, depth, parent, parent_index FROM @segment WHERE n = $2
    UNION ALL
    SELECT s.n, p.parent_index, s.depth, s.parent, s.parent_index
      FROM path p JOIN @segment s ON s.n = p.parent AND s.depth < p.depth WHERE p.depth > (SELECT depth FROM target))`;
const ON_PATH = `WITH RECURSIVE target AS (SELECT n, depth FROM @segment WHERE n = ${NUMBER}), ${DOWN_TO}
  SELECT path.last FROM path JOIN target ON target.n = path.n`;

/** Whether a node is the head, or on the path to it. */
export async function isOnPath(tx: Reader, head: Place | undefined, id: NodeId): Promise<boolean> {
  const address = nodeAddress(id);
  if (address === undefined || head === undefined) return false;
  const row = await tx.row<{ last: number }>(ON_PATH, keyText(address.commit), head.segment, head.index);
  return row !== undefined && address.index <= row.last;
}

// ── Forks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Names plugin states: of which session, as of which revision. */
export interface StatesOf {
  readonly session: number;
  readonly revision: number;
}

interface ForkRow extends Bones {
  readonly last: number;
  /** The name of its parent. */
  readonly above: string | null;
}
// The segment itself, and the one after it on the path.
const FORK = `WITH RECURSIVE target AS (SELECT depth FROM @segment WHERE n = $1), ${DOWN_TO}
  SELECT ${BONES}, path.last, (SELECT name FROM @segment a WHERE a.n = s.parent) AS above
  FROM path JOIN @segment s ON s.n = path.n WHERE path.depth <= (SELECT depth + 1 FROM target) ORDER BY path.depth`;

/** Checks that a fork may begin at this node of the path, and says which plugin states it takes. */
export async function forkPoint(
  tx: Reader,
  head: Place | undefined,
  now: StatesOf,
  at: Place,
  id: NodeId,
): Promise<StatesOf> {
  const rows = head === undefined ? [] : await tx.rows<ForkRow>(FORK, at.segment, head.segment, head.index);
  const [own, after] = rows;
  if (own?.n !== at.segment || own.last < at.index) throw new RuntimeError("fork.unknown", { node: id });
  // A commit that added no node changed the states at its place; the next segment knows them as the ones before it.
  if (own.last === at.index) return after ?? now;
  const parent = parentOf(own);
  const above = parent && own.above !== null ? nodeId(fromKeyText(own.above), parent.index) : undefined;
  const commit = { commit: fromKeyText(own.name), entries: await entriesOf(tx, own.n) };
  requireLegalEnd(commit, at.index, own.last, () => above);
  return own;
}

/** Adds a user to a segment: a head, a branch or a segment that builds on it. */
export function use(tx: Transaction, { segment }: Place): void {
  tx.queue("UPDATE @segment SET users = users + 1 WHERE n = $1", segment);
}

// Those that have no other user than the one before them on the path, and the first that has.
const OWN = `WITH RECURSIVE own AS (
    SELECT n, parent, depth, users FROM @segment WHERE n = $1
    UNION ALL
    SELECT s.n, s.parent, s.depth, s.users FROM own o JOIN @segment s ON s.n = o.parent AND s.depth < o.depth
      WHERE o.users = 1)
  SELECT s.n, s.parent, s.session, s.users FROM @segment s WHERE s.n IN (SELECT n FROM own)
  ORDER BY s.depth DESC FOR UPDATE`;
// Whoever deletes a session counts it here. Held from the first release to the end, it lets no two deletes be in each
// other's way: each would leave behind what the other, unseen, was the last to use.
const ONE_BY_ONE = "SELECT value FROM @counter WHERE name = 'gone' FOR UPDATE";

/** Takes one user from a segment. Without any left it is deleted, and its parent loses one too. */
export async function release(tx: Transaction, segment: number): Promise<void> {
  tx.queue(ONE_BY_ONE);
  for (let n: number | null = segment; n !== null; ) {
    const path: { n: number; parent: number | null; session: number; users: number }[] = await tx.rows(OWN, n);
    if (path.length === 0) throw missing(n);
    // The rows are as they are under their locks: a fork may have begun to use one meanwhile.
    const used = path.findIndex(({ users }) => users > 1);
    const gone = used === -1 ? path : path.slice(0, used);
    if (gone.length > 0)
      tx.queue(
        "DELETE FROM @segment WHERE n = ANY ($1::bigint[])",
        gone.map((each) => each.n),
      );
    if (used !== -1) tx.queue("UPDATE @segment SET users = users - 1 WHERE n = $1", path[used]!.n);
    for (const session of new Set(gone.map((each) => each.session))) forgetStates(tx, session);
    n = used === -1 ? (path.at(-1)?.parent ?? null) : null;
  }
}

/** The states of a deleted session stay as long as a fork can ask for them. */
export function forgetStates(tx: Transaction, session: number): void {
  tx.queue(ONE_BY_ONE);
  tx.queue(
    `DELETE FROM @state WHERE session = $1 AND NOT EXISTS (SELECT 1 FROM @session WHERE n = $1)
       AND NOT EXISTS (SELECT 1 FROM @segment WHERE session = $1 AND is_named)`,
    session,
  );
}
