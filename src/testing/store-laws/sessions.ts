import assert from "node:assert/strict";
import { asSessionId, nodeId, type SessionId } from "../../model/ids.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { Store } from "../../stores/store.ts";
import {
  alice,
  begin,
  bob,
  commit,
  ended,
  LAPSED,
  NOW,
  newSession,
  node,
  said,
  send,
  slept,
  turn,
  turnId,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import {
  answer,
  apply,
  claim,
  first,
  notes,
  open,
  queue,
  state,
  stop,
  threeTurns,
  waiting,
  waits,
  withdraw,
  work,
  yes,
} from "./acts.ts";

const creationLaws = [
  law("a new session is empty", async (store) => {
    await store.create(newSession(alice));
    assert.deepEqual(await store.load(alice), {
      id: alice,
      createdAt: NOW,
      config: { model: "house/model" },
      revision: 0,
      plugins: {},
      usage: NO_USAGE,
      ledger: [],
      turns: 0,
    });
    assert.deepEqual(await store.view(alice), []);
    assert.deepEqual(await waiting(store), []);
  }),
  law("a session keeps its parent and its configuration", async (store) => {
    const config = { model: "other/model", instructions: "Be brief.", settings: { temperature: 0.5 } };
    const made = await store.create({ id: bob, parentId: alice, config, at: NOW });
    assert.equal(made.parentId, alice);
    assert.deepEqual((await store.load(bob))?.config, config);
  }),
  law("creating a session again answers it as it is", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "hello");
    const again = await store.create({ id: alice, config: { model: "another/model" }, at: NOW + 9 });
    assert.deepEqual(again, await store.load(alice));
    assert.equal(again.revision, 1);
    assert.equal(again.config.model, "house/model");
  }),
  law("a session that was never created is not there", async (store) => {
    assert.equal(await store.load(alice), undefined);
    assert.deepEqual(await store.list(), []);
  }),
  law("whether a session is there can be asked: made, forked, never made, deleted", async (store) => {
    assert.equal(await store.has(alice), false);
    await store.create(newSession(alice));
    assert.equal(await store.has(alice), true);
    await turn(store, "hello");
    await store.fork(alice, newSession(bob));
    assert.deepEqual([await store.has(alice), await store.has(bob)], [true, true]);
    await store.delete(alice);
    assert.deepEqual([await store.has(alice), await store.has(bob)], [false, true]);
  }),
  law("sessions are listed by id, a page at a time", async (store) => {
    for (const id of ["d", "a", "c", "b"]) await store.create(newSession(asSessionId(id)));
    const ids = async (page?: { readonly after?: SessionId; readonly max?: number }) =>
      (await store.list(page)).map((session) => session.id);
    assert.deepEqual(await ids(), ["a", "b", "c", "d"]);
    assert.deepEqual(await ids({ max: 2 }), ["a", "b"]);
    assert.deepEqual(await ids({ after: asSessionId("b"), max: 1 }), ["c"]);
    assert.deepEqual(await ids({ after: asSessionId("bb") }), ["c", "d"]);
    assert.deepEqual(await ids({ after: asSessionId("d") }), []);
  }),
];

