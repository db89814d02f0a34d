import assert from "node:assert/strict";
import { waitIdOf } from "../../model/wait.ts";
import type { Lease, NewWait, Store } from "../../stores/store.ts";
import { alice, ben, bob, commit, inputId, NOW, newWait, slept, turnId } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import {
  answer,
  claim,
  deferred,
  factKinds,
  first,
  late,
  listed,
  OTHER,
  open,
  park,
  parked,
  queue,
  resolvedOf,
  resume,
  take,
  WAIT,
  withdraw,
  work,
  yes,
} from "./acts.ts";

/** Makes a wait for turns of bob. */
const forTurns = (need: "any" | "all", ...words: readonly string[]): NewWait =>
  newWait(WAIT, {
    about: { kind: "turns", need, turns: words.map((each) => ({ sessionId: bob, turnId: turnId(each) })) },
  });
const OVER = [{ key: WAIT, answer: { kind: "value", value: null } }] as const;

/** Parks alice's turn until those of bob have ended. */
async function parksFor(store: Store, wait: NewWait): Promise<Lease> {
  const lease = await first(store);
  await store.append(lease, 1, [deferred()], NOW, [wait]);
  await park(store, lease);
  return lease;
}

export const waitedTurnLaws: readonly StoreLaw[] = [
  law("a wait for turns is neither a fact nor a question", async (store) => {
    await first(store, "one", { to: bob });
    const lease = await parksFor(store, forTurns("all", "one"));
    assert.deepEqual([await listed(store), await factKinds(store)], [[], ["accepted", "accepted"]]);
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    assert.deepEqual(await work(store), []);
    assert.equal(await answer(store, late), "accepted");
    assert.deepEqual(await factKinds(store), ["accepted", "accepted"]);
    assert.deepEqual(await work(store), [alice]);
    assert.deepEqual(await resolvedOf(store, await resume(store)), [{ key: WAIT, answer: late }]);
    assert.equal(await answer(store, late), "already-resolved");
    assert.equal((await store.find(lease.turnId))?.state, "open");
  }),
  law("a turn is woken when the turn that it waits for has ended", async (store) => {
    const child = await first(store, "one", { to: bob });
    await parksFor(store, forTurns("all", "one"));
    assert.equal((await open(store, ben, NOW)).kind, "parked");
    await commit(store, child);
    assert.deepEqual(await work(store), [alice]);
    assert.equal(await answer(store, late), "already-resolved");
    const lease = await resume(store);
    assert.deepEqual(await resolvedOf(store, lease), OVER);
    await park(store, lease, { waits: [] });
    assert.deepEqual(await work(store), []);
  }),
  law("a turn that waits for all is woken by the last, and one that waits for any by the first", async (store) => {
    const child = await first(store, "one", { to: bob });
    await queue(store, "two", { to: bob });
    const lease = await first(store);
    const any = { ...forTurns("any", "one", "two"), key: OTHER };
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one", "two"), any]);
    assert.equal(await resolvedOf(store, lease), undefined);
    await commit(store, child);
    assert.deepEqual(await resolvedOf(store, lease), [{ ...OVER[0], key: OTHER }]);
    await park(store, lease, { waits: [WAIT] });
    assert.deepEqual(await work(store), [bob]);
    await commit(store, await take(store, ben, NOW, bob));
    assert.deepEqual(await work(store), [alice]);
    assert.deepEqual(await resolvedOf(store, await resume(store)), [OVER[0], { ...OVER[0], key: OTHER }]);
  }),
  law("a turn that ended first keeps the one that waits for it from being parked", async (store) => {
    await commit(store, await first(store, "one", { to: bob }));
    const lease = await first(store);
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one")]);
    const came = await store.park(lease, parked(lease), NOW);
    assert.ok(came.kind === "mail");
    assert.deepEqual(came.mail.resolved, OVER);
  }),
  law("a turn whose input was withdrawn, or settled by another, has ended", async (store) => {
    const child = await first(store, "one", { to: bob });
    await queue(store, "two", { to: bob });
    await queue(store, "three", { to: bob, place: "boundary" });
    await parksFor(store, forTurns("all", "two", "three"));
    await withdraw(store, "two", bob);
    assert.deepEqual(await claim(store, child), ["three"]);
    assert.deepEqual(await work(store), []);
    await commit(store, child, { inputs: [inputId("three")] });
    assert.deepEqual(await work(store), [alice]);
  }),
  law("an unknown turn counts as over, and so does one of a deleted session", async (store) => {
    const lease = await first(store);
    await first(store, "one", { to: bob });
    await store.append(lease, 1, [deferred()], NOW, [{ ...forTurns("any", "never"), key: OTHER }]);
    assert.deepEqual(await resolvedOf(store, lease), [{ ...OVER[0], key: OTHER }]);
    await store.append(lease, 2, [slept("a")], NOW, [forTurns("all", "one")]);
    await park(store, lease);
    assert.deepEqual(await work(store), []);
    await store.delete(bob);
    assert.deepEqual(await work(store), [alice]);
    await resume(store);
  }),
  law("answers come before ended turns in the mail", async (store) => {
    await commit(store, await first(store, "one", { to: bob }));
    const lease = await first(store);
    await store.append(lease, 1, [deferred()], NOW, [forTurns("all", "one"), newWait(OTHER)]);
    await answer(store, yes, OTHER);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: yes }, ...OVER]);
  }),
  law("a wait for turns is gone when its turn ends", async (store) => {
    await first(store, "one", { to: bob });
    await parksFor(store, forTurns("all", "one"));
    await commit(store, await resume(store, NOW + 10));
    assert.equal(await answer(store, late), "unknown");
    assert.deepEqual(await factKinds(store, { session: alice }), ["accepted", "committed"]);
  }),
];
