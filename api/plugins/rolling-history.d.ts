import { PluginFactory } from "../shared/kernel/plugin.js";
import { RollingHistoryOptions } from "../shared/plugins/rolling-history/options.js";
interface HistoryMeasure {
  /** Of the next request, about, with its system prompt and its tools. */
  readonly tokens: number;
  readonly window: number;
  /** Of the window; above 1 it does not fit. */
  readonly share: number;
}
/**
 * Keeps a conversation within the model's window: first older attachments are only named, then a summary takes the
 * place of all but the latest. Nothing is rewritten: pruning is for one request, and a summary begins a new frame.
 */
declare const rollingHistory: PluginFactory<RollingHistoryOptions, {
  readonly measure: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: HistoryMeasure;
  };
}>;
export { HistoryMeasure, type RollingHistoryOptions, rollingHistory };
