import { HookName } from "./hooks.js";
/** An error of a handler that did not fail the turn: in an observer, or at a gate, where it denied. */
interface Issue {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
}
/** Called before and after every handler, to measure plugins. */
type Probe = (phase: {
  readonly kind: "begin" | "end";
  readonly hook: HookName;
  readonly plugin: string;
}) => void;
export { Issue, Probe };
