import assert from "node:assert/strict";
import { nodeId } from "../../model/ids.ts";
import type { Entry } from "../../model/node.ts";
import { NO_USAGE } from "../../model/usage.ts";
import {
  alice,
  begin,
  ben,
  commit,
  committed,
  ended,
  inputId,
  NOW,
  newSession,
  said,
  slept,
  stopped,
  turn,
  usage,
} from "../cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { claim, first, NEVER, open, queue, state, take } from "./acts.ts";

export const commitLaws: readonly StoreLaw[] = [
  law("a commit moves everything at once", async (store) => {
    const lease = await first(store);
    const plugins = state({ count: 1 });
    const done = await commit(store, lease, { says: ["one", "two"], plugins, usage: usage(3) });
    assert.equal(done.head, nodeId(lease.turnId, 1));
    assert.equal(done.revision, 1);
    assert.equal(done.branch, undefined);
    const session = await store.load(alice);
    assert.deepEqual(
      [session?.head, session?.revision, session?.turns, session?.plugins, session?.usage],
      [done.head, 1, 1, plugins, usage(3)],
    );
    assert.deepEqual(await said(store), ["one", "two"]);
    assert.equal((await open(store)).kind, "idle");
  }),
  law("nothing moves before the commit", async (store) => {
    await store.create(newSession(alice));
    const before = await store.load(alice);
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [slept("a")], NOW);
    assert.deepEqual(await store.load(alice), { ...before, openTurn: lease.turnId });
    assert.equal(await store.terminal(lease.turnId), undefined);
  }),
  law("how a turn ended is kept", async (store) => {
    const lease = await first(store);
    const done = await commit(store, lease, { at: NOW + 8, outcome: stopped("bye"), usage: usage(2) });
    assert.deepEqual(await store.terminal(lease.turnId), {
      sessionId: alice,
      turnId: lease.turnId,
      at: NOW + 8,
      outcome: stopped("bye"),
      usage: usage(2),
      committed: done,
    });
    assert.equal(await store.terminal(NEVER), undefined);
  }),
  law("the same commit again is answered by the first receipt and counts once", async (store) => {
    const lease = await first(store);
    const turn = ended(lease, { usage: usage(3) });
    const done = await committed(store.commit(lease, turn));
    assert.deepEqual(await store.commit(lease, turn), done);
    const session = await store.load(alice);
    assert.deepEqual([session?.revision, session?.turns, session?.usage], [1, 1, usage(3)]);
  }),
  law("the same commit again is answered by the first receipt after later turns too", async (store) => {
    const lease = await first(store);
    const turn1 = ended(lease);
    const done = await committed(store.commit(lease, turn1));
    await turn(store, "more");
    assert.deepEqual(await store.commit(lease, turn1), done);
  }),
  law("when a turn ended is not what it came to: the clock makes no conflict", async (store) => {
    const lease = await first(store);
    const done = await committed(store.commit(lease, ended(lease)));
    assert.deepEqual(await store.commit(lease, ended(lease, { at: NOW + 99 })), done);
    assert.equal((await store.terminal(lease.turnId))?.at, NOW + 5);
  }),
  law("an old holder that repeats the commit gets the receipt", async (store) => {
    const lease = await first(store);
    const taken = await take(store);
    const done = await committed(store.commit(taken, ended(taken)));
    assert.deepEqual(await store.commit(lease, ended(lease)), done);
  }),
  law("another commit of an ended turn is a conflict, and the first stands", async (store) => {
    const lease = await first(store);
    const done = await commit(store, lease, { says: ["first"] });
    for (const other of [
      { says: ["second"] },
      { outcome: stopped("bye") },
      { usage: usage(1) },
      { plugins: state(1) },
    ]) {
      await refused("store.conflict", () => store.commit(lease, ended(lease, { says: ["first"], ...other })));
    }
    assert.deepEqual(await said(store), ["first"]);
    assert.deepEqual((await store.terminal(lease.turnId))?.committed, done);
  }),
  law("a commit without nodes counts and leaves the head", async (store) => {
    await store.create(newSession(alice));
    const bare = await turn(store, "zero", { says: [] });
    assert.deepEqual([bare.revision, bare.head], [1, undefined]);
    const { head } = await turn(store, "one");
    const done = await turn(store, "two", { says: [], plugins: state(2) });
    assert.deepEqual([done.head, done.revision, done.branch], [head, 3, undefined]);
    const session = await store.load(alice);
    assert.deepEqual([session?.head, session?.revision, session?.plugins], [head, 3, state(2)]);
    assert.deepEqual(await said(store), ["one"]);
  }),
  law("plugin states are replaced as a whole", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one", { plugins: { ...state(1), other: { version: "2", revision: 4, state: null } } });
    await turn(store, "two", { plugins: state(2) });
    assert.deepEqual((await store.load(alice))?.plugins, state(2));
  }),
  law("a commit keeps the state of a plugin with any name", async (store) => {
    const kept = { version: "1", revision: 1, state: 1 };
    const plugins = { "\u0000": kept, "a\u0000b \ud800": kept };
    await commit(store, await first(store), { plugins });
    await turn(store, "two", { plugins });
    assert.deepEqual((await store.load(alice))?.plugins, plugins);
  }),
  law("the next input is opened only after the commit, on the new head", async (store) => {
    const lease = await first(store);
    await queue(store, "more");
    assert.equal((await open(store, ben, NOW)).kind, "busy");
    await commit(store, lease, { says: ["one"] });
    assert.equal((await commit(store, await take(store), { says: ["two"] })).branch, undefined);
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("nodes are copied: a list that grows later changes nothing", async (store) => {
    const lease = await first(store);
    const turn = ended(lease, { says: ["one"] });
    await store.commit(lease, turn);
    (turn.entries as Entry[]).push(...turn.entries);
    assert.deepEqual(await said(store), ["one"]);
    await refused("fork.unknown", () => store.view(alice, { from: nodeId(lease.turnId, 1) }));
  }),
  law("a loaded session does not change with the next commit", async (store) => {
    await store.create(newSession(alice));
    const before = await store.load(alice);
    await turn(store, "hello", { usage: usage(1) });
    assert.deepEqual([before?.revision, before?.head, before?.usage], [0, undefined, NO_USAGE]);
  }),
  law("a commit against a moved head becomes a branch and moves nothing", async (store) => {
    await store.create(newSession(alice));
    const { head } = await turn(store, "one", { plugins: state(1), usage: usage(1) });
    const before = await store.load(alice);
    const lease = await begin(store, "late");
    // The turn has no base: it ran on an empty session, so for it the head has moved.
    const turn2 = ended(lease, { says: ["late", "later"], plugins: state(9), usage: usage(9) });
    const kept = await committed(store.commit(lease, turn2));
    assert.deepEqual([kept.branch, kept.head, kept.revision], [nodeId(lease.turnId, 1), head, 1]);
    assert.deepEqual(await store.load(alice), before);
    assert.deepEqual(await said(store), ["one"]);
  }),
  law("a branch can be read, off the head it ran on", async (store) => {
    await store.create(newSession(alice));
    const one = await turn(store, "one");
    await turn(store, "two");
    const lease = await begin(store, "late");
    const { branch } = await commit(store, lease, { says: ["late"], base: one.head! });
    assert.deepEqual(await said(store, alice, branch), ["one", "late"]);
    assert.deepEqual(await said(store), ["one", "two"]);
  }),
  law("a turn kept as a branch has ended", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "late");
    await queue(store, "more", { place: "boundary" });
    await claim(store, lease);
    const late = ended(lease, { inputs: [inputId("more")], usage: usage(9) });
    const kept = await committed(store.commit(lease, late));
    assert.deepEqual(await store.commit(lease, late), kept);
    const terminal = await store.terminal(lease.turnId);
    assert.deepEqual([terminal?.committed, terminal?.usage], [kept, usage(9)]);
    assert.equal((await open(store)).kind, "idle");
  }),
  law("a turn that is kept beside the path leaves the settings of its session", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "two");
    const { base: _, ...beside } = ended(lease, { config: { model: "another/model" } });
    assert.ok((await committed(store.commit(lease, beside))).branch !== undefined);
    assert.deepEqual((await store.load(alice))?.config, { model: "house/model" });
  }),
  law("a commit without settings leaves those of the session", async (store) => {
    await commit(store, await first(store));
    assert.deepEqual((await store.load(alice))?.config, { model: "house/model" });
  }),
];
