import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { signal } from "../jobs.ts";

const LABEL = "Report";

/**
 * A task that runs as a job, in all kinds of steps: what is done once, what is paid for, a sleep in which it is parked, a
 * call, a signal, and what it changes at its end. No recorded step is done again, and the end is the same in every life.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: async (_, { idempotencyKey }) => {
        act(`pay ${idempotencyKey}`, { job: "report", step: "call/0/returned" });
        await new Promise((resolve) => setImmediate(resolve));
        return "paid";
      },
    });
    const reports = definePlugin({
      id: "crash/reports",
      version: "1",
      state: z.object({ made: z.array(z.string()).default([]) }),
      setup: ({ task }) => ({
        operations: {
          write: task({
            input: z.object({ topic: z.string() }),
            run: async ({ input, once, complete, job, state, emit, graph }) => {
              assert.ok(job);
              const done = (step: string): string => {
                act(step, { job: job.id, step });
                return `${step} of ${input.topic}`;
              };
              const first = await once("first", () => done("first"));
              const words = await complete.text(`Sum up ${first}.`, { label: "report" });
              const second = await once("second", async () => done("second"));
              await job.sleep(120);
              const paid = await job.call("pay", { for: second });
              const word = await job.receive<string>("go");
              await graph.append([{ kind: "plugin", type: "report", body: words }]);
              const third = await once("third", () => done("third"));
              state.update(({ made }) => ({ made: [...made, input.topic] }));
              emit("made", input.topic);
              return { first, words, second, paid, word, third };
            },
          }),
        },
      }),
    });
    const model = recited(says("Summed up."));
    const limits = { parkAfterMs: 20 };
    await using runtime = await createRuntime({ store, host, model, tools: [pay], plugins: [reports], limits });
    const session = await runtime.session("desk");
    await session.jobs.spawn({
      id: "report",
      label: LABEL,
      operation: "crash/reports.write",
      input: { topic: "cats" },
      signals: { go: { type: "string" } },
    });
    await signal(session, "report", "go");
    const [record] = await session.jobs.await(["report"]);
    assert.equal(record?.state, "completed", JSON.stringify(record));
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    const [job] = final.jobs;
    assert.deepEqual(job?.result, {
      first: "first of cats",
      words: "Summed up.",
      second: "second of cats",
      paid: "paid",
      word: "go",
      third: "third of cats",
    });
    const order = ["first", "second", "pay", "third"];
    const places = acts.map((act) => order.indexOf(act.split(" ")[0] ?? ""));
    assert.deepEqual(places, [...places].sort(), `A step was done again after the next had begun: ${acts.join(", ")}`);
    assert.equal(new Set(acts.filter((act) => act.startsWith("pay "))).size, 1, "Its calls had several keys.");
    const { rows = [] } = (final.sessions.desk?.usage ?? {}) as {
      readonly rows?: readonly { readonly source: string }[];
    };
    assert.equal(rows.filter(({ source }) => source === "report").length, 1, JSON.stringify(rows));
  },
});
