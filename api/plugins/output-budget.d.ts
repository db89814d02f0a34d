import { Keep } from "../shared/plugins/output-budget/window.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
interface OutputBudgetOptions {
  /** The most that is shown of one text of a result, in bytes. Default 16384. */
  readonly bytesMax?: number | undefined;
  /** The most that is shown of one text of a result, in lines. Default 400. */
  readonly linesMax?: number | undefined;
  /** Which end of a long text is shown, for all tools or by tool name. Default `head`, and `tail` for `shell`. */
  readonly keep?: Keep | {
    readonly [tool: string]: Keep;
  } | undefined;
  /** How many texts and attachments of one result are shown. One line names the others. Default 32. */
  readonly partsMax?: number | undefined;
  /** The most long texts that a session keeps for reading on; beyond, the oldest are dropped. Default 100. */
  readonly keptMax?: number | undefined;
}
/**
 * Cuts long tool results to what fits, says how much was left out, and lets the model page through the whole with
 * `read_output`.
 *
 * The whole text is a named blob of this plugin's state. So it is committed, restored and forked with the session, no
 * sweep of the store removes it, and a session can read by hash only what it was shown itself.
 */
declare const outputBudget: PluginFactory<OutputBudgetOptions, object>;
export { OutputBudgetOptions, outputBudget };
