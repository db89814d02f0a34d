import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import type { Provider } from "bowline/provider";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** Hooks and tools that ask a model themselves, and do things once in a turn: what is noted is not done again. */
export default defineScenario({
  async run({ store, host, act }) {
    const advised = definePlugin({
      id: "crash/advised",
      version: "1",
      setup: () => ({
        beforeTurn: async ({ once }) => {
          await once("greet", () => {
            act("greet");
            return "greeted";
          });
        },
      }),
    });
    const advise = defineTool({
      name: "advise",
      description: "Asks for advice.",
      input: { type: "object" },
      execute: async (_, { complete, once }) => {
        const words = await complete.text("What now?", { label: "advise" });
        const number = await once("dice", () => {
          act("dice");
          return 4;
        });
        return `${words} ${number}`;
      },
    });
    const chat = recited(calls("advise", {}, "one"), says("Well advised."));
    const model: Provider = {
      ...chat,
      stream(request, options) {
        const isNested = request.messages.length === 1 && JSON.stringify(request.messages).includes("What now?");
        if (!isNested) return chat.stream(request, options);
        act("complete");
        return recited(says("Wait.")).stream(request, options);
      },
    };
    await using runtime = await createRuntime({ store, host, model, tools: [advise], plugins: [advised] });
    const session = await runtime.session("advised");
    await session.turn("Advise me.", { key: "go" }).result();
  },
  check({ sessions }, { clean, acts }) {
    assert.deepEqual(sessions.advised?.messages, clean.sessions.advised?.messages);
    assert.deepEqual([...new Set(acts)].sort(), ["complete", "dice", "greet"]);
  },
});
