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
  /** `null` runs it without the session; an id insists on the session. Default: what the operation says. */
  readonly session?: string | null | undefined;
  /** Withdraws the operation while it waits; once it runs, it is handed the signal. */
  readonly signal?: AbortSignal | undefined;
}
export { OperationOptions, Receipt };
