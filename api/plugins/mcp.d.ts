import { McpHeaders, McpOptions, McpProcess, McpRemote, McpServer } from "../shared/plugins/mcp/options.js";
import { McpProblem, McpProblemCode } from "../shared/plugins/mcp/problem.js";
import { McpState, McpStatus } from "../shared/plugins/mcp/server.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/**
 * Brings the tools of MCP servers (modelcontextprotocol.io), over stdio and streamable HTTP.
 *
 * Servers are connected in the background when the runtime opens, once for all its sessions. A server that is down does
 * not delay the start. It is tried again, and its tools appear when it answers.
 */
declare const mcp: PluginFactory<McpOptions, {
  readonly status: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: McpStatus[];
  };
  readonly attach: {
    readonly kind: "command";
    readonly input: {
      readonly server: string;
    };
    readonly output: void;
  };
  readonly detach: {
    readonly kind: "command";
    readonly input: {
      readonly server: string;
    };
    readonly output: void;
  };
}>;
export {
  type McpHeaders,
  type McpOptions,
  type McpProblem,
  type McpProblemCode,
  type McpProcess,
  type McpRemote,
  type McpServer,
  type McpState,
  type McpStatus,
  mcp,
};
