import { Keep } from "../shared/plugins/output-budget/window.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
interface OutputBudgetOptions {
  /** The most that one text of a result may take up; 16 KiB unless given. */
  readonly bytesMax?: number;
  /** 400 unless given. */
  readonly linesMax?: number;
  /** Which end of a long text is shown, for all tools or by the tool's name; the head, and of `shell` the tail. */
  readonly keep?: Keep | {
    readonly [tool: string]: Keep;
  };
  /** Texts and attachments of one result that are shown; the others are named. 32 unless given. */
  readonly partsMax?: number;
  /** Long texts of a session that can still be read; 100 unless given, then the oldest are let go. */
  readonly keptMax?: number;
}
/**
 * Shows of a long result what fits, says how much it left out, and lets the model page through the whole. The whole is
 * kept as a named blob of this plugin's state: so it is committed, restored and forked with the session, no sweep of
 * the store takes it, and nothing but what this session was shown can be read by its hash.
 */
declare const outputBudget: PluginFactory<OutputBudgetOptions, object>;
export { OutputBudgetOptions, outputBudget };
