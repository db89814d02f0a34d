import { ToolManifest } from "./tool.js";
type Pathed = Pick<ToolManifest, "name" | "path">;
/** Tools by the path by which code calls them: `module.operation`, or their name, which is a property of `tools`. */
interface ToolPaths {
  /** The tool that code means by a path. The tool's own name is always one, whatever other path it has. */
  nameOf(path: string): string | undefined;
  pathOf(name: string): string;
  /** The operations of each module. */
  readonly modules: ReadonlyMap<string, ReadonlySet<string>>;
}
/** Whether this can be a tool's `path`. */
declare function isToolPath(path: unknown): path is string;
/**
 * A tool's own `path` counts, then `mcp__server__tool` as `server.tool`, then `module_operation` where at least two tools
 * share the module. Of two tools with one path the first in the list has it; a module whose name code has for something
 * else, as `print` or what is `taken` besides, is none. Other tools are called by name: `tools.name(…)`.
 */
declare function toolPaths(tools: readonly Pathed[], taken?: ReadonlySet<string>): ToolPaths;
/** How a call of a tool is written: `files.read`, `tools.weather`, `tools["get-weather"]`. */
declare function calleeOf(path: string): string;
export { ToolPaths, calleeOf, isToolPath, toolPaths };
