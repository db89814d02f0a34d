import assert from "node:assert/strict";
import type { NewJob } from "../../../model/job.ts";
import type { Json } from "../../../model/json.ts";
import {
  alice,
  ann,
  begin,
  ben,
  bob,
  commit,
  ended,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  slept,
  turnId,
} from "../../cast.ts";
import {
  bound,
  claimed,
  claimJobs,
  end,
  jobId,
  keysOf,
  kindsOf,
  listed,
  liveIn,
  newJob,
  over,
  recordOf,
  sendTo,
  signal,
  spawn,
  stepped,
  stored,
  working,
  write,
} from "../../job-cast.ts";
import { law, refused, type StoreLaw } from "../../law.ts";
import { change, ODD } from "../acts.ts";
import { firstTurn, spawnOf, WAIT } from "./acts.ts";

const ODD_OBJECT = JSON.parse(`{"__proto__": {"a": 1}, "constructor": 2, "": 3, "toString": null}`) as Json;

const beginningLaws = [
  law("a job that is begun is there, with the first of its events", async (store) => {
    const job = await spawn(store);
    const { at, ...rest } = newJob();
    assert.deepEqual(job.record, { ...rest, state: "running", createdAt: at, starts: 0, steps: 0, wakes: 0 });
    assert.equal(job.seq, 1);
    assert.deepEqual(await stored(store), job);
    const first = { key: "spawned", event: { kind: "spawned", at, job: newJob() }, seq: 1 };
    assert.deepEqual(await store.jobs.events(jobId("work"), 0), [first]);
    assert.equal(await store.jobs.load(jobId("other")), undefined);
    assert.deepEqual(await store.jobs.events(jobId("other"), 0), []);
  }),
  law("all fields of a job are stored", async (store) => {
    const other: Partial<NewJob> = {
      kind: "subagent",
      visibility: "hidden",
      wake: "notify",
      parent: { turnId: turnId("hello") },
      onParentEnd: "cancel",
      input: { deep: [1, { a: null }] },
      signals: { go: { type: "object" } },
      childId: bob,
      about: { where: "here" },
      notBefore: NOW + 5,
    };
    const { record } = await spawn(store, "work", other);
    const { at, ...rest } = newJob("work", other);
    assert.deepEqual(record, { ...rest, state: "running", createdAt: at, starts: 0, steps: 0, wakes: 0 });
    assert.deepEqual(await recordOf(store), record);
    const { id, turnId: opens, message, hash } = newInput("later");
    const delivers = { id, turnId: opens, key: "k", message, place: "turn", hash } as const;
    assert.deepEqual((await spawn(store, "post", { delivers })).record.delivers, delivers);
  }),
  law("odd names and values of a job survive: its label, input, keys, steps, payloads and result", async (store) => {
    const lease = await working(store, "work", { label: ODD, input: ODD_OBJECT, about: ODD });
    const step = { key: ODD, event: { kind: "stepped", at: NOW, name: ODD, value: [ODD, ODD_OBJECT] } } as const;
    await write(store, lease, [step, { ...step, key: "__proto__" }]);
    await sendTo(store, "work", signal(`${ODD}2`, ODD_OBJECT));
    await write(store, lease, [over("completed", `${ODD}3`, { result: ODD_OBJECT })]);
    const { label, input, about, result } = await recordOf(store);
    assert.deepEqual([label, input, about, result], [ODD, ODD_OBJECT, ODD, ODD_OBJECT]);
    assert.deepEqual(await keysOf(store), ["spawned", "started/1", ODD, "__proto__", `${ODD}2`, `${ODD}3`]);
    assert.deepEqual((await store.jobs.events(lease.jobId, 2))[0]?.event, step.event);
  }),
  law("huge values of a job survive", async (store) => {
    const huge = "é".repeat(300_000);
    const lease = await working(store, "work", { input: huge });
    await write(store, lease, [stepped("a", { huge })]);
    await write(store, lease, [over("completed", "end", { result: huge })]);
    const { input, result } = await recordOf(store);
    assert.ok(input === huge && result === huge);
    assert.deepEqual((await store.jobs.events(jobId("work"), 2))[0], { ...stepped("a", { huge }), seq: 3 });
  }),
  law("starting an existing job returns its current state, whatever its time", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")]);
    const again = await store.jobs.spawn({ job: newJob("work", { at: NOW + 9 }) }, 100);
    assert.deepEqual(again, await stored(store));
    assert.equal(again.record.createdAt, NOW);
    await end(store, lease);
    assert.deepEqual(await store.jobs.spawn(spawnOf(), 100), await stored(store));
    assert.deepEqual(await listed(store), ["work"]);
  }),
  law("another job under an id that is taken is a conflict, and changes nothing", async (store) => {
    const job = await spawn(store);
    for (const other of [{ label: "else" }, { input: { name: "else" } }, { sessionId: bob }, { wake: "wake" }] as const)
      await refused("job.conflict", () => store.jobs.spawn(spawnOf("work", other), 100));
    assert.deepEqual(await stored(store), job);
  }),
  law("a job that was handed over is the same when it is started a second time", async (store) => {
    await spawn(store);
    await store.create(newSession(bob));
    await store.jobs.transfer(alice, bob, [jobId("work")], NOW);
    assert.equal((await store.jobs.spawn(spawnOf(), 100)).record.sessionId, bob);
  }),
  law("no job begins in a session that is not there: never made, or deleted", async (store) => {
    await refused("session.unknown", () => store.jobs.spawn(spawnOf(), 100));
    await store.create(newSession());
    await store.delete(alice);
    await refused("session.unknown", () => store.jobs.spawn(spawnOf(), 100));
    assert.equal(await store.jobs.load(jobId("work")), undefined);
  }),
  law("a session has no more jobs than it may that are not over, and a repeat is not refused", async (store) => {
    await store.create(newSession());
    await store.create(newSession(bob));
    await store.jobs.spawn(spawnOf("one"), 1);
    await refused("job.full", () => store.jobs.spawn(spawnOf("two"), 1));
    assert.equal(await store.jobs.load(jobId("two")), undefined);
    await store.jobs.spawn(spawnOf("one"), 1);
    await store.jobs.spawn(spawnOf("elsewhere", { sessionId: bob }), 1);
    await end(store, (await claimJobs(store))[0]!.lease);
    await store.jobs.spawn(spawnOf("two"), 1);
    assert.deepEqual(await liveIn(store, alice, bob), [1, 1]);
  }),
  law("a job that begins with an owner is held by it, under the first generation", async (store) => {
    const lease = await bound(store);
    assert.deepEqual(await kindsOf(store), ["spawned", "started"]);
    assert.deepEqual(await keysOf(store), ["spawned", "started/1"]);
    await write(store, lease, [stepped("a")]);
    assert.deepEqual((await recordOf(store)).starts, 1);
    assert.deepEqual((await store.jobs.renew(ann, NOW)).changed, [{ jobId: jobId("work"), seq: 3 }]);
    assert.deepEqual(await claimed(store, ben), []);
  }),
  law("of two that begin one job at once, one is the first", async (store) => {
    await store.create(newSession());
    const jobs = await Promise.all([store.jobs.spawn(spawnOf(), 1), store.jobs.spawn(spawnOf(), 1)]);
    assert.deepEqual(jobs[0], jobs[1]);
    assert.deepEqual(await kindsOf(store), ["spawned"]);
  }),
];

