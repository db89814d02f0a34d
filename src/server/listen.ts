// Listens with Node's HTTP server. `hono` translates requests and responses; it is loaded here only.
import type { Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import { isLoopback } from "./guard.ts";
import type { ServerOptions } from "./options.ts";

export interface ListenOptions {
  /** Default: 0, any free port. */
  readonly port?: number | undefined;
  /** Default: `127.0.0.1`. Another one needs `token` or `authorize`, and `hosts`. */
  readonly host?: string | undefined;
}
const KNOWN: Known<ListenOptions> = { port: true, host: true };

export interface Listening {
  /** For example `http://127.0.0.1:4100`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, ends event streams and waits for the requests that are being answered. */
  close(): Promise<void>;
}

/** A client that sends its headers or its body more slowly than this is cut off. */
const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const HEADER_BYTES = 16 * 1024;

export async function listen(
  fetch: (request: Request) => Promise<Response>,
  { token, authorize }: ServerOptions,
  options: ListenOptions = {},
  endStreams: () => void,
): Promise<Listening> {
  requireKnown("server.listen", options, KNOWN);
  const { port = 0, host = "127.0.0.1" } = options;
  if (!isLoopback(host) && token === undefined && authorize === undefined)
    throw new RuntimeError("server.bind", { host });
  const { createAdaptorServer } = await import("@hono/node-server");
  const serverOptions = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, maxHeaderSize: HEADER_BYTES };
  const server = createAdaptorServer({ fetch, serverOptions, overrideGlobalObjects: false }) as HttpServer;
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
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      endStreams();
      server.closeIdleConnections();
      await closed;
    },
  };
}
