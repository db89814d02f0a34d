// What a model reads of MCP servers besides their own words: why a call was not made or its result is missing.
import type { McpProblemCode } from "./problem.ts";

export const TEXTS = {
  notConnected: (server: string, why: string) => `The MCP server ${server} is not connected.${why}`,
  lost: (server: string, why: string) => `The connection to the MCP server ${server} was lost.${why}`,
  notDone: "The call was not made. Try again later, or do without this tool.",
  maybeDone: "It is not known whether the call was carried out. Check before you call it again.",
  silentError: "The server reported an error without saying what is wrong.",
};

/** For whoever runs the servers: what to do about a problem in `status`. */
export const HINTS: { readonly [C in McpProblemCode]: string } = {
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
