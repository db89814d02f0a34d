/** Plugins and tools for sessions that count, compact, move on and delegate. */
import { definePlugin, defineTool, type SessionView, switchFrame } from "bowline";
import { z } from "zod";
import { named, type Stop } from "../kit/worlds.ts";

/** Counts turns; its commands change its state, with and without a node. */
export const counter = definePlugin({
  id: "test/counter",
  state: z.object({ count: z.number().default(0) }),
  setup: ({ query, command, task }) => ({
    afterTurn: ({ state }) => void state.update(({ count }) => ({ count: count + 1 })),
    operations: {
      count: query({ run: ({ state }) => state.get().count }),
      set: command({ input: z.number(), run: ({ input, state }) => void state.update(() => ({ count: input })) }),
      note: command({ input: z.string(), run: ({ input, emit }) => emit("note", input) }),
      wait: task({
        input: z.custom<Stop>(),
        run: async ({ input, state }) => {
          await input.here();
          state.update(({ count }) => ({ count: count + 100 }));
        },
      }),
    },
  }),
});

/** A plugin that compacts as it is told. */
export const compacting = (
  how: (messages: SessionView["messages"]) => { readonly seed: readonly string[]; readonly tail?: string } | undefined,
) =>
  definePlugin({
    id: "test/compacting",
    setup: () => ({
      compact: ({ messages }) => {
        const given = how(messages);
        if (given === undefined) return undefined;
        const { seed, tail } = given;
        const drafts = seed.map((text) => ({ role: "user" as const, parts: [{ kind: "text" as const, text }] }));
        return { seed: drafts, ...(tail === undefined ? {} : { tail }) };
      },
    }),
  });

/** Goes on in a fresh window. */
export const moves = named("move", () => switchFrame("#after"));

/** Gives a task to a session of its own, and waits for it. */
export const delegate = defineTool({
  name: "delegate",
  description: "Lets another session do it.",
  input: z.object({ id: z.string(), task: z.string() }),
  execute: async ({ id, task }, { sessions }) => {
    await sessions.create({ id, kind: "child", ifExists: "take" });
    const { turnId } = await sessions.send(id, task);
    const { outcome } = await sessions.result(id, turnId);
    return outcome.kind === "answered" ? outcome.text : outcome.kind;
  },
});
