import { HookName } from "./hooks.js";
/**
 * Something that went wrong and did not fail the turn: an error of a handler in an observer, or at a gate, where it
 * denied; a model that does not report its usage; or a gate for a tool that does not exist.
 */
interface Issue {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
}
/** For each hook the ids of the plugins that handle it, in the order in which they run: one for each handler. */
type InstalledHooks = { readonly [N in HookName]: readonly string[]; };
export { InstalledHooks, Issue };
