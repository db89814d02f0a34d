// An append is a change that may wait while a turn is open.

import assert from "node:assert/strict";
import { nodeId } from "../../model/ids.ts";
import type { Store } from "../../stores/store.ts";
import {
  alice,
  begin,
  bob,
  commit,
  committed,
  ended,
  inputId,
  LAPSED,
  NOW,
  newSession,
  node,
  said,
  send,
  turn,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  append,
  BOUNDARY,
  CALL,
  change,
  claim,
  claimAll,
  drain,
  first,
  INJECT,
  notes,
  open,
  queue,
  queueAppend,
  state,
  stop,
  take,
  waiting,
  work,
} from "./acts.ts";

/** Returns a word or two for each fact of alice's session. */
const factsOf = async (store: Store): Promise<readonly string[]> =>
  (await store.changes(undefined, { session: alice, max: 100 })).map((fact) => {
    if (fact.kind === "accepted") return `accepted ${fact.inputId}`;
    if (fact.kind === "withdrawn") return `withdrawn ${fact.inputId}`;
    if (fact.kind !== "committed") return `${fact.kind} ${fact.wait}`;
    return fact.by === "turn" ? `turn ${fact.turnId}` : `${fact.by} ${fact.operation}`;
  });

export const appendLaws: readonly StoreLaw[] = [
  law("an append to an idle session is applied at once, also where it may wait", async (store) => {
    await store.create(newSession(alice));
    const answer = await append(store, "note", { queueMax: 0 });
    assert.equal(answer.kind, "committed");
    assert.deepEqual(await said(store), ["note"]);
  }),
  law("an append waits for the open turn, whose commit applies it after its own nodes", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note", { entries: notes("note", "a", "b") });
    assert.deepEqual(await said(store), []);
    assert.equal((await store.load(alice))?.revision, 0);
    const done = await commit(store, lease, { says: ["well"] });
    assert.deepEqual([done.revision, done.head], [1, node("hello", 0)]);
    assert.deepEqual(await said(store), ["well", "a", "b"]);
    const session = await store.load(alice);
    assert.deepEqual([session?.revision, session?.head, session?.turns], [2, nodeId("note", 1), 1]);
    assert.deepEqual((await store.terminal(lease.turnId))?.committed, done);
    assert.deepEqual(await committed(store.commit(lease, ended(lease, { says: ["well"] }))), done);
  }),
  law("two appends keep their order, and each is a separate operation and fact", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "one");
    await queueAppend(store, "two");
    const before = await store.latest();
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "one", "two"]);
    assert.deepEqual(await factsOf(store), [
      `accepted ${inputId("hello")}`,
      `turn ${turnId("hello")}`,
      "append one",
      "append two",
    ]);
    const told = await store.changes(before, { max: 10 });
    assert.equal(told.length, 3);
    const nodes = told.flatMap((fact) => (fact.kind === "committed" ? fact.nodes : []));
    assert.deepEqual(nodes, [node("hello", 0), nodeId("one", 0), nodeId("two", 0)]);
    assert.equal(await store.latest(), told.at(-1)?.cursor);
    const [one, two] = [await append(store, "one"), await append(store, "two")];
    assert.ok(one.kind === "committed" && two.kind === "committed");
    assert.deepEqual([one.revision, two.revision], [2, 3]);
    assert.deepEqual([one.head, two.head], [nodeId("one", 0), nodeId("two", 0)]);
    assert.deepEqual(
      [one.cursor, two.cursor],
      told.slice(1).map(({ cursor }) => cursor),
    );
  }),
  law("an append that waits is not an input: not listed, not withdrawn, and not a fact", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await queue(store, "psst", INJECT);
    assert.deepEqual(await waiting(store), ["psst"]);
    const [{ id } = assert.fail("nothing was claimed")] = await store.inputs.claim(lease, BOUNDARY, 1);
    assert.deepEqual(await store.inputs.withdraw(alice, { id }), []);
    assert.deepEqual(await store.inputs.withdraw(alice, { from: id }), []);
    assert.deepEqual(
      (await store.inputs.withdraw(alice, { from: inputId("hello") })).map(({ inputId }) => inputId),
      [inputId("hello"), inputId("psst")],
    );
    const facts = [`accepted ${inputId("hello")}`, `accepted ${inputId("psst")}`, `withdrawn ${inputId("psst")}`];
    assert.deepEqual(await factsOf(store), facts);
    for (const which of [{}, { session: alice }, { tree: alice }])
      assert.equal((await store.changes(undefined, { ...which, max: 2 })).length, 2);
  }),
  law("a page of facts is full though an append waits in between", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await queue(store, "more");
    for (const which of [{}, { session: alice }, { tree: alice }]) {
      const [one, two, ...rest] = await store.changes(undefined, { ...which, max: 2 });
      assert.ok(one?.kind === "accepted" && two?.kind === "accepted" && rest.length === 0);
      assert.equal(two.inputId, inputId("more"));
      assert.deepEqual(await store.changes(one.cursor, { ...which, max: 1 }), [two]);
    }
    await commit(store, lease);
  }),
  law("a boundary takes appends among inputs, in the order in which they came", async (store) => {
    const lease = await first(store);
    await queue(store, "one", { place: "boundary" });
    await queueAppend(store, "note", { entries: notes("note", "a", "#b") });
    await queue(store, "psst", INJECT);
    await queue(store, "own turn");
    await queueAppend(store, "later");
    assert.deepEqual(await claim(store, lease, BOUNDARY, 3), ["one", "note", "psst"]);
    const [, taken] = await store.inputs.claim(lease, BOUNDARY, 3);
    assert.ok(taken !== undefined && "operation" in taken);
    const { id, seq, ...rest } = taken;
    assert.deepEqual(rest, { operation: "note", entries: notes("note", "a", "#b") });
    assert.ok(typeof id === "string" && typeof seq === "number");
    assert.deepEqual(await claimAll(store, lease, CALL), ["own turn", "later"]);
  }),
  law(
    "an append that a turn took in and settled is applied by nobody, and a repeat of it waits for nothing",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note");
      const taken = await store.inputs.claim(lease, BOUNDARY, 10);
      await queueAppend(store, "note");
      await commit(store, lease, { says: ["note, taken in"], inputs: taken.map(({ id }) => id) });
      assert.deepEqual(await said(store), ["note, taken in"]);
      assert.equal((await store.load(alice))?.revision, 1);
      await queueAppend(store, "note");
      assert.deepEqual(await store.operations.find(alice, "note"), { kind: "queued" });
      await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
      await turn(store, "more");
      assert.deepEqual(await said(store), ["note, taken in", "more"]);
    },
  ),
  law("an append that a turn claimed and did not settle is applied by its commit, in its old place", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "one");
    await queueAppend(store, "two");
    assert.deepEqual(await claim(store, lease, BOUNDARY, 1), ["one"]);
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "one", "two"]);
    assert.deepEqual(await drain(store), []);
  }),
  law(
    "a repeat of an append waits with it, whether it may wait or not, and is answered by its commit after",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note", { queueMax: 1 });
      await queueAppend(store, "note", {
        queueMax: 1,
        at: NOW + 9,
        entries: notes("note", "note").map((entry) => ({ ...entry, at: NOW + 9 })),
      });
      const { queueMax: _, ...unqueued } = change("note", {
        by: "append",
        entries: notes("note", "note"),
        queueMax: 1,
      });
      assert.deepEqual(await store.apply(unqueued), { kind: "queued" });
      await commit(store, lease);
      const done = await append(store, "note");
      assert.ok(done.kind === "committed");
      assert.equal(done.revision, 2);
      assert.deepEqual(await store.apply(unqueued), done);
      await first(store, "more");
      assert.deepEqual(await append(store, "note"), done);
      assert.deepEqual(await said(store), ["well", "note"]);
    },
  ),
  law("other content under the name of an append that waits is a conflict, and changes nothing", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", "note"]);
    await refused("append.conflict", () => append(store, "note", { entries: notes("note", "other") }));
  }),
  law(
    "a queue takes as many appends and inputs together as it may, and keeps nothing of the one too many",
    async (store) => {
      const lease = await first(store);
      await queue(store, "more");
      await queueAppend(store, "one", { queueMax: 2 });
      await refused("input.full", () => append(store, "two", { queueMax: 2 }));
      assert.equal(await store.operations.find(alice, "two"), undefined);
      await refused("input.full", () => send(store, "too much", { pendingMax: 2 }));
      await queueAppend(store, "two", { queueMax: 3 });
      await commit(store, lease);
      assert.deepEqual(await said(store), ["well", "one", "two"]);
      assert.deepEqual(await drain(store), ["more"]);
    },
  ),
  law("an append that requires a node off the path is stale at once, and is not kept", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    const stale = { kind: "stale", revision: 1 };
    assert.deepEqual(await append(store, "note", { requires: nodeId("nowhere", 0) }), stale);
    assert.equal(await store.operations.find(alice, "note"), undefined);
    await queueAppend(store, "note", { requires: node("one", 0) });
    await commit(store, lease);
    assert.deepEqual(await said(store), ["one", "well", "note"]);
    assert.equal((await append(store, "note", { requires: node("one", 0) })).kind, "committed");
  }),
  law("a change that must not wait is busy while a turn is open, and is not kept", async (store) => {
    const lease = await first(store);
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "op") })), { kind: "busy" });
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well"]);
  }),
  law(
    "an append under a name that was part of the turn is stale, and is dropped if it waited for it",
    async (store) => {
      const lease = await first(store);
      await queueAppend(store, "note");
      const parts = [{ operation: "note", receipt: "first" }];
      await committed(store.commit(lease, ended(lease, { says: ["note, by the turn"], parts })));
      assert.deepEqual(await said(store), ["note, by the turn"]);
      assert.deepEqual(await append(store, "note"), { kind: "stale", revision: 1 });
      assert.deepEqual(await store.operations.find(alice, "note"), { kind: "done", receipt: "first" });
      assert.deepEqual(await said(store), ["note, by the turn"]);
    },
  ),
  law("an append under the name of another session's nodes is a conflict, whether it waits or not", async (store) => {
    await store.create(newSession(alice));
    await append(store, "note");
    const there = { sessionId: bob, entries: notes("note", "note") };
    await store.create(newSession(bob));
    await refused("append.conflict", () => append(store, "note", there));
    await first(store, "hello bob", { to: bob });
    await refused("append.conflict", () => append(store, "note", there));
    assert.deepEqual(await said(store, bob), []);
  }),
  law("an append that waited for a turn which became a branch is applied to the path", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    await queueAppend(store, "note");
    const done = await committed(store.commit(lease, ended(lease, { says: ["late"] }))); // The turn has no base.
    assert.deepEqual([done.revision, done.head, done.branch], [1, node("one", 0), node("two", 0)]);
    assert.deepEqual(await said(store), ["one", "note"]);
    assert.equal((await store.load(alice))?.revision, 2);
    assert.equal((await store.load(alice))?.openTurn, undefined);
  }),
  law("an append waits on through a takeover, and a commit that is reopened applies none", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await store.cancel(lease.turnId, stop("r1"));
    const resumed = await take(store);
    assert.equal((await store.commit(resumed, ended(resumed))).kind, "reopen");
    assert.deepEqual(await said(store), []);
    assert.deepEqual(await claim(store, resumed), ["note"]);
    await commit(store, resumed, { cancel: "r1" });
    assert.deepEqual(await said(store), ["well", "note"]);
  }),
  law("an append neither opens a turn nor keeps the next input from opening one", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await commit(store, lease);
    assert.deepEqual(await open(store), { kind: "idle" });
    assert.deepEqual(await work(store, LAPSED, 10), []);
    await begin(store, "more");
  }),
  law("plugin states and forks stand after appends as if these had come right after the turn", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await commit(store, lease, { plugins: state("kept") });
    assert.deepEqual((await store.load(alice))?.plugins, state("kept"));
    const fork = await store.fork(alice, newSession(bob), node("hello", 0));
    assert.deepEqual(fork.plugins, state("kept"));
    assert.deepEqual(await said(store, bob), ["well"]);
    assert.deepEqual(await said(store, alice, nodeId("note", 0)), ["well", "note"]);
  }),
  law("the path leads through a change that is newer than the input of the turn after it", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease, { says: ["well"] });
    await append(store, "note");
    const later = await take(store);
    await commit(store, later, { says: ["done"] });
    assert.deepEqual(await said(store), ["well", "note", "done"]);
    for (const held of [node("hello", 0), nodeId("note", 0)]) assert.equal(await store.holds(alice, held), true);
    await store.fork(alice, newSession(bob), node("hello", 0));
    assert.deepEqual(await said(store, bob), ["well"]);
  }),
  law("an append with any name waits and is applied", async (store) => {
    const lease = await first(store);
    const operation = "op \u0000 \ud800";
    await queueAppend(store, operation);
    assert.deepEqual(await claim(store, lease), [operation]);
    await commit(store, lease);
    assert.deepEqual(await said(store), ["well", operation]);
  }),
  law("deleting a session drops the appends that wait in it", async (store) => {
    const lease = await first(store);
    await queueAppend(store, "note");
    await store.delete(alice);
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    assert.equal(await store.operations.find(alice, "note"), undefined);
    await first(store, "hello bob", { to: bob });
  }),
];
