import { definePlugin, defineTool } from "bowline";
import { calls, recited, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";

import { open, running } from "../kit/worlds.ts";

const gate = () => Promise.withResolvers<void>();

test("J1 a job with a function runs beside turns, and its record tells what came of it", async () => {
  const { promise, resolve } = gate();
  await using world = await open(recited(says("Hello.")));
  const { jobs } = world.session;
  const { id } = await jobs.spawn({ label: "Count" }, async () => {
    await promise;
    return { pages: 12 };
  });
  expect(await jobs.get(id)).toMatchObject({ state: "running", kind: "task", label: "Count", recovery: "owner-bound" });
  expect((await world.session.turn("Hi").result()).outcome).toMatchObject({ kind: "answered" });
  resolve();
  const [record] = await jobs.await([id]);
  expect(record).toMatchObject({ state: "completed", result: { pages: 12 } });
});

test("J5 a task runs as a job: its steps are recorded, and what it changes is kept at its end", async () => {
  const ran: string[] = [];
  const reports = definePlugin({
    id: "test/reports",
    state: z.object({ made: z.number().default(0) }),
    setup: ({ task, query }) => ({
      operations: {
        report: task({
          input: z.object({ topic: z.string() }),
          run: async ({ input, once, job, state, emit }) => {
            const found = await once("search", () => {
              ran.push("search");
              return `about ${input.topic}`;
            });
            await job?.sleep(5);
            state.update(({ made }) => ({ made: made + 1 }));
            emit("made", { topic: input.topic });
            return found.toUpperCase();
          },
        }),
        made: query({ run: ({ state }) => state.get().made }),
      },
    }),
  });
  await using runtime = await running({ plugins: [reports()] });
  const session = await runtime.session("s");
  const { id } = await session.jobs.spawn({ label: "R", operation: "test/reports.report", input: { topic: "cats" } });
  expect((await session.jobs.await([id]))[0]).toMatchObject({ state: "completed", result: "ABOUT CATS", starts: 1 });
  expect(ran).toEqual(["search"]);
  expect(await session.query(reports, "made")).toBe(1);
});

test("J6 the end of a job wakes its session with a turn", async () => {
  await using world = await open(recited(says("I see.")));
  const { id } = await world.session.jobs.spawn({ label: "Count", wake: "wake" }, () => 12);
  await world.session.jobs.await([id]);
  for await (const event of world.session.observe({ after: undefined }))
    if (event.kind === "committed" && event.by === "turn") break;
  const { messages } = await world.session.read();
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test("J1 what a tool begins starts with its answer, and with none if it fails", async () => {
  const begun: string[] = [];
  const start = defineTool({
    name: "start",
    description: "Starts.",
    input: z.object({ fails: z.boolean() }),
    execute: async ({ fails }, { jobs }) => {
      const { id } = await jobs.spawn({ label: `fails ${fails}` }, () => void begun.push(String(fails)));
      await expect(jobs.await([id])).rejects.toMatchObject({ code: "job.unstarted" });
      if (fails) throw new Error("No.");
      return id;
    },
  });
  await using world = await open(
    recited(calls("start", { fails: true }), calls("start", { fails: false }), says("Done.")),
    { tools: [start] },
  );
  await world.session.turn("Go").result();
  const records = await world.session.jobs.list();
  expect(records.map(({ label }) => label)).toEqual(["fails false"]);
  await world.session.jobs.await(records.map(({ id }) => id));
  expect(begun).toEqual(["false"]);
});
