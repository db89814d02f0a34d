// long: one list of laws
import assert from "node:assert/strict";
import type { Awaitable } from "../model/awaitable.ts";
import { asEffectName, asJobCursor, asSessionId, asWaitKey, type SessionId } from "../model/ids.ts";
import type { JobEvent, NewJob } from "../model/job.ts";
import type { Json } from "../model/json.ts";
import { textOf } from "../model/message.ts";
import { type WaitAnswer, type WaitedTurns, waitIdOf } from "../model/wait.ts";
import {
  type Change,
  type JobLease,
  type JobSpawn,
  type JobsPage,
  LEASE_MS,
  type NewInput,
  type ParkedJob,
  type SessionChange,
  type Store,
} from "../stores/store.ts";
import {
  alice,
  ann,
  approval,
  begin,
  ben,
  bob,
  commit,
  committed,
  ended,
  inputId,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  node,
  opening,
  requireHeld,
  type Sending,
  SKEWED,
  send,
  slept,
  turn,
  turnId,
} from "./cast.ts";
import {
  bound,
  cancelling,
  claimed,
  claimJobs,
  end,
  jobId,
  keysOf,
  kindsOf,
  listed,
  liveIn,
  namesOf,
  newJob,
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
} from "./job-cast.ts";
import { law, refused, type StoreLaw } from "./law.ts";

const WAIT = asWaitKey("job-wait");
const OTHER = asWaitKey("other-job-wait");
const yes: WaitAnswer = { kind: "value", value: "yes", by: "eve" };
const no: WaitAnswer = { kind: "value", value: "no" };
const asked = newWait(WAIT, { effect: asEffectName("job") });
const carol = asSessionId("carol");

const spawnOf = (name = "work", other: Partial<NewJob> = {}): JobSpawn => ({ job: newJob(name, other) });

/** What a job tells its session. */
const wake = (words: string, sending: Sending = {}): NewInput => newInput(words, { key: `wake ${words}`, ...sending });
const waiting = async (store: Store, session = alice): Promise<readonly string[]> =>
  (await store.inputs.list(session)).map(({ message }) => textOf(message.parts));
const told = async (store: Store, session?: SessionId): Promise<readonly Change["kind"][]> =>
  (await store.changes(undefined, session === undefined ? { max: 100 } : { session, max: 100 })).map(
    ({ kind }) => kind,
  );
const work = async (store: Store, now = NOW): Promise<readonly SessionId[]> => (await store.agenda(now, 10)).sessions;
/** Whether the agenda tells a process with these operations of jobs to claim. */
const hasJobs = async (store: Store, now = NOW, operations: readonly string[] = [TASK]): Promise<boolean> =>
  (await store.agenda(now, 10, operations)).hasJobs === true;

const firstTurn = async (store: Store, words = "hello", to = alice) => {
  await store.create(newSession(to));
  return begin(store, words, { to });
};
const change = (operation: string, other: Partial<SessionChange> = {}): SessionChange => ({
  sessionId: alice,
  operation,
  at: NOW,
  ...other,
});

