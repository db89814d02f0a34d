import assert from "node:assert/strict";
import { LEASE_MS, type Overview, type Store } from "../../stores/store.ts";
import { ann, ben, bob, commit, LAPSED, NOW } from "../cast.ts";
import { end, parks, spawn, working } from "../job-cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { answer, drain, first, park, queue, take, waits, yes } from "./acts.ts";

const NOTHING: Overview = {
  turns: { queued: 0, running: 0, waiting: 0, interrupted: 0 },
  waits: 0,
  jobs: 0,
  workers: [],
};
const seen = async (store: Store, now = NOW, max = 100): Promise<Overview> => store.overview(max, now);
/** The overview without the workers' times. */
const countsOf = async (store: Store, now?: number) => {
  const { workers, ...counts } = await seen(store, now);
  return { ...counts, workers: workers.map(({ forMs: _, owner, ...held }) => ({ owner: owner.id, ...held })) };
};

export const overviewLaws: readonly StoreLaw[] = [
  law("an overview of an empty store, and of one whose work has ended, has nothing in it", async (store) => {
    assert.deepEqual(await seen(store), NOTHING);
    await commit(store, await first(store));
    await end(store, await working(store));
    assert.deepEqual(await seen(store), NOTHING);
  }),
  law("an overview counts turns by their state, and has the time of the oldest queued input", async (store) => {
    const hello = await first(store);
    await queue(store, "later", { at: NOW + 3 });
    await queue(store, "last", { at: NOW + 5, place: "boundary" });
    await queue(store, "aside", { at: NOW + 1, place: "injected" });
    const lease = await waits(store, "hi", { to: bob });
    await park(store, lease);
    assert.deepEqual(await countsOf(store, NOW), {
      ...NOTHING,
      turns: { queued: 2, running: 1, waiting: 1, interrupted: 0 },
      waits: 1,
      oldestQueuedAt: NOW + 3,
      workers: [{ owner: "ann", turns: 1, jobs: 0 }],
    });
    await answer(store, yes);
    assert.equal((await seen(store)).waits, 0);
    await commit(store, hello);
    await drain(store);
    assert.deepEqual((await seen(store)).turns.queued, 0);
  }),
  law("an overview shows who holds turns and jobs, and for how long at least", async (store) => {
    await first(store);
    await first(store, "hi", { to: bob });
    await working(store);
    await working(store, "other", {}, ben);
    await spawn(store, "idle");
    const { workers, jobs } = await seen(store, NOW + 2);
    assert.equal(jobs, 3);
    assert.deepEqual(
      workers.map(({ owner, turns, jobs }) => [owner, turns, jobs]).sort(),
      [
        [ann, 2, 1],
        [ben, 0, 1],
      ].sort(),
    );
    for (const { forMs = 0 } of workers) assert.ok(forMs > 0 && forMs <= LEASE_MS);
  }),
  law("without a time every lease counts in an overview, and none has an end", async (store) => {
    await first(store);
    await working(store);
    const { turns, workers } = await store.overview(100);
    assert.deepEqual([turns.running, workers], [1, [{ owner: ann, turns: 1, jobs: 1 }]]);
  }),
  law("a lapsed lease makes its turn interrupted, and its holder no worker", async (store) => {
    await first(store);
    await working(store);
    assert.deepEqual(await countsOf(store, LAPSED), {
      ...NOTHING,
      turns: { queued: 0, running: 0, waiting: 0, interrupted: 1 },
      jobs: 1,
    });
    await take(store, ben, LAPSED);
    const { turns, workers } = await countsOf(store, LAPSED);
    assert.deepEqual([turns.running, turns.interrupted, workers], [1, 0, [{ owner: "ben", turns: 1, jobs: 0 }]]);
  }),
  law("a released turn is interrupted, and a parked job has no worker", async (store) => {
    await store.release(await first(store));
    await parks(store, await working(store));
    const { turns, jobs, workers } = await seen(store);
    assert.deepEqual([turns.interrupted, jobs, workers], [1, 1, []]);
  }),
  law("the numbers of an overview stop at the given one", async (store) => {
    await first(store);
    for (const words of ["a", "b", "c"]) await queue(store, words);
    for (const name of ["x", "y", "z"]) await spawn(store, name);
    const { turns, jobs } = await seen(store, NOW, 2);
    assert.deepEqual([turns.queued, turns.running, jobs], [2, 1, 2]);
  }),
];
