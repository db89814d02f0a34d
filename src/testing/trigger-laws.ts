// long: one list of laws
import assert from "node:assert/strict";
import { asCursor, asSessionId, asWaitKey, type SessionId } from "../model/ids.ts";
import type { Subscription, TriggerSource, TriggerTarget } from "../model/trigger.ts";
import type { Agenda, NewDelivery, Store } from "../stores/store.ts";
import { alice, begin, bob, NOW, newSession, newWait, slept, turnId } from "./cast.ts";
import {
  claimed,
  claimJobs,
  end,
  jobId,
  listed as listedJobs,
  liveIn,
  newJob,
  spawn,
  stored,
  TASK,
} from "./job-cast.ts";
import { law, refused, type StoreLaw } from "./law.ts";
import {
  change,
  delivery,
  due,
  EVENT,
  found,
  happened,
  INTERVAL,
  jobsAmong,
  listed,
  MAIL,
  moved,
  occur,
  occurrence,
  occurrences,
  occurs,
  scheduled,
  sourceOf,
  subscribe,
  subscription,
} from "./trigger-cast.ts";

const carol = asSessionId("carol");
const COMMITS: TriggerSource = { kind: "commits" };
const CRON: TriggerSource = { kind: "cron", cron: "0 9 * * *", timeZone: "Europe/Vienna", missed: "all" };
const from = (source: string): TriggerSource => ({ kind: "event", event: EVENT, source });
const ODD = "odd \u0000 \ud800 \udc00\ud800 é 😀 ' \" \\ \n";

/** All that there is of triggers and their jobs: what must not have changed when nothing was written. */
const everything = async (store: Store): Promise<unknown> => ({
  subscriptions: await store.triggers.list({ max: 100 }),
  occurrences: await occurrences(store),
  jobs: await store.jobs.list({ max: 100 }),
});
async function unchanged<T>(store: Store, act: () => Promise<T>): Promise<T> {
  const before = await everything(store);
  const answer = await act();
  assert.deepEqual(await everything(store), before);
  return answer;
}
type Told = Pick<Agenda, "hasSchedules" | "hasCommits" | "next">;
const agenda = async (store: Store, now = NOW): Promise<Told> => {
  const { hasSchedules, hasCommits, next } = await store.agenda(now, 10, [TASK]);
  return {
    ...(hasSchedules === undefined ? {} : { hasSchedules }),
    ...(hasCommits === undefined ? {} : { hasCommits }),
    ...(next === undefined ? {} : { next }),
  };
};

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
  law("what a subscription has started goes on without it, and what has happened stays", async (store) => {
    const watch = await subscribe(store);
    await occur(store, "mail", [watch]);
    const before = await occurrences(store);
    await store.triggers.remove(alice, "watch");
    assert.deepEqual(await claimed(store), ["mail-watch"]);
    assert.deepEqual(await occurrences(store), before);
  }),
];

