import { Keep } from "../shared/plugins/output-budget/window.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
interface OutputBudgetOptions {
  /** How many bytes of one text of a result are shown. Default 16384. */
  readonly bytesMax?: number | undefined;
  /** How many lines of one text of a result are shown. Default 400. */
  readonly linesMax?: number | undefined;
  /** Which end of a long text is shown, for all tools or by tool name. Default `head`, and `tail` for `shell`. */
  readonly keep?: Keep | {
    readonly [tool: string]: Keep;
  } | undefined;
  /** How many texts and attachments of one result are shown. One line names the others. Default 32. */
  readonly partsMax?: number | undefined;
  /** How many long texts a session keeps for `read_output`. Above that number it drops the oldest. Default 100. */
  readonly keptMax?: number | undefined;
}
/**
 * Cuts long tool results, adds a line about the omitted part, and lets the model read the whole text page by page with
 * `read_output`.
 *
 * The whole text is a named blob of this plugin's state. So it is committed, restored and forked with the session, and
 * the store's garbage collection keeps it. A session can read only the texts of its results.
 */
declare const outputBudget: PluginFactory<OutputBudgetOptions, object>;
export { OutputBudgetOptions, outputBudget };
