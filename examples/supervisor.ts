// A supervisor in another program. It follows the facts of all sessions over HTTP, and answers each call that waits.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { createClient } from "bowline/client";
import { approvals } from "bowline/plugins/approvals";
import { serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

// ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────

const paid: number[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays an amount.",
  input: z.object({ euros: z.number() }),
  execute: ({ euros }) => {
    paid.push(euros);
    return "paid";
  },
});
const model = scripted(
  calls("pay", { euros: 12 }),
  says("Paid."),
  calls("pay", { euros: 9_000 }),
  says("I could not."),
);
const policy = approvals({ rules: [{ tool: pay, verdict: "ask", reason: "It moves money." }] });
await using runtime = await createRuntime({ store: memory(), model, tools: [pay], plugins: [policy] });
const token = "a-secret-of-the-supervisor";
const { url, close } = await serve(runtime, { token }).listen();

// ── The supervisor: uses only HTTP ──────────────────────────────────────────────────────────────────────────────────

const client = createClient({ url, token });
const answers: string[] = [];
const supervising = (async () => {
  let ended = 0;
  for await (const fact of client.events()) {
    if (fact.kind === "committed" && ++ended === 2) return;
    if (fact.kind !== "waiting") continue;
    const { euros } = fact.call.input as { euros: number };
    const approved = euros <= 100;
    answers.push(`${euros} EUR: ${approved ? "approved" : "denied"}`);
    await client.waits.answer(fact.wait, approved ? { approved } : { approved, reason: "Too much." });
  }
})();

await client.sessions.create({ id: "office" });
for (const text of ["Pay the lunch.", "Pay the car."]) await client.send("office", text, { at: "next-turn" });
await supervising;
console.log(answers.join("\n"));
assert.deepEqual(answers, ["12 EUR: approved", "9000 EUR: denied"]);
assert.deepEqual(paid, [12]);
await close();
