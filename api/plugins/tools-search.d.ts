import { PluginFactory } from "../shared/kernel/plugin.js";
interface ToolsSearchOptions {
  /** The most tools that one search opens; 8 unless given. */
  readonly max?: number;
}
interface Found {
  readonly name: string;
  readonly description: string;
  /** Its arguments, as one would write their type. */
  readonly signature: string;
}
interface ToolsSearchResult {
  /** Can be called from the next reply on. */
  readonly opened: readonly Found[];
  /** Fit too, and could be called before. */
  readonly open?: readonly string[];
  readonly note: string;
}
/** Lets the model find the tools that are not declared to it, and call what it found. */
declare const toolsSearch: PluginFactory<ToolsSearchOptions, object>;
export { ToolsSearchOptions, ToolsSearchResult, toolsSearch };
