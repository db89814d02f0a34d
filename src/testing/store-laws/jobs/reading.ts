import assert from "node:assert/strict";
import type { Awaitable } from "../../../model/awaitable.ts";
import { asJobCursor, type SessionId } from "../../../model/ids.ts";
import type { JobLease, JobsPage, Store } from "../../../stores/store.ts";
import { alice, ann, bob, commit, NOW, newSession } from "../../cast.ts";
import {
  cancelling,
  claimJobs,
  end,
  jobId,
  listed,
  liveIn,
  namesOf,
  parks,
  sendTo,
  signal,
  spawn,
  stepped,
  stored,
  take,
  turned,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { asked, carol, firstTurn, spawnOf, told, WAIT, wake, yes } from "./acts.ts";

const listLaws = [
  law("jobs are listed in the order in which they were begun, by what is asked for", async (store) => {
    await spawn(store, "z");
    await spawn(store, "a", { visibility: "hidden" });
    await spawn(store, "m", { sessionId: bob, kind: "monitor" });
    await spawn(store, "b", { kind: "monitor", operation: "x.y" });
    await end(store, (await claimJobs(store))[0]!.lease);
    const pages: readonly [Partial<JobsPage>, readonly string[]][] = [
      [{}, ["z", "a", "m", "b"]],
      [{ session: alice }, ["z", "a", "b"]],
      [{ session: carol }, []],
      [{ isLive: true }, ["a", "m", "b"]],
      [{ visibility: "managed" }, ["z", "m", "b"]],
      [{ visibility: "hidden" }, ["a"]],
      [{ kind: "monitor" }, ["m", "b"]],
      [{ kind: "monitor", session: alice, isLive: true, visibility: "managed" }, ["b"]],
      [{ kind: "code" }, []],
    ];
    for (const [page, names] of pages) assert.deepEqual(await listed(store, page), names);
    assert.deepEqual((await store.jobs.list({ max: 1 }))[0], await stored(store, "z"));
    await sendTo(store, "a", signal("s1"));
    assert.deepEqual(await listed(store), ["z", "a", "m", "b"]);
  }),
  law(
    "jobs are listed a page at a time, also after one that has ended, and none after one that is gone",
    async (store) => {
      const names = ["e", "d", "c", "b", "a"];
      for (const name of names) await spawn(store, name, name === "c" ? { sessionId: bob } : {});
      assert.deepEqual(await listed(store, { max: 2 }), ["e", "d"]);
      assert.deepEqual(await listed(store, { after: jobId("d"), max: 2 }), ["c", "b"]);
      assert.deepEqual(await listed(store, { after: jobId("a") }), []);
      assert.deepEqual(await listed(store, { after: jobId("c"), session: alice, max: 1 }), ["b"]);
      assert.deepEqual(await listed(store, { max: 0 }), []);
      await sendTo(store, "d", cancelling());
      assert.deepEqual(await listed(store, { after: jobId("d"), isLive: true }), ["c", "b", "a"]);
      await store.jobs.remove(jobId("d"));
      assert.deepEqual(await listed(store, { after: jobId("d") }), []);
      assert.deepEqual(await listed(store, { after: jobId("never") }), []);
      await store.jobs.transfer(alice, bob, [jobId("e")], NOW);
      assert.deepEqual(await listed(store, { session: bob }), ["e", "c"]);
    },
  ),
  law("the jobs of a session that are not over are counted", async (store) => {
    assert.deepEqual(await liveIn(store, alice), [0]);
    const [one, two] = [await working(store, "one"), await working(store, "two")];
    await spawn(store, "other", { sessionId: bob });
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    await write(store, one, [turned("idle")]);
    assert.deepEqual(await liveIn(store, alice, bob), [3, 1]);
    await end(store, two);
    await sendTo(store, "outside", cancelling());
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
    await store.jobs.remove(two.jobId);
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
    await store.delete(alice);
    assert.deepEqual(await liveIn(store, alice, bob), [0, 1]);
  }),
  law("a job that has ended or is external can be removed, and no other", async (store) => {
    const lease = await working(store);
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    assert.deepEqual([await store.jobs.remove(lease.jobId), await store.jobs.remove(jobId("never"))], [false, false]);
    assert.equal((await stored(store)).seq, 2);
    await end(store, lease);
    for (const name of ["work", "outside"]) {
      assert.equal(await store.jobs.remove(jobId(name)), true);
      assert.equal(await store.jobs.load(jobId(name)), undefined);
      assert.deepEqual(await store.jobs.events(jobId(name), 0), []);
      assert.equal(await store.jobs.remove(jobId(name)), false);
      assert.equal(await sendTo(store, name, signal("s1")), "unknown");
    }
    assert.deepEqual([await listed(store), await liveIn(store, alice)], [[], [0]]);
    assert.equal((await spawn(store)).seq, 1);
    assert.equal((await take(store)).lease.generation, 1);
  }),
];

/** Returns the names of the jobs that changed after a cursor. */
const changed = async (store: Store, after?: string, session?: SessionId, max = 100): Promise<readonly string[]> =>
  namesOf(
    await store.jobs.changes(after === undefined ? undefined : asJobCursor(after), {
      max,
      ...(session === undefined ? {} : { session }),
    }),
  );

const feedLaws = [
  law(
    "changed jobs are listed in the order of their latest events, each once, in their current state",
    async (store) => {
      assert.deepEqual(await changed(store), []);
      const [one] = [await working(store, "one"), await spawn(store, "two"), await spawn(store, "three")];
      assert.deepEqual(await changed(store), ["one", "two", "three"]);
      const { cursor } = await stored(store, "two");
      assert.deepEqual(await changed(store, cursor), ["three"]);
      await write(store, one, [stepped("a"), stepped("b")]);
      assert.deepEqual(await changed(store), ["two", "three", "one"]);
      assert.deepEqual(await changed(store, cursor), ["three", "one"]);
      const jobs = await store.jobs.changes(cursor, { max: 9 });
      assert.deepEqual(jobs, [await stored(store, "three"), await stored(store, "one")]);
      assert.deepEqual(await changed(store, jobs.at(-1)!.cursor), []);
    },
  ),
  law("changes are listed in pages, of all sessions or of one", async (store) => {
    for (const name of ["a", "b", "c", "d"]) await spawn(store, name, name < "c" ? { sessionId: bob } : {});
    const names: string[] = [];
    for (let after: string | undefined; ; ) {
      const [job] = await store.jobs.changes(after as never, { max: 1 });
      if (job === undefined) break;
      names.push(...namesOf([job]));
      after = job.cursor;
    }
    assert.deepEqual(names, ["a", "b", "c", "d"]);
    assert.deepEqual(await changed(store, undefined, bob), ["a", "b"]);
    assert.deepEqual(await changed(store, (await stored(store, "a")).cursor, bob), ["b"]);
    assert.deepEqual(await changed(store, (await stored(store, "a")).cursor, alice, 1), ["c"]);
    assert.deepEqual(await changed(store, undefined, carol), []);
    await store.jobs.transfer(bob, alice, [jobId("a")], NOW);
    assert.deepEqual(
      [await changed(store, undefined, bob), await changed(store, undefined, alice)],
      [["b"], ["c", "d", "a"]],
    );
  }),
  law("each kind of write makes a job the latest that changed", async (store) => {
    const open = await firstTurn(store);
    await store.create(newSession(bob));
    await spawn(store, "work", { parent: { turnId: open.turnId }, onParentEnd: "cancel" });
    let lease: JobLease | undefined;
    const acts: { readonly [name: string]: () => Awaitable<unknown> } = {
      claim: async () => {
        lease = (await take(store)).lease;
      },
      append: () => write(store, lease!, [stepped("a")], { waits: [asked] }),
      wake: () => write(store, lease!, [], { wakes: [wake("up")] }),
      send: () => sendTo(store, "work", signal("s1")),
      resolve: () => store.waits.resolve(WAIT, yes, NOW),
      transfer: () => store.jobs.transfer(alice, bob, [jobId("work")], NOW),
      commit: () => commit(store, open),
      end: () => end(store, lease!),
    };
    for (const [name, act] of Object.entries(acts)) {
      await spawn(store, `beside ${name}`, { operation: "x.y" });
      const { cursor } = await stored(store);
      await act();
      assert.deepEqual(await changed(store, cursor), [`beside ${name}`, "work"], name);
      const latest = (await stored(store)).cursor;
      assert.deepEqual(
        [(await store.agenda(NOW, 1)).jobs, (await store.jobs.renew(ann, NOW)).cursor],
        [latest, latest],
      );
    }
  }),
  law("reads, refused writes and repeats are not changes", async (store) => {
    const lease = await working(store);
    await sendTo(store, "work", signal("s1"));
    const { cursor } = await stored(store);
    await store.jobs.renew(ann, NOW);
    await store.jobs.spawn(spawnOf(), 100);
    await sendTo(store, "work", signal("s1"));
    await write(store, lease, []);
    await refused("lease.lost", () => write(store, { ...lease, generation: 7 }, [stepped("a")]));
    await parks(store, lease, { due: NOW + 500 });
    assert.deepEqual(await changed(store, cursor), []);
  }),
  law("a removed job has no changes, and its cursor still works", async (store) => {
    await spawn(store, "one");
    await end(store, await working(store, "two"));
    const { cursor } = await stored(store, "two");
    await store.jobs.remove(jobId("two"));
    assert.deepEqual([await changed(store), await changed(store, cursor)], [["one"], []]);
    assert.equal((await store.agenda(NOW, 1)).jobs, cursor);
    await spawn(store, "three");
    assert.deepEqual(await changed(store, cursor), ["three"]);
    await store.delete(alice);
    assert.deepEqual(await changed(store), []);
    await spawn(store, "four", { sessionId: bob });
    assert.deepEqual(await changed(store, cursor), ["four"]);
  }),
  law("a cursor that was never given is refused, and each kind has its own", async (store) => {
    await spawn(store);
    for (const cursor of ["nonsense", "", "0", "2.5", "99999"])
      await refused("cursor.unknown", () => store.jobs.changes(asJobCursor(cursor), { max: 1 }));
    assert.equal(await store.latest(), undefined);
  }),
  law("events of jobs are not facts of a session", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")]);
    await end(store, lease);
    assert.deepEqual([await told(store), await store.latest()], [[], undefined]);
  }),
];

export const readingLaws: readonly StoreLaw[] = [...listLaws, ...feedLaws];
