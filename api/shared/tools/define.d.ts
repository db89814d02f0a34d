import { Tool, ToolProvider, ToolSpec } from "../kernel/tool.js";
import { ToolSchema } from "../model/schema.js";
/** Makes a tool that belongs to no plugin. Its schemas give the types of its arguments and its result. */
declare function defineTool<I extends ToolSchema, O = unknown, W extends true | undefined = undefined>(spec: ToolSpec<I, O, undefined, W>): Tool;
/**
 * Makes a provider of tools that come and go. They are listed without schemas and loaded by name when they are needed.
 */
declare function defineToolProvider(spec: ToolProvider): ToolProvider;
export { defineTool, defineToolProvider };