const of = async (store: Store, page: Partial<Parameters<Store["triggers"]["list"]>[0]> = {}) =>
  (await store.triggers.list({ max: 100, ...page })).map(({ sessionId, id }) => `${sessionId}/${id}`);

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
  law("a list of subscriptions goes on after one that is not there any more", async (store) => {
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

const dueLaws = [
  law("schedules are due when their time has come, the longest due first", async (store) => {
    await scheduled(store, "b", NOW + 2);
    await scheduled(store, "a", NOW + 3);
    await scheduled(store, "d", NOW + 1, { sessionId: bob });
    await scheduled(store, "c", NOW + 2, { on: CRON });
    assert.deepEqual(await due(store, NOW), []);
    assert.deepEqual(await due(store, NOW + 1), ["d"]);
    assert.deepEqual(await due(store, NOW + 2), ["d", "b", "c"]);
    assert.deepEqual(await due(store, NOW + 99), ["d", "b", "c", "a"]);
    assert.deepEqual(await due(store, NOW + 99, 2), ["d", "b"]);
    assert.deepEqual(await store.triggers.due(NOW + 1, 9), [await found(store, "d", bob)]);
  }),
  law("nothing else is due", async (store) => {
    await scheduled(store, "asleep", NOW, { isEnabled: false });
    await subscribe(store, "never", { on: INTERVAL });
    await subscribe(store, "mail");
    await subscribe(store, "turns", { on: COMMITS });
    assert.deepEqual(await due(store, NOW + 99), []);
    const woken = await change(store, await found(store, "asleep"), { isEnabled: true });
    assert.deepEqual(await due(store, NOW + 99), ["asleep"]);
    await change(store, woken, { isEnabled: false });
    assert.deepEqual(await due(store, NOW + 99), []);
  }),
];

const moveLaws = [
  law("a schedule is moved to its next time, which is no change of it", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    assert.equal(await store.triggers.move(moved(clock, { next: NOW + 5 })), true);
    assert.deepEqual(await found(store, "clock"), { ...clock, next: NOW + 5 });
    assert.deepEqual([await due(store, NOW), await due(store, NOW + 5)], [[], ["clock"]]);
    await change(store, await found(store, "clock"), { label: "second" });
  }),
  law("a schedule that never occurs again has no next time", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    assert.equal(await store.triggers.move(moved(clock, {})), true);
    const { next: _, ...rest } = clock;
    assert.deepEqual(await found(store, "clock"), rest);
    assert.deepEqual([await due(store, NOW + 99), await agenda(store)], [[], {}]);
    assert.equal(await store.triggers.move(moved(rest, { next: NOW + 1 })), true);
    assert.deepEqual(await due(store, NOW + 1), ["clock"]);
  }),
  law("a subscription that was changed is not moved by who has not seen it, wherever it stands", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const second = await change(store, clock, { on: CRON });
    const move = moved(clock, { next: NOW + 10 });
    assert.equal(await unchanged(store, async () => store.triggers.move(move)), false);
    assert.equal(await unchanged(store, () => occurs(store, "tick", [second], { moved: move })), "stale");
    assert.equal(await store.triggers.move(moved(second, { next: NOW + 10 })), true);
  }),
  law("a subscription that stands elsewhere is not moved", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const turns = await subscribe(store, "turns", { on: COMMITS, after: asCursor("3") });
    const { next: _, ...timeless } = clock;
    const { after: __, ...fresh } = turns;
    const wrong = [
      { ...clock, next: NOW + 1 },
      timeless,
      { ...clock, after: asCursor("3") },
      { ...clock, incarnation: "another" },
      { ...clock, revision: 2 },
      { ...clock, sessionId: bob },
      { ...clock, id: "other" },
      { ...turns, after: asCursor("2") },
      fresh,
    ];
    for (const each of wrong)
      assert.equal(await unchanged(store, async () => store.triggers.move(moved(each, { next: NOW + 9 }))), false);
  }),
  law("of two that move a subscription from one place one does", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const moves = await Promise.all([1, 2].map(async (ms) => store.triggers.move(moved(clock, { next: NOW + ms }))));
    assert.deepEqual([...moves].sort(), [false, true]);
    assert.equal((await found(store, "clock")).next, NOW + (moves[0] ? 1 : 2));
  }),
  law("commits are told up to where a subscription was moved", async (store) => {
    const turns = await subscribe(store, "turns", { on: COMMITS });
    assert.equal(await store.triggers.move(moved(turns, { after: asCursor("5") })), true);
    const then = await found(store, "turns");
    assert.deepEqual(then, { ...turns, after: asCursor("5") });
    assert.equal(await store.triggers.move(moved(turns, { after: asCursor("6") })), false);
    assert.equal(await store.triggers.move(moved(then, { after: asCursor("6") })), true);
  }),
  law("a subscription that is not enabled can be moved", async (store) => {
    const clock = await scheduled(store, "clock", NOW, { isEnabled: false });
    assert.equal(await store.triggers.move(moved(clock, { next: NOW + 5 })), true);
    assert.deepEqual(await found(store, "clock"), { ...clock, next: NOW + 5 });
    assert.deepEqual(await due(store, NOW + 99), []);
  }),
];

