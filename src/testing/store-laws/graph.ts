import assert from "node:assert/strict";
import { asCallId, asSessionId, type NodeId, nodeId } from "../../model/ids.ts";
import { type Draft, text } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { Segment, ViewPage } from "../../stores/store.ts";
import {
  alice,
  assistant,
  begin,
  ben,
  bob,
  commit,
  ended,
  LAPSED,
  NOW,
  newSession,
  node,
  said,
  turn,
  turnId,
  usage,
  wordsOf,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { apply, FRAME, first, NEVER, notes, open, queue, state, threeTurns, waiting } from "./acts.ts";

const calls = (name: string): Draft =>
  assistant({ kind: "toolCall", callId: asCallId(name), name: "search", input: {} });

const returns = (name: string): Draft => ({
  role: "tool",
  parts: [{ kind: "toolResult", callId: asCallId(name), name: "search", status: "ok", parts: [text("found")] }],
});

const viewLaws = [
  law("a path is read by segments, newest first, each naming the node it follows", async (store) => {
    await threeTurns(store);
    const path = await store.view(alice);
    assert.deepEqual(
      path.map(({ commit, parent }) => [commit, parent]),
      [
        [turnId("three"), node("two", 1)],
        [turnId("two"), node("one", 1)],
        [turnId("one"), undefined],
      ],
    );
    assert.deepEqual(wordsOf(path), ["1a", "1b", "2a", "2b", "3a", "3b"]);
  }),
  law("nodes are kept whole", async (store) => {
    const lease = await first(store);
    const { entries } = ended(lease, { says: [calls("c1"), returns("c1"), "done"] });
    const kept: readonly Entry[] = [
      ...entries,
      { at: NOW, kind: "plugin", plugin: "acme/notes", type: "note", body: { list: [1, null, "é\u0000\ud83d\ude00"] } },
      { at: NOW, kind: "frame", reason: "compacted", task: "Go on." },
    ];
    await store.commit(lease, { ...ended(lease), entries: kept });
    assert.deepEqual((await store.view(alice))[0]?.entries, kept);
  }),
  law("pages that follow the last parent read the whole path once", async (store) => {
    await threeTurns(store);
    const pages: Segment[] = [];
    let page = await store.view(alice, { max: 2 });
    while (page.length > 0) {
      pages.push(...page);
      const parent = page.at(-1)?.parent;
      page = parent === undefined ? [] : await store.view(alice, { from: parent, max: 2 });
    }
    assert.deepEqual(pages, await store.view(alice));
  }),
  law("a path that ends inside a segment is cut there", async (store) => {
    await threeTurns(store);
    assert.deepEqual(await said(store, alice, node("two", 0)), ["1a", "1b", "2a"]);
    assert.deepEqual(await said(store, alice, node("two", 1)), ["1a", "1b", "2a", "2b"]);
    const cut = await store.view(alice, { from: node("three", 0), max: 1 });
    assert.deepEqual(wordsOf(cut), ["3a"]);
  }),
  law("a path is read down to the segment in which its frame begins, and no further", async (store) => {
    await threeTurns(store);
    const commits = async (page: Omit<ViewPage, "toFrame"> = {}, session = alice) =>
      (await store.view(session, { ...page, toFrame: true })).map((segment) => segment.commit);
    assert.deepEqual(await commits(), [turnId("three"), turnId("two"), turnId("one")]);
    await apply(store, "frame", { entries: [...notes("frame", "before"), FRAME, ...notes("frame", "after")] });
    assert.deepEqual(await commits(), ["frame"]);
    assert.deepEqual(await store.view(alice, { toFrame: true }), await store.view(alice, { max: 1 }));
    await turn(store, "four");
    await turn(store, "five");
    assert.deepEqual(await commits(), [turnId("five"), turnId("four"), "frame"]);
    assert.deepEqual(await commits({ max: 2 }), [turnId("five"), turnId("four")]);
    assert.deepEqual(await commits({ from: node("four", 0) }), [turnId("four"), "frame"]);
    assert.deepEqual(await commits({ from: nodeId("frame", 1) }), ["frame"]);
    // Nodes before a frame belong to the frame before it, even within the same segment.
    assert.deepEqual(await commits({ from: nodeId("frame", 0) }), [
      "frame",
      turnId("three"),
      turnId("two"),
      turnId("one"),
    ]);
    await apply(store, "again", { entries: [FRAME] });
    assert.deepEqual(await commits(), ["again"]);
    await store.fork(alice, newSession(bob), node("four", 0));
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await commits({}, bob), [turnId("in bob"), turnId("four"), "frame"]);
    const { branch } = await commit(store, await begin(store, "late"), { base: node("two", 1) });
    assert.deepEqual(await commits({ from: branch! }), [turnId("late"), turnId("two"), turnId("one")]);
  }),
  law("a session without nodes has no frame to read", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await store.view(alice, { toFrame: true }), []);
    await refused("fork.unknown", () => store.view(alice, { toFrame: true, from: node("never", 0) }));
  }),
  law("a path that ends nowhere is refused", async (store) => {
    await threeTurns(store);
    for (const nowhere of [node("two", 2), nodeId(NEVER, 0)]) {
      await refused("fork.unknown", () => store.view(alice, { from: nowhere }));
    }
    await refused("session.unknown", () => store.view(bob));
  }),
  law("a session holds the nodes on the path to its head, and no others", async (store) => {
    await store.create(newSession(alice));
    await apply(store, "op", { entries: notes("op", "a", "b") });
    await store.fork(alice, newSession(bob), nodeId("op", 0));
    assert.equal(await store.holds(alice, nodeId("op", 1)), true);
    assert.equal(await store.holds(bob, nodeId("op", 0)), true);
    assert.equal(await store.holds(bob, nodeId("op", 1)), false);
    assert.equal(await store.holds(alice, nodeId("nowhere", 0)), false);
    await refused("session.unknown", () => store.holds(asSessionId("nobody"), nodeId("op", 0)));
  }),
];

