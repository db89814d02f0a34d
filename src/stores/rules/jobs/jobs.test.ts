import { expect, test } from "vitest";
import { iterate, portWith, replacing, rowsOf } from "../../../../test/stores/rule-port.ts";
import { RuntimeError } from "../../../model/errors.ts";
import { asWaitKey } from "../../../model/ids.ts";
import { waitIdOf } from "../../../model/wait.ts";
import { alice, ann, ben, bob, LAPSED, NOW, newInput, newWait } from "../../../testing/cast.ts";
import { cancelling, jobId, newJob, over, signal, stepped, TASK, turned } from "../../../testing/job-cast.ts";
import type { MemoryPort } from "../../memory/port.ts";
import type { ClaimedJob, JobLease, JobSpawn, JobWrites, KeyedEvent, Owner } from "../../store.ts";
import {
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_LINE_COUNTS,
  JOB_OWNER,
  type JobEventRow,
  type JobOwnerRow,
  type JobRow,
  type Table,
  WAIT,
} from "../../tables.ts";
import type { Key, Lock, Numbered, Port, ScanOptions } from "../port.ts";
import { later, now, type Read, type Rule, runLater, runNow } from "../rule.ts";
import { appendJob } from "./append.ts";
import { claimJobs, leaveJobs, renewJobs } from "./claims.ts";
import { forgetJobsOf, removeJob, turnEnded } from "./ends.ts";
import { takeLines } from "./lines.ts";
import { changedJobs, eventsOfJob, listJobs, loadJob } from "./list.ts";
import { jobResolved, sendToJob } from "./send.ts";
import { spawnAll, spawnJob } from "./spawn.ts";
import { transferJobs } from "./transfer.ts";

// What the laws of jobs cannot see through a store: attempts, locks, round trips, damage, and other writers.

const numbered = <T>(answer: Numbered<T>): T => answer(({ changed }) => changed);
const spawn = (db: Port, name: string, other: Partial<JobSpawn["job"]> = {}, owner?: Owner) =>
  numbered(
    runNow(spawnJob(db, owner === undefined ? { job: newJob(name, other) } : { job: newJob(name, other), owner }, 9)),
  );
const claim = (db: Port, by = ann, at = NOW, max = 9): readonly ClaimedJob[] =>
  numbered(runNow(claimJobs(db, by, at, max, [TASK])));
const append = (db: Port, lease: JobLease, events: readonly KeyedEvent[], more?: JobWrites) =>
  numbered(runNow(appendJob(db, lease, events, NOW, more)));
const send = (db: Port, name: string, sent: KeyedEvent, at = NOW) =>
  numbered(runNow(sendToJob(db, jobId(name), sent, at)));
const stateOf = (db: Port, name: string) => runNow(loadJob(db, jobId(name)))?.record.state;
const namesOf = (jobs: readonly { readonly record: { readonly id: string } }[]) => jobs.map(({ record }) => record.id);

/** Begins a job and takes it. */
function working(db: Port, name: string, other: Partial<JobSpawn["job"]> = {}): JobLease {
  spawn(db, name, other);
  return claim(db).find(({ lease }) => lease.jobId === jobId(name))!.lease;
}

// ── Attempts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Runs a write that is kept although its answer is lost, and then the second attempt at the same write. */
function twice<T>(port: MemoryPort, rule: (db: Port) => Rule<T>): readonly [T, T] {
  const tried = new Map<string, unknown>();
  const first = runNow(rule(replacing(port, { tried })));
  return [first, runNow(rule(replacing(port, { tried, attempt: 2 })))];
}