const agendaLaws = [
  law("the agenda tells of schedules that are due, and when others will be; time alone brings that", async (store) => {
    assert.deepEqual(await agenda(store), {});
    await scheduled(store, "a", NOW + 10);
    await scheduled(store, "b", NOW + 20, { sessionId: bob });
    const hasSchedules = true;
    assert.deepEqual(await agenda(store), { next: NOW + 10 });
    assert.deepEqual(await agenda(store, NOW + 9), { next: NOW + 10 });
    assert.deepEqual(await agenda(store, NOW + 10), { hasSchedules, next: NOW + 20 });
    assert.deepEqual(await agenda(store, NOW + 11), { hasSchedules, next: NOW + 20 });
    assert.deepEqual(await agenda(store, NOW + 20), { hasSchedules });
    assert.deepEqual(await agenda(store, NOW), { next: NOW + 10 });
  }),
  law("the agenda follows what becomes of a schedule", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const hasSchedules = true;
    assert.deepEqual(await agenda(store), { hasSchedules });
    await store.triggers.move(moved(clock, { next: NOW + 5 }));
    assert.deepEqual(await agenda(store), { next: NOW + 5 });
    const asleep = await change(store, await found(store, "clock"), { isEnabled: false });
    assert.deepEqual([await agenda(store), await agenda(store, NOW + 5)], [{}, {}]);
    await change(store, asleep, { isEnabled: true, next: NOW + 7 });
    assert.deepEqual(await agenda(store), { next: NOW + 7 });
    await store.triggers.remove(alice, "clock");
    assert.deepEqual(await agenda(store), {});
  }),
  law("the agenda tells whether somebody waits for commits", async (store) => {
    await subscribe(store, "mail");
    assert.deepEqual(await agenda(store), {});
    const turns = await subscribe(store, "turns", { on: COMMITS });
    assert.deepEqual(await agenda(store), { hasCommits: true });
    const asleep = await change(store, turns, { isEnabled: false });
    assert.deepEqual(await agenda(store), {});
    await change(store, asleep, { isEnabled: true });
    assert.deepEqual(await agenda(store), { hasCommits: true });
    await store.triggers.remove(alice, "turns");
    assert.deepEqual(await agenda(store), {});
  }),
  law("the agenda's next time is the earliest of turns, jobs and schedules", async (store) => {
    await store.create(newSession(bob));
    const lease = await begin(store, "hello", { to: bob });
    const key = asWaitKey("wait");
    await store.append(lease, 1, [slept("a")], NOW, [newWait(key, { until: NOW + 30 })]);
    await store.park(lease, { turnId: turnId("hello"), wakeAt: NOW + 30, waits: [key] }, NOW);
    assert.deepEqual(await agenda(store), { next: NOW + 30 });
    const clock = await scheduled(store, "clock", NOW + 40);
    assert.deepEqual(await agenda(store), { next: NOW + 30 });
    await spawn(store, "late", { notBefore: NOW + 20 });
    assert.deepEqual(await agenda(store), { next: NOW + 20 });
    await store.triggers.move(moved(clock, { next: NOW + 10 }));
    assert.deepEqual(await agenda(store), { next: NOW + 10 });
    assert.equal((await store.agenda(NOW, 10)).next, NOW + 10);
    assert.deepEqual(await agenda(store, NOW + 10), { hasSchedules: true, next: NOW + 20 });
  }),
];

