import assert from "node:assert/strict";
import { asSessionId, asWaitKey, type WaitKey } from "../../model/ids.ts";
import { waitIdOf } from "../../model/wait.ts";
import type { StoredWait } from "../../stores/store.ts";
import {
  alice,
  approval,
  begin,
  ben,
  bob,
  commit,
  ended,
  NOW,
  newSession,
  newWait,
  slept,
  turn,
  turnId,
} from "../cast.ts";
import { law, type StoreLaw } from "../law.ts";
import {
  answer,
  deferred,
  FACTS,
  factKinds,
  first,
  late,
  listed,
  no,
  OTHER,
  resolvedOf,
  revoked,
  said,
  stop,
  take,
  WAIT,
  waits,
  yes,
} from "./acts.ts";

export const waitLaws: readonly StoreLaw[] = [
  law("D4 a wait is answered once, and the first answer stands", async (store) => {
    const lease = await waits(store);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "accepted", sessionId: alice });
    assert.deepEqual(await store.waits.resolve(WAIT, no, NOW), { said: "already-resolved", sessionId: alice });
    assert.equal(await answer(store, late), "already-resolved");
    assert.equal(await answer(store, revoked), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: yes }]);
    assert.deepEqual((await store.waits.get(waitIdOf(WAIT)))?.answer, yes);
  }),
  law("D4 an answer to an unknown key is refused and not stored", async (store) => {
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    const lease = await waits(store);
    assert.equal(await answer(store, yes, asWaitKey(waitIdOf(WAIT))), "unknown");
    assert.equal(await answer(store, yes, asWaitKey(WAIT.slice(0, -1))), "unknown");
    assert.equal(await resolvedOf(store, lease), undefined);
  }),
  law("an answer is in every mail until the turn ends", async (store) => {
    const lease = await waits(store);
    assert.equal(await resolvedOf(store, lease), undefined);
    await answer(store, yes);
    const resolved = [{ key: WAIT, answer: yes }];
    assert.deepEqual(await resolvedOf(store, lease), resolved);
    await store.append(lease, 2, [slept("a")], NOW);
    assert.deepEqual(await resolvedOf(store, lease), resolved);
  }),
  law("answers are in the mail in the order in which they came", async (store) => {
    const lease = await waits(store);
    const keys = ["c", "a", "b"].map(asWaitKey);
    await store.append(
      lease,
      2,
      [slept("a")],
      NOW,
      ["a", "b", "c"].map(asWaitKey).map((key) => newWait(key)),
    );
    for (const key of keys) await answer(store, { ...yes, by: key }, key);
    const resolved = keys.map((key) => ({ key, answer: { ...yes, by: key } }));
    assert.deepEqual(await resolvedOf(store, lease), resolved);
  }),
  law("D4 an answer to an unheld turn is in the next holder's mail", async (store) => {
    await store.release(await waits(store));
    await answer(store, yes);
    const mail = await store.renew(await take(store, ben, NOW), NOW);
    assert.deepEqual(mail.resolved, [{ key: WAIT, answer: yes }]);
  }),
  law("an answer is in the mail of its turn only", async (store) => {
    await waits(store);
    const other = await first(store, "hi", { to: bob });
    await answer(store, yes);
    assert.equal(await resolvedOf(store, other), undefined);
  }),
  law("the same append again leaves an answered wait answered, and repeats no fact", async (store) => {
    const lease = await waits(store);
    await answer(store, yes);
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: yes }]);
    assert.deepEqual(await factKinds(store), ["accepted", "waiting", "resolved"]);
  }),
  law("a value is accepted until its deadline, and not then", async (store) => {
    const lease = await waits(store);
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW + 10), { said: "expired", sessionId: alice });
    assert.equal(await answer(store, yes, WAIT, NOW + 11), "expired");
    assert.equal(await resolvedOf(store, lease), undefined);
    assert.deepEqual(await factKinds(store), ["accepted", "waiting"]);
    assert.equal(await answer(store, yes, WAIT, NOW + 9), "accepted");
    assert.equal(await answer(store, yes, WAIT, NOW + 10), "already-resolved");
  }),
  law("a timeout is an answer, recorded whenever it is reported", async (store) => {
    const lease = await waits(store);
    assert.equal(await answer(store, late, WAIT, NOW), "accepted");
    assert.equal(await answer(store, yes, WAIT, NOW), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: late }]);
  }),
  law("D4 a revoked wait cannot be answered, and the mail of its turn has it", async (store) => {
    const lease = await waits(store);
    assert.equal(await answer(store, { ...revoked, by: "the boss" }, WAIT, NOW + 50), "accepted");
    assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
    assert.equal(await answer(store, late), "unknown");
    assert.deepEqual(await listed(store), []);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: WAIT, answer: { ...revoked, by: "the boss" } }]);
  }),
  law("D4 with the end of its turn a wait cannot be answered", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER, { isEarly: true })]);
    await commit(store, lease);
    for (const key of [WAIT, OTHER])
      for (const given of [yes, late, revoked])
        assert.deepEqual(await store.waits.resolve(key, given, NOW), { said: "unknown" });
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.equal(await store.waits.get(waitIdOf(OTHER)), undefined);
    assert.deepEqual(await listed(store), []);
  }),
  law("a commit that is reopened ends no wait", async (store) => {
    const lease = await waits(store);
    await store.cancel(lease.turnId, stop("r1"));
    await store.commit(lease, ended(lease));
    assert.equal(await answer(store, yes), "accepted");
  }),
  law("a wait of the next turn is another one, though it has the same key", async (store) => {
    await commit(store, await waits(store));
    const lease = await begin(store, "again");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, yes), "accepted");
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.turnId, turnId("again"));
    assert.deepEqual(await factKinds(store), ["accepted", "waiting", "committed", "accepted", "waiting", "resolved"]);
  }),
  law("a wait has its subject, its owner and its facts", async (store) => {
    await store.create(newSession(bob));
    await store.create({ ...newSession(alice), parentId: bob });
    const lease = await begin(store, "hello");
    const schema = { type: "object" };
    const about = { ...approval, kind: "question", schema } as const;
    await store.append(lease, 1, [slept("a")], NOW, [newWait(WAIT, { about, at: NOW + 1, until: NOW + 9 })]);
    const wait: StoredWait = {
      id: waitIdOf(WAIT),
      key: WAIT,
      sessionId: alice,
      path: [bob, alice],
      turnId: turnId("hello"),
      effect: newWait(WAIT).effect,
      at: NOW + 1,
      until: NOW + 9,
      about,
      askedAs: (await store.latest())!,
    };
    assert.deepEqual(await store.waits.list({ max: 10 }), [wait]);
    assert.deepEqual(await store.waits.get(wait.id), wait);
    const by = { ...yes, by: "Ann" };
    await answer(store, by);
    assert.deepEqual(await store.waits.get(wait.id), { ...wait, answer: by, answeredAs: await store.latest() });
    assert.deepEqual(await store.waits.list({ max: 10 }), []);
  }),
  law("the path to a wait goes as far up as is known", async (store) => {
    const [root, middle] = [asSessionId("root"), asSessionId("middle")];
    await store.create(newSession(root));
    await store.create({ ...newSession(middle), parentId: root });
    await store.create({ ...newSession(alice), parentId: middle });
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    const path = async () => (await store.waits.get(waitIdOf(WAIT)))?.path;
    assert.deepEqual(await path(), [root, middle, alice]);
    await store.delete(root);
    assert.deepEqual(await path(), [root, middle, alice]);
    await store.delete(middle);
    assert.deepEqual(await path(), [middle, alice]);
  }),
  law("waits are listed oldest first, of all sessions, of one, or of a tree", async (store) => {
    await store.create(newSession(alice));
    await store.create({ ...newSession(bob), parentId: alice });
    const [one, two] = [await begin(store, "hello"), await begin(store, "hi", { to: bob })];
    const keys = ["d", "b", "c", "a"].map(asWaitKey);
    const [d, b, c, a] = keys as [WaitKey, WaitKey, WaitKey, WaitKey];
    await store.append(two, 1, [slept("a")], NOW, [newWait(d)]);
    await store.append(one, 1, [slept("a")], NOW, [newWait(b), newWait(c)]);
    await store.append(two, 2, [slept("b")], NOW, [newWait(a)]);
    assert.deepEqual(await listed(store), keys);
    assert.deepEqual(await listed(store, { max: 2 }), [d, b]);
    assert.deepEqual(await listed(store, { after: waitIdOf(b) }), [c, a]);
    assert.deepEqual(await listed(store, { session: alice }), [b, c]);
    assert.deepEqual(await listed(store, { session: bob, max: 1 }), [d]);
    assert.deepEqual(await listed(store, { session: bob, after: waitIdOf(d), max: 1 }), [a]);
    assert.deepEqual(await listed(store, { tree: alice }), keys);
    assert.deepEqual(await listed(store, { tree: alice, after: waitIdOf(c) }), [a]);
    assert.deepEqual(await listed(store, { tree: bob }), [d, a]);
    assert.deepEqual(await listed(store, { session: asSessionId("nobody") }), []);
  }),
  law("a list continues after a wait that was answered, or whose turn has ended", async (store) => {
    const lease = await waits(store);
    await waits(store, "hi", { to: bob }, OTHER);
    await answer(store, yes);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), [OTHER]);
    await commit(store, lease);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), [OTHER]);
    assert.deepEqual(await listed(store, { after: waitIdOf(OTHER) }), []);
    await store.delete(alice);
    assert.deepEqual(await listed(store, { after: waitIdOf(WAIT) }), []);
  }),
  law("D4 an early wait can be answered; it is listed, and a fact, when it is given again", async (store) => {
    const lease = await first(store);
    const early = newWait(WAIT, { isEarly: true, until: NOW + 5 });
    await store.append(lease, 0, [], NOW, [early]);
    await store.append(lease, 0, [], NOW, [early]);
    assert.deepEqual([await listed(store), await factKinds(store)], [[], ["accepted"]]);
    assert.equal("askedAs" in (await store.waits.get(waitIdOf(WAIT)))!, false);
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    assert.deepEqual([await listed(store), await factKinds(store)], [[WAIT], ["accepted", "waiting"]]);
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.until, NOW + 10);
    await store.append(lease, 1, [deferred()], NOW, [early]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, yes, WAIT, NOW + 6), "accepted");
    assert.deepEqual(await factKinds(store), ["accepted", "waiting", "resolved"]);
  }),
  law("D4 the answer to an early wait is a fact right after the question", async (store) => {
    const lease = await first(store);
    await store.append(lease, 0, [], NOW, [newWait(WAIT, { isEarly: true }), newWait(OTHER, { isEarly: true })]);
    await answer(store, { ...yes, by: "Ann" }, OTHER);
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: { ...yes, by: "Ann" } }]);
    assert.deepEqual(await factKinds(store), ["accepted"]);
    await store.append(lease, 1, [deferred()], NOW, [newWait(OTHER), newWait(WAIT)]);
    assert.deepEqual(await factKinds(store), ["accepted", "waiting", "resolved", "waiting"]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal(await answer(store, no, OTHER), "already-resolved");
    assert.deepEqual(await resolvedOf(store, lease), [{ key: OTHER, answer: { ...yes, by: "Ann" } }]);
  }),
  law("a question and its answer are facts, for all, for the session and for its tree", async (store) => {
    await store.create(newSession(alice));
    await store.create({ ...newSession(bob), parentId: alice });
    const lease = await begin(store, "hi", { to: bob });
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    const asked = await store.latest();
    await answer(store, { ...yes, by: "Ann" });
    const answered = await store.latest();
    const { about, effect, until } = newWait(WAIT);
    const one = { sessionId: bob, turnId: turnId("hi"), wait: waitIdOf(WAIT), effect };
    const facts = [
      { kind: "waiting", cursor: asked, ...one, about, until },
      { kind: "resolved", cursor: answered, ...one, wants: "approval", how: "value", by: "Ann" },
    ];
    const cursor = (await store.changes(undefined, { max: 1 }))[0]!.cursor;
    for (const which of [{}, { session: bob }, { tree: bob }, { tree: alice }]) {
      assert.deepEqual(await store.changes(cursor, { ...which, ...FACTS }), facts);
      assert.deepEqual(await store.changes(asked, { ...which, ...FACTS }), facts.slice(1));
      assert.deepEqual(await store.changes(cursor, { ...which, max: 1 }), facts.slice(0, 1));
      assert.deepEqual(await store.changes(answered, { ...which, ...FACTS }), []);
    }
    assert.deepEqual(await store.changes(cursor, { session: alice, ...FACTS }), []);
  }),
  law("each kind of answer is a fact, without the key and the value", async (store) => {
    const lease = await first(store);
    const keys = ["key-one", "key-two", "key-three", "key-four"].map(asWaitKey);
    await store.append(
      lease,
      1,
      [slept("a")],
      NOW,
      keys.map((key) => newWait(key)),
    );
    const secret = { kind: "value", value: "a secret value" } as const;
    for (const [index, given] of [secret, late, revoked].entries()) await answer(store, given, keys[index]);
    const how = async () =>
      (await store.changes(undefined, FACTS)).flatMap((each) => (each.kind === "resolved" ? each.how : []));
    assert.deepEqual(await how(), ["value", "timeout", "revoked"]);
    for (const text of ["key-", "secret"])
      assert.equal(JSON.stringify(await store.changes(undefined, FACTS)).includes(text), false);
    await commit(store, lease);
    assert.deepEqual(await how(), ["value", "timeout", "revoked"]);
  }),
  law("slow readers receive the facts of waits after the turn's end, until the session is deleted", async (store) => {
    const lease = await waits(store);
    await answer(store, { ...yes, by: "Ann" });
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER)]);
    const before = await store.changes(undefined, FACTS);
    await commit(store, lease, { says: [said("hello")] });
    const after = await store.changes(undefined, FACTS);
    assert.deepEqual(after.slice(0, -1), before);
    assert.deepEqual(await factKinds(store), ["accepted", "waiting", "resolved", "waiting", "committed"]);
    assert.deepEqual(await store.changes(before.at(-1)?.cursor, FACTS), after.slice(-1));
    const latest = await store.latest();
    await store.delete(alice);
    assert.deepEqual(await store.changes(undefined, FACTS), []);
    assert.equal(await store.latest(), latest);
    assert.deepEqual(await store.changes(before[1]?.cursor, FACTS), []);
  }),
  law("the number of a wait's fact is not used again, though its session is deleted", async (store) => {
    await waits(store);
    await answer(store, yes);
    const latest = Number(await store.latest());
    await store.delete(alice);
    await first(store, "hi", { to: bob });
    assert.ok(Number(await store.latest()) > latest);
  }),
  law("D4 deleting a session revokes its waits", async (store) => {
    const lease = await waits(store);
    await store.append(lease, 2, [slept("a")], NOW, [newWait(OTHER, { isEarly: true })]);
    await store.delete(alice);
    for (const key of [WAIT, OTHER]) assert.equal(await answer(store, yes, key), "unknown");
    assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
    assert.deepEqual(await listed(store), []);
  }),
  law("a fork has none of its origin's waits", async (store) => {
    await store.create(newSession(alice));
    await turn(store, "one");
    const lease = await begin(store, "hello");
    await store.append(lease, 1, [deferred()], NOW, [newWait(WAIT)]);
    await store.fork(alice, newSession(bob));
    assert.deepEqual(await listed(store, { session: bob }), []);
    assert.deepEqual(await factKinds(store, { session: bob }), []);
    assert.equal((await store.waits.get(waitIdOf(WAIT)))?.sessionId, alice);
  }),
  law("waits that are given without an event are kept", async (store) => {
    const lease = await first(store);
    await store.append(lease, 1, [], NOW, [newWait(WAIT)]);
    assert.deepEqual(await listed(store), [WAIT]);
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
  }),
];
