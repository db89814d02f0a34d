import { OperationDefinition } from "../../kernel/operation.js";
/** A plugin of a session, and what it adds. */
interface InstalledPlugin {
  readonly id: string;
  readonly version: string;
  /** The hooks that it handles, and the slots that it fills. */
  readonly hooks: readonly string[];
  /** Its tools and those of its tool providers, also tools that are off. */
  readonly tools: readonly string[];
  readonly operations: readonly OperationDefinition[];
  /** The events that it declares. */
  readonly events: readonly string[];
  /** The commands that it watches, by their names in the session. */
  readonly monitors: readonly string[];
  /** Whether it keeps a state in each session. */
  readonly hasState: boolean;
}
export { InstalledPlugin };
