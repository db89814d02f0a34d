import { Availability } from "../../model/tool.js";
import { ToolDeclaration } from "../../model/request.js";
import { ToolListing, ToolState } from "../../tools/registry.js";
import { ToolProvider } from "../../kernel/tool.js";
/** Which tools a session has. Changes are stored with the session and count from its next turn on. */
interface SessionTools {
  /** Lists all tools, also those that are off and those whose source is gone. */
  list(): Promise<readonly ToolListing[]>;
  /** Gives a tool with its input schema, loading it if necessary; undefined when it is off or unknown. */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  /** Sets how far tools are open to the model: `off`, `searchable`, `callable` or `documented`. */
  set(names: string | readonly string[], availability: Availability): Promise<void>;
  /**
   * Adds a provider's tools while this session is open here; a turn that runs has them from its next round on. Choices
   * for them stay stored for when they come back.
   */
  add(provider: ToolProvider): Promise<{
    remove(): Promise<void>;
  }>;
  /**
   * Lists the session's providers again, also those that did not say that they changed, and loads their tools anew.
   * Returns the generation of the tools. A turn that runs keeps the tools it began with.
   */
  refresh(): Promise<number>;
  /** Gives the choices as data, to edit and `apply`, or to `restore` elsewhere. */
  export(): Promise<ToolState>;
  /** Applies an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Takes over a state from before or elsewhere. Choices for tools that are missing now are kept as orphans. */
  restore(state: ToolState): Promise<{
    readonly state: ToolState;
    readonly orphans: readonly string[];
  }>;
}
export { SessionTools };
