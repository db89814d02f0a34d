import { CancelAnswer, TurnOutcome } from "../../model/outcome.js";
import { Issue } from "../../kernel/hook-runner.js";
import { Json } from "../../model/json.js";
import { NodeId, TurnId } from "../../model/ids.js";
import { TurnProgress } from "../../model/event.js";
import { Usage } from "../../model/usage.js";
/** How a turn ended and what it cost. */
interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set if the session changed during the turn: the turn was committed as a branch, and this is its last node. */
  readonly branch?: NodeId;
  /** Hooks that failed without changing the outcome, for example `lifecycle` hooks. */
  readonly issues: readonly Issue[];
}
/**
 * A running turn. Iterate over it for its events, and await `result()` for its end. Leaving the loop does not cancel
 * it.
 */
interface Turn<Value = Json> extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit and its `lifecycle` hooks. Rejects if the input is refused or the turn is lost. */
  result(): Promise<TurnResult<Value>>;
  /**
   * Waits as `result()` does, and resolves with the text of the answer. The value of a finished turn is a string as it
   * is, or JSON. Throws `turn.unanswered` when the turn was stopped or failed; its `details` are the result.
   */
  text(): Promise<string>;
  /** Asks the turn to end. `result()` then returns how it ended. */
  cancel(reason?: string): Promise<CancelAnswer>;
}
export { Turn, TurnResult };
