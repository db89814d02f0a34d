import assert from "node:assert/strict";
import { asEffectName } from "../../model/ids.ts";
import { commit, inputId, NOW, newInput, stopped, turnId } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { BOUNDARY, claim, claimAll, drain, first, open, queue, stop, take, waiting, withdraw } from "./acts.ts";

export const claimLaws: readonly StoreLaw[] = [
  law("a boundary is given the inputs meant for one, whole and oldest first", async (store) => {
    const lease = await first(store);
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    const [one, two, ...rest] = await store.inputs.claim(lease, BOUNDARY, 2);
    assert.ok(one && two && one.seq < two.seq);
    assert.deepEqual(one, { ...newInput("one", { place: "boundary" }), seq: one.seq });
    assert.equal(two.id, inputId("two"));
    assert.deepEqual(rest, []);
    assert.deepEqual(await waiting(store), ["three"]);
  }),
  law("a boundary is never given an input that asked for its own turn", async (store) => {
    const lease = await first(store);
    await queue(store, "own turn");
    assert.deepEqual(await claim(store, lease), []);
    await queue(store, "aside", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["aside"]);
    assert.deepEqual(await waiting(store), ["own turn"]);
  }),
  law("the same boundary is given the same inputs again", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["one"]);
    await queue(store, "two", { place: "boundary" });
    assert.deepEqual(await claim(store, lease), ["one"]);
    assert.deepEqual(await claim(store, lease, asEffectName("r2.boundary")), ["two"]);
  }),
  law("the same boundary is given the same inputs after a takeover", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await queue(store, "two", { place: "boundary" });
    assert.deepEqual(await claim(store, await take(store)), ["one"]);
  }),
  law("a settled claim is never run again", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease, { inputs: [inputId("hello"), inputId("one")] });
    assert.deepEqual(await waiting(store), []);
    assert.equal((await open(store)).kind, "idle");
  }),
  law("the turn of a settled claim ended as the turn that took it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease, { inputs: [inputId("one")], outcome: stopped("bye") });
    assert.deepEqual(await store.terminal(turnId("one")), await store.terminal(lease.turnId));
    const late = await store.cancel(turnId("one"), stop("r1"));
    assert.deepEqual(late, { kind: "already-completed", outcome: stopped("bye") });
  }),
  law("claims that the commit does not settle wait again, in their old order", async (store) => {
    const lease = await first(store);
    await queue(store, "zero");
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    await queue(store, "four");
    await claim(store, lease, BOUNDARY, 2);
    await claim(store, lease, asEffectName("r2.boundary"), 1);
    await queue(store, "five", { place: "boundary" });
    await commit(store, lease, { inputs: [inputId("two")] });
    assert.deepEqual(await waiting(store), ["zero", "one", "three", "four", "five"]);
    assert.deepEqual(await drain(store), ["zero", "one", "three", "four", "five"]);
  }),
  law("a claim that was given back can be claimed, withdrawn and cancelled like any other", async (store) => {
    const lease = await first(store);
    for (const words of ["one", "two", "three"]) await queue(store, words, { place: "boundary" });
    await claim(store, lease);
    await commit(store, lease);
    const next = await take(store);
    assert.equal(next.turnId, turnId("one"));
    assert.equal(await withdraw(store, "two"), "withdrawn");
    assert.deepEqual(await claim(store, next), ["three"]);
    assert.equal((await store.cancel(turnId("three"), stop("r1"))).kind, "requested");
  }),
  law("an input that was cancelled while it waited is claimed by no other turn, and opens its own", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two", { place: "boundary" });
    await store.cancel(turnId("one"), stop("r1"));
    assert.deepEqual(await claim(store, lease), ["two"]);
    assert.deepEqual(await waiting(store), ["one"]);
    assert.deepEqual(await claim(store, lease, asEffectName("r2.boundary")), []);
    await commit(store, lease, { inputs: [inputId("two")] });
    const own = await take(store);
    assert.equal(own.turnId, turnId("one"));
    assert.deepEqual((await store.renew(own, NOW)).cancel, stop("r1"));
  }),
  law("a boundary that takes turns passes over one that was cancelled, whatever that wants", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { wants: { output: { type: "object" } } });
    await queue(store, "two");
    await queue(store, "three", { place: "boundary" });
    await queue(store, "four");
    await store.cancel(turnId("one"), stop("r1"));
    await store.cancel(turnId("three"), stop("r2"));
    assert.deepEqual(await claimAll(store, lease, BOUNDARY, 2), ["two", "four"]);
    assert.deepEqual(await claimAll(store, lease, asEffectName("r2.boundary")), []);
    assert.deepEqual(await waiting(store), ["one", "three"]);
    await commit(store, lease, { inputs: [inputId("two"), inputId("four")] });
    assert.deepEqual((await take(store)).turnId, turnId("one"));
  }),
  law("a cancel of an input that was claimed goes to the turn that has it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await claim(store, lease);
    assert.equal((await store.cancel(turnId("one"), stop("r1"))).kind, "requested");
    assert.equal((await store.cancel(lease.turnId, stop("r2"))).kind, "already-requested");
    assert.deepEqual((await store.renew(lease, NOW)).cancel, stop("r1"));
    // This commit does not list the claimed input, so the input waits again.
    await commit(store, lease, { cancel: "r1" });
    const next = await take(store);
    assert.equal(next.turnId, turnId("one"));
    assert.deepEqual((await store.renew(next, NOW)).cancel, stop("r1"));
  }),
  law("a commit settles only what its own turn has claimed", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await commit(store, lease, { inputs: [inputId("one")] });
    assert.deepEqual(await drain(store), ["one"]);
  }),
  law("a withdrawn input is not claimed", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two", { place: "boundary" });
    await withdraw(store, "one");
    assert.deepEqual(await claim(store, lease), ["two"]);
  }),
  law("a boundary that takes turns is given what waits for one too, oldest first over both kinds", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "two", { place: "boundary" });
    await queue(store, "three", { key: "k" });
    await queue(store, "four");
    const [one, two, three, ...rest] = await store.inputs.claim(lease, BOUNDARY, 3, true);
    assert.ok(one && two && three);
    assert.deepEqual(one, { ...newInput("one"), seq: one.seq });
    assert.deepEqual(two, { ...newInput("two", { place: "boundary" }), seq: two.seq });
    assert.deepEqual(three, { ...newInput("three", { key: "k" }), seq: three.seq });
    assert.deepEqual(rest, []);
    assert.deepEqual(await waiting(store), ["four"]);
    assert.equal(await withdraw(store, "one"), "taken");
  }),
  law("a boundary that takes turns stops before an input that wants something of its turn", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "wants", { wants: { output: { type: "object" } } });
    await queue(store, "aside", { place: "boundary" });
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one"]);
    assert.deepEqual(await claimAll(store, lease, asEffectName("r2.boundary")), []);
    assert.deepEqual(await claim(store, lease, asEffectName("r3.boundary")), ["aside"]);
    await commit(store, lease, { inputs: [inputId("one"), inputId("aside")] });
    const next = await take(store);
    assert.equal(next.turnId, turnId("wants"));
    assert.deepEqual(await claimAll(store, next), ["two"]);
  }),
  law("a boundary that took turns is given the same again, after a takeover and however it asks", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    assert.deepEqual(await claimAll(store, lease, BOUNDARY, Infinity), ["one"]);
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one"]);
    assert.deepEqual(await claim(store, lease), ["one"]);
    assert.deepEqual(await claimAll(store, await take(store)), ["one"]);
    await refused("lease.lost", () => claimAll(store, lease, asEffectName("r2.boundary")));
    assert.deepEqual(await waiting(store), ["two"]);
  }),
  law(
    "what a boundary took of turns ends with the turn that settles it, and what it does not waits again",
    async (store) => {
      const lease = await first(store);
      await queue(store, "one");
      await queue(store, "two", { place: "boundary" });
      await queue(store, "three");
      await claimAll(store, lease);
      await queue(store, "four");
      await commit(store, lease, { inputs: [inputId("three")], outcome: stopped("bye") });
      assert.deepEqual(await store.terminal(turnId("three")), await store.terminal(lease.turnId));
      assert.equal(await withdraw(store, "three"), "ended");
      assert.deepEqual(await waiting(store), ["one", "two", "four"]);
      const next = await take(store);
      assert.equal(next.turnId, turnId("one"));
      assert.deepEqual(await claim(store, next), ["two"]);
      await commit(store, next, { inputs: [inputId("two")] });
      assert.deepEqual(await drain(store), ["four"]);
    },
  ),
];
