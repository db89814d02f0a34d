// When a model fails, calls go to the next one: within a turn after a call that had to be tried again, and in later
// turns after a turn that failed. One call stays with its model, so a call that fails for good still ends its turn.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

export const fallback = definePlugin({
  id: "example/fallback",
  options: z.object({ models: z.array(z.string()).min(1) }),
  state: z.object({ failed: z.number().default(0) }), // How many models have failed turns.
  setup: ({ options: { models }, query }) => {
    let isShaky = false; // About one turn, so it need not survive a restart.
    return {
      beforeTurn: () => {
        isShaky = false;
      },
      streamFinished: ({ reason }) => {
        isShaky ||= reason === "attempt-reset";
      },
      // Changes this call only: the session keeps its model. The runtime's `models` must know the name.
      request: ({ request, state }) => {
        const place = Math.min(state.get().failed + (isShaky ? 1 : 0), models.length);
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

const answered = await session.turn("Weather?").result(); // The first call was tried again; the second is made elsewhere.
assert.equal(answered.outcome.kind === "answered" && answered.outcome.text, "It rains.");
const failed = await session.turn("The rainiest town?").result(); // A new turn begins with the session's own model.
assert.equal(failed.outcome.kind, "failed");
const again = await session.turn("Please answer what I asked.").result();
assert.equal(again.outcome.kind === "answered" && again.outcome.text, "Bergen.");
assert.deepEqual([main.requests.length, small.requests.length], [3, 2]);
assert.equal(small.requests[0]?.settings?.temperature, 0);
assert.equal(await session.query(fallback, "failed"), 1);
