import { createRuntime, defineTool, retryable } from "bowline";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

/** Tools that fail once and are tried again after a pause, beside serial ones. */
export default defineScenario({
  async run({ store, host, act }) {
    const flaky = defineTool({
      name: "flaky",
      description: "Fails at first.",
      input: { type: "object" },
      retry: { policy: "safe", attempts: 3, baseMs: 2, maxMs: 4 },
      execute: async (_, { attempt, idempotencyKey }) => {
        act(`flaky ${idempotencyKey}`);
        if (attempt === 1) throw retryable(new Error("Not yet."));
        return "at last";
      },
    });
    const serial = defineTool({
      name: "serial",
      description: "Runs alone.",
      input: { type: "object" },
      isSerial: true,
      execute: () => new Promise<string>((resolve) => setImmediate(resolve, "alone")),
    });
    const round = both(
      calls("flaky", {}, "a"),
      calls("serial", {}, "b"),
      calls("flaky", {}, "c"),
      calls("serial", {}, "d"),
    );
    await using runtime = await createRuntime({
      store,
      host,
      model: recited(round, says("Done.")),
      tools: [flaky, serial],
    });
    const session = await runtime.session("flaky");
    await session.turn("Try.", { key: "go" }).result();
  },
});
