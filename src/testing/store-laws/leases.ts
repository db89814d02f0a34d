import assert from "node:assert/strict";
import { asSessionId, type SessionId } from "../../model/ids.ts";
import { LEASE_MS, type OpenAnswer, type Owner } from "../../stores/store.ts";
import {
  alice,
  ann,
  begin,
  ben,
  bob,
  commit,
  ended,
  inputId,
  LAPSED,
  NOW,
  newSession,
  newWait,
  requireHeld,
  SKEWED,
  slept,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  answer,
  BOUNDARY,
  claim,
  first,
  NEVER,
  open,
  queue,
  queueAppend,
  take,
  WAIT,
  waiting,
  withdraw,
  yes,
} from "./acts.ts";

/** Asserts that this owner holds the session, for at most this time. */
function requireBusy(answer: OpenAnswer, holder: Owner, mostMs: number): void {
  assert.ok(answer.kind === "busy");
  assert.deepEqual(answer.holder, holder);
  assert.ok(answer.forMs > 0 && answer.forMs <= mostMs, `It is held for ${answer.forMs} ms.`);
}

const holdingLaws = [
  law("a live lease keeps everyone out, its owner too", async (store) => {
    await first(store);
    for (const by of [ben, ann]) {
      requireBusy(await open(store, by, NOW + 1), ann, LEASE_MS - 1);
      requireBusy(await open(store, by, LAPSED - 1), ann, 1);
    }
  }),
  law("a lapsed lease is taken over with the next generation and the whole journal", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a"), slept("b")], NOW);
    const journal = await store.journal(lease.turnId, 0);
    const answer = await open(store, ben, LAPSED);
    assert.ok(answer.kind === "resumed");
    const { sessionId, turnId } = lease;
    const generation = lease.generation + 1;
    assert.deepEqual(answer.lease, {
      sessionId,
      turnId,
      generation,
      owner: ben,
      heldMs: answer.lease.heldMs,
      revision: 0,
    });
    assert.deepEqual(answer.journal, journal);
    assert.equal(journal.length, 3);
  }),
  law("a takeover leaves waiting inputs where they are", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal((await take(store)).turnId, turnId("hello"));
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a released turn is resumed at once", async (store) => {
    const lease = await first(store);
    await store.release(lease);
    const answer = await open(store, ben, NOW + 1);
    assert.ok(answer.kind === "resumed");
    assert.equal(answer.lease.generation, lease.generation + 1);
  }),
  law("releasing what another has taken over does nothing", async (store) => {
    const lease = await first(store);
    await take(store);
    await store.release(lease);
    requireBusy(await open(store, ann, LAPSED + 1), ben, LEASE_MS - 1);
  }),
  law("releasing a lease of a turn that has ended does nothing", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    await begin(store, "more");
    await store.release(lease);
    assert.equal((await open(store, ben, LAPSED - 1)).kind, "busy");
  }),
  law("renewing holds the session for longer", async (store) => {
    const lease = await first(store);
    requireHeld(await store.renew(lease, NOW + 10));
    assert.equal((await open(store, ben, LAPSED)).kind, "busy");
    assert.equal((await open(store, ben, LAPSED + 10)).kind, "resumed");
  }),
  law("a renewal that comes late takes nothing back", async (store) => {
    const lease = await first(store);
    await store.renew(lease, NOW + 50);
    await store.renew(lease, NOW + 10);
    assert.equal((await open(store, ben, LAPSED + 49)).kind, "busy");
    await store.append(lease, 1, [slept("a")], NOW + 90);
    await store.renew(lease, NOW + 60);
    assert.equal((await open(store, ben, LAPSED + 89)).kind, "busy");
  }),
  law("any append renews", async (store) => {
    const lease = await first(store);
    requireHeld(await store.append(lease, 1, [slept("a")], NOW + 10));
    assert.equal((await open(store, ben, LAPSED)).kind, "busy");
  }),
  law("with any clock of a caller, its lease holds for a while, and for the time of a lease at most", async (store) => {
    for (const [nth, now] of SKEWED.entries()) {
      const to = asSessionId(`session ${nth}`);
      const lease = await first(store, `hello ${nth}`, { to, at: now });
      requireHeld(lease);
      for (const [before, then] of SKEWED.entries()) {
        requireHeld(await store.append(lease, before + 1, [slept(`a${before}`)], then));
        requireHeld(await store.renew(lease, then));
      }
      await store.release(lease);
      requireHeld(await take(store, ben, now, to));
    }
  }),
  law("a store does not say that nothing waits for a boundary while something does, or was claimed", async (store) => {
    const waits: readonly ((name: string, to: SessionId) => unknown)[] = [
      (name, to) => queue(store, name, { to, place: "boundary" }),
      (name, to) => queue(store, name, { to, place: "injected" }),
      (name, to) => queueAppend(store, name, { sessionId: to }),
    ];
    for (const [nth, come] of waits.entries()) {
      const to = asSessionId(`session ${nth}`);
      const lease = await first(store, `hello ${nth}`, { to });
      await store.append(lease, 1, [slept("a")], NOW);
      await come(`more ${nth}`, to);
      assert.notEqual((await store.renew(lease, NOW)).pending, false);
      assert.notEqual((await store.append(lease, 2, [slept("b")], NOW)).pending, false);
      assert.equal((await store.inputs.claim(lease, BOUNDARY, 1)).length, 1);
      assert.notEqual((await store.renew(lease, NOW)).pending, false);
      assert.notEqual((await store.append(lease, 3, [slept("c")], NOW)).pending, false);
      // The worker that continues the turn finds the same claim.
      await store.release(lease);
      const taken = await take(store, ben, NOW, to);
      assert.notEqual((await store.append(taken, 4, [slept("d")], NOW)).pending, false);
    }
  }),
  law("a lease that lapsed unnoticed still writes until someone takes it over", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], LAPSED + 5);
    assert.equal((await open(store, ben, LAPSED + 6)).kind, "busy");
    assert.equal((await commit(store, lease)).revision, 1);
  }),
  law("after a takeover the old holder cannot append", async (store) => {
    const lease = await first(store);
    await take(store);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], LAPSED, [newWait(WAIT)]));
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
    assert.equal(await answer(store, yes), "unknown");
  }),
  law("after a takeover the old holder cannot repeat an append either", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [slept("a")], NOW);
    await take(store);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], LAPSED));
  }),
  law("after a takeover the old holder cannot renew", async (store) => {
    const lease = await first(store);
    await take(store);
    await refused("lease.lost", () => store.renew(lease, LAPSED + 9));
    requireBusy(await open(store, ann, LAPSED + 9), ben, LEASE_MS - 9);
  }),
  law("after a takeover the old holder cannot claim", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { place: "boundary" });
    await take(store);
    await refused("lease.lost", () => claim(store, lease));
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("after a takeover the old holder cannot commit", async (store) => {
    const lease = await first(store);
    const before = await store.load(alice);
    const taken = await take(store);
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    assert.deepEqual(await store.load(alice), before);
    assert.equal(await store.terminal(lease.turnId), undefined);
    assert.equal((await commit(store, taken)).revision, 1);
  }),
  law("every lease on a session has a higher generation than those before", async (store) => {
    const one = await first(store, "one");
    const two = await take(store);
    await commit(store, two);
    const three = await begin(store, "three");
    assert.equal(two.generation, one.generation + 1);
    assert.ok(three.generation > two.generation);
  }),
  law("the lease ends with its turn", async (store) => {
    const lease = await first(store);
    await commit(store, lease);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], NOW));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => claim(store, lease));
  }),
];

