import { NodeId } from "../../model/ids.js";
type Compacted = {
  readonly kind: "compacted";
  readonly frame: NodeId;
} |
/** No plugin compacts, there is nothing to compact, or no plugin's result is smaller. */
{
  readonly kind: "nothing";
};
export { Compacted };
