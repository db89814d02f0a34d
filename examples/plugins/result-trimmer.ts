// Cuts the middle out of long results before the model reads them. Events and other plugins still get the whole result.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { definePlugin, type ToolOutput } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

/** `projectResult` gets every result, so it also needs a text for failures and cancelled calls. */
function wordsOf(output: ToolOutput): string {
  if (output.kind === "failure") return `Error (${output.failure.code}): ${output.failure.message}`;
  if (output.kind !== "value") return `${output.kind}: ${output.reason}`;
  return typeof output.value === "string" ? output.value : JSON.stringify(output.value);
}

export const trimmer = definePlugin({
  id: "example/trimmer",
  options: z.object({ charsMax: z.number().int().min(100).default(16_000) }),
  setup: ({ options: { charsMax } }) => ({
    projectResult: ({ output }) => {
      const words = wordsOf(output);
      const half = Math.floor(charsMax / 2);
      const cut = words.length - 2 * half;
      const text = cut <= 0 ? words : `${words.slice(0, half)}\n[${cut} characters left out]\n${words.slice(-half)}`;
      return [{ kind: "text", text }, ...(output.kind === "value" ? (output.attachments ?? []) : [])];
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const log = defineTool({
  name: "log",
  description: "The build log.",
  input: z.object({ lines: z.number() }),
  execute: ({ lines }) => Array.from({ length: lines }, (_, line) => `line ${line}`).join("\n"),
});
const model = scripted(
  calls("log", { lines: 5 }),
  calls("log", { lines: 5_000 }),
  calls("log", {}),
  says("It failed."),
);
const plugins = [trimmer({ charsMax: 100 })];
await using runtime = await createRuntime({ store: memory(), model, tools: [log], plugins });
const session = await runtime.session();

const sizes: number[] = [];
for await (const event of session.turn("Why did it fail?"))
  if (event.kind === "toolEnded" && event.output.kind === "value") sizes.push(String(event.output.value).length);
const shown = (model.requests.at(-1)?.messages ?? [])
  .flatMap(({ parts }) => parts)
  .flatMap((part) => (part.kind === "toolResult" ? part.parts : []))
  .map((part) => (part.kind === "text" ? part.text : ""));
assert.deepEqual(sizes, [34, 48_889]);
assert.equal(shown[0]?.length, 34);
assert.match(shown[1] ?? "", /^line 0\n.*\n\[48789 characters left out\]\n.*line 4999$/s);
assert.match(shown[2] ?? "", /^Error \(tool\.arguments\)/);
