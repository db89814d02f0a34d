import type { RequestId, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ServerAddress } from "./options.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

/** Marks an answer that this client made, for a request whose stream broke. */
export const CUT = { cut: true } as const;
const CUT_CODE = -32_000;
const RECONNECT_MS = 1_000;

/**
 * The package's streamable HTTP, with three additions: fresh headers for each request, a size limit for messages of the
 * server, and an error for requests whose stream ends without an answer (they would wait forever).
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
      // Never stops trying, because each failure is reported and starts a probe, which decides when the link is lost.
      maxRetries: Number.MAX_SAFE_INTEGER,
    },
    reconnectionScheduler: (reconnect, delay) => {
      // The server can ask for a shorter delay.
      const timer = setTimeout(reconnect, Math.max(delay, RECONNECT_MS)).unref();
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

/** Fails a response if its JSON body, or one event of its stream, is larger than `bytesMax`. */
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
