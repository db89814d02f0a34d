import { McpProblem } from "./problem.js";
import { Skipped } from "./tools.js";
/**
 * `connecting`: for the first time, or again; `ready`; `down`: to be tried again soon; `failed`: trying again would not
 * help; `detached`: taken away with the command `detach`.
 */
type McpState = "connecting" | "ready" | "down" | "failed" | "detached";
interface McpStatus {
  readonly server: string;
  readonly state: McpState;
  /** When it came into this state: milliseconds since 1970. */
  readonly since: number;
  /** How many tools are offered. While a server is down they are those it had. */
  readonly tools: number;
  /** What it lists and is not offered, and why. */
  readonly skipped: readonly Skipped[];
  /** What went wrong last; nothing once it is ready again. */
  readonly problem?: McpProblem;
  /** What the server says of itself. */
  readonly about?: {
    readonly name: string;
    readonly version: string;
  };
  readonly protocol?: string;
  readonly pid?: number;
  /** The last 8 KiB of what its process wrote to stderr. */
  readonly stderr?: string;
}
export { McpState, McpStatus };
