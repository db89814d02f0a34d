// A refund waits for a person, over a restart. The first process asks and ends. Later another process lists the open
// waits, and Ann approves a smaller amount. The turn resumes where it stopped, and the history records her answer.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { z } from "zod";

const refunded: string[] = [];
const refund = defineTool({
  name: "refund",
  description: "Gives a customer money back.",
  input: z.object({ order: z.string(), euros: z.number().positive() }),
  execute: ({ order, euros }, { idempotencyKey }) => {
    // A real tool passes this key to the bank. If a crash interrupts a call, the next attempt has the same key.
    assert.ok(idempotencyKey);
    refunded.push(`${order}: ${euros} euros`);
    return { order, euros };
  },
});
const policy = approvals({
  rules: [
    { tool: refund, when: { euros: { lte: 20 } }, verdict: "allow" },
    { tool: refund, when: { euros: { lte: 500 } }, verdict: "ask", reason: "It moves more than 20 euros." },
    { tool: refund, verdict: "deny", reason: "More than 500 euros go through the accounts department." },
  ],
});

/** A scripted model. Any AI SDK model works too. */
const model: Provider = {
  id: "script",
  modelId: "clerk",
  async *stream({ messages }) {
    const last = messages.at(-1);
    if (last?.role !== "tool") yield* calls("refund", { order: "A-7", euros: 120 });
    else yield* says(`That is settled: ${JSON.stringify(last.parts.map((part) => "parts" in part && part.parts))}`);
  },
};

const folder = mkdtempSync(join(tmpdir(), "bowline-refund-"));
/** The runtime of both processes. */
const start = () =>
  createRuntime({ store: sqlite(join(folder, "agent.db")), model, tools: [refund], plugins: [policy] });

try {
  // ── Monday: a customer writes ─────────────────────────────────────────────────────────────────────────────────────

  const monday = await start();
  const turn = (await monday.session("customer-7")).turn("The kettle of order A-7 never came.", { key: "mail-1" });
  for await (const event of turn) {
    if (event.kind !== "waiting") continue;
    console.log(`Monday: ${event.call.name} ${JSON.stringify(event.call.input)} waits. ${event.reason}`);
    break;
  }
  const turnId = await turn.id;
  await monday.close(); // A parked turn costs a row in the database and nothing else.
  assert.deepEqual(refunded, []);

  // ── Tuesday: Ann reads the open waits ─────────────────────────────────────────────────────────────────────────────

  const tuesday = await start();
  const [wait] = await tuesday.waits.list();
  assert.ok(wait?.kind === "approval");
  console.log(`Tuesday: ${wait.tool} ${JSON.stringify(wait.arguments)} of ${wait.sessionId}. ${wait.reason}`);
  await tuesday.waits.resolve(wait, { approved: true, args: { order: "A-7", euros: 80 } }, { by: "ann" });

  const session = await tuesday.session("customer-7");
  const { outcome } = await session.follow(turnId).result();
  console.log(outcome.kind === "answered" ? `Tuesday: ${outcome.text}` : outcome);
  assert.deepEqual(refunded, ["A-7: 80 euros"]);
  assert.deepEqual(await tuesday.waits.list(), []);

  // ── The history records the answer ────────────────────────────────────────────────────────────────────────────────

  const { messages } = await session.read();
  const [trail] = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "toolResult" ? (part.trail ?? []) : [])),
  );
  const answer = trail?.asked?.[0]?.answer;
  console.log(`History: asked "${trail?.asked?.[0]?.reason}"; ${answer?.by} approved ${JSON.stringify(trail?.input)}.`);
  assert.deepEqual(trail?.input, { order: "A-7", euros: 80 });
  assert.deepEqual([answer?.by, answer?.approved, answer?.isEdited], ["ann", true, true]);
  await tuesday.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
