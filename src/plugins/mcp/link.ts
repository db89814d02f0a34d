// One connection to a server. Not its job: connecting again after a loss (`server.ts`).
import type { Client, ProtocolError, Transport } from "@modelcontextprotocol/client";
import { hasCode } from "../../plugin.ts";
import { CUT, httpTransport } from "./http.ts";
import type { Settings } from "./options.ts";
import { Disconnected, isUnsent, type McpProblem, problem, problemOf, statusOf } from "./problem.ts";
import type { Answer } from "./result.ts";
import type { Draft, Interpreter } from "./schema.ts";
import { ChildTransport } from "./stdio.ts";
import { TOOLS_MAX } from "./tools.ts";

export type Sdk = typeof import("@modelcontextprotocol/client") & { interpreter(draft: Draft): Interpreter };

/** Loads the optional package @modelcontextprotocol/client, only when a server is configured. */
export async function loadSdk(): Promise<Sdk> {
  try {
    const [client, { CfWorkerJsonSchemaValidator }] = await Promise.all([
      import("@modelcontextprotocol/client"),
      import("@modelcontextprotocol/client/validators/cf-worker"),
    ]);
    const interpreter = (draft: Draft): Interpreter => new CfWorkerJsonSchemaValidator({ draft }) as Interpreter;
    return { ...client, interpreter };
  } catch (error) {
    const words = "The package @modelcontextprotocol/client cannot be loaded";
    throw new Disconnected(problem("mcp.package", `${words}: ${(error as Error).message}`), { cause: error });
  }
}

/** `legacy`: `initialize`, which older servers support. `auto`: asks the server first which version it supports. */
export type Handshake = "legacy" | "auto";

const PROBE_MS = 5_000;
const PROBE_EVERY_MS = 10_000;
/** After this many timeouts in a row, a server that also answers no probe counts as lost. */
const TIMEOUTS_MAX = 3;
const RESUBSCRIBE_MS = 500;
const GOODBYE_MS = 1_000;
const PAGES_MAX = 64;
/**
 * A message may be this many times larger than a result, so that a result that is too large fails its call and not the
 * connection.
 */
const MESSAGE_FACTOR = 4;
/**
 * A list of tools is not validated as a whole: `tools.ts` reads each tool, so that a wrong one does not hide the
 * others.
 */
const ANYTHING = {
  "~standard": { version: 1, vendor: "bowline", validate: (value: unknown) => ({ value: (value ?? {}) as object }) },
} as const;

export interface CallRequest {
  readonly tool: string;
  readonly inputSchema: object;
  readonly input: unknown;
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  progress(note?: string): void;
}

/** One connection to a server, from its handshake until it is lost or closed. */
export class Link {
  /** Resolves when the connection ends: with the problem, or with undefined when this process closed it. */
  readonly lost: Promise<McpProblem | undefined>;
  readonly #settings: Settings;
  readonly #client: Client;
  readonly #transport: Transport;
  readonly #listChanged: () => void;
  readonly #lose: (why: McpProblem | undefined) => void;
  #isOpen = false;
  #isOver = false;
  #problem: McpProblem | undefined;
  #calls = 0;
  #timeouts = 0;
  #probing: Promise<void> | undefined;

  static async to(sdk: Sdk, settings: Settings, handshake: Handshake, listChanged: () => void): Promise<Link> {
    const bytesMax = settings.resultBytesMax * MESSAGE_FACTOR;
    const transport = await transportTo(sdk, settings, bytesMax);
    const client = new sdk.Client(
      { name: "bowline", version: "1" },
      {
        versionNegotiation: { mode: handshake },
        listChanged: { tools: { autoRefresh: false, debounceMs: 20, onChanged: listChanged } },
        // Accepts everything, because the default would compile schemas of an untrusted server into code.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
      },
    );
    return new Link(settings, client, transport, listChanged);
  }

