import assert from "node:assert/strict";
import { commit, NOW, newWait, requireHeld, slept } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { answer, first, NEVER, open, WAIT, yes } from "./acts.ts";

export const journalLaws: readonly StoreLaw[] = [
  law("events are read in the order they were appended", async (store) => {
    const lease = await first(store);
    const opened = (await store.journal(lease.turnId, 0))[0];
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await store.append(lease, 3, [slept("c")], NOW);
    assert.deepEqual(await store.journal(lease.turnId, 0), [opened, slept("a"), slept("b"), slept("c")]);
    assert.deepEqual(await store.journal(lease.turnId, 2), [slept("b"), slept("c")]);
    assert.deepEqual(await store.journal(lease.turnId, 4), []);
  }),
  law("the same append again changes nothing", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await store.append(lease, 3, [slept("c")], NOW);
    requireHeld(await store.append(lease, 1, [slept("a"), slept("b")], NOW + 10));
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("b"), slept("c")]);
  }),
  law("an append of no events writes its waits and renews", async (store) => {
    const lease = await first(store);
    requireHeld(await store.append(lease, 0, [], NOW + 10, [newWait(WAIT)]));
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
    assert.equal(await answer(store, yes), "accepted");
  }),
  law("an append that would leave a gap is refused", async (store) => {
    const lease = await first(store);
    await refused("append.conflict", () => store.append(lease, 2, [slept("b")], NOW, [newWait(WAIT)]));
    assert.deepEqual(await store.journal(lease.turnId, 1), []);
    assert.equal(await answer(store, yes), "unknown");
  }),
  law("other content at the same place is refused", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    await refused("append.conflict", () => store.append(lease, 1, [slept("x"), slept("b")], NOW));
    await refused("append.conflict", () => store.append(lease, 2, [slept("b"), slept("c")], NOW));
    await refused("append.conflict", () => store.append(lease, 0, [slept("opened")], NOW));
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("b")]);
  }),
  law("a list is kept as it was given, though its caller changes it later", async (store) => {
    const lease = await first(store);
    const events = [slept("a")];
    await store.append(lease, 1, events, NOW);
    events.push(slept("b"));
    await store.append(lease, 2, [slept("c")], NOW);
    assert.deepEqual(await store.journal(lease.turnId, 1), [slept("a"), slept("c")]);
  }),
  law("a journal that was read does not grow", async (store) => {
    const lease = await first(store);
    const answer = await open(store);
    assert.ok(answer.kind === "resumed");
    await store.append(answer.lease, 1, [slept("a")], NOW);
    assert.equal(answer.journal.length, 1);
    assert.equal((await store.journal(lease.turnId, 0)).length, 2);
  }),
  law("the journal ends with its turn", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], NOW);
    await commit(store, lease);
    assert.deepEqual(await store.journal(lease.turnId, 0), []);
    assert.deepEqual(await store.journal(NEVER, 0), []);
  }),
];
