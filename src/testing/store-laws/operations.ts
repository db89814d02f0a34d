import assert from "node:assert/strict";
import { asSessionId } from "../../model/ids.ts";
import { alice, begin, bob, commit, committed, ended, newSession, turn } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { append, apply, change, claim, first, notes, queueAppend, stop } from "./acts.ts";

export const operationLaws: readonly StoreLaw[] = [
  law("an operation is found with its receipt, as its own change was answered", async (store) => {
    await store.create(newSession(alice));
    assert.equal(await store.operations.find(alice, "op"), undefined);
    assert.equal(await store.operations.find(bob, "op"), undefined);
    const done = await apply(store, "op", { entries: notes("op", "a"), receipt: { made: ["a", null] } });
    assert.equal("receipt" in done, false);
    const found = { kind: "done", committed: done, receipt: { made: ["a", null] } };
    assert.deepEqual(await store.operations.find(alice, "op"), found);
    const plain = await apply(store, "plain");
    assert.deepEqual(await store.operations.find(alice, "plain"), { kind: "done", committed: plain });
    assert.equal(await store.operations.find(bob, "op"), undefined);
  }),
  law("a repeat of a change may have another receipt and other parts, and keeps the first", async (store) => {
    await store.create(newSession(alice));
    const parts = [{ operation: "part", receipt: 1 }];
    const done = await apply(store, "op", { entries: notes("op", "a"), receipt: null, parts });
    const others = [
      { operation: "part", receipt: 2 },
      { operation: "another", receipt: 2 },
    ];
    assert.deepEqual(await apply(store, "op", { entries: notes("op", "a"), receipt: "new", parts: others }), done);
    assert.deepEqual(await apply(store, "op", { entries: notes("op", "a") }), done);
    assert.deepEqual(await store.operations.find(alice, "op"), { kind: "done", committed: done, receipt: null });
    assert.deepEqual(await store.operations.find(alice, "part"), { kind: "done", receipt: 1 });
    assert.equal(await store.operations.find(alice, "another"), undefined);
  }),
  law("a change of nothing is kept as an operation all the same", async (store) => {
    await store.create(newSession(alice));
    const done = await apply(store, "op", { receipt: "done" });
    assert.deepEqual(await apply(store, "op"), done);
    assert.deepEqual(await store.operations.find(alice, "op"), { kind: "done", committed: done, receipt: "done" });
  }),
  law("an append that waits is found as queued, and as done once it is applied", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note", { receipt: "kept" });
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
    assert.equal(await store.operations.find(bob, "note"), undefined);
    await claim(store, lease);
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
    await commit(store, lease);
    const done = await append(store, "note");
    assert.deepEqual(await store.operations.find(alice, "note"), { kind: "done", committed: done, receipt: "kept" });
  }),
  law("parts of a turn are found once it is committed, and the first receipt of a name stays", async (store) => {
    const lease = await first(store);
    const parts = [
      { operation: "one", receipt: { n: 1 } },
      { operation: "nul \u0000", receipt: null },
    ];
    await store.cancel(lease.turnId, stop("r1"));
    assert.equal((await store.commit(lease, ended(lease, { parts }))).kind, "reopen");
    assert.equal(await store.operations.find(alice, "one"), undefined);
    const done = await commit(store, lease, { parts, cancel: "r1" });
    assert.deepEqual(await committed(store.commit(lease, ended(lease, { cancel: "r1" }))), done);
    assert.deepEqual(await store.operations.find(alice, "one"), { kind: "done", receipt: { n: 1 } });
    assert.deepEqual(await store.operations.find(alice, "nul \u0000"), { kind: "done", receipt: null });
    assert.equal(await store.operations.find(bob, "one"), undefined);
    await turn(store, "more", {
      parts: [
        { operation: "one", receipt: 2 },
        { operation: "two", receipt: 2 },
      ],
    });
    assert.deepEqual(await store.operations.find(alice, "one"), { kind: "done", receipt: { n: 1 } });
    assert.deepEqual(await store.operations.find(alice, "two"), { kind: "done", receipt: 2 });
  }),
  law("the first note of an operation stands, for its key alone", async (store) => {
    await store.create(newSession(alice));
    await store.create(newSession(bob));
    assert.equal(await store.operations.note(alice, "op", "k"), undefined);
    assert.deepEqual(await store.operations.note(alice, "op", "k", { paid: 1 }), { paid: 1 });
    assert.deepEqual(await store.operations.note(alice, "op", "k", { paid: 2 }), { paid: 1 });
    assert.deepEqual(await store.operations.note(alice, "op", "k"), { paid: 1 });
    assert.equal(await store.operations.note(alice, "op", "", null), null);
    assert.equal(await store.operations.note(alice, "op", "", "later"), null);
    assert.equal(await store.operations.note(alice, "op", "other \u0000"), undefined);
    assert.equal(await store.operations.note(alice, "other", "k"), undefined);
    assert.equal(await store.operations.note(bob, "op", "k"), undefined);
    assert.equal(await store.operations.find(alice, "op"), undefined);
    await refused("session.unknown", () => store.operations.note(asSessionId("nobody"), "op", "k"));
    await refused("session.unknown", () => store.operations.note(asSessionId("nobody"), "op", "k", 1));
  }),
  law(
    "notes go when their operation is applied or part of a turn, those of others stay, and none comes after",
    async (store) => {
      await store.create(newSession(alice));
      for (const key of ["a", "b"]) await store.operations.note(alice, "op", key, key);
      await store.operations.note(alice, "other", "a", "kept");
      const parts = [{ operation: "op", receipt: "its own part" }];
      const lease = await begin(store, "hello");
      assert.equal((await store.apply(change("op"))).kind, "busy");
      assert.equal(await store.operations.note(alice, "op", "a"), "a");
      await commit(store, lease, { parts });
      assert.equal(await store.operations.note(alice, "op", "a"), undefined);
      await apply(store, "op", { receipt: "done" });
      for (const key of ["a", "b"]) assert.equal(await store.operations.note(alice, "op", key), undefined);
      assert.equal(await store.operations.note(alice, "op", "a", "late"), "late");
      assert.equal(await store.operations.note(alice, "op", "a"), undefined);
      assert.equal(await store.operations.note(alice, "other", "a"), "kept");
    },
  ),
  law("notes of an append go when a commit applies it", async (store) => {
    const lease = await first(store);
    await store.operations.note(alice, "note", "k", 1);
    await queueAppend(store, "note");
    assert.equal(await store.operations.note(alice, "note", "k"), 1);
    await commit(store, lease);
    assert.equal(await store.operations.note(alice, "note", "k"), undefined);
  }),
  law("operations are deleted with their session, and forks do not get them", async (store) => {
    await store.create(newSession(alice));
    await store.operations.note(alice, "op", "k", 1);
    await turn(store, "hello", { parts: [{ operation: "part", receipt: 1 }] });
    await store.fork(alice, newSession(bob));
    assert.equal(await store.operations.note(bob, "op", "k"), undefined);
    assert.equal(await store.operations.find(bob, "part"), undefined);
    await store.delete(alice);
    assert.equal(await store.operations.find(alice, "part"), undefined);
    await refused("session.unknown", () => store.operations.note(alice, "op", "k"));
  }),
];
