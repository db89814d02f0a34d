import { CodeOptions } from "../shared/plugins/code/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
import { bindings } from "../shared/plugins/code/bindings.js";
/**
 * Runs code cells in TypeScript: fills the slot `codeExecutor`. Variables, functions and classes persist across cells,
 * turns, restarts and forks. A protocol defines what a cell is and what the model reads about it.
 */
declare const code: PluginFactory<CodeOptions, {
  readonly reset: {
    readonly kind: "command";
    readonly input: undefined;
    readonly output: void;
  };
  readonly bind: {
    readonly kind: "command";
    readonly input: {
      readonly values: {
        readonly [name: string]: unknown;
      };
    };
    readonly output: void;
  };
  readonly unbind: {
    readonly kind: "command";
    readonly input: {
      readonly names: readonly string[];
    };
    readonly output: void;
  };
}>;
export { type CodeOptions, bindings, code };
