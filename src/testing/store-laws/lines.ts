import assert from "node:assert/strict";
import { asBlobHash } from "../../model/ids.ts";
import type { JobLease, JobLine, JobWrites, Store } from "../../stores/store.ts";
import { alice, ben, bob, LAPSED, NOW, newInput, newSession } from "../cast.ts";
import {
  bound,
  cancelling,
  claimJobs,
  end,
  jobId,
  keysOf,
  over,
  parks,
  spawn,
  stateOf,
  stepped,
  stored,
  take as takeJob,
  turned,
  working,
  write,
} from "../job-cast.ts";
import { law, refused, type StoreLaw } from "../law.ts";
import { occur, subscribe } from "../trigger-cast.ts";
import { ODD } from "./acts.ts";

/** Returns the line with a number, whose text is that number. */
const line = (n: number, other: Partial<JobLine> = {}): JobLine => ({
  n,
  at: NOW + n,
  channel: "out",
  text: `line ${n}`,
  ...other,
});
const saying = (max: number, ...ns: readonly number[]): JobWrites => ({
  says: { lines: ns.map((n) => line(n)), max },
});
const say = (store: Store, lease: JobLease, ...ns: readonly number[]) => write(store, lease, [], saying(100, ...ns));

const numbers = (lines: readonly JobLine[]): readonly number[] => lines.map(({ n }) => n);
/** Returns the numbers of the remaining lines. */
const left = async (store: Store, name = "work"): Promise<readonly number[]> =>
  numbers((await store.jobs.lines(jobId(name))).lines);
const taken = async (store: Store, name = "work"): Promise<number> => (await store.jobs.lines(jobId(name))).taken;
/** Takes lines, and returns their numbers. */
const take = async (store: Store, key: string, name = "work"): Promise<readonly number[]> =>
  numbers(await store.jobs.take(jobId(name), key));

const sayingLaws = [
  law("lines of a job are kept as they are, oldest first", async (store) => {
    const lease = await working(store);
    const lines = [line(1), line(2, { channel: "err", text: ODD }), line(7, { channel: "note", text: "", at: 0.5 })];
    await write(store, lease, [], { says: { lines: lines.slice(0, 2), max: 9 } });
    await write(store, lease, [stepped("a")], { says: { lines: lines.slice(2), max: 9 } });
    assert.deepEqual(await store.jobs.lines(lease.jobId), { lines, taken: 0 });
    assert.deepEqual(await store.jobs.take(lease.jobId, "k"), lines);
    assert.deepEqual(await keysOf(store), ["spawned", "started/1", "step/a"]);
  }),
  law("a job without lines, and a missing one, have none", async (store) => {
    await spawn(store);
    assert.deepEqual(await store.jobs.lines(jobId("work")), { lines: [], taken: 0 });
    assert.deepEqual(await store.jobs.lines(jobId("other")), { lines: [], taken: 0 });
    assert.deepEqual([await take(store, "k"), await take(store, "k", "other")], [[], []]);
    assert.deepEqual(await store.jobs.lines(jobId("work")), { lines: [], taken: 0 });
  }),
  law("lines are not events: they change neither the job nor any feed", async (store) => {
    const lease = await working(store);
    const before = await stored(store);
    const changes = await store.jobs.changes(undefined, { max: 9 });
    const { jobs, latest } = await store.agenda(NOW, 9);
    const answer = await say(store, lease, 1, 2);
    assert.deepEqual(answer, { events: [], cursor: before.cursor, seq: before.seq });
    await store.jobs.take(lease.jobId, "k");
    assert.deepEqual(await stored(store), before);
    assert.deepEqual(await store.jobs.changes(undefined, { max: 9 }), changes);
    const after = await store.agenda(NOW, 9);
    assert.deepEqual([after.jobs, after.latest], [jobs, latest]);
    assert.equal(await parks(store, lease), true);
  }),
  law("each job has its own lines", async (store) => {
    const one = await working(store, "one");
    const two = await working(store, "two", { sessionId: bob });
    await say(store, one, 1, 2);
    await say(store, two, 1);
    assert.deepEqual(await take(store, "k", "one"), [1, 2]);
    assert.deepEqual(await take(store, "k", "two"), [1]);
  }),
  law("a repeated line is skipped, also a dropped or taken one", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2, 3);
    await say(store, lease, 1, 2, 3);
    assert.deepEqual(await left(store), [1, 2, 3]);
    assert.deepEqual(await take(store, "k"), [1, 2, 3]);
    await write(store, lease, [], { says: { lines: [line(3, { text: "other" }), line(5)], max: 2 } });
    assert.deepEqual((await store.jobs.lines(lease.jobId)).lines, [line(3), line(5)]);
    await say(store, lease, 1, 4, 5);
    assert.deepEqual(await left(store), [3, 5]);
    await say(store, lease, 9, 8, 9, 10);
    assert.deepEqual(await left(store), [3, 5, 9, 10]);
    assert.deepEqual(await take(store, "l"), [5, 9, 10]);
  }),
  law("the newest lines are kept, taken or not", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], saying(3, 1, 2, 3, 4, 5));
    assert.deepEqual(await left(store), [3, 4, 5]);
    assert.deepEqual(await take(store, "k"), [3, 4, 5]);
    await write(store, lease, [], saying(3, 6));
    assert.deepEqual(await left(store), [4, 5, 6]);
    await write(store, lease, [], saying(2));
    assert.deepEqual(await left(store), [5, 6]);
    await write(store, lease, [], saying(5, 7, 8));
    assert.deepEqual(await left(store), [5, 6, 7, 8]);
    assert.deepEqual([await taken(store), await take(store, "l")], [5, [6, 7, 8]]);
  }),
  law("a job continues to count when no line remains", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], saying(0, 1, 2));
    assert.deepEqual([await left(store), await take(store, "k"), await taken(store)], [[], [], 0]);
    await say(store, lease, 2, 3);
    assert.deepEqual([await left(store), await take(store, "l"), await taken(store)], [[3], [3], 3]);
  }),
];

