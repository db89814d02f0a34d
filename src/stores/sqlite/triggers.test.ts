import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { asBlobHash } from "../../model/ids.ts";
import type { TriggerTarget } from "../../model/trigger.ts";
import { alice, bob, NOW, newSession } from "../../testing/cast.ts";
import { claimJobs, end, jobId, over, TASK, working, write } from "../../testing/job-cast.ts";
import {
  delivery,
  due,
  EVENT,
  found,
  happened,
  moved,
  occur,
  occurrence,
  occurrences,
  occurs,
  scheduled,
  sourceOf,
  subscribe,
} from "../../testing/trigger-cast.ts";
import { type Database, sqlite } from "../sqlite.ts";
import type { JobLease, Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-triggers-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

const COMMITS = { on: { kind: "commits" } } as const;
const say = (store: Store, lease: JobLease, ...ns: readonly number[]) =>
  write(store, lease, [], {
    says: { lines: ns.map((n) => ({ n, at: NOW, channel: "out", text: `line ${n}` })), max: 3 },
  });

/** A database whose statements pass by `see`, which may throw instead. */
function seen(path: string, see: (sql: string, db: DatabaseSync) => void): Database {
  const db = new DatabaseSync(path);
  return {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql);
      const noted =
        <T>(run: (...values: never[]) => T) =>
        (...values: never[]): T => {
          see(sql, db);
          return run.apply(statement, values);
        };
      return { run: noted(statement.run), get: noted(statement.get), all: noted(statement.all) } as never;
    },
  };
}

// ── What it costs ───────────────────────────────────────────────────────────────────────────────────────────────────

test("J7 D7 sqlite: without writes an agenda does not read schedules again, and time alone makes them due", async () => {
  const path = newFile();
  const others = sqlite(path, { durability: "process" });
  let reads = 0;
  const store = sqlite(seen(path, (sql) => void (/^(BEGIN|COMMIT)/.test(sql) || reads++)));
  const readsOf = async (now: number) => {
    const before = reads;
    const { hasSchedules = false, hasCommits = false, next } = await store.agenda(now, 10, [TASK]);
    return { hasSchedules, hasCommits, next, reads: reads - before };
  };
  const nothing = { hasSchedules: false, hasCommits: false };
  const without = (await readsOf(NOW)).reads;
  for (let n = 0; n < 90; n++) await scheduled(others, `s${n}`, NOW + 100 + n, n % 2 === 0 ? {} : { isEnabled: false });
  expect(await readsOf(NOW)).toEqual({ ...nothing, next: NOW + 100, reads: without });
  expect(await readsOf(NOW + 99)).toEqual({ ...nothing, next: NOW + 100, reads: 1 });
  expect(await readsOf(NOW + 100)).toMatchObject({ hasSchedules: true, next: NOW + 102 });
  expect(await readsOf(NOW + 101)).toEqual({ ...nothing, hasSchedules: true, next: NOW + 102, reads: 1 });
  expect(await readsOf(NOW)).toMatchObject(nothing);

  // What another connection writes is seen at once, and what this one writes too.
  await others.triggers.move(moved(await found(others, "s0"), { next: NOW + 50 }));
  expect(await readsOf(NOW)).toMatchObject({ ...nothing, next: NOW + 50 });
  await subscribe(store, "turns", COMMITS);
  expect(await readsOf(NOW)).toMatchObject({ hasCommits: true, next: NOW + 50 });
  await store.close();
  await others.close();
});

