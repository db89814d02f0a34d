import { McpProblem } from "./problem.js";
import { Skipped } from "./tools.js";
/**
 * `connecting`, the first time or again; `ready`; `down`, and tried again soon; `failed`, when trying again would not
 * help; `detached`, by the command `detach`.
 */
type McpState = "connecting" | "ready" | "down" | "failed" | "detached";
interface McpStatus {
  readonly server: string;
  readonly state: McpState;
  /** When the server came into this state, in milliseconds since 1970. */
  readonly since: number;
  /** How many tools are offered. While a server is down, those it had before still are. */
  readonly tools: number;
  /** Tools that the server lists and that are not offered, with the reason. */
  readonly skipped: readonly Skipped[];
  /** What went wrong last; absent once the server is ready again. */
  readonly problem?: McpProblem;
  /** The server's own name and version. */
  readonly about?: {
    readonly name: string;
    readonly version: string;
  };
  /** The version of MCP that was agreed on. */
  readonly protocol?: string;
  /** The id of the server's process. */
  readonly pid?: number;
  /** The last 8 KiB that the server's process wrote to stderr. */
  readonly stderr?: string;
}
export { McpState, McpStatus };
