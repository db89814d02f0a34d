import { CodeModeOptions, Ending, ending } from "../shared/protocols/code/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/**
 * Code mode: the model acts by writing TypeScript, one cell per reply, which `bowline/plugins/code` runs. Install both:
 * `plugins: [codeMode, code]`. It replaces the default protocol.
 */
declare const codeMode: PluginFactory<CodeModeOptions, object>;
export { type CodeModeOptions, type Ending, codeMode, ending };