test("J5 D3 rules: a repeated write about jobs whose answer was lost gets the first answer", () => {
  const port = portWith(alice, bob);
  const same = <T>(rule: (db: Port) => Rule<Numbered<T>>): T => {
    const [first, second] = twice(port, rule).map(numbered) as [T, T];
    expect(second).toEqual(first);
    return first;
  };
  same((db) => spawnJob(db, { job: newJob("work") }, 1));
  same((db) => spawnJob(db, { job: newJob("own", { recovery: "owner-bound" }), owner: ben }, 2));
  const [{ lease }] = same((db) => claimJobs(db, ann, NOW, 9, [TASK])) as [ClaimedJob];
  const orphans = same((db) => claimJobs(db, ann, LAPSED, 9, [TASK]));
  expect(orphans.map(({ lease, isOrphan }) => [lease.generation, isOrphan])).toEqual([[2, true]]);
  expect(claim(port, ann, LAPSED)).toEqual([]);
  expect(same((db) => sendToJob(db, jobId("work"), signal("s1"), NOW)).said).toBe("accepted");
  expect(send(port, "work", signal("s1")).said).toBe("known");
  same((db) => transferJobs(db, alice, bob, [jobId("work")], NOW));
  const more = { says: { lines: [{ n: 1, at: NOW, channel: "out", text: "a" }], max: 9 } } as const;
  same((db) => appendJob(db, lease, [stepped("a")], NOW, { ...more, wakes: [newInput("up", { key: "k" })] }));
  const [one, two] = twice(port, (db) => takeLines(db, jobId("work"), "k"));
  expect([one.map(({ n }) => n), two]).toEqual([[1], one]);
  const { seq } = same((db) => appendJob(db, lease, [stepped("b")], NOW, { parks: { seen: 6, due: NOW + 1 } }));
  expect(runNow(eventsOfJob(port, jobId("work"), 0))).toHaveLength(seq);
  const [again] = claim(port, ben, NOW + 1);
  same((db) => appendJob(db, again!.lease, [over()], NOW));
  expect(twice(port, (db) => removeJob(db, jobId("work")))).toEqual([true, true]);
  expect(runNow(removeJob(replacing(port, { attempt: 2, tried: new Map() }), jobId("work")))).toBe(false);
});

test("J5 D3 rules: a claim whose first attempt was not kept takes what is there now", () => {
  const port = portWith(alice);
  spawn(port, "work");
  const tried = new Map<string, unknown>([["claimed", [{ n: 2, id: jobId("work"), generation: 1 }]]]);
  const [job] = claim(replacing(port, { attempt: 2, tried }));
  expect([job?.lease.generation, rowsOf(port, JOB_EVENT).length]).toEqual([1, 2]);
});

// ── Other writers ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A port that notes locks, and starts over by an error. */
function noting(port: MemoryPort, own: Partial<Port> = {}): { readonly db: Port; readonly locks: Lock[] } {
  const locks: Lock[] = [];
  const startOver = (): never => {
    throw new Error("start over");
  };
  return { db: replacing(port, { lock: (what) => void locks.push(what), startOver, ...own }), locks };
}
const id = jobId("work");

test("J2 D3 rules: a repeated start of a job that another write removes meanwhile starts over, and a damaged one is reported", () => {
  const port = portWith(alice);
  spawn(port, "work");
  const reading = (isRemoved: boolean): Port => {
    let isRead = false;
    const get = ((table: Table, ...key: readonly never[]) => {
      if (table === JOB_EVENT) isRead = true;
      if (table === JOB_EVENT || (table === JOB && isRead && isRemoved)) return now(undefined);
      return (port.get as (table: Table, ...key: readonly never[]) => Read<unknown>)(table, ...key);
    }) as Port["get"];
    return noting(port, { get }).db;
  };
  expect(() => spawn(reading(true), "work")).toThrow("start over");
  expect(() => spawn(reading(false), "work")).toThrow("it is missing");
});

