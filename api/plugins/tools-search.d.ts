import { PluginFactory } from "../shared/kernel/plugin.js";
interface ToolsSearchOptions {
  /** How many tools one search opens. Default 8. */
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
  /** Names of further matches that the model can already call. */
  readonly open?: readonly string[];
  /** A note for the model: what is missing, and what to do next. */
  readonly note: string;
}
/** Lets the model search for tools that are not declared to it, and call the ones it finds. */
declare const toolsSearch: PluginFactory<ToolsSearchOptions, object>;
export { ToolsSearchOptions, ToolsSearchResult, toolsSearch };
