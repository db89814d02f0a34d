import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** A hook and a tool send to another session and inject there, and the app injects here: all of it once. */
export default defineScenario({
  async run({ store, host }) {
    const tells = definePlugin({
      id: "test/tells",
      setup: () => ({
        beforeTurn: async ({ sessionId, sessions }) => {
          if (sessionId !== "telling") return;
          await sessions.create({ id: "told", ifExists: "take" });
          await sessions.send("told", "Sent by a hook.");
          await sessions.inject("told", { role: "system", parts: ["Noted by a hook."] });
          await sessions.inject("telling", "To myself.");
        },
      }),
    });
    const tell = defineTool({
      name: "tell",
      description: "Tells.",
      input: { type: "object" },
      retry: "idempotent",
      execute: async (_, { sessions }) => {
        const { id } = sessions.turn("told", "Sent by a tool.");
        await sessions.inject("told", "Noted by a tool.");
        return `told ${typeof (await id)}`;
      },
    });
    const telling = recited(calls("tell", {}, "one"), says("I told."), says("Again."), says("Once more."));
    const told = recited(...Array.from({ length: 8 }, () => says("I heard.")));
    const models = (name: string) => (name === "told" ? told : telling);
    await using runtime = await createRuntime({
      store,
      host,
      model: "telling",
      models,
      tools: [tell],
      plugins: [tells],
    });
    const other = await runtime.session("told", { config: { model: "told" } });
    const session = await runtime.session("telling");
    await runtime.sessions.inject("telling", "By the app.", { id: "app" });
    await session.turn("Tell.", { key: "tell" }).result();
    await other.turn("That is all.", { key: "all" }).result(); // After all that was sent before.
  },
  check({ sessions }) {
    const said = (id: string): readonly string[] =>
      (sessions[id]?.messages ?? []).filter(({ role }) => role === "user" || role === "system").map(({ text }) => text);
    assert.deepEqual([...said("telling")].sort(), ["By the app.", "Tell.", "To myself."]);
    assert.deepEqual([...said("told")].sort(), [
      "Noted by a hook.",
      "Noted by a tool.",
      "Sent by a hook.",
      "Sent by a tool.",
      "That is all.",
    ]);
  },
});
