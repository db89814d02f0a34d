import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import type { Jobs } from "bowline/plugin";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { allOver } from "../jobs.ts";

/**
 * Jobs that are begun in effects: by hooks, by a tool, by one that fails, by one that must not be repeated, and in the last
 * effect of a turn; and by the app. A task ends once, a function is completed or abandoned, and what a tool began whose
 * answer nobody has never exists.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const spawn = async (jobs: Jobs, by: string): Promise<void> => {
      const [bound, task] = by === "app" ? [{ id: "function" }, { id: "task" }] : [{}, {}];
      await jobs.spawn({ ...bound, label: `function of ${by}` }, async () => {
        act(`function of ${by} begins`);
        await new Promise((resolve) => setTimeout(resolve, 2));
        act(`function of ${by} ends`);
        return by;
      });
      await jobs.spawn({ ...task, label: `task of ${by}`, operation: "crash/spawner.work", input: { by } });
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
    const fragile = defineTool({
      name: "fragile",
      description: "Starts, and never twice.",
      input: { type: "object" },
      onInterrupt: "fail",
      execute: async (_, { jobs }) => {
        await spawn(jobs, "fragile");
        await new Promise((resolve) => setImmediate(resolve));
        return "started";
      },
    });
    const model = recited(
      calls("start", { fails: true }),
      calls("start", { fails: false }),
      calls("fragile", {}),
      says("Started."),
    );
    await using runtime = await createRuntime({ store, host, model, tools: [start, fragile], plugins: [spawner] });
    const session = await runtime.session("spawner");
    await spawn(session.jobs, "app");
    await session.turn("Go.", { key: "go" }).result();
    await allOver(session);
  },
  check({ sessions, outcomes, jobs }, { clean, acts }) {
    const results = (sessions.spawner?.messages ?? []).flatMap(({ role, text }) => (role === "tool" ? [text] : []));
    assert.equal(results.length, 3, results.join("\n"));
    assert.equal(results[1], "started");
    assert.match(results[2] ?? "", /^(started$|Unknown: )/);
    assert.deepEqual(outcomes, clean.outcomes);
    const fragile = results[2] === "started" ? ["fragile"] : [];
    const names = ["afterTurn", "app", "beforeTurn", ...fragile, "tool"];
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
