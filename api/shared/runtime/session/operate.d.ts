import { PluginEvent } from "../../kernel/operation.js";
import { TurnId } from "../../model/ids.js";
/** The result of a command or a task. */
interface Receipt<O = unknown> {
  readonly plugin: string;
  readonly output: O;
  readonly events: readonly PluginEvent[];
  /** The turns that it queued. */
  readonly queued: readonly TurnId[];
}
interface OperationOptions {
  /** `null` runs it without a session; an id runs it on that session. Default: what the operation says. */
  readonly session?: string | null | undefined;
  /**
   * Makes a command or a task repeatable: the same id again gets the receipt of the first time. One that was interrupted
   * goes on: what it has done with `once` and `complete` is not done again.
   */
  readonly operationId?: string | undefined;
  /** Withdraws the operation while it waits; once it runs, it is handed the signal. */
  readonly signal?: AbortSignal | undefined;
}
export { OperationOptions, Receipt };