const foundLaws = [
  law("a session has the id of its open turn, whichever process holds it", async (store) => {
    const openTurn = async (session = alice) => (await store.load(session))?.openTurn;
    const lease = await first(store);
    await store.create(newSession(bob));
    assert.equal(await openTurn(), lease.turnId);
    assert.deepEqual(
      (await store.list()).map((session) => session.openTurn),
      [lease.turnId, undefined],
    );
    assert.equal((await store.create(newSession(alice))).openTurn, lease.turnId);
    assert.equal("openTurn" in (await store.fork(alice, newSession(asSessionId("carol")))), false);
    await queue(store, "more");
    await store.release(lease);
    assert.equal(await openTurn(), lease.turnId);
    const taken = await take(store);
    assert.equal(await openTurn(), lease.turnId);
    await commit(store, taken);
    assert.equal("openTurn" in (await store.load(alice))!, false);
    await take(store);
    assert.equal(await openTurn(), turnId("more"));
  }),
  law("what became of a turn is found by its id", async (store) => {
    const found = async (words: string) => (await store.find(turnId(words)))?.state;
    const lease = await first(store);
    assert.deepEqual(await store.find(lease.turnId), { sessionId: alice, state: "open" });
    for (const words of ["one", "two"]) await queue(store, words, { place: "boundary" });
    await queue(store, "three");
    assert.deepEqual([await found("one"), await found("three")], ["waiting", "waiting"]);
    await withdraw(store, "three");
    await claim(store, lease);
    assert.deepEqual([await found("one"), await found("three")], ["taken", "withdrawn"]);
    await store.release(lease);
    const taken = await take(store);
    assert.deepEqual([await found("hello"), await found("two")], ["open", "taken"]);
    await commit(store, taken, { inputs: [inputId("one")] });
    assert.deepEqual([await found("hello"), await found("one"), await found("two")], ["ended", "ended", "waiting"]);
    await take(store);
    assert.deepEqual([await found("two"), await found("three")], ["open", "withdrawn"]);
  }),
  law("a turn that is not there, or whose session was deleted, is not found", async (store) => {
    await first(store);
    assert.equal(await store.find(NEVER), undefined);
    await store.delete(alice);
    assert.equal(await store.find(turnId("hello")), undefined);
  }),
];

export const leaseLaws: readonly StoreLaw[] = [...holdingLaws, ...foundLaws];
