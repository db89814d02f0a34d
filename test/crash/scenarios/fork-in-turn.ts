import { createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { forked } from "../forked.ts";

/** A session is forked while a turn of it runs: the fork has what was committed before. */
export default defineScenario({
  async run({ store, host }) {
    let fork: (() => Promise<unknown>) | undefined;
    const branch = defineTool({
      name: "branch",
      description: "Forks the conversation.",
      input: { type: "object" },
      execute: async () => {
        await fork?.();
        return "forked";
      },
    });
    const model = recited(says("Hello."), calls("branch", {}, "one"), says("Forked."), says("Here."));
    const other = recited(says("Hello."), says("There."));
    const models = (name: string) => (name === "other" ? other : name === "main" ? model : undefined);
    await using runtime = await createRuntime({ store, host, model: "main", models, tools: [branch] });
    const session = await runtime.session("main");
    fork = () => forked(runtime, session, "fork");
    await session.turn("Hi.", { key: "one" }).result();
    await session.turn("Fork yourself.", { key: "two" }).result();
    const there = await forked(runtime, session, "fork");
    await there.configure({ model: "other" });
    const first = there.turn("Where are you?", { key: "three" });
    await first.id; // Outcomes are compared in the order of acceptance.
    await Promise.all([first.result(), session.turn("Where are you?", { key: "three" }).result()]);
  },
});
