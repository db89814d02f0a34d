import { createRuntime } from "bowline";
import { defineScenario } from "bowline/testing";
import { check, memories, model, waiter } from "../hidden.ts";

/** A turn waits for hidden jobs of the turn before: its model sees what they appended, before it and meanwhile, once. */
export default defineScenario({
  async run({ store, host, act }) {
    const plugins = [waiter, memories(act)];
    await using runtime = await createRuntime({ store, host, model, plugins, limits: { parkAfterMs: 50 } });
    const session = await runtime.session("mind");
    await session.turn("Hello.", { key: "hello" }).result();
    await session.turn("What do you recall?", { key: "recall" }).result();
  },
  check,
});
