// Adds the project's rules from a file to the prompt. The plugin reads the file once, when the runtime opens. All
// sessions share it.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, definePlugin, hasCode } from "bowline";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { z } from "zod";

export const promptFromFile = definePlugin({
  id: "example/prompt-from-file",
  options: z.object({ path: z.string(), title: z.string().default("Project") }),
  // Read the file here. `setup` runs whenever a session opens, and cannot wait.
  open: async ({ options, signal }) => ({ text: await readFile(options.path, { encoding: "utf8", signal }) }),
  setup: ({ options, shared }) => ({
    prompt: () => ({ slot: "project", title: options.title, text: shared.text }),
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const folder = await mkdtemp(join(tmpdir(), "bowline-"));
const path = join(folder, "AGENTS.md");
await writeFile(path, "Use tabs.\n");

const model = scripted(says("Tabs."), says("Tabs."), says("Tabs."));
await using runtime = await createRuntime({
  store: memory(),
  model,
  plugins: [promptFromFile({ path })],
  instructions: "You write code.",
});
await (await runtime.session("one")).turn("Tabs or spaces?").result();
await writeFile(path, "Use spaces.\n");
await (await runtime.session("two")).turn("Tabs or spaces?").result();
// Options of one session change the heading. `open` does not run again.
const titled = [promptFromFile.options({ path, title: "House rules" })];
await (await runtime.session("three", { plugins: titled })).turn("Tabs or spaces?").result();

const [one, two, three] = model.requests.map(({ system }) => system);
assert.equal(one, "You write code.\n\n## Project\n\nUse tabs.");
assert.equal(two, one); // Both turns have the same text, so the provider can use its cache.
assert.equal(three, "You write code.\n\n## House rules\n\nUse tabs.");

const missing = promptFromFile({ path: join(folder, "none.md") });
await assert.rejects(createRuntime({ store: memory(), model, plugins: [missing] }), (error) =>
  hasCode(error, "plugin.open"),
);
await rm(folder, { recursive: true });
