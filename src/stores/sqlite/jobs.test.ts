import assert from "node:assert/strict";
import { spawn as start } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { sample } from "../../../test/kit/size.ts";
import { asBlobHash, asWaitKey } from "../../model/ids.ts";
import { text } from "../../model/message.ts";
import {
  alice,
  ann,
  begin,
  ben,
  bob,
  commit,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  slept,
} from "../../testing/cast.ts";
import {
  bound,
  cancelling,
  claimed,
  claimJobs,
  end,
  jobId,
  newJob,
  over,
  parks,
  signal,
  spawn,
  stateOf,
  stepped,
  TASK,
  take,
  working,
  write,
} from "../../testing/job-cast.ts";
import { thisProcess } from "../rows/process.ts";
import { type Database, sqlite } from "../sqlite.ts";
import { LEASE_MS, type Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-jobs-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

// ── What it costs ───────────────────────────────────────────────────────────────────────────────────────────────────

/** A database that notes which statements were run, and which of them read a table from end to end. */
function watched(path: string) {
  const db = new DatabaseSync(path);
  const ran: string[] = [];
  const scans = new Set<string>();
  const planOf = (sql: string): void => {
    if (!/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)/.test(sql)) return;
    for (const { detail } of db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
      if (/^SCAN (job|job_event|job_await|wait|j|w)\b(?!.*INDEX wait_turns)/.test(detail))
        scans.add(`${detail}: ${sql}`);
  };
  const watching: Database = {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql);
      planOf(sql);
      const noted =
        <T>(run: (...values: never[]) => T) =>
        (...values: never[]): T => {
          ran.push(sql);
          return run.apply(statement, values);
        };
      return { run: noted(statement.run), get: noted(statement.get), all: noted(statement.all) } as never;
    },
  };
  return {
    db: watching,
    scans,
    /** The statements of some work, without those that begin and end it. */
    async of(work: () => unknown): Promise<readonly string[]> {
      ran.length = 0;
      await work();
      return ran.filter((sql) => !/^(BEGIN|COMMIT)/.test(sql));
    },
  };
}

/** Jobs that sleep until `NOW + 1000`, or until something comes for them. */
async function sleepers(store: Store, count: number): Promise<void> {
  await store.create(newSession());
  const spawns = Array.from({ length: count }, (_, n) => ({ job: newJob(`s${n}`) }));
  await store.apply({ sessionId: alice, operation: "begin", at: NOW, spawns });
  for (let left = count; left > 0; ) {
    const taken = await store.jobs.claim(ann, NOW, 500, [TASK]);
    for (const [nth, { lease, seq }] of taken.entries())
      await store.jobs.append(lease, [], NOW, { parks: { seen: seq, ...(nth % 2 === 0 ? { due: NOW + 1_000 } : {}) } });
    left -= taken.length;
  }
}

test("J5 D7 sqlite: thousands of sleeping jobs cost an agenda one query, and a claim no extra query", async () => {
  const path = newFile();
  const others = sqlite(path, { durability: "process" });
  await sleepers(others, sample(1_000, 10_000));
  const { db, of, scans } = watched(path);
  const store = sqlite(db);
  const agenda = (now: number) => store.agenda(now, 10, [TASK]);
  expect(await agenda(NOW)).toMatchObject({ sessions: [], next: NOW + 1_000 });
  expect(await of(() => agenda(NOW + 1))).toHaveLength(1);
  expect(await store.agenda(NOW + 1, 10, [])).not.toHaveProperty("next");

  // When something was written the agenda looks again, and a claim takes what has come: neither reads the others.
  await others.jobs.send(jobId("s7"), signal("go"), NOW);
  expect((await of(() => agenda(NOW))).length).toBeLessThan(15);
  expect(await agenda(NOW)).toMatchObject({ hasJobs: true });
  const taking = await of(async () => expect(await claimed(store, ben)).toEqual(["s7"]));
  expect(taking.length).toBeLessThan(20);
  expect([...scans]).toEqual([]);
  await store.close();
  await others.close();
}, 60_000);