const takingLaws = [
  law("each line is taken once", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2);
    assert.equal(await taken(store), 0);
    assert.deepEqual([await take(store, "a"), await taken(store)], [[1, 2], 2]);
    assert.deepEqual([await take(store, "b"), await taken(store)], [[], 2]);
    await say(store, lease, 3, 6);
    assert.deepEqual([await take(store, "c"), await taken(store)], [[3, 6], 6]);
    assert.deepEqual(await left(store), [1, 2, 3, 6]);
  }),
  law("a repeat of the latest call gets the same lines, whatever was added since", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2);
    assert.deepEqual(await take(store, ODD), [1, 2]);
    await say(store, lease, 3);
    assert.deepEqual([await take(store, ODD), await taken(store)], [[1, 2], 2]);
    assert.deepEqual([await take(store, "b"), await take(store, "b")], [[3], [3]]);
    await say(store, lease, 4);
    assert.deepEqual(await take(store, ODD), [4]); // The key is no longer the latest one, so this is another call.
  }),
  law("a call that was given nothing is given nothing again", async (store) => {
    const lease = await working(store);
    assert.deepEqual(await take(store, "a"), []);
    await say(store, lease, 1);
    assert.deepEqual([await take(store, "a"), await take(store, "b")], [[], [1]]);
  }),
  law("a repeat of the latest call gets the remaining ones of its lines", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2, 3);
    assert.deepEqual(await take(store, "a"), [1, 2, 3]);
    await write(store, lease, [], saying(3, 4));
    assert.deepEqual(await take(store, "a"), [2, 3]);
    await write(store, lease, [], saying(1, 5));
    assert.deepEqual([await take(store, "a"), await take(store, "b")], [[], [5]]);
  }),
  law("of several that take at once each line is given to one", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2, 3);
    const given = await Promise.all(["a", "b", "c"].map((key) => take(store, key)));
    assert.deepEqual(given.flat(), [1, 2, 3]);
    assert.equal(given.filter((each) => each.length > 0).length, 1);
  }),
];

