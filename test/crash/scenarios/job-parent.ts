import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import type { Jobs } from "bowline/plugin";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { allOver } from "../jobs.ts";

/**
 * Jobs that end with what began them: of a turn, in its work and in its last effect, of a job that ends, and of one that is
 * cancelled itself. Those that are to be kept are kept.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const spawn = async (jobs: Jobs, label: string, onParentEnd: "cancel" | "keep", more = {}): Promise<void> => {
      const operation = "crash/parents.work";
      await jobs.spawn({ label, onParentEnd, operation, input: { label, onParentEnd, ...more }, signals: SIGNALS });
    };
    const parents = definePlugin({
      id: "crash/parents",
      version: "1",
      setup: ({ task }) => ({
        afterTurn: async ({ jobs }) => {
          await spawn(jobs, "last", "cancel");
          await spawn(jobs, "kept last", "keep");
        },
        operations: {
          work: task({
            input: z.object({ label: z.string(), onParentEnd: z.string(), children: z.boolean().optional() }),
            run: async ({ input, jobs, job, once }) => {
              if (input.children) await spawn(jobs, `child of ${input.label}`, "cancel");
              if (input.onParentEnd === "cancel") await job?.receive("never");
              const step = { job: String(job?.id), step: "done" };
              return once("done", () => act(input.label, step) ?? input.label);
            },
          }),
        },
      }),
    });
    const start = defineTool({
      name: "start",
      description: "Starts.",
      input: { type: "object" },
      execute: async (_, { jobs }) => {
        await spawn(jobs, "mother", "cancel", { children: true });
        await spawn(jobs, "kept mother", "keep", { children: true });
        await jobs.spawn({ label: "function", onParentEnd: "cancel" }, ({ signal }) =>
          signal.aborted ? null : new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))),
        );
        return "started";
      },
    });
    const model = recited(calls("start", {}), says("Started."));
    const limits = { parkAfterMs: 10, cancelGraceMs: 50 };
    await using runtime = await createRuntime({ store, host, model, tools: [start], plugins: [parents], limits });
    const session = await runtime.session("house");
    await session.turn("Go.", { key: "go" }).result();
    await allOver(session);
  },
  check({ sessions, outcomes, jobs }, { clean }) {
    assert.deepEqual(sessions, clean.sessions);
    assert.deepEqual(outcomes, clean.outcomes);
    const found = Object.fromEntries(jobs.map(({ label, state }) => [label, state]));
    // The mother may be cancelled before it has had its child; its function may be over, cancelled, or alone.
    const { function: bound, "child of mother": child = "cancelled", ...others } = found;
    assert.deepEqual(others, {
      mother: "cancelled",
      last: "cancelled",
      "child of kept mother": "cancelled",
      "kept mother": "completed",
      "kept last": "completed",
    });
    assert.equal(child, "cancelled");
    assert.ok(["completed", "cancelled", "abandoned"].includes(String(bound)), `The function is ${bound}.`);
  },
});

const SIGNALS = { never: { type: "string" } } as const;
