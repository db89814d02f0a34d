// Texts about MCP servers that a model reads: why a call was not made, or why its result is missing.
export const TEXTS = {
  notConnected: (server: string, why: string) => `The MCP server ${server} is not connected.${why}`,
  lost: (server: string, why: string) => `The connection to the MCP server ${server} was lost.${why}`,
  notDone: "The call was not made. Try again later, or do without this tool.",
  maybeDone: "It is not known whether the call was carried out. Check before you call it again.",
  silentError: "The server reported an error without saying what is wrong.",
};
