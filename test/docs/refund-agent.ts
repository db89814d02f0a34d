import { anthropic } from "@ai-sdk/anthropic";
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";

const refund = defineTool({
  name: "refund",
  description: "Gives a customer money back.",
  input: z.object({ order: z.string(), euros: z.number() }),
  execute: async (body, { idempotencyKey: key }) => {
    const request = { method: "POST", headers: { "Idempotency-Key": key }, body: JSON.stringify(body) };
    return (await fetch("https://bank.example/refunds", request)).text();
  },
});
const runtime = await createRuntime({
  store: sqlite("agent.db"),
  model: anthropic("claude-sonnet-4-5"),
  tools: [refund],
  plugins: [approvals({ rules: [{ tool: refund, verdict: "ask", reason: "It moves money." }] })],
});
const session = await runtime.session("customer-7");
await session.send("The kettle of order A-7 never came.", { key: "mail-1" });

// Later, also in another process on the same file:
for (const wait of await runtime.waits.list({ session: "customer-7" }))
  if (wait.kind === "approval") await runtime.waits.resolve(wait, { approved: true }, { by: "ann" });
