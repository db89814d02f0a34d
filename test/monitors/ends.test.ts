import { expect, test } from "vitest";
import { listener } from "../kit/models.ts";
import { signalOf, within } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

test("J4 a command that has exited has ended, whether or not its session has taken its output", async () => {
  const [asked, answer] = [signalOf(), signalOf()];
  const model = listener(() => {
    asked.resolve();
    return answer.promise;
  });
  await using world = await open(model);
  const { session, runtime } = world;
  const command = "echo one; sleep 0.3; echo two; sleep 0.3; echo three";
  const { jobId } = await session.monitors.start({ id: "count", command, wake: "wake" });
  await asked.promise; // The turn that was opened for the first line does not end.
  const job = await within(runtime.jobs.await(String(jobId)), 3_000).finally(answer.resolve);
  expect(job).toMatchObject({ state: "completed", result: { exitCode: 0, lines: 3 } });
});
