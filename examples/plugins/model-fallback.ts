// After a turn that its provider failed, the plugin names the model to go on with, and the app configures the session.
// A plugin cannot change the model of a running turn; a `Provider` of your own that asks two models can.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, ProviderFailure, type Session } from "bowline";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { z } from "zod";

export const fallback = definePlugin({
  id: "example/fallback",
  options: z.object({ models: z.array(z.string()).min(1) }),
  state: z.object({ failed: z.array(z.string()).default([]) }),
  setup: ({ options, query }) => ({
    afterTurn: ({ report: { outcome }, session, state }) => {
      if (outcome.kind === "failed" && outcome.by === "provider")
        state.update(({ failed }) => ({ failed: [...failed, session.read().config.model] }));
    },
    // For this call only, and never kept: the smaller model is told to be brief.
    request: ({ request, session }) =>
      options.models.includes(session.read().config.model)
        ? { ...request, system: `${request.system}\n\nBe brief.`, settings: { ...request.settings, temperature: 0 } }
        : undefined,
    operations: {
      next: query({
        description: "The first of the models that has not failed in this session.",
        run: ({ state }) => options.models.find((model) => !state.get().failed.includes(model)),
      }),
    },
  }),
});

/** The app's half. */
export async function ask(session: Session, words: string): Promise<string> {
  const { outcome } = await session.turn(words).result();
  if (outcome.kind === "answered") return outcome.text;
  const model = await session.query(fallback, "next");
  if (outcome.kind !== "failed" || outcome.by !== "provider" || model === undefined) throw new Error(outcome.kind);
  await session.configure({ model });
  return ask(session, "Please answer what I asked.");
}

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const main = scripted(new ProviderFailure({ class: "auth", message: "The key has expired." }));
const small = scripted(says("Oslo."), says("Bergen."));
const models = (name: string) => (name === "small" ? small : undefined);
const plugins = [fallback({ models: ["small"] })];
await using runtime = await createRuntime({ store: memory(), model: main, models, plugins, instructions: "You know." });
const session = await runtime.session();
assert.equal(await ask(session, "Norway's capital?"), "Oslo.");
assert.equal(await ask(session, "And the rainiest town?"), "Bergen."); // It stays with the small one.
assert.deepEqual([main.requests.length, small.requests.length], [1, 2]);
assert.equal(small.requests[0]?.system, "You know.\n\nBe brief.");
assert.equal(small.requests[0]?.settings?.temperature, 0);
