import { CodeOptions } from "../shared/plugins/code/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/**
 * Runs code cells in TypeScript: fills the slot `codeExecutor`. Variables, functions and classes stay over cells, turns,
 * restarts and forks. A protocol decides what a cell is and what the model is shown of it.
 */
declare const code: PluginFactory<CodeOptions, {
  readonly reset: {
    readonly kind: "command";
    readonly input: undefined;
    readonly output: void;
  };
}>;
export { type CodeOptions, code };
