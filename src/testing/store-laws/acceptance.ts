import assert from "node:assert/strict";
import {
  alice,
  ann,
  ben,
  bob,
  commit,
  inputId,
  LAPSED,
  NOW,
  newInput,
  newSession,
  opening,
  requireHeld,
  send,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { drain, failsToOpen, first, open, queue, waiting, withdraw } from "./acts.ts";

export const acceptanceLaws: readonly StoreLaw[] = [
  law("an input to an idle session opens its turn in the same write", async (store) => {
    await store.create(newSession(alice));
    const receipt = await send(store, "hello");
    assert.ok(receipt.kind === "opened");
    const { lease, opened } = receipt;
    assert.deepEqual([receipt.inputId, receipt.turnId], [inputId("hello"), turnId("hello")]);
    assert.deepEqual([lease.sessionId, lease.turnId, lease.owner], [alice, turnId("hello"), ann]);
    assert.deepEqual(opened, { ...opening(newInput("hello"), {}, { plugins: {} }), generation: lease.generation });
    assert.deepEqual(await store.journal(turnId("hello"), 0), [opened]);
    assert.deepEqual(await waiting(store), []);
  }),
  law("a lease holds from the time its input was accepted", async (store) => {
    requireHeld(await first(store, "hello", { at: NOW + 7 }));
    assert.equal((await open(store, ben, LAPSED + 6)).kind, "busy");
    assert.equal((await open(store, ben, LAPSED + 7)).kind, "resumed");
  }),
  law("an input for a boundary opens a turn too when the session is idle", async (store) => {
    const lease = await first(store, "hello", { place: "boundary" });
    assert.equal(lease.turnId, turnId("hello"));
  }),
  law("an input to a session with an open turn waits", async (store) => {
    await first(store);
    const receipt = await send(store, "more");
    assert.deepEqual(receipt, { kind: "queued", inputId: inputId("more"), turnId: turnId("more") });
    assert.deepEqual(await waiting(store), ["more"]);
    assert.deepEqual(await store.journal(turnId("more"), 0), []);
  }),
  law("an input waits behind those that wait, though no turn is open", async (store) => {
    const lease = await first(store);
    await queue(store, "second");
    await commit(store, lease);
    await queue(store, "third");
    assert.deepEqual(await drain(store), ["second", "third"]);
  }),
  law("the same key and content is the same input", async (store) => {
    await first(store);
    await queue(store, "more", { key: "k" });
    const again = await store.accept(
      { ...newInput("more", { key: "k" }), id: inputId("copy"), turnId: turnId("copy") },
      ben,
      opening,
      100,
    );
    assert.deepEqual(again, { kind: "known", inputId: inputId("more"), turnId: turnId("more") });
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("the same input sent again without a key is the same input", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal((await send(store, "more")).kind, "known");
    assert.equal((await send(store, "hello")).kind, "known");
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a key with other content is refused, and nothing is kept of it", async (store) => {
    await first(store, "hello", { key: "k" });
    await refused("input.conflict", () => send(store, "other", { key: "k" }));
    assert.deepEqual(await waiting(store), []);
    assert.equal((await send(store, "hello", { key: "k" })).kind, "known");
    assert.equal(await withdraw(store, "other"), undefined);
  }),
  law("a key stays known after its turn has ended", async (store) => {
    await commit(store, await first(store, "hello", { key: "k" }));
    assert.equal((await send(store, "hello", { key: "k" })).kind, "known");
    await refused("input.conflict", () => send(store, "other", { key: "k" }));
    assert.equal((await open(store)).kind, "idle");
  }),
  law("a key is known in its session only", async (store) => {
    await first(store, "hello", { key: "k" });
    const lease = await first(store, "other", { key: "k", to: bob });
    assert.equal(lease.sessionId, bob);
  }),
  law("a full queue refuses an input and keeps nothing of it", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { pendingMax: 1 });
    await refused("input.full", () => send(store, "two", { pendingMax: 1, key: "k" }));
    assert.deepEqual(await waiting(store), ["one"]);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["one"]);
    assert.equal((await send(store, "two", { pendingMax: 1, key: "k" })).kind, "opened");
  }),
  law("a full queue still accepts a repeat of an input that it holds", async (store) => {
    await first(store);
    await queue(store, "one", { key: "k", pendingMax: 1 });
    assert.equal((await send(store, "one", { key: "k", pendingMax: 1 })).kind, "known");
  }),
  law("a session that may hold no waiting inputs still opens turns", async (store) => {
    await store.create(newSession(alice));
    assert.equal((await send(store, "hello", { pendingMax: 0 })).kind, "opened");
    await refused("input.full", () => send(store, "more", { pendingMax: 0 }));
  }),
  law("an input to no session is refused", async (store) => {
    await refused("session.unknown", () => send(store, "hello"));
  }),
  law("an opening that fails leaves nothing behind", async (store) => {
    await store.create(newSession(alice));
    await assert.rejects(async () => store.accept(newInput("hello", { key: "k" }), ann, failsToOpen, 100), /fails/);
    assert.equal((await open(store)).kind, "idle");
    assert.deepEqual(await store.changes(undefined, { max: 10 }), []);
    assert.equal((await send(store, "hello", { key: "k" })).kind, "opened");
  }),
];