const carriedLaws = [
  law("a job begins with events of a turn, once, however often they are sent", async (store) => {
    const lease = await firstTurn(store);
    for (let time = 0; time < 2; time += 1)
      await store.append(lease, 1, [slept("a")], NOW, [], [spawnOf("one"), spawnOf("two")]);
    assert.deepEqual(await listed(store), ["one", "two"]);
    assert.deepEqual([await kindsOf(store, "one"), (await store.journal(lease.turnId, 0)).length], [["spawned"], 2]);
    assert.deepEqual(await claimed(store), ["one", "two"]);
  }),
  law("a job that begins with events of a turn is held by the owner that it is bound to", async (store) => {
    const lease = await firstTurn(store);
    const job = newJob("work", { recovery: "owner-bound" });
    await store.append(lease, 1, [slept("a")], NOW + 50, undefined, [{ job, owner: ann }]);
    assert.deepEqual(await kindsOf(store), ["spawned", "started"]);
    assert.deepEqual(await claimed(store, ben, LAPSED + 49), []);
    assert.deepEqual(await claimed(store, ben, LAPSED + 50), ["work"]);
  }),
  law("an append that is refused begins no job: a gap, other content, a lease that moved", async (store) => {
    const lease = await firstTurn(store);
    await store.append(lease, 1, [slept("a")], NOW);
    const begins = (seq: number, event: string) => () =>
      store.append(lease, seq, [slept(event)], NOW, undefined, [spawnOf()]);
    await refused("append.conflict", begins(3, "b"));
    await refused("append.conflict", begins(1, "b"));
    await store.open(alice, ben, LAPSED, opening);
    await refused("lease.lost", begins(2, "b"));
    assert.deepEqual(await listed(store), []);
    assert.equal((await store.agenda(NOW, 1)).jobs, undefined);
  }),
  law("an append whose job cannot begin writes nothing: no event, no wait, no other job", async (store) => {
    const lease = await firstTurn(store);
    const bad = spawnOf("lost", { sessionId: bob });
    await refused("session.unknown", () =>
      store.append(lease, 1, [slept("a")], NOW, [newWait(WAIT)], [spawnOf(), bad]),
    );
    assert.deepEqual(await listed(store), []);
    assert.equal((await store.journal(lease.turnId, 0)).length, 1);
    assert.deepEqual(await store.waits.list({ max: 10 }), []);
  }),
  law("a commit begins its jobs with the turn, once", async (store) => {
    const lease = await firstTurn(store);
    for (let time = 0; time < 2; time += 1)
      await store.commit(lease, ended(lease, { spawns: [spawnOf("one"), spawnOf("two")] }));
    assert.deepEqual(await listed(store), ["one", "two"]);
    assert.deepEqual(await kindsOf(store, "two"), ["spawned"]);
  }),
  law("a commit that is refused or reopened begins no job", async (store) => {
    const lease = await firstTurn(store);
    await store.cancel(lease.turnId, { requestId: "r1", reason: "Enough.", at: NOW });
    const ending = ended(lease, { spawns: [spawnOf()] });
    assert.equal((await store.commit(lease, ending)).kind, "reopen");
    assert.deepEqual(await listed(store), []);
    await store.open(alice, ben, LAPSED, opening);
    await refused("lease.lost", () => store.commit(lease, { ...ending, cancel: "r1" }));
    assert.deepEqual(await listed(store), []);
    const second = await firstTurn(store, "two", bob);
    await commit(store, second);
    await refused("store.conflict", () => store.commit(second, ended(second, { says: ["else"], spawns: [spawnOf()] })));
    assert.deepEqual(await listed(store), []);
  }),
  law("a job whose id exists is not started a second time, and does not stop a turn from ending", async (store) => {
    const lease = await firstTurn(store);
    await spawn(store, "taken");
    const other = spawnOf("taken", { label: "else" });
    await store.append(lease, 1, [slept("a")], NOW, [], [other]);
    await commit(store, lease, { spawns: [other, spawnOf()] });
    assert.deepEqual(await listed(store), ["taken", "work"]);
    assert.deepEqual(await kindsOf(store, "taken"), ["spawned"]);
    assert.notEqual((await store.jobs.load(jobId("taken")))?.record.label, "else");
  }),
  law("a change begins its jobs, once", async (store) => {
    await store.create(newSession());
    for (let time = 0; time < 2; time += 1) await store.apply(change("op", { spawns: [spawnOf()] }));
    assert.deepEqual(await kindsOf(store), ["spawned"]);
    assert.equal((await store.load(alice))?.revision, 1);
  }),
  law("a change that is not made begins no job: stale, busy, a conflict, or a job that cannot begin", async (store) => {
    await store.create(newSession());
    const spawns = [spawnOf()];
    assert.equal((await store.apply(change("op", { base: 7, spawns }))).kind, "stale");
    await store.apply(change("done", { config: { model: "a" } }));
    await refused("append.conflict", () => store.apply(change("done", { config: { model: "b" }, spawns })));
    await refused("session.unknown", () =>
      store.apply(change("op", { spawns: [...spawns, spawnOf("lost", { sessionId: bob })] })),
    );
    await begin(store, "hello");
    assert.equal((await store.apply(change("op", { spawns }))).kind, "busy");
    assert.deepEqual([await listed(store), (await store.load(alice))?.revision], [[], 1]);
  }),
];

export const spawningLaws: readonly StoreLaw[] = [...beginningLaws, ...carriedLaws];
