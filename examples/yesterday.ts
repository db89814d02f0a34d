// What did the agent do yesterday, how long did it take, and what did it cost? The first process does the work and
// ends. The second process only reads: it opens no session and runs no turn. Time is simulated, so a day passes in a
// moment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, type Message } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, simulatedWorld } from "bowline/testing";
import { z } from "zod";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const world = simulatedWorld({ now: Date.parse("2026-06-01T09:00:00Z") });
const folder = mkdtempSync(join(tmpdir(), "bowline-yesterday-"));

/** A scripted model. Any AI SDK model works too. */
const model: Provider = {
  id: "script",
  modelId: "clerk",
  async *stream({ messages }, { signal }) {
    await world.sleep(1_200, signal);
    const last = messages.at(-1);
    const [part] = last?.parts ?? [];
    if (last?.role === "tool") yield* says("The money is on its way.");
    else if (part?.kind === "text" && /money back/.test(part.text))
      yield* calls("refund", { order: "A-7", euros: 120 });
    else yield* says("Parcels take two days.");
  },
};
const refund = defineTool({
  name: "refund",
  description: "Gives a customer money back.",
  input: z.object({ order: z.string(), euros: z.number() }),
  execute: async ({ order }, { signal }) => {
    await world.sleep(400, signal);
    return `${order} is refunded.`;
  },
});
const policy = approvals({ rules: [{ tool: refund, verdict: "ask", reason: "It moves money." }] });

const textOf = (parts: Message["parts"]): string =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
const dollars = (cost: number): string => `$${cost.toFixed(6)}`;

/** The runtime of both processes. */
const start = (recover: "auto" | "never") =>
  createRuntime({
    store: sqlite(join(folder, "agent.db")),
    model,
    tools: [refund],
    plugins: [policy],
    prices: { "script/clerk": { input: 3, output: 15 } }, // Per million tokens.
    recover,
    world,
  });

try {
  // ── Yesterday ─────────────────────────────────────────────────────────────────────────────────────────────────────

  const worker = await start("auto");
  const ask = async (customer: string, text: string) => {
    const session = await worker.session(customer);
    return session.turn(text, { metadata: { channel: "mail" } });
  };
  const first = await ask("customer-1", "How long does a parcel take?");
  await world.advance(MINUTE);
  await first.result();
  const second = await ask("customer-2", "The kettle never came. I want my money back.");
  await world.advance(3 * MINUTE);
  const [wait] = await worker.waits.list();
  assert.ok(wait);
  await worker.waits.resolve(wait, { approved: true }, { by: "ann" });
  await world.advance(MINUTE);
  await second.result();
  await worker.close();

  // ── Today: what did the agent do yesterday? ───────────────────────────────────────────────────────────────────────

  await world.jump(DAY);
  const runtime = await start("never");
  const until = Math.floor(world.now() / DAY) * DAY; // Midnight.
  const turns = await runtime.turns.list({ since: until - DAY, until }); // Newest first.
  const lines = [`${turns.length} turns, ${dollars(turns.reduce((sum, { cost = 0 }) => sum + cost, 0))}`];
  for (const { id, startedAt = 0, endedAt = 0, cost = 0 } of turns.toReversed()) {
    const { sessionId, input = [], outcome, waits } = await runtime.turns.get(id);
    const took = `${(endedAt - startedAt) / 1_000} s`;
    lines.push(`${sessionId} "${textOf(input)}" ${outcome?.kind}, ${took}, ${dollars(cost)}`);
    for (const { call, how, by } of waits) lines.push(`  ${call.name} ${JSON.stringify(call.input)} ${how} by ${by}`);
  }
  const { startedAt, items } = await runtime.turns.timeline(turns[0]?.id ?? "");
  for (const { kind, effect, startedAt: from, endedAt: to = from } of items.filter(({ kind }) => kind !== "hooks"))
    lines.push(`  ${String(from - startedAt).padStart(6)} ms ${kind.padEnd(7)} ${to - from} ms ${effect}`.trimEnd());

  console.log(lines.join("\n"));
  assert.deepEqual(lines, [
    "2 turns, $0.000315",
    'customer-1 "How long does a parcel take?" answered, 1.2 s, $0.000105',
    'customer-2 "The kettle never came. I want my money back." answered, 181.6 s, $0.000210',
    '  refund {"order":"A-7","euros":120} answered by ann',
    "       0 ms model   1200 ms r1.ask",
    "    1200 ms wait    178800 ms r1.call.0.w",
    "  180000 ms resumed 0 ms", // The turn was parked while it waited.
    "  180000 ms tool    400 ms r1.call.0",
    "  180400 ms model   1200 ms r2.ask",
  ]);
  await runtime.close();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
