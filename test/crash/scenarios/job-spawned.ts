import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, type Jobs } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { allOver } from "../jobs.ts";

/**
 * Jobs that are begun in effects: by hooks, by a tool, by one that fails, and in the last effect of a turn. A task ends
 * once, a function is completed or abandoned, and what a failing tool begins never exists.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const spawn = async (jobs: Jobs, by: string): Promise<void> => {
      await jobs.spawn({ label: `task of ${by}`, operation: "crash/spawner.work", input: { by } });
      await jobs.spawn({ label: `function of ${by}` }, async () => {
        act(`function of ${by} begins`);
        await new Promise((resolve) => setTimeout(resolve, 2));
        act(`function of ${by} ends`);
        return by;
      });
    };
    const spawner = definePlugin({
      id: "crash/spawner",
      version: "1",
      setup: ({ task }) => ({
        beforeTurn: async ({ jobs }) => void (await spawn(jobs, "beforeTurn")),
        afterTurn: async ({ jobs }) => void (await spawn(jobs, "afterTurn")),
        operations: {
          work: task({
            input: z.object({ by: z.string() }),
            run: async ({ input, once, job }) => {
              const step = { job: String(job?.id), step: "work" };
              return once("work", () => {
                act(`task of ${input.by}`, step);
                return input.by;
              });
            },
          }),
        },
      }),
    });
    const start = defineTool({
      name: "start",
      description: "Starts.",
      input: z.object({ fails: z.boolean() }),
      execute: async ({ fails }, { jobs }) => {
        await spawn(jobs, fails ? "nobody" : "tool");
        if (fails) throw new Error("It fails.");
        return "started";
      },
    });
    const model = recited(calls("start", { fails: true }), calls("start", { fails: false }), says("Started."));
    await using runtime = await createRuntime({ store, host, model, tools: [start], plugins: [spawner] });
    const session = await runtime.session("spawner");
    await session.turn("Go.", { key: "go" }).result();
    await allOver(session);
  },
  check({ sessions, outcomes, jobs }, { clean, acts }) {
    assert.deepEqual(sessions, clean.sessions);
    assert.deepEqual(outcomes, clean.outcomes);
    const names = ["afterTurn", "beforeTurn", "tool"];
    assert.deepEqual(
      jobs.map(({ label }) => label).sort(),
      ["function", "task"].flatMap((kind) => names.map((by) => `${kind} of ${by}`)),
    );
    for (const { label, state, result, recovery } of jobs) {
      assert.ok(state === "completed" || (recovery === "owner-bound" && state === "abandoned"), `${label}: ${state}`);
      if (state === "completed") assert.equal(result, label.split(" ").at(-1));
      if (recovery !== "owner-bound") continue;
      const [begins, ends] = ["begins", "ends"].map((what) => acts.filter((act) => act === `${label} ${what}`).length);
      assert.ok(begins === 1 || (begins === 0 && state === "abandoned"), `${label} began ${begins} times`);
      assert.ok(ends === 1 || (ends === 0 && state === "abandoned"), `${label} ended ${ends} times`);
    }
    assert.ok(!acts.some((act) => act.includes("nobody")), "A job of the failing tool ran.");
  },
});