test("J5 D3 rules: a write locks the session before the job if it notifies a session, and also locks what its end can touch", () => {
  const port = portWith(alice, bob);
  const lease = working(port, "work");
  working(port, "other");
  const order: string[] = [];
  const { db, locks } = noting(port, {
    sessionOf: (n) => {
      order.push(`session after ${locks.length}`);
      return port.sessionOf(n);
    },
  });
  const locksOf = (write: () => unknown): readonly Lock[] => {
    locks.length = 0;
    write();
    return [...locks];
  };
  expect(locksOf(() => append(db, lease, [stepped("a")]))).toEqual([{ jobs: [id] }]);
  expect(order).toEqual([]);
  locksOf(() => append(db, lease, [], { wakes: [newInput("up", { key: "k" })] }));
  locksOf(() => append(db, lease, [], { waits: [newWait(asWaitKey("w"))] }));
  expect(order).toEqual(["session after 0", "session after 0"]);
  const awaits = { jobs: [jobId("other"), jobId("other")], need: "any" } as const;
  expect(locksOf(() => append(db, lease, [], { parks: { seen: 9, awaits } }))).toEqual([
    { endings: [id], others: [jobId("other")] },
  ]);
  expect(locksOf(() => send(db, "work", signal("s1")))).toEqual([{ jobs: [id] }]);
  expect(locksOf(() => send(db, "other", cancelling(), LAPSED))).toEqual([
    { endings: [jobId("other")] },
    { childrenOf: "job/job-other" },
    { endings: [jobId("other")] },
  ]);
  const [held] = claim(port, ben);
  expect(locksOf(() => append(db, held!.lease, [turned("idle")])).slice(0, 2)).toEqual([
    { endings: [id], others: [] },
    { endings: [id] },
  ]);
  expect(locksOf(() => runNow(transferJobs(db, alice, bob, [id], NOW)))).toEqual([
    { sessions: [alice, bob] },
    { jobs: [id] },
  ]);
  expect(locksOf(() => claim(db, ben))).toEqual([{ owner: ben.id }]);
  expect(locksOf(() => runNow(renewJobs(db, ben, NOW)))).toEqual([{ owner: ben.id }]);
  expect(locksOf(() => runNow(leaveJobs(db, ben)))).toEqual([{ owner: ben.id }, { jobs: [id] }]);
  expect(locksOf(() => runNow(turnEnded(db, newInput("x").turnId, NOW)))).toEqual([{ childrenOf: "turn/turn-x" }]);
  expect(locksOf(() => runNow(forgetJobsOf(db, 2)))[0]).toEqual({ jobsOf: 2 });
});

test("J5 D3 rules: a write starts over when the job was handed over, or has ended, before it was locked", () => {
  const port = portWith(alice, bob);
  const lease = working(port, "work");
  append(port, lease, [], { waits: [newWait(asWaitKey("w"))] });
  const wakes = [newInput("up", { key: "k" })];
  const moved = noting(port, { sessionOf: () => port.session(bob) }).db;
  expect(() => append(moved, lease, [stepped("a")], { wakes })).toThrow("start over");
  expect(() => runNow(sendToJob(moved, id, signal("s1"), NOW, { wakes }))).toThrow("start over");
  const wait = waitIdOf(asWaitKey("w"));
  append(port, lease, [over()]);
  expect(() => runNow(jobResolved(noting(port).db, id, wait, { kind: "timeout" }, NOW))).toThrow("start over");
  expect(rowsOf(port, WAIT).map(({ key }) => key)).toEqual([null]);
});

test("J5 D3 rules: of two sessions that begin one job at once, the second is answered the first's or refused", () => {
  const port = portWith(alice, bob);
  const job = newJob("work");
  const racing = replacing(port, {
    addOnce: () => {
      spawn(port, "work");
      return now(undefined);
    },
  });
  expect(numbered(runNow(spawnJob(racing, { job }, 9)))).toMatchObject({ record: { sessionId: alice }, seq: 1 });
  const forget = () => {
    send(port, "work", cancelling());
    runNow(removeJob(port, id));
  };
  forget();
  const conflict = expect.objectContaining({ code: "job.conflict" });
  expect(() => runNow(spawnJob(racing, { job: { ...job, sessionId: bob } }, 9))).toThrow(conflict);
  forget();
  runNow(spawnAll(racing, [{ job: { ...job, sessionId: bob } }], NOW));
  expect(rowsOf(port, JOB).map(({ session }) => session)).toEqual([1]);
  const { db } = noting(port, { addOnce: () => now(undefined) });
  expect(() => spawn(db, "gone")).toThrow("start over");
});

