import assert from "node:assert/strict";
import { createRuntime, defineTool, type Session } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";

/** Something is said while a turn runs: by a tool, so that it always comes in time, and by nobody in particular. */
export default defineScenario({
  async run({ store, host }) {
    let session: Session;
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: async () => {
        await session.send("And the zoo?", { key: "aside" });
        return "looked";
      },
    });
    const wait = defineTool({
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      execute: () => new Promise<string>((resolve) => setTimeout(resolve, 5, "waited")),
    });
    const model = recited(
      calls("look", {}, "one"),
      calls("wait", {}, "two"),
      calls("wait", {}, "three"),
      ...Array.from({ length: 4 }, () => says("Done.")),
    );
    await using runtime = await createRuntime({ store, host, model, tools: [look, wait] });
    session = await runtime.session("interrupted");
    const turn = session.turn("Look around.", { key: "go" });
    await turn.id;
    const { turnId } = await session.send("Be quick.", { key: "hurry" });
    await session.send("Then rest.", { key: "after", at: "next-turn" });
    await turn.result();
    await session.turn("Goodbye.", { key: "last" }).result(); // After all that was sent before.
    assert.ok(turnId);
  },
  check({ sessions }) {
    const said = sessions.interrupted?.messages.filter(({ role }) => role === "user").map(({ text }) => text) ?? [];
    assert.deepEqual([...said].sort(), ["And the zoo?", "Be quick.", "Goodbye.", "Look around.", "Then rest."]);
    assert.equal(said[0], "Look around.");
    assert.deepEqual(said.slice(-2), ["Then rest.", "Goodbye."]);
  },
});
