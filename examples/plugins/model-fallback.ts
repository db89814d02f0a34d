// If a model fails, the next model replaces it: after a retried call for the rest of the turn, and after a failed turn for
// all later turns. A call never changes its model, so a call that fails for good still ends its turn.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

export const fallback = definePlugin({
  id: "example/fallback",
  options: z.object({ models: z.array(z.string()).min(1) }),
  state: z.object({ failed: z.number().default(0) }), // How many models have failed a turn.
  setup: ({ options: { models }, query }) => {
    let hasRetried = false; // For one turn only, so a restart can lose it.
    return {
      beforeTurn: () => {
        hasRetried = false;
      },
      streamFinished: ({ reason }) => {
        hasRetried ||= reason === "attempt-reset";
      },
      // Changes only this call: the session keeps its model. The runtime's `models` must return a model for the name.
      request: ({ request, state }) => {
        const place = Math.min(state.get().failed + (hasRetried ? 1 : 0), models.length);
        const model = models[place - 1];
        return model === undefined
          ? undefined
          : { ...request, model, settings: { ...request.settings, temperature: 0 } };
      },
      afterTurn: ({ report: { outcome }, state }) => {
        if (outcome.kind === "failed" && outcome.by === "provider")
          state.update(({ failed }) => ({ failed: Math.min(failed + 1, models.length) }));
      },
      operations: { failed: query({ run: ({ state }) => state.get().failed }) },
    };
  },
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "Rain." });
const busy = new ProviderFailure({ class: "overloaded", message: "Come back later.", retryAfterMs: 1 });
const main = scripted(busy, calls("look"), new ProviderFailure({ class: "auth", message: "The key has expired." }));
const small = scripted(says("It rains."), says("Bergen."));
const models = (name: string) => (name === "small" ? small : undefined);
const plugins = [fallback({ models: ["small"] })];
await using runtime = await createRuntime({ store: memory(), model: main, models, plugins, tools: [look] });
const session = await runtime.session();

// The main model retries the first call. The small model makes the second call.
const answered = await session.turn("Weather?").result();
assert.equal(answered.outcome.kind === "answered" && answered.outcome.text, "It rains.");
const failed = await session.turn("The rainiest town?").result(); // A new turn starts with the session's model.
assert.equal(failed.outcome.kind, "failed");
const again = await session.turn("Please answer what I asked.").result();
assert.equal(again.outcome.kind === "answered" && again.outcome.text, "Bergen.");
assert.deepEqual([main.requests.length, small.requests.length], [3, 2]);
assert.equal(small.requests[0]?.settings?.temperature, 0);
assert.equal(await session.query(fallback, "failed"), 1);
