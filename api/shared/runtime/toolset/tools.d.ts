import { Availability } from "../../model/tool.js";
import { ToolDeclaration } from "../../model/request.js";
import { ToolListing, ToolState } from "../../tools/registry.js";
import { ToolProvider } from "../../kernel/tool.js";
/** The tools of a session, for its host. What is changed here counts from the next turn on, and is kept. */
interface SessionTools {
  /** Also those that are off, and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** With its schema, which is loaded if need be. */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  set(names: string | readonly string[], availability: Availability): Promise<void>;
  /** More tools for this session, as long as it is open here; what was chosen for them is kept for when they come back. */
  add(provider: ToolProvider): Promise<{
    remove(): Promise<void>;
  }>;
  export(): Promise<ToolState>;
  /** Gives back an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Takes over a state from elsewhere or before; tools that are not there now are kept as orphans. */
  restore(state: ToolState): Promise<{
    readonly state: ToolState;
    readonly orphans: readonly string[];
  }>;
}
export { SessionTools };
