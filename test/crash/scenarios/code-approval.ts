import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createRuntime, type Json } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { cells } from "../../code/cells.ts";
import { acting, asked, careful, executing } from "../code.ts";
import { answer, resting } from "../resting.ts";

const CELL = `
  const notes: string[] = [];
  const note = (text: string) => notes.push(text);
  const others = (async () => {
    for (let n = 1; n <= 3; n++) note("looked: " + (await tools.look({ n })));
  })();
  note("paid: " + ((note("begun"), 2) + (await tools.pay({ n: 40 }))));
  await others;
  await tools.pay({ n: 4_000 }).catch((error) => note(error.code));
  finish(notes);`;

const isCheap = (given: Json): boolean => isDeepStrictEqual(given, { n: 40 });

/**
 * Code waits for an approval in the middle of a line, while other calls of it go on, and then for one that it does not
 * get. The turn is parked each time. It is answered by the runtime that parked it, or by one that runs nothing itself.
 */
export default defineScenario({
  async run({ store, host, life, act }) {
    const tools = [acting(act, "pay", ({ n }) => n), acting(act, "look", ({ n }) => n * n)];
    const app = { store, host, model: recited(says(CELL)), tools, plugins: [cells, executing(), careful] };
    await using runtime = await createRuntime({ ...app, limits: { parkAfterMs: 1 } });
    const web = await createRuntime({ ...app, recover: "manual" }); // Closed with the store that they share.
    const turn = (await runtime.session("bank")).turn("Pay.", { key: "go" });
    const result = turn.result();
    while ((await resting(store, await turn.id)) === "parked") {
      const [wait] = await web.waits.list({ session: "bank" });
      const approved = wait !== undefined && isCheap(wait.arguments);
      if (wait !== undefined) await answer(approved && life % 2 === 1 ? web : runtime, wait.key, { approved });
      else await sleep(2); // It was answered, and is about to go on.
    }
    const { outcome } = await result;
    assert.equal(outcome.kind, "finished");
  },
  check(final, { clean, acts }) {
    assert.deepEqual(final, clean);
    const value = ["begun", "looked: 1", "looked: 4", "looked: 9", "paid: 42", "tool.denied"];
    assert.deepEqual(final.outcomes, [{ kind: "finished", by: "model", value }]);
    assert.deepEqual(final.sessions.bank?.plugins["crash/careful"]?.state, { calls: 5 });
    assert.deepEqual(asked(acts), ['look {"n":1}', 'look {"n":2}', 'look {"n":3}', 'pay {"n":40}']);
  },
});
