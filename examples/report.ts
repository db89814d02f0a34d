// A report is written in the background. Its process is killed in the middle of it; the next one goes on after the last
// recorded chapter, and wakes the session when the report is done. This program starts itself twice, as those processes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, definePlugin, defineTool } from "bowline";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { z } from "zod";

const [, , place, folder = mkdtempSync(join(tmpdir(), "bowline-report-"))] = process.argv;
const note = (line: string): void => appendFileSync(join(folder, "notes.txt"), `${line}\n`);

// ── The app: what both processes run ────────────────────────────────────────────────────────────────────────────────

const reports = definePlugin({
  id: "acme/reports",
  setup: ({ task }) => ({
    operations: {
      write: task({
        input: z.object({ topic: z.string(), chapters: z.number().int() }),
        run: async ({ input: { topic, chapters }, once }) => {
          const written: string[] = [];
          for (let chapter = 1; chapter <= chapters; chapter++) {
            // A recorded chapter is not written again, in whatever process.
            const text = await once(`chapter ${chapter}`, async () => {
              note(`${place} writes chapter ${chapter}`);
              if (place === "first" && chapter === 3) await killed();
              return `${topic}, part ${chapter}.`;
            });
            written.push(text);
          }
          return written.join(" ");
        },
      }),
    },
    tools: [startReport],
  }),
});
const startReport = defineTool({
  name: "start_report",
  description: "Starts a report. It is written in the background, and you are told when it is done.",
  input: z.object({ topic: z.string() }),
  execute: async ({ topic }, { jobs }) => {
    const input = { topic, chapters: 4 };
    const { id } = await jobs.spawn({ label: "Report", operation: "acme/reports.write", input, wake: "wake" });
    return `It has begun: ${id}.`;
  },
});

/** Stands in for a model; any AI SDK model will do. */
const model: Provider = {
  id: "script",
  modelId: "editor",
  async *stream({ messages }) {
    const last = messages.at(-1)?.parts[0];
    if (messages.at(-1)?.role === "tool") yield* says("I will tell you when it is done.");
    else if (last?.kind === "text" && last.text.includes("Background job")) yield* says("Your report is here.");
    else yield* calls("start_report", { topic: "Knots" });
  },
};
const start = () => createRuntime({ store: sqlite(join(folder, "agent.db")), model, plugins: [reports] });

// ── The processes ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Tells the program that started this one, which kills it then. */
async function killed(): Promise<never> {
  console.log("in the middle");
  return new Promise(() => setInterval(() => {}, 1_000));
}

async function first(): Promise<void> {
  const runtime = await start();
  const session = await runtime.session("desk");
  await session.turn("I need a report about knots.").result();
  await new Promise(() => {}); // The job goes on beside the conversation, until the process is killed.
}

/** Nobody says anything here: the job is gone on with because the runtime is there. */
async function second(): Promise<void> {
  await using runtime = await start();
  const session = await runtime.session("desk");
  const [job] = await session.jobs.list();
  assert.ok(job !== undefined && job.steps >= 2); // Two chapters are there already.
  const done = await runtime.jobs.await(job.id);
  assert.equal(done.result, "Knots, part 1. Knots, part 2. Knots, part 3. Knots, part 4.");
  assert.equal(done.starts, 2);
  // The end of the job has opened a turn: it is the second one of the session.
  let turns = 0;
  for await (const event of session.observe())
    if (event.kind === "committed" && event.by === "turn" && ++turns === 2) break;
  const { messages } = await session.read();
  for (const { role, parts } of messages)
    for (const part of parts) if (part.kind === "text") console.log(`${role}: ${part.text}`);
}

/** Starts this program as one of its processes; with `kill` it is ended as soon as it says something. */
function run(as: "first" | "second", kill = false): Promise<void> {
  const node = ["--disable-warning=ExperimentalWarning", import.meta.filename, as, folder];
  const child = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.on("data", (text) => (kill ? child.kill("SIGKILL") : process.stdout.write(text)));
  return new Promise((resolve, reject) => {
    child.on("close", (code, signal) => {
      if (kill ? signal === "SIGKILL" : code === 0) resolve();
      else reject(new Error(`The ${as} process ended with ${code ?? signal}.`));
    });
  });
}

if (place === "first") await first();
else if (place === "second") await second();
else {
  await run("first", true);
  await run("second");
  const notes = readFileSync(join(folder, "notes.txt"), "utf8").trim().split("\n");
  console.log(notes.join("\n"));
  assert.deepEqual(notes, [
    "first writes chapter 1",
    "first writes chapter 2",
    "first writes chapter 3", // broken off, and nothing of it was recorded
    "second writes chapter 3",
    "second writes chapter 4",
  ]);
  rmSync(folder, { recursive: true });
}
