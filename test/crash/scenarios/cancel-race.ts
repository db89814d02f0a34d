import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { both, calls, defineScenario, recited, says } from "bowline/testing";

/** Turns that are cancelled sooner or later: each ends one way or the other, whole. */
export default defineScenario({
  async run({ store, host }) {
    const wait = defineTool({
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      execute: (_, { signal }) =>
        new Promise<string>((resolve) => {
          const timer = setTimeout(resolve, 3, "waited");
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve("stopped");
          });
        }),
    });
    const model = recited(
      ...Array.from({ length: 12 }, (_, n) =>
        n % 2 === 0 ? both(calls("wait", {}, `a${n}`), calls("wait", {}, `b${n}`)) : says("Done."),
      ),
    );
    await using runtime = await createRuntime({ store, host, model, tools: [wait], limits: { cancelGraceMs: 20 } });
    const session = await runtime.session("raced");
    for (const [n, ms] of [0, 2, 4, 8].entries()) {
      const turn = session.turn(`Wait ${n}.`, { key: `go ${n}` });
      const turnId = await turn.id;
      await new Promise((resolve) => setTimeout(resolve, ms));
      await session.cancel(turnId, { requestId: `cancel ${n}`, reason: "Enough." });
      await turn.result();
    }
  },
  check({ sessions, outcomes }) {
    const said = sessions.raced?.messages.filter(({ role }) => role === "user").map(({ text }) => text);
    assert.deepEqual(said, ["Wait 0.", "Wait 1.", "Wait 2.", "Wait 3."]);
    assert.equal(outcomes.length, 4);
    for (const outcome of outcomes) {
      const { kind, by } = outcome as { kind: string; by?: string };
      assert.ok(kind === "answered" || (kind === "stopped" && by === "cancel"), JSON.stringify(outcome));
    }
  },
});
