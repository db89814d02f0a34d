import { Entry } from "../model/node.js";
import { NodeId } from "../model/ids.js";
/** The nodes of one commit. A segment's parent is a node of another one; a head may point inside it. */
interface Segment {
  readonly commit: string;
  readonly parent?: NodeId;
  readonly entries: readonly Entry[];
}
interface ViewPage {
  readonly from?: NodeId;
  readonly max?: number;
  /** The page ends with the segment in which the frame of `from` begins. */
  readonly toFrame?: true;
}
export { Segment, ViewPage };
