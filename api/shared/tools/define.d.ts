import { InputOf, ToolSchema } from "../model/schema.js";
import { Tool, ToolProvider, ToolSpec } from "../kernel/tool.js";
/** Makes a tool that belongs to no plugin. Its schemas give the types of its arguments and its result. */
declare function defineTool<I extends ToolSchema, O = unknown, W extends true | undefined = undefined, const Name extends string = string>(spec: ToolSpec<I, O, undefined, W> & {
  readonly name: Name;
}): Tool<undefined, Name, InputOf<I>>;
/**
 * Makes a provider of tools that can change at any time. They are listed without schemas and loaded by name on first
 * use.
 */
declare function defineToolProvider(spec: ToolProvider): ToolProvider;
export { defineTool, defineToolProvider };
