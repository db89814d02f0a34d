// One tool, one plugin with state, two turns. Runs offline: a scripted model replaces a real model.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { definePlugin, deny } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Weather now in a city.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `${city}: 3 °C, rain`,
});

const frugal = definePlugin({
  id: "example/frugal",
  options: z.object({ callsMax: z.number().int().default(20) }),
  state: z.object({ calls: z.number().default(0) }),
  setup: ({ options }) => ({
    prompt: () => [{ slot: "guidance", text: `Use at most ${options.callsMax} tool calls.` }],
    beforeToolCall: ({ state }) => {
      if (state.get().calls >= options.callsMax) return deny("No calls left.");
      state.update((s) => ({ calls: s.calls + 1 }));
      return undefined;
    },
  }),
});

const model = scripted(
  both(calls("weather", { city: "Oslo" }), calls("weather", { city: "Bergen" })),
  says("Rain in Oslo; I could not ask about Bergen."),
  says("Yes, take a coat."),
);

await using runtime = await createRuntime({
  store: memory(),
  model,
  tools: [weather],
  plugins: [frugal({ callsMax: 1 })],
});
const session = await runtime.session("trip-42");

const turn = session.turn("How is the weather in Oslo and Bergen?");
for await (const event of turn) {
  if (event.kind === "text") process.stdout.write(event.delta);
  if (event.kind === "toolEnded") console.log(`${event.name}: ${event.status}`);
}
console.log();
const { outcome } = await turn.result();
assert.equal(outcome.kind, "answered");

assert.equal(await session.turn("Do I need a coat?").text(), "Yes, take a coat.");
assert.equal((await session.read()).turns, 2);
