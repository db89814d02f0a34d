import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { answer, resting } from "../resting.ts";

/**
 * Operations on a turn that waits, and on one that is parked, answer at once and are part of it: commands, settings and
 * nodes. Under its name an operation is done once, and its receipt is the same in every life, before the turn is committed
 * and after.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const notes = definePlugin({
      id: "crash/notes",
      version: "1",
      state: z.object({ lines: z.array(z.string()).default([]) }),
      setup: ({ command }) => ({
        beforeToolCall: ({ state }) => {
          state.update(({ lines }) => ({ lines: [...lines, "gate"] }));
          return ask("It moves money.");
        },
        operations: {
          add: command({
            input: z.string(),
            run: ({ input, state }) => {
              act(`added ${input}`);
              state.update(({ lines }) => ({ lines: [...lines, input] }));
              return state.get().lines.length;
            },
          }),
        },
      }),
    });
    const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
    const model = recited(calls("pay", {}, "pay"), says("Paid."));
    await using runtime = await createRuntime({
      store,
      host,
      model,
      tools: [pay],
      plugins: [notes],
      limits: { parkAfterMs: 100 },
    });
    const session = await runtime.session("bank");
    const turn = session.turn("Pay.", { key: "go" });
    const result = turn.result();
    const add = async (line: string): Promise<void> => {
      const receipt = await session.command(notes, "add", line, { operationId: line });
      act(`told ${line}: ${JSON.stringify(receipt)}`);
    };
    const append = async (): Promise<void> => {
      const { kind } = await session.append([{ kind: "message", role: "user", text: "Mind the rate." }], {
        operationId: "mind",
      });
      assert.notEqual(kind, "stale-branch");
    };
    for await (const event of turn) if (event.kind === "waiting") break;
    await add("one"); // In a turn that is still here.
    await add("two");
    await resting(store, await turn.id);
    await session.configure({ instructions: "Be kind." });
    await append();
    await add("one");
    await append();
    await add("three");
    for (const { key } of await runtime.waits.list({ session: "bank" })) await answer(runtime, key, { approved: true });
    await result;
    await add("one");
    await append();
    assert.equal((await session.read()).config.instructions, "Be kind.");
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    for (const line of ["one", "two", "three"]) {
      const told = acts.filter((act) => act.startsWith(`told ${line}`));
      assert.equal(new Set(told).size, 1, told.join("\n"));
      const first = acts.indexOf(told[0] ?? "");
      assert.ok(acts.lastIndexOf(`added ${line}`) < first, `${line} was added again after its receipt was given.`);
    }
  },
});
