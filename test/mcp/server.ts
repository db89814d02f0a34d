// An MCP server with a tool for each thing that a client must cope with. How it is served: stdio (also `modern-only`),
// `http` with sessions, or `stateless` for the revision of 2026. Over HTTP it says its port on the first line of stdout.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import {
  type CallToolResult,
  createMcpHandler,
  Server,
  type ServerContext,
  type Tool,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

type Answer = CallToolResult | Promise<CallToolResult>;
type Run = (input: { readonly [name: string]: unknown }, context: ServerContext) => Answer;
interface Offer {
  readonly schema?: Tool["inputSchema"];
  readonly annotations?: Tool["annotations"];
  readonly run: Run;
}

const [how = "stdio", ...flags] = process.argv.slice(2);
const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let cancelled = 0;
let calls = 0;
let changed: () => void = () => {};
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const stop = (): void => {
      cancelled++;
      reject(new Error("cancelled"));
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
const progress = async ({ mcpReq }: ServerContext, at: number, message?: string): Promise<void> => {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: at, ...(message === undefined ? {} : { message }) };
  await mcpReq.notify({ method: "notifications/progress", params });
};

const offers = new Map<string, Offer>([
  [
    "echo",
    {
      schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      run: ({ text: words }) => text(`echo: ${words}`),
    },
  ],
  ["add", { run: ({ a, b }) => text(String(Number(a) + Number(b))) }],
  ["odd.name/ü", { run: () => text("odd") }],
  ["odd_name__", { run: () => text("even") }],
  [`long_${"x".repeat(80)}`, { run: () => text("long") }],
  ["pid", { run: () => text(String(process.pid)) }],
  ["env", { run: () => text(JSON.stringify(process.env)) }],
  ["meta", { run: (_, { mcpReq }) => text(JSON.stringify(mcpReq._meta ?? {})) }],
  ["image", { run: () => ({ content: [{ type: "image", data: PIXEL, mimeType: "image/png" }] }) }],
  [
    "album",
    {
      run: () => ({
        content: [
          { type: "text", text: "Two things:" },
          { type: "audio", data: "AAAA", mimeType: "audio/wav" },
          { type: "resource", resource: { uri: "file:///a/notes.txt", mimeType: "text/plain", text: "Notes." } },
          { type: "resource", resource: { uri: "file:///a/raw.bin", blob: "AQID" } },
          { type: "resource_link", uri: "file:///a/more.txt", name: "more" },
        ],
      }),
    },
  ],
  [
    "structured",
    { run: () => ({ content: [{ type: "text", text: '{"n":1}' }], structuredContent: { n: 1, list: [true] } }) },
  ],
  ["refuses", { run: () => ({ isError: true, content: [{ type: "text", text: "There is no such city." }] }) }],
  ["throws", { run: () => Promise.reject(new Error("It broke inside.")) }],
  ["big", { run: ({ bytes }) => text("x".repeat(Number(bytes))) }],
  [
    "steps",
    {
      run: async ({ count, everyMs }, context) => {
        for (let at = 1; at <= Number(count); at++) {
          await new Promise((resolve) => setTimeout(resolve, Number(everyMs)));
          await progress(context, at, `step ${at}`);
        }
        return text(`${count} steps`);
      },
    },
  ],
  [
    "hang",
    {
      run: async (_, context) => {
        await progress(context, 0, "hanging");
        return never(context.mcpReq.signal);
      },
    },
  ],
  [
    "hang_safely",
    {
      annotations: { readOnlyHint: true },
      run: async (_, context) => {
        if (flags.includes("hang-once") && process.env.FLAG !== undefined && !(await firstTime(process.env.FLAG)))
          return text("second time");
        await progress(context, 0, "hanging");
        return never(context.mcpReq.signal);
      },
    },
  ],
  ["cancelled", { run: () => text(String(cancelled)) }],
  ["count", { annotations: { idempotentHint: true }, run: () => text(String(++calls)) }],
  [
    "grow",
    {
      run: () => {
        offers.set("grown", { run: () => text("grown") });
        changed();
        return text("grew");
      },
    },
  ],
  [
    "spawn",
    {
      run: () => {
        const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
        child.unref();
        return text(String(child.pid));
      },
    },
  ],
  [
    "shout",
    {
      run: () => {
        process.stderr.write(`${"noise ".repeat(4_000)}last words\n`);
        return text("shouted");
      },
    },
  ],
  ["die", { run: () => process.exit(3) }],
]);
if (flags.includes("many"))
  for (let at = 0; at < 500; at++) offers.set(`tool_${at}`, { run: () => text(`tool ${at}`) });

