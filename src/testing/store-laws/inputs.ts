import assert from "node:assert/strict";
import { asSessionId } from "../../model/ids.ts";
import { LEASE_MS } from "../../stores/store.ts";
import {
  alice,
  ann,
  begin,
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
  said,
  send,
  turn,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { claim, drain, failsToOpen, first, open, queue, waiting, withdraw } from "./acts.ts";

export const inputLaws: readonly StoreLaw[] = [
  law("waiting inputs are listed whole, oldest first", async (store) => {
    await first(store);
    await queue(store, "one", { place: "boundary", key: "k" });
    await queue(store, "two");
    const [one, two] = await store.inputs.list(alice);
    assert.ok(one && two && one.seq < two.seq);
    assert.deepEqual(one, { ...newInput("one", { place: "boundary", key: "k" }), seq: one.seq });
    assert.deepEqual(two, { ...newInput("two"), seq: two.seq });
  }),
  law("the oldest waiting input becomes the next turn, whatever its place", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queue(store, "two");
    await commit(store, lease);
    const answer = await open(store);
    assert.ok(answer.kind === "opened");
    assert.equal(answer.lease.turnId, turnId("one"));
    requireHeld(answer.lease);
    assert.equal((await open(store, ann, LAPSED + LEASE_MS - 1)).kind, "busy");
    const { generation } = answer.lease;
    assert.deepEqual(answer.opened, {
      ...opening(newInput("one", { place: "boundary" }), {}, { plugins: {} }),
      generation,
    });
    assert.deepEqual(await store.journal(turnId("one"), 0), [answer.opened]);
    assert.deepEqual(await waiting(store), ["two"]);
  }),
  law("an input stays in the queue when its opening fails", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    await assert.rejects(async () => store.open(alice, ben, NOW, failsToOpen), /fails/);
    assert.deepEqual(await drain(store), ["more"]);
  }),
  law("a session with nothing to do is idle", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await open(store), { kind: "idle" });
    await turn(store, "hello");
    assert.deepEqual(await open(store), { kind: "idle" });
  }),
  law("a session that is not there cannot be opened", async (store) => {
    await refused("session.unknown", () => open(store));
  }),
  law("the queues of sessions are their own", async (store) => {
    await first(store, "hello");
    await first(store, "hi", { to: bob });
    await queue(store, "for alice");
    await queue(store, "for bob", { to: bob });
    assert.deepEqual(await waiting(store, alice), ["for alice"]);
    assert.deepEqual(await waiting(store, bob), ["for bob"]);
  }),
  law("a withdrawn input is never run", async (store) => {
    const lease = await first(store);
    await queue(store, "one");
    await queue(store, "two");
    assert.equal(await withdraw(store, "one"), "withdrawn");
    assert.deepEqual(await waiting(store), ["two"]);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["two"]);
  }),
  law("a key is held from its acceptance on, and no longer once its input is withdrawn", async (store) => {
    await store.create(newSession(alice));
    assert.equal(await store.inputs.holds(alice, "k"), false);
    const lease = await begin(store, "hello", { key: "k" });
    await queue(store, "more", { key: "l" });
    assert.deepEqual([await store.inputs.holds(alice, "k"), await store.inputs.holds(alice, "l")], [true, true]);
    assert.equal(await withdraw(store, "more"), "withdrawn");
    await commit(store, lease);
    assert.deepEqual([await store.inputs.holds(alice, "k"), await store.inputs.holds(alice, "l")], [true, false]);
  }),
  law("withdrawing again answers the same", async (store) => {
    await first(store);
    await queue(store, "more");
    assert.equal(await withdraw(store, "more"), "withdrawn");
    assert.equal(await withdraw(store, "more"), "withdrawn");
  }),
  law("an input that a turn has taken cannot be withdrawn", async (store) => {
    const lease = await first(store);
    assert.equal(await withdraw(store, "hello"), "taken");
    await queue(store, "more", { place: "boundary" });
    await claim(store, lease);
    assert.equal(await withdraw(store, "more"), "taken");
    await commit(store, lease, { inputs: [inputId("more")] });
    assert.equal(await withdraw(store, "hello"), "ended");
    assert.equal(await withdraw(store, "more"), "ended");
  }),
  law("only the session's own inputs can be withdrawn", async (store) => {
    await first(store);
    await queue(store, "more");
    await store.create(newSession(bob));
    assert.equal(await withdraw(store, "more", bob), undefined);
    assert.equal(await withdraw(store, "none"), undefined);
    assert.deepEqual(await waiting(store), ["more"]);
  }),
  law("a withdrawn key is free: with other content, or the same, it is a new input", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { key: "k" });
    await withdraw(store, "more");
    await queue(store, "other", { key: "k" });
    await refused("input.conflict", () => send(store, "third", { key: "k" }));
    await withdraw(store, "other");
    const again = { ...newInput("other", { key: "k" }), id: inputId("again"), turnId: turnId("again") };
    assert.equal((await store.accept(again, ann, opening, 100)).kind, "queued");
    assert.equal((await store.accept(again, ann, opening, 100)).kind, "known");
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["other"]);
  }),
  law("a write of a withdrawn input that comes again is known, and does not run", async (store) => {
    const lease = await first(store);
    await queue(store, "more", { key: "k" });
    await withdraw(store, "more");
    assert.equal((await send(store, "more", { key: "k" })).kind, "known");
    await commit(store, lease);
    assert.deepEqual(await drain(store), []);
  }),
  law("an input is withdrawn by its key, and told by its id and its turn", async (store) => {
    const lease = await first(store);
    const key = "a key with \u0000 and \ud800";
    await queue(store, "one", { key });
    await queue(store, "two", { key: "k" });
    const withdrawn = [{ inputId: inputId("one"), turnId: turnId("one"), answer: "withdrawn" }];
    assert.deepEqual(await store.inputs.withdraw(alice, { key }), withdrawn);
    assert.deepEqual(await store.inputs.withdraw(alice, { key }), withdrawn);
    assert.deepEqual(await waiting(store), ["two"]);
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "another" }), []);
    await store.create(newSession(bob));
    assert.deepEqual(await store.inputs.withdraw(bob, { key: "k" }), []);
    await commit(store, lease);
    assert.deepEqual(await drain(store), ["two"]);
  }),
  law("a key that was withdrawn and used again names the latest input", async (store) => {
    await first(store);
    await queue(store, "one", { key: "k" });
    await withdraw(store, "one");
    await queue(store, "two", { key: "k" });
    assert.deepEqual(await store.inputs.withdraw(alice, { key: "k" }), [
      { inputId: inputId("two"), turnId: turnId("two"), answer: "withdrawn" },
    ]);
    assert.deepEqual(await waiting(store), []);
  }),
  law("an input is withdrawn with all that came after it, oldest first", async (store) => {
    const lease = await first(store);
    await queue(store, "zero");
    await queue(store, "one", { key: "k" });
    await queue(store, "two", { place: "boundary" });
    await first(store, "hi", { to: bob });
    await queue(store, "for bob", { to: bob });
    await queue(store, "three");
    const from = { from: inputId("one") };
    const answers = ["one", "two", "three"].map((words) => ({
      inputId: inputId(words),
      turnId: turnId(words),
      answer: "withdrawn",
    }));
    assert.deepEqual(await store.inputs.withdraw(alice, from), answers);
    assert.deepEqual(await waiting(store), ["zero"]);
    assert.deepEqual(await waiting(store, bob), ["for bob"]);
    assert.deepEqual(await claim(store, lease), []);
    assert.deepEqual(await store.inputs.withdraw(alice, from), answers);
    await queue(store, "after", { key: "k" });
    assert.deepEqual(await waiting(store), ["zero", "after"]);
    assert.deepEqual(await store.inputs.withdraw(alice, { from: inputId("for bob") }), []);
    assert.deepEqual(await store.inputs.withdraw(asSessionId("nobody"), from), []);
  }),
  law("withdrawing all later inputs reports taken and ended ones and does not change them", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    await queue(store, "three", { place: "boundary" });
    await claim(store, lease);
    await queue(store, "four");
    const answers = await store.inputs.withdraw(alice, { from: inputId("one") });
    assert.deepEqual(
      answers.map(({ inputId, answer }) => [inputId, answer]),
      [
        [inputId("one"), "ended"],
        [inputId("two"), "taken"],
        [inputId("three"), "taken"],
        [inputId("four"), "withdrawn"],
      ],
    );
    assert.deepEqual(await claim(store, lease), ["three"]);
    await commit(store, lease, { inputs: [inputId("three")] });
    assert.equal(await withdraw(store, "three"), "ended");
    assert.deepEqual(await said(store), ["one", "well"]);
  }),
  law("withdrawing makes room in a full queue", async (store) => {
    await first(store);
    await queue(store, "one", { pendingMax: 1 });
    await withdraw(store, "one");
    await queue(store, "two", { pendingMax: 1 });
  }),
];