test("J5 rules: of two jobs with one id that begin together the first is kept, in the order that was given", () => {
  const port = portWith(alice);
  const spawns = [newJob("a"), newJob("b"), newJob("a", { label: "else" }), newJob("c")].map((job) => ({ job }));
  runNow(spawnAll(port, spawns, NOW));
  const jobs = runNow(listJobs(port, { max: 9 }));
  expect(jobs.map(({ record }) => record.label)).toEqual(["to a", "to b", "to c"]);
});

test("J5 D7 rules: a store that finds what can be claimed, events, and owners itself is asked for that", () => {
  const port = portWith(alice);
  for (const name of ["late", "soon"]) spawn(port, name, { notBefore: name === "late" ? NOW + 2 : NOW + 1 });
  spawn(port, "own", { recovery: "owner-bound" }, ben);
  const asked: unknown[] = [];
  const fast = replacing(port, {
    claimable(tasks, at, gone, max) {
      asked.push([tasks, at, gone, max]);
      return now(rowsOf(port, JOB));
    },
    jobEvents(job, keys) {
      asked.push([job, keys]);
      const n = rowsOf(port, JOB).find((row) => row.id === job)?.n;
      return now(rowsOf(port, JOB_EVENT).filter((row) => row.job === n && keys.includes(row.key)));
    },
    forgetOwners: (time) => void asked.push(time),
    removeFirst: (table, index, key, count) => void asked.push([table.name, index, key, count]),
  });
  expect(namesOf(claim(fast, ann, LAPSED, 2))).toEqual(["job-own", "job-soon"]);
  expect(asked).toEqual([[["", TASK], LAPSED, [ben.id], 2], LAPSED]);
  asked.length = 0;
  const lease = { jobId: jobId("soon"), generation: 1, owner: ann };
  append(fast, lease, [stepped("a"), stepped("a")]);
  append(fast, lease, [stepped("a")]);
  const lines = [1, 2, 3].map((n) => ({ n, at: NOW, channel: "out", text: "x" }) as const);
  append(port, lease, [], { says: { lines: lines.slice(0, 2), max: 2 } });
  append(fast, lease, [], { says: { lines, max: 2 } });
  expect(asked).toEqual([
    [lease.jobId, ["step/a"]],
    [lease.jobId, ["step/a"]],
    ["job_line", "job", [rowsOf(port, JOB_LINE_COUNTS)[0]!.job], 1],
  ]);
  expect(runNow(eventsOfJob(port, lease.jobId, 2))).toHaveLength(1);
});

test("J5 D7 rules: a store that keeps awaited jobs only beside the row wakes who awaits them", () => {
  const port = portWith(alice);
  const [one, two] = [working(port, "one"), working(port, "two")];
  const awaits = { jobs: [one.jobId, two.jobId], need: "all" } as const;
  append(port, working(port, "work"), [], { parks: { seen: 2, awaits } });
  const [row] = rowsOf(port, JOB).filter(({ isParked }) => isParked);
  port.update(JOB, row!, { awaits: { jobs: [], need: "all" } });
  append(port, one, [over()]);
  expect(claim(port, ben)).toEqual([]);
  append(port, two, [turned("idle")]);
  expect(namesOf(claim(port, ben))).toEqual(["job-work"]);
  expect(rowsOf(port, JOB_AWAIT)).toEqual([]);
});

// ── Round trips ─────────────────────────────────────────────────────────────────────────────────────────────────────

