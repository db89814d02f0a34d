import { createRuntime, definePlugin, defineTool } from "bowline";
import { emitEvent } from "bowline/plugin";
import { both, calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";

/** Counts in every hook that may write, and in a tool that says so, beside calls that run at the same time. */
const counter = definePlugin({
  id: "crash/counter",
  version: "1",
  state: z.object({
    turns: z.number().default(0),
    asked: z.number().default(0),
    gated: z.array(z.number()).default([]),
    settled: z.array(z.number()).default([]),
    written: z.number().default(0),
    checked: z.number().default(0),
    ended: z.number().default(0),
  }),
  setup: ({ tool }) => ({
    prompt: ({ state }) => [{ slot: "guidance", text: `Calls so far: ${state.get().gated.length}.` }],
    beforeTurn: ({ state }) => state.update((now) => ({ ...now, turns: now.turns + 1 })),
    beforeToolCall: ({ call, state }) => {
      const n = (call.input as { n?: number }).n ?? -1;
      state.update((now) => ({ ...now, gated: [...now.gated, n] }));
      return emitEvent("gated", { n });
    },
    afterToolCall: ({ call, state }) => {
      const n = (call.input as { n?: number }).n ?? -1;
      state.update((now) => ({ ...now, settled: [...now.settled, n] }));
    },
    checkpoint: ({ state }) => state.update((now) => ({ ...now, checked: now.checked + 1 })),
    afterTurn: ({ state }) => state.update((now) => ({ ...now, ended: now.ended + 1 })),
    tools: [
      tool({
        name: "write",
        description: "Counts.",
        input: z.object({ n: z.number() }),
        writes: true,
        execute: async ({ n }, { state }) => {
          state.update((now) => ({ ...now, written: now.written + n }));
          await new Promise((resolve) => setImmediate(resolve));
          return state.get().written;
        },
      }),
    ],
  }),
});

export default defineScenario({
  async run({ store, host }) {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({ n: z.number() }),
      execute: async ({ n }) => {
        await new Promise((resolve) => setTimeout(resolve, (n * 3) % 4));
        return n;
      },
    });
    const round = (from: number) =>
      both(
        ...[0, 1, 2, 3].map((n) => calls("look", { n: from + n }, `look ${from + n}`)),
        calls("write", { n: from + 4 }, `write ${from + 4}`),
        calls("write", { n: from + 5 }, `write ${from + 5}`),
      );
    const model = recited(round(0), round(10), says("Done."), round(20), says("Done again."));
    await using runtime = await createRuntime({ store, host, model, tools: [look], plugins: [counter] });
    const session = await runtime.session("counted");
    await session.turn("Count.", { key: "one" }).result();
    await session.turn("Count on.", { key: "two" }).result();
  },
});
