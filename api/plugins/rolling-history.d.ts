import { PluginFactory } from "../shared/kernel/plugin.js";
import { RollingHistoryOptions } from "../shared/plugins/rolling-history/options.js";
interface HistoryMeasure {
  /** The estimated size of the next request, with its system prompt and its tools. */
  readonly tokens: number;
  /** The size of the model's window, in tokens. */
  readonly window: number;
  /** `tokens` divided by `window`: above 1 the request does not fit. */
  readonly share: number;
}
/**
 * Keeps a conversation within the model's window: first the names of older attachments replace the attachments, then a
 * summary replaces all but the latest messages. The history does not change: pruning changes only a request, and a
 * summary begins a new frame.
 */
declare const rollingHistory: PluginFactory<RollingHistoryOptions, {
  readonly measure: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: HistoryMeasure;
  };
}>;
export { HistoryMeasure, type RollingHistoryOptions, rollingHistory };
