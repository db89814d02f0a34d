import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** A turn waits for a job that pays for a completion meanwhile: it is in the ledger once, whatever is killed. */
export default defineScenario({
  async run({ store, host }) {
    const writer = definePlugin({
      id: "crash/writer",
      version: "1",
      setup: ({ task }) => ({
        operations: { write: task({ run: ({ complete }) => complete.text("Write.", { label: "writer" }) }) },
      }),
    });
    const wait = defineTool({
      name: "wait",
      description: "Waits for the job.",
      input: { type: "object" },
      execute: async (_, { jobs }) => String((await jobs.await(["write"]))[0]?.result),
    });
    const model = recited(calls("wait", {}, "wait"), says("Done."));
    await using runtime = await createRuntime({ store, host, model, tools: [wait], plugins: [writer] });
    const session = await runtime.session("desk");
    const soon = { id: "write", label: "Write", operation: "crash/writer.write", notBefore: 1 };
    const turn = session.turn("Write.", { key: "write" });
    await turn.id;
    await session.jobs.spawn(soon);
    await turn.result();
    await session.jobs.await(["write"]);
  },
  check(final, { clean }) {
    assert.deepEqual(final.sessions, clean.sessions);
    assert.deepEqual(final.jobs, clean.jobs);
  },
});
