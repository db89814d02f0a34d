import { createRuntime } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";

/** Two turns of plain text. */
export default defineScenario({
  async run({ store, host }) {
    const model = recited(says("Nine ", "kinds."), says("All of them."));
    await using runtime = await createRuntime({ store, host, model });
    const session = await runtime.session("tigers");
    await session.turn("How many kinds of tiger?", { key: "first" }).result();
    await session.turn("Which ones are striped?", { key: "second" }).result();
  },
});
