// A call that moves money waits for a person. The answer may come from anywhere that knows the key.
import assert from "node:assert/strict";
import { ask, createRuntime, definePlugin, defineTool } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";

let paid = 0;
const pay = defineTool({
  name: "pay",
  description: "Pays an amount.",
  input: { type: "object", properties: { euros: { type: "number" } }, required: ["euros"] },
  execute: () => {
    paid++;
    return "paid";
  },
});
const careful = definePlugin({
  id: "example/careful",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});

const model = scripted(
  calls("pay", { euros: 9 }),
  says("Done."),
  calls("pay", { euros: 900 }),
  says("Then I will not."),
);
await using runtime = await createRuntime({ store: memory(), model, tools: [pay], plugins: [careful] });
const session = await runtime.session();

for (const [request, approved] of [
  ["Pay the coffee.", true],
  ["Pay the car.", false],
] as const) {
  const turn = session.turn(request);
  for await (const event of turn) {
    if (event.kind !== "waiting") continue;
    console.log(`${request} ${event.reason} Approved: ${approved}.`);
    await runtime.waits.resolve(event.wait, { approved, reason: "Too much." });
  }
  console.log((await turn.result()).outcome);
}
assert.equal(paid, 1);
