import { requireLegalEnd } from "../../graph/fork.ts";
import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeAddress, nodeId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { corrupt } from "../rows/faults.ts";
import type { Segment } from "../store.ts";
import { SEGMENT, SESSION, type SegmentRow, type SessionRow, STATE, TURN } from "../tables.ts";
import type { PathPage, Port } from "./port.ts";
import { all, type Rule } from "./rule.ts";

/**
 * The graph of nodes. The nodes of one commit are a segment. Forks share segments, which may outlive the session that
 * made them.
 */

/** The position of a node. */
export interface NodePosition {
  readonly segment: number;
  readonly index: number;
}

export const headOf = ({ head, headIndex }: Pick<SessionRow, "head" | "headIndex">): NodePosition | undefined =>
  head === null || headIndex === null ? undefined : { segment: head, index: headIndex };

const parentOf = ({ parent, parentIndex }: SegmentRow): NodePosition | undefined =>
  parent === null || parentIndex === null ? undefined : { segment: parent, index: parentIndex };

const missing = (segment: number): RuntimeError => corrupt(`Segment ${segment}`, "it is missing");

/** Returns the segment of the head; undefined if the session has no node. */
export function* tipOf(db: Port, { head }: Pick<SessionRow, "head">): Rule<SegmentRow | undefined> {
  return head === null ? undefined : yield* requireSegment(db, head);
}

function* requireSegment(db: Port, n: number): Rule<SegmentRow> {
  const row = yield* db.get(SEGMENT, "key", n);
  if (row === undefined) throw missing(n);
  return row;
}

/** Returns the id of the head; undefined if the session has no node. */
export const headId = (session: SessionRow, tip: SegmentRow | undefined): NodeId | undefined =>
  tip === undefined || session.headIndex === null ? undefined : nodeId(tip.name, session.headIndex);

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the segment of a commit. It is found by its turn, or by its name if an operation made it or its session was
 * deleted.
 */
export function* segmentOf(db: Port, commit: string): Rule<SegmentRow | undefined> {
  const [turn, named] = yield* all([db.get(TURN, "id", commit), db.get(SEGMENT, "named", commit)]);
  return turn === undefined ? named : yield* db.get(SEGMENT, "key", turn.n);
}

/** Returns whether a turn or a segment has this name. */
export function* isNamed(db: Port, commit: string): Rule<boolean> {
  const [turn, named] = yield* all([db.get(TURN, "id", commit), db.get(SEGMENT, "named", commit)]);
  return turn !== undefined || named !== undefined;
}

/** Throws `fork.unknown` if the node does not exist. */
export function* requirePosition(db: Port, id: NodeId): Rule<NodePosition & { readonly depth: number }> {
  const address = nodeAddress(id);
  const segment = address === undefined ? undefined : yield* segmentOf(db, address.commit);
  if (address === undefined || segment === undefined || address.index >= segment.size)
    throw new RuntimeError("fork.unknown", { node: id });
  return { segment: segment.n, index: address.index, depth: segment.depth };
}

/** Returns segments from this one up its path, newest first. */
function* pathFrom(db: Port, from: number, page: PathPage): Rule<readonly SegmentRow[]> {
  if (db.path !== undefined) return yield* db.path(from, page);
  const path: SegmentRow[] = [];
  for (let n: number | null = from; n !== null && path.length < page.max; ) {
    const [row]: readonly SegmentRow[] = yield* db.scan(SEGMENT, "key", [n], { isWhole: page.isWhole === true });
    if (row === undefined || row.depth < (page.depth ?? 0)) break;
    path.push(row);
    n = row.parent;
  }
  return path;
}

/** Returns the segments on the path from a position down to a depth, each with the last of its nodes on that path. */
function* positionsFrom(
  db: Port,
  from: NodePosition,
  depth: number,
): Rule<readonly { readonly row: SegmentRow; readonly last: number }[]> {
  const rows = yield* pathFrom(db, from.segment, { max: Infinity, depth });
  return rows.map((row, at) => ({ row, last: at === 0 ? from.index : rows[at - 1]!.parentIndex! }));
}

/** Returns whether a node is the head or on the path to it. */
export function* isOnPath(db: Port, head: NodePosition | undefined, id: NodeId): Rule<boolean> {
  const address = nodeAddress(id);
  const target = address === undefined ? undefined : yield* segmentOf(db, address.commit);
  if (address === undefined || target === undefined || head === undefined) return false;
  const found = (yield* positionsFrom(db, head, target.depth)).find(({ row }) => row.n === target.n);
  return found !== undefined && address.index <= found.last;
}

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export function entriesIn({ name, entries = [], size }: SegmentRow): readonly Entry[] {
  if (entries.length !== size) throw corrupt(`The segment of ${name}`, `it has ${entries.length} nodes, not ${size}`);
  return entries;
}

/** How many segments the first page has when the distance to the frame is unknown. */
const PAGE = 50;

