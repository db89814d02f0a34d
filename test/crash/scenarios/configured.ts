import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";

/** A command changes state and settings in one change: after a kill both are there, or neither. */
export default defineScenario({
  async run({ store, host }) {
    const tone = definePlugin({
      id: "crash/tone",
      version: "1",
      state: z.object({ tone: z.string().default("") }),
      setup: ({ command, query }) => ({
        operations: {
          now: query({ run: ({ state }) => state.get().tone }),
          set: command({
            input: z.object({ tone: z.string() }),
            run: ({ input, state, configure }) => {
              state.update(() => input);
              configure({ instructions: `Be ${input.tone}.` });
            },
          }),
        },
      }),
    });
    const model = recited(says("Yes."));
    await using runtime = await createRuntime({ store, host, model, plugins: [tone] });
    const session = await runtime.session("tone");
    const tell = async (): Promise<string> => {
      const { config } = await session.read();
      const kept = await session.query(tone, "now");
      if ((config.instructions ?? "") !== (kept === "" ? "" : `Be ${kept}.`)) throw new Error("One without the other.");
      return kept;
    };
    if ((await tell()) === "") await session.command(tone, "set", { tone: "kind" });
    await session.turn("Go.", { key: "go" }).result();
    if ((await tell()) === "kind") await session.command(tone, "set", { tone: "brief" });
    await tell();
  },
});
