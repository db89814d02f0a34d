import assert from "node:assert/strict";
import { asSessionId } from "../../model/ids.ts";
import { addUsage } from "../../model/usage.ts";
import { alice, bob, commit, newSession, send, spent, turn, usage } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { apply, first, take } from "./acts.ts";

export const usageLaws: readonly StoreLaw[] = [
  law("the usage of a session is the sum of its turns", async (store) => {
    await store.create(newSession(alice));
    const spent = { input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 5, unknownCalls: 6 };
    await turn(store, "one", { usage: spent });
    await turn(store, "two", { usage: usage(7) });
    const session = await store.load(alice);
    assert.deepEqual(session?.usage, addUsage(spent, usage(7)));
    assert.deepEqual([session?.turns, session?.revision], [2, 2]);
  }),
  law("estimated usage is kept apart from the reported one, in the session and in its ledger", async (store) => {
    await store.create(newSession(alice));
    const guessed = { ...usage(7), unknownCalls: 1, estimatedInput: 20, estimatedOutput: 3 };
    const row = { source: "turn", model: "law/model", calls: 1 };
    await turn(store, "one", { usage: guessed, spent: [{ ...row, usage: guessed }] });
    await turn(store, "two", { usage: usage(1), spent: [{ ...row, usage: usage(1) }] });
    await turn(store, "three", { usage: guessed, spent: [{ ...row, usage: guessed }] });
    const sum = addUsage(addUsage(guessed, usage(1)), guessed);
    assert.deepEqual([sum.estimatedInput, sum.estimatedOutput, sum.input], [40, 6, 15]);
    const session = await store.load(alice);
    assert.deepEqual([session?.usage, session?.ledger], [sum, [{ ...row, usage: sum, calls: 3 }]]);
    assert.deepEqual(await store.booked(alice), [{ sessionId: alice, ...row, usage: sum, calls: 3 }]);
  }),
  law("a ledger has its rows in the order in which they first came, of changes and turns alike", async (store) => {
    const lease = await first(store, "one");
    await send(store, "two");
    await commit(store, lease);
    await apply(store, "op", { spent: [spent("z", 1)] });
    // The turn was accepted before the change and commits right after it: there is no fact between the two.
    await commit(store, await take(store), { spent: [spent("a", 2)] });
    assert.deepEqual(
      (await store.load(alice))?.ledger.map(({ source }) => source),
      ["z", "a"],
    );
  }),
  law("the spending of a tree is listed by session, source and model", async (store) => {
    const carol = asSessionId("carol");
    await store.create(newSession(bob));
    await store.create({ ...newSession(alice), parentId: bob });
    await store.create({ ...newSession(carol), parentId: alice });
    await store.fork(bob, newSession(asSessionId("dave")));
    assert.deepEqual(await store.booked(bob), []);
    await turn(store, "one", { spent: [spent("turn", 1), spent("label", 2)] }, { to: carol });
    await turn(store, "two", { spent: [spent("turn", 4)] }, { to: bob });
    await turn(store, "three", { spent: [spent("turn", 8)] }, { to: bob });
    await apply(store, "op", { spent: [spent("label", 16)] });
    await apply(store, "elsewhere", { sessionId: asSessionId("dave"), spent: [spent("turn", 32)] });
    assert.deepEqual(await store.booked(bob), [
      { sessionId: alice, ...spent("label", 16) },
      { sessionId: bob, ...spent("turn", 12), calls: 2 },
      { sessionId: carol, ...spent("turn", 1) },
      { sessionId: carol, ...spent("label", 2) },
    ]);
    assert.deepEqual(
      (await store.booked(alice)).map(({ sessionId }) => sessionId),
      [alice, carol, carol],
    );
    assert.deepEqual(await store.booked(asSessionId("nobody")), []);
  }),
];
