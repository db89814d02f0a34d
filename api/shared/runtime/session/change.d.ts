import { NodeId } from "../../model/ids.js";
type Compacted = {
  readonly kind: "compacted";
  readonly frame: NodeId;
} |
/** No plugin compacts, or there is nothing to compact. */
{
  readonly kind: "nothing";
};
export { Compacted };
