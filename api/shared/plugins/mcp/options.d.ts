import { Availability } from "../../model/tool.js";
type Awaitable<T> = T | PromiseLike<T>;
type McpHeaders = {
  readonly [name: string]: string;
};
interface Common {
  /** Only these tools are offered, by the names that the server gives them. Default: all. */
  readonly include?: readonly string[] | undefined;
  /** These tools are not offered, by the names that the server gives them. */
  readonly exclude?: readonly string[] | undefined;
  /** How tools are offered. Default `callable`; use `searchable` for servers with very many tools. */
  readonly availability?: Availability | undefined;
  /** Whether each call of this server runs alone, and not in parallel with other calls. Default false. */
  readonly isSerial?: boolean | undefined;
  /** How long a turn or a call waits for a connection that is not ready yet, in milliseconds. Default 5 seconds. */
  readonly connectMs?: number | undefined;
  /** How long one attempt to start the server may take, in milliseconds. Default 30 seconds. */
  readonly startMs?: number | undefined;
  /**
   * A call that is silent for this long fails, in milliseconds. Each progress message restarts the time. Default 60
   * seconds.
   */
  readonly idleMs?: number | undefined;
  /** How long a call may take in all, in milliseconds. Default 10 minutes. */
  readonly totalMs?: number | undefined;
  /** The largest result that is accepted, in bytes. Default 16 MiB. */
  readonly resultBytesMax?: number | undefined;
}
/** A server that runs as a child process, with messages over stdin and stdout. */
interface McpProcess extends Common {
  /** The program to start, by its path or its name in PATH. */
  readonly command: string;
  /** The program's arguments. */
  readonly args?: readonly string[] | undefined;
  /** Variables for the server's environment. From this process it inherits only PATH, HOME and similar variables. */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /** The folder to start the server in. Default: the working directory. */
  readonly cwd?: string | undefined;
}
/** A server that is reached over streamable HTTP. */
interface McpRemote extends Common {
  /** The server's MCP endpoint, http or https. */
  readonly url: string | URL;
  /** Headers of each request. A function is called for every request, so credentials that expire can be renewed. */
  readonly headers?: McpHeaders | (() => Awaitable<McpHeaders>) | undefined;
}
type McpServer = McpProcess | McpRemote;
interface McpOptions extends Omit<Common, "include" | "exclude"> {
  /**
   * The servers, by name. A model sees a tool as `mcp__<name>__<tool>`. As an option of a session: the names of the
   * session's servers.
   */
  readonly servers: {
    readonly [name: string]: McpServer;
  } | readonly string[];
}
export { McpHeaders, McpOptions, McpProcess, McpRemote, McpServer };
