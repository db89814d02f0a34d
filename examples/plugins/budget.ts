// Limits tool calls and tokens per session. The app can read how much is spent, and give calls back.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { abortTurn, definePlugin, deny } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

export const budget = definePlugin({
  id: "example/budget",
  options: z.strictObject({ callsMax: z.number().default(20), tokensMax: z.number().default(100_000) }),
  state: z.object({
    calls: z.number().default(0),
    tokens: z.number().default(0),
    reserved: z.array(z.string()).default([]), // Calls that passed this gate and have not ended.
  }),
  setup: ({ options, query, command }) => ({
    beforeTurn: ({ state }) =>
      state.get().tokens >= options.tokensMax ? abortTurn("budget.tokens", "No tokens left.") : undefined,
    beforeToolCall: ({ call, state }) => {
      const { calls, reserved } = state.get();
      const others = reserved.filter((id) => id !== call.id); // If a person edits a call, this gate runs again for it.
      if (calls + others.length >= options.callsMax) return deny("No calls left.");
      state.update((s) => ({ ...s, reserved: [...others, call.id] }));
    },
    // A call without a duration did not run, because another gate or a person denied it. It does not count.
    afterToolCall: ({ call, durationMs, state }) =>
      state.update((s) => ({
        ...s,
        calls: durationMs !== undefined && s.reserved.includes(call.id) ? s.calls + 1 : s.calls,
        reserved: s.reserved.filter((id) => id !== call.id),
      })),
    afterTurn: ({ state, report: { usage } }) =>
      state.update((s) => ({ ...s, tokens: s.tokens + usage.input + usage.output })),
    operations: {
      spent: query({
        description: "What is spent so far.",
        run: ({ state }) => ({ calls: state.get().calls, tokens: state.get().tokens }),
      }),
      refund: command({
        description: "Gives calls back.",
        input: z.object({ calls: z.number().int().positive() }),
        run: ({ input, state, emit }) => {
          state.update((s) => ({ ...s, calls: Math.max(0, s.calls - input.calls) }));
          emit("refunded", { calls: input.calls });
          return { calls: state.get().calls };
        },
      }),
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

let pings = 0;
const ping = defineTool({ name: "ping", description: "Pings.", input: z.object({}), execute: () => ++pings });
const mail = defineTool({ name: "mail", description: "Mails.", input: z.object({}), execute: () => "sent" });
const quiet = definePlugin({
  id: "example/quiet",
  setup: ({ gate }) => ({ beforeToolCall: gate("beforeToolCall", { tools: [mail], run: () => deny("No mails.") }) }),
});
const several = both(calls("mail"), calls("ping"), calls("ping"));
const model = scripted(several, says("One ping."), calls("ping"), says("Two."), calls("ping"), says("Three."));
const plugins = [budget({ callsMax: 2, tokensMax: 90 }), quiet];
await using runtime = await createRuntime({ store: memory(), model, tools: [ping, mail], plugins });
const session = await runtime.session();

// The mail and the first ping reserved both places. The denied mail then released its place.
await session.turn("Mail, and ping twice.").result();
assert.equal(pings, 1);
await session.turn("Ping again.").result();
assert.equal(pings, 2);
assert.deepEqual(await session.query(budget, "spent"), { calls: 2, tokens: 60 });

const { output, events } = await session.command(budget, "refund", { calls: 1 });
assert.deepEqual([output.calls, events], [1, [{ name: "refunded", payload: { calls: 1 } }]]);
await session.turn("Once more.").result();
assert.equal(pings, 3);

const { outcome } = await session.turn("And again.").result();
assert.ok(outcome.kind === "stopped" && outcome.code === "budget.tokens");
// Callers without the plugin object use the operation's full name.
assert.deepEqual((await session.invoke("query", "example/budget.spent")).output, { calls: 2, tokens: 90 });
