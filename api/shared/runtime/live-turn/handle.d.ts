import { CancelAnswer, TurnOutcome } from "../../model/outcome.js";
import { Issue } from "../../kernel/hook-runner.js";
import { Json } from "../../model/json.js";
import { NodeId, TurnId } from "../../model/ids.js";
import { TurnProgress } from "../../model/event.js";
import { Usage } from "../../model/usage.js";
interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set when the session had moved: the turn was kept beside it, and this is its last node. */
  readonly branch?: NodeId;
  /** Observers that failed; none of them changed anything. */
  readonly issues: readonly Issue[];
}
/** A turn under way. Leaving the iteration is not cancelling. */
interface Turn<Value = Json> extends AsyncIterable<TurnProgress> {
  /** Known once the input is accepted. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit, when the `lifecycle` hooks that hear of it are done. Rejects only when the input was not accepted, or the turn was taken over. */
  result(): Promise<TurnResult<Value>>;
  cancel(reason?: string): Promise<CancelAnswer>;
}
export { Turn, TurnResult };
