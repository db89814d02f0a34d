import { createRuntime, definePlugin } from "bowline";
import { answer } from "bowline/plugin";
import { defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";

/** An input hook rewrites what is said, once for each key; a plugin answers the first turn itself, the model the second. */
export default defineScenario({
  async run({ store, host }) {
    const desk = definePlugin({
      id: "crash/desk",
      version: "1",
      state: z.object({ answered: z.number().default(0) }),
      setup: () => ({
        input: ({ input }) => input.parts.map((part) => (part.kind === "text" ? `${part.text} (heard)` : "")).join(""),
        beforeTurn: ({ input, state }) => {
          const [part] = input.parts;
          if (part?.kind !== "text" || !part.text.startsWith("When")) return undefined;
          state.update(({ answered }) => ({ answered: answered + 1 }));
          return answer("At nine.");
        },
      }),
    });
    const model = recited(says("At noon."));
    await using runtime = await createRuntime({ store, host, model, plugins: [desk] });
    const session = await runtime.session("desk");
    const first = await session.turn("When do you open?", { key: "one" }).result();
    if (first.outcome.kind !== "answered" || first.outcome.text !== "At nine.") throw new Error("The desk is silent.");
    await session.turn("And for lunch?", { key: "two" }).result();
    const said = (await session.read()).messages.flatMap(({ role, parts }) =>
      role === "user" && parts[0]?.kind === "text" ? [parts[0].text] : [],
    );
    if (said.join("|") !== "When do you open? (heard)|And for lunch? (heard)") throw new Error(said.join("|"));
  },
});
