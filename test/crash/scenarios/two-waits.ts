import { createRuntime, defer, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { both, calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { answer, resting } from "../resting.ts";

const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});

/** A turn waits for an approval and for a result that comes from elsewhere; which is given first differs by the life. */
export default defineScenario({
  async run({ store, host, life, act }) {
    const price = defineTool({
      name: "price",
      description: "Asks the shop.",
      input: { type: "object" },
      execute: (_, { idempotencyKey }) => {
        act(`price ${idempotencyKey}`);
        return defer({ schema: z.object({ euros: z.number() }) });
      },
    });
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: (_, { idempotencyKey }) => {
        act(`pay ${idempotencyKey}`);
        return "paid";
      },
    });
    const model = recited(both(calls("price", {}, "price"), calls("pay", {}, "pay")), says("Bought."));
    await using runtime = await createRuntime({
      store,
      host,
      model,
      tools: [price, pay],
      plugins: [careful],
      limits: { parkAfterMs: 1 },
    });
    const turn = (await runtime.session("shop")).turn("Buy.", { key: "go" });
    const result = turn.result();
    while ((await resting(store, await turn.id)) === "parked") {
      const wait = (await runtime.waits.list({ session: "shop" })).at(life % 2 === 1 ? 0 : -1);
      if (wait === undefined) break; // All is answered.
      await answer(runtime, wait.key, wait.kind === "approval" ? { approved: true } : { value: { euros: 4 } });
    }
    await result;
  },
});
