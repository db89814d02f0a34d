import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** A call that must not run twice, whatever happens: the model may be told that nobody knows what became of it. */
export default defineScenario({
  async run({ store, host, act }) {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      onInterrupt: "fail",
      execute: async (_, { idempotencyKey }) => {
        act(idempotencyKey);
        await new Promise((resolve) => setImmediate(resolve));
        return "paid";
      },
    });
    const model = recited(calls("pay", {}, "one"), calls("pay", {}, "two"), says("Done."));
    await using runtime = await createRuntime({ store, host, model, tools: [pay] });
    const session = await runtime.session("shop");
    await session.turn("Pay twice.", { key: "go" }).result();
  },
  check({ sessions }, { acts }) {
    assert.equal(new Set(acts).size, acts.length, "It paid twice for one call.");
    const [asked, first, paid, second, again, last] = sessions.shop?.messages ?? [];
    assert.deepEqual(
      [asked?.text, first?.role, second?.role, last?.text],
      ["Pay twice.", "assistant", "assistant", "Done."],
    );
    for (const result of [paid, again]) assert.match(result?.text ?? "", /^(paid|Unknown: )/);
    const known = [paid, again].filter((result) => result?.text === "paid").length;
    assert.ok(acts.length >= known, "It says that it paid, and did not.");
  },
});