const occurLaws = [
  law("what happens is kept, with the jobs that it starts and the next time of its schedule", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const other = await subscribe(store, "other", { sessionId: bob });
    const starts = [delivery("mail", clock), delivery("mail", other, { input: { a: 1 } })];
    const answer = await store.triggers.occur(occurrence(), starts, 100, moved(clock, { next: NOW + 10 }));
    const kept = {
      ...occurrence(),
      deliveries: [
        { sessionId: alice, subscription: "clock", revision: 1, jobId: jobId("mail-clock") },
        { sessionId: bob, subscription: "other", revision: 1, jobId: jobId("mail-other") },
      ],
    };
    assert.deepEqual(answer, { kind: "occurred", occurrence: kept });
    assert.deepEqual(await occurrences(store), [kept]);
    assert.deepEqual(await found(store, "clock"), { ...clock, next: NOW + 10 });
    assert.equal((await store.agenda(NOW, 10, [TASK])).hasJobs, true);
    assert.deepEqual((await stored(store, "mail-other")).record.input, { a: 1 });
    assert.deepEqual(await claimed(store), ["mail-clock", "mail-other"]);
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
  }),
  law("all that is said of what happened is kept", async (store) => {
    const watch = await subscribe(store, ODD, { incarnation: ODD });
    const { sessionId, id, revision } = watch;
    const payload = JSON.parse(`{"__proto__": {"a": 1}, "": [null, ${JSON.stringify(ODD)}]}`);
    const given = { id: ODD, source: ODD, payload, at: NOW + 0.5 };
    const lost: NewDelivery = { sessionId, subscription: id, revision, incarnation: ODD, lost: "full" };
    const opens: NewDelivery = { ...delivery(ODD, watch), turnId: turnId(ODD) };
    await store.triggers.occur(given, [lost, opens], 100);
    const { incarnation: _, ...first } = lost;
    const { incarnation: __, job: ___, ...second } = opens;
    assert.deepEqual(await occurrences(store, { source: ODD }), [{ ...given, deliveries: [first, second] }]);
    assert.deepEqual(await listedJobs(store), [`${ODD}-${ODD}`]);
    await store.triggers.occur(occurrence("null", { payload: null }), [], 100);
    assert.deepEqual((await occurrences(store))[0], { ...occurrence("null"), payload: null, deliveries: [] });
  }),
  law("the same occurrence twice is one, and is answered with what was started then", async (store) => {
    const watch = await subscribe(store);
    const other = await subscribe(store, "other");
    const first = await occur(store, "mail", [watch]);
    assert.ok(first.kind === "occurred");
    const again = await unchanged(store, () => occur(store, "mail", [watch, other], { payload: "other", at: NOW + 9 }));
    assert.deepEqual(again, { kind: "known", occurrence: first.occurrence });
    assert.deepEqual(await jobsAmong(store, "mail-watch", "mail-other"), ["mail-watch"]);
    const [job] = await claimJobs(store);
    await end(store, job!.lease);
    await unchanged(store, () => occur(store, "mail", [watch]));
  }),
  law("of two that tell the same occurrence at once one begins its jobs", async (store) => {
    const watch = await subscribe(store);
    const told = await Promise.all([1, 2, 3].map(() => occurs(store, "mail", [watch])));
    assert.deepEqual([...told].sort(), ["known", "known", "occurred"]);
    assert.deepEqual(await claimed(store), ["mail-watch"]);
  }),
  law("an occurrence is known whatever became of its subscription", async (store) => {
    const watch = await subscribe(store);
    const { kind, ...first } = await occur(store, "mail", [watch]);
    assert.equal(kind, "occurred");
    const asleep = await change(store, watch, { isEnabled: false });
    assert.deepEqual(await occur(store, "mail", [watch]), { kind: "known", ...first });
    assert.deepEqual(await occur(store, "mail", [asleep]), { kind: "known", ...first });
    await store.triggers.remove(alice, "watch");
    assert.deepEqual(await occur(store, "mail", [watch]), { kind: "known", ...first });
  }),
  law("an occurrence that is known moves its subscription, once", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    await occur(store, "tick", [clock]);
    assert.equal((await found(store, "clock")).next, NOW);
    const on = { moved: moved(clock, { next: NOW + 10 }) };
    assert.equal(await occurs(store, "tick", [clock], on), "known");
    assert.equal((await found(store, "clock")).next, NOW + 10);
    const back = { moved: moved(clock, { next: NOW + 5 }) };
    assert.equal(await unchanged(store, () => occurs(store, "tick", [clock], back)), "known");
  }),
  law("nothing is delivered to a subscription that was changed, disabled, removed or made again", async (store) => {
    const fine = await subscribe(store, "fine");
    const clock = await scheduled(store, "clock", NOW);
    const move = moved(clock, { next: NOW + 10 });
    const stale = async (...to: readonly Subscription[]): Promise<void> => {
      assert.equal(await unchanged(store, () => occurs(store, "mail", to, { moved: move })), "stale");
    };
    const first = await subscribe(store);
    const second = await change(store, first, { label: "second" });
    await stale(fine, first);
    await stale({ ...second, revision: 3 }, fine);
    const asleep = await change(store, second, { isEnabled: false });
    await stale(fine, asleep);
    await store.triggers.remove(alice, "watch");
    await stale(asleep);
    await subscribe(store, "watch", { revision: 3, incarnation: "another" });
    await stale({ ...asleep, isEnabled: true });
    const gone = await subscribe(store, "gone", { sessionId: bob });
    await store.delete(bob);
    await stale(fine, gone);
    assert.equal(await occurs(store, "mail", [fine], { moved: move }), "occurred");
  }),
  law("a delivery that is lost is refused like others", async (store) => {
    const watch = await subscribe(store);
    await change(store, watch, { isEnabled: false });
    const { jobId: _, job: __, ...rest } = delivery("mail", watch);
    const answer = await unchanged(store, async () =>
      store.triggers.occur(occurrence(), [{ ...rest, lost: "full" }], 100),
    );
    assert.deepEqual(answer, { kind: "stale" });
  }),
  law("nothing happens where the subscription to be moved stands elsewhere", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const move = moved(clock, { next: NOW + 10 });
    assert.equal(await occurs(store, "one", [clock], { moved: move }), "occurred");
    assert.equal(await unchanged(store, () => occurs(store, "two", [clock], { moved: move })), "stale");
    const another = { ...move, from: { next: NOW + 10 }, incarnation: "another" };
    assert.equal(await unchanged(store, () => occurs(store, "two", [clock], { moved: another })), "stale");
    await store.triggers.remove(alice, "clock");
    const gone = { ...move, from: { next: NOW + 10 } };
    assert.equal(await unchanged(store, () => occurs(store, "two", [], { moved: gone })), "stale");
  }),
  law("of two that serve a schedule at once one does", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const serve = (name: string) => occurs(store, name, [clock], { moved: moved(clock, { next: NOW + 10 }) });
    const answers = await Promise.all(["one", "two"].map(serve));
    assert.deepEqual([...answers].sort(), ["occurred", "stale"]);
    const [served] = answers[0] === "occurred" ? ["one"] : ["two"];
    assert.deepEqual(await happened(store), [served]);
    assert.deepEqual(await claimed(store), [`${served}-clock`]);
    assert.equal((await found(store, "clock")).next, NOW + 10);
    const again = await Promise.all([served!, served!].map(serve));
    assert.deepEqual(again, ["known", "known"]);
    assert.equal((await found(store, "clock")).next, NOW + 10);
  }),
  law("an occurrence, its jobs and its move are all there or none of them", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const fine = delivery("tick", clock);
    const lost = delivery("lost", clock, { sessionId: asSessionId("nobody") });
    const move = moved(clock, { next: NOW + 10 });
    for (const deliveries of [[fine, lost], [lost, fine], [lost]])
      await unchanged(store, () =>
        refused("session.unknown", () => store.triggers.occur(occurrence("tick"), deliveries, 0, move)),
      );
    assert.deepEqual((await store.triggers.occur(occurrence("tick"), [fine], 9, move)).kind, "occurred");
  }),
  law("jobs that something starts are not counted", async (store) => {
    const watch = await subscribe(store);
    await spawn(store, "before");
    await occur(store, "mail", [watch]);
    assert.deepEqual(await liveIn(store, alice), [2]);
    await refused("job.full", () => store.jobs.spawn({ job: newJob("after") }, 2));
    await occur(store, "more", [watch]);
    assert.deepEqual(await liveIn(store, alice), [3]);
  }),
  law("a job whose id is taken is left as it is by what happens", async (store) => {
    const watch = await subscribe(store);
    await spawn(store, "mail-watch", { label: "the first" });
    const before = await stored(store, "mail-watch");
    assert.equal(await occurs(store, "mail", [watch]), "occurred");
    assert.deepEqual(await stored(store, "mail-watch"), before);
    assert.equal((await occurrences(store))[0]?.deliveries[0]?.jobId, jobId("mail-watch"));
  }),
];

