/** Why a server is not connected: a code, a message and a hint. */
interface McpProblem {
  readonly code: McpProblemCode;
  readonly message: string;
  readonly hint: string;
}
type McpProblemCode = "mcp.package" | "mcp.start" | "mcp.exited" | "mcp.unreachable" | "mcp.unauthorized" | "mcp.http" | "mcp.timeout" | "mcp.protocol";
export { McpProblem, McpProblemCode };
