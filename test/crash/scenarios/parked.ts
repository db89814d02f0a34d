import { createRuntime, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { answer, resting } from "../resting.ts";

const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  setup: () => ({ beforeToolCall: () => ask("It moves money.") }),
});

/**
 * A turn that waits for a human is parked, and an input waits behind it. It is answered when nobody has it: by the runtime
 * that parked it, or by one that runs nothing itself, and after a kill in a later life.
 */
export default defineScenario({
  async run({ store, host, life, act }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: (_, { idempotencyKey }) => {
        act(`pay ${idempotencyKey}`);
        return "paid";
      },
    });
    const model = recited(calls("pay", {}, "pay"), says("Paid."), says("You are welcome."));
    const app = { store, host, model, tools: [pay], plugins: [careful] };
    await using runtime = await createRuntime({ ...app, limits: { parkAfterMs: 1 } });
    const web = await createRuntime({ ...app, recover: "manual" }); // Closed with the store that they share.
    const session = await runtime.session("bank");
    const turn = session.turn("Pay.", { key: "go" });
    const next = session.turn("Thanks.", { key: "thanks" });
    await next.id;
    await resting(store, await turn.id);
    for (const { key } of await web.waits.list({ session: "bank" }))
      await answer(life % 2 === 1 ? web : runtime, key, { approved: true });
    await turn.result();
    await next.result();
  },
});
