// A server by hand, for what a proper one would not do. What it lists is in LIST; `mute` answers nothing at all, `deaf` no calls and no pings.
import { createInterface } from "node:readline";

const [how = "list"] = process.argv.slice(2);
const listed: unknown = JSON.parse(process.env.LIST ?? "[]");
const reply = (id: unknown, result: unknown): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);

const megabyte = (): readonly unknown[] => [
  { name: "big", inputSchema: { type: "object", description: "x".repeat(1_048_576) } },
  { name: "small", inputSchema: { type: "object" } },
];

process.stderr.write(`started ${how}\n`);
createInterface({ input: process.stdin }).on("line", (line) => {
  if (how === "mute") return;
  const { id, method } = JSON.parse(line) as { id?: number; method: string };
  if (id === undefined) return;
  if (method === "initialize")
    reply(id, {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "raw", version: "0" },
    });
  else if (method === "tools/list") reply(id, { tools: how === "megabyte" ? megabyte() : listed });
  else if (how !== "deaf") reply(id, { content: [{ type: "text", text: method }] });
});
if (how === "stubborn") {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1_000);
}
