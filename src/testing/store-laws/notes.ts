import assert from "node:assert/strict";
import { asEffectName } from "../../model/ids.ts";
import { bob, commit } from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import { CALL, first, take } from "./acts.ts";

export const noteLaws: readonly StoreLaw[] = [
  law("the first note stands", async (store) => {
    const { turnId } = await first(store);
    assert.equal(await store.note(turnId, CALL, "title"), undefined);
    assert.deepEqual(await store.note(turnId, CALL, "title", { text: "first" }), { text: "first" });
    assert.deepEqual(await store.note(turnId, CALL, "title", { text: "second" }), { text: "first" });
    assert.deepEqual(await store.note(turnId, CALL, "title"), { text: "first" });
  }),
  law("null, false, 0 and an empty text are valid notes", async (store) => {
    const { turnId } = await first(store);
    for (const value of [null, false, 0, ""]) {
      const key = JSON.stringify(value);
      assert.equal(await store.note(turnId, CALL, key, value), value);
      assert.equal(await store.note(turnId, CALL, key, "second"), value);
    }
  }),
  law("a note belongs to its turn, effect and key", async (store) => {
    const one = await first(store);
    const two = await first(store, "hi", { to: bob });
    await store.note(one.turnId, CALL, "title", 1);
    assert.equal(await store.note(one.turnId, CALL, "other"), undefined);
    assert.equal(await store.note(one.turnId, asEffectName("r1.call.1"), "title"), undefined);
    assert.equal(await store.note(two.turnId, CALL, "title"), undefined);
  }),
  law("notes survive a takeover and end with the turn", async (store) => {
    const lease = await first(store);
    await store.note(lease.turnId, CALL, "title", 1);
    const taken = await take(store);
    assert.equal(await store.note(lease.turnId, CALL, "title"), 1);
    await commit(store, taken);
    assert.equal(await store.note(lease.turnId, CALL, "title"), undefined);
    assert.equal(await store.note(lease.turnId, CALL, "title", 2), 2);
    assert.equal(await store.note(lease.turnId, CALL, "title"), undefined);
  }),
  law("an effect is begun for the first time once", async (store) => {
    const one = await first(store);
    const two = await first(store, "hi", { to: bob });
    assert.equal(await store.attempt(one.turnId, CALL), "first");
    assert.equal(await store.attempt(one.turnId, CALL), "again");
    assert.equal(await store.attempt(one.turnId, asEffectName("r1.call.1")), "first");
    assert.equal(await store.attempt(two.turnId, CALL), "first");
  }),
  law("an effect that started before a takeover may have run", async (store) => {
    const lease = await first(store);
    await store.attempt(lease.turnId, CALL);
    await take(store);
    assert.equal(await store.attempt(lease.turnId, CALL), "again");
  }),
  law("nothing of an ended turn is begun for the first time", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    assert.equal(await store.attempt(lease.turnId, CALL), "again");
  }),
];
