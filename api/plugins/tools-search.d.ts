import { PluginFactory } from "../shared/kernel/plugin.js";
interface ToolsSearchOptions {
  /** The most tools that one search opens. Default 8. */
  readonly max?: number | undefined;
}
interface Found {
  readonly name: string;
  readonly description: string;
  /** The arguments, written like a TypeScript type. */
  readonly signature: string;
}
interface ToolsSearchResult {
  /** Tools that the model can call from its next reply on. */
  readonly opened: readonly Found[];
  /** Names of tools that fit too, and that the model could call already. */
  readonly open?: readonly string[];
  /** What the model should know of this search: what is missing, and what to do next. */
  readonly note: string;
}
/** Lets the model search for tools that are not declared to it, and call what it found. */
declare const toolsSearch: PluginFactory<ToolsSearchOptions, object>;
export { ToolsSearchOptions, ToolsSearchResult, toolsSearch };
