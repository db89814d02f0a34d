// Summarizes fifty pages in the background, at most eight at a time. Each page is a job that runs a task, so any
// process can resume it. One more job starts these jobs, waits for them and adds up their words.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, definePlugin } from "bowline";
import { memory } from "bowline/stores/memory";
import { scripted } from "bowline/testing";
import { z } from "zod";

const PAGES = 50;
const AT_ONCE = 8;

let working = 0;
let most = 0;
const library = definePlugin({
  id: "acme/library",
  setup: ({ task }) => ({
    operations: {
      summarize: task({
        input: z.object({ page: z.number().int() }),
        run: async ({ input: { page }, once }) => {
          const words = await once("read", async () => {
            most = Math.max(most, ++working);
            await sleep(5); // Simulates a model or a slow disk.
            working--;
            return 100 + page;
          });
          return { page, words };
        },
      }),
      summarizeAll: task({
        input: z.object({ pages: z.number().int() }),
        run: async ({ input: { pages }, jobs }) => {
          const ids: string[] = [];
          for (let page = 1; page <= pages; page++) {
            const { id } = await jobs.spawn({ label: `Page ${page}`, operation: "summarize", input: { page } });
            ids.push(id);
          }
          const records = await jobs.await(ids);
          const words = records.map(({ result }) => (result as { readonly words: number }).words);
          return { pages: records.length, words: words.reduce((sum, each) => sum + each, 0) };
        },
      }),
    },
  }),
});

await using runtime = await createRuntime({
  store: memory(),
  model: scripted(),
  plugins: [library],
  limits: { parallelJobsMax: AT_ONCE },
});
const { jobs } = await runtime.session("library");
const { id } = await jobs.spawn({
  label: "All pages",
  operation: "acme/library.summarizeAll",
  input: { pages: PAGES },
});
const [all] = await jobs.await([id]);
console.log(`${all?.label}: ${JSON.stringify(all?.result)}, at most ${most} at once`);
assert.deepEqual(all?.result, { pages: PAGES, words: 6_275 });

const done = await jobs.list();
const byState = Object.groupBy(done, ({ state }) => state);
console.log(
  Object.entries(byState)
    .map(([state, of]) => `${of?.length} ${state}`)
    .join(", "),
);
assert.equal(byState.completed?.length, PAGES + 1);
assert.ok(most <= AT_ONCE && most > 1);
// The job "All pages" started every other job.
assert.equal(
  done.filter(({ parent }) => parent !== undefined && "jobId" in parent && parent.jobId === id).length,
  PAGES,
);
