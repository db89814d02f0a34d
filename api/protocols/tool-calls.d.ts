import { Plugin } from "../shared/kernel/plugin.js";
interface Options {
  /** Adds a tool with which the model makes up to 25 independent calls in one. Default: false. */
  readonly batch?: boolean | undefined;
}
/** The default protocol: the model uses the provider's tool calls until it answers. */
declare const toolCalls: (given?: Options) => Plugin;
export { toolCalls };
