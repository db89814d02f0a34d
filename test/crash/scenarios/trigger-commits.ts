import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { quiet, turnsOf } from "../jobs.ts";
import { occurred } from "../triggers.ts";

const SENT = ["one", "two", "three"];

/**
 * Each committed turn of a session starts a job, and each that it did not start itself a turn: those are committed too. All
 * of them are served once, in whichever life.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const audit = definePlugin({
      id: "crash/audit",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          note: task({
            input: z.looseObject({ turnId: z.string() }),
            run: async ({ input: { turnId }, once, job }) => {
              const step = { job: String(job?.id), step: "note" };
              return once("note", () => act(`noted ${turnId}`, step) ?? turnId);
            },
          }),
        },
      }),
    });
    const model = recited(...Array.from({ length: 2 * SENT.length }, () => says("Well.")));
    await using runtime = await createRuntime({ store, host, model, plugins: [audit] });
    const session = await runtime.session("desk");
    await session.triggers.subscribe({ id: "audit", on: { commits: true }, operation: "crash/audit.note" });
    await session.triggers.subscribe({ id: "review", on: { commits: true }, send: "Look at it again." });
    for (const text of SENT) await session.turn(text, { key: text }).result();
    await turnsOf(session, 2 * SENT.length);
    await occurred(session, "audit", 2 * SENT.length);
    await quiet(store, session);
  },
  check({ sessions, jobs, occurrences }) {
    const told = sessions.desk?.messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])) ?? [];
    assert.equal(told.length, 2 * SENT.length, told.join("\n"));
    for (const text of SENT) assert.equal(told.filter((each) => each === text).length, 1, told.join("\n"));
    assert.equal(told.filter((each) => each.startsWith("Look at it again.")).length, SENT.length, told.join("\n"));
    const of = (id: string): readonly string[] =>
      occurrences.flatMap(({ source, payload }) =>
        source === `subscription:desk/${id}` ? [(payload as { turnId: string }).turnId] : [],
      );
    assert.equal(of("audit").length, 2 * SENT.length);
    assert.equal(new Set(of("audit")).size, 2 * SENT.length);
    assert.equal(of("review").length, SENT.length);
    assert.ok(
      of("review").every((turnId) => of("audit").includes(turnId)),
      "A turn is served to the one and not to the other.",
    );
    const noted = jobs.flatMap(({ label, state, result }) => (label === "audit" ? [`${state} ${result}`] : []));
    assert.deepEqual(
      noted.sort(),
      of("audit")
        .map((turnId) => `completed ${turnId}`)
        .sort(),
    );
  },
});
