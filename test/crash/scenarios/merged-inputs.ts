import { createRuntime, defineTool, type Session } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** What waits is taken into one turn; while that works, more comes, and is taken into the next. */
export default defineScenario({
  async run({ store, host }) {
    let session: Session;
    const listen = defineTool({
      name: "listen",
      description: "Listens.",
      input: { type: "object", properties: { words: { type: "array" } } },
      execute: async ({ words }) => {
        for (const key of words as readonly string[]) await session.send(key, { key, at: "next-turn" });
        return "listened";
      },
    });
    const model = recited(
      calls("listen", { words: ["A.", "B.", "C."] }, "one"),
      says("I heard."),
      calls("listen", { words: ["D.", "E."] }, "two"),
      says("I heard three."),
      says("I heard two."),
    );
    await using runtime = await createRuntime({ store, host, model, tools: [listen] });
    session = await runtime.session("merged", { config: { mergesInputs: true } });
    await session.turn("Listen.", { key: "listen" }).result();
    for (const key of ["A.", "B.", "C.", "D.", "E."]) await session.turn(key, { key }).result();
  },
});
