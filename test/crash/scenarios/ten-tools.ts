import { createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

const ROUNDS = 10;

/** Ten rounds, each with one call. */
export default defineScenario({
  async run({ store, host, act }) {
    const note = defineTool({
      name: "note",
      description: "Notes a number.",
      input: { type: "object", properties: { n: { type: "number" } } },
      execute: async ({ n }, { idempotencyKey }) => {
        act(`note ${n} ${idempotencyKey}`);
        await new Promise((resolve) => setImmediate(resolve));
        return `noted ${n}`;
      },
    });
    const rounds = Array.from({ length: ROUNDS }, (_, n) => calls("note", { n }, `call ${n}`));
    await using runtime = await createRuntime({ store, host, model: recited(...rounds, says("Done.")), tools: [note] });
    const session = await runtime.session("ten");
    await session.turn("Note ten numbers.", { key: "go" }).result();
  },
});
