import { HookName } from "./hooks.js";
/** Something went wrong in an observer, which may not fail anything. */
interface Issue {
  readonly plugin?: string;
  readonly code: string;
  readonly message: string;
}
type Probe = (phase: {
  readonly kind: "begin" | "end";
  readonly hook: HookName;
  readonly plugin: string;
}) => void;
export { Issue, Probe };
