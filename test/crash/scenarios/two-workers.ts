import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

const TURNS = 3;

/** Two runtimes on one store, as two workers would be, each with its own turns on one session. */
export default defineScenario({
  async run({ store, host }) {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: () => new Promise<string>((resolve) => setTimeout(resolve, 2, "looked")),
    });
    const model = recited(
      ...Array.from({ length: 4 * TURNS }, (_, n) => (n % 2 === 0 ? calls("look", {}, `c${n}`) : says(`Said ${n}.`))),
    );
    const workers = await Promise.all(
      ["a", "b"].map(async (name) => {
        const runtime = await createRuntime({ store, host, model, tools: [look] });
        const session = await runtime.session("shared");
        return {
          runtime,
          turns: Array.from({ length: TURNS }, (_, n) => session.turn(`${name}${n}`, { key: `${name}${n}` })),
        };
      }),
    );
    for (const { turns } of workers) await Promise.all(turns.map((turn) => turn.result()));
    for (const { runtime } of workers.slice(0, 1)) await runtime.close();
  },
  check({ sessions, outcomes }) {
    const said = sessions.shared?.messages.filter(({ role }) => role === "user").map(({ text }) => text) ?? [];
    assert.deepEqual([...said].sort(), ["a0", "a1", "a2", "b0", "b1", "b2"]);
    for (const name of ["a", "b"])
      assert.deepEqual(
        said.filter((text) => text.startsWith(name)),
        [0, 1, 2].map((n) => `${name}${n}`),
      );
    assert.ok(outcomes.every((outcome) => (outcome as { kind: string }).kind === "answered"));
  },
});
