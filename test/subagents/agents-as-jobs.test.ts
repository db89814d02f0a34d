import { definePlugin, defineTool } from "bowline";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { passed } from "../kit/reading.ts";
import { after, agentsIn, cast, eventually, running, within } from "./roles.ts";

test("J8 J2 a cancelled agent's own jobs end with it, and do not wake it again", async () => {
  const gate = Promise.withResolvers<void>();
  const start = defineTool({
    name: "start",
    description: "Starts.",
    input: z.object({}),
    execute: async (_, { jobs }) => (await jobs.spawn({ label: "below", wake: "wake" }, () => gate.promise)).id,
  });
  const model = cast({
    Go: [calls("spawn_agent", { task: "Work." }, "spawn"), says("Done.")],
    "Work.": [calls("start", {}, "start"), says("Started."), says("I AM BACK.")],
  });
  await using runtime = await running(model, { tools: [start] });
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  const [agent] = agentsIn((await session.read()).messages) as [string];
  expect(await session.jobs.cancel(agent)).toMatchObject({ state: "cancelled" });
  gate.resolve();
  await passed(300);
  const below = await runtime.jobs.of(agent).list();
  expect([below.map(({ state }) => state), (await runtime.sessions.get(agent)).turns]).toEqual([["cancelled"], 1]);
});

test("J8 J2 an agent with a notice that waits for its next turn is idle", async () => {
  const model = cast({
    Go: [calls("spawn_agent", { task: "Work." }, "spawn"), says("Done.")],
    "Work.": [says("Started.")],
  });
  await using runtime = await running(model);
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  const [agent] = agentsIn((await session.read()).messages) as [string];
  await runtime.sessions.inject(agent, "By the way.");
  expect(await session.jobs.get(agent)).toMatchObject({ state: "idle" });
});

test("J6 the message of a wake shows that it comes from a job", async () => {
  const model = cast({ '[Background job] "x" (one) is done.': [says("I see.")] });
  await using runtime = await running(model);
  const session = await runtime.session("chief");
  await session.jobs.spawn({ id: "one", label: "x", wake: "wake" }, () => null);
  const { messages } = await eventually(async () => {
    const view = await session.read();
    return view.messages.length > 0 ? view : undefined;
  });
  expect(messages[0]?.origin).toMatchObject({ kind: "plugin", plugin: "bowline/jobs" });
});

test("J8 J2 an agent whose session was deleted is not running", async () => {
  const model = cast({
    Go: [calls("spawn_agent", { task: "Work." }, "spawn"), says("Done.")],
    "Work.": [says("Started.")],
  });
  await using runtime = await running(model);
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  const [agent] = agentsIn((await session.read()).messages) as [string];
  await session.jobs.transition(agent, "running");
  await runtime.sessions.delete(agent);
  const started = Date.now();
  await session.jobs.await([agent], { timeoutMs: 300 });
  expect((await session.jobs.get(agent)).state).not.toBe("running");
  expect(Date.now() - started).toBeLessThan(200);
});

test.each([10, 5_000])(
  "R5 a task that awaits an agent continues when the agent is idle (parked after %s ms)",
  async (parkAfterMs) => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [calls("spawn_agent", { task: "Work.", background: true }, "spawn"), says("Done.")],
      "Work.": [after(gate.promise, says("I am done."))],
    });
    const waiting = definePlugin({
      id: "test/waiting",
      setup: ({ task }) => ({
        operations: {
          go: task({
            input: z.object({ id: z.string() }),
            run: async ({ input: { id }, jobs }) => (await jobs.await([id], { timeoutMs: 60_000 }))[0]?.state ?? "none",
          }),
        },
      }),
    });
    await using runtime = await running(model, { plugins: [waiting], limits: { parkAfterMs } });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [agent] = agentsIn((await session.read()).messages) as [string];
    const { id } = await session.jobs.spawn({ label: "Wait", operation: "test/waiting.go", input: { id: agent } });
    await passed(200);
    gate.resolve();
    expect((await session.jobs.await([id], { timeoutMs: 4_000 }))[0]).toMatchObject({ state: "completed" });
  },
  10_000,
);
