// A process of the soak: serves schedules and runs the jobs that they start, until it is killed.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, definePlugin } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { recited } from "bowline/testing";
import { z } from "zod";

export interface SoakOrders {
  readonly database: string;
  readonly ledger: string;
}
/** A job rings. `isRecorded`: although it is recorded that it has. */
export interface SoakLine {
  readonly job: string;
  readonly isRecorded: boolean;
}

/** So long at most, so that a kill finds some under way. */
const STEP_MS = 500;

const { database, ledger } = JSON.parse(process.argv[2] ?? "") as SoakOrders;
const store = sqlite(database);

const bells = definePlugin({
  id: "test/bells",
  setup: ({ task }) => ({
    operations: {
      ring: task({
        input: z.looseObject({ at: z.number() }),
        run: async ({ input: { at }, once, job, graph }) => {
          await once("ring", async () => {
            await told(String(job?.id));
            await sleep(Math.random() * STEP_MS);
            return at;
          });
          await graph.append([{ kind: "plugin", type: "rang", body: at }]);
          return at;
        },
      }),
    },
  }),
});

async function told(job: string): Promise<void> {
  const events = await store.jobs.events(job as never, 0);
  const line: SoakLine = { job, isRecorded: events.some(({ event }) => event.kind === "stepped") };
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
}

await createRuntime({ store, model: recited(), plugins: [bells] });
setInterval(() => {}, 1_000);