const READS = ["now", "session", "sessionOf", "get", "scan", "count", "add", "fact", "latestChange"] as const;

/** Runs a rule on a port that answers all reads that are open at once, and counts how often it answers. */
async function tripsOf(port: MemoryPort, rule: (db: Port) => Rule<unknown>): Promise<number> {
  let trips = 0;
  let open: (() => void)[] = [];
  const answer = (): void => {
    const answered = open;
    open = [];
    trips += 1;
    for (const resolve of answered) resolve();
  };
  const slow: { [name: string]: unknown } = {};
  for (const name of READS) {
    const read = port[name].bind(port) as (...given: unknown[]) => Read<unknown>;
    slow[name] = (...given: unknown[]) => {
      const value = runNow(iterate(read(...given)));
      if (open.length === 0) setImmediate(answer);
      return later(new Promise((resolve) => open.push(() => resolve(value))));
    };
  }
  await runLater(rule(replacing(port, slow as Partial<Port>)));
  return trips;
}

test("J5 D7 rules: however many jobs a write is about, it takes a few round trips", async () => {
  const port = portWith(alice, bob);
  const names = Array.from({ length: 20 }, (_, nth) => `child ${nth}`);
  const root = working(port, "root");
  const parent = { jobId: root.jobId };
  const spawns = names.map((name) => ({ job: newJob(name, { parent, onParentEnd: "cancel" }) }));
  expect(await tripsOf(port, (db) => spawnAll(db, spawns, NOW))).toBe(2);
  expect(await tripsOf(port, (db) => spawnJob(db, { job: newJob("work") }, 99))).toBe(3);
  expect(await tripsOf(port, (db) => claimJobs(db, ben, NOW, 21, [TASK]))).toBe(3);
  expect(await tripsOf(port, (db) => appendJob(db, root, [stepped("a"), stepped("b")], NOW))).toBe(2);
  const wakes = ["a", "b"].map((words) => newInput(words, { key: words }));
  // The job, its session, both again, the inputs of before, the events of before, and each new input with its fact.
  expect(await tripsOf(port, (db) => appendJob(db, root, [], NOW, { wakes }))).toBe(9);
  expect(await tripsOf(port, (db) => transferJobs(db, alice, bob, names.map(jobId), NOW))).toBe(3);
  expect(await tripsOf(port, (db) => listJobs(db, { session: bob, max: 20 }))).toBe(3);
  expect(await tripsOf(port, (db) => changedJobs(db, undefined, { max: 20 }))).toBe(3);
  expect(await tripsOf(port, (db) => renewJobs(db, ben, NOW))).toBe(1);
  // The root, its event, its children, and their events; they are held, and so they do not end.
  expect(await tripsOf(port, (db) => appendJob(db, root, [over()], NOW))).toBe(4);
  expect(rowsOf(port, JOB_EVENT).filter(({ event }) => event.kind === "cancelling")).toHaveLength(20);
  expect(await tripsOf(port, (db) => turnEnded(db, newInput("x").turnId, NOW))).toBe(1);
});

test("J5 rules: jobs that are wanted are found among many that are not", () => {
  const port = portWith(alice, bob);
  const spawns = Array.from({ length: 350 }, (_, nth) => ({
    job: newJob(`${nth}`, nth % 120 === 0 ? { sessionId: bob, kind: "monitor" } : {}),
  }));
  runNow(spawnAll(port, spawns, NOW));
  const wanted = ["job-0", "job-120", "job-240"];
  expect(namesOf(runNow(listJobs(port, { kind: "monitor", max: 9 })))).toEqual(wanted);
  expect(namesOf(runNow(listJobs(port, { kind: "monitor", max: 1, after: jobId("1") })))).toEqual(["job-120"]);
  const [first] = runNow(changedJobs(port, undefined, { session: bob, max: 1 }));
  expect(namesOf(runNow(changedJobs(port, first!.cursor, { session: bob, max: 9 })))).toEqual(wanted.slice(1));
  expect(namesOf(runNow(changedJobs(port, undefined, { session: bob, max: Infinity })))).toEqual(wanted);
});

// ── Damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const DAMAGE = new RuntimeError("store.corrupt", { item: "The row", problem: "it is not JSON" });

/** A port on which some rows are damaged. As in SQL, `max` counts damaged rows. */
const damaged = (port: MemoryPort, isDamaged: (row: object) => boolean): Port => {
  function* get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Rule<Row | undefined> {
    const row = yield* port.get(table, index, ...key);
    if (row !== undefined && isDamaged(row)) throw DAMAGE;
    return row;
  }
  function* scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options: ScanOptions = {},
  ): Rule<readonly Row[]> {
    const rows = yield* port.scan(table, index, key, options);
    const wrong = rows.filter(isDamaged);
    if (wrong.length > 0 && options.damage === undefined) throw DAMAGE;
    options.damage?.push(...wrong.map(() => DAMAGE));
    return rows.filter((row) => !isDamaged(row));
  }
  return replacing(port, { get, scan });
};

test("J5 D8 rules: a job that is damaged keeps no other from being claimed, and is thrown when it is the only one", () => {
  for (const isDamaged of [
    (row: object) => (row as JobRow).id === jobId("one"),
    (row: object) => (row as JobEventRow).job === 2,
  ]) {
    const port = portWith(alice);
    for (const name of ["one", "two"]) spawn(port, name);
    const db = damaged(port, isDamaged);
    expect(namesOf(claim(db))).toEqual(["job-two"]);
    expect(() => claim(db)).toThrow(DAMAGE);
    expect(() => runNow(loadJob(db, jobId("one")))).toThrow(DAMAGE);
    expect(runNow(renewJobs(db, ann, NOW)).changed).toEqual([{ jobId: jobId("two"), seq: 2 }]);
  }
});

test("J5 D8 rules: a job of which events are missing is corrupt", () => {
  const port = portWith(alice);
  const lease = working(port, "work");
  append(port, lease, [stepped("a"), stepped("b")]);
  const rows = rowsOf(port, JOB_EVENT);
  port.remove(JOB_EVENT, rows[2]!);
  const problem = (item: string, text: string) => expect.objectContaining({ details: { item, problem: text } });
  const missing = problem("The events of job job-work", "some of them are missing");
  expect(() => runNow(eventsOfJob(port, id, 0))).toThrow(missing);
  expect(() => claim(port, ben, LAPSED)).toThrow(missing);
  expect(runNow(eventsOfJob(port, id, 3))).toHaveLength(1);
  port.remove(JOB_EVENT, rows[0]!);
  expect(() => runNow(loadJob(port, id))).toThrow(problem("The beginning of job job-work", "it is missing"));
});

test("J5 D8 rules: an owner with a damaged row is not gone, and its next claim or renewal repairs the row", () => {
  const port = portWith(alice);
  const lease = working(port, "work");
  const db = damaged(port, (row) => (row as JobOwnerRow).process !== undefined && (row as JobOwnerRow).id === ann.id);
  expect(claim(db, ben, LAPSED * 2)).toEqual([]);
  expect(send(db, "work", cancelling(), LAPSED * 2).said).toBe("accepted");
  expect(stateOf(port, "work")).toBe("running");
  runNow(renewJobs(db, ann, LAPSED * 2));
  expect(rowsOf(port, JOB_OWNER).find((row) => row.id === ann.id)?.until).toBeGreaterThan(LAPSED * 2);
  append(port, lease, [stepped("a")]);
});

