import { InputId, NodeId } from "../../model/ids.js";
import { PluginSnapshots, TurnSummary } from "../store.js";
import { TurnOutcome } from "../../model/outcome.js";
import { Usage } from "../../model/usage.js";
/** The end of a turn, without the fields that its segment and the plugin states already contain. */
interface Ended {
  readonly at: number;
  readonly outcome: TurnOutcome | AnswerByNode;
  readonly usage: Usage;
  readonly revision: number;
  readonly size: number;
  /** Omitted if it is only the turn's own input. */
  readonly inputs?: readonly InputId[];
  /** Omitted if it is the last of the turn's own nodes. */
  readonly head?: NodeId | null;
  readonly branch?: NodeId;
  /** Only for a turn that became a branch, because its states never were the session's. */
  readonly plugins?: PluginSnapshots;
  readonly summary?: TurnSummary;
  /** The size of the kept journal, if one is kept. */
  readonly journal?: number;
}
/** An answer whose text is that of one of the turn's own nodes, so that it is stored once. */
interface AnswerByNode {
  readonly kind: "told";
  readonly node: number;
}
export { Ended };
