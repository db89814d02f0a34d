import { HookName } from "./hooks.js";
/**
 * A problem that did not fail the turn: an error in an observer, an error in a gate (which denied the call), a model
 * that does not report its usage, or a gate for a tool that does not exist.
 */
interface Issue {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}
/** For each hook, the plugin ids of its handlers in the order in which they run. */
type InstalledHooks = { readonly [N in HookName]: readonly string[]; };
export { InstalledHooks, Issue };
