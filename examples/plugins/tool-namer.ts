// Changes the descriptions of tools for the model, and hides some tools.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

export const toolNamer = definePlugin({
  id: "example/tool-namer",
  options: z.object({
    hidden: z.array(z.string()).default([]),
    descriptions: z.record(z.string(), z.string()).default({}),
  }),
  setup: ({ options: { hidden, descriptions } }) => ({
    // Must be synchronous, because it runs whenever the runtime builds the catalog.
    toolCatalog: ({ tools }) => [
      ...hidden.map((tool) => ({ tool, hide: true as const })),
      ...tools
        .filter(({ name }) => name in descriptions)
        .map(({ name: tool, description }) => ({ tool, description: `${descriptions[tool]} (${description})` })),
    ],
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

let dropped = 0;
const input = z.object({});
const tools = [
  defineTool({ name: "list", description: "Lists rows.", input, execute: () => ["ann", "bob"] }),
  defineTool({ name: "drop", description: "Drops the table.", input, execute: () => ++dropped }),
];
const model = scripted(calls("drop"), says("I cannot."), calls("drop"), says("Dropped."));
await using runtime = await createRuntime({
  store: memory(),
  model,
  tools,
  plugins: [toolNamer({ hidden: ["drop"], descriptions: { list: "Our customers." } })],
});

await (await runtime.session("guest")).turn("Drop it.").result();
assert.deepEqual(
  model.requests[0]?.tools.map(({ name, description }) => `${name}: ${description}`),
  ["list: Our customers. (Lists rows.)"],
);
assert.equal(dropped, 0); // The model cannot call a hidden tool, even by its exact name.
assert.match(JSON.stringify(model.requests[1]?.messages), /There is no tool drop/);

const admin = await runtime.session("admin", { plugins: [toolNamer.options({ hidden: [] })] });
await admin.turn("Drop it.").result();
assert.equal(dropped, 1);
