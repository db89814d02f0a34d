import { definePlugin } from "../../plugin.ts";
import { loadSdk } from "./link.ts";
import { OPTIONS, serverName } from "./options.ts";
import { Server } from "./server.ts";

export type { McpHeaders, McpOptions, McpProcess, McpRemote, McpServer } from "./options.ts";
export type { McpProblem, McpProblemCode } from "./problem.ts";
export type { McpState, McpStatus } from "./server.ts";

/**
 * Brings the tools of MCP servers (modelcontextprotocol.io), over stdio and streamable HTTP.
 *
 * Servers are connected in the background when the runtime opens, once for all its sessions. A server that is down does
 * not delay the start. It is tried again, and its tools appear when it answers.
 */
export const mcp = definePlugin({
  id: "bowline/mcp",
  options: OPTIONS,
  open: ({ options }) => {
    const servers = new Map(
      [...options.servers].map(([name, settings]) => {
        if (settings === undefined) throw new Error(`The server ${name} needs either a command or a url.`);
        return [name, new Server(name, settings, loadSdk)];
      }),
    );
    for (const server of servers.values()) server.attach();
    return servers;
  },
  close: async (servers) => {
    await Promise.all([...servers.values()].map((server) => server.detach()));
  },
  setup: ({ shared: servers, options, query, command }) => {
    const requireServer = (name: string): Server => {
      const found = servers.get(name);
      if (found === undefined)
        throw new Error(`There is no server ${name}; there are ${[...servers.keys()].join(", ")}.`);
      return found;
    };
    return {
      // `options` and not `servers`, because a session can be opened with fewer servers than the runtime has.
      tools: [...options.servers.keys()].map((name) => requireServer(name).provider),
      operations: {
        status: query({
          description: "Each server: its state, its tools, and what went wrong.",
          session: "optional",
          run: () => [...servers.values()].map(({ status }) => status),
        }),
        attach: command({
          description: "Connects a server that was detached.",
          session: "optional",
          input: serverName,
          run: ({ input }) => requireServer(input.server).attach(),
        }),
        detach: command({
          description: "Disconnects a server and takes its tools away, for all sessions.",
          session: "optional",
          input: serverName,
          run: ({ input }) => requireServer(input.server).detach(),
        }),
      },
    };
  },
});
