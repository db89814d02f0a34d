// A process of the soak: runs whatever jobs it can claim, until it is killed.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, definePlugin } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { recited } from "bowline/testing";
import { z } from "zod";

export interface SoakOrders {
  readonly database: string;
  readonly ledger: string;
  readonly stepMs: number;
}
/** A step begins. `isRecorded`: although its record is there. */
export interface SoakLine {
  readonly job: string;
  readonly step: string;
  readonly isRecorded: boolean;
}

const { database, ledger, stepMs } = JSON.parse(process.argv[2] ?? "") as SoakOrders;
const store = sqlite(database);

const work = definePlugin({
  id: "test/soak",
  setup: ({ task }) => ({
    operations: {
      work: task({
        input: z.object({ n: z.number() }),
        run: async ({ input, once, job }) => {
          let value = String(input.n);
          for (const step of ["one", "two", "three"]) {
            const before = value;
            value = await once(step, async () => {
              await told(String(job?.id), step);
              await sleep(Math.random() * stepMs);
              return `${before} ${Math.random().toString(36).slice(2)}`;
            });
          }
          return value;
        },
      }),
    },
  }),
});

async function told(job: string, step: string): Promise<void> {
  const events = await store.jobs.events(job as never, 0);
  const isRecorded = events.some(({ event }) => event.kind === "stepped" && event.name.endsWith(`/${step}`));
  const line: SoakLine = { job, step, isRecorded };
  appendFileSync(ledger, `${JSON.stringify(line)}\n`);
}

// A few at a time, so that a kill finds some under way and others waiting.
await createRuntime({ store, model: recited(), plugins: [work], limits: { parallelJobsMax: 8 } });
setInterval(() => {}, 1_000);
