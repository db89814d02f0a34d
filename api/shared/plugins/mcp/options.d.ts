import { Availability } from "../../model/tool.js";
type Awaitable<T> = T | PromiseLike<T>;
type McpHeaders = {
  readonly [name: string]: string;
};
interface Common {
  /** Only these tools, by the names the server gives them. */
  readonly include?: readonly string[];
  /** All but these. */
  readonly exclude?: readonly string[];
  /** `callable` unless given; `searchable` for servers with very many tools. */
  readonly availability?: Availability;
  /** Calls of this server never run beside another call of the same reply. */
  readonly isSerial?: boolean;
  /** How long a turn or a call waits for a connection that is being made. */
  readonly connectMs?: number;
  /** How long one attempt to start the server may take. */
  readonly startMs?: number;
  /** A call that says nothing for this long has failed; progress starts it anew. */
  readonly idleMs?: number;
  /** A call may take this long in all. */
  readonly totalMs?: number;
  /** One result. */
  readonly resultBytesMax?: number;
}
/** A server that is started here and spoken to over its stdin and stdout. */
interface McpProcess extends Common {
  readonly command: string;
  readonly args?: readonly string[];
  /** Besides PATH, HOME and the like: a server is given nothing else of this process's environment. */
  readonly env?: {
    readonly [name: string]: string;
  };
  readonly cwd?: string;
}
/** A server somewhere else, over streamable HTTP. */
interface McpRemote extends Common {
  readonly url: string | URL;
  /** A function is called for each request: the place for credentials that expire. */
  readonly headers?: McpHeaders | (() => Awaitable<McpHeaders>);
}
type McpServer = McpProcess | McpRemote;
interface McpOptions extends Omit<Common, "include" | "exclude"> {
  /** By name; a tool is shown to the model as `mcp__<name>__<tool>`. */
  readonly servers: {
    readonly [name: string]: McpServer;
  };
}
export { McpHeaders, McpOptions, McpProcess, McpRemote, McpServer };
