// An agent watches a log. While nothing happens, no turn runs and the agent costs nothing. An error line opens a turn,
// in which the agent restarts the service.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, type Message } from "bowline";
import { monitors } from "bowline/plugins/monitors";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const folder = mkdtempSync(join(tmpdir(), "bowline-watch-"));
const log = (line: string): void => appendFileSync(join(folder, "shop.log"), `${line}\n`);
log("INFO the shop is open");

const restarted: string[] = [];
const restart = defineTool({
  name: "restart",
  description: "Restarts a service of the shop. Use it when a service does not answer.",
  input: z.object({ service: z.string() }),
  execute: ({ service }) => {
    restarted.push(service);
    return `${service} runs again.`;
  },
});

const textOf = ({ parts }: Message): string => parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
/** A scripted model. Any AI SDK model works too. */
const model = scripted(
  calls("monitor", {
    id: "errors",
    label: "Errors of the shop",
    command: "tail -n +1 -f shop.log | grep --line-buffered ERROR",
    wake: "wake",
    isPersistent: true,
  }),
  says("I watch the log."),
  ({ messages }) => {
    const [, service = ""] = /ERROR (\w+) does not answer/.exec(messages.map(textOf).join("\n")) ?? [];
    return calls("restart", { service });
  },
  calls("monitor_stop", { id: "errors", reason: "It was what I waited for." }),
  says("Payments did not answer. I have restarted it."),
);

await using runtime = await createRuntime({
  store: memory(),
  model,
  tools: [restart],
  plugins: [monitors({ cwd: folder })],
});
const session = await runtime.session("shop");
await session.turn("Watch the log of the shop, and restart what does not answer.").result();

const [errors] = (await session.monitors.snapshot()).monitors;
assert.ok(errors?.state === "running" && errors.jobId !== undefined);

log("INFO a kettle was sold"); // The agent does not get this line: `grep` drops it.
log("ERROR payments does not answer");

const [watched] = await session.jobs.await([errors.jobId]); // A monitor is a job. The agent stops this job.
assert.equal(watched?.state, "cancelled");
// The error line opened the second turn of the session. Wait until this turn ends.
let turns = 0;
for await (const event of session.observe())
  if (event.kind === "committed" && event.by === "turn" && ++turns === 2) break;

const { messages } = await session.read();
for (const message of messages) if (textOf(message) !== "") console.log(`${message.role}: ${textOf(message)}`);
assert.deepEqual(restarted, ["payments"]);
rmSync(folder, { recursive: true });
