import assert from "node:assert/strict";
import { asCursor, asSessionId, type SessionId } from "../../../model/ids.ts";
import type { Subscription, TriggerSource, TriggerTarget } from "../../../model/trigger.ts";
import { alice, bob, NOW, newSession } from "../../cast.ts";
import { claimed, TASK } from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import {
  change,
  due,
  EVENT,
  found,
  INTERVAL,
  listed,
  occur,
  occurrences,
  scheduled,
  subscribe,
  subscription,
} from "../../trigger-cast.ts";
import { ODD } from "../acts.ts";
import { agenda, COMMITS, CRON, of, unchanged } from "./acts.ts";

const from = (source: string): TriggerSource => ({ kind: "event", event: EVENT, source });

const putLaws = [
  law("a subscription is kept as it is given", async (store) => {
    const job: TriggerTarget = { kind: "job", operation: TASK, input: { deep: [1, { a: null }] }, wake: "notify" };
    const all: readonly Partial<Subscription>[] = [
      {},
      { on: { kind: "event", event: ODD, source: ODD }, label: ODD, incarnation: ODD, starts: job },
      { on: CRON, next: NOW + 0.5, isEnabled: false },
      { on: INTERVAL, next: NOW + 20 },
      { on: INTERVAL },
      { on: COMMITS, after: asCursor("17") },
      { on: COMMITS, revision: 9, changedAt: NOW + 8 },
    ];
    for (const [nth, other] of all.entries()) {
      const made = await subscribe(store, `${nth}`, other);
      assert.deepEqual(await found(store, `${nth}`), made);
    }
    const odd = await subscribe(store, ODD);
    assert.deepEqual(await found(store, ODD), odd);
    assert.equal(await store.triggers.load(alice, "other"), undefined);
    assert.equal(await store.triggers.load(bob, "1"), undefined);
  }),
  law("a new subscription takes an id that no other has in the session", async (store) => {
    const first = await subscribe(store);
    await unchanged(store, () => refused("trigger.conflict", () => subscribe(store, "watch", { label: "another" })));
    await assert.rejects(async () => store.triggers.put(first, undefined, 100), {
      details: { id: "watch", revision: 1 },
    });
    await subscribe(store, "watch", { sessionId: bob, label: "of bob" });
    assert.deepEqual(await found(store), first);
    assert.equal((await found(store, "watch", bob)).label, "of bob");
  }),
  law("a subscription is changed at the revision that is named, and at no other", async (store) => {
    const first = await subscribe(store);
    const second = await change(store, first, { label: "second" });
    assert.deepEqual(await found(store), second);
    const third = { ...second, revision: 3, label: "third" };
    for (const before of [1, 3, 0])
      await unchanged(store, () => refused("trigger.conflict", () => store.triggers.put(third, before, 100)));
    await assert.rejects(async () => store.triggers.put(third, 1, 100), { details: { id: "watch", revision: 2 } });
    await store.triggers.remove(alice, "watch");
    await assert.rejects(async () => store.triggers.put(third, 2, 100), {
      code: "trigger.conflict",
      details: { id: "watch" },
    });
    assert.deepEqual(await listed(store), []);
  }),
  law("of two changes at once one is made", async (store) => {
    const first = await subscribe(store);
    const changes = await Promise.allSettled(["a", "b"].map((label) => change(store, first, { label })));
    assert.deepEqual(changes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const { revision, label } = await found(store);
    assert.deepEqual([revision, label], [2, changes[0]?.status === "fulfilled" ? "a" : "b"]);
  }),
  law("a change is of everything: what is waited for, from when on, and whether it is enabled", async (store) => {
    const first = await subscribe(store);
    const second = await change(store, first, { on: INTERVAL, next: NOW, incarnation: "another" });
    assert.deepEqual(await found(store), second);
    assert.deepEqual(await listed(store, { event: { name: EVENT } }), []);
    assert.deepEqual(await due(store, NOW), ["watch"]);
    const { next: _, ...timeless } = second;
    const third = await change(store, timeless, { on: COMMITS, after: asCursor("3") });
    assert.deepEqual(await found(store), third);
    assert.deepEqual([await due(store, NOW), await agenda(store)], [[], { hasCommits: true }]);
    const { after: __, ...rest } = third;
    const last = await change(store, rest, { on: from("a"), isEnabled: false });
    assert.deepEqual(await found(store), last);
    assert.deepEqual(await agenda(store), {});
  }),
  law("there is no subscription of a session that is not there", async (store) => {
    await refused("session.unknown", () => store.triggers.put(subscription(), undefined, 100));
    await refused("session.unknown", () => store.triggers.put(subscription(), 1, 100));
    await subscribe(store);
    await store.delete(alice);
    await refused("session.unknown", () => store.triggers.put(subscription(), undefined, 100));
    assert.deepEqual(await listed(store), []);
  }),
  law("a session has no more subscriptions than may be", async (store) => {
    const first = await subscribe(store, "a", {}, 2);
    await subscribe(store, "b", { isEnabled: false }, 2);
    await unchanged(store, () => refused("trigger.full", () => subscribe(store, "c", {}, 2)));
    await assert.rejects(async () => store.triggers.put(subscription("c"), undefined, 2), { details: { max: 2 } });
    await refused("trigger.conflict", () => subscribe(store, "a", {}, 2));
    await store.triggers.put({ ...first, revision: 2 }, 1, 1);
    await subscribe(store, "a", { sessionId: bob }, 1);
    await store.triggers.remove(alice, "b");
    await subscribe(store, "c", {}, 2);
    assert.deepEqual(await listed(store, { session: alice }), ["a", "c"]);
  }),
  law("a fork has no subscriptions of its origin", async (store) => {
    await subscribe(store);
    await store.fork(alice, newSession(bob));
    assert.deepEqual(await listed(store, { session: bob }), []);
    assert.deepEqual(await listed(store, { session: alice }), ["watch"]);
  }),
];

const removeLaws = [
  law("a subscription that is removed is gone", async (store) => {
    await scheduled(store, "watch", NOW);
    await subscribe(store, "other");
    assert.equal(await store.triggers.remove(alice, "watch"), true);
    assert.equal(await store.triggers.remove(alice, "watch"), false);
    assert.equal(await store.triggers.remove(bob, "other"), false);
    assert.equal(await store.triggers.load(alice, "watch"), undefined);
    assert.deepEqual([await listed(store), await due(store, NOW), await agenda(store)], [["other"], [], {}]);
  }),
  law("a subscription is removed at the revision that is named, and at no other", async (store) => {
    await change(store, await subscribe(store), { label: "second" });
    await unchanged(store, () => refused("trigger.conflict", () => store.triggers.remove(alice, "watch", 1)));
    assert.equal(await store.triggers.remove(alice, "watch", 2), true);
    assert.equal(await store.triggers.remove(alice, "watch", 2), false);
  }),
  law("work that a subscription has started continues without it, and its occurrences stay", async (store) => {
    const watch = await subscribe(store);
    await occur(store, "mail", [watch]);
    const before = await occurrences(store);
    await store.triggers.remove(alice, "watch");
    assert.deepEqual(await claimed(store), ["mail-watch"]);
    assert.deepEqual(await occurrences(store), before);
  }),
];

const carol = asSessionId("carol");

const listLaws = [
  law("subscriptions are listed by session and id, in pages", async (store) => {
    const all: readonly [SessionId, string][] = [
      [bob, "b"],
      [alice, "z"],
      [carol, "a"],
      [alice, "b"],
      [bob, "a"],
    ];
    for (const [sessionId, id] of all) await subscribe(store, id, { sessionId, isEnabled: id !== "b" });
    const right = ["alice/b", "alice/z", "bob/a", "bob/b", "carol/a"];
    assert.deepEqual(await of(store), right);
    assert.deepEqual(await of(store, { max: 2 }), right.slice(0, 2));
    assert.deepEqual(await of(store, { max: 2, after: { session: alice, id: "z" } }), right.slice(2, 4));
    assert.deepEqual(await of(store, { after: { session: bob, id: "b" } }), right.slice(4));
    assert.deepEqual(await of(store, { after: { session: carol, id: "a" } }), []);
    assert.deepEqual(await of(store, { session: bob }), ["bob/a", "bob/b"]);
    assert.deepEqual(await of(store, { session: bob, after: { session: bob, id: "a" } }), ["bob/b"]);
    assert.deepEqual(await of(store, { session: asSessionId("dave") }), []);
  }),
  law("a list of subscriptions continues after one that does not exist any more", async (store) => {
    for (const id of ["a", "b", "c"]) await subscribe(store, id);
    for (const id of ["a", "b"]) await subscribe(store, id, { sessionId: bob });
    await subscribe(store, "a", { sessionId: carol });
    await store.triggers.remove(alice, "b");
    assert.deepEqual(await of(store, { after: { session: alice, id: "b" }, max: 2 }), ["alice/c", "bob/a"]);
    assert.deepEqual(await of(store, { after: { session: alice, id: "b" }, session: alice }), ["alice/c"]);
    const event = { name: EVENT };
    await store.delete(bob);
    assert.deepEqual(await of(store, { after: { session: bob, id: "a" }, event }), ["carol/a"]);
    assert.deepEqual(await of(store, { after: { session: alice, id: "" } }), ["alice/a", "alice/c", "carol/a"]);
  }),
  law("an event meets those that wait for it, from where it comes or from anywhere", async (store) => {
    await subscribe(store, "any");
    await subscribe(store, "home", { on: from("home") });
    await subscribe(store, "office", { on: from("office") });
    await subscribe(store, "asleep", { isEnabled: false });
    await subscribe(store, "other", { on: { kind: "event", event: "mail" } });
    await subscribe(store, "turns", { on: COMMITS });
    await scheduled(store, "clock");
    await subscribe(store, "any", { sessionId: bob });
    const met = (source?: string) => of(store, { event: { name: EVENT, ...(source === undefined ? {} : { source }) } });
    assert.deepEqual(await met(), ["alice/any", "bob/any"]);
    assert.deepEqual(await met("home"), ["alice/any", "alice/home", "bob/any"]);
    assert.deepEqual(await met("elsewhere"), ["alice/any", "bob/any"]);
    assert.deepEqual(await of(store, { event: { name: "mail.lost" } }), []);
    const page = { event: { name: EVENT, source: "office" }, max: 1 };
    assert.deepEqual(await of(store, { ...page, after: { session: alice, id: "any" } }), ["alice/office"]);
    assert.deepEqual(await of(store, { ...page, session: bob }), ["bob/any"]);
    await change(store, await found(store, "asleep"), { isEnabled: true });
    await change(store, await found(store, "any"), { isEnabled: false });
    assert.deepEqual(await met(), ["alice/asleep", "bob/any"]);
  }),
  law("subscriptions are listed by what they wait for, those that are enabled", async (store) => {
    await subscribe(store, "mail");
    await subscribe(store, "cron", { on: CRON });
    await subscribe(store, "clock", { on: INTERVAL });
    await subscribe(store, "turns", { on: COMMITS });
    for (const [id, on] of [["mail2"], ["clock2", INTERVAL], ["turns2", COMMITS]] as const)
      await subscribe(store, id, { isEnabled: false, ...(on === undefined ? {} : { on }) });
    assert.deepEqual(await listed(store, { kinds: ["commits"] }), ["turns"]);
    assert.deepEqual(await listed(store, { kinds: ["event"] }), ["mail"]);
    assert.deepEqual(await listed(store, { kinds: ["cron", "interval"] }), ["clock", "cron"]);
    assert.deepEqual(await listed(store, { kinds: [] }), []);
    assert.deepEqual(await listed(store, { kinds: ["commits"], event: { name: EVENT } }), []);
    assert.deepEqual(await listed(store, { kinds: ["cron", "interval"], session: bob }), []);
    const after = { session: alice, id: "clock" };
    assert.deepEqual(await listed(store, { kinds: ["cron", "interval"], after }), ["cron"]);
  }),
];

export const subscriptionLaws: readonly StoreLaw[] = [...putLaws, ...removeLaws, ...listLaws];
