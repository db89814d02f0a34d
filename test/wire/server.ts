import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";

/** One answer of a provider's API, as it goes over the wire. */
export interface WireResponse {
  readonly status?: number;
  readonly headers?: { readonly [name: string]: string };
  /** Server-sent events; see `sse`. */
  readonly events?: readonly WireEvent[];
  /** The body as it is, instead of events. */
  readonly body?: string;
  /** Byte offsets at which the body is cut into pieces, each written on its own. By default an event is a piece. */
  readonly cuts?: readonly number[];
  /** The connection is destroyed after so many bytes of the body. */
  readonly cutAfterBytes?: number;
  /** The body is written, but its end never comes. */
  readonly hangs?: boolean;
}

/** A JSON payload; a string is sent as data as it is. */
export type WireEvent = string | object;

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever a provider's package wrote
  readonly body: any;
  /** Resolves when the connection of this request closes before the answer is whole. */
  readonly hungUp: Promise<void>;
}

export interface WireServer extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, to use as a provider's base URL. */
  readonly url: string;
  /** What was asked so far, oldest first. */
  readonly requests: readonly WireRequest[];
  close(): Promise<void>;
}

/** A loopback server that answers the first request with the first response, and so on; more is a 500. */
export async function serveWire(script: readonly WireResponse[]): Promise<WireServer> {
  const requests: WireRequest[] = [];
  let asked = 0;
  const server = createServer(async (incoming, outgoing) => {
    const response = script[asked++] ?? { status: 500, body: '{"error":{"message":"The script is over."}}' };
    const hungUp = new Promise<void>((resolve) => {
      outgoing.on("close", () => outgoing.writableFinished || resolve());
    });
    const body = JSON.parse((await textOf(incoming)) || "null");
    requests.push({ path: incoming.url ?? "", headers: incoming.headers, body, hungUp });
    await answer(response, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests, close, [Symbol.asyncDispose]: close };
}

async function answer(response: WireResponse, outgoing: ServerResponse): Promise<void> {
  const type = response.events === undefined ? "application/json" : "text/event-stream";
  outgoing.writeHead(response.status ?? 200, { "content-type": type, ...response.headers });
  outgoing.flushHeaders();
  for (const piece of piecesOf(response)) {
    if (outgoing.destroyed) return;
    await new Promise<void>((resolve) => void outgoing.write(piece, () => resolve()));
    await nextTurn();
  }
  if (response.cutAfterBytes !== undefined) outgoing.destroy();
  else if (!response.hangs) outgoing.end();
}

function piecesOf(response: WireResponse): readonly Uint8Array[] {
  const events = (response.events ?? []).map((event) => Buffer.from(sse(event)));
  const body = response.body === undefined ? Buffer.concat(events) : Buffer.from(response.body);
  const ends = response.cuts ?? events.map((_, index) => Buffer.concat(events.slice(0, index + 1)).length);
  const length = Math.min(body.length, response.cutAfterBytes ?? body.length);
  const inside = new Set([...ends].filter((end) => end > 0 && end < length).sort((a, b) => a - b));
  const bounds = [0, ...inside, length];
  return bounds.slice(1).map((end, index) => body.subarray(bounds[index], end));
}

/** An event as text. Anthropic's events are named by their `type`; to the others a name does no harm. */
export function sse(event: WireEvent): string {
  if (typeof event === "string") return `data: ${event}\n\n`;
  const { type } = event as { type?: unknown };
  return `${typeof type === "string" ? `event: ${type}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
}

/** The length of the whole body, to choose cuts in it. */
export const bytesOf = (response: WireResponse): number =>
  piecesOf(response).reduce((sum, piece) => sum + piece.length, 0);

async function textOf(incoming: IncomingMessage): Promise<string> {
  let words = "";
  for await (const chunk of incoming.setEncoding("utf8")) words += chunk;
  return words;
}
