import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { defineScenario, recited } from "bowline/testing";
import { z } from "zod";
import { asked } from "../jobs.ts";
import { answer } from "../resting.ts";

/**
 * A job calls a tool behind a gate that asks: it is parked until somebody answers, in its own process or another one, in
 * whichever life, and pays once.
 */
export default defineScenario({
  async run({ store, host, act, life }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: (_, { idempotencyKey }) => {
        act(`pay ${idempotencyKey}`, { job: "bill", step: "call/0/returned" });
        return "paid";
      },
    });
    const careful = definePlugin({
      id: "crash/careful",
      version: "1",
      state: z.object({ seen: z.array(z.string()).default([]) }),
      setup: ({ task }) => ({
        beforeToolCall: ({ state }) => {
          state.update(({ seen }) => ({ seen: [...seen, "gate"] }));
          return ask("It moves money.");
        },
        afterToolCall: ({ state }) => {
          state.update(({ seen }) => ({ seen: [...seen, "after"] }));
        },
        operations: { bill: task({ run: async ({ job }) => `It is ${await job?.call("pay", {})}.` }) },
      }),
    });
    const app = { store, host, model: recited(), limits: { parkAfterMs: 1 } };
    await using runtime = await createRuntime({ ...app, tools: [pay], plugins: [careful] });
    const web = await createRuntime({ ...app, recover: "manual" }); // Closed with the store that they share.
    const session = await runtime.session("bank");
    await session.jobs.spawn({ id: "bill", label: "Bill", operation: "crash/careful.bill" });
    for (const { key } of await asked(runtime, session, "bill"))
      await answer(life % 2 === 1 ? web : runtime, key, { approved: true });
    await session.jobs.await(["bill"]);
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    assert.deepEqual(final.sessions.bank?.plugins["crash/careful"]?.state, { seen: ["gate", "after"] });
    assert.deepEqual(
      final.jobs.map(({ state, result }) => [state, result]),
      [["completed", "It is paid."]],
    );
    assert.equal(new Set(acts).size, 1, acts.join("\n"));
  },
});
