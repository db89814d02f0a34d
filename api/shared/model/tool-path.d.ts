import { ToolManifest } from "./tool.js";
type Pathed = Pick<ToolManifest, "name" | "path">;
/** Tools by the paths in code: `module.operation`, or the tool's name as a property of `tools`. */
interface ToolPaths {
  /** The tool that a path means. The tool's own name is always a path too. */
  nameOf(path: string): string | undefined;
  pathOf(name: string): string;
  /** The operations of each module. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}
/** Whether this can be a tool's `path`. */
declare function isToolPath(path: unknown): path is string;
/**
 * The path of each tool. First, the tool's own `path` counts. Second, `mcp__server__tool` becomes `server.tool`. Third,
 * `module_operation` becomes `module.operation` if at least two tools share the module. If two tools have the same
 * path, the first in the list gets it. Reserved names such as `print`, and names in `taken`, cannot be modules. All
 * other tools are called by name: `tools.name(…)`.
 */
declare function toolPaths(tools: readonly Pathed[], taken?: ReadonlySet<string>): ToolPaths;
/** The text of a tool call in code: `files.read`, `tools.weather`, `tools["get-weather"]`. */
declare function calleeOf(path: string): string;
export { ToolPaths, calleeOf, isToolPath, toolPaths };
