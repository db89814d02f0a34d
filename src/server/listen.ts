// Listens with Node's HTTP server. `@hono/node-server` translates requests and responses. Only this file loads it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Http2Bindings, HttpBindings } from "@hono/node-server";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, isObject } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { Answer, type HeaderList, responseOf } from "./answer.ts";
import { isLoopback, SAFE_HEADERS } from "./guard.ts";
import type { LIMITS, ServerOptions } from "./options.ts";
import { problemAnswer } from "./problem.ts";
import { EVENT_STREAM } from "./streams.ts";

export interface ListenOptions {
  /** Default: 0, which selects any free port. */
  readonly port?: number | undefined;
  /** Default: `127.0.0.1`. Another host needs `token` or `authorize`, and `hosts`. */
  readonly host?: string | undefined;
}
const KNOWN: Known<ListenOptions> = { port: true, host: true };

export interface Listening {
  /** For example `http://127.0.0.1:4100`. */
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests, ends event streams and waits for running requests. */
  close(): Promise<void>;
}

const HEADERS_MS = 10_000;
const HEADER_BYTES = 16 * 1024;
/** How many heartbeats of a stream may wait unread before the connection is closed. */
const BEATS_UNREAD = 4;
/** How long `close()` waits for running requests. */
const GRACE_MS = 5_000;

/** How long the server reads and drops the rest of a body that it refuses. */
const REST_MS = 500;

/** Most clients read an answer only after they have sent the whole body. */
function discarded(body: IncomingMessage): Promise<void> | void {
  if (body.destroyed) return;
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, REST_MS);
    const over = (): void => {
      clearTimeout(timer);
      resolve();
    };
    for (const end of ["end", "error", "close"]) body.once(end, over);
    body.resume();
  });
}

/** An answer, and the headers that each answer has. */
export interface Answered {
  readonly answer: Answer | Response;
  readonly common: HeaderList;
}
interface Answering {
  answer(request: Request): Promise<Answered>;
  endStreams(): void;
}

export async function listen(
  { answer, endStreams }: Answering,
  { token, authorize, limits: { requestMs, beatMs } }: ServerOptions & { readonly limits: typeof LIMITS },
  options: ListenOptions = {},
): Promise<Listening> {
  const invalid = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (!isObject(options as unknown)) invalid("options", "it must be an object such as { port: 4100 }");
  requireKnown("server.listen", options, KNOWN);
  const { port = 0, host = "127.0.0.1" } = options;
  if (!(Number.isInteger(port) && port >= 0 && port <= 65_535))
    invalid("port", "it must be a whole number from 0 to 65535");
  if (typeof host !== "string") invalid("host", "it must be a name or an address");
  if (!isLoopback(host) && token === undefined && authorize === undefined)
    throw new RuntimeError("server.bind", { host });
  const [{ getRequestListener }, { RESPONSE_ALREADY_SENT }] = await Promise.all([
    import("@hono/node-server"),
    import("@hono/node-server/utils/response"),
  ]);
  const bounds = {
    headersTimeout: Math.min(HEADERS_MS, requestMs),
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(1_000, requestMs),
    maxHeaderSize: HEADER_BYTES,
  };
  let isClosing = false;
  const write = async (request: Request, { incoming, outgoing }: HttpBindings | Http2Bindings): Promise<Response> => {
    const { socket } = outgoing;
    // Else a client that keeps its connection would send the next request to the server that closes.
    outgoing.once("finish", () => isClosing && socket?.end());
    const { answer: found, common } = await answer(request);
    if (found instanceof Answer) {
      const length = { "content-length": String(Buffer.byteLength(found.text)) };
      if (!incoming.complete) await discarded(incoming as IncomingMessage);
      // The rest of a refused body blocks the connection, so it can carry no other request.
      const last = incoming.complete ? {} : { connection: "close" };
      (outgoing as ServerResponse).writeHead(found.status, { ...found.headers, ...common, ...length, ...last });
      outgoing.end(found.text);
      return RESPONSE_ALREADY_SENT;
    }
    // A client that does not read must not keep its stream open for ever.
    if (found.headers.get("content-type") === EVENT_STREAM)
      outgoing.setTimeout(BEATS_UNREAD * beatMs, () => outgoing.destroy());
    return responseOf(found, common);
  };
  const malformed = new RuntimeError("server.invalid", { problem: "the path or the host is malformed" });
  const errorHandler = (): Response => responseOf(problemAnswer(malformed), SAFE_HEADERS);
  const server = createServer(bounds, getRequestListener(write, { errorHandler, overrideGlobalObjects: false }));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new RuntimeError("server.listen", { problem: describeThrown(error) })));
    server.listen(port, host, resolve);
  });
  const { port: actual } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    url: `http://${name}:${actual}`,
    port: actual,
    close: async () => {
      isClosing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      endStreams();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), GRACE_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}
