import { Availability } from "../model/tool.js";
/** A session's tools, to be shown, kept elsewhere, edited and given back (`export`, `apply`, `restore`). */
interface ToolState {
  /** The generation it was exported at. `apply` refuses it once the session's tools have changed since. */
  readonly generation: number;
  /** A hash of the names and sources that were there, checked by `apply` too. */
  readonly surface?: string;
  readonly tools: {
    readonly [name: string]: ToolStateEntry;
  };
}
interface ToolStateEntry {
  readonly source: string;
  readonly availability: Availability;
  /**
   * Its source is not there. The choice is kept, the tool cannot be called, and it is bound again when the source
   * offers it.
   */
  readonly isOrphan?: true;
}
interface ToolListing extends ToolStateEntry {
  readonly name: string;
  readonly description: string;
}
export { ToolListing, ToolState };
