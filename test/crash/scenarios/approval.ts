import { createRuntime, definePlugin, defineTool, hasCode } from "bowline";
import { ask } from "bowline/plugin";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});

/** A call waits for a human, beside one that does not; the answer comes once the wait is told of, in whichever life. */
export default defineScenario({
  async run({ store, host, act }) {
    const tool = (name: string) =>
      defineTool({
        name,
        description: `Does ${name}.`,
        input: { type: "object" },
        execute: async (_, { idempotencyKey }) => {
          act(`${name} ${idempotencyKey}`);
          await new Promise((resolve) => setImmediate(resolve));
          return `${name}: done`;
        },
      });
    const model = recited(both(calls("pay", {}, "pay"), calls("look", {}, "look")), says("Paid."));
    const tools = [tool("pay"), tool("look")];
    await using runtime = await createRuntime({ store, host, model, tools, plugins: [careful] });
    const session = await runtime.session("bank");
    const turn = session.turn("Pay.", { key: "go" });
    for await (const event of turn) {
      if (event.kind !== "waiting") continue;
      const asked = await runtime.waits.get(event.wait);
      if (asked === undefined) continue; // It was answered in an earlier life.
      await runtime.waits.resolve(asked.key, { approved: true }).catch((error: unknown) => {
        if (!hasCode(error, "wait.unknown")) throw error; // Another worker has done it all.
      });
    }
    await turn.result();
  },
});
