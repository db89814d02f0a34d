// Limits tool calls and tokens per session. The app can ask what is spent, and give some back.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { abortTurn, definePlugin, deny } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

export const budget = definePlugin({
  id: "example/budget",
  options: z.object({ callsMax: z.number().default(20), tokensMax: z.number().default(100_000) }),
  state: z.object({ calls: z.number().default(0), tokens: z.number().default(0) }),
  setup: ({ options, query, command }) => ({
    beforeTurn: ({ state }) =>
      state.get().tokens >= options.tokensMax ? abortTurn("budget.tokens", "No tokens left.") : undefined,
    beforeToolCall: ({ state }) => {
      if (state.get().calls >= options.callsMax) return deny("No calls left.");
      state.update((s) => ({ ...s, calls: s.calls + 1 }));
    },
    afterTurn: ({ state, report: { usage } }) =>
      state.update((s) => ({ ...s, tokens: s.tokens + usage.input + usage.output })),
    operations: {
      spent: query({ description: "What is spent so far.", run: ({ state }) => state.get() }),
      refund: command({
        description: "Gives calls back.",
        input: z.object({ calls: z.number().int().positive() }),
        run: ({ input, state, emit }) => {
          state.update((s) => ({ ...s, calls: Math.max(0, s.calls - input.calls) }));
          emit("refunded", { calls: input.calls });
          return state.get();
        },
      }),
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

let pings = 0;
const ping = defineTool({ name: "ping", description: "Pings.", input: z.object({}), execute: () => ++pings });
const three = both(calls("ping"), calls("ping"), calls("ping"));
const model = scripted(three, says("Two."), calls("ping"), says("One more."));
const plugins = [budget({ callsMax: 2, tokensMax: 60 })];
await using runtime = await createRuntime({ store: memory(), model, tools: [ping], plugins });
const session = await runtime.session();

await session.turn("Ping three times.").result();
assert.equal(pings, 2);
assert.deepEqual(await session.query(budget, "spent"), { calls: 2, tokens: 30 });

const { output, events } = await session.command(budget, "refund", { calls: 1 });
assert.deepEqual([output.calls, events], [1, [{ name: "refunded", payload: { calls: 1 } }]]);
await session.turn("Once more.").result();
assert.equal(pings, 3);

const { outcome } = await session.turn("And again.").result();
assert.ok(outcome.kind === "stopped" && outcome.code === "budget.tokens");
// By wire name, for callers that know the plugin only by its id.
assert.deepEqual((await session.invoke("query", "example/budget.spent")).output, { calls: 2, tokens: 60 });
