/** A collector of OpenTelemetry traces over HTTP, on a port that the system chooses. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly links?: readonly object[];
}

export interface Collector extends AsyncDisposable {
  readonly tracerProvider: TracerProvider;
  /** All bytes that came. */
  bytes(): string;
  /** Exports what is left, and gives all spans that came. */
  spans(): Promise<readonly CollectedSpan[]>;
}

export async function collector(): Promise<Collector> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] });
  return {
    tracerProvider,
    bytes: () => bodies.join("\n"),
    async spans() {
      await tracerProvider.forceFlush();
      return bodies.flatMap((body) =>
        (JSON.parse(body) as Export).resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      );
    },
    async [Symbol.asyncDispose]() {
      await tracerProvider.shutdown();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Export {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[] }[];
}
