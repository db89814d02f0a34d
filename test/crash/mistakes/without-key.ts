import { createRuntime } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";

/** Sends an input without a key, so the second process sends it again. */
export default defineScenario({
  async run({ store, host }) {
    await using runtime = await createRuntime({ store, host, model: recited(says("Nine."), says("Still nine.")) });
    await (await runtime.session("tigers")).turn("How many kinds of tiger?").result();
  },
});
