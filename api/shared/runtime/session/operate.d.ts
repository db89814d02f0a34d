import { PluginEvent } from "../../kernel/operation.js";
import { TurnId } from "../../model/ids.js";
/** What a command or a task came to. */
interface Receipt<O = unknown> {
  readonly plugin: string;
  readonly output: O;
  readonly events: readonly PluginEvent[];
  /** The turns it queued. */
  readonly queued: readonly TurnId[];
}
interface OperationOptions {
  /** `null` passes no session; this session's id insists on it. */
  readonly session?: string | null;
  readonly signal?: AbortSignal;
}
export { OperationOptions, Receipt };
