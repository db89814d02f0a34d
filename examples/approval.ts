// A call that moves money waits for a person. The person can ask the runtime to remember the answer.
import assert from "node:assert/strict";
import { type Approval, createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const paid: string[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays an amount.",
  input: z.object({ what: z.string(), euros: z.number() }),
  execute: ({ what }) => {
    paid.push(what);
    return "paid";
  },
});
const policy = approvals({
  rules: [
    { tool: pay, when: { euros: { lte: 5 } }, verdict: "allow" },
    { tool: pay, when: { euros: { gt: 10_000 } }, verdict: "deny", reason: "Nobody here may pay that." },
    { tool: pay, verdict: "ask", reason: "It moves money." },
  ],
});

/** The answers of the person. */
const answers: { readonly [what: string]: Approval } = {
  lunch: { approved: true, remember: true },
  car: { approved: false, reason: "Too much." },
};

const wishes = [
  ["coffee", 3],
  ["lunch", 12],
  ["lunch", 12],
  ["car", 9_000],
  ["house", 900_000],
] as const;
const model = scripted(...wishes.flatMap(([what, euros]) => [calls("pay", { what, euros }), says("I tried.")]));
await using runtime = await createRuntime({ store: memory(), model, tools: [pay], plugins: [policy] });
const session = await runtime.session();

const asked: string[] = [];
for (const [what] of wishes) {
  for await (const event of session.turn(`Pay the ${what}.`)) {
    if (event.kind === "toolEnded") console.log(`${what}: ${event.status}`);
    if (event.kind !== "waiting") continue;
    console.log(`${what}: ${event.reason} ${JSON.stringify(event.call.input)}`);
    asked.push(what);
    await runtime.waits.resolve(event.wait, answers[what] ?? { approved: false }, { by: "ann" });
  }
}
assert.deepEqual(asked, ["lunch", "car"]);
assert.deepEqual(paid, ["coffee", "lunch", "lunch"]);