const relativeLaws = [
  law("a session begins with the plugin states it is given, and counts from nothing all the same", async (store) => {
    const made = await store.create({ ...newSession(alice), plugins: state("given") });
    assert.deepEqual([made.plugins, made.revision], [state("given"), 0]);
    assert.deepEqual(await store.load(alice), made);
    await turn(store, "hello", { plugins: state("given") });
    assert.deepEqual((await store.load(alice))?.plugins, state("given"));
  }),
  law("a session that is there keeps its states when it is created again with others", async (store) => {
    await store.create({ ...newSession(alice), plugins: state("first") });
    const again = await store.create({ ...newSession(alice), plugins: state("second") });
    assert.deepEqual(again.plugins, state("first"));
    assert.deepEqual(
      (await store.fork(alice, { ...newSession(alice), plugins: state("third") })).plugins,
      state("first"),
    );
    assert.deepEqual((await store.load(alice))?.plugins, state("first"));
  }),
  law("the states that a fork is given lie over those that it copies, there and in its own forks", async (store) => {
    const other = { other: { version: "1", revision: 1, state: "copied" } };
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: { ...state("copied"), ...other } });
    const at = node("one", 0);
    const fork = await store.fork(alice, { ...newSession(bob), plugins: state("given") }, at);
    assert.deepEqual(fork.plugins, { ...state("given"), ...other });
    assert.deepEqual((await store.load(alice))?.plugins, { ...state("copied"), ...other });
    await turn(store, "two", { plugins: other }, { to: bob });
    for (const [name, node] of [
      ["carol", at],
      ["dave", nodeId(turnId("two"), 0)],
    ] as const) {
      const { plugins } = await store.fork(bob, newSession(asSessionId(name)), node);
      assert.deepEqual(plugins, name === "carol" ? fork.plugins : other);
    }
  }),
  law("a fork has its source and its fork point, for ever", async (store) => {
    await threeTurns(store);
    const [carol, dave] = [asSessionId("carol"), asSessionId("dave")];
    const atHead = await store.fork(alice, newSession(bob));
    assert.deepEqual(atHead.origin, { sessionId: alice, at: node("three", 1) });
    const inside = await store.fork(alice, newSession(carol), node("two", 0));
    assert.deepEqual(inside.origin, { sessionId: alice, at: node("two", 0) });
    await turn(store, "in bob", {}, { to: bob });
    const ofFork = await store.fork(bob, newSession(dave), node("one", 1));
    assert.deepEqual(ofFork.origin, { sessionId: bob, at: node("one", 1) });
    await store.delete(alice);
    assert.deepEqual((await store.load(bob))?.origin, { sessionId: alice, at: node("three", 1) });
    assert.deepEqual((await store.fork(carol, newSession(bob))).origin, { sessionId: alice, at: node("three", 1) });
  }),
  law(
    "a fork of an empty session has an origin without a node, and a session that is not a fork has no origin",
    async (store) => {
      assert.equal("origin" in (await store.create(newSession(alice))), false);
      assert.deepEqual((await store.fork(alice, newSession(bob))).origin, { sessionId: alice });
      assert.equal("origin" in (await store.create({ ...newSession(asSessionId("c")), parentId: alice })), false);
    },
  ),
  law("a fork may begin at a node of an operation with any name", async (store) => {
    await store.create(newSession(alice));
    const operation = "op \u0000 \ud800";
    await apply(store, operation, { entries: notes(operation, "a", "b") });
    const { origin } = await store.fork(alice, newSession(bob), nodeId(operation, 0));
    assert.deepEqual(origin, { sessionId: alice, at: nodeId(operation, 0) });
    assert.deepEqual((await store.load(bob))?.origin, origin);
  }),
  law("the children of a session are listed by id, a page at a time", async (store) => {
    for (const id of ["d", "a", "c", "b"]) await store.create({ ...newSession(asSessionId(id)), parentId: alice });
    await store.create(newSession(alice));
    await store.create({ ...newSession(asSessionId("grandchild")), parentId: asSessionId("a") });
    await store.fork(alice, newSession(asSessionId("fork")));
    const ids = async (page: Parameters<Store["list"]>[0]) => (await store.list(page)).map((session) => session.id);
    assert.deepEqual(await ids({ parent: alice }), ["a", "b", "c", "d"]);
    assert.deepEqual(await ids({ parent: alice, max: 2 }), ["a", "b"]);
    assert.deepEqual(await ids({ parent: alice, after: asSessionId("b"), max: 1 }), ["c"]);
    await store.delete(asSessionId("b"));
    assert.deepEqual(await ids({ parent: alice, max: Infinity }), ["a", "c", "d"]);
    assert.deepEqual(await ids({ parent: bob }), []);
    await store.delete(alice);
    assert.deepEqual(await ids({ parent: alice }), ["a", "c", "d"]);
  }),
  law(
    "the forks of a session are listed by id, those that are its children apart from those that are not",
    async (store) => {
      await store.create(newSession(alice));
      await store.fork(alice, newSession(asSessionId("y")));
      await store.fork(alice, { ...newSession(asSessionId("x")), parentId: alice });
      await store.fork(asSessionId("x"), newSession(asSessionId("z")));
      await store.create({ ...newSession(asSessionId("child")), parentId: alice });
      const ids = async (page: Parameters<Store["list"]>[0]) => (await store.list(page)).map((session) => session.id);
      assert.deepEqual(await ids({ origin: alice }), ["x", "y"]);
      assert.deepEqual(await ids({ origin: alice, after: asSessionId("x") }), ["y"]);
      assert.deepEqual(await ids({ origin: alice, parent: alice }), ["x"]);
      assert.deepEqual(await ids({ origin: asSessionId("x") }), ["z"]);
      assert.deepEqual(await ids({ origin: asSessionId("z") }), []);
      assert.deepEqual(
        (await store.list({ origin: alice, max: 1 })).map(({ origin }) => origin),
        [{ sessionId: alice }],
      );
    },
  ),
];

