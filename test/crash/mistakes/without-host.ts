import { createRuntime } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";

/** Leaves out the host of the kit. */
export default defineScenario({
  async run({ store }) {
    await using runtime = await createRuntime({ store, model: recited(says("Nine.")) });
    await (await runtime.session("tigers")).turn("How many kinds of tiger?", { key: "first" }).result();
  },
});
