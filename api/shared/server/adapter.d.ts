import { Awaitable } from "../model/awaitable.js";
import { Caller } from "./caller.js";
import { Runtime } from "../runtime/runtime.js";
/** Makes the API speak the protocol of an existing client: `serve(runtime, { adapters: [uiStream()] })`. */
interface Adapter {
  readonly name: string;
  readonly routes: readonly AdapterRoute[];
}
interface AdapterRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** From the root of the server. `{id}` is a parameter. */
  readonly path: string;
  /** Each answer first calls `caller.requireSession`, because the session can be in the path or in the body. */
  answer(context: AdapterContext): Awaitable<Response>;
}
interface AdapterContext {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly request: Request;
  /** `{id}` of the path, or "". */
  readonly id: string;
  /** The JSON object of the request's body; `{}` for GET. */
  readonly body: {
    readonly [field: string]: unknown;
  };
  /**
   * Answers with server-sent events until the iterator ends, the client leaves or the server closes. Then it writes the
   * value that `return()` of the iterator gives.
   */
  stream(open: () => AsyncIterator<string, string>, headers?: {
    readonly [name: string]: string;
  }): Response;
}
export { Adapter, AdapterContext, AdapterRoute };
