import assert from "node:assert/strict";
import { asSessionId, asWaitKey } from "../../../model/ids.ts";
import type { JobEvent } from "../../../model/job.ts";
import { type WaitAnswer, type WaitedTurns, waitIdOf } from "../../../model/wait.ts";
import type { Store } from "../../../stores/store.ts";
import {
  alice,
  ann,
  approval,
  ben,
  bob,
  commit,
  LAPSED,
  NOW,
  newSession,
  newWait,
  opening,
  slept,
} from "../../cast.ts";
import { end, jobId, kindsOf, spawn, stepped, stored, take, turned, working, write } from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { work } from "../acts.ts";
import { asked, carol, firstTurn, OTHER, told, WAIT, yes } from "./acts.ts";

const no: WaitAnswer = { kind: "value", value: "no" };

const waitLaws = [
  law("what a job waits for is listed with its job and path, and is a fact", async (store) => {
    await store.create(newSession());
    await store.create({ ...newSession(bob), parentId: alice });
    const lease = await working(store, "work", { sessionId: bob });
    await write(store, lease, [stepped("a")], { waits: [asked] });
    const wait = {
      id: waitIdOf(WAIT),
      key: WAIT,
      sessionId: bob,
      path: [alice, bob],
      jobId: lease.jobId,
      effect: asked.effect,
      at: NOW,
      until: NOW + 10,
      about: approval,
    };
    const askedAs = await store.latest();
    assert.deepEqual(await store.waits.list({ max: 9 }), [{ ...wait, askedAs }]);
    assert.deepEqual(await store.waits.list({ tree: alice, max: 9 }), [{ ...wait, askedAs }]);
    assert.deepEqual(await store.waits.list({ session: alice, max: 9 }), []);
    assert.deepEqual(await store.waits.get(wait.id), { ...wait, askedAs });
    const fact = { cursor: askedAs, sessionId: bob, kind: "waiting", jobId: lease.jobId, wait: wait.id };
    const facts = await store.changes(undefined, { session: bob, max: 9 });
    assert.deepEqual(facts, [{ ...fact, effect: asked.effect, about: approval, until: NOW + 10 }]);
  }),
  law("the first answer to a job's wait is its event, and a fact", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { waits: [asked] });
    const first = await store.waits.resolve(WAIT, yes, NOW + 3);
    assert.deepEqual([first.said, first.jobId], ["accepted", lease.jobId]);
    const second = await store.waits.resolve(WAIT, no, NOW + 4);
    assert.deepEqual([second.said, second.jobId], ["already-resolved", lease.jobId]);
    const event: JobEvent = { kind: "resolved", at: NOW + 3, wait: waitIdOf(WAIT), answer: yes };
    const all = await store.jobs.events(lease.jobId, 2);
    assert.deepEqual(all, [{ key: `wait/${waitIdOf(WAIT)}`, event, seq: 3 }]);
    assert.deepEqual(await store.waits.list({ max: 9 }), []);
    const { answer, answeredAs } = (await store.waits.get(waitIdOf(WAIT)))!;
    assert.deepEqual([answer, answeredAs], [yes, await store.latest()]);
    const fact = (await store.changes(undefined, { session: alice, max: 9 })).at(-1);
    const how = { kind: "resolved", wants: "approval", how: "value", by: "eve" };
    const whose = { cursor: answeredAs, sessionId: alice, jobId: lease.jobId, wait: waitIdOf(WAIT) };
    assert.deepEqual(fact, { ...whose, effect: asked.effect, ...how });
    assert.deepEqual((await store.jobs.renew(ann, NOW)).changed, [{ jobId: lease.jobId, seq: 3 }]);
    await stored(store);
  }),
  law("a value that comes too late for a job's wait is not kept, and a timeout is", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { waits: [asked] });
    assert.equal((await store.waits.resolve(WAIT, yes, NOW + 10)).said, "expired");
    assert.equal((await stored(store)).seq, 2);
    assert.equal((await store.waits.resolve(WAIT, { kind: "timeout" }, NOW + 10)).said, "accepted");
    const event: JobEvent = { kind: "resolved", at: NOW + 10, wait: waitIdOf(WAIT), answer: { kind: "timeout" } };
    assert.deepEqual((await store.jobs.events(lease.jobId, 2))[0]?.event, event);
  }),
  law("the waits of a job are revoked when it ends", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { waits: [asked, newWait(OTHER)] });
    await store.waits.resolve(OTHER, yes, NOW);
    await end(store, lease);
    for (const key of [WAIT, OTHER]) {
      assert.deepEqual(await store.waits.resolve(key, yes, NOW), { said: "unknown" });
      assert.equal(await store.waits.get(waitIdOf(key)), undefined);
    }
    assert.deepEqual(await store.waits.list({ max: 9 }), []);
    assert.deepEqual(await told(store), ["waiting", "waiting", "resolved"]);
    await stored(store);
  }),
  law("a job that comes to wait again for the same asks once", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")], { waits: [asked] });
    await write(store, lease, [stepped("a")], { waits: [asked] });
    const { lease: next } = await take(store, ben, LAPSED);
    await write(store, next, [], { waits: [asked] });
    assert.deepEqual(await told(store), ["waiting"]);
    assert.equal((await store.waits.list({ max: 9 })).length, 1);
  }),
  law("an early wait of a job can be answered, and is a fact once the job has come to wait", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { waits: [{ ...asked, isEarly: true }] });
    assert.deepEqual([await store.waits.list({ max: 9 }), await told(store)], [[], []]);
    assert.equal((await store.waits.resolve(WAIT, yes, NOW)).said, "accepted");
    assert.deepEqual([await kindsOf(store), await told(store)], [["spawned", "started", "resolved"], []]);
    await write(store, lease, [], { waits: [asked] });
    assert.deepEqual(await told(store), ["waiting", "resolved"]);
  }),
  law("a refused write adds no question", async (store) => {
    const lease = await working(store);
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => write(store, lease, [stepped("a")], { waits: [asked] }));
    assert.deepEqual([await store.waits.list({ max: 9 }), await told(store)], [[], []]);
    assert.equal((await store.waits.resolve(WAIT, yes, NOW)).said, "unknown");
  }),
  law("the questions of a job move with it, and the answer is a fact of the new session", async (store) => {
    await store.create(newSession(bob));
    const lease = await working(store);
    await write(store, lease, [], { waits: [asked] });
    await store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    assert.deepEqual(await store.waits.list({ session: alice, max: 9 }), []);
    const [wait] = await store.waits.list({ session: bob, max: 9 });
    assert.deepEqual([wait?.sessionId, wait?.path, wait?.jobId], [bob, [bob], lease.jobId]);
    await store.waits.resolve(WAIT, yes, NOW);
    assert.deepEqual([await told(store, alice), await told(store, bob)], [["waiting"], ["resolved"]]);
  }),
  law("waits of turns and of jobs are listed in one order", async (store) => {
    const open = await firstTurn(store);
    await store.append(open, 1, [slept("a")], NOW, [newWait(OTHER)]);
    await write(store, await working(store), [], { waits: [asked] });
    const all = await store.waits.list({ session: alice, max: 9 });
    assert.deepEqual(
      all.map(({ turnId, jobId: job }) => turnId ?? job),
      [open.turnId, jobId("work")],
    );
    assert.deepEqual(await store.waits.list({ after: all[0]!.id, max: 9 }), all.slice(1));
    assert.equal((await store.waits.resolve(WAIT, yes, NOW)).sessionId ?? alice, alice);
    assert.deepEqual((await store.waits.resolve(OTHER, yes, NOW)).jobId, undefined);
  }),
];

