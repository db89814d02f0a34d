import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { allOver, turnsOf } from "../jobs.ts";

/** What a job tells its session, on its way and at its end, is heard once and in order: each opens a turn. */
export default defineScenario({
  async run({ store, host, act }) {
    const walker = definePlugin({
      id: "crash/walker",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          walk: task({
            run: async ({ once, job }) => {
              assert.ok(job);
              const { id } = job;
              await once("first", () => act("first", { job: id, step: "first" }) ?? null);
              await job.wake("Mind the gap.", { isNotice: true });
              await job.wake("Half of it.");
              await once("second", () => act("second", { job: id, step: "second" }) ?? null);
              return "there";
            },
          }),
        },
      }),
    });
    const model = recited(says("Go on."), says("Keep going."), says("Well done."));
    await using runtime = await createRuntime({ store, host, model, plugins: [walker] });
    const session = await runtime.session("path");
    await session.turn("Walk.", { key: "walk" }).result();
    await session.jobs.spawn({ id: "walk", label: "Walk", operation: "crash/walker.walk", wake: "wake" });
    await allOver(session);
    await turnsOf(session, 3);
  },
  check({ sessions, outcomes, jobs }) {
    const said = sessions.path?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];
    const users = said.filter((each) => each.startsWith("user: ")).map((each) => each.slice(6));
    assert.equal(users.length, 4, said.join("\n"));
    assert.equal(users[0], "Walk.");
    assert.deepEqual(users.filter((each) => each === "Mind the gap.").length, 1, said.join("\n"));
    const wakes = users.filter((each) => each !== "Mind the gap.").slice(1);
    assert.equal(wakes[0], "Half of it.", said.join("\n"));
    assert.match(wakes[1] ?? "", /Walk.*there/s);
    assert.deepEqual(
      said.filter((each) => each.startsWith("assistant: ")),
      ["Go on.", "Keep going.", "Well done."].map((text) => `assistant: ${text}`),
    );
    assert.equal(sessions.path?.turns, 3);
    assert.equal(outcomes.filter((outcome) => outcome !== null).length, 3);
    assert.deepEqual(
      jobs.map(({ state, result }) => [state, result]),
      [["completed", "there"]],
    );
  },
});