const lifeLaws = [
  law("lines are written with the events of the job, or not at all", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1);
    const attachment = { kind: "attachment", hash: asBlobHash("x".repeat(43)), mediaType: "text/plain" } as const;
    const wakes = [newInput("swept", { parts: [attachment as never] })];
    await refused("store.swept", () => write(store, lease, [stepped("a")], { ...saying(9, 2), wakes }));
    assert.deepEqual([await left(store), await keysOf(store)], [[1], ["spawned", "started/1"]]);
  }),
  law("a lost lease adds no lines", async (store) => {
    const lost = await working(store);
    await say(store, lost, 1);
    const { lease } = await takeJob(store, ben, LAPSED);
    await refused("lease.lost", () => say(store, lost, 2));
    await refused("lease.lost", () => write(store, lost, [stepped("a")], saying(9, 2)));
    assert.deepEqual([await left(store), (await keysOf(store)).includes("step/a")], [[1], false]);
    await say(store, lease, 2);
    assert.deepEqual(await left(store), [1, 2]);
    assert.equal(await parks(store, lease), true);
    await refused("lease.lost", () => say(store, lease, 3));
    assert.deepEqual(await left(store), [1, 2]);
  }),
  law("a job may say something with its end; its lines stay and are taken afterwards", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1);
    await write(store, lease, [over()], saying(9, 2));
    await refused("lease.lost", () => say(store, lease, 3));
    await write(store, lease, [over()], saying(9, 2, 3)); // This repeats the end, so the store writes nothing.
    assert.deepEqual(await left(store), [1, 2]);
    assert.deepEqual([await take(store, "a"), await take(store, "a"), await take(store, "b")], [[1, 2], [1, 2], []]);
    assert.equal(await stateOf(store), "completed");
  }),
  law("a job may say something when it is parked, idle or cancelled", async (store) => {
    const lease = await working(store);
    await write(store, lease, [turned("idle")], saying(9, 1));
    const seen = (await stored(store)).seq;
    const parked = { ...saying(9, 2), parks: { seen } };
    assert.equal((await write(store, lease, [], parked)).isParked, true);
    assert.equal((await write(store, lease, [], parked)).isParked, true);
    assert.deepEqual(await left(store), [1, 2]);
    await store.jobs.send(lease.jobId, cancelling(), NOW);
    assert.deepEqual([await stateOf(store), await take(store, "a")], ["cancelled", [1, 2]]);
  }),
  law("of an orphan somebody else may say something with its end, and nothing before", async (store) => {
    await say(store, await bound(store), 1);
    const { lease } = await takeJob(store, ben, LAPSED);
    await refused("job.bound", () => say(store, lease, 2));
    await refused("job.bound", () => write(store, lease, [stepped("a")], saying(9, 2)));
    await write(store, lease, [over("abandoned")], saying(9, 3));
    assert.deepEqual(await left(store), [1, 3]);
  }),
  law("lines stay with a job that is handed over", async (store) => {
    const lease = await working(store);
    await say(store, lease, 1, 2);
    await take(store, "a");
    await store.create(newSession(bob));
    await store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    await say(store, lease, 3);
    assert.deepEqual([await left(store), await taken(store)], [[1, 2, 3], 2]);
    await store.delete(alice);
    assert.deepEqual([await take(store, "b"), await taken(store)], [[3], 3]);
  }),
  law("lines go with the job", async (store) => {
    const nothing = { lines: [], taken: 0 };
    const removed = await working(store, "removed");
    const pruned = await subscribe(store).then(async (watch) => {
      await occur(store, "mail", [watch]);
      return (await claimJobs(store))[0]!.lease;
    });
    const gone = await working(store, "gone", { sessionId: bob });
    for (const lease of [removed, pruned, gone]) {
      await say(store, lease, 1, 2);
      await store.jobs.take(lease.jobId, "k");
      if (lease !== gone) await end(store, lease);
    }
    assert.equal(await store.jobs.remove(removed.jobId), true);
    await occur(store, "more", [], { max: 1 });
    await store.delete(bob);
    for (const { jobId: id } of [removed, pruned, gone]) {
      assert.deepEqual(await store.jobs.lines(id), nothing);
      assert.deepEqual(await store.jobs.take(id, "k"), []);
    }
    // Another job with that id or number has no lines yet.
    const again = await working(store, "removed");
    assert.deepEqual(await store.jobs.lines(again.jobId), nothing);
    await say(store, again, 1);
    assert.deepEqual(await take(store, "k", "removed"), [1]);
  }),
  law("a closed store neither announces nor returns lines", async (store) => {
    const { jobId: id } = await working(store);
    await store.close();
    await refused("runtime.closed", () => store.jobs.lines(id));
    await refused("runtime.closed", () => store.jobs.take(id, "k"));
  }),
];

/** The promises about lines of jobs, and who gets them. */
export const lineLaws: readonly StoreLaw[] = [...sayingLaws, ...takingLaws, ...lifeLaws];