test("J7 J4 D7 sqlite: every operation on triggers and lines uses an index", async () => {
  const scans = new Set<string>();
  const known = new Set<string>();
  const store = sqlite(
    seen(":memory:", (sql, db) => {
      if (known.has(sql) || !/^\s*(SELECT|WITH|UPDATE|DELETE|INSERT)/.test(sql)) return;
      known.add(sql);
      for (const { detail } of db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
        if (/^SCAN (subscription|occurrence|delivery|job_line|job_said|job|u|o|d)\b/.test(detail))
          scans.add(`${detail}: ${sql}`);
    }),
  );
  const clock = await scheduled(store, "clock", NOW);
  const watch = await subscribe(store, "watch");
  await subscribe(store, "turns", { ...COMMITS, sessionId: bob });
  await store.agenda(NOW, 10, [TASK]);
  await due(store, NOW);
  const after = { session: alice, id: "clock" };
  for (const page of [
    { event: { name: EVENT } },
    { event: { name: EVENT, source: "home" }, after },
    { kinds: ["commits"] },
    { session: alice },
    { session: alice, after },
  ] as const)
    await store.triggers.list({ ...page, max: 5 });
  await occur(store, "tick", [clock, watch], { moved: moved(clock, { next: NOW + 1 }), source: sourceOf(clock) });
  for (const { lease } of await claimJobs(store)) {
    await say(store, lease, 1, 2, 3, 4);
    await store.jobs.take(lease.jobId, "k");
    await store.jobs.lines(lease.jobId);
    await end(store, lease);
  }
  await occur(store, "tock", [watch], { max: 0 });
  await store.triggers.occurrences({ source: sourceOf(clock), before: "occurrence-tick", max: 5 });
  await store.triggers.remove(alice, "watch");
  await store.delete(alice);
  expect([...scans]).toEqual([]);
  await store.close();
});

test("J7 D1 sqlite: subscriptions and occurrences survive a power cut; the move of a schedule can be lost", async () => {
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
  const syncOf = async (work: () => unknown): Promise<string | undefined> => {
    await work();
    return syncs.at(-1);
  };
  expect(await syncOf(() => scheduled(store, "clock", NOW))).toBe("= FULL");
  const clock = await found(store, "clock");
  expect(await syncOf(() => store.triggers.move(moved(clock, { next: NOW + 1 })))).toBe("NORMAL");
  expect(await syncOf(() => occur(store, "tick", [clock]))).toBe("= FULL");
  const [job] = await claimJobs(store);
  expect(await syncOf(() => say(store, job!.lease, 1))).toBe("NORMAL");
  expect(await syncOf(() => store.triggers.remove(alice, "clock"))).toBe("= FULL");
  expect(await syncOf(() => store.jobs.take(job!.lease.jobId, "k"))).toBe("NORMAL");
  await store.close();
});

// ── All or nothing ──────────────────────────────────────────────────────────────────────────────────────────────────

test("J7 D1 sqlite: an occurrence, its jobs and its move are written all or none, wherever the write is cut off", async () => {
  let left = Infinity;
  const store = sqlite(
    seen(newFile(), (sql) => {
      if (sql !== "ROLLBACK" && left-- === 0) throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
    }),
  );
  const clock = await scheduled(store, "clock", NOW);
  const other = await subscribe(store, "other", { sessionId: bob });
  await occur(store, "old", [clock], { source: sourceOf(clock) });
  const [old] = await claimJobs(store);
  await write(store, old!.lease, [over()], { says: { lines: [{ n: 1, at: NOW, channel: "out", text: "." }], max: 9 } });
  const all = async () => ({
    subscriptions: await store.triggers.list({ max: 9 }),
    occurrences: await occurrences(store),
    jobs: await store.jobs.list({ max: 9 }),
    lines: await store.jobs.lines(jobId("old-clock")),
  });
  const before = await all();
  const tick = () =>
    store.triggers.occur(
      occurrence("tick", { source: sourceOf(clock) }),
      [delivery("tick", clock), delivery("tick", other)],
      1,
      moved(clock, { next: NOW + 10 }),
    );
  let cut = 0;
  for (; ; cut++) {
    left = cut;
    try {
      await tick();
      break;
    } catch (error) {
      expect(error).toMatchObject({ code: "store.failed" });
    }
    left = Infinity;
    expect(await all()).toEqual(before);
  }
  left = Infinity;
  expect(cut).toBeGreaterThan(20);
  expect(await happened(store)).toEqual(["tick"]);
  expect((await store.jobs.list({ max: 9 })).map(({ record }) => record.id)).toEqual([
    "job-tick-clock",
    "job-tick-other",
  ]);
  expect((await found(store, "clock")).next).toBe(NOW + 10);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

test("J7 D3 sqlite: of two stores that serve a schedule, one starts it and the other sees that", async () => {
  const path = newFile();
  const [one, two] = [sqlite(path), sqlite(path)];
  const clock = await scheduled(one, "clock", NOW);
  const serve = (store: Store, name: string) =>
    occurs(store, name, [clock], { moved: moved(clock, { next: NOW + 10 }) });
  expect(await two.agenda(NOW, 10)).toMatchObject({ hasSchedules: true });
  expect([await serve(one, "a"), await serve(two, "a"), await serve(two, "b")]).toEqual(["occurred", "known", "stale"]);
  expect(await two.agenda(NOW, 10)).not.toHaveProperty("hasSchedules");
  expect(await happened(two)).toEqual(["a"]);
  for (const store of [one, two]) await store.close();
});

test("J7 J4 D1 sqlite: a reopened store has every subscription, occurrence and line", async () => {
  const path = newFile();
  const store = sqlite(path);
  await full(store);
  const all = async (of: Store) => ({
    subscriptions: await of.triggers.list({ max: 9 }),
    occurrences: await occurrences(of),
    due: await due(of, NOW + 9),
    lines: await of.jobs.lines(jobId("work")),
    agenda: await of.agenda(NOW, 9, [TASK]),
  });
  const before = await all(store);
  await store.close();
  const again = sqlite(path);
  expect(await all(again)).toEqual(before);
  expect(await again.jobs.take(jobId("work"), "k")).toEqual(before.lines.lines.slice(0, 2));
  await again.close();
});

// ── Blobs, sessions and damage ──────────────────────────────────────────────────────────────────────────────────────

/** Some of everything: what damage is done to. */
async function full(store: Store): Promise<void> {
  const watch = await subscribe(store);
  const clock = await scheduled(store, "clock", NOW + 5);
  const other = await subscribe(store, "other", { sessionId: bob });
  await subscribe(store, "turns", COMMITS);
  await occur(store, "mail", [watch, other]);
  await occur(store, "tick", [clock], { source: sourceOf(clock) });
  const lease = await working(store);
  await say(store, lease, 1, 2);
  await store.jobs.take(lease.jobId, "k");
  await say(store, lease, 3);
}

test("J7 D9 sqlite: blobs of a subscription or a payload stay as long as it does", async () => {
  let now = NOW;
  const store = sqlite(newFile(), { now: () => now });
  const put = async (words: string) => {
    const name = asBlobHash(hash("sha256", words, "base64url"));
    await store.blobs.put(name, new TextEncoder().encode(words));
    return name;
  };
  const [input, payload, nobody] = [await put("input"), await put("payload"), await put("of nobody")];
  const file = (name: string) => ({ kind: "attachment", hash: name, mediaType: "text/plain" });
  const starts: TriggerTarget = { kind: "job", operation: TASK, input: { file: file(input) }, wake: "none" };
  await subscribe(store, "watch", { starts });
  await occur(store, "mail", [], { payload: { file: file(payload) } });
  now += 7_200_000;
  expect(await store.sweep()).toMatchObject({ deleted: 1, kept: 2 });
  expect(await store.blobs.get(nobody)).toBeUndefined();
  expect(await store.check({ deep: true })).toEqual([]);
  await store.triggers.remove(alice, "watch");
  await occur(store, "more", [], { max: 1 });
  now += 7_200_000;
  for (let n = 0; n < 2; n++) await store.sweep();
  expect([await store.blobs.get(input), await store.blobs.get(payload)]).toEqual([undefined, undefined]);
  await store.close();
});

test("J7 D9 sqlite: a payload with a garbage-collected blob is refused, and none of it is stored", async () => {
  let now = NOW;
  const store = sqlite(newFile(), { now: () => now });
  const name = asBlobHash(hash("sha256", "swept", "base64url"));
  await store.blobs.put(name, new TextEncoder().encode("swept"));
  now += 7_200_000;
  expect(await store.sweep()).toMatchObject({ deleted: 1 });
  const clock = await scheduled(store, "clock", NOW);
  const move = moved(clock, { next: NOW + 1 });
  await assert.rejects(async () => occur(store, "mail", [clock], { payload: { name }, moved: move }), {
    code: "store.swept",
  });
  expect([await happened(store), await due(store, NOW)]).toEqual([[], ["clock"]]);
  await store.close();
});

test("J7 J4 D9 S7 sqlite: only the occurrences of shared events remain of a deleted session", async () => {
  const path = newFile();
  const store = sqlite(path);
  await full(store);
  await store.triggers.remove(alice, "clock");
  await store.delete(alice);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.delete(bob);
  expect(await store.check({ deep: true })).toEqual([]);
  const db = new DatabaseSync(path);
  const rows = { subscription: 0, delivery: 0, job_line: 0, job_said: 0, job: 0, job_event: 0, occurrence: 1 };
  for (const [table, count] of Object.entries(rows))
    expect(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get(), table).toEqual({ rows: count });
  db.close();
  await store.close();
});

const DAMAGE = {
  "a subscription is gone": "DELETE FROM subscription WHERE id = 'watch'",
  "a subscription is in another session": "UPDATE subscription SET session = 2 WHERE id = 'watch'",
  "a subscription has no session": "UPDATE subscription SET session = 9 WHERE id = 'watch'",
  "a subscription has another id": "UPDATE subscription SET id = 'wotch' WHERE id = 'watch'",
  "a schedule has another time": "UPDATE subscription SET next = next + 1 WHERE id = 'clock'",
  "a schedule has no time": "UPDATE subscription SET next = NULL WHERE id = 'clock'",
  "a subscription is at another revision": "UPDATE subscription SET revision = 2 WHERE id = 'watch'",
  "a subscription is enabled no more": "UPDATE subscription SET is_enabled = 0 WHERE id = 'watch'",
  "a subscription waits for another event": "UPDATE subscription SET event = 'mail.lost' WHERE id = 'watch'",
  "a subscription starts something else":
    "UPDATE subscription SET body = replace(body, 'Do watch', 'Do stop') WHERE id = 'watch'",
  "an occurrence is gone": "DELETE FROM occurrence WHERE id = 'occurrence-mail'",
  "an occurrence came of another source": "UPDATE occurrence SET source = 'x' WHERE id = 'occurrence-mail'",
  "an occurrence was at another time": "UPDATE occurrence SET at = at + 1 WHERE id = 'occurrence-mail'",
  "a payload says something else":
    "UPDATE occurrence SET payload = replace(payload, 'mail', 'nail') WHERE id = 'occurrence-mail'",
  "a delivery is gone": "DELETE FROM delivery WHERE subscription = 'other'",
  "a delivery started another job": "UPDATE delivery SET job = 'job-x' WHERE subscription = 'other'",
  "a delivery was to another session": "UPDATE delivery SET session = 1 WHERE subscription = 'other'",
  "a delivery was lost": "UPDATE delivery SET is_lost = 1 WHERE subscription = 'other'",
  "a line is gone": "DELETE FROM job_line WHERE n = 2",
  "a line has another number": "UPDATE job_line SET n = 4 WHERE n = 3",
  "a line says something else": "UPDATE job_line SET line = replace(line, 'line 2', 'line 9') WHERE n = 2",
  "a line is of another job": "UPDATE job_line SET job = 1 WHERE n = 2",
  "lines are taken again": "UPDATE job_said SET taken = 0",
  "what a job has said is gone": "DELETE FROM job_said",
  "a job that is not there has said something": "UPDATE job_said SET job = 99",
};
for (const [what, sql] of Object.entries(DAMAGE))
  test(`J7 J4 D8 sqlite: the check finds damage to triggers and lines: ${what}`, async () => {
    const db = new DatabaseSync(":memory:");
    const store = sqlite(db as unknown as Database);
    await full(store);
    assert.equal(db.prepare(sql).run().changes, 1);
    expect(await store.check()).not.toEqual([]);
    await store.close();
  });

test("J7 J4 D8 sqlite: the check finds nothing where there is no damage to triggers and lines", async () => {
  const store = sqlite(":memory:");
  await full(store);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

test("J7 D8 sqlite: the check finds a subscription with right checksums but inconsistent columns", async () => {
  const store = sqlite(newFile());
  await subscribe(store, "watch", { next: NOW });
  await scheduled(store, "clock", NOW, { after: "3" as never });
  expect((await store.check()).map(({ problem }) => problem)).toEqual([
    "it has a next time and is not a schedule",
    "it has a place among the commits and does not wait for commits",
  ]);
  expect(await due(store, NOW)).toEqual(["clock"]);
  await store.close();
});

test("J7 D8 sqlite: a damaged schedule does not block others, and can be removed", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  for (const id of ["one", "two"]) await scheduled(store, id, NOW);
  const db = new DatabaseSync(path);
  db.exec("UPDATE subscription SET body = 'x' WHERE id = 'one'");
  db.close();
  expect(await due(store, NOW)).toEqual(["two"]);
  await store.triggers.remove(alice, "two");
  await assert.rejects(async () => due(store, NOW), { code: "store.corrupt" });
  await assert.rejects(async () => found(store, "one"), { code: "store.corrupt" });
  await assert.rejects(async () => store.triggers.remove(alice, "one", 1), { code: "store.corrupt" });
  expect(await store.triggers.remove(alice, "one")).toBe(true);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

test("J7 J4 D8 sqlite: reading a damaged row throws its damage", async () => {
  const path = newFile();
  const store = sqlite(path);
  await full(store);
  const db = new DatabaseSync(path);
  db.exec("DELETE FROM delivery WHERE subscription = 'other'; DELETE FROM job_line WHERE n = 1");
  db.close();
  await assert.rejects(async () => occurrences(store), { code: "store.corrupt" });
  await assert.rejects(async () => occur(store, "mail"), { code: "store.corrupt" });
  await assert.rejects(async () => store.jobs.lines(jobId("work")), { code: "store.corrupt" });
  expect((await store.jobs.take(jobId("work"), "l")).map(({ n }) => n)).toEqual([3]); // What was not taken yet is whole.
  await store.close();
});
