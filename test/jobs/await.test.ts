import { definePlugin } from "bowline";
import { expect, test } from "vitest";
import { running } from "../kit/worlds.ts";

test("J5 a task that waits for a job waits no longer than it said, however often it is parked meanwhile", async () => {
  const patient = definePlugin({
    id: "test/patient",
    setup: ({ task }) => ({
      operations: {
        wait: task({
          run: async ({ jobs }) => (await jobs.await(["endless"], { timeoutMs: 150 })).map(({ state }) => state),
        }),
      },
    }),
  });
  await using runtime = await running({ plugins: [patient()], limits: { parkAfterMs: 10 } });
  const { jobs } = await runtime.session("s");
  await jobs.register({ id: "endless", label: "Endless" });
  await jobs.spawn({ id: "wait", label: "Wait", operation: "test/patient.wait" });
  const [record] = await jobs.await(["wait"], { timeoutMs: 4_000 });
  expect(record).toMatchObject({ state: "completed", result: ["running"], starts: 2 });
});
