import "./names.js";
import { Sandbox } from "../sandbox.js";
interface QuickjsOptions {
  /** Number of guest threads. Default: one per core, at most 4. They start on demand. */
  readonly workers?: number;
}
/** Runs the code of models in QuickJS, compiled to WebAssembly, in worker threads. */
declare function quickjs(options?: QuickjsOptions): Sandbox;
export { QuickjsOptions, quickjs };
