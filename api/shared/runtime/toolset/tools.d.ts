import { Availability, ToolListOptions, ToolListing, ToolState } from "../../model/tool.js";
import { ToolDeclaration } from "../../model/request.js";
import { ToolProvider } from "../../kernel/tool.js";
/** Which tools a session has. Changes are stored with the session and apply from its next turn on. */
interface SessionTools {
  /**
   * Lists the tools that the model gets: after the edits of plugins, the session's overlay and its permissions, without
   * tools that are switched off. A `searchable` tool is found by a search only. A protocol may declare them in its own
   * way.
   */
  list(options?: ToolListOptions): Promise<readonly ToolListing[]>;
  /**
   * Returns a tool with its input schema, and loads it if necessary. Undefined if the tool is switched off or unknown.
   */
  describe(name: string): Promise<ToolDeclaration | undefined>;
  /**
   * Sets the availability of tools to `off`, `searchable`, `callable` or `documented`, or with `null` to their default.
   * Returns the new generation.
   */
  set(names: string | readonly string[], availability: Availability | null): Promise<number>;
  /**
   * Adds a provider's tools while this session is open here. A running turn gets them in its next round. Choices for
   * these tools stay stored and apply again when the provider is added again.
   */
  add(provider: ToolProvider): Promise<{
    remove(): Promise<void>;
  }>;
  /**
   * Lists all providers of the session again and loads their tools again, also without a reported change. Returns the
   * generation of the tools. A running turn keeps its tools.
   */
  refresh(): Promise<number>;
  /** Returns the choices as data, to edit and `apply`, or to `restore` in another session. */
  export(): Promise<ToolState>;
  /** Applies an edited export. Throws `tool.generation` when the tools have changed since. */
  apply(state: ToolState): Promise<ToolState>;
  /** Applies an older state or a state of another session. Choices for missing tools are kept as orphans. */
  restore(state: ToolState): Promise<{
    readonly state: ToolState;
    readonly orphans: readonly string[];
  }>;
}
export { SessionTools };
