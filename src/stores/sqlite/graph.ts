import { requireLegalEnd } from "../../graph/fork.ts";
import { RuntimeError } from "../../model/errors.ts";
import { type NodeId, nodeAddress, nodeId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { decodeEntries, type EncodedEntry, encodeEntries, fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { Segment } from "../store.ts";
import { seal, sumOf, unsealText } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";

/** A node: the number of its segment, and where in there. */
export interface Place {
  readonly segment: number;
  readonly index: number;
}

/** A segment without its entries, which may be long. */
interface Bones {
  readonly n: number;
  readonly session: number;
  readonly revision: number;
  readonly depth: number;
  readonly parent: number | null;
  readonly parent_index: number | null;
  readonly size: number;
  readonly is_branch: number;
  readonly name: string;
}
const BONES = "s.n, s.session, s.revision, s.depth, s.parent, s.parent_index, s.size, s.is_branch, s.name";
const FIND = `SELECT ${BONES} FROM segment s WHERE n = ?`;
const LAY = `INSERT INTO segment (n, session, revision, depth, parent, parent_index, size, is_branch, name, users, is_named,
    entries)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`;

/** Throws `fork.unknown` when there is no such node. */
export function requirePlace(db: Connection, id: NodeId): Place {
  const address = nodeAddress(id);
  const segment = address === undefined ? undefined : numberOf(db, address.commit);
  const bones = segment === undefined ? undefined : bonesOf(db, segment);
  if (address === undefined || bones === undefined || address.index >= bones.size)
    throw new RuntimeError("fork.unknown", { node: id });
  return { segment: bones.n, index: address.index };
}

/** Finds a segment by its turn; by its own name when an operation made it, or when its session was deleted. */
export function numberOf(db: Connection, commit: string): number | undefined {
  const name = keyText(commit);
  return (
    db.row<{ n: number }>("SELECT n FROM turn WHERE id = ?", name)?.n ??
    db.row<{ n: number }>("SELECT n FROM segment WHERE name = ? AND is_named = 1", name)?.n
  );
}

const bonesOf = (db: Connection, segment: number): Bones | undefined => db.row<Bones>(FIND, segment);

export function requireBones(db: Connection, segment: number): Bones {
  const bones = bonesOf(db, segment);
  if (bones === undefined) throw corrupt(`Segment ${segment}`, "it is missing");
  return bones;
}

const idOf = (db: Connection, { segment, index }: Place): NodeId =>
  nodeId(fromKeyText(requireBones(db, segment).name), index);

/** A segment's name, and how many are before it on its path. */
export interface Tip {
  readonly name: string;
  readonly depth: number;
}

export function tipOf(db: Connection, segment: number): Tip {
  const { name, depth } = requireBones(db, segment);
  return { name: fromKeyText(name), depth };
}

const parentOf = ({ parent, parent_index: index }: Pick<Bones, "parent" | "parent_index">): Place | undefined =>
  parent === null || index === null ? undefined : { segment: parent, index };

/** Keeps a commit's nodes and answers the last one. The segment counts one user: whoever keeps that place. */
export function lay(
  db: Connection,
  of: {
    readonly n: number;
    readonly name: string;
    readonly depth: number;
    readonly isNamed: boolean;
    readonly isBranch: boolean;
  },
  session: { readonly n: number; readonly revision: number },
  base: Place | undefined,
  entries: readonly Entry[],
): Place {
  const bones: Bones = {
    n: of.n,
    session: session.n,
    revision: session.revision,
    depth: of.depth,
    parent: base?.segment ?? null,
    parent_index: base?.index ?? null,
    size: entries.length,
    is_branch: of.isBranch ? 1 : 0,
    name: keyText(of.name),
  };
  const text = seal(encodeEntries(entries, of.name), seedOf(bones));
  db.run(LAY, ...Object.values(bones), of.isNamed ? 1 : 0, text);
  return { segment: of.n, index: entries.length - 1 };
}

export function entriesOf(db: Connection, bones: Bones): readonly Entry[] {
  const { entries } = db.row<{ entries: string }>("SELECT entries FROM segment WHERE n = ?", bones.n)!;
  return read({ ...bones, entries }, fromKeyText(bones.name));
}

function read(row: SegmentRow, commit: string): readonly Entry[] {
  const item = `The segment of ${commit}`;
  const text = unsealText(row.entries, seedOf(row), item, seedBefore(row.n, parentOf(row)));
  let found: readonly Entry[];
  try {
    found = decodeEntries(JSON.parse(restored(text, commit)) as readonly EncodedEntry[], commit);
  } catch (error) {
    throw corrupt(item, "it is not JSON", error);
  }
  if (found.length !== row.size) throw corrupt(item, `it has ${found.length} nodes, not ${row.size}`);
  return found;
}

const seedOf = ({ n, session, revision, depth, parent, parent_index, size, is_branch, name }: Bones): number =>
  sumOf([n, session, revision, depth, parent, parent_index, size, is_branch, name]);
const seedBefore = (n: number, base: Place | undefined): number =>
  n * 31 + (base === undefined ? 0 : base.segment * 17 + base.index + 1);

// Old files spell out the ids of messages, with this mark for the commit's name; no JSON contains it otherwise.
const MARK = "\u0001";
const restored = (text: string, name: string): string =>
  text.includes(MARK) ? text.replaceAll(MARK, () => JSON.stringify(name).slice(1, -1)) : text;

interface SegmentRow extends Bones {
  readonly entries: string;
}
// CROSS JOIN keeps the order of the path: SQLite takes no table before the one on its left. A parent is older than its
// child: one that is not is damaged, would lead in a circle, and is found by the child's checksum.
const PATH = `WITH RECURSIVE path(n, parent) AS (
    SELECT n, parent FROM segment WHERE n = ?
    UNION ALL SELECT s.n, s.parent FROM path JOIN segment s ON s.n = path.parent AND s.n < path.n LIMIT ?)
  SELECT ${BONES}, s.entries FROM path CROSS JOIN segment s ON s.n = path.n`;
/** How many segments are read at first where nobody knows how far the frame is. */
const PAGE = 50;

export function view(db: Connection, from: Place | undefined, max: number, toFrame: boolean): readonly Segment[] {
  const path: Segment[] = [];
  let page: readonly SegmentRow[] = [];
  for (let place = from, at = 0; place !== undefined && path.length < max; at++) {
    if (at === page.length) {
      const most = toFrame ? Math.min(max - path.length, PAGE + 3 * path.length) : max;
      page = db.rows<SegmentRow>(PATH, place.segment, limit(most));
      at = 0;
    }
    const row = page[at];
    if (row?.n !== place.segment) throw corrupt(`Segment ${place.segment}`, "it is missing");
    const commit = fromKeyText(row.name);
    const whole = read(row, commit);
    const entries = place.index === whole.length - 1 ? whole : whole.slice(0, place.index + 1);
    place = parentOf(row);
    if (place === undefined) path.push({ commit, entries });
    else {
      const above = page[at + 1] ?? requireBones(db, place.segment);
      path.push({ commit, parent: nodeId(fromKeyText(above.name), place.index), entries });
    }
    if (toFrame && hasFrame(entries)) break;
  }
  return path;
}

function hasFrame(entries: readonly Entry[]): boolean {
  for (let index = 0; index < entries.length; index++) if (entries[index]?.kind === "frame") return true;
  return false;
}

/** Whether a node is the head, or on the path to it. */
export function isOnPath(db: Connection, head: Place | undefined, id: NodeId): boolean {
  const address = nodeAddress(id);
  const segment = address === undefined ? undefined : numberOf(db, address.commit);
  const target = segment === undefined ? undefined : bonesOf(db, segment);
  if (address === undefined || target === undefined) return false;
  for (let place = head; place !== undefined; ) {
    if (place.segment === target.n) return address.index <= place.index;
    const bones = requireBones(db, place.segment);
    if (bones.depth <= target.depth) return false;
    place = parentOf(bones);
  }
  return false;
}

/** Names plugin states: of which session, as of which revision. */
export interface StatesOf {
  readonly session: number;
  readonly revision: number;
}

/** Checks that a fork may begin at this node of the path, and says which plugin states it takes. */
export function forkPoint(db: Connection, head: Place | undefined, now: StatesOf, at: Place, id: NodeId): StatesOf {
  const { depth } = requireBones(db, at.segment);
  // A commit that added no node changed the states at its place; the next segment knows them as the ones before it.
  let states = now;
  for (let end = head; end !== undefined; ) {
    const bones = requireBones(db, end.segment);
    if (bones.depth < depth) break;
    if (bones.n === at.segment && end.index >= at.index) {
      if (end.index === at.index) return states;
      const parent = parentOf(bones);
      const own = { commit: fromKeyText(bones.name), entries: entriesOf(db, bones) };
      requireLegalEnd(own, at.index, end.index, () => parent && idOf(db, parent));
      return bones;
    }
    states = bones;
    end = parentOf(bones);
  }
  throw new RuntimeError("fork.unknown", { node: id });
}

/** Adds a user to a segment: a head, a branch or a segment that builds on it. */
export function use(db: Connection, { segment }: Place): void {
  db.run("UPDATE segment SET users = users + 1 WHERE n = ?", segment);
}

/** Takes one user from a segment. Without any left it is deleted, and its parent loses one too. */
export function release(db: Connection, segment: number): void {
  for (let n: number | null = segment; n !== null; ) {
    const left: { users: number; parent: number | null; session: number } | undefined = db.row(
      "UPDATE segment SET users = users - 1 WHERE n = ? RETURNING users, parent, session",
      n,
    );
    if (left === undefined) throw corrupt(`Segment ${n}`, "it is missing");
    if (left.users > 0) return;
    db.run("DELETE FROM segment WHERE n = ?", n);
    forgetStates(db, left.session);
    n = left.parent;
  }
}

/** The states of a deleted session stay as long as a fork can ask for them. */
export function forgetStates(db: Connection, session: number): void {
  db.run(
    `DELETE FROM state WHERE session = ? AND NOT EXISTS (SELECT 1 FROM session WHERE n = ?)
       AND NOT EXISTS (SELECT 1 FROM segment WHERE session = ? AND is_named = 1)`,
    session,
    session,
    session,
  );
}