const deletionLaws = [
  law("a deleted session is gone, and its id is used up", async (store) => {
    await threeTurns(store);
    await store.delete(alice);
    assert.equal(await store.load(alice), undefined);
    assert.deepEqual(await store.list(), []);
    await refused("session.deleted", () => store.create(newSession(alice)));
    await store.create(newSession(bob));
    await refused("session.deleted", () => store.fork(bob, newSession(alice)));
    await refused("session.unknown", () => send(store, "more"));
    await refused("session.unknown", () => open(store));
    await refused("session.unknown", () => store.view(alice));
    await refused("session.unknown", () => store.fork(alice, newSession(asSessionId("carol"))));
  }),
  law("deleting again is harmless", async (store) => {
    await store.create(newSession(alice));
    await store.delete(alice);
    await store.delete(alice);
    await refused("session.deleted", () => store.create(newSession(alice)));
  }),
  law("a deleted session's work is dropped", async (store) => {
    const lease = await waits(store);
    await queue(store, "more");
    await store.delete(alice);
    assert.deepEqual(await waiting(store), []);
    assert.deepEqual(await work(store, LAPSED, 10), []);
    assert.equal(await answer(store, yes), "unknown");
    assert.deepEqual(await store.waits.list({ max: 10 }), []);
    assert.deepEqual(await store.journal(lease.turnId, 0), []);
    assert.equal(await withdraw(store, "more"), undefined);
    assert.deepEqual(await store.cancel(lease.turnId, stop("r1")), { kind: "unknown" });
  }),
  law("a turn that runs in a deleted session has lost its lease", async (store) => {
    const lease = await first(store);
    await store.delete(alice);
    await refused("lease.lost", () => store.append(lease, 1, [slept("a")], NOW));
    await refused("lease.lost", () => store.renew(lease, NOW));
    await refused("lease.lost", () => claim(store, lease));
    await refused("lease.lost", () => store.commit(lease, ended(lease)));
    await store.release(lease);
    assert.equal(await store.load(alice), undefined);
  }),
  law("the terminals of a deleted session are gone", async (store) => {
    await threeTurns(store);
    await store.delete(alice);
    assert.equal(await store.terminal(turnId("one")), undefined);
  }),
  law("deleting a session leaves its forks unharmed", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    const before = await store.view(bob);
    await store.delete(alice);
    assert.deepEqual(await store.view(bob), before);
    assert.deepEqual(await said(store, bob, node("one", 0)), ["1a"]);
    await turn(store, "in bob", {}, { to: bob });
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "in bob"]);
    const carol = asSessionId("carol");
    await store.fork(bob, newSession(carol), node("one", 1));
    await store.delete(bob);
    assert.deepEqual(await said(store, carol), ["1a", "1b"]);
  }),
  law("deleting a fork leaves its source unharmed", async (store) => {
    await threeTurns(store);
    await store.fork(alice, newSession(bob), node("two", 0));
    await turn(store, "in bob", {}, { to: bob });
    await store.delete(bob);
    assert.deepEqual(await said(store), ["1a", "1b", "2a", "2b", "3a", "3b"]);
    await turn(store, "more");
  }),
  law("deleting a session with branches leaves its forks unharmed", async (store) => {
    await threeTurns(store);
    await commit(store, await begin(store, "late"), { base: node("one", 0) });
    await store.fork(alice, newSession(bob));
    await store.delete(alice);
    assert.deepEqual(await said(store, bob), ["1a", "1b", "2a", "2b", "3a", "3b"]);
    assert.deepEqual(await said(store, bob, node("one", 0)), ["1a"]);
  }),
];

export const sessionLaws: readonly StoreLaw[] = [...creationLaws, ...relativeLaws, ...deletionLaws];
