import { createRuntime, definePlugin, defineTool } from "bowline";
import { ask, deny } from "bowline/plugin";
import { both, calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { answer, resting } from "../resting.ts";

/** Counts what it was asked: a call that was edited passes it again, once. */
const careful = definePlugin({
  id: "crash/careful",
  version: "1",
  state: z.object({ seen: z.array(z.string()).default([]) }),
  setup: () => ({
    beforeToolCall: ({ call, state }) => {
      const { euros } = call.input as { readonly euros: number };
      state.update(({ seen }) => ({ seen: [...seen, `${call.id} ${euros}`] }));
      return euros > 100 ? deny("Never so much.") : ask("It moves money.");
    },
  }),
});

/** Somebody approves two calls with other arguments: one runs so, the other is denied at its second gate. */
export default defineScenario({
  async run({ store, host, act }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ euros: z.number() }),
      execute: ({ euros }, { idempotencyKey }) => {
        act(`pay ${euros} ${idempotencyKey}`);
        return `paid ${euros}`;
      },
    });
    const model = recited(both(calls("pay", { euros: 9 }, "a"), calls("pay", { euros: 8 }, "b")), says("Done."));
    await using runtime = await createRuntime({
      store,
      host,
      model,
      tools: [pay],
      plugins: [careful],
      limits: { parkAfterMs: 1 },
    });
    const turn = (await runtime.session("bank")).turn("Pay.", { key: "go" });
    const result = turn.result();
    while ((await resting(store, await turn.id)) === "parked") {
      const [wait] = await runtime.waits.list({ session: "bank" });
      if (wait === undefined) break; // All is answered.
      await answer(runtime, wait.key, { approved: true, args: { euros: wait.callId === "a" ? 5 : 500 } });
    }
    await result;
  },
});
