import type { RequestId, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ServerAddress } from "./options.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

/** Marks an answer that was made up here, for a request whose stream broke off. */
export const CUT = { cut: true } as const;
const CUT_CODE = -32_000;
const RECONNECT_MS = 1_000;

/**
 * The package's streamable HTTP, with what it lacks: headers that are asked for with each request, a bound on what a
 * server may send at a time, and an answer for requests whose stream ends without one (they would wait forever).
 */
export function httpTransport(
  sdk: Sdk,
  place: Extract<ServerAddress, { kind: "remote" }>,
  bytesMax: number,
): StreamableHTTPClientTransport {
  let why: string | undefined;
  const transport = new sdk.StreamableHTTPClientTransport(place.url, {
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      for (const [name, value] of Object.entries(await place.headers())) headers.set(name, value);
      return capped(await fetch(url, { ...init, headers }), bytesMax, (words) => {
        why = words;
      });
    },
    reconnectionOptions: {
      initialReconnectionDelay: RECONNECT_MS,
      maxReconnectionDelay: 30_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: Number.MAX_SAFE_INTEGER, // A probe decides when the link is lost: each failure is reported and makes one.
    },
    reconnectionScheduler: (reconnect, delay) => {
      const timer = setTimeout(reconnect, Math.max(delay, RECONNECT_MS)).unref(); // The server may ask for less.
      return () => clearTimeout(timer);
    },
  });
  const unanswered = new Set<RequestId>();
  transport.onmessage = (message) => {
    if (!("method" in message) && message.id !== undefined) unanswered.delete(message.id);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message: Parameters<typeof send>[0], options?: Parameters<typeof send>[1]) => {
    if (Array.isArray(message) || !("method" in message) || !("id" in message) || typeof message.id !== "number")
      return send(message, options);
    const { id } = message;
    unanswered.add(id);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (!unanswered.delete(id)) return;
      transport.onmessage?.({
        jsonrpc: "2.0",
        id,
        error: { code: CUT_CODE, message: why ?? "The stream broke off.", data: CUT },
      });
    };
    try {
      await send(message, { ...options, onRequestStreamEnd });
    } catch (error) {
      unanswered.delete(id);
      throw error;
    }
  };
  return transport;
}

/** Fails a response whose JSON body, or one event of whose stream, is larger than `bytesMax`. */
function capped(response: Response, bytesMax: number, refused: (words: string) => void): Response {
  const { body, status, statusText, headers } = response;
  if (body === null || !response.ok) return response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  let bytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const blank = isStream ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).lastIndexOf("\n\n") : -1;
      bytes = blank < 0 ? bytes + chunk.length : chunk.length - blank;
      if (bytes <= bytesMax) return controller.enqueue(chunk);
      const words = `The server sent more than ${bytesMax} bytes at a time.`;
      refused(words);
      controller.error(new Error(words));
    },
  });
  return new Response(body.pipeThrough(count), { status, statusText, headers });
}
