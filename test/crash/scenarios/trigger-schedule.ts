import assert from "node:assert/strict";
import { join } from "node:path";
import { createRuntime, definePlugin } from "bowline";
import { defineScenario, type Picture, recited, says } from "bowline/testing";
import { z } from "zod";
import { quiet } from "../jobs.ts";
import { Clock, served } from "../triggers.ts";

const EVERY_MS = 5_000;
const TURNS_MAX = 500;

/**
 * Two schedules of which several times come due at once, and then again: an interval that starts jobs, and a cron pattern
 * that starts turns. With `missed: "all"` every time occurs, and each once.
 */
export default defineScenario({
  async run({ store, host, act, folder }) {
    const clock = new Clock(join(folder, "clock"));
    const bells = definePlugin({
      id: "crash/bells",
      version: "1",
      setup: ({ task }) => ({
        operations: {
          ring: task({
            input: z.looseObject({ at: z.number() }),
            run: async ({ input: { at }, once, job }) => {
              const step = { job: String(job?.id), step: "ring" };
              return once("ring", () => act(`rang ${at}`, step) ?? at);
            },
          }),
        },
      }),
    });
    const model = recited(...Array.from({ length: TURNS_MAX }, () => says("I hear it.")));
    await using runtime = await createRuntime({ store, host, model, plugins: [bells] });
    const session = await runtime.session("tower");
    const missed = "all";
    const on = { everyMs: EVERY_MS, missed } as const;
    const { createdAt } = await session.triggers.subscribe({ id: "bell", on, operation: "crash/bells.ring" });
    const cron = { cron: "*/5 * * * * *", missed } as const;
    const clockwork = await session.triggers.subscribe({ id: "gong", on: cron, send: "The gong." });
    act(`begun bell ${createdAt}`);
    act(`begun gong ${Math.floor(clockwork.createdAt / EVERY_MS) * EVERY_MS}`);
    for (const times of [3, 5]) {
      const time = clockwork.createdAt + times * EVERY_MS;
      clock.reach(time);
      for (const id of ["bell", "gong"]) await served(session, id, time);
    }
    for (const id of ["bell", "gong"]) await session.triggers.update(id, { isEnabled: false });
    await quiet(store, session);
  },
  check(final, { acts }) {
    for (const id of ["bell", "gong"]) {
      const times = timesOf(final, id);
      const begun = new Set(acts.filter((act) => act.startsWith(`begun ${id} `)).map((act) => Number(act.slice(11))));
      assert.equal(begun.size, 1, `${id} was subscribed ${begun.size} times`);
      const [from = 0] = begun;
      assert.ok(times.length >= 5, `${id} occurred ${times.length} times`);
      assert.deepEqual(
        times,
        Array.from(times, (_, nth) => from + (nth + 1) * EVERY_MS),
      );
    }
    const rung = final.jobs.flatMap(({ label, state, result }) => (label === "bell" ? [`${state} ${result}`] : []));
    assert.deepEqual(
      rung.sort(),
      timesOf(final, "bell").map((at) => `completed ${at}`),
    );
    const told = final.sessions.tower?.messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])) ?? [];
    assert.equal(told.length, timesOf(final, "gong").length, told.join("\n"));
    for (const at of timesOf(final, "gong"))
      assert.equal(told.filter((text) => text.includes(new Date(at).toISOString())).length, 1, told.join("\n"));
  },
});

const timesOf = ({ occurrences }: Picture, id: string): readonly number[] =>
  occurrences.flatMap(({ source, payload }) =>
    source === `subscription:tower/${id}` ? [(payload as { at: number }).at] : [],
  );
