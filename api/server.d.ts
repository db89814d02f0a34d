import { Accepted, Api, Health, InputBody, NewSessionBody, Problem, PublicWait } from "./shared/server/api.js";
import { Action } from "./shared/server/routes.js";
import { Adapter, AdapterContext, AdapterRoute } from "./shared/server/adapter.js";
import { Caller } from "./shared/server/caller.js";
import { JsonObject } from "./shared/model/json.js";
import { ListenOptions, Listening } from "./shared/server/listen.js";
import { Page, ServerLimits, ServerOptions } from "./shared/server/options.js";
import { Principal } from "./shared/server/principal.js";
import { Runtime } from "./shared/runtime/runtime.js";
interface Server {
  /** Answers a request. Mount it in Hono, Next.js, Bun, Deno or anything else that has `Request` and `Response`. */
  fetch(request: Request): Promise<Response>;
  /** Listens on a port of this machine, with Node. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** The OpenAPI 3.1 document of all routes. */
  readonly openapi: JsonObject;
  /** Ends the open event streams, so that clients connect to another process. Turns continue. */
  close(): void;
}
/** Makes a server for a runtime. The runtime stays open when the server is closed. */
declare function serve(runtime: Runtime, options?: ServerOptions): Server;
export {
  type Accepted,
  type Action,
  type Adapter,
  type AdapterContext,
  type AdapterRoute,
  type Api,
  type Caller,
  type Health,
  type InputBody,
  type ListenOptions,
  type Listening,
  type NewSessionBody,
  type Page,
  type Principal,
  type Problem,
  type PublicWait,
  Server,
  type ServerLimits,
  type ServerOptions,
  serve,
};
