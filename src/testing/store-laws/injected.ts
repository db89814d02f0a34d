// An injected input opens no turn and waits for the next one.

import assert from "node:assert/strict";
import {
  alice,
  ann,
  begin,
  ben,
  commit,
  inputId,
  LAPSED,
  NOW,
  newInput,
  newSession,
  type Sending,
  send,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  BOUNDARY,
  CALL,
  claim,
  claimAll,
  first,
  INJECT,
  open,
  queue,
  recordingOpening,
  said,
  stop,
  take,
  waiting,
  withdraw,
  work,
} from "./acts.ts";

export const injectedLaws: readonly StoreLaw[] = [
  law("an injected input waits on an idle session, and opens no turn there by whatever way", async (store) => {
    await store.create(newSession(alice));
    const receipt = { kind: "queued", inputId: inputId("psst"), turnId: turnId("psst") };
    assert.deepEqual(await send(store, "psst", INJECT), receipt);
    assert.equal((await store.load(alice))?.openTurn, undefined);
    assert.deepEqual(await open(store), { kind: "idle" });
    assert.deepEqual(await work(store, LAPSED, 10), []);
    const [listed] = await store.inputs.list(alice);
    assert.deepEqual(listed, { ...newInput("psst", INJECT), seq: listed?.seq });
    assert.equal((await store.find(turnId("psst")))?.state, "waiting");
  }),
  law("an input that comes after injected ones still opens its turn in the same write", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", INJECT);
    await queue(store, "hush", { ...INJECT, pendingMax: 2 });
    const receipt = await send(store, "hello", { pendingMax: 2 });
    assert.equal(receipt.kind, "opened");
    assert.deepEqual(await waiting(store), ["psst", "hush"]);
  }),
  law("an injected input is passed over when the next turn opens, however old it is", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "next");
    await commit(store, lease);
    assert.deepEqual(await work(store, LAPSED, 10), [alice]);
    assert.equal((await take(store)).turnId, turnId("next"));
    assert.deepEqual(await waiting(store), ["psst"]);
  }),
  law("a session whose last turn left only injected inputs has no work to take", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "more");
    await commit(store, lease);
    await withdraw(store, "more");
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.deepEqual(await open(store), { kind: "idle" });
  }),
  law("a turn opens with the information whether injected inputs wait", async (store) => {
    const { opening, told } = recordingOpening();
    await store.create(newSession(alice));
    const accept = async (words: string, sending: Sending = {}) =>
      store.accept(newInput(words, sending), ann, opening, 100);
    const one = await accept("one");
    assert.ok(one.kind === "opened");
    await accept("two");
    await accept("psst", INJECT);
    await commit(store, one.lease);
    const two = await store.open(alice, ben, LAPSED, opening);
    assert.ok(two.kind === "opened");
    assert.deepEqual(await claim(store, two.lease), ["psst"]);
    await commit(store, two.lease, { inputs: [inputId("psst")] });
    const three = await accept("three");
    assert.ok(three.kind === "opened");
    await commit(store, three.lease);
    await accept("hush", INJECT);
    assert.equal((await accept("four")).kind, "opened");
    assert.deepEqual(told(), [
      { plugins: {} },
      { plugins: {}, hasInjected: true },
      { plugins: {} },
      { plugins: {}, hasInjected: true },
    ]);
  }),
  law("any boundary takes injected inputs among those meant for it, oldest first", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "psst", INJECT);
    await queue(store, "own turn");
    await queue(store, "two", { place: "boundary" });
    await queue(store, "hush", INJECT);
    assert.deepEqual(await claim(store, lease, BOUNDARY, 2), ["one", "psst"]);
    assert.deepEqual(await claim(store, lease, BOUNDARY, 2), ["one", "psst"]);
    assert.deepEqual(await claim(store, lease, CALL), ["two", "hush"]);
  }),
  law("a turn that takes others' inputs takes injected ones in their order", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "psst", INJECT);
    await queue(store, "two");
    assert.deepEqual(await claimAll(store, lease), ["one", "psst", "two"]);
  }),
  law("an injected input that a turn claimed and did not settle waits again, and still opens none", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    await queue(store, "hush", INJECT);
    assert.deepEqual(await claim(store, lease), ["psst", "hush"]);
    assert.equal((await store.find(turnId("psst")))?.state, "taken");
    await commit(store, lease, { inputs: [inputId("hush")] });
    assert.deepEqual(await waiting(store), ["psst"]);
    assert.equal((await store.find(turnId("hush")))?.state, "ended");
    assert.equal((await store.terminal(turnId("hush")))?.turnId, lease.turnId);
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.deepEqual(await claim(store, await begin(store, "more")), ["psst"]);
  }),
  law("an injected input counts in the queue and is known by its key, also when the session is idle", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", { ...INJECT, key: "k", pendingMax: 1 });
    assert.equal((await send(store, "psst", { ...INJECT, key: "k", pendingMax: 1 })).kind, "known");
    assert.equal(await store.inputs.holds(alice, "k"), true);
    await refused("input.conflict", () => send(store, "other", { ...INJECT, key: "k" }));
    await refused("input.full", () => send(store, "hush", { ...INJECT, pendingMax: 1 }));
    const lease = await begin(store, "hello");
    await refused("input.full", () => send(store, "more", { pendingMax: 1 }));
    await commit(store, lease);
    assert.deepEqual(await waiting(store), ["psst"]);
  }),
  law("an injected input can be withdrawn, and its key is free then", async (store) => {
    await store.create(newSession(alice));
    await queue(store, "psst", { ...INJECT, key: "k" });
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "k" }), [
      { inputId: inputId("psst"), answer: "withdrawn" },
    ]);
    await queue(store, "again", { ...INJECT, key: "k" });
    assert.deepEqual(await claim(store, await begin(store, "hello")), ["again"]);
    assert.equal(await withdraw(store, "again"), "taken");
  }),
  law("an injected input is not a turn that can be cancelled, and stays for the turn that runs", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", INJECT);
    assert.deepEqual(await store.cancel(turnId("psst"), stop("r1")), { kind: "unknown" });
    assert.deepEqual(await claim(store, lease), ["psst"]);
    assert.deepEqual(await store.cancel(turnId("psst"), stop("r1")), { kind: "unknown" });
    assert.equal((await store.renew(lease, NOW)).cancel, undefined);
  }),
  law("the fact of an injected input names no turn, before and after it is settled", async (store) => {
    const lease = await first(store);
    await queue(store, "psst", { ...INJECT, key: "k" });
    const input = { inputId: inputId("psst"), key: "k", at: NOW, text: "psst" };
    const accepted = { sessionId: alice, kind: "accepted", ...input } as const;
    const told = async () => {
      const { cursor: _, ...fact } = (await store.changes(undefined, { session: alice, max: 10 }))[1]!;
      return fact;
    };
    assert.deepEqual(await told(), accepted);
    await claim(store, lease);
    await commit(store, lease, { says: [said("psst")], inputs: [inputId("psst")] });
    assert.deepEqual(await told(), accepted);
  }),
];
