import "./names.js";
import { Sandbox } from "../sandbox.js";
interface QuickjsOptions {
  /** Threads that guests run in: one for each core unless told, and at most 4. They start when they are needed. */
  readonly workers?: number;
}
/** Runs the code of models in QuickJS, compiled to WebAssembly, in worker threads. */
declare function quickjs(options?: QuickjsOptions): Sandbox;
export { QuickjsOptions, quickjs };
