import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { jobs } from "bowline/plugins/jobs";
import { calls, defineScenario, recited, says } from "bowline/testing";

const copying = definePlugin({
  id: "crash/copying",
  version: "1",
  setup: ({ task }) => ({
    operations: {
      copy: task({
        run: async ({ once, job }) => {
          const first = await once("first", () => 20);
          await job?.sleep(5);
          return first + (await once("second", () => 1));
        },
      }),
    },
  }),
});
const start = defineTool({
  name: "start",
  description: "Starts.",
  input: { type: "object" },
  execute: async (_, context) =>
    (await context.jobs.spawn({ id: "copy", label: "Copy", operation: "crash/copying.copy" })).id,
});

/** A turn that begins a job with a tool, and waits for it with another: it ends once, and the turn has its result. */
export default defineScenario({
  async run({ store, host }) {
    await using runtime = await createRuntime({
      store,
      host,
      model: recited(calls("start", {}, "start"), calls("jobs_wait", { ids: ["copy"] }, "wait"), says("Copied.")),
      tools: [start],
      plugins: [copying, jobs],
      limits: { parkAfterMs: 10 },
    });
    const session = await runtime.session("desk");
    await session.turn("Copy it.", { key: "copy" }).result();
    const [job, ...more] = await session.jobs.list();
    assert.deepEqual([job?.state, job?.result, more.length], ["completed", 21, 0]);
  },
  check({ sessions }) {
    const told = sessions.desk?.messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])) ?? [];
    assert.deepEqual(told, [
      "copy",
      '{"completed":{"copy":{"label":"Copy","state":"completed","result":21}},"pending":{}}',
    ]);
  },
});
