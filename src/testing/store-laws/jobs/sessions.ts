import assert from "node:assert/strict";
import { waitIdOf } from "../../../model/wait.ts";
import { alice, ben, bob, LAPSED, NOW, newSession, turn } from "../../cast.ts";
import {
  claimed,
  end,
  jobId,
  keysOf,
  kindsOf,
  listed,
  liveIn,
  namesOf,
  parks,
  recordOf,
  sendTo,
  signal,
  spawn,
  stepped,
  stored,
  TASK,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { asked, carol, WAIT, yes } from "./acts.ts";

const transferLaws = [
  law("a job that is handed over belongs to the other session, and its holder continues", async (store) => {
    const lease = await working(store);
    await spawn(store, "other", { operation: "x.y" });
    await store.create(newSession(bob));
    const [job, ...more] = await store.jobs.transfer(alice, bob, [lease.jobId], NOW + 1);
    assert.deepEqual([job, more], [await stored(store), []]);
    const [moved] = await store.jobs.events(lease.jobId, 2);
    assert.deepEqual(moved, { key: "transferred/3", event: { kind: "transferred", at: NOW + 1, to: bob }, seq: 3 });
    assert.equal(job?.record.sessionId, bob);
    assert.deepEqual(
      [await listed(store, { session: alice }), await listed(store, { session: bob })],
      [["other"], ["work"]],
    );
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
    assert.equal((await write(store, lease, [stepped("a")], { parks: { seen: 2 } })).isParked, false);
    await store.jobs.transfer(bob, alice, [lease.jobId], NOW + 1);
    assert.equal((await keysOf(store)).at(-1), "transferred/5");
    await end(store, lease);
    assert.deepEqual(await liveIn(store, alice, bob), [1, 0]);
  }),
  law("jobs are handed over all or none", async (store) => {
    for (const id of [bob, carol]) await store.create(newSession(id));
    await end(store, await working(store, "over"));
    await spawn(store, "one");
    await spawn(store, "foreign", { sessionId: carol });
    for (const [code, bad] of [
      ["job.unknown", "never"],
      ["job.foreign", "foreign"],
      ["job.over", "over"],
    ] as const) {
      await refused(code, () => store.jobs.transfer(alice, bob, [jobId("one"), jobId(bad)], NOW));
      await refused(code, () => store.jobs.transfer(alice, bob, [jobId(bad), jobId("one")], NOW));
    }
    assert.deepEqual([await kindsOf(store, "one"), await listed(store, { session: bob })], [["spawned"], []]);
  }),
  law("jobs are handed over only to a session that is there", async (store) => {
    await spawn(store, "one");
    await refused("session.unknown", () => store.jobs.transfer(alice, bob, [jobId("one")], NOW));
    await store.create(newSession(bob));
    await store.delete(bob);
    await refused("session.deleted", () => store.jobs.transfer(alice, bob, [jobId("one")], NOW));
    assert.deepEqual([(await recordOf(store, "one")).sessionId, (await stored(store, "one")).seq], [alice, 1]);
  }),
  law("a transfer that is sent again changes nothing, also where more is handed over with it", async (store) => {
    await store.create(newSession(bob));
    const lease = await working(store, "one");
    await spawn(store, "two", { operation: "x.y" });
    await store.jobs.transfer(alice, bob, [jobId("one")], NOW);
    await end(store, lease);
    const both = await store.jobs.transfer(alice, bob, ["one", "two", "two"].map(jobId), NOW);
    assert.deepEqual(namesOf(both), ["one", "two", "two"]);
    assert.deepEqual([(await stored(store, "one")).seq, (await stored(store, "two")).seq], [4, 2]);
    assert.deepEqual(await store.jobs.transfer(alice, bob, [], NOW), []);
  }),
  law("a job that was handed over goes with its new session, and not with its old one", async (store) => {
    await store.create(newSession(bob));
    const lease = await working(store);
    await store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    await store.delete(alice);
    await write(store, lease, [stepped("a")]);
    await store.delete(bob);
    await refused("lease.lost", () => write(store, lease, [stepped("b")]));
    assert.deepEqual(await listed(store), []);
  }),
];

const sessionLaws = [
  law(
    "a session that is deleted takes its jobs with it: holders lose the lease, and their waits are unknown",
    async (store) => {
      const lease = await working(store);
      await write(store, lease, [], { waits: [asked] });
      await spawn(store, "other", { sessionId: bob, operation: "x.y" });
      await parks(store, await working(store, "parked"), { due: NOW + 5 });
      await store.delete(alice);
      await refused("lease.lost", () => write(store, lease, [stepped("a")]));
      assert.deepEqual([await listed(store), await claimed(store, ben, LAPSED)], [["other"], []]);
      assert.equal(await store.jobs.load(jobId("work")), undefined);
      assert.deepEqual(await store.jobs.events(jobId("work"), 0), []);
      assert.equal(await sendTo(store, "work", signal("s1")), "unknown");
      assert.deepEqual(await store.waits.resolve(WAIT, yes, NOW), { said: "unknown" });
      assert.equal(await store.waits.get(waitIdOf(WAIT)), undefined);
      assert.deepEqual(await store.waits.list({ max: 9 }), []);
      assert.equal((await store.agenda(NOW, 1, [TASK])).next, undefined);
    },
  ),
  law("a fork has no job of its origin", async (store) => {
    await store.create(newSession());
    await turn(store, "one");
    await spawn(store);
    await store.fork(alice, newSession(bob));
    assert.deepEqual([await listed(store, { session: bob }), await liveIn(store, alice, bob)], [[], [1, 0]]);
  }),
];

export const ofSessionLaws: readonly StoreLaw[] = [...transferLaws, ...sessionLaws];