  private constructor(settings: Settings, client: Client, transport: Transport, listChanged: () => void) {
    this.#settings = settings;
    this.#client = client;
    this.#transport = transport;
    this.#listChanged = listChanged;
    const { promise, resolve } = Promise.withResolvers<McpProblem | undefined>();
    this.lost = promise;
    this.#lose = (why) => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.#problem = why;
      resolve(why);
    };
    client.onclose = () => this.#lose(this.#why().problem);
    if (settings.at.kind === "remote") client.onerror = () => void this.#suspect();
  }

  get pid(): number | undefined {
    return (this.#transport as { readonly pid?: number | null }).pid ?? undefined;
  }
  /** The end of what the server's process wrote to stderr. */
  get tail(): string {
    return this.#transport instanceof ChildTransport ? this.#transport.tail : "";
  }
  get about(): { readonly name: string; readonly version: string } | undefined {
    return this.#client.getServerVersion();
  }
  get protocol(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  /** Throws when the server cannot be reached or does not support MCP. Then no process is left running. */
  async open(signal: AbortSignal): Promise<void> {
    const transport = this.#transport;
    try {
      await this.#client.connect(transport, { timeout: this.#settings.startMs, signal });
    } catch (error) {
      // Read before `close`, because `close` ends the process and would become the reason.
      const why = transport instanceof ChildTransport ? transport.why : undefined;
      await transport.close();
      throw why ?? error;
    }
    this.#isOpen = true;
    this.#resubscribe().catch(() => this.#suspect());
  }

  /** All tools of the server, as it sent them. */
  async list(): Promise<readonly unknown[]> {
    if (this.#client.getServerCapabilities()?.tools === undefined) return [];
    const found: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < PAGES_MAX && found.length <= TOOLS_MAX; page++) {
      const request = { method: "tools/list", params: cursor === undefined ? {} : { cursor } };
      const answer = await this.#client.request(request, ANYTHING, { timeout: this.#settings.startMs });
      const { tools, nextCursor } = answer as { readonly tools?: unknown; readonly nextCursor?: unknown };
      if (!Array.isArray(tools)) throw new Error("The server's list of tools is no list.");
      found.push(...tools);
      if (typeof nextCursor !== "string" || nextCursor === cursor) return found;
      cursor = nextCursor;
    }
    return found;
  }

  /**
   * Throws `Disconnected` when the connection breaks before the answer; then it is unknown whether the server acted.
   */
  async call({ tool, inputSchema, input, idempotencyKey, signal, progress }: CallRequest): Promise<Answer> {
    let activeAt = performance.now();
    const watch = this.#watchCall(() => performance.now() - activeAt);
    this.#calls++;
    try {
      const params = {
        name: tool,
        arguments: input as { [name: string]: unknown },
        _meta: { "bowline/idempotencyKey": idempotencyKey },
      };
      const answer = await this.#client.callTool(params, {
        signal,
        timeout: this.#settings.totalMs,
        toolDefinition: { name: tool, inputSchema: inputSchema as { type: "object" } },
        onprogress: (at) => {
          activeAt = performance.now();
          progress(at.message ?? (at.total === undefined ? String(at.progress) : `${at.progress}/${at.total}`));
        },
      });
      this.#timeouts = 0;
      return answer as Answer;
    } catch (error) {
      if (isTimeout(error) && (!signal.aborted || hasCode(signal.reason, "tool.timeout"))) this.#ranOut();
      if (signal.aborted || isAnswer(error) || isTimeout(error)) throw error;
      if (!isUnsent(error))
        throw this.#isOver ? this.#why(error) : new Disconnected(problemOf(error), { cause: error });
      await this.#suspect(); // The next try must use another connection.
      throw new Disconnected(problemOf(error), { cause: error, isUnsent: true });
    } finally {
      this.#calls--;
      clearInterval(watch);
    }
  }

  /** An HTTP connection can break without an error, so the link probes the server during a silent call. */
  #watchCall(silentMs: () => number): NodeJS.Timeout | undefined {
    if (this.#settings.at.kind !== "remote") return undefined;
    const everyMs = Math.min(PROBE_EVERY_MS, this.#settings.idleMs / 2);
    return setInterval(() => {
      if (silentMs() >= everyMs) void this.#suspect();
    }, everyMs).unref();
  }

  #ranOut(): void {
    if (++this.#timeouts >= TIMEOUTS_MAX) void this.#suspect();
  }

  /** Probes the server, and ends the connection if there is no answer. Runs one probe at a time. */
  #suspect(): Promise<void> {
    if (!this.#isOpen || this.#isOver) return Promise.resolve();
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined;
    });
    return this.#probing;
  }

  async #probe(): Promise<void> {
    try {
      const options = { timeout: PROBE_MS };
      await (this.#client.getProtocolEra() === "modern" ? this.#client.discover(options) : this.#client.ping(options));
    } catch (error) {
      if (isAnswer(error)) return;
      const isPatient = this.#calls > 0 && this.#timeouts < TIMEOUTS_MAX;
      const status = statusOf(error);
      // The server or its gateway may be busy with a call: the time limit of that call decides, not the probe.
      const mayBeBusy = isTimeout(error) || (status !== undefined && (status >= 500 || status === 429));
      if (mayBeBusy && isPatient) return;
      this.#lose(problemOf(error));
      await this.close();
    }
  }

  /** Notifications can come on a separate stream, which is opened again when the server ends it. */
  async #resubscribe(): Promise<void> {
    let current = this.#client.autoOpenedSubscription;
    while (current !== undefined) {
      if ((await current.closed) === "local" || this.#isOver) return;
      await new Promise<void>((resolve) => void setTimeout(resolve, RESUBSCRIBE_MS).unref());
      if (this.#isOver) return;
      current = await this.#client.listen({ toolsListChanged: true }, { timeout: PROBE_MS });
      this.#listChanged(); // The list may have changed while the stream was down.
    }
  }

  #why(cause?: unknown): Disconnected {
    const known = this.#transport instanceof ChildTransport ? this.#transport.why : undefined;
    const found = this.#problem ?? problem("mcp.unreachable", "The connection to the server was lost.");
    return known ?? new Disconnected(found, { cause });
  }

  /** Ends the session, and the server's process with all its child processes. */
  async close(): Promise<void> {
    const transport = this.#transport as Transport & { terminateSession?(): Promise<void> };
    if (!this.#isOver && transport.terminateSession !== undefined) {
      this.#lose(undefined);
      await within(
        GOODBYE_MS,
        transport.terminateSession().catch(() => {}),
      );
    }
    this.#lose(undefined);
    await this.#client.close().catch(() => {});
    await transport.close().catch(() => {});
  }
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}

async function transportTo(sdk: Sdk, { at }: Settings, bytesMax: number): Promise<Transport> {
  if (at.kind === "remote") return httpTransport(sdk, at, bytesMax);
  if (process.platform !== "win32") return new ChildTransport(at, sdk.deserializeMessage, bytesMax);
  // On Windows there are no process groups, and the package has the other rules by which commands are found.
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const { kind: _, args = [], env = {}, ...rest } = at;
  return new StdioClientTransport({ ...rest, args: [...args], env, stderr: "ignore", maxBufferSize: bytesMax });
}

/** Whether the error is an answer of the server itself, which proves that the connection works. */
export const isAnswer = (error: unknown): boolean => {
  const { code, data } = error as Partial<ProtocolError>;
  return typeof code === "number" && data !== CUT && statusOf(error) === undefined;
};
export const isTimeout = (error: unknown): boolean => (error as { readonly code?: unknown }).code === "REQUEST_TIMEOUT";
