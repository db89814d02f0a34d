// An agent uses the tools of an MCP server. This file has both programs. Without an argument it is the agent, which
// starts this file again with the argument `serve`, as the server.
import assert from "node:assert/strict";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createRuntime } from "bowline";
import { mcp } from "bowline/plugins/mcp";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

if (process.argv[2] === "serve") serveStdio(shop);
else await agent();

function shop(): McpServer {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  const stock = new Map([
    ["apple", 3],
    ["pear", 0],
  ]);
  const fruit = z.object({ fruit: z.string() });
  server.registerTool(
    "in_stock",
    { description: "How many there are.", inputSchema: fruit, annotations: { readOnlyHint: true } },
    ({ fruit }) => ({ content: [{ type: "text", text: String(stock.get(fruit) ?? 0) }] }),
  );
  server.registerTool("sell", { description: "Sells one.", inputSchema: fruit }, ({ fruit }) => {
    const left = (stock.get(fruit) ?? 0) - 1;
    if (left < 0) return { isError: true, content: [{ type: "text", text: `There is no ${fruit} left.` }] };
    stock.set(fruit, left);
    return { content: [{ type: "text", text: `Sold; ${left} left.` }] };
  });
  return server;
}

async function agent(): Promise<void> {
  const model = scripted(
    both(calls("mcp__shop__in_stock", { fruit: "apple" }), calls("mcp__shop__sell", { fruit: "pear" })),
    says("There are 3 apples, and no pears."),
  );
  const servers = {
    shop: { command: process.execPath, args: [import.meta.filename, "serve"] },
    // A remote server has a URL:
    // away: { url: "https://mcp.example.com", headers: async () => ({ authorization: `Bearer ${await token()}` }) },
  };
  await using runtime = await createRuntime({ store: memory(), model, plugins: [mcp({ servers })] });
  const session = await runtime.session();

  const turn = session.turn("What can I buy?");
  for await (const event of turn) if (event.kind === "toolEnded") console.log(`${event.name}: ${event.status}`);
  const { outcome } = await turn.result();
  assert.equal(outcome.kind === "answered" && outcome.text, "There are 3 apples, and no pears.");

  const [status] = await session.query(mcp, "status");
  assert.deepEqual([status?.server, status?.state, status?.tools], ["shop", "ready", 2]);
  const tools = model.requests[0]?.tools?.map(({ name }) => name);
  assert.deepEqual(tools, ["mcp__shop__in_stock", "mcp__shop__sell"]);
}
