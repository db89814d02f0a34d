import { createRuntime } from "bowline";
import { defineScenario } from "bowline/testing";
import { check, memories, model, waiter } from "../hidden.ts";

/** As `job-hidden`, but the runtime of the turns has not the plugin whose tasks the jobs are: another one runs them. */
export default defineScenario({
  async run({ store, host, act }) {
    const worker = await createRuntime({ store, host, model, plugins: [memories(act)], limits: { parkAfterMs: 50 } });
    const runtime = await createRuntime({ store, host, model, plugins: [waiter], recover: "manual" });
    const session = await runtime.session("mind");
    await session.turn("Hello.", { key: "hello" }).result();
    await session.turn("What do you recall?", { key: "recall" }).result();
    await worker.close(); // And with it the store that they share.
  },
  check,
});