// ── Owners ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("J5 D2 rules: what a dead process holds is anybody's at once, and a process that comes in its place has its own time", () => {
  const port = portWith(alice);
  working(port, "work");
  const db = replacing(port, { isDead: (process) => process === ann.process });
  expect(namesOf(claim(db, { id: "carl", process: "carl's" }))).toEqual(["job-work"]);
  runNow(renewJobs(port, ann, NOW + 500));
  const other = { ...ann, process: "another" };
  runNow(renewJobs(port, other, NOW));
  expect(rowsOf(port, JOB_OWNER).find((row) => row.id === ann.id)).toEqual({ ...other, until: LAPSED });
});

test("J5 D9 rules: claims and renewals remove expired owners without jobs", () => {
  const port = portWith(alice);
  working(port, "work");
  runNow(renewJobs(port, ben, NOW));
  const carl = { id: "carl", process: "carl's" };
  const owners = () => rowsOf(port, JOB_OWNER).map((row) => row.id);
  runNow(renewJobs(port, carl, LAPSED));
  expect(owners()).toEqual([ann.id, carl.id]);
  expect(claim(port, carl, LAPSED)).toHaveLength(1);
  expect(owners()).toEqual([carl.id]);
  runNow(leaveJobs(port, carl));
  expect([owners(), rowsOf(port, JOB).map(({ owner, due }) => [owner, due])]).toEqual([[], [[null, 0]]]);
});

// ── Ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("J5 D9 rules: removing a job removes everything that belongs to it", () => {
  const port = portWith(alice);
  const lease = working(port, "work");
  const other = working(port, "other");
  const lines = [{ n: 1, at: NOW, channel: "out", text: "a" }] as const;
  append(port, lease, [], { waits: [newWait(asWaitKey("w"), { isEarly: true })], says: { lines, max: 9 } });
  append(port, lease, [], { parks: { seen: 2, awaits: { jobs: [other.jobId], need: "all" } } });
  append(port, other, [], { parks: { seen: 2, awaits: { jobs: [lease.jobId], need: "all" } } });
  expect([JOB_AWAIT, JOB_LINE, JOB_LINE_COUNTS, WAIT].map((table) => rowsOf(port, table as Table).length)).toEqual([
    2, 1, 1, 1,
  ]);
  runNow(forgetJobsOf(port, 1));
  for (const table of [JOB, JOB_EVENT, JOB_AWAIT, JOB_LINE, JOB_LINE_COUNTS, WAIT])
    expect(rowsOf(port, table as Table)).toEqual([]);
});

test("J5 rules: a job that awaits its child, both of which end at once, is not due afterwards", () => {
  const port = portWith(alice);
  const root = working(port, "root");
  const parent = { jobId: root.jobId };
  const child = working(port, "child", { parent, onParentEnd: "cancel" });
  append(port, root, [], { parks: { seen: 2, awaits: { jobs: [child.jobId], need: "all" } } });
  runNow(leaveJobs(port, ann));
  const hints: unknown[] = [];
  send(replacing(port, { hint: (hint) => void hints.push(hint) }), "root", cancelling());
  expect(rowsOf(port, JOB)).toMatchObject(
    ["root", "child"].map((name) => ({ id: jobId(name), owner: null, due: null, awaits: null, isParked: false })),
  );
  expect([stateOf(port, "root"), stateOf(port, "child"), rowsOf(port, JOB_AWAIT)]).toEqual([
    "cancelled",
    "cancelled",
    [],
  ]);
  expect(hints[0]).toEqual({ kind: "jobs" });
});

test("J5 D7 rules: a step changes no more of its row than its events and its record", () => {
  const port = portWith(alice);
  const lease = working(port, "work");
  const changes: object[] = [];
  const hints: unknown[] = [];
  const db = replacing(port, {
    update: (table, row, change) => {
      changes.push(change);
      return port.update(table, row, change);
    },
    hint: (hint) => void hints.push(hint),
  });
  append(db, lease, [stepped("a")]);
  append(db, lease, [stepped("a")]);
  expect([changes.map((change) => Object.keys(change)), hints]).toEqual([[["seq", "moves"]], []]);
});
