import assert from "node:assert/strict";
import type { Awaitable } from "../../../model/awaitable.ts";
import type { JobLease, ParkedJob, Store } from "../../../stores/store.ts";
import { ann, ben, bob, LAPSED, NOW } from "../../cast.ts";
import {
  bound,
  cancelling,
  claimed,
  end,
  jobId,
  over,
  parks,
  sendTo,
  signal,
  spawn,
  stateOf,
  stepped,
  TASK,
  take,
  turned,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { asked, carl, dora, hasJobs, WAIT, yes } from "./acts.ts";

/** Events that may arrive while a job tries to park. */
const MAIL = {
  signal: (store: Store) => sendTo(store, "work", signal("s1")),
  answer: (store: Store) => store.waits.resolve(WAIT, yes, NOW),
  cancel: (store: Store) => sendTo(store, "work", cancelling()),
};

export const parkingLaws: readonly StoreLaw[] = [
  law("a parked job has no holder, and its lease cannot write", async (store) => {
    const lease = await working(store);
    const { isParked, seq } = await write(store, lease, [stepped("a")], { parks: { seen: 2 } });
    assert.deepEqual([isParked, seq], [true, 3]);
    assert.deepEqual([await claimed(store, ben, LAPSED * 9), await hasJobs(store, LAPSED * 9)], [[], false]);
    await refused("lease.lost", () => write(store, lease, [stepped("b")]));
    await refused("lease.lost", () => write(store, lease, [over()]));
    assert.deepEqual([await stateOf(store), (await store.jobs.renew(ann, NOW)).changed], ["running", []]);
  }),
  law("a parked job continues at its time", async (store) => {
    const lease = await working(store);
    assert.equal(await parks(store, lease, { due: NOW + 5 }), true);
    assert.deepEqual([await hasJobs(store, NOW + 4), (await store.agenda(NOW, 1, [TASK])).next], [false, NOW + 5]);
    assert.deepEqual(await claimed(store, ben, NOW + 4), []);
    const job = await take(store, ben, NOW + 5);
    assert.equal(job.lease.generation, 2);
    assert.equal((await store.agenda(NOW, 1, [TASK])).next, undefined);
  }),
  ...Object.entries(MAIL).map(([name, comes]) =>
    law(`a job is not parked when its holder has not seen what came: ${name}`, async (store) => {
      const lease = await working(store);
      const { seq } = await write(store, lease, [stepped("a")], { waits: [asked] });
      await comes(store);
      const answer = await write(store, lease, [stepped("b")], { parks: { seen: seq, due: NOW + 5 } });
      assert.deepEqual([answer.isParked, answer.seq], [false, 5]);
      assert.deepEqual(answer.events, [{ ...stepped("b"), seq: 5 }]);
      assert.deepEqual(await claimed(store, ben, NOW + 5), []);
      await write(store, lease, [stepped("c")]);
      assert.equal((await write(store, lease, [], { parks: { seen: 6 } })).isParked, true);
    }),
  ),
  ...(["signal", "answer"] as const).map((name) =>
    law(`a job that is parked can be claimed when something comes, and parked again: ${name}`, async (store) => {
      const lease = await working(store);
      await write(store, lease, [], { waits: [asked] });
      assert.equal(await parks(store, lease, { due: NOW + 500 }), true);
      assert.deepEqual([await hasJobs(store), await claimed(store, ben)], [false, []]);
      await MAIL[name](store);
      assert.equal(await hasJobs(store), true);
      const taken = await take(store, ben);
      assert.equal(await hasJobs(store), false);
      assert.equal(await parks(store, taken.lease, { due: NOW + 500 }), true);
      assert.deepEqual([await hasJobs(store), await claimed(store, ann)], [false, []]);
    }),
  ),
  law("of a park and what comes at the same moment, nothing is lost", async (store) => {
    for (const nth of [1, 2, 3, 4, 5, 6]) {
      const lease = await working(store, `w${nth}`);
      const both = [
        () => write(store, lease, [], { parks: { seen: 2 } }),
        () => sendTo(store, `w${nth}`, signal("s1")),
      ] as const;
      const [first, second] = nth % 2 === 0 ? both : [both[1], both[0]];
      await Promise.all([first(), second()]);
      const isHeld = await write(store, lease, [stepped("a")]).then(
        () => true,
        () => false,
      );
      assert.deepEqual(await claimed(store, ben), isHeld ? [] : [`w${nth}`]);
      if (isHeld) await end(store, lease);
    }
  }),
  law("a cancel ends a job that is parked", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { waits: [asked] });
    await parks(store, lease, { due: NOW + 5 });
    assert.equal(await sendTo(store, "work", cancelling()), "accepted");
    assert.equal(await stateOf(store), "cancelled");
    assert.deepEqual([await claimed(store, ben, NOW + 5), await store.waits.list({ max: 1 })], [[], []]);
  }),
  law("a job that awaits others continues when one of them, or all, have ended", async (store) => {
    const [one, two] = [await working(store, "one"), await working(store, "two")];
    const jobs = [jobId("one"), jobId("two")];
    assert.equal(await parks(store, await working(store, "any"), { awaits: { jobs, need: "any" } }), true);
    assert.equal(
      await parks(store, await working(store, "all"), { awaits: { jobs, need: "all" }, due: NOW + 9 }),
      true,
    );
    assert.deepEqual([await hasJobs(store), await claimed(store, ben)], [false, []]);
    await end(store, two);
    assert.equal(await hasJobs(store), true);
    assert.deepEqual(await claimed(store, ben), ["any"]);
    await end(store, one, "failed");
    assert.deepEqual([await hasJobs(store), await claimed(store, ben)], [true, ["all"]]);
  }),
  law("a job that awaits another continues when that one is idle, cancelled, removed or deleted", async (store) => {
    const holderOf = (name: string) => ({ ...carl, id: name });
    const ways: { readonly [name: string]: (lease: JobLease) => Awaitable<unknown> } = {
      idle: (lease) => write(store, lease, [turned("idle")]),
      cancelled: async () => {
        await store.jobs.leave(holderOf("cancelled"));
        await sendTo(store, "cancelled", cancelling());
      },
      deleted: () => store.delete(bob),
    };
    for (const [name, act] of Object.entries(ways)) {
      const lease = await working(store, name, name === "deleted" ? { sessionId: bob } : {}, holderOf(name));
      const awaits: ParkedJob["awaits"] = { jobs: [jobId(name)], need: "all" };
      assert.equal(await parks(store, await working(store, `for ${name}`), { awaits }), true);
      assert.deepEqual(await claimed(store, ben), []);
      await act(lease);
      assert.deepEqual(await claimed(store, ben), [`for ${name}`]);
    }
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    const awaits: ParkedJob["awaits"] = { jobs: [jobId("outside")], need: "any" };
    assert.equal(await parks(store, await working(store), { awaits }), true);
    await store.jobs.remove(jobId("outside"));
    assert.deepEqual(await claimed(store, ben), ["work"]);
  }),
  law(
    "a job is not parked when the jobs that it awaits have ended already, are idle, or do not exist",
    async (store) => {
      await end(store, await working(store, "over"));
      await write(store, await working(store, "idle"), [turned("idle")]);
      await working(store, "running", {}, carl);
      const lease = await working(store);
      for (const name of ["over", "idle", "never"]) {
        const jobs = [jobId("running"), jobId(name)];
        assert.equal(await parks(store, lease, { awaits: { jobs, need: "any" } }), false);
        await write(store, lease, [stepped(name)]);
      }
      const jobs = ["over", "idle", "never"].map(jobId);
      assert.equal(await parks(store, lease, { awaits: { jobs, need: "all" } }), false);
      assert.equal(await parks(store, lease, { awaits: { jobs: [...jobs, jobId("running")], need: "all" } }), true);
    },
  ),
  law("a job that awaits others also continues at its time, or after a signal", async (store) => {
    await working(store, "one", {}, carl);
    const awaits: ParkedJob["awaits"] = { jobs: [jobId("one")], need: "all" };
    await parks(store, await working(store), { awaits, due: NOW + 5 });
    const { lease } = await take(store, ben, NOW + 5);
    await parks(store, lease, { awaits });
    assert.deepEqual(await claimed(store, ann, NOW + 9), []);
    await sendTo(store, "work", signal("s1"));
    assert.deepEqual(await claimed(store, ann, NOW + 9), ["work"]);
    await sendTo(store, "one", cancelling(), LAPSED * 3);
    assert.deepEqual(await claimed(store, dora, NOW), []);
  }),
  law("a repeat of the call that parked a job returns the same answer until the job is claimed", async (store) => {
    const lease = await working(store);
    const parksIt = () => write(store, lease, [stepped("a")], { parks: { seen: 2, due: NOW } });
    const first = await parksIt();
    assert.equal(first.isParked, true);
    assert.deepEqual(await parksIt(), first);
    await refused("lease.lost", () => write(store, lease, [stepped("a")]));
    await take(store, ben);
    await refused("lease.lost", parksIt);
  }),
  law("a job that is bound to its owner is not parked", async (store) => {
    const lease = await bound(store);
    assert.equal(await parks(store, lease, { due: NOW }), false);
    await write(store, lease, [stepped("a")]);
    assert.deepEqual(await claimed(store, ben), []);
  }),
  law("a job that ends with its write is not parked", async (store) => {
    const lease = await working(store);
    assert.equal((await write(store, lease, [over()], { parks: { seen: 2, due: NOW } })).isParked, false);
    assert.deepEqual([await stateOf(store), await claimed(store, ben)], ["completed", []]);
  }),
  law("a process without its task cannot claim a parked job", async (store) => {
    const lease = await working(store);
    await parks(store, lease, { due: NOW + 1 });
    await sendTo(store, "work", signal("s1"));
    assert.deepEqual([await claimed(store, ben, NOW + 5, ["other"]), await hasJobs(store, NOW + 5, [])], [[], false]);
    assert.equal((await store.agenda(NOW, 1, ["other"])).next, undefined);
  }),
];