const ODD = "odd \u0000 \ud800 \udc00\ud800 é 😀 ' \" \\ \n";
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
  law("all that is said of a job is kept", async (store) => {
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
  law("a job that is begun again is answered as it stands, whatever its clock says", async (store) => {
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
  law("a job that was handed over is the same when it is begun again", async (store) => {
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
  law("a job that is there under its id is not begun again, and keeps no turn from its end", async (store) => {
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
  law("a job that somebody holds is nobody else's until the time of its owner is over", async (store) => {
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
  law("a holder whose time is over writes on, until somebody takes the job", async (store) => {
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
  law("a job does not begin before its time, whatever is sent to it", async (store) => {
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
  law("a job that is bound to an owner is nobody else's while the owner lives", async (store) => {
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
  law("what is external or over is claimed by nobody", async (store) => {
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    await end(store, await working(store));
    assert.deepEqual([await claimed(store, ben, LAPSED), await hasJobs(store, LAPSED)], [[], false]);
  }),
];
const carl = { id: "carl", process: "elsewhere" };
const dora = { id: "dora", process: "elsewhere" };

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
  law("whatever the clock of an owner says, a renewal holds for the time of a lease at most", async (store) => {
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
  law("a renewal tells which jobs of its owner have changed since, and how long they are", async (store) => {
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
  law("a renewal tells nothing of jobs that its owner holds no more: taken, parked, over, deleted", async (store) => {
    const lost = await working(store, "lost");
    await take(store, ben, LAPSED);
    await parks(store, await working(store, "parked"), { due: LAPSED * 2 });
    await end(store, await working(store, "over"));
    await working(store, "deleted", { sessionId: bob });
    await store.delete(bob);
    assert.deepEqual((await store.jobs.renew(ann, LAPSED)).changed, []);
    await refused("lease.lost", () => write(store, lost, [stepped("a")]));
  }),
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

const eventLaws = [
  law("the record of a job is what its events come to, after each kind of write", async (store) => {
    await store.create(newSession(bob));
    const { lease } = await spawn(store).then(() => take(store));
    const steps: readonly (() => Awaitable<unknown>)[] = [
      () => write(store, lease, [stepped("a"), stepped("b")]),
      () => write(store, lease, [turned("idle"), turned("running")], { waits: [asked] }),
      () => store.waits.resolve(WAIT, yes, NOW),
      () => write(store, lease, [], { wakes: [wake("up")] }),
      () => sendTo(store, "work", signal("s1", { a: 1 })),
      () => store.jobs.transfer(alice, bob, [jobId("work")], NOW),
      () => sendTo(store, "work", cancelling()),
      () => sendTo(store, "work", cancelling("again")),
      () => parks(store, lease),
      () => sendTo(store, "work", signal("s2")),
      async () => write(store, (await take(store, ben)).lease, [over("failed", "end")], { wakes: [wake("over")] }),
    ];
    for (const act of steps) {
      await act();
      await stored(store);
    }
    const { record, seq } = await stored(store);
    const { state, steps: count, wakes, starts, sessionId, cancel } = record;
    assert.deepEqual(
      [state, count, wakes, starts, sessionId, cancel],
      ["failed", 2, 2, 2, bob, { reason: "Enough.", at: NOW }],
    );
    assert.equal(seq, 16);
  }),
  law("an event counts once by its key, and who sends another is told the first", async (store) => {
    const lease = await working(store);
    const first = await write(store, lease, [stepped("a", 1)]);
    assert.deepEqual(first.events, [{ ...stepped("a", 1), seq: 3 }]);
    const again = await write(store, lease, [stepped("a", 2), stepped("b", 3)]);
    assert.deepEqual(again.events, [
      { ...stepped("a", 1), seq: 3 },
      { ...stepped("b", 3), seq: 4 },
    ]);
    const { cursor, seq } = await stored(store);
    assert.deepEqual([again.cursor, again.seq, seq], [cursor, 4, 4]);
    assert.equal((await recordOf(store)).steps, 2);
    assert.deepEqual(await write(store, lease, [stepped("b", 4)]), {
      events: [{ ...stepped("b", 3), seq: 4 }],
      cursor,
      seq,
    });
  }),
  law("a key that stands twice in one write counts once", async (store) => {
    const lease = await working(store);
    const { events, seq } = await write(store, lease, [stepped("a", 1), stepped("a", 2)]);
    assert.deepEqual([events.map(({ event }) => "value" in event && event.value), seq], [[1, 1], 3]);
    await stored(store);
  }),
  law("a key counts in its own job alone, and among many", async (store) => {
    const [one, two] = [await working(store, "one"), await working(store, "two")];
    const names = Array.from({ length: 40 }, (_, nth) => `s${nth}`);
    for (const name of names) await write(store, one, [stepped(name)]);
    await write(store, two, [stepped("s3", "other")]);
    await write(store, one, [stepped("s3", "late"), stepped("s39", "late")]);
    assert.deepEqual((await stored(store, "one")).seq, 42);
    assert.deepEqual((await store.jobs.events(two.jobId, 2))[0]?.event, stepped("s3", "other").event);
  }),
  law("the events of a job are read from any place", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a"), stepped("b")]);
    const all = await store.jobs.events(lease.jobId, 0);
    for (const after of [1, 3, 4, 9]) assert.deepEqual(await store.jobs.events(lease.jobId, after), all.slice(after));
  }),
  law("what a holder and others write at once is all there, in one order", async (store) => {
    const lease = await working(store);
    const nth = [1, 2, 3, 4, 5];
    await Promise.all([
      ...nth.map((each) => write(store, lease, [stepped(`s${each}`)])),
      ...nth.map((each) => sendTo(store, "work", signal(`m${each}`))),
    ]);
    assert.equal((await stored(store)).seq, 12);
  }),
  law("a job ends once, whoever else would end it", async (store) => {
    const lease = await working(store);
    const all = await Promise.allSettled([
      write(store, lease, [over("completed", "one")]),
      write(store, lease, [over("failed", "two")]),
      sendTo(store, "work", cancelling(), LAPSED),
    ]);
    assert.ok(all.filter(({ status }) => status === "rejected").length >= 1);
    assert.equal((await kindsOf(store)).filter((kind) => kind === "ended").length, 1);
    const before = await stored(store);
    await refused("lease.lost", () => write(store, lease, [over("failed", "three")]));
    assert.equal(await sendTo(store, "work", over("failed", "four")), "over");
    assert.deepEqual(await stored(store), before);
  }),
  law("after its end a job takes nothing, and a repeat is answered", async (store) => {
    const lease = await working(store);
    const events = [stepped("a"), over("completed", "end", { result: 7 })];
    const first = await write(store, lease, events, { wakes: [wake("over")] });
    const { state, result, endedAt } = await recordOf(store);
    assert.deepEqual([state, result, endedAt], ["completed", 7, NOW]);
    const again = await write(store, lease, [stepped("a", "else"), over("failed")], { wakes: [wake("over")] });
    assert.deepEqual(again, first);
    await refused("lease.lost", () => write(store, lease, [stepped("b")]));
    await refused("lease.lost", () => write(store, lease, [stepped("a"), stepped("b")]));
    await refused("lease.lost", () => write(store, lease, []));
    assert.deepEqual([(await stored(store)).seq, await waiting(store)], [first.seq, ["over"]]);
  }),
  law("a job that is not there has no holder: never begun, removed, of a deleted session", async (store) => {
    const never: JobLease = { jobId: jobId("never"), generation: 1, owner: ann };
    await refused("lease.lost", () => write(store, never, [stepped("a")]));
    const removed = await working(store, "removed");
    await end(store, removed);
    await store.jobs.remove(removed.jobId);
    await refused("lease.lost", () => write(store, removed, [over()]));
    const deleted = await working(store, "deleted");
    await store.delete(alice);
    await refused("lease.lost", () => write(store, deleted, [stepped("a")], { wakes: [wake("up")] }));
  }),
  law("a write without an event is none, and its lease is looked at all the same", async (store) => {
    const lease = await working(store);
    const { cursor, seq } = await stored(store);
    assert.deepEqual(await write(store, lease, []), { events: [], cursor, seq });
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => write(store, lease, []));
  }),
];

const wakeLaws = [
  law("a wake is an input of the session and an event of the job, in one write", async (store) => {
    const lease = await working(store);
    assert.deepEqual(await work(store), []);
    const { seq, events } = await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    assert.deepEqual([events.length, seq], [1, 4]);
    const woke: JobEvent = { kind: "woke", at: NOW, inputId: inputId("up") };
    assert.deepEqual((await store.jobs.events(lease.jobId, 3))[0], {
      key: `wake/${inputId("up")}`,
      event: woke,
      seq: 4,
    });
    assert.deepEqual([await waiting(store), await work(store), await told(store)], [["up"], [alice], ["accepted"]]);
    assert.equal((await store.load(alice))?.openTurn, undefined);
    assert.equal(await store.inputs.holds(alice, "k"), true);
    const opened = await store.open(alice, ann, NOW, opening);
    assert.ok(opened.kind === "opened" && opened.opened.turnId === turnId("up"));
    assert.equal((await recordOf(store)).wakes, 1);
  }),
  law("a wake for a session with an open turn waits for it", async (store) => {
    const open = await firstTurn(store);
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("next"), wake("here", { place: "boundary" })] });
    assert.deepEqual(await waiting(store), ["next", "here"]);
    const taken = await store.inputs.claim(open, asEffectName("r1.boundary"), 10);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [inputId("here")],
    );
  }),
  law("a message for the next boundary opens no turn, and the next turn takes it", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("note", { place: "injected" })] });
    assert.deepEqual([await waiting(store), await work(store)], [["note"], []]);
    assert.equal((await store.open(alice, ann, NOW, opening)).kind, "idle");
    const open = await begin(store, "hello");
    const taken = await store.inputs.claim(open, asEffectName("r1.boundary"), 10);
    assert.deepEqual(
      taken.map(({ id }) => id),
      [inputId("note")],
    );
  }),
  law("a write that is refused wakes nobody", async (store) => {
    const lease = await bound(store);
    const orphan = await take(store, ben, LAPSED, []);
    const more = { wakes: [wake("up")] };
    await refused("lease.lost", () => write(store, lease, [stepped("a")], more));
    await refused("job.bound", () => write(store, orphan.lease, [stepped("a")], more));
    assert.deepEqual([await waiting(store), await told(store), await work(store)], [[], [], []]);
  }),
  law("wakes keep their order, and come after the events of their write", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a"), over()], { wakes: [wake("one"), wake("two")] });
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "stepped", "ended", "woke", "woke"]);
    assert.deepEqual([await waiting(store), (await recordOf(store)).wakes], [["one", "two"], 2]);
  }),
  law("a wake that is sent again is neither accepted nor told again, also under another id", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("up", { key: "k" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("else", { key: "k", hash: "hash of up" })] });
    await write(store, lease, [stepped("a")], { wakes: [wake("other", { key: "k" })] });
    assert.deepEqual([await waiting(store), (await stored(store)).seq], [["up"], 4]);
    assert.deepEqual([(await recordOf(store)).wakes, await told(store)], [1, ["accepted"]]);
  }),
  law("a wake that its session has settled is not accepted again", async (store) => {
    const lease = await working(store);
    await write(store, lease, [], { wakes: [wake("up")] });
    const opened = await store.open(alice, ann, NOW, opening);
    assert.ok(opened.kind === "opened");
    await commit(store, opened.lease);
    await write(store, lease, [], { wakes: [wake("up")] });
    assert.deepEqual([await waiting(store), (await recordOf(store)).wakes], [[], 1]);
  }),
  law(
    "a job wakes its session no more often than it may: one more is told as lost, and nothing fails",
    async (store) => {
      const lease = await working(store);
      await write(store, lease, [], { wakes: [wake("one")], wakesMax: 2 });
      const { events } = await write(store, lease, [stepped("a")], {
        wakes: [wake("two"), wake("three")],
        wakesMax: 2,
      });
      assert.equal(events.length, 1);
      await write(store, lease, [], { wakes: [wake("four")], wakesMax: 2 });
      assert.deepEqual(await waiting(store), ["one", "two"]);
      const lost = (await store.jobs.events(lease.jobId, 0)).flatMap(({ event }) =>
        event.kind === "woke" ? [event.lost] : [],
      );
      assert.deepEqual(lost, [undefined, undefined, "full", "full"]);
      await stored(store);
    },
  ),
  law("a wake goes to the session that has the job, also where its holder does not know that yet", async (store) => {
    const lease = await working(store);
    await store.create(newSession(bob));
    await store.jobs.transfer(alice, bob, [lease.jobId], NOW);
    await write(store, lease, [stepped("a")], { wakes: [wake("up"), wake("hey", { to: bob })] });
    const [up, hey] = (await store.jobs.events(lease.jobId, 4)).map(({ event }) => event);
    assert.deepEqual(up, { kind: "woke", at: NOW, inputId: inputId("up") });
    assert.deepEqual(hey, { kind: "woke", at: NOW, inputId: inputId("hey") });
    assert.deepEqual([await waiting(store, alice), await waiting(store, bob)], [[], ["up", "hey"]]);
  }),
  law("a wake is accepted however many inputs wait", async (store) => {
    await firstTurn(store);
    await send(store, "more", { pendingMax: 1 });
    await refused("input.full", () => send(store, "too much", { pendingMax: 1 }));
    await write(store, await working(store), [], { wakes: [wake("up")] });
    assert.deepEqual(await waiting(store), ["more", "up"]);
  }),
  law("what is sent to a job may wake its session, once", async (store) => {
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    const ends = () => store.jobs.send(jobId("outside"), over("completed", "e1"), NOW, { wakes: [wake("done")] });
    assert.deepEqual([(await ends()).said, (await ends()).said], ["accepted", "known"]);
    await store.jobs.send(jobId("outside"), signal("late"), NOW, { wakes: [wake("late")] });
    assert.deepEqual(await waiting(store), ["done"]);
    assert.deepEqual(await kindsOf(store, "outside"), ["spawned", "ended", "woke"]);
    await stored(store, "outside");
  }),
];

/** What may come for a job that wants to be parked. */
const MAIL = {
  signal: (store: Store) => sendTo(store, "work", signal("s1")),
  answer: (store: Store) => store.waits.resolve(WAIT, yes, NOW),
  cancel: (store: Store) => sendTo(store, "work", cancelling()),
};

const parkingLaws = [
  law("a job that is parked is nobody's, and its lease writes nothing more", async (store) => {
    const lease = await working(store);
    const { isParked, seq } = await write(store, lease, [stepped("a")], { parks: { seen: 2 } });
    assert.deepEqual([isParked, seq], [true, 3]);
    assert.deepEqual([await claimed(store, ben, LAPSED * 9), await hasJobs(store, LAPSED * 9)], [[], false]);
    await refused("lease.lost", () => write(store, lease, [stepped("b")]));
    await refused("lease.lost", () => write(store, lease, [over()]));
    assert.deepEqual([await stateOf(store), (await store.jobs.renew(ann, NOW)).changed], ["running", []]);
  }),
  law("a job that is parked goes on at its time", async (store) => {
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
  law("a job that awaits others goes on when one of them is over, or all", async (store) => {
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
  law("a job that awaits another goes on when that one is idle, cancelled, removed or deleted", async (store) => {
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
  law("a job is not parked when what it awaits is over already, idle, or not there", async (store) => {
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
  }),
  law("a job that awaits others goes on for anything else too: its time, or a signal", async (store) => {
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
  law("the call that parked a job is answered again, until somebody takes the job", async (store) => {
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
  law("a process without its task leaves a parked job alone, whatever came", async (store) => {
    const lease = await working(store);
    await parks(store, lease, { due: NOW + 1 });
    await sendTo(store, "work", signal("s1"));
    assert.deepEqual([await claimed(store, ben, NOW + 5, ["other"]), await hasJobs(store, NOW + 5, [])], [[], false]);
    assert.equal((await store.agenda(NOW, 1, ["other"])).next, undefined);
  }),
];

const sendingLaws = [
  law("what is sent to a job is its event, once", async (store) => {
    const lease = await working(store);
    const sent = await store.jobs.send(jobId("work"), signal("s1", 1), NOW);
    assert.deepEqual(sent, { said: "accepted", job: await stored(store) });
    const again = await store.jobs.send(jobId("work"), signal("s1", 2), NOW);
    assert.deepEqual(again, { said: "known", job: sent.job });
    assert.deepEqual((await store.jobs.events(lease.jobId, 2))[0]?.event, signal("s1", 1).event);
    assert.deepEqual(await store.jobs.send(jobId("never"), signal("s1"), NOW), { said: "unknown" });
  }),
  law("a job that is over takes nothing, and a key of before is known", async (store) => {
    const lease = await working(store);
    await sendTo(store, "work", signal("s1"));
    await end(store, lease);
    const before = await stored(store);
    assert.deepEqual(await store.jobs.send(jobId("work"), signal("s1"), NOW), { said: "known", job: before });
    for (const event of [signal("s2"), cancelling()])
      assert.deepEqual(await store.jobs.send(jobId("work"), event, NOW), { said: "over", job: before });
    assert.deepEqual(await stored(store), before);
  }),
  law("only its holder says that a job has ended or is idle, unless it is external", async (store) => {
    await working(store);
    await bound(store, "bound");
    await spawn(store, "free");
    for (const name of ["work", "bound", "free"]) {
      const before = await stored(store, name);
      for (const event of [over(), turned("idle")])
        assert.deepEqual(await store.jobs.send(jobId(name), event, NOW), { said: "bound", job: before });
      assert.deepEqual(await stored(store, name), before);
    }
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    assert.equal(await sendTo(store, "outside", turned("idle")), "accepted");
    assert.equal(await stateOf(store, "outside"), "idle");
    assert.equal(await sendTo(store, "outside", turned("running")), "accepted");
    assert.equal(await sendTo(store, "outside", over("failed")), "accepted");
    assert.equal(await sendTo(store, "outside", over("completed")), "known");
    assert.equal(await sendTo(store, "outside", over("completed", "again")), "over");
    assert.deepEqual([await stateOf(store, "outside"), await liveIn(store, alice)], ["failed", [3]]);
  }),
  law("a cancel is told to the holder of a job, who ends it", async (store) => {
    const lease = await working(store);
    assert.equal(await sendTo(store, "work", cancelling()), "accepted");
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "cancelling"]);
    assert.deepEqual(
      [(await recordOf(store)).cancel, await stateOf(store)],
      [{ reason: "Enough.", at: NOW }, "running"],
    );
    await write(store, lease, [stepped("cleanup")]);
    await end(store, lease, "cancelled");
    assert.equal(await stateOf(store), "cancelled");
  }),
  law("a job that nobody holds, or that is external, ends with the cancel", async (store) => {
    await spawn(store, "unbegun");
    await spawn(store, "later", { notBefore: NOW + 500 });
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    for (const name of ["unbegun", "later", "outside"]) {
      assert.equal(await sendTo(store, name, cancelling(), NOW + 1), "accepted");
      const [asks, ends] = (await store.jobs.events(jobId(name), 0)).slice(-2);
      assert.deepEqual(asks?.event, cancelling().event);
      assert.deepEqual([ends?.key, ends?.event], ["end", { kind: "ended", at: NOW + 1, state: "cancelled" }]);
      assert.equal(await stateOf(store, name), "cancelled");
      assert.equal(await sendTo(store, name, cancelling("again")), "over");
    }
    assert.deepEqual(await claimed(store, ann, NOW + 500), []);
  }),
  law("a job whose owner is gone ends with the cancel, and its holder has lost it", async (store) => {
    const [one, two] = [await working(store, "one"), await bound(store, "two")];
    for (const [name, lease] of [
      ["one", one],
      ["two", two],
    ] as const) {
      assert.equal(await sendTo(store, name, cancelling("early"), LAPSED - 1), "accepted");
      assert.equal(await stateOf(store, name), "running");
      await sendTo(store, name, cancelling(), LAPSED);
      assert.equal(await stateOf(store, name), "cancelled");
      await refused("lease.lost", () => write(store, lease, [stepped("a")]));
    }
    await working(store, "three", {}, ben);
    await store.jobs.leave(ben);
    await sendTo(store, "three", cancelling());
    assert.equal(await stateOf(store, "three"), "cancelled");
  }),
  law("a cancel ends a job also where the key of its end is taken", async (store) => {
    await spawn(store);
    await sendTo(store, "work", cancelling("end"));
    assert.equal(await stateOf(store), "cancelled");
  }),
];

const childLaws = [
  law("when a turn ends, the jobs that are to end with it are told or end, and others stay", async (store) => {
    const lease = await firstTurn(store);
    const parent = { turnId: lease.turnId };
    const held = await working(store, "held", { parent, onParentEnd: "cancel" });
    await spawn(store, "free", { parent, onParentEnd: "cancel" });
    await spawn(store, "kept", { parent, onParentEnd: "keep" });
    await spawn(store, "other", { parent: { turnId: turnId("other") }, onParentEnd: "cancel" });
    await spawn(store, "nobody's", { onParentEnd: "cancel" });
    await commit(store, lease);
    assert.deepEqual(await kindsOf(store, "held"), ["spawned", "started", "cancelling"]);
    assert.equal((await keysOf(store, "held")).at(-1), "cancel");
    assert.deepEqual(await kindsOf(store, "free"), ["spawned", "cancelling", "ended"]);
    assert.deepEqual((await keysOf(store, "free")).slice(1), ["cancel", "end"]);
    for (const name of ["kept", "other", "nobody's"]) assert.deepEqual(await kindsOf(store, name), ["spawned"]);
    await end(store, held, "cancelled");
    assert.deepEqual(await listed(store, { isLive: true }), ["kept", "other", "nobody's"]);
    for (const { record } of await store.jobs.list({ max: 9 })) await stored(store, record.id.slice(4));
  }),
  law("a turn that is reopened, or whose commit is refused, cancels no job", async (store) => {
    const lease = await firstTurn(store);
    await spawn(store, "work", { parent: { turnId: lease.turnId }, onParentEnd: "cancel" });
    await store.cancel(lease.turnId, { requestId: "r1", reason: "Enough.", at: NOW });
    assert.equal((await store.commit(lease, ended(lease))).kind, "reopen");
    assert.deepEqual(await kindsOf(store), ["spawned"]);
    await store.open(alice, ben, LAPSED, opening);
    await refused("lease.lost", () => store.commit(lease, ended(lease, { cancel: "r1" })));
    assert.deepEqual(await kindsOf(store), ["spawned"]);
  }),
  law("a commit that is sent again cancels nothing again", async (store) => {
    const lease = await firstTurn(store);
    await working(store, "work", { parent: { turnId: lease.turnId }, onParentEnd: "cancel" });
    await committed(store.commit(lease, ended(lease)));
    await committed(store.commit(lease, ended(lease)));
    assert.deepEqual(await kindsOf(store), ["spawned", "started", "cancelling"]);
  }),
  law(
    "a turn beside the path ends its jobs too, and those that begin with it, and those of other sessions",
    async (store) => {
      await store.create(newSession());
      await turn(store, "one");
      await turn(store, "two");
      const lease = await begin(store, "three");
      const child = { parent: { turnId: lease.turnId }, onParentEnd: "cancel" } as const;
      await spawn(store, "here", child);
      await spawn(store, "there", { ...child, sessionId: bob });
      const { branch } = await commit(store, lease, { base: node("one", 0), spawns: [spawnOf("new", child)] });
      assert.ok(branch !== undefined);
      for (const name of ["here", "there", "new"]) assert.equal(await stateOf(store, name), "cancelled");
    },
  ),
  law("when a job ends, its children that are to end with it are told or end, and theirs", async (store) => {
    const lease = await working(store, "root");
    const parent = { jobId: jobId("root") };
    await working(store, "held", { parent, onParentEnd: "cancel" });
    await spawn(store, "free", { parent, onParentEnd: "cancel" });
    await spawn(store, "kept", { parent });
    await spawn(store, "grandchild", { parent: { jobId: jobId("free") }, onParentEnd: "cancel" });
    await spawn(store, "later", { parent: { jobId: jobId("held") }, onParentEnd: "cancel" });
    await end(store, lease);
    assert.deepEqual(await kindsOf(store, "held"), ["spawned", "started", "cancelling"]);
    for (const name of ["free", "grandchild"])
      assert.deepEqual([await stateOf(store, name), (await keysOf(store, name)).at(1)], ["cancelled", "cancel"]);
    assert.deepEqual(await listed(store, { isLive: true }), ["held", "kept", "later"]);
  }),
  law("the children of a job end with it however it ends: cancelled, abandoned, external", async (store) => {
    await spawn(store, "free");
    await bound(store, "bound");
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    for (const name of ["free", "bound", "outside"])
      await spawn(store, `of ${name}`, { parent: { jobId: jobId(name) }, onParentEnd: "cancel", operation: "x.y" });
    await sendTo(store, "free", cancelling());
    await sendTo(store, "outside", over());
    assert.deepEqual(await listed(store, { isLive: true }), ["bound", "of bound"]);
    const orphan = await take(store, ben, LAPSED, []);
    await write(store, orphan.lease, [over("abandoned")]);
    assert.deepEqual(await listed(store, { isLive: true }), []);
    for (const { record } of await store.jobs.list({ max: 9 })) await stored(store, record.id.slice(4));
  }),
  law("a job whose end is refused cancels no child", async (store) => {
    const lease = await working(store, "root");
    await spawn(store, "child", { parent: { jobId: jobId("root") }, onParentEnd: "cancel", operation: "x.y" });
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => end(store, lease));
    assert.deepEqual(await kindsOf(store, "child"), ["spawned"]);
  }),
];

const transferLaws = [
  law("a job that is handed over is of the other session, and its holder goes on", async (store) => {
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

const readingLaws = [
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
    "jobs are listed a page at a time, also after one that is over, and none after one that is gone",
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
  law("a job that is over or external can be forgotten, and no other", async (store) => {
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

/** Who has changed after a cursor. */
const changed = async (store: Store, after?: string, session?: SessionId, max = 100): Promise<readonly string[]> =>
  namesOf(
    await store.jobs.changes(after === undefined ? undefined : asJobCursor(after), {
      max,
      ...(session === undefined ? {} : { session }),
    }),
  );

const feedLaws = [
  law("jobs that changed are told in the order of their latest events, each once, as they stand", async (store) => {
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
  }),
  law("what has changed is told a page at a time, of all sessions or of one", async (store) => {
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
  law("what was read, refused or known is no change", async (store) => {
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
  law("nothing is told of a job that was removed, and a cursor of it still serves", async (store) => {
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
  law("what becomes of jobs is no fact of a session", async (store) => {
    const lease = await working(store);
    await write(store, lease, [stepped("a")]);
    await end(store, lease);
    assert.deepEqual([await told(store), await store.latest()], [[], undefined]);
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
  law("a write that is refused asks nobody", async (store) => {
    const lease = await working(store);
    await take(store, ben, LAPSED);
    await refused("lease.lost", () => write(store, lease, [stepped("a")], { waits: [asked] }));
    assert.deepEqual([await store.waits.list({ max: 9 }), await told(store)], [[], []]);
    assert.equal((await store.waits.resolve(WAIT, yes, NOW)).said, "unknown");
  }),
  law("what a job waits for goes with it to another session, where its answer is told", async (store) => {
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

/** Parks a turn of bob until jobs, or turns, are over. */
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
  law("a turn that waits for jobs is work when one of them is over, or all, and not before", async (store) => {
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
  law("a job that is idle, removed, or of a deleted session is over for a turn that waits for it", async (store) => {
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
  }),
  law("a job that goes on again before anyone looks is waited for again", async (store) => {
    const lease = await working(store);
    assert.equal(await waitsFor(store, { turns: [], jobs: [lease.jobId], need: "all" }), true);
    await write(store, lease, [turned("idle"), turned("running")]);
    assert.deepEqual(await work(store), []);
    await end(store, lease);
    assert.deepEqual(await work(store), [bob]);
  }),
  law("a turn is not parked when the jobs that it waits for are over", async (store) => {
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

const agendaLaws = [
  law("the agenda tells of jobs to claim those who have their task, and nobody else", async (store) => {
    const nothing = { sessions: [], gone: 0 };
    await store.create(newSession());
    assert.deepEqual(await store.agenda(NOW, 10, [TASK]), nothing);
    const { cursor: jobs } = await spawn(store);
    assert.deepEqual(await store.agenda(NOW, 10, [TASK, "more"]), { ...nothing, jobs, hasJobs: true });
    assert.deepEqual(await store.agenda(NOW, 10, ["more"]), { ...nothing, jobs });
    assert.deepEqual(await store.agenda(NOW, 10, []), { ...nothing, jobs });
    assert.deepEqual(await store.agenda(NOW, 10), { ...nothing, jobs });
  }),
  law("the agenda does not tell of jobs to claim where nobody says what it can do", async (store) => {
    await spawn(store, "now");
    await spawn(store, "later", { notBefore: NOW + 5 });
    await bound(store, "bound");
    assert.deepEqual(await store.agenda(LAPSED, 10), {
      sessions: [],
      gone: 0,
      jobs: (await stored(store, "bound")).cursor,
    });
  }),
  law(
    "the agenda tells the next time of a job, and forgets it when the job is claimed, over or deleted",
    async (store) => {
      const next = async (operations: readonly string[] = [TASK]) => (await store.agenda(NOW, 10, operations)).next;
      await spawn(store, "a", { notBefore: NOW + 7 });
      await spawn(store, "b", { notBefore: NOW + 5 });
      await spawn(store, "c", { notBefore: NOW + 3, operation: "x.y" });
      await spawn(store, "d", { notBefore: NOW + 9, sessionId: bob });
      assert.deepEqual([await next(), await next(["x.y"]), await next([])], [NOW + 5, NOW + 3, undefined]);
      await take(store, ann, NOW + 5);
      assert.equal(await next(), NOW + 7);
      await sendTo(store, "a", cancelling());
      assert.equal(await next(), NOW + 9);
      await store.delete(bob);
      assert.equal(await next(), undefined);
    },
  ),
  law("the next time in the agenda is the earlier of a turn's and a job's", async (store) => {
    const open = await firstTurn(store);
    await store.append(open, 1, [slept("a")], NOW, [newWait(OTHER)]);
    await store.park(open, { turnId: open.turnId, wakeAt: NOW + 6, waits: [OTHER] }, NOW);
    await spawn(store, "work", { notBefore: NOW + 8 });
    assert.equal((await store.agenda(NOW, 1, [TASK])).next, NOW + 6);
    await spawn(store, "sooner", { notBefore: NOW + 4 });
    assert.deepEqual(
      [(await store.agenda(NOW, 1, [TASK])).next, (await store.agenda(NOW, 1)).next],
      [NOW + 4, NOW + 6],
    );
  }),
  law("the agenda agrees with what can be claimed", async (store) => {
    const lease = await working(store, "held");
    await bound(store, "bound");
    await parks(store, await working(store, "parked"), { due: NOW + 5 });
    await spawn(store, "later", { notBefore: NOW + 9 });
    for (const now of [NOW, NOW + 5, NOW + 9, LAPSED]) {
      const isTold = await hasJobs(store, now);
      assert.equal(
        (await claimJobs(store, { id: `at ${now}`, process: "elsewhere" }, now)).length > 0,
        isTold,
        `${now}`,
      );
      assert.equal(await hasJobs(store, now), false);
    }
    await refused("lease.lost", () => write(store, lease, [stepped("a")]));
  }),
];

const closedLaws = [
  law("a store that is closed keeps no jobs any more", async (store) => {
    const lease = await working(store);
    await store.close();
    for (const call of [
      () => store.jobs.spawn(spawnOf("more"), 9),
      () => store.jobs.claim(ann, NOW, 1, []),
      () => store.jobs.renew(ann, NOW),
      () => store.jobs.leave(ann),
      () => write(store, lease, [stepped("a")]),
      () => sendTo(store, "work", signal("s1")),
      () => store.jobs.load(lease.jobId),
      () => store.jobs.events(lease.jobId, 0),
      () => listed(store),
      () => store.jobs.count(alice),
      () => store.jobs.transfer(alice, bob, [], NOW),
      () => store.jobs.remove(lease.jobId),
      () => store.jobs.changes(undefined, { max: 1 }),
    ])
      await refused("runtime.closed", call);
  }),
];

/** The promises of `Store.jobs`, and of what others of a store's methods do with jobs. */
export const jobLaws: readonly StoreLaw[] = [
  ...beginningLaws,
  ...carriedLaws,
  ...claimLaws,
  ...ownerLaws,
  ...eventLaws,
  ...wakeLaws,
  ...parkingLaws,
  ...sendingLaws,
  ...childLaws,
  ...transferLaws,
  ...readingLaws,
  ...feedLaws,
  ...sessionLaws,
  ...waitLaws,
  ...waitedJobLaws,
  ...agendaLaws,
  ...closedLaws,
];
