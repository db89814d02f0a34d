// A scheduler calls a command that queues a turn. Repeated calls for one day queue only one turn.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, hasCode, type Session } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const Day = z.object({ day: z.iso.date() });
const wordsFor = (day: string): string => `Write the report of ${day}.`;

export const nightlyReport = definePlugin({
  id: "example/nightly-report",
  state: z.object({ asked: z.array(z.string()).default([]) }),
  setup: ({ command, query }) => ({
    triggers: [{ name: "report.due", description: "A day is over.", payload: { type: "object", required: ["day"] } }],
    operations: {
      run: command({
        description: "Queues the report of a day.",
        input: Day,
        run: ({ input: { day }, state, queueTurn }) => {
          queueTurn(wordsFor(day), { key: `report/${day}` });
          const isNew = !state.get().asked.includes(day);
          if (isNew) state.update(({ asked }) => ({ asked: [...asked, day] }));
          return { isNew };
        },
      }),
      asked: query({ run: ({ state }) => state.get().asked }),
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

let session: Session | undefined;
const refused: unknown[] = [];
const hasty = defineTool({
  name: "report_now",
  description: "Reports now.",
  input: z.object({}),
  execute: () => session?.command(nightlyReport, "run", { day: "2025-01-02" }).catch((error) => refused.push(error)),
});
const model = scripted(says("All is well."), calls("report_now"), says("It must wait."));
await using runtime = await createRuntime({ store: memory(), model, tools: [hasty], plugins: [nightlyReport] });
session = await runtime.session("reports");

const [first, again] = [1, 2].map(() => session?.command(nightlyReport, "run", { day: "2025-01-01" }));
assert.deepEqual([(await first)?.output.isNew, (await again)?.output.isNew], [true, false]);
assert.deepEqual((await first)?.queued, (await again)?.queued);
// The same key and text join the queued turn.
const joined = await session.turn(wordsFor("2025-01-01"), { key: "report/2025-01-01" }).result();
assert.deepEqual([joined.turnId], (await first)?.queued);
assert.equal(model.requests.length, 1);

// Inside a turn the command throws, because it waits until the turn ends.
await session.turn("Report now!").result();
assert.ok(hasCode(refused[0], "operation.reentrant"));
assert.deepEqual(await session.query(nightlyReport, "asked"), ["2025-01-01"]);
assert.deepEqual(
  session.triggers.declared().map(({ name }) => name),
  ["report.due"],
);
