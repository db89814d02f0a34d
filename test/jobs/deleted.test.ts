import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { signalOf, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { running, runningOn } from "../kit/worlds.ts";

test("J2 work of a session that another process deletes is stopped, also when it writes nothing", async () => {
  const path = file();
  const renewed = signalOf();
  const store = around(sqlite(path, { durability: "process" }), {
    "jobs.renew": async (act) => {
      const answer = await act();
      renewed.resolve();
      return answer;
    },
  });
  await using here = await running({ store });
  await using elsewhere = await runningOn(path, { recover: "manual" });
  const { jobs } = await here.session("s");
  const kept = await here.session("kept");
  const stopped = signalOf();
  const idle = (signal: AbortSignal, heard: () => void): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        heard();
        resolve();
      };
      signal.addEventListener("abort", done);
    });
  let isKept = true;
  await jobs.spawn({ label: "Idle" }, ({ signal }) => idle(signal, stopped.resolve));
  const { id } = await kept.jobs.spawn({ label: "Kept" }, ({ signal }) => idle(signal, () => (isKept = false)));
  await renewed.promise; // From now on it is told of what is new alone.
  await elsewhere.sessions.delete("s");
  await within(stopped.promise, 3_000);
  expect(isKept).toBe(true);
  expect((await kept.jobs.get(id)).state).toBe("running");
});