const forkLaws = [
  law("a fork shares the history and counts from nothing", async (store) => {
    const { head } = await threeTurns(store);
    const fork = await store.fork(alice, { ...newSession(bob), parentId: alice, at: NOW + 1 });
    assert.deepEqual(fork, {
      id: bob,
      parentId: alice,
      origin: { sessionId: alice, at: head },
      createdAt: NOW + 1,
      config: { model: "house/model" },
      revision: 0,
      head,
      plugins: state(3),
      usage: NO_USAGE,
      ledger: [],
      turns: 0,
    });
    assert.deepEqual(await store.load(bob), fork);
    assert.deepEqual(await store.view(bob), await store.view(alice));
  }),
  law("a fork of an empty session is empty", async (store) => {
    await store.create(newSession(alice));
    assert.equal((await store.fork(alice, newSession(bob))).head, undefined);
    assert.deepEqual(await store.view(bob), []);
  }),
  law("a fork at a node ends there", async (store) => {
    await threeTurns(store);
    const fork = await store.fork(alice, newSession(bob), node("two", 0));
    assert.equal(fork.head, node("two", 0));
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a"]);
  }),
  law("a fork and its source continue without each other", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", { plugins: state("bob"), usage: usage(5) }, { to: bob });
    await turn(store, "in alice", { plugins: state("alice"), usage: usage(7) });
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "in bob"]);
    assert.deepEqual(await said(store, alice), ["1a", "1b", "2a", "2b", "3a", "3b", "in alice"]);
    const [a, b] = [await store.load(alice), await store.load(bob)];
    assert.deepEqual([a?.revision, a?.turns, a?.usage, a?.plugins], [4, 4, usage(10), state("alice")]);
    assert.deepEqual([b?.revision, b?.turns, b?.usage, b?.plugins], [1, 1, usage(5), state("bob")]);
  }),
  law("a fork at the end of a commit has its plugin states, inside of one those before it", async (store) => {
    await threeTurns(store);
    const at = async (name: string, node: NodeId) =>
      (await store.fork(alice, newSession(asSessionId(name)), node)).plugins;
    assert.deepEqual(await at("f1", node("three", 1)), state(3));
    assert.deepEqual(await at("f2", node("three", 0)), state(2));
    assert.deepEqual(await at("f3", node("two", 1)), state(2));
    assert.deepEqual(await at("f4", node("two", 0)), state(1));
    assert.deepEqual(await at("f5", node("one", 0)), {});
  }),
  law("a commit without nodes counts for forks at the node it was made on", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: state(1) });
    await turn(store, "bare", { says: [], plugins: state("bare") });
    const early = await store.fork(alice, newSession(asSessionId("early")), node("one", 0));
    assert.deepEqual(early.plugins, state("bare"));
    await turn(store, "two", { plugins: state(2) });
    const late = await store.fork(alice, newSession(asSessionId("late")), node("one", 0));
    assert.deepEqual(late.plugins, state("bare"));
  }),
  law("a commit without nodes in a fork is nothing to its source", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: state(1) });
    await store.fork(alice, newSession(bob));
    await turn(store, "bare", { says: [], plugins: state("bare") }, { to: bob });
    const fork = await store.fork(alice, newSession(asSessionId("carol")), node("one", 0));
    assert.deepEqual(fork.plugins, state(1));
  }),
  law("a fork does not share inputs, keys or leases", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", {}, { key: "k" });
    const lease = await begin(store, "two");
    await queue(store, "more");
    await store.fork(alice, newSession(bob));
    assert.deepEqual(await waiting(store, bob), []);
    assert.equal((await open(store, ben, LAPSED, bob)).kind, "idle");
    const own = await begin(store, "own", { to: bob, key: "k" });
    await commit(store, own);
    await commit(store, lease, { says: ["two"] });
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("a fork of a fork may end inside what they share", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", {}, { to: bob });
    const carol = asSessionId("carol");
    await store.fork(bob, newSession(carol), node("one", 0));
    assert.deepEqual(await said(store, carol), ["1a"]);
    const dave = asSessionId("dave");
    assert.equal((await store.fork(bob, newSession(dave), node("two", 0))).head, node("two", 0));
    await refused("fork.unknown", () => store.fork(bob, newSession(asSessionId("erin")), node("two", 1)));
  }),
  law("a fork must not part a call from its result", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    await turn(store, "two", { says: ["so", calls("c1"), returns("c1"), "done"] });
    await assert.rejects(
      async () => store.fork(alice, newSession(bob), node("two", 1)),
      ({ code, details }: { readonly code?: unknown; readonly details?: unknown }) => {
        assert.equal(code, "fork.unpaired");
        assert.deepEqual(details, { node: node("two", 1), legal: [node("two", 0), node("two", 2)] });
        return true;
      },
    );
    assert.equal(await store.load(bob), undefined);
    assert.equal((await store.fork(alice, newSession(bob), node("two", 2))).head, node("two", 2));
  }),
  law("where a commit begins with a call, a fork is sent to the commit before", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    await turn(store, "two", { says: [calls("c1"), returns("c1"), "done"] });
    await assert.rejects(
      async () => store.fork(alice, newSession(bob), node("two", 0)),
      ({ details }: { readonly details?: unknown }) => {
        assert.deepEqual(details, { node: node("two", 0), legal: [node("one", 0), node("two", 1)] });
        return true;
      },
    );
  }),
  law("a fork at no node of the active path is refused", async (store) => {
    const { head } = await threeTurns(store);
    await store.create(newSession(bob));
    await turn(store, "elsewhere", {}, { to: bob });
    const lease = await begin(store, "late");
    const { branch } = await commit(store, lease, { base: node("two", 1) });
    const carol = newSession(asSessionId("carol"));
    for (const at of [nodeId(NEVER, 0), node("two", 2), node("elsewhere", 0), branch!]) {
      await refused("fork.unknown", () => store.fork(alice, carol, at));
    }
    const dave = newSession(asSessionId("dave"));
    await store.create(dave);
    await refused("fork.unknown", () => store.fork(dave.id, carol, node("one", 0)));
    assert.equal(await store.load(carol.id), undefined);
    assert.equal((await store.fork(alice, carol)).head, head);
  }),
  law("a session that is not there cannot be forked", async (store) => {
    await refused("session.unknown", () => store.fork(alice, newSession(bob)));
  }),
  law("forking to the same id again answers the fork as it is", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("one", 1));
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await store.fork(alice, newSession(bob)), await store.load(bob));
    assert.deepEqual(await said(store, bob), ["1a", "1b", "in bob"]);
  }),
];

export const graphLaws: readonly StoreLaw[] = [...viewLaws, ...forkLaws];
