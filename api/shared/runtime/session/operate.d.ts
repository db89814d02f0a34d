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
  /** `null` runs it without a session; an id runs it on that session. Default: the option of the operation. */
  readonly session?: string | null | undefined;
  /**
   * Makes a command or a task repeatable: a second call with the same id gets the first receipt. An interrupted
   * operation continues: it does not repeat its recorded `once` and `complete` calls.
   */
  readonly operationId?: string | undefined;
  /** Withdraws the operation while it waits. When the operation runs, it gets the signal. */
  readonly signal?: AbortSignal | undefined;
}
export { OperationOptions, Receipt };