const keptLaws = [
  law("what has happened is listed newest first, in pages", async (store) => {
    for (const [name, source] of [["a"], ["b"], ["c", "other"], ["d"], ["e", "other"]] as const)
      await occur(store, name, [], { at: NOW - 1, ...(source === undefined ? {} : { source }) });
    assert.deepEqual(await happened(store), ["e", "d", "c", "b", "a"]);
    assert.deepEqual(await happened(store, { max: 2 }), ["e", "d"]);
    assert.deepEqual(await happened(store, { source: MAIL }), ["d", "b", "a"]);
    assert.deepEqual(await happened(store, { source: MAIL, max: 1 }), ["d"]);
    assert.deepEqual(await happened(store, { source: "nobody" }), []);
    const before = (name: string) => ({ before: `occurrence-${name}` });
    assert.deepEqual(await happened(store, { ...before("d"), max: 2 }), ["c", "b"]);
    assert.deepEqual(await happened(store, { ...before("a") }), []);
    assert.deepEqual(await happened(store, { ...before("c"), source: MAIL }), ["b", "a"]);
    assert.deepEqual(await happened(store, { ...before("never") }), []);
  }),
  law("the newest occurrences of a source are kept, in the order in which they came", async (store) => {
    await occur(store, "other", [], { source: "other", max: 2 });
    for (const [nth, name] of ["a", "b", "c", "d"].entries()) await occur(store, name, [], { at: NOW - nth, max: 2 });
    assert.deepEqual(await happened(store), ["d", "c", "other"]);
    await occur(store, "e", [], { max: 1 });
    assert.deepEqual(await happened(store), ["e", "other"]);
    assert.deepEqual(await happened(store, { before: "occurrence-a" }), []);
    assert.equal(await occurs(store, "e", [], { max: 0 }), "known");
  }),
  law("with an old occurrence go the jobs that it started, those that are over", async (store) => {
    const [watch, other] = [await subscribe(store), await subscribe(store, "other", { sessionId: bob })];
    await occur(store, "a", [watch, other]);
    await spawn(store, "own");
    for (const { lease } of await claimJobs(store)) if (lease.jobId !== jobId("a-other")) await end(store, lease);
    await occur(store, "b", [watch], { max: 1 });
    assert.deepEqual(await happened(store), ["b"]);
    assert.deepEqual(await jobsAmong(store, "a-watch", "a-other", "own", "b-watch"), ["a-other", "own", "b-watch"]);
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
    assert.deepEqual(await listedJobs(store, { session: bob }), ["a-other"]);
    await occur(store, "c", [], { max: 1 });
    assert.deepEqual(await jobsAmong(store, "b-watch"), ["b-watch"]);
    assert.deepEqual(await store.jobs.events(jobId("a-watch"), 0), []);
  }),
  law("a job that was delivered twice goes once", async (store) => {
    const watch = await subscribe(store);
    await occur(store, "a", [watch, watch]);
    const [job, ...others] = await claimJobs(store);
    assert.deepEqual(others, []);
    await end(store, job!.lease);
    await occur(store, "b", [], { max: 1 });
    assert.deepEqual([await listedJobs(store), await liveIn(store, alice)], [[], [0]]);
  }),
  law("jobs that something else has started stay when what happened is old", async (store) => {
    const watch = await subscribe(store);
    await occur(store, "a", [watch], { source: "one", max: 1 });
    const [job] = await claimJobs(store);
    await end(store, job!.lease);
    await occur(store, "b", [watch], { source: "two", max: 1 });
    assert.deepEqual(await jobsAmong(store, "a-watch", "b-watch"), ["a-watch", "b-watch"]);
  }),
];

