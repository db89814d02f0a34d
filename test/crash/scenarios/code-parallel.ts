import assert from "node:assert/strict";
import { createRuntime, ToolError } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";
import { cells } from "../../code/cells.ts";
import { acting, asked, executing, finished, withoutVariables } from "../code.ts";

const CHAINS = 20;

/** What each chain drew decides whether it calls again, and with what. */
const FIRST = `
  let counted = 0;
  const count = () => ++counted;
  const chains: { dice: number; came?: number | string }[] = [];
  const chain = async (n: number) => {
    const square = await tools.look({ n });
    count();
    const dice = Math.floor(Math.random() * 1000);
    chains[n] = { dice };
    if (dice % 4 === 0) return;
    try {
      chains[n].came = await tools.pick({ n, square, dice });
    } catch (error) {
      chains[n].came = error.code;
    }
    count();
  };
  const race = Promise.race([
    tools.look({ n: 100 }).then(() => "the call"),
    sleep(3).then(() => "the sleep"),
  ]);
  await Promise.all(Array.from({ length: ${CHAINS} }, (_, n) => chain(n)));
  const winner = await race;
  await tools.tell({ winner });`;

const SECOND = `
  const more = await tools.look({ n: counted });
  count();
  finish({ counted, chains, winner, more });`;

interface Found {
  readonly counted: number;
  readonly chains: readonly { readonly dice: number; readonly came?: number | string }[];
  readonly winner: string;
  readonly more: number;
}

/**
 * A cell with many calls open at a time, and a second one that goes on with what the first made. The seed of a turn is in
 * its id, and who wins a race is a matter of time: so what came of it is compared with what was asked of the tools.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const look = acting(
      act,
      "look",
      ({ n }) => n * n,
      ({ n }) => (n * 7) % 5,
    );
    const pick = acting(act, "pick", ({ n }) => {
      if (n % 5 === 0) throw new ToolError("gone", `There is no ${n}.`);
      return -n;
    });
    await using runtime = await createRuntime({
      store,
      host,
      model: recited(says(FIRST), says(SECOND)),
      tools: [look, pick, acting(act, "tell", () => null)],
      plugins: [cells, executing()],
      limits: { parallelCallsMax: CHAINS + 1 },
    });
    const session = await runtime.session("parallel");
    await session.turn("Go.", { key: "go" }).result();
  },
  check(final, { clean, acts }) {
    const [found] = finished<Found>(final);
    assert.ok(found);
    const { counted, chains, winner, more } = found;
    const isAgain = (dice: number): boolean => dice % 4 !== 0;
    assert.equal(counted, CHAINS + chains.filter(({ dice }) => isAgain(dice)).length + 1);
    assert.equal(more, (counted - 1) ** 2);
    for (const [n, { dice, came }] of chains.entries())
      assert.equal(came, isAgain(dice) ? (n % 5 === 0 ? "gone" : -n) : undefined);
    const again = chains.flatMap(({ dice }, n) => (isAgain(dice) ? [{ n, square: n * n, dice }] : []));
    const looked = [...chains.keys(), 100, counted - 1].map((n) => ({ n }));
    assert.deepEqual(
      asked(acts),
      [
        ...looked.map((input) => `look ${JSON.stringify(input)}`),
        ...again.map((input) => `pick ${JSON.stringify(input)}`),
        `tell ${JSON.stringify({ winner })}`,
      ].sort(),
    );
    assert.deepEqual({ ...withoutVariables(final), outcomes: [] }, { ...withoutVariables(clean), outcomes: [] });
  },
});
