import { Availability } from "../model/tool.js";
/** A session's tools as a host sees them: to be shown, kept elsewhere, edited and given back. */
interface ToolState {
  /** Of the surface it was read from: `apply` refuses another one. */
  readonly generation: number;
  /** Of the names and sources that were there. */
  readonly surface?: string;
  readonly tools: {
    readonly [name: string]: ToolStateEntry;
  };
}
interface ToolStateEntry {
  readonly source: string;
  readonly availability: Availability;
  /** Its source is not there: it is kept, cannot be called, and is bound again when the source offers it. */
  readonly isOrphan?: true;
}
interface ToolListing extends ToolStateEntry {
  readonly name: string;
  readonly description: string;
}
export { ToolListing, ToolState };
