import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, recited } from "bowline/testing";
import { z } from "zod";

const PARTS = [1, 2, 3];

/** A job begins others, more than run at a time, and waits for them: it gives way to them, and is given what they found. */
export default defineScenario({
  async run({ store, host, act }) {
    const fan = definePlugin({
      id: "crash/fan",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          all: task({
            run: async ({ jobs, once, job }) => {
              const ids: string[] = [];
              for (const n of PARTS) {
                const { id } = await jobs.spawn({ label: `part ${n}`, operation: "part", input: { n }, signals: GO });
                ids.push(id);
              }
              for (const id of ids) await jobs.signal(id, "go", "go", { key: "go" }).catch(() => {});
              const found = await jobs.await(ids);
              const step = { job: String(job?.id), step: "sum" };
              return once("sum", () => act("sum", step) ?? found.map(({ result }) => Number(result)));
            },
          }),
          part: task({
            input: z.object({ n: z.number() }),
            run: async ({ input, once, job }) => {
              await job?.receive("go");
              const step = { job: String(job?.id), step: "square" };
              return once("square", () => act(`square of ${input.n}`, step) ?? input.n ** 2);
            },
          }),
        },
      }),
    });
    const limits = { parkAfterMs: 10, parallelJobsMax: 2 };
    await using runtime = await createRuntime({ store, host, model: recited(), plugins: [fan], limits });
    const session = await runtime.session("fan");
    await session.jobs.spawn({ id: "all", label: "all", operation: "crash/fan.all", wake: "notify" });
    await session.jobs.await(["all"]);
  },
  check({ jobs }, { clean }) {
    assert.deepEqual(jobs[0]?.result, [1, 4, 9]);
    const found = (of: typeof jobs) => of.map(({ label, state, result }) => [label, state, result]);
    assert.deepEqual(found(jobs), found(clean.jobs));
    assert.equal(jobs[0]?.wakes, 1);
  },
});

const GO = { go: { type: "string" } } as const;
