// A turn that returns a value of a schema. If the value is invalid, the model gets the error and tries again, at most
// twice.
import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, scripted } from "bowline/testing";
import { z } from "zod";

const model = scripted(calls("submit_output", { coat: "yes" }), calls("submit_output", { coat: true, why: "rain" }));
await using runtime = await createRuntime({ store: memory(), model });
const session = await runtime.session();
const { outcome } = await session
  .turn("Coat?", { output: z.object({ coat: z.boolean(), why: z.string().optional() }) })
  .result();
assert.ok(outcome.kind === "finished");
console.log(outcome.value.coat, outcome.value.why);
