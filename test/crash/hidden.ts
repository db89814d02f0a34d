// Hidden jobs that append to the conversation, and the turn that waits for them: once with one runtime, once with the
// jobs in another one.
import assert from "node:assert/strict";
import { definePlugin } from "bowline";
import type { Provider } from "bowline/provider";
import { type CrashWorld, type Picture, recited, says } from "bowline/testing";
import { z } from "zod";

/** Begins two hidden jobs in its first turn: one that appends when it likes, and one when the second turn is open. */
export const waiter = definePlugin({
  id: "crash/waiter",
  version: "1",
  setup: () => ({
    beforeTurn: async ({ jobs, session }) => {
      if (session.read().turns > 0) return;
      for (const word of ["soon", "late"])
        await jobs.spawn({
          label: word,
          operation: "crash/memories.recall",
          isElsewhere: true,
          input: { word },
          visibility: "hidden",
          signals: { go: { type: "string" } },
        });
    },
    context: async ({ jobs, session }) => {
      if (session.read().turns === 0) return;
      const hidden = await jobs.list({ visibility: "hidden", isLive: true });
      for (const { id, label } of hidden) if (label === "late") await jobs.signal(id, "go", "go", { key: "go" });
      for (const { label, state } of await jobs.awaitHidden()) assert.equal(state, "completed", label);
    },
  }),
});

export const memories = (act: CrashWorld["act"]) =>
  definePlugin({
    id: "crash/memories",
    version: "1",
    setup: ({ task }) => ({
      operations: {
        recall: task({
          input: z.object({ word: z.string() }),
          run: async ({ input: { word }, once, graph, job }) => {
            const id = String(job?.id);
            await once("look", () => act(`look ${word}`, { job: id, step: "look" }) ?? null);
            if (word === "late") await job?.receive("go");
            await graph.append([{ kind: "message", role: "user", text: `I recall ${word}.` }]);
            return word;
          },
        }),
      },
    }),
  })();

const seen = ({ messages }: Parameters<Provider["stream"]>[0]): readonly string[] =>
  messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "text" && part.text.startsWith("I recall ") ? [part.text.slice(9)] : [])),
  );

export const model = recited(says("Hello."), (request) => says(`I see ${[...seen(request)].sort().join(" and ")}`));

export function check({ sessions, jobs }: Picture): void {
  const said = sessions.mind?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];
  for (const word of ["soon", "late"])
    assert.equal(said.filter((each) => each === `user: I recall ${word}.`).length, 1, said.join("\n"));
  assert.deepEqual(
    said.filter((each) => each.startsWith("assistant: ")),
    ["assistant: Hello.", "assistant: I see late. and soon."],
    said.join("\n"),
  );
  assert.deepEqual(
    jobs.map(({ label, state, visibility }) => `${label} ${state} ${visibility}`),
    ["soon completed hidden", "late completed hidden"],
  );
}
