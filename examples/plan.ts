// A model that keeps a plan. The model sees the plan in every round, observers get an event for each change, and the
// app can read the plan.
import assert from "node:assert/strict";
import { createRuntime, type Json } from "bowline";
import { plan } from "bowline/plugins/plan";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";

const updates = (walls: string, roof: string, more: { readonly [key: string]: Json } = {}) =>
  calls("update_plan", {
    steps: [
      { step: "Build walls", status: walls },
      { step: "Build roof", status: roof },
    ],
    ...more,
  });
const model = scripted(
  updates("in_progress", "in_progress"), // Refused: the model reads the reason, and sends the plan again.
  updates("in_progress", "pending"),
  updates("completed", "in_progress", { explanation: "The walls stand." }),
  says("The roof is next."),
);
await using runtime = await createRuntime({ store: memory(), model, plugins: [plan] });
const session = await runtime.session("house");

const reasons: unknown[] = [];
for await (const event of session.turn("Build a house.")) {
  if (event.kind !== "plugin" || event.name !== "updated") continue;
  console.log(event.payload);
  reasons.push((event.payload as { readonly explanation?: string }).explanation);
}
assert.deepEqual(reasons, [undefined, "The walls stand."]);

assert.match(JSON.stringify(model.requests[1]?.messages), /At most one step may be in_progress/);
// The plan is the last message of a request. The history does not contain it.
const last = model.requests.at(-1)?.messages.at(-1);
assert.deepEqual(last?.parts, [{ kind: "text", text: "## Plan\n\n1. [x] Build walls\n2. [>] Build roof" }]);

assert.equal((await session.query(plan, "current")).steps.length, 2);
await session.command(plan, "clear");
assert.deepEqual((await session.query(plan, "current")).steps, []);
