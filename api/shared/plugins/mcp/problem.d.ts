/** Why a server is not connected: a code to match, words to show, a hint to act on. */
interface McpProblem {
  readonly code: McpProblemCode;
  readonly message: string;
  readonly hint: string;
}
type McpProblemCode = "mcp.package" | "mcp.start" | "mcp.exited" | "mcp.unreachable" | "mcp.unauthorized" | "mcp.http" | "mcp.timeout" | "mcp.protocol";
export { McpProblem, McpProblemCode };
