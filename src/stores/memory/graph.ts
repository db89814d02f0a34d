import { requireLegalEnd } from "../../graph/fork.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asTurnId, type NodeId, nodeAddress, nodeId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import type { PluginSnapshots, Segment } from "../store.ts";
import type { Place, SegmentRow, SessionRow } from "./rows.ts";
import type { Turns } from "./turns.ts";

/** The segments of all sessions. A turn keeps its own; forks share them, so they may outlive the session they are of. */
export class Graph {
  readonly #turns: Turns;
  /** Segments that no turn holds: of deleted sessions, and of operations between turns. */
  readonly #inherited = new Map<string, SegmentRow>();

  constructor(turns: Turns) {
    this.#turns = turns;
  }

  /** Throws `fork.unknown` when there is no such node. */
  require(id: NodeId): Place {
    const address = nodeAddress(id);
    const segment = address === undefined ? undefined : this.#segment(address.commit);
    if (address === undefined || segment === undefined || address.index >= segment.entries.length) {
      throw new RuntimeError("fork.unknown", { node: id });
    }
    return { id, segment, index: address.index };
  }

  #segment(commit: string): SegmentRow | undefined {
    return this.#turns.byId.get(asTurnId(commit))?.segment ?? this.#inherited.get(commit);
  }

  has(commit: string): boolean {
    return this.#segment(commit) !== undefined;
  }

  /** Keeps the nodes of an operation between turns. */
  add(operation: string, session: SessionRow, entries: readonly Entry[]): Place {
    const place = lay(operation, session, session.head, entries);
    this.#inherited.set(operation, place.segment);
    return place;
  }

  /** Forgets the segments that only this session used. Forks find the others by their commit from then on. */
  forget(session: SessionRow): void {
    if (session.head !== undefined) this.#release(session.head.segment);
    for (const branch of session.branches ?? []) this.#release(branch);
    for (let turn = session.latest; turn !== undefined; turn = turn.earlier) {
      if (turn.segment !== undefined && turn.segment.users > 0) this.#inherited.set(turn.id, turn.segment);
    }
  }

  /** Takes one user from a segment. Without any left it is forgotten, and its parent loses one too. */
  #release(segment: SegmentRow): void {
    for (let each: SegmentRow | undefined = segment; each !== undefined; each = each.parent?.segment) {
      each.users -= 1;
      if (each.users > 0) return;
      this.#inherited.delete(each.commit);
    }
  }
}

/** Makes a segment of a commit's nodes and answers its last node. It counts one user: whoever keeps that place. */
export function lay(commit: string, session: SessionRow, base: Place | undefined, entries: readonly Entry[]): Place {
  const own = entries.slice(); // The turn's log may go on growing in the list.
  const depth = base === undefined ? 0 : base.segment.depth + 1;
  const segment: SegmentRow = { commit, entries: own, parent: base, depth, before: session.plugins, users: 1 };
  return { id: nodeId(commit, own.length - 1), segment, index: own.length - 1 };
}

/** Whether a node is the head, or on the path to it. */
export function isOnPath({ head }: SessionRow, id: NodeId): boolean {
  const address = nodeAddress(id);
  for (let place = head; place !== undefined; place = place.segment.parent) {
    if (place.segment.commit === address?.commit) return address.index <= place.index;
  }
  return false;
}

export function pathOf(from: Place | undefined, max: number, toFrame: boolean): readonly Segment[] {
  const path: Segment[] = [];
  for (let place = from; place !== undefined && path.length < max; place = place.segment.parent) {
    const segment = upTo(place);
    path.push(segment);
    if (toFrame && segment.entries.some(({ kind }) => kind === "frame")) break;
  }
  return path;
}

function upTo({ segment: { commit, parent, entries }, index }: Place): Segment {
  const part = index === entries.length - 1 ? entries : entries.slice(0, index + 1);
  return parent === undefined ? { commit, entries: part } : { commit, parent: parent.id, entries: part };
}

/** A place on the active path where a fork may begin, and the plugin states as of it. */
export function forkPoint(
  session: SessionRow,
  at: Place,
): { readonly place: Place; readonly plugins: PluginSnapshots } {
  // A commit that added no node changed the states at its place; the next segment knows them as the ones before it.
  let plugins = session.plugins;
  for (let end = session.head; end !== undefined && end.segment.depth >= at.segment.depth; end = end.segment.parent) {
    if (end.segment === at.segment && end.index >= at.index) {
      if (end.index === at.index) return { place: end, plugins };
      requireLegalEnd(at.segment, at.index, end.index, () => at.segment.parent?.id);
      return { place: at, plugins: at.segment.before };
    }
    plugins = end.segment.before;
  }
  throw new RuntimeError("fork.unknown", { node: at.id });
}
