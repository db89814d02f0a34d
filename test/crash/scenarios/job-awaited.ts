import assert from "node:assert/strict";
import { createRuntime, defer, definePlugin, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** A turn begins a job and is parked until it is over: it goes on once, with what the job has come to. */
export default defineScenario({
  async run({ store, host, act }) {
    const works = definePlugin({
      id: "crash/works",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          work: task({
            run: async ({ once, job }) => {
              await job?.sleep(80);
              const step = { job: String(job?.id), step: "work" };
              return once("work", () => act("worked", step) ?? "worked");
            },
          }),
        },
      }),
    });
    const tools = [
      defineTool({
        name: "start",
        description: "Starts.",
        input: { type: "object" },
        execute: async (_, { jobs }) => {
          await jobs.spawn({ id: "work", label: "Work", operation: "crash/works.work" });
          return "started";
        },
      }),
      defineTool({
        name: "wait",
        description: "Waits.",
        input: { type: "object" },
        execute: async (_, { jobs }) => {
          const { state, result } = await jobs.get("work");
          return state === "running" ? defer({ jobs: ["work"] }) : String(result);
        },
      }),
    ];
    const model = recited(calls("start", {}, "start"), calls("wait", {}, "wait"), says("Done."));
    const limits = { parkAfterMs: 10 };
    await using runtime = await createRuntime({ store, host, model, tools, plugins: [works], limits });
    const session = await runtime.session("works");
    await session.turn("Go.", { key: "go" }).result();
  },
  check({ sessions, jobs, outcomes }, { clean }) {
    const said = (of: typeof sessions) => of.works?.messages.map(({ role, text }) => `${role}: ${text}`);
    assert.deepEqual(said(sessions), said(clean.sessions));
    assert.ok(said(sessions)?.includes("tool: worked"), said(sessions)?.join("\n"));
    assert.deepEqual(outcomes, clean.outcomes);
    assert.deepEqual(jobs, clean.jobs);
  },
});
