import { ToolManifest } from "../../model/tool.js";
/** An index of tools by the words of their names and descriptions. Equal lists and queries give equal answers. */
declare class ToolIndex {
  #private;
  constructor(tools: readonly ToolManifest[]);
  /**
   * The tools that fit the query, best first; tools with equal scores by name. `tools`: the same tools in their present
   * state, if anything but their words may have changed.
   */
  rank(query: string, tools?: readonly ToolManifest[]): readonly ToolManifest[];
}
/** Keeps the index of the last list of tools, so that rounds and turns with the same tools do not build it again. */
declare function toolIndexer(): (tools: readonly ToolManifest[]) => ToolIndex;
/**
 * A short description of groups of tools: tools of an MCP server under its name, others under the first word of their
 * names.
 */
declare function toolGroups(tools: readonly ToolManifest[], max: number): string;
export { ToolIndex, toolGroups, toolIndexer };
