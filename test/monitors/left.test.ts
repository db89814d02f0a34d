import { createRuntime, definePlugin, type Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { recited } from "bowline/testing";
import { expect, test } from "vitest";

type Claimed = Awaited<ReturnType<Store["jobs"]["claim"]>>[number];

const DEAD = { id: "dead", process: "elsewhere" };

/** A monitor that another process has begun, and left. */
async function leftIn(store: Store, spec: object): Promise<Claimed["record"]["id"]> {
  await store.create({ id: "desk" as never, at: 0, config: { model: "x" } } as never);
  const id = "job_left" as never;
  const job = {
    ...{ id, sessionId: "desk", kind: "monitor", label: "Build", visibility: "managed", recovery: "rerunnable" },
    ...{ wake: "none", onParentEnd: "keep", operation: "bowline/monitors.watch", at: 0 },
    input: { command: "true", id: "build", ...spec },
  };
  await store.jobs.spawn({ job: job as never }, Infinity);
  const [claimed] = await store.jobs.claim(DEAD, Date.now(), 1, ["bowline/monitors.watch"]);
  const value = { leader: "elsewhere/boot@1/2/3", mark: `${id}/1` };
  const event = { at: 0, kind: "stepped", name: "begun/1", value } as const;
  const lines = [1, 2].map((n) => ({ n, at: n, channel: "out", text: `line ${n}` }) as const);
  await store.jobs.append(claimed!.lease, [{ key: "begun/1", event }], Date.now(), { says: { lines, max: 128 } });
  await store.jobs.leave(DEAD);
  return id;
}

test.each([
  ["abandoned", {}, ["line 1", "line 2", "The process that watched the command is gone, and the command was ended."]],
  [
    "completed",
    { restarts: true },
    ["line 1", "line 2", expect.stringContaining("started again"), "The command has ended."],
  ],
])(
  "J4 what a monitor said before its process went is kept, and its last word comes after it: %s",
  async (state, spec, said) => {
    const store = memory();
    const id = await leftIn(store, spec);
    await using runtime = await createRuntime({ store, model: recited() });
    await runtime.recover();
    const session = await runtime.session("desk");
    expect((await session.jobs.await([id]))[0]?.state).toBe(state);
    expect((await session.monitors.takeUpdates()).map(({ text }) => text)).toEqual(said);
  },
);

test("J4 a monitor of which nothing can be read fails alone, and jobs that were claimed with it run", async () => {
  const store = memory();
  const id = await leftIn(store, { command: 7 });
  const done = Promise.withResolvers<void>();
  const work = definePlugin({
    id: "test/work",
    setup: ({ task }) => ({ operations: { work: task({ run: () => done.resolve() }) } }),
  });
  await using runtime = await createRuntime({ store, model: recited(), plugins: [work] });
  const session = await runtime.session("desk");
  await session.jobs.spawn({ label: "Work", operation: "test/work.work" });
  await done.promise;
  expect((await session.jobs.await([id]))[0]).toMatchObject({ state: "failed", error: { code: "monitor.failed" } });
});