async function firstTime(file: string): Promise<boolean> {
  const { writeFile } = await import("node:fs/promises");
  return writeFile(file, "", { flag: "wx" }).then(
    () => true,
    () => false,
  );
}

function make(): Server {
  const server = new Server({ name: "fixture", version: "1.2.3" }, { capabilities: { tools: { listChanged: true } } });
  server.setRequestHandler("tools/list", ({ params }) => {
    const names = [...offers.keys()];
    const from = Number(params?.cursor ?? 0);
    const tools = names.slice(from, from + 100).map((name) => {
      const { schema = { type: "object" as const }, annotations } = offers.get(name) as Offer;
      return { name, description: `Does ${name}.`, inputSchema: schema, ...(annotations && { annotations }) };
    });
    return { tools, ...(from + 100 < names.length ? { nextCursor: String(from + 100) } : {}) };
  });
  server.setRequestHandler("tools/call", ({ params }, context) => {
    const offer = offers.get(params.name);
    if (offer === undefined) throw new Error(`There is no tool ${params.name}.`);
    return offer.run(params.arguments ?? {}, context);
  });
  return server;
}

// ── How it is served ────────────────────────────────────────────────────────────────────────────────────────────────

if (how === "stdio" || how === "modern-only") {
  if (flags.includes("chatty")) process.stdout.write("Starting up…\n");
  const legacy = how === "modern-only" ? "reject" : "serve";
  serveStdio(
    () => {
      const server = make();
      changed = () => void server.sendToolListChanged();
      return server;
    },
    { legacy },
  );
} else {
  const serve = how === "http" ? sessions() : stateless();
  const seen: string[] = [];
  const http = createServer((request, response) => {
    seen.push(`${request.method} ${request.headers.authorization ?? ""}`);
    if (request.url === "/seen") response.end(JSON.stringify(seen));
    else void answer(serve, request, response);
  });
  http.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
    process.stdout.write(`${(http.address() as AddressInfo).port}\n`);
  });
  process.stdin.resume().on("end", () => process.exit());
}

type Serve = (request: Request) => Promise<Response>;

function sessions(): Serve {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) {
      const transport = transports.get(id);
      return transport?.handleRequest(request) ?? new Response("no such session", { status: 404 });
    }
    const server = make();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void transports.set(session, transport),
      onsessionclosed: (session) => void transports.delete(session),
    });
    await server.connect(transport);
    changed = () => void server.sendToolListChanged();
    return transport.handleRequest(request);
  };
}

function stateless(): Serve {
  const handler = createMcpHandler(make, { legacy: "reject" });
  changed = () => handler.notify.toolsChanged();
  return (request) => handler.fetch(request);
}

async function answer(serve: Serve, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const headers = new Headers(Object.entries(request.headers) as [string, string][]);
  const hasBody = request.method === "POST";
  const body = hasBody ? (Readable.toWeb(request) as ReadableStream) : null;
  const asked = new Request(`http://127.0.0.1${request.url}`, {
    method: request.method ?? "GET",
    headers,
    body,
    signal: gone.signal,
    ...(hasBody ? { duplex: "half" } : {}),
  } as RequestInit);
  const answered = await serve(asked);
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.flushHeaders();
  if (answered.body === null) response.end();
  else
    Readable.fromWeb(answered.body as never)
      .on("error", () => response.destroy())
      .pipe(response);
}
