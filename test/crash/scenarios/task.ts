import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";

/** A task in steps, run again under its id until it is done: no step is done twice, and it is paid for once. */
export default defineScenario({
  async run({ store, host, act }) {
    const report = definePlugin({
      id: "crash/report",
      version: "1",
      state: z.object({ reports: z.number().default(0) }),
      setup: ({ task }) => ({
        operations: {
          write: task({
            run: async ({ once, complete, graph, state, queueTurn, emit, configure }) => {
              const first = await once("first", () => "one");
              const words = await complete.text(`Sum up ${first}.`, { label: "report" });
              const second = await once("second", () => `${words} two`);
              state.update(({ reports }) => ({ reports: reports + 1 }));
              await graph.append([{ kind: "plugin", type: "report", body: second }], { operationId: "the report" });
              configure({ instructions: second });
              emit("written", null);
              queueTurn("Read it.");
              return second;
            },
          }),
        },
      }),
    });
    const model = recited(says("Summed up."));
    await using runtime = await createRuntime({ store, host, model, plugins: [report] });
    const session = await runtime.session("tasks");
    const { output, queued } = await session.task(report, "write", undefined, { operationId: "july" });
    act(`wrote ${String(output)} and queued ${queued.length}`);
    await session.follow(queued[0] as string).result();
    const again = await session.task(report, "write", undefined, { operationId: "july" });
    assert.deepEqual(again.queued, queued);
  },
  check({ sessions }) {
    const session = sessions.tasks;
    const nodes = session?.nodes.flatMap((node) => (node.kind === "plugin" ? [node.type] : []));
    assert.deepEqual(nodes, ["report", "event"]);
    assert.deepEqual(session?.plugins["crash/report"]?.state, { reports: 1 });
    assert.equal(session?.messages.filter(({ role }) => role === "user").length, 1);
  },
});
