/** Why a server is not connected: a code, a message and a hint. */
export interface McpProblem {
  readonly code: McpProblemCode;
  readonly message: string;
  readonly hint: string;
}

export type McpProblemCode =
  | "mcp.package"
  | "mcp.start"
  | "mcp.exited"
  | "mcp.unreachable"
  | "mcp.unauthorized"
  | "mcp.http"
  | "mcp.timeout"
  | "mcp.protocol";

const HINTS: { readonly [C in McpProblemCode]: string } = {
  "mcp.package": "Run: npm install @modelcontextprotocol/client",
  "mcp.start": "Check the server's `command`, `args` and `cwd`: run the command in a terminal.",
  "mcp.exited":
    "Read `stderr` in this status, which has the last lines of the server, and run its command in a terminal.",
  "mcp.unreachable": "Check the server's `url`, and that the server is running and can be reached from here.",
  "mcp.unauthorized": 'Put a valid token into the `headers` of the server, for example { authorization: "Bearer …" }.',
  "mcp.http":
    "Check that `url` is the server's MCP endpoint, which often ends with /mcp, and look into the server's log.",
  "mcp.timeout": "If the server is slow to start, raise `startMs`; otherwise look into the server's log.",
  "mcp.protocol": "Check that the `command` or `url` is an MCP server that speaks stdio or streamable HTTP.",
};

export const problem = (code: McpProblemCode, message: string): McpProblem => ({
  code,
  message: message.slice(0, 1_000),
  hint: HINTS[code],
});

/** The connection is lost. It is unknown whether the server ran a request on it, unless `isUnsent`. */
export class Disconnected extends Error {
  readonly problem: McpProblem;
  readonly isUnsent: boolean;
  constructor(found: McpProblem, options: { readonly cause?: unknown; readonly isUnsent?: boolean } = {}) {
    super(found.message, { cause: options.cause });
    this.name = "Disconnected";
    this.problem = found;
    this.isUnsent = options.isUnsent === true;
  }
}

const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);
const NOT_TAKEN = new Set([401, 403, 404]);

/**
 * Whether the server cannot have acted: the request did not reach it, or was refused, for example because its session
 * is unknown.
 */
export function isUnsent(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof Disconnected) return at.isUnsent;
    if (NOT_TAKEN.has(statusOf(at) ?? 0) || NOT_SENT.has((at as { readonly code?: string }).code ?? "")) return true;
  }
  return false;
}

const START_CODES = new Set(["ENOENT", "EACCES", "ENOTDIR", "EPERM", "E2BIG", "EAGAIN", "EMFILE"]);

/** Checks the fields of an error, not its class, because the package is loaded late and may be installed twice. */
export function problemOf(error: unknown): McpProblem {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof Disconnected) return at.problem;
    const { code, syscall } = at as Error & { readonly code?: unknown; readonly syscall?: unknown };
    const status = statusOf(at);
    if (status !== undefined)
      return problem(status === 401 || status === 403 ? "mcp.unauthorized" : "mcp.http", httpWords(status, at));
    if (code === "REQUEST_TIMEOUT") return problem("mcp.timeout", "The server did not answer in time.");
    if (typeof code !== "string") continue;
    if (typeof syscall === "string" && syscall.startsWith("spawn") && START_CODES.has(code))
      return problem("mcp.start", `The server could not be started: ${at.message}`);
    if (/^(?:E[A-Z]{3,}|UND_ERR_\w+)$/.test(code) && code !== "ERA_NEGOTIATION_FAILED")
      return problem("mcp.unreachable", `The server could not be reached: ${at.message || code}`);
  }
  if (error instanceof TypeError && error.message === "fetch failed")
    return problem("mcp.unreachable", "The server could not be reached.");
  return problem("mcp.protocol", error instanceof Error ? error.message : String(error));
}

function httpWords(status: number, error: Error): string {
  const { text } = ((error as { readonly data?: unknown }).data ?? {}) as { readonly text?: unknown };
  const body = typeof text === "string" ? text.trim().slice(0, 200) : "";
  return `The server answered with HTTP ${status}${body === "" ? "" : `: ${body}`}`;
}

/** The HTTP status in an error of the package. */
export function statusOf(error: unknown): number | undefined {
  const { status, data } = (error ?? {}) as {
    readonly status?: unknown;
    readonly data?: { readonly status?: unknown };
  };
  const found = status ?? data?.status;
  return typeof found === "number" ? found : undefined;
}
