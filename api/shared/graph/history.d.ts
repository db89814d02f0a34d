import { NodeBody } from "../model/node.js";
import { NodeId } from "../model/ids.js";
/** A node of a session's history. */
type Node = {
  readonly id: NodeId;
  readonly parent?: NodeId;
  readonly at: number;
} & NodeBody;
interface HistoryPage {
  /** The first node; the page continues towards the root. Default: the head. */
  readonly from?: string | undefined;
  /** Instead of `from`: the page begins before this node. For the next page, pass the last node of the page before. */
  readonly before?: string | undefined;
  /** Maximum number of nodes. Default: 100. */
  readonly max?: number | undefined;
}
/** The difference between two sessions with a common origin. */
interface Comparison {
  /** The last common node; omitted if there is none. */
  readonly common?: NodeId;
  /** The nodes after it, oldest first. */
  readonly ours: readonly Node[];
  readonly theirs: readonly Node[];
}
export { Comparison, HistoryPage, Node };
