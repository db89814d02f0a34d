import { Tool, ToolProvider, ToolSpec } from "../kernel/tool.js";
import { ToolSchema } from "../model/schema.js";
/** A tool without a plugin. Its arguments and its result are typed by its schemas. */
declare function defineTool<I extends ToolSchema, O = unknown, W extends true | undefined = undefined>(spec: ToolSpec<I, O, undefined, W>): Tool;
/** Tools that come and go: listed light, loaded by name. */
declare function defineToolProvider(spec: ToolProvider): ToolProvider;
export { defineTool, defineToolProvider };
