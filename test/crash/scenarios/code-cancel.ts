import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool } from "bowline";
import { defineScenario } from "bowline/testing";
import { cells } from "../../code/cells.ts";
import { asked, executing, reading } from "../code.ts";

const WAITS = ["Wait.", "Wait again.", "Wait once more."];
const BEGIN = "let turns = 0;\nconst kept = [];\nfinish(0);";
const END = "finish([turns, kept.length]);";
const FIRST = 'print("turn", ++turns);';
const SECOND = `
  kept.push("now");
  await Promise.all([1, 2, 3].map(async (n) => { await tools.wait({ n }); await tools.wait({ n: n * 10 }); }));
  print("kept", kept.length);`;

/**
 * Turns are cancelled while calls of their second cells are open, and a little later. A cell that was stopped so leaves
 * nothing behind; one that was done before leaves all.
 */
export default defineScenario({
  async run({ store, host, act }) {
    let begun: (() => void) | undefined;
    const wait = defineTool({
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      execute: async (input, { signal, idempotencyKey }) => {
        act(`${idempotencyKey} wait ${JSON.stringify(input)}`);
        begun?.();
        await sleep(3, undefined, { signal }).catch(() => undefined);
        return null;
      },
    });
    const script = Object.fromEntries(WAITS.map((text) => [text, [FIRST, SECOND, END]]));
    await using runtime = await createRuntime({
      store,
      host,
      model: reading({ ...script, "Begin.": [BEGIN], "End.": [END] }),
      tools: [wait],
      plugins: [cells, executing()],
      limits: { cancelGraceMs: 20 },
    });
    const session = await runtime.session("cancelled");
    await session.turn("Begin.", { key: "Begin." }).result();
    for (const [index, text] of WAITS.entries()) {
      const hasBegun = new Promise<void>((resolve) => (begun = resolve));
      const turn = session.turn(text, { key: text });
      const turnId = await turn.id;
      await Promise.race([hasBegun, turn.result()]);
      await sleep([0, 4, 30][index] ?? 0);
      await session.cancel(turnId, { requestId: text, reason: "Enough." });
      await turn.result();
    }
    await session.turn("End.", { key: "End." }).result();
  },
  check({ sessions, outcomes }, { acts }) {
    const { messages = [] } = sessions.cancelled ?? {};
    const said = messages.flatMap(({ role, text, origin }) => (role === "user" && origin !== undefined ? [text] : []));
    assert.deepEqual(said, ["Begin.", ...WAITS, "End."]);
    const counted = ["turn", "kept"].map((word) => {
      const printed = messages.filter(({ text }) => text.startsWith(`${word} `)).map(({ text }) => text);
      assert.deepEqual(
        printed,
        printed.map((_, index) => `${word} ${index + 1}`),
      );
      return printed.length;
    });
    assert.deepEqual(outcomes.at(-1), { kind: "finished", by: "model", value: counted });
    for (const outcome of outcomes) {
      const { kind, by } = outcome as { readonly kind: string; readonly by: string };
      assert.ok(kind === "finished" || (kind === "stopped" && by === "cancel"), JSON.stringify(outcome));
    }
    assert.ok(asked(acts).length <= 6 * WAITS.length);
  },
});
