import { NodeBody } from "../model/node.js";
import { NodeId } from "../model/ids.js";
/** A node of a session's history. */
type Node = {
  readonly id: NodeId;
  readonly parent?: NodeId;
  readonly at: number;
} & NodeBody;
interface HistoryPage {
  /** The node to begin with, going back. Default: the head. */
  readonly from?: string | undefined;
  /** Instead of `from`: what came before this node. For the next page, the last node of the one before it. */
  readonly before?: string | undefined;
  /** How many nodes at most. Default 100. */
  readonly max?: number | undefined;
}
/** How two sessions of one origin differ. */
interface Comparison {
  /** The last node that both have; left out when they have none in common. */
  readonly common?: NodeId;
  /** What each has after it, oldest first. */
  readonly ours: readonly Node[];
  readonly theirs: readonly Node[];
}
export { Comparison, HistoryPage, Node };
