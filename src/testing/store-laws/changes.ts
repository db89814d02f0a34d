// Operations change a session between its turns (`Store.apply`). `facts.ts` has the laws of `Store.changes`.

import assert from "node:assert/strict";
import { asSessionId, type NodeId, nodeId } from "../../model/ids.ts";
import { alice, begin, bob, commit, LAPSED, NOW, newSession, node, said, spent, turn, turnId, usage } from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { apply, change, drain, first, notes, queue, state, threeTurns } from "./acts.ts";

export const changeLaws: readonly StoreLaw[] = [
  law("a change between turns is kept at once, whole", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state("old"), usage: usage(1), spent: [spent("turn", 1)] });
    const done = await apply(store, "op", {
      entries: notes("op", "a", "#b"),
      plugins: { more: { version: "2", revision: 7, state: [1] } },
      config: { model: "other/model", instructions: "Be brief." },
      spent: [spent("label", 10), spent("label", 5)],
    });
    assert.deepEqual([done.revision, done.head, done.branch], [2, nodeId("op", 1), undefined]);
    const session = await store.load(alice);
    assert.deepEqual(session, {
      id: alice,
      createdAt: NOW,
      config: { model: "other/model", instructions: "Be brief." },
      revision: 2,
      head: nodeId("op", 1),
      plugins: { ...state("old"), more: { version: "2", revision: 7, state: [1] } },
      usage: usage(16),
      ledger: [
        { ...spent("turn", 1), calls: 1 },
        { ...spent("label", 15), calls: 2 },
      ],
      turns: 1,
    });
    assert.deepEqual(await said(store), ["hello", "a", "plugin"]);
  }),
  law("a change of no session is refused", async (store) => {
    await refused("session.unknown", () => store.apply(change("op")));
    await store.create(newSession(alice));
    await store.delete(alice);
    await refused("session.unknown", () => store.apply(change("op")));
  }),
  law("a change leaves what it does not name", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state("old"), usage: usage(1) });
    const before = await store.load(alice);
    await apply(store, "nothing");
    assert.deepEqual(await store.load(alice), { ...before, revision: 2 });
    await apply(store, "empty", { entries: [], plugins: {}, spent: [] });
    assert.deepEqual(await store.load(alice), { ...before, revision: 3 });
  }),
  law("a change of the config replaces it whole", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "one", { config: { model: "other/model", instructions: "Be brief." } });
    await apply(store, "two", { config: { instructions: "Be kind." } });
    assert.deepEqual((await store.load(alice))?.config, { instructions: "Be kind." });
    await apply(store, "three", { config: {} });
    assert.deepEqual((await store.load(alice))?.config, {});
  }),
  law("a change of plugin states replaces those it names, and a turn after it those it commits", async (store) => {
    await store.create(newSession(alice));
    const [one, two] = [
      { one: { version: "1", revision: 1, state: 1 } },
      { two: { version: "1", revision: 1, state: 2 } },
    ];
    await apply(store, "one", { plugins: one });
    await apply(store, "two", { plugins: two });
    assert.deepEqual((await store.load(alice))?.plugins, { ...one, ...two });
    const other = { one: { version: "1", revision: 2, state: 11 } };
    await apply(store, "other", { plugins: other });
    assert.deepEqual((await store.load(alice))?.plugins, { ...other, ...two });
    await turn(store, "hello", { plugins: two });
    assert.deepEqual((await store.load(alice))?.plugins, two);
  }),
  law("the same change again is answered as the first time and counts once", async (store) => {
    await store.create(newSession(alice));
    const rest = { entries: notes("op", "a"), plugins: state(1), config: { model: "m/m" }, spent: [spent("x", 1)] };
    const first = await apply(store, "op", rest);
    const before = await store.load(alice);
    assert.deepEqual(await apply(store, "op", rest), first);
    assert.deepEqual(await store.load(alice), before);
    await turn(store, "hello");
    assert.deepEqual(await apply(store, "op", rest), first);
    assert.deepEqual(await said(store), ["a", "hello"]);
    assert.equal((await store.load(alice))?.usage.input, 1);
  }),
  law("when a change was made, and on which revision, is not what it is: neither makes a conflict", async (store) => {
    await store.create(newSession(alice));
    const entries = notes("op", "a");
    const first = await apply(store, "op", { entries, base: 0 });
    assert.deepEqual(await apply(store, "op", { entries, base: 1, at: NOW + 9 }), first);
    assert.deepEqual(await apply(store, "op", { entries: entries.map((entry) => ({ ...entry, at: NOW + 9 })) }), first);
  }),
  law("the same change again is answered while a turn is open, too", async (store) => {
    await store.create(newSession(alice));
    const first = await apply(store, "op", { entries: notes("op", "a") });
    await begin(store, "hello");
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "a") })), first);
  }),
  law("an operation with other content is a conflict, and the first stands", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a"), plugins: state(1) });
    const before = await store.load(alice);
    for (const rest of [
      {},
      { entries: notes("op", "b"), plugins: state(1) },
      { entries: notes("op", "a"), plugins: state(2) },
      { entries: notes("op", "a"), plugins: state(1), config: { model: "m/m" } },
      { entries: notes("op", "a"), plugins: state(1), spent: [spent("x", 1)] },
    ])
      await refused("append.conflict", () => store.apply(change("op", rest)));
    assert.deepEqual(await store.load(alice), before);
  }),
  law("while a turn is open a change is busy, and nothing is kept of it", async (store) => {
    const lease = await first(store);
    const before = await store.load(alice);
    assert.deepEqual(await store.apply(change("op", { entries: notes("op", "a") })), { kind: "busy" });
    await store.renew(lease, LAPSED);
    assert.deepEqual(await store.apply(change("op", { plugins: state(1) })), { kind: "busy" });
    assert.deepEqual(await store.load(alice), before);
    await commit(store, lease);
    await apply(store, "op", { entries: notes("op", "b") });
    assert.deepEqual(await said(store), ["well", "b"]);
  }),
  law("a turn whose lease has lapsed is open still", async (store) => {
    const lease = await first(store);
    await store.release(lease);
    assert.deepEqual(await store.apply(change("op")), { kind: "busy" });
  }),
  law("inputs that wait keep no change from being made", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    await commit(store, lease);
    await apply(store, "op", { entries: notes("op", "a") });
    assert.deepEqual(await drain(store), ["more"]);
    assert.deepEqual(await said(store), ["well", "a", "well"]);
  }),
  law("a change on another revision than its base is stale, and nothing is kept of it", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const before = await store.load(alice);
    for (const base of [0, 2])
      assert.deepEqual(await store.apply(change("op", { base, entries: notes("op", "a") })), {
        kind: "stale",
        revision: 1,
      });
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual(await said(store), ["hello"]);
    await apply(store, "op", { base: 1, entries: notes("op", "b") });
    assert.deepEqual(await said(store), ["hello", "b"]);
  }),
  law("of changes on one base the first is kept", async (store) => {
    await store.create(newSession(alice));
    const answers = await Promise.all(
      ["a", "b", "c"].map((each) => store.apply(change(each, { base: 0, plugins: state(each) }))),
    );
    assert.deepEqual(answers.map(({ kind }) => kind).sort(), ["committed", "stale", "stale"]);
    assert.equal((await store.load(alice))?.revision, 1);
  }),
  law("a required node may be the head or anything before it, of a turn or of a change", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { says: ["1a", "1b"] });
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await turn(store, "two");
    for (const requires of [node("one", 0), node("one", 1), nodeId("op", 0), nodeId("op", 1), node("two", 0)])
      await apply(store, `after ${requires}`, { requires, plugins: state(requires) });
    assert.equal((await store.load(alice))?.revision, 8);
  }),
  law("a required node that is not on the active path is stale, and nothing is kept of it", async (store) => {
    await threeTurns(store);
    const { branch } = await commit(store, await begin(store, "late"), { base: node("one", 0) });
    await store.fork(alice, newSession(bob), node("one", 1));
    await turn(store, "in bob", {}, { to: bob });
    const before = await store.load(alice);
    for (const requires of [branch as NodeId, node("in bob", 0), node("never", 0), node("one", 9)])
      assert.deepEqual(await store.apply(change("op", { requires, entries: notes("op", "a") })), {
        kind: "stale",
        revision: before?.revision,
      });
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual((await store.apply(change("op", { sessionId: bob, requires: node("two", 0) }))).kind, "stale");
    assert.equal((await store.apply(change("op", { sessionId: bob, requires: node("one", 1) }))).kind, "committed");
  }),
  law("the nodes of a change are read like those of a turn", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const entries = notes("op", "a", "#b", "c");
    await apply(store, "op", { entries });
    await turn(store, "more");
    assert.deepEqual(await store.view(alice, { max: 2 }), [
      { commit: turnId("more"), parent: nodeId("op", 2), entries: (await store.view(alice))[0]?.entries },
      { commit: "op", parent: node("hello", 0), entries },
    ]);
    assert.deepEqual(await said(store, alice, nodeId("op", 1)), ["hello", "a", "plugin"]);
    await refused("fork.unknown", () => store.view(alice, { from: nodeId("op", 3) }));
  }),
  law("a fork may end at a node of a change, with the plugin states of then", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await apply(store, "op", { entries: notes("op", "a", "b"), plugins: state(2) });
    await turn(store, "more", { plugins: state(3) });
    for (const [at, words, value] of [
      [node("hello", 0), ["hello"], 1],
      [nodeId("op", 0), ["hello", "a"], 1],
      [nodeId("op", 1), ["hello", "a", "b"], 2],
      [node("more", 0), ["hello", "a", "b", "more"], 3],
    ] as const) {
      const id = asSessionId(`fork at ${at}`);
      await store.fork(alice, newSession(id), at);
      assert.deepEqual(await said(store, id), words);
      assert.deepEqual((await store.load(id))?.plugins, state(value));
    }
  }),
  law("a change without nodes counts for forks at the node it was made on", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await apply(store, "op", { plugins: state(2) });
    await store.fork(alice, newSession(bob), node("hello", 0));
    assert.deepEqual((await store.load(bob))?.plugins, state(2));
  }),
  law("a fork and its source change without each other", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello", { plugins: state(1) });
    await store.fork(alice, newSession(bob));
    await apply(store, "in alice", { entries: notes("in alice", "a"), plugins: state(2), config: { model: "a/a" } });
    await apply(store, "in bob", { sessionId: bob, entries: notes("in bob", "b"), plugins: state(3) });
    assert.deepEqual(await said(store), ["hello", "a"]);
    assert.deepEqual(await said(store, bob), ["hello", "b"]);
    assert.deepEqual((await store.load(alice))?.plugins, state(2));
    assert.deepEqual((await store.load(bob))?.config, newSession(bob).config);
  }),
  law("deleting a session leaves the nodes that its changes gave to forks", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await turn(store, "hello");
    await store.fork(alice, newSession(bob), nodeId("op", 0));
    await store.delete(alice);
    assert.deepEqual(await said(store, bob), ["a"]);
    await apply(store, "more", { sessionId: bob, entries: notes("more", "c"), requires: nodeId("op", 0) });
    assert.deepEqual(await said(store, bob), ["a", "c"]);
  }),
  law(
    "a turn runs on what a change left: its lease has the revision, and its commit follows the head",
    async (store) => {
      await store.create(newSession(alice));
      await apply(store, "op", { entries: notes("op", "a") });
      const lease = await begin(store, "hello");
      assert.equal(lease.revision, 1);
      const done = await commit(store, lease, { says: ["b"] });
      assert.equal(done.branch, undefined);
      assert.deepEqual(await said(store), ["a", "b"]);
    },
  ),
  law("nodes are kept as they were given, though the caller changes the list later", async (store) => {
    await store.create(newSession(alice));
    const entries = [...notes("op", "a")];
    await apply(store, "op", { entries });
    entries.push(...notes("op", "b"));
    assert.deepEqual(await said(store), ["a"]);
  }),
];