test("J5 D7 sqlite: every operation on a job uses an index", async () => {
  const { db, scans } = watched(":memory:");
  const store = sqlite(db);
  for (const id of [alice, bob]) await store.create(newSession(id));
  const turn = await begin(store, "hello");
  const child = newJob("child", { parent: { turnId: turn.turnId }, onParentEnd: "cancel" });
  await store.append(turn, 1, [slept("a")], NOW, [], [{ job: child }]);
  await bound(store, "bound");
  await spawn(store, "work");
  for (const { lease } of await claimJobs(store)) {
    const waits = [newWait(asWaitKey(`wait of ${lease.jobId}`))];
    await write(store, lease, [stepped("a")], { waits, wakes: [newInput(lease.jobId, { key: lease.jobId })] });
    await parks(store, lease, { due: NOW + 5, awaits: { jobs: [jobId("bound")], need: "all" } });
  }
  await store.waits.resolve(asWaitKey("wait of job-work"), { kind: "value", value: 1 }, NOW);
  for (const page of [{}, { session: alice }, { tree: alice }]) await store.waits.list({ ...page, max: 5 });
  await commit(store, turn);
  expect(await stateOf(store, "child")).toBe("cancelled");
  const [first] = await store.jobs.changes(undefined, { max: 1 });
  await store.jobs.changes(first!.cursor, { max: 10 });
  await store.jobs.renew(ann, NOW, first!.cursor);
  await store.jobs.renew(ann, NOW);
  await store.jobs.list({ session: alice, after: jobId("child"), max: 5 });
  await store.jobs.count(alice);
  await store.jobs.transfer(alice, bob, [jobId("work")], NOW);
  await store.jobs.send(jobId("bound"), cancelling(), LAPSED);
  await end(store, (await take(store, ben, LAPSED)).lease);
  await store.jobs.remove(jobId("work"));
  await store.jobs.leave(ben);
  await store.delete(alice);
  expect([...scans]).toEqual([]);
  await store.close();
});

test("D7 sqlite: a turn without jobs asks for none of them, and its appends are one statement as before", async () => {
  const { db, of } = watched(":memory:");
  const store = sqlite(db);
  await store.create(newSession());
  const ofJobs = (ran: readonly string[]) => ran.filter((sql) => /\bjob/.test(sql));
  const lease = await begin(store, "hello");
  expect(await of(() => store.append(lease, 1, [slept("a")], NOW))).toHaveLength(1);
  expect(await of(() => store.append(lease, 2, [slept("b")], NOW, [], []))).toHaveLength(1);
  expect(ofJobs(await of(() => store.renew(lease, NOW)))).toEqual([]);
  const ending = ofJobs(await of(() => commit(store, lease)));
  expect(ending).toHaveLength(1); // The question that every commit asks, with a part for jobs.
  expect(ending[0]).toMatch(/has_more/);
  await store.close();
});

test("J5 D7 sqlite: a step writes no more the longer the input of its job is", async () => {
  const path = newFile();
  const store = sqlite(path, { durability: "process" });
  const sizeOf = async (input: string): Promise<number> => {
    const lease = await working(store, input.slice(0, 9), { input });
    const db = new DatabaseSync(path);
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    await write(store, lease, [stepped("a")]);
    db.close();
    return statSync(`${path}-wal`).size;
  };
  expect(await sizeOf("b".repeat(500_000))).toBeLessThan((await sizeOf("a")) + 3 * 4_200);
  await store.close();
});

// ── Processes ───────────────────────────────────────────────────────────────────────────────────────────────────────