const deleteLaws = [
  law("with a session go its subscriptions, and what was delivered to it", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const watch = await subscribe(store);
    await subscribe(store, "turns", { on: COMMITS });
    const other = await subscribe(store, "other", { sessionId: bob });
    await occur(store, "mail", [watch, other]);
    await occur(store, "tick", [clock], { source: sourceOf(clock), moved: moved(clock, { next: NOW + 1 }) });
    await store.delete(alice);
    assert.deepEqual(await of(store), ["bob/other"]);
    assert.deepEqual(await of(store, { event: { name: EVENT } }), ["bob/other"]);
    assert.deepEqual(await listed(store, { kinds: ["commits", "interval"] }), []);
    assert.equal(await store.triggers.load(alice, "watch"), undefined);
    assert.equal(await store.triggers.remove(alice, "watch"), false);
    assert.deepEqual([await due(store, NOW + 9), await agenda(store, NOW + 9)], [[], {}]);
    const left = [{ sessionId: bob, subscription: "other", revision: 1, jobId: jobId("mail-other") }];
    assert.deepEqual(await occurrences(store), [{ ...occurrence(), deliveries: left }]);
    assert.deepEqual(await listedJobs(store), ["mail-other"]);
    assert.equal(await occurs(store, "mail"), "known");
    await occur(store, "more", [other], { max: 1 });
    assert.deepEqual(await happened(store), ["more"]);
  }),
  law("with a session goes what only a subscription waited for that it had before", async (store) => {
    const clock = await scheduled(store, "clock", NOW);
    const { source } = { source: sourceOf(clock) };
    await occur(store, "tick", [clock], { source });
    await store.triggers.remove(alice, "clock");
    assert.deepEqual(await happened(store, { source }), ["tick"]);
    const watch = await subscribe(store);
    await occur(store, "mail", [watch]);
    await store.delete(alice);
    assert.deepEqual(await occurrences(store), [{ ...occurrence(), deliveries: [] }]);
  }),
];

const closedLaws = [
  law("a closed store refuses every call about triggers", async (store) => {
    const watch = await subscribe(store);
    await store.close();
    for (const call of [
      () => store.triggers.put(watch, 1, 9),
      () => store.triggers.load(alice, "watch"),
      () => listed(store),
      () => due(store, NOW),
      () => store.triggers.remove(alice, "watch"),
      () => store.triggers.move(moved(watch, {})),
      () => occur(store),
      () => occurrences(store),
    ])
      await refused("runtime.closed", call);
  }),
];

/** The promises of `Store.triggers`, and of what others of a store's methods do with triggers. */
export const triggerLaws: readonly StoreLaw[] = [
  ...putLaws,
  ...removeLaws,
  ...listLaws,
  ...dueLaws,
  ...moveLaws,
  ...agendaLaws,
  ...occurLaws,
  ...keptLaws,
  ...deleteLaws,
  ...closedLaws,
];
