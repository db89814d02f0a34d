import assert from "node:assert/strict";
import { asJobCursor } from "../../../model/ids.ts";
import type { JobEvent } from "../../../model/job.ts";
import { LEASE_MS } from "../../../stores/store.ts";
import { ann, ben, bob, LAPSED, NOW, newInput, requireHeld, SKEWED } from "../../cast.ts";
import {
  bound,
  cancelling,
  claimed,
  claimJobs,
  end,
  jobId,
  keysOf,
  kindsOf,
  over,
  parks,
  recordOf,
  sendTo,
  signal,
  spawn,
  stateOf,
  stepped,
  stored,
  TASK,
  take,
  turned,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { waiting } from "../acts.ts";
import { asked, carl, dora, hasJobs, wake } from "./acts.ts";

const claimLaws = [
  law("a claim gives the job with all its events, and is one of them", async (store) => {
    await spawn(store);
    await sendTo(store, "work", signal("s1"));
    const { lease, events, isOrphan, ...job } = await take(store);
    assert.deepEqual(lease, { jobId: jobId("work"), generation: 1, owner: ann });
    assert.deepEqual([job, isOrphan], [await stored(store), undefined]);
    assert.deepEqual(events, await store.jobs.events(jobId("work"), 0));
    const started: JobEvent = { kind: "started", at: NOW, generation: 1 };
    assert.deepEqual(events.at(-1), { key: "started/1", event: started, seq: 3 });
    assert.deepEqual([job.record.starts, job.record.startedAt], [1, NOW]);
  }),
  law("of two who claim one job, one is given it", async (store) => {
    await spawn(store);
    const both = await Promise.all([claimed(store, ann), claimed(store, ben)]);
    assert.deepEqual(both.flat(), ["work"]);
    assert.deepEqual(await kindsOf(store), ["spawned", "started"]);
  }),
  law(
    "jobs are claimed in the order of their times, then of their beginning, and no more than one may",
    async (store) => {
      await spawn(store, "late", { notBefore: NOW + 2 });
      await spawn(store, "soon", { notBefore: NOW + 1 });
      for (const name of ["c", "a", "b"]) await spawn(store, name);
      assert.deepEqual(await claimed(store, ann, NOW + 5, [TASK], 2), ["c", "a"]);
      assert.deepEqual(await claimed(store, ann, NOW + 5, [TASK], 0), []);
      assert.deepEqual(await claimed(store, ann, NOW + 5), ["b", "soon", "late"]);
    },
  ),
  law("a held job cannot be claimed before the lease of its owner expires", async (store) => {
    await working(store);
    assert.deepEqual(await claimed(store, ben, LAPSED - 1), []);
    assert.equal(await hasJobs(store, LAPSED - 1), false);
    assert.equal(await hasJobs(store, LAPSED), true);
    const { lease } = await take(store, ben, LAPSED);
    assert.equal(lease.generation, 2);
    assert.deepEqual(await keysOf(store), ["spawned", "started/1", "started/2"]);
    assert.deepEqual([(await recordOf(store)).starts, (await recordOf(store)).startedAt], [2, NOW]);
  }),
  law("who takes a job over fences the one before: a write of the older generation changes nothing", async (store) => {
    const lease = await working(store);
    const taken = await take(store, ben, LAPSED);
    const more = { wakes: [wake("up")], waits: [asked], parks: { seen: 3 } };
    await refused("lease.lost", () => store.jobs.append(lease, [stepped("a")], LAPSED, more));
    await refused("lease.lost", () => store.jobs.append(lease, [over()], LAPSED));
    await refused("lease.lost", () => store.jobs.append({ ...lease, generation: 3 }, [over()], LAPSED));
    assert.equal((await stored(store)).seq, 3);
    assert.deepEqual([await waiting(store), await store.waits.list({ max: 1 })], [[], []]);
    await write(store, taken.lease, [stepped("a")]);
  }),
  law("a holder with an expired lease can write until another process claims the job", async (store) => {
    const lease = await working(store);
    await store.jobs.append(lease, [stepped("a")], LAPSED + 5);
    await take(store, ben, LAPSED + 5);
    await refused("lease.lost", () => store.jobs.append(lease, [stepped("b")], LAPSED + 5));
  }),
  law("a process leaves jobs alone whose task it does not have", async (store) => {
    await spawn(store, "one");
    await spawn(store, "two", { operation: "other.task" });
    assert.deepEqual(await claimed(store, ann, NOW, []), []);
    assert.deepEqual(await claimed(store, ann, NOW, ["nobody.has"]), []);
    assert.deepEqual(await claimed(store, ann, NOW, ["other.task", "more"]), ["two"]);
    assert.deepEqual(await claimed(store, ben, NOW, [TASK]), ["one"]);
    assert.deepEqual(await claimed(store, ben, LAPSED, ["more"]), []);
  }),
  law("a job that only delivers an input is for any process", async (store) => {
    const { id, turnId, message, hash } = newInput("later");
    await spawn(store, "post", { delivers: { id, turnId, message, place: "turn", hash }, notBefore: NOW + 5 });
    assert.deepEqual(await claimed(store, ann, NOW, []), []);
    assert.equal(await hasJobs(store, NOW + 5, []), true);
    assert.deepEqual(await claimed(store, ann, NOW + 5, []), ["post"]);
  }),
  law("a job does not start before its time, even if events are sent to it", async (store) => {
    await spawn(store, "work", { notBefore: NOW + 5 });
    await sendTo(store, "work", signal("s1"));
    assert.deepEqual(await claimed(store, ann, NOW + 4), []);
    assert.deepEqual([await hasJobs(store, NOW + 4), (await store.agenda(NOW, 1, [TASK])).next], [false, NOW + 5]);
    assert.deepEqual(await claimed(store, ann, NOW + 5), ["work"]);
  }),
  law(
    "a job that was held before can be claimed at once when its owner is gone, whatever its time was",
    async (store) => {
      await spawn(store, "work", { notBefore: NOW + 5 });
      await take(store, ann, NOW + 5);
      await store.jobs.leave(ann);
      assert.deepEqual(await claimed(store, ben, NOW), ["work"]);
    },
  ),
  law("a bound job cannot be claimed while its owner lives", async (store) => {
    const lease = await bound(store);
    assert.deepEqual(await claimed(store, ben, LAPSED - 1), []);
    assert.deepEqual(await claimed(store, ann, NOW), []);
    await store.jobs.renew(ann, LAPSED - 1);
    assert.deepEqual([await claimed(store, ben, LAPSED + 5), await hasJobs(store, LAPSED + 5)], [[], false]);
    await write(store, lease, [stepped("a")]);
  }),
  law("when its owner is gone a job bound to it can only be abandoned, by anyone", async (store) => {
    const lease = await bound(store);
    assert.equal(await hasJobs(store, LAPSED, []), true);
    const orphan = await take(store, ben, LAPSED, []);
    assert.equal(orphan.isOrphan, true);
    assert.deepEqual(await kindsOf(store), ["spawned", "started"]);
    assert.equal((await recordOf(store)).starts, 1);
    for (const events of [
      [stepped("a")],
      [over()],
      [over("failed")],
      [turned("idle")],
      [stepped("a"), over("abandoned")],
    ])
      await refused("job.bound", () => write(store, orphan.lease, events));
    await refused("job.bound", () => write(store, orphan.lease, [], { parks: { seen: 2 } }));
    await refused("lease.lost", () => write(store, lease, [stepped("a")]));
    assert.equal((await stored(store)).seq, 2);
    await write(store, orphan.lease, [over("abandoned")], { wakes: [wake("gone")] });
    assert.deepEqual([await stateOf(store), await waiting(store)], ["abandoned", ["gone"]]);
  }),
  law("an orphan is given to one, and to another when that one is gone too", async (store) => {
    await bound(store);
    const both = await Promise.all([claimJobs(store, ben, LAPSED, []), claimJobs(store, carl, LAPSED, [])]);
    assert.equal(both.flat().length, 1);
    const next = await take(store, dora, LAPSED + LEASE_MS, []);
    assert.deepEqual([next.isOrphan, next.lease.generation], [true, 3]);
  }),
  law("an owner that comes late to claim is not given what it holds", async (store) => {
    const lease = await working(store);
    await bound(store, "own");
    assert.deepEqual(await claimed(store, ann, LAPSED + 5), []);
    await write(store, lease, [stepped("a")]);
    assert.deepEqual(await claimed(store, ben, LAPSED + 5), []);
  }),
  law("external and finished jobs cannot be claimed", async (store) => {
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    await end(store, await working(store));
    assert.deepEqual([await claimed(store, ben, LAPSED), await hasJobs(store, LAPSED)], [[], false]);
  }),
];

const ownerLaws = [
  law("a renewal prolongs all that its owner holds, and nothing else", async (store) => {
    await working(store, "one");
    await bound(store, "two");
    await working(store, "three", {}, ben);
    requireHeld(await store.jobs.renew(ann, NOW + 10));
    assert.deepEqual(await claimed(store, carl, LAPSED + 9), ["three"]);
    assert.deepEqual(await claimed(store, carl, LAPSED + 10), ["one", "two"]);
  }),
  law("a renewal that comes late does not shorten a later one", async (store) => {
    await working(store);
    await store.jobs.renew(ann, NOW + 100);
    requireHeld(await store.jobs.renew(ann, NOW + 50));
    assert.deepEqual(await claimed(store, ben, LAPSED + 99), []);
  }),
  law("a renewal lasts at most a lease, whatever the owner's clock", async (store) => {
    await working(store);
    for (const now of SKEWED) requireHeld(await store.jobs.renew(ann, now));
  }),
  law("to begin or to claim a job prolongs what its owner holds already", async (store) => {
    await working(store, "one");
    await spawn(store, "two", { at: NOW + 10, recovery: "owner-bound" }, ann);
    assert.deepEqual(await claimed(store, ben, LAPSED + 9), []);
    await claimJobs(store, ann, NOW + 20, []);
    assert.deepEqual(await claimed(store, ben, LAPSED + 19), []);
    assert.deepEqual(await claimed(store, ben, LAPSED + 20), ["one", "two"]);
  }),
  law("a renewal returns the jobs of its owner that have changed since, and their lengths", async (store) => {
    const none = await store.jobs.renew(ann, NOW);
    assert.deepEqual([none.changed, none.cursor], [[], undefined]);
    for (const name of ["one", "two", "three"]) await working(store, name);
    await working(store, "other", {}, ben);
    const first = await store.jobs.renew(ann, NOW);
    assert.deepEqual(
      first.changed,
      ["one", "two", "three"].map((name) => ({ jobId: jobId(name), seq: 2 })),
    );
    assert.equal(first.cursor, (await stored(store, "other")).cursor);
    assert.deepEqual((await store.jobs.renew(ann, NOW, first.cursor)).changed, []);
    await sendTo(store, "three", signal("s1"));
    await sendTo(store, "other", signal("s1"));
    await sendTo(store, "one", cancelling());
    const second = await store.jobs.renew(ann, NOW, first.cursor);
    assert.deepEqual(second.changed, [
      { jobId: jobId("three"), seq: 3 },
      { jobId: jobId("one"), seq: 3 },
    ]);
    const third = await store.jobs.renew(ann, NOW, second.cursor);
    assert.deepEqual([third.changed, third.cursor], [[], second.cursor]);
  }),
  law(
    "a renewal returns nothing for jobs that its owner no longer holds: taken, parked, ended, deleted",
    async (store) => {
      const lost = await working(store, "lost");
      await take(store, ben, LAPSED);
      await parks(store, await working(store, "parked"), { due: LAPSED * 2 });
      await end(store, await working(store, "over"));
      await working(store, "deleted", { sessionId: bob });
      await store.delete(bob);
      assert.deepEqual((await store.jobs.renew(ann, LAPSED)).changed, []);
      await refused("lease.lost", () => write(store, lost, [stepped("a")]));
    },
  ),
  law("a renewal after a cursor that was never given is refused", async (store) => {
    await working(store);
    await refused("cursor.unknown", () => store.jobs.renew(ann, NOW, asJobCursor("nonsense")));
  }),
  law(
    "when an owner leaves its jobs can be claimed at once, and those that are bound to it are orphans",
    async (store) => {
      await working(store, "one");
      await bound(store, "two");
      await working(store, "other", {}, ben);
      await store.jobs.leave(ann);
      assert.equal(await hasJobs(store, NOW, []), true);
      const jobs = await claimJobs(store, carl, NOW);
      assert.deepEqual(
        jobs.map(({ record, isOrphan }) => [record.label, isOrphan]),
        [
          ["to one", undefined],
          ["to two", true],
        ],
      );
      await store.jobs.leave(dora);
      await store.jobs.leave(ann);
      assert.deepEqual(await claimed(store, dora, NOW), []);
    },
  ),
  law("an owner that left and comes back holds nothing of before", async (store) => {
    await working(store, "one");
    await bound(store, "two");
    await store.jobs.leave(ann);
    assert.deepEqual((await store.jobs.renew(ann, NOW)).changed, []);
    const jobs = await claimJobs(store, ann, NOW);
    assert.deepEqual(
      jobs.map(({ lease, isOrphan }) => [lease.generation, isOrphan]),
      [
        [2, undefined],
        [2, true],
      ],
    );
  }),
];

export const claimingLaws: readonly StoreLaw[] = [...claimLaws, ...ownerLaws];
