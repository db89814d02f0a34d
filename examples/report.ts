// A job writes a report in the background. The program kills the first process in the middle of the job. The second
// process resumes the job after the last recorded chapter. The end of the job opens a turn. The program starts itself
// as both processes.
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

const [, , processName, folder = mkdtempSync(join(tmpdir(), "bowline-report-"))] = process.argv;
const note = (line: string): void => appendFileSync(join(folder, "notes.txt"), `${line}\n`);

// ── The app that both processes run ─────────────────────────────────────────────────────────────────────────────────

const reports = definePlugin({
  id: "acme/reports",
  setup: ({ task }) => ({
    operations: {
      write: task({
        input: z.object({ topic: z.string(), chapters: z.number().int() }),
        run: async ({ input: { topic, chapters }, once }) => {
          const written: string[] = [];
          for (let chapter = 1; chapter <= chapters; chapter++) {
            // No process writes a recorded chapter again.
            const text = await once(`chapter ${chapter}`, async () => {
              note(`${processName} writes chapter ${chapter}`);
              if (processName === "first" && chapter === 3) await waitForKill();
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

/** A scripted model. Any AI SDK model works too. */
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

/** Prints a line and waits. At this line the parent process kills this process. */
async function waitForKill(): Promise<never> {
  console.log("in the middle");
  return new Promise(() => setInterval(() => {}, 1_000));
}

async function first(): Promise<void> {
  const runtime = await start();
  const session = await runtime.session("desk");
  await session.turn("I need a report about knots.").result();
  await new Promise(() => {}); // The job runs until the parent process kills this process.
}

/** Sends no message: the new runtime resumes the job when it starts. */
async function second(): Promise<void> {
  await using runtime = await start();
  const session = await runtime.session("desk");
  const [job] = await session.jobs.list();
  assert.ok(job !== undefined && job.steps >= 2); // The store has the two chapters of the first process.
  const done = await runtime.jobs.await(job.id);
  assert.equal(done.result, "Knots, part 1. Knots, part 2. Knots, part 3. Knots, part 4.");
  assert.equal(done.starts, 2);
  // The end of the job opens the second turn of the session. Wait until this turn ends.
  let turns = 0;
  for await (const event of session.observe())
    if (event.kind === "committed" && event.by === "turn" && ++turns === 2) break;
  const { messages } = await session.read();
  for (const { role, parts } of messages)
    for (const part of parts) if (part.kind === "text") console.log(`${role}: ${part.text}`);
}

/** Starts this program as one of the processes. With `kill`, kills that process when it prints a line. */
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

if (processName === "first") await first();
else if (processName === "second") await second();
else {
  await run("first", true);
  await run("second");
  const notes = readFileSync(join(folder, "notes.txt"), "utf8").trim().split("\n");
  console.log(notes.join("\n"));
  assert.deepEqual(notes, [
    "first writes chapter 1",
    "first writes chapter 2",
    "first writes chapter 3", // The kill interrupted this chapter, so the store does not have it.
    "second writes chapter 3",
    "second writes chapter 4",
  ]);
  rmSync(folder, { recursive: true });
}
