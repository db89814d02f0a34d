import assert from "node:assert/strict";
import { asSessionId } from "../../../model/ids.ts";
import type { Subscription } from "../../../model/trigger.ts";
import type { NewDelivery } from "../../../stores/store.ts";
import { alice, bob, NOW, turnId } from "../../cast.ts";
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
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import {
  change,
  delivery,
  due,
  EVENT,
  found,
  happened,
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
} from "../../trigger-cast.ts";
import { ODD } from "../acts.ts";
import { agenda, COMMITS, of, unchanged } from "./acts.ts";

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
  law("the jobs that an old occurrence started are removed with it, if they have ended", async (store) => {
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

export const occurrenceLaws: readonly StoreLaw[] = [...occurLaws, ...keptLaws, ...deleteLaws];
