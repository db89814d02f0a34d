import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { cells } from "../../code/cells.ts";
import { acting, asked, careful, executing, withoutVariables } from "../code.ts";
import { answer, resting } from "../resting.ts";
import { Clock } from "../triggers.ts";

const DAY_MS = 86_400_000;

const FIRST = `
  const begun = Date.now();
  const days = () => Math.floor((Date.now() - begun) / ${DAY_MS});
  let naps = 0;
  const nap = async () => { await sleep(2 * ${DAY_MS}); return ++naps; };
  const [paid, napped] = await Promise.all([tools.pay({ n: 7 }), nap()]);
  await tools.tell({ paid, napped, days: days() });`;

const SECOND = `
  await Promise.race([nap(), tools.look({ n: 3 })]);
  finish({ days: days(), naps });`;

/**
 * Code sleeps for two days, and waits for an approval meanwhile, which comes on the third. The clock is put forward once
 * the turn is parked, in whichever life. A longer sleep that lost a race is forgotten with its cell.
 */
export default defineScenario({
  async run({ store, host, act, folder }) {
    const clock = new Clock(join(folder, "clock"));
    await using runtime = await createRuntime({
      store,
      host,
      model: recited(says(FIRST), says(SECOND)),
      tools: [acting(act, "pay", ({ n }) => n), acting(act, "look", ({ n }) => n * n), acting(act, "tell", () => null)],
      plugins: [cells, executing(), careful],
      limits: { parkAfterMs: 1 },
    });
    const turn = (await runtime.session("patient")).turn("Pay some day.", { key: "go" });
    const result = turn.result();
    while ((await resting(store, await turn.id)) === "parked") {
      const [wait] = await runtime.waits.list({ session: "patient" });
      if (wait === undefined) {
        await sleep(2); // It was answered, and is about to go on.
        continue;
      }
      clock.reach(wait.askedAt + 2.5 * DAY_MS);
      await answer(runtime, wait.key, { approved: true });
    }
    await result;
  },
  check(final, { clean, acts }) {
    assert.deepEqual(withoutVariables(final), withoutVariables(clean));
    assert.deepEqual(final.outcomes, [{ kind: "finished", by: "model", value: { days: 2, naps: 1 } }]);
    assert.deepEqual(asked(acts), ['look {"n":3}', 'pay {"n":7}', 'tell {"paid":7,"napped":1,"days":2}']);
  },
});
