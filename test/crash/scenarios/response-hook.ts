import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";

/** A response hook that fails the first time: the paid reply is kept, and only the hook runs again. */
export default defineScenario({
  async run({ store, host, act }) {
    let failures = 0;
    const shout = definePlugin({
      id: "crash/shout",
      version: "1",
      setup: () => ({
        response: ({ reply }) => {
          act("response");
          if (failures++ % 2 === 0) throw new Error("Not yet.");
          const parts = reply.parts.map((part) =>
            part.kind === "text" ? { ...part, text: part.text.toUpperCase() } : part,
          );
          return { parts };
        },
      }),
    });
    const model = recited(says("Quietly."), says("Quietly again."));
    await using runtime = await createRuntime({ store, host, model, plugins: [shout] });
    const session = await runtime.session("loud");
    await session.turn("Speak.", { key: "one" }).result();
    await session.turn("Speak again.", { key: "two" }).result();
  },
});