test("J5 D2 sqlite: the jobs of a killed process can be claimed at once", async () => {
  const child = start(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  const owner = { id: "child", process: `${hostname()}//${child.pid}/` };
  const store = sqlite(newFile());
  const now = Date.now();
  await spawn(store, "work", { at: now });
  const [held] = await claimJobs(store, owner, now);
  await bound(store, "bound", owner, { at: now });
  for (let n = 0; n < 2; n++) expect(await store.agenda(now, 10, [TASK])).not.toHaveProperty("hasJobs");
  expect(await claimed(store, ben, now)).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "close");
  expect(await store.agenda(now, 10, [TASK])).toMatchObject({ hasJobs: true }); // Though nobody has written since.
  expect(await store.agenda(now, 10, [])).toMatchObject({ hasJobs: true }); // For the one that was bound.
  const [work, orphan] = await claimJobs(store, { id: "me", process: thisProcess() }, now);
  expect(work).toMatchObject({ record: { id: "job-work", starts: 2 }, lease: { generation: 2 } });
  expect(orphan).toMatchObject({ record: { id: "job-bound", starts: 1 }, isOrphan: true });
  await assert.rejects(async () => write(store, held!.lease, [stepped("a")]), { code: "lease.lost" });
  await write(store, orphan!.lease, [over("abandoned")]);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

const KIT = `
import { sqlite } from ${JSON.stringify(new URL("../sqlite.ts", import.meta.url).href)};
import { stepped, over, TASK } from ${JSON.stringify(new URL("../../testing/job-cast.ts", import.meta.url).href)};
import { thisProcess } from ${JSON.stringify(new URL("../rows/process.ts", import.meta.url).href)};
const [path, id, dies] = process.argv.slice(1);
const store = sqlite(path, { durability: "process" });
const owner = { id, process: thisProcess() };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
for (let idle = 0, done = 0; idle < 60; ) {
  const jobs = (await store.agenda(Date.now(), 1, [TASK])).hasJobs ? await store.jobs.claim(owner, Date.now(), 3, [TASK]) : [];
  idle = jobs.length === 0 ? idle + 1 : 0;
  if (jobs.length === 0) await pause(10);
  for (const { lease, record } of jobs) {
    await store.jobs.append(lease, [stepped(id + lease.generation)], Date.now());
    if (dies && ++done === 20) process.kill(process.pid, "SIGKILL");
    await store.jobs.append(lease, [over("completed", "end", { result: id })], Date.now());
  }
}
await store.close();
`;
const work = (path: string, id: string, ...more: string[]) =>
  once(start(process.execPath, ["--input-type=module", "-e", KIT, path, id, ...more], { stdio: "inherit" }), "close");

test("J5 D3 sqlite: of processes that claim from one file each job has one holder, also when another was killed", async () => {
  const path = newFile();
  const store = sqlite(path, { durability: "process" });
  await store.create(newSession());
  const count = 120;
  for (let n = 0; n < count; n++) await store.jobs.spawn({ job: newJob(`j${n}`) }, Infinity);
  await work(path, "c", "dies");
  await Promise.all([work(path, "a"), work(path, "b")]);
  let again = 0;
  for (const { record } of await store.jobs.list({ max: count })) {
    expect(record.state).toBe("completed");
    const events = await store.jobs.events(record.id, 0);
    const steps = events.filter(({ event }) => event.kind === "stepped");
    expect(steps.length).toBe(record.starts > 1 ? steps.length : 1);
    again += record.starts - 1;
  }
  expect(again).toBeGreaterThan(0); // What the killed one held was taken by another, without a wait for its lease.
  expect(again).toBeLessThan(4);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
}, 60_000);

// ── Locks and syncs ─────────────────────────────────────────────────────────────────────────────────────────────────

test("J5 D8 sqlite: who holds jobs writes and renews through a lock for as long as its lease, and others are refused", async () => {
  const path = newFile();
  const store = sqlite(path, { durability: "process", busyTimeoutMs: 60 });
  const lease = await working(store);
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  const [appended, renewed] = [store.jobs.append(lease, [stepped("a")], NOW), store.jobs.renew(ann, NOW + 7)];
  await assert.rejects(async () => store.jobs.send(jobId("work"), signal("go"), NOW), { code: "store.locked" });
  other.exec("ROLLBACK");
  other.close();
  expect(await appended).toMatchObject({ seq: 3 });
  expect(await renewed).toMatchObject({ heldMs: LEASE_MS, changed: [{ jobId: "job-work", seq: 3 }] });
  await store.close();
});

test("J5 D1 sqlite: acknowledged events of a job survive a power cut; its steps can be lost", async () => {
  const syncs: string[] = [];
  const db = new DatabaseSync(":memory:");
  const store = sqlite({
    exec: (sql) => {
      if (sql.startsWith("PRAGMA synchronous")) syncs.push(sql.slice(-6).trim());
      db.exec(sql);
    },
    prepare: (sql) => db.prepare(sql) as never,
    close: () => db.close(),
  });
  for (const id of [alice, bob]) await store.create(newSession(id));
  const syncOf = async (work: () => unknown): Promise<string | undefined> => {
    await work();
    return syncs.at(-1);
  };
  expect(await syncOf(() => spawn(store))).toBe("= FULL");
  const { lease } = await take(store);
  expect(await syncOf(() => write(store, lease, [stepped("a")]))).toBe("NORMAL");
  expect(await syncOf(() => store.jobs.send(jobId("work"), signal("go"), NOW))).toBe("= FULL");
  expect(await syncOf(() => store.jobs.renew(ann, NOW))).toBe("NORMAL");
  expect(await syncOf(() => store.jobs.transfer(alice, bob, [lease.jobId], NOW))).toBe("= FULL");
  expect(await syncOf(() => write(store, lease, [stepped("b")]))).toBe("NORMAL");
  expect(await syncOf(() => write(store, lease, [], { wakes: [newInput("up", { key: "k" })] }))).toBe("= FULL");
  expect(await syncOf(() => write(store, lease, [stepped("c")]))).toBe("NORMAL");
  expect(await syncOf(() => write(store, lease, [over()]))).toBe("= FULL");
  await store.close();
});

// ── Files, blobs and damage ────────────────────────────────────────────────────────────────────────────────────────────────

test("J5 D1 sqlite: a store opened again has every job, who holds it, and what it waits for", async () => {
  const path = newFile();
  const store = sqlite(path);
  const odd = "odd \u0000 \ud800";
  const one = await working(store, odd, { input: { odd } });
  await write(store, one, [stepped(odd, odd)], { waits: [newWait(asWaitKey("w"))] });
  const two = await working(store, "two");
  expect(await parks(store, two, { due: NOW + 9, awaits: { jobs: [one.jobId], need: "any" } })).toBe(true);
  await bound(store, "bound");
  await end(store, await working(store, "done"));
  const all = async (from: Store) => ({
    jobs: await from.jobs.list({ max: 9 }),
    events: await Promise.all([odd, "two", "done"].map((name) => from.jobs.events(jobId(name), 0))),
    changes: await from.jobs.changes(undefined, { max: 9 }),
    waits: await from.waits.list({ max: 9 }),
    agendas: await Promise.all([NOW, NOW + 9, LAPSED].map((now) => from.agenda(now, 9, [TASK]))),
    held: await from.jobs.renew(ann, NOW),
  });
  const before = await all(store);
  await store.close();
  const again = sqlite(path);
  expect(await all(again)).toEqual(before);
  await write(again, one, [over()]);
  expect(await claimed(again, ben)).toEqual(["two"]);
  expect(await again.check({ deep: true })).toEqual([]);
  await again.close();
});

test("J5 D9 sqlite: blobs of a job stay as long as the job", async () => {
  let now = NOW;
  const store = sqlite(newFile(), { now: () => now });
  const put = async (words: string) => {
    const name = asBlobHash(hash("sha256", words, "base64url"));
    await store.blobs.put(name, new TextEncoder().encode(words));
    return name;
  };
  const [delivered, noted, nobody] = [await put("delivered"), await put("noted"), await put("of nobody")];
  const { id, turnId: opens, message, hash: sum } = newInput("later");
  const attached = { kind: "attachment", hash: delivered, mediaType: "text/plain", bytes: 9 } as const;
  const parts = [text("See this."), attached];
  await spawn(store, "post", {
    delivers: { id, turnId: opens, message: { ...message, parts }, place: "turn", hash: sum },
  });
  const [post] = await claimJobs(store, ann, NOW, []);
  await write(store, post!.lease, [stepped("a", { file: noted })]);
  now += 7_200_000;
  expect(await store.sweep()).toMatchObject({ deleted: 1, kept: 2 });
  expect(await store.blobs.get(nobody)).toBeUndefined();
  expect(await store.check({ deep: true })).toEqual([]);
  await end(store, post!.lease);
  await store.jobs.remove(jobId("post"));
  now += 7_200_000;
  for (let n = 0; n < 2; n++) await store.sweep();
  expect(await store.blobs.get(delivered)).toBeUndefined();
  await store.close();
});

test("J5 D9 sqlite: a file in which another process works at a job is not rewritten", async () => {
  const store = sqlite(newFile(), { now: () => NOW });
  const lease = await working(store);
  await assert.rejects(async () => store.vacuum({ compact: true }), { code: "store.in-use" });
  await parks(store, lease);
  expect(await store.vacuum({ compact: true })).toMatchObject({ isCompacted: true });
  await store.close();
});

const DAMAGE = {
  "a step is gone": "DELETE FROM job_event WHERE key = 'step/b'",
  "its last event is gone": "DELETE FROM job_event WHERE k = (SELECT max(k) FROM job_event WHERE job = 1)",
  "an event has another key": "UPDATE job_event SET key = 'step/x' WHERE key = 'step/a'",
  "an event says something else": "UPDATE job_event SET event = replace(event, '\"a\"', '\"z\"') WHERE key = 'step/a'",
  "its time is another": "UPDATE job SET due = 5 WHERE n = 2",
  "it is held by another": "UPDATE job SET owner = 'eve' WHERE n = 1",
  "its owner is gone": "DELETE FROM job_owner",
  "its owner has another time": "UPDATE job_owner SET until = until + 1",
  "its row is gone": "DELETE FROM job WHERE n = 1",
  "it is in another session": "UPDATE job SET session = 2 WHERE n = 1",
  "nothing leads to who awaits it": "DELETE FROM job_await",
  "somebody else awaits it": "UPDATE job_await SET job = 1",
  "its wait is of another": "UPDATE wait SET job = 'job-one' WHERE job = 'job-two'",
  "the order of jobs begins anew": "UPDATE meta SET job_floor = 0",
};
for (const [what, sql] of Object.entries(DAMAGE))
  test(`J5 D8 sqlite: the check finds damage to jobs: ${what}`, async () => {
    const path = newFile();
    const store = sqlite(path);
    for (const id of [alice, bob]) await store.create(newSession(id));
    await spawn(store, "outside", { recovery: "external", kind: "external" });
    await store.jobs.remove(jobId("outside"));
    const one = await working(store, "one");
    await write(store, one, [stepped("a"), stepped("b"), stepped("c")]);
    const two = await working(store, "two");
    await write(store, two, [], { waits: [newWait(asWaitKey("w"))] });
    expect(await parks(store, two, { due: NOW + 9, awaits: { jobs: [one.jobId], need: "any" } })).toBe(true);
    expect(await store.check({ deep: true })).toEqual([]);
    const db = new DatabaseSync(path);
    assert.equal(db.prepare(sql).run().changes, 1);
    db.close();
    expect(await store.check()).not.toEqual([]);
    await store.close();
  });

test("J5 D8 sqlite: a damaged job does not block others, and is thrown if it is the only one", async () => {
  const path = newFile();
  const store = sqlite(path);
  for (const name of ["one", "two"]) await spawn(store, name);
  const db = new DatabaseSync(path);
  db.exec("UPDATE job_event SET event = 'x' WHERE job = 1");
  db.close();
  const { lease } = await take(store);
  expect(lease.jobId).toBe("job-two");
  await assert.rejects(async () => claimJobs(store), { code: "store.corrupt" });
  await end(store, lease);
  await assert.rejects(async () => store.jobs.load(jobId("one")), { code: "store.corrupt" });
  await store.close();
});

test("J5 D8 sqlite: a turn that waits for a job with a damaged row gets an error, and other turns continue", async () => {
  const path = newFile();
  const store = sqlite(path);
  for (const id of [alice, bob]) await store.create(newSession(id));
  await working(store, "one");
  const about = { kind: "turns", need: "all", turns: [], jobs: [jobId("one")] } as const;
  const key = asWaitKey("w");
  const lease = await begin(store, "hello", { to: bob });
  await store.append(lease, 1, [slept("a")], NOW, [newWait(key, { about })]);
  await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 9_000, waits: [key] }, NOW);
  expect((await store.agenda(NOW, 10)).sessions).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec("UPDATE job SET state = 1");
  db.close();
  expect((await store.agenda(NOW, 10)).sessions).toEqual([bob]);
  await assert.rejects(async () => store.open(bob, ben, NOW, opening), { code: "store.corrupt" });
  await store.close();
});
