import { McpProblem } from "./problem.js";
import { Skipped } from "./tools.js";
/**
 * `connecting`: connects, the first time or again. `ready`. `down`: will be tried again soon. `failed`: a retry would
 * not help. `detached`: by the command `detach`.
 */
type McpState = "connecting" | "ready" | "down" | "failed" | "detached";
interface McpStatus {
  readonly server: string;
  readonly state: McpState;
  /** When this state began, in milliseconds since 1970. */
  readonly since: number;
  /** How many tools are offered. While a server is down, its last tools are still offered. */
  readonly tools: number;
  /** Tools that the server lists and that are not offered, with the reason. */
  readonly skipped: readonly Skipped[];
  /** The last problem. Omitted when the server is ready again. */
  readonly problem?: McpProblem;
  /** The server's own name and version. */
  readonly about?: {
    readonly name: string;
    readonly version: string;
  };
  /** The version of MCP that both sides use. */
  readonly protocol?: string;
  /** The id of the server's process. */
  readonly pid?: number;
  /** The last 8 KiB that the server's process wrote to stderr. */
  readonly stderr?: string;
}
export { McpState, McpStatus };
