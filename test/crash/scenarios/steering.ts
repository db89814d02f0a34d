import assert from "node:assert/strict";
import { createRuntime, defineTool, hasCode, type Session } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** Steered while it works, by its own tool, so that all of it comes in time: asides, turns for later, and one that is edited. */
export default defineScenario({
  async run({ store, host }) {
    let session: Session;
    const edited = async (): Promise<void> => {
      try {
        await session.send("Then run.", { key: "then", at: "next-turn" });
        await session.inputs.cancel({ key: "then" });
      } catch (error) {
        if (!hasCode(error, "input.conflict")) throw error; // It was edited in an earlier life.
      }
      await session.send("Then rest.", { key: "then", at: "next-turn" });
    };
    const step = defineTool({
      name: "step",
      description: "Takes a step.",
      input: { type: "object", properties: { n: { type: "number" } } },
      execute: async ({ n }) => {
        if (n === 1) await session.send("Mind the dog.", { key: "dog" });
        if (n === 2) await edited();
        if (n === 2) await session.send("And the cat.", { key: "cat" });
        if (n === 2) await session.send("Be quick.", { key: "quick" });
        if (n === 3) await session.send("Say goodbye.", { key: "bye", at: "next-turn" });
        return `step ${n}`;
      },
    });
    const model = recited(
      ...[1, 2, 3].map((n) => calls("step", { n }, `step ${n}`)),
      says("I am there."),
      says("I rested."),
      says("Goodbye."),
    );
    await using runtime = await createRuntime({ store, host, model, tools: [step] });
    session = await runtime.session("steered");
    await session.turn("Walk.", { key: "walk" }).result();
    for (const [key, words] of [
      ["then", "Then rest."],
      ["bye", "Say goodbye."],
      ["quick", "Be quick."],
    ] as const)
      await session.turn(words, { key }).result();
  },
  check({ sessions, outcomes }, { clean }) {
    assert.deepEqual(sessions, clean.sessions);
    const kept = (each: readonly unknown[]): readonly unknown[] => each.filter((outcome) => outcome !== null);
    assert.deepEqual(kept(outcomes), kept(clean.outcomes)); // What was taken back has none, in however many lives.
    const said = sessions.steered?.messages.filter(({ role }) => role === "user").map(({ text }) => text);
    assert.deepEqual(said, ["Walk.", "Mind the dog.", "And the cat.", "Be quick.", "Then rest.", "Say goodbye."]);
  },
});
