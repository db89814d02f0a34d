import { createRuntime, defineTool, ToolError } from "bowline";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

/** Twenty calls in one reply, eight at a time, one of which fails. */
export default defineScenario({
  async run({ store, host, act }) {
    const look = defineTool({
      name: "look",
      description: "Looks something up.",
      input: { type: "object", properties: { n: { type: "number" } } },
      execute: async ({ n }, { idempotencyKey }) => {
        act(`look ${n} ${idempotencyKey}`);
        await new Promise((resolve) => setTimeout(resolve, (Number(n) * 7) % 5));
        if (n === 13) throw new ToolError("look.failed", "Nothing is there.");
        return { n };
      },
    });
    const all = Array.from({ length: 20 }, (_, n) => calls("look", { n }, `c${n}`));
    await using runtime = await createRuntime({
      store,
      host,
      model: recited(both(...all), says("Done.")),
      tools: [look],
    });
    const session = await runtime.session("many");
    await session.turn("Look at everything.", { key: "go" }).result();
  },
});
