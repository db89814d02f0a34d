import { RuntimeError } from "../model/errors.ts";
import { asTurnId, type NodeId, nodeAddress, nodeId, type SessionId } from "../model/ids.ts";
import type { Known } from "../model/known.ts";
import type { Entry, NodeBody } from "../model/node.ts";
import type { Segment, Segments } from "./segment.ts";

/** A node of a session's history. */
export type Node = { readonly id: NodeId; readonly parent?: NodeId; readonly at: number } & NodeBody;

export interface HistoryPage {
  /** The first node; the page continues towards the root. Default: the head. */
  readonly from?: string | undefined;
  /** Instead of `from`: the page begins before this node. For the next page, pass the last node of the page before. */
  readonly before?: string | undefined;
  /** Maximum number of nodes. Default: 100. */
  readonly max?: number | undefined;
}
export const HISTORY: Known<HistoryPage> = { from: true, before: true, max: true };

/** The difference between two sessions with a common origin. */
export interface Comparison {
  /** The last common node; omitted if there is none. */
  readonly common?: NodeId;
  /** The nodes after it, oldest first. */
  readonly ours: readonly Node[];
  readonly theirs: readonly Node[];
}

/** Returns nodes newest first, over all frames. The next page begins at the `parent` of the last node. */
export async function historyOf(segments: Segments, id: SessionId, page: HistoryPage): Promise<readonly Node[]> {
  if (page.before !== undefined && page.from !== undefined)
    throw new RuntimeError("options.invalid", { option: "before", problem: "it cannot be combined with `from`" });
  const parent = await parentOf(segments, id, page.before);
  if (parent === null) return [];
  const { from = parent, max = 100 } = page;
  if (!(typeof max === "number" && max >= 1 && (max === Infinity || Number.isInteger(max))))
    throw new RuntimeError("options.invalid", { option: "max", problem: "it must be at least 1" });
  if (from !== undefined && !(typeof from === "string" && (await isIn(segments, id, from))))
    throw new RuntimeError("fork.unknown", { node: typeof from === "string" ? from : typeof from });
  const found: Node[] = [];
  for await (const node of nodesOf(segments, id, from as NodeId | undefined)) {
    found.push(node);
    if (found.length >= max) break;
  }
  return found;
}

/** The last node of a path that ends with this segment. */
export const leafOf = ({ commit, parent, entries }: Segment): NodeId | undefined =>
  entries.length === 0 ? parent : nodeId(commit, entries.length - 1);

/** The segments of a session with one more on top, which is not stored yet. */
export function withTop(segments: Segments, top: Segment): Segments {
  const { commit, entries } = top;
  /** How many of its entries a path to this node has; undefined when the node is not in it. */
  const lengthAt = (node: NodeId | undefined): number | undefined => {
    const address = node === undefined ? { commit, index: entries.length - 1 } : nodeAddress(node);
    return address?.commit === commit && address.index < entries.length ? address.index + 1 : undefined;
  };
  return {
    view: (session, page) => {
      const length = lengthAt(page?.from);
      return length === undefined ? segments.view(session, page) : [{ ...top, entries: entries.slice(0, length) }];
    },
    holds: (session, node) => lengthAt(node) !== undefined || segments.holds(session, node),
    terminal: (turn) => segments.terminal(turn),
  };
}

/** Returns the node before this one; null if it is the first. */
export async function parentOf(
  segments: Segments,
  id: SessionId,
  node: string | undefined,
): Promise<NodeId | null | undefined> {
  if (node === undefined) return undefined;
  const address = typeof node === "string" && (await isIn(segments, id, node)) ? nodeAddress(node) : undefined;
  if (address === undefined)
    throw new RuntimeError("fork.unknown", { node: typeof node === "string" ? node : typeof node });
  if (address.index > 0) return nodeId(address.commit, address.index - 1);
  const [segment] = await segments.view(id, { from: node as NodeId, max: 1 });
  return segment?.parent ?? null;
}

/** Returns whether a node is in the session: on the path to the head, or on a branch that a turn made. */
async function isIn(segments: Segments, id: SessionId, node: string): Promise<boolean> {
  const commit = nodeAddress(node)?.commit;
  if (commit === undefined) return false;
  return (await segments.terminal(asTurnId(commit)))?.sessionId === id || (await segments.holds(id, node as NodeId));
}

const SEGMENTS = 32;

async function* nodesOf(segments: Segments, id: SessionId, from: NodeId | undefined): AsyncGenerator<Node> {
  for await (const segment of segmentsOf(segments, id, from))
    for (let index = segment.entries.length - 1; index >= 0; index--) yield nodeOf(segment, index);
}

/** Reads segments newest first, page by page. */
async function* segmentsOf(segments: Segments, id: SessionId, from: NodeId | undefined): AsyncGenerator<Segment> {
  for (let at = from, isFirst = true; isFirst || at !== undefined; isFirst = false) {
    const page = await segments.view(id, { max: SEGMENTS, ...(at === undefined ? {} : { from: at }) });
    yield* page;
    at = page.at(-1)?.parent;
  }
}

function nodeOf({ commit, parent, entries }: Segment, index: number): Node {
  const before = index === 0 ? parent : nodeId(commit, index - 1);
  return {
    id: nodeId(commit, index),
    ...(before === undefined ? {} : { parent: before }),
    ...(entries[index] as Entry),
  };
}

/** Walks back on both paths at once, so the cost depends on the difference only. */
export async function compare(segments: Segments, ours: SessionId, theirs: SessionId): Promise<Comparison> {
  const [mine, other] = [new Path(segments, ours), new Path(segments, theirs)];
  while (!mine.isWhole || !other.isWhole) {
    const common = (await mine.goBack(other)) ?? (await other.goBack(mine));
    if (common !== undefined) return { common, ours: mine.after(common), theirs: other.after(common) };
  }
  return { ours: mine.after(undefined), theirs: other.after(undefined) };
}

class Path {
  readonly #path: Segment[] = [];
  readonly #sizes = new Map<string, number>();
  readonly #more: AsyncGenerator<Segment>;
  isWhole = false;

  constructor(segments: Segments, id: SessionId) {
    this.#more = segmentsOf(segments, id, undefined);
  }

  /** Reads one more segment. Returns the common node if the other path has passed it. */
  async goBack(other: Path): Promise<NodeId | undefined> {
    if (this.isWhole) return undefined;
    const { value, done } = await this.#more.next();
    if (done === true) {
      this.isWhole = true;
      return undefined;
    }
    this.#path.push(value);
    this.#sizes.set(value.commit, value.entries.length);
    const theirs = other.#sizes.get(value.commit);
    if (theirs === undefined || value.entries.length === 0) return undefined;
    return nodeId(value.commit, Math.min(theirs, value.entries.length) - 1);
  }

  after(common: NodeId | undefined): readonly Node[] {
    const address = common === undefined ? undefined : nodeAddress(common);
    const found: Node[] = [];
    for (const segment of this.#path) {
      const first = segment.commit === address?.commit ? address.index + 1 : 0;
      for (let index = segment.entries.length - 1; index >= first; index--) found.push(nodeOf(segment, index));
      if (segment.commit === address?.commit) break;
    }
    return found.reverse();
  }
}