/** Segments of the path that ends at `from`, newest first, as `Store.view` returns them. */
export function* view(
  db: Port,
  from: NodePosition | undefined,
  max: number,
  toFrame: boolean,
): Rule<readonly Segment[]> {
  const path: Segment[] = [];
  let page: readonly SegmentRow[] = [];
  for (let place = from, at = 0; place !== undefined && path.length < max; at++) {
    if (at === page.length) {
      const left = max - path.length;
      const most = toFrame ? Math.min(left, PAGE + 3 * path.length) : left;
      page = yield* pathFrom(db, place.segment, { max: most, isWhole: true });
      at = 0;
    }
    const row: SegmentRow | undefined = page[at];
    if (row?.n !== place.segment) throw missing(place.segment);
    const whole = entriesIn(row);
    const entries = place.index === whole.length - 1 ? whole : whole.slice(0, place.index + 1);
    place = parentOf(row);
    if (place === undefined) path.push({ commit: row.name, entries });
    else {
      const above: SegmentRow = page[at + 1] ?? (yield* requireSegment(db, place.segment));
      path.push({ commit: row.name, parent: nodeId(above.name, place.index), entries });
    }
    if (toFrame && entries.some(({ kind }) => kind === "frame")) break;
  }
  return path;
}

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Stores a commit's nodes as a segment and returns the position of the last one. The segment starts with one user: the
 * row that stores that position.
 */
export function appendSegment(
  db: Port,
  of: Pick<SegmentRow, "n" | "name" | "isNamed" | "isBranch" | "depth">,
  { n: session, revision }: SessionRow,
  base: NodePosition | undefined,
  entries: readonly Entry[],
): NodePosition {
  const parent = { parent: base?.segment ?? null, parentIndex: base?.index ?? null };
  // Copied, because the turn's log may continue to grow in the given list.
  db.insert(SEGMENT, { ...of, session, revision, ...parent, size: entries.length, users: 1, entries: entries.slice() });
  return { segment: of.n, index: entries.length - 1 };
}

/** Counts a new user of a segment: a head, a branch or a child segment. */
export function* addUser(db: Port, segment: number): Rule<void> {
  if (db.use !== undefined) return db.use(segment, 1);
  const row = yield* requireSegment(db, segment);
  db.update(SEGMENT, row, { users: row.users + 1 });
}

const RELEASED = 500;

/** Removes a user of a segment. A segment without users is deleted, which removes a user of its parent. */
export function* removeUser(db: Port, segment: number): Rule<void> {
  db.lock({ graph: true });
  const sessions = new Set<number>();
  for (let next: number | null = segment; next !== null; ) {
    const path: readonly SegmentRow[] = yield* pathFrom(db, next, { max: RELEASED, isLocked: true });
    if (path[0]?.n !== next) throw missing(next);
    const used = path.findIndex(({ users }) => users > 1);
    const gone = used === -1 ? path : path.slice(0, used);
    for (const row of gone) {
      db.remove(SEGMENT, row);
      sessions.add(row.session);
    }
    if (used !== -1) db.update(SEGMENT, path[used]!, { users: path[used]!.users - 1 });
    next = used === -1 ? path.at(-1)!.parent : null;
  }
  for (const session of sessions) yield* forgetStates(db, session);
}

/** Deletes the states of a deleted session once no fork can ask for them. */
export function* forgetStates(db: Port, session: number): Rule<void> {
  const [there, left] = yield* all([db.get(SESSION, "key", session), db.scan(SEGMENT, "left", [session], { max: 1 })]);
  if (there !== undefined || left.length > 0) return;
  if (db.forgetStates === undefined) db.removeAll(STATE, "session", session);
  else db.forgetStates(session);
}

// ── Forks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Identifies plugin states by session and revision. */
export interface StatesOf {
  readonly session: number;
  readonly revision: number;
}

/** Checks that a fork may begin at this node of the path, and returns the plugin states that it starts with. */
export function* forkPoint(
  db: Port,
  source: SessionRow,
  at: NodePosition & { readonly depth: number },
  id: NodeId,
): Rule<StatesOf> {
  const head = headOf(source);
  const places = head === undefined ? [] : yield* positionsFrom(db, head, at.depth);
  const found = places.at(-1);
  if (found?.row.n !== at.segment || found.last < at.index) throw new RuntimeError("fork.unknown", { node: id });
  // A commit without nodes may have changed the states after this node. The next segment records the states before it,
  // which include that change.
  if (found.last === at.index) return places.at(-2)?.row ?? { session: source.n, revision: source.revision };
  const parent = parentOf(found.row);
  const [above, whole] = yield* all([
    parent === undefined ? undefined : db.get(SEGMENT, "key", parent.segment),
    db.scan(SEGMENT, "key", [at.segment], { isWhole: true }),
  ]);
  const own = { commit: found.row.name, entries: entriesIn(whole[0]!) };
  requireLegalEnd(own, at.index, found.last, () => (above && parent ? nodeId(above.name, parent.index) : undefined));
  return found.row;
}