/** Parks a turn of bob until jobs, or turns, have ended. */
async function waitsFor(store: Store, about: Omit<WaitedTurns, "kind">, words = "wait", to = bob): Promise<boolean> {
  const lease = await firstTurn(store, words, to);
  const key = asWaitKey(`for ${words}`);
  await store.append(lease, 1, [slept("a")], NOW, [
    newWait(key, { about: { kind: "turns", ...about }, until: LAPSED * 9 }),
  ]);
  const answer = await store.park(lease, { turnId: lease.turnId, wakeAt: LAPSED * 9, waits: [key] }, NOW);
  if (answer.kind === "mail") assert.deepEqual(answer.mail.resolved, [{ key, answer: { kind: "value", value: null } }]);
  return answer.kind === "parked";
}

const waitedJobLaws = [
  law("a turn that waits for jobs is work when one of them, or all, have ended, and not before", async (store) => {
    const [one, two] = [await working(store, "one"), await working(store, "two")];
    const jobs = [one.jobId, two.jobId];
    assert.equal(await waitsFor(store, { turns: [], jobs, need: "any" }, "any", bob), true);
    assert.equal(await waitsFor(store, { turns: [], jobs, need: "all" }, "all", carol), true);
    assert.deepEqual(await work(store), []);
    assert.equal((await store.open(bob, ben, NOW, opening)).kind, "parked");
    await write(store, one, [stepped("a")]);
    assert.deepEqual(await work(store), []);
    await end(store, two);
    assert.deepEqual(await work(store), [bob]);
    await end(store, one, "failed");
    assert.deepEqual([...(await work(store))].sort(), [bob, carol]);
    const resumed = await store.open(bob, ben, NOW, opening);
    assert.ok(resumed.kind === "resumed");
    const { resolved } = await store.renew(resumed.lease, NOW);
    assert.deepEqual(resolved, [{ key: "for any", answer: { kind: "value", value: null } }]);
  }),
  law(
    "a job that is idle, removed, or of a deleted session counts as ended for a turn that waits for it",
    async (store) => {
      const idle = await working(store, "idle");
      await working(store, "deleted", { sessionId: asSessionId("dave") });
      await spawn(store, "outside", { recovery: "external", kind: "external" });
      const jobs = ["idle", "deleted", "outside"].map(jobId);
      assert.equal(await waitsFor(store, { turns: [], jobs, need: "all" }), true);
      await write(store, idle, [turned("idle")]);
      await store.delete(asSessionId("dave"));
      assert.deepEqual(await work(store), []);
      await store.jobs.remove(jobId("outside"));
      assert.deepEqual(await work(store), [bob]);
    },
  ),
  law("a job that continues before its waiter looks is awaited again", async (store) => {
    const lease = await working(store);
    assert.equal(await waitsFor(store, { turns: [], jobs: [lease.jobId], need: "all" }), true);
    await write(store, lease, [turned("idle"), turned("running")]);
    assert.deepEqual(await work(store), []);
    await end(store, lease);
    assert.deepEqual(await work(store), [bob]);
  }),
  law("a turn is not parked when the jobs that it waits for have ended", async (store) => {
    await end(store, await working(store));
    assert.equal(await waitsFor(store, { turns: [], jobs: [jobId("work")], need: "all" }), false);
    assert.equal(await waitsFor(store, { turns: [], jobs: [jobId("never")], need: "any" }, "b", carol), false);
  }),
  law("a turn may wait for turns and jobs together", async (store) => {
    const open = await firstTurn(store);
    const lease = await working(store);
    const both = { turns: [{ sessionId: alice, turnId: open.turnId }], jobs: [lease.jobId] };
    assert.equal(await waitsFor(store, { ...both, need: "all" }, "all", bob), true);
    assert.equal(await waitsFor(store, { ...both, need: "any" }, "any", carol), true);
    await commit(store, open);
    assert.deepEqual(await work(store), [carol]);
    await end(store, lease);
    assert.deepEqual([...(await work(store))].sort(), [bob, carol]);
  }),
];

export const awaitingLaws: readonly StoreLaw[] = [...waitLaws, ...waitedJobLaws];
