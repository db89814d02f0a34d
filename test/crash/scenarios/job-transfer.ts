import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { signal, turnsOf } from "../jobs.ts";

/** A job is handed over to another session while it works: what it tells from then on reaches that one, and it alone. */
export default defineScenario({
  async run({ store, host, act }) {
    const courier = definePlugin({
      id: "crash/courier",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          carry: task({
            run: async ({ once, job }) => {
              assert.ok(job);
              const { id } = job;
              await once("fetch", () => act("fetch", { job: id, step: "fetch" }) ?? null);
              await job.wake("Fetched.");
              await job.receive("go");
              await job.wake("On the way.");
              await once("hand", () => act("hand", { job: id, step: "hand" }) ?? null);
              return "carried";
            },
          }),
        },
      }),
    });
    const model = recited(says("I see."), says("Thank you."));
    const limits = { parkAfterMs: 10 };
    await using runtime = await createRuntime({ store, host, model, plugins: [courier], limits });
    const [from, to] = [await runtime.session("from"), await runtime.session("to")];
    await from.jobs.list().then(async (all) => {
      const there = [...all, ...(await to.jobs.list())];
      if (there.length > 0) return; // In an earlier life: it may be in the other session.
      await from.jobs.spawn({
        id: "parcel",
        label: "Parcel",
        operation: "crash/courier.carry",
        wake: "wake",
        signals: { go: { type: "string" } },
      });
    });
    await turnsOf(from, 1);
    await from.jobs.transfer("from", "to", ["parcel"]);
    await signal(to, "parcel", "go");
    await to.jobs.await(["parcel"]);
    await turnsOf(to, 2);
  },
  check({ sessions, jobs }) {
    const told = (id: string): readonly string[] =>
      sessions[id]?.messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])) ?? [];
    assert.deepEqual(told("from"), ["Fetched."]);
    assert.equal(told("to").length, 2, told("to").join("\n"));
    assert.equal(told("to")[0], "On the way.");
    assert.match(told("to")[1] ?? "", /Parcel.*carried/s);
    assert.deepEqual(
      jobs.map(({ session, state, sent, wakes }) => [session, state, sent, wakes]),
      [["to", "completed", ["to to", 'go "go"'], 3]],
    );
  },
});
