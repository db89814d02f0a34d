// Adapters: further routes that use the protocol of an existing client, such as the chat of AI SDK UI.
//
// adapter-1 A route of an adapter has the same guard, caller, rates and bounds on bodies and streams as those of the API.
// adapter-2 A stream writes its state when the client reads, so a client that never reads costs no memory.
import type { Awaitable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Caller } from "./caller.ts";

/** Makes the API speak the protocol of an existing client: `serve(runtime, { adapters: [uiStream()] })`. */
export interface Adapter {
  readonly name: string;
  readonly routes: readonly AdapterRoute[];
}

export interface AdapterRoute {
  readonly method: "GET" | "POST" | "DELETE";
  /** From the root of the server. `{id}` is a parameter. */
  readonly path: string;
  /** Each answer first calls `caller.requireSession`, because the session can be in the path or in the body. */
  answer(context: AdapterContext): Awaitable<Response>;
}

export interface AdapterContext {
  readonly runtime: Runtime;
  readonly caller: Caller;
  readonly request: Request;
  /** `{id}` of the path, or "". */
  readonly id: string;
  /** The JSON object of the request's body; `{}` for GET. */
  readonly body: { readonly [field: string]: unknown };
  /**
   * Answers with server-sent events until the iterator ends, the client leaves or the server closes. Then it writes the
   * value that `return()` of the iterator gives.
   */
  stream(open: () => AsyncIterator<string, string>, headers?: { readonly [name: string]: string }): Response;
}

const PATH = /^(?:\/(?:[\w.-]+|\{id\}))+$/;

/** Throws `options.invalid` for adapters that could not answer. */
export function requireAdapters(adapters: unknown): void {
  const invalid = (problem: string): never => {
    throw new RuntimeError("options.invalid", { option: "adapters", problem });
  };
  if (!Array.isArray(adapters)) return invalid("it must be a list of adapters");
  const taken = new Set<string>();
  for (const each of adapters as readonly unknown[]) {
    if (!isObject(each) || !Array.isArray(each.routes))
      return invalid("each item must be an adapter, such as uiStream()");
    for (const { method, path } of (each as unknown as Adapter).routes) {
      if (!PATH.test(path) || path.startsWith("/v1/")) invalid(`\`${path}\` is not a path outside \`/v1\``);
      const route = `${method} ${path}`;
      if (taken.has(route)) invalid(`two adapters have the route ${route}`);
      taken.add(route);
    }
  }
}
