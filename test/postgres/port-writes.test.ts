import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { asJobId } from "../../src/model/ids.ts";
import type { PostgresEngine } from "../../src/stores/postgres/engine.ts";
import type { Rule } from "../../src/stores/rules/rule.ts";
import { JOB, JOB_OWNER, type JobRow, SESSION } from "../../src/stores/tables.ts";
import { alice, ann } from "../../src/testing/cast.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { contentOf, does, Engines, jobLike, newSessions, put, putAll, reads, scan, waits } from "./port-kit.ts";
import { ODD, ROWS } from "./port-rows.ts";

describePostgres("writes of rules on Postgres", () => {
  let engines: Engines;
  beforeAll(async () => {
    engines = await Engines.begin();
  });
  afterAll(() => engines.end());

  test("D5 a rule that throws leaves nothing behind", async () => {
    const opened = engines.open();
    const { engine } = opened;
    await newSessions(engine, alice);
    const before = await contentOf(opened);
    const failing = engine.write(function* (db): Rule<void> {
      const session = (yield* db.session(alice))!;
      for (const [table, given] of ROWS) if (table !== SESSION) yield* putAll(db, table, given);
      db.update(SESSION, session, { turn: 4 });
      yield* db.fact(session.n, "accepted", 1);
      throw new Error("on purpose");
    });
    await expect(failing).rejects.toThrow("on purpose");
    expect(await contentOf(opened)).toEqual(before);
  });

  test("D2 writes on one session wait for each other", async () => {
    const { engine } = engines.open();
    await newSessions(engine, alice);
    const one = () =>
      engine.write(function* (db): Rule<void> {
        const session = (yield* db.session(alice))!;
        yield* db.latestFact();
        db.update(SESSION, session, { revision: session.revision + 1 });
      });
    await Promise.all(Array.from({ length: 20 }, one));
    expect((await scan(engine, SESSION, "ids", []))[0]).toMatchObject({ revision: 20 });
  });

  test("D2 of two writes that add one row, the second finds that of the first", async () => {
    const { engine, rows } = engines.open();
    const prolong = (until: number) =>
      engine.write(function* (db): Rule<void> {
        db.lock({ owner: ann.id });
        const row = yield* db.get(JOB_OWNER, "key", ann.id);
        yield* db.latestFact();
        if (row === undefined) db.insert(JOB_OWNER, { id: ann.id, process: ann.process, until });
        else db.update(JOB_OWNER, row, { until: Math.max(until, row.until) });
      });
    const spawn = () =>
      engine.write(function* (db) {
        const known = yield* db.get(JOB, "id", asJobId("one"));
        return (known ?? (yield* db.add(JOB, jobLike("one")))).n;
      });
    await Promise.all([1, 2, 3, 4, 5].map(prolong));
    expect(await rows("SELECT until FROM @job_owner")).toEqual([{ until: 5 }]);
    expect(new Set(await Promise.all([spawn(), spawn(), spawn()])).size).toBe(1);
    expect(await rows("SELECT n::int, job::int - (SELECT j.n FROM @job j) AS of FROM @job_change")).toHaveLength(1);
  });

  test("D2 an attempt that did not come to its end does not count, and writes tell each other what they tried", async () => {
    const { engine } = engines.open();
    const seen: unknown[] = [];
    await engine.write(function* (db): Rule<void> {
      seen.push([db.attempt, db.tried.get("run")]);
      db.tried.set("run", seen.length);
      yield* db.latestFact();
      if (seen.length < 3) db.startOver!();
    });
    expect(seen).toEqual([
      [1, undefined],
      [1, 1],
      [1, 2],
    ]);
  });

  test("D2 writes in one line are done in the order of the calls", async () => {
    const { engine } = engines.open();
    const done: number[] = [];
    const one = (nth: number) =>
      engine.write(
        function* (db): Rule<void> {
          if (nth === 0) yield* waits(sleep(50));
          yield* db.latestFact();
          done.push(nth);
        },
        { line: "alice" },
      );
    await Promise.all([0, 1, 2, 3].map(one));
    expect(done).toEqual([0, 1, 2, 3]);
  });

  test("D2 time is that of the server, unless callers tell it", async () => {
    const times = (engine: PostgresEngine) =>
      Promise.all([
        engine.read((db): Rule<number> => reads(db.now(5))),
        engine.write((db): Rule<number> => reads(db.now(5))),
        engine.read(function* (db) {
          yield* db.session(alice);
          return yield* db.now(5);
        }),
      ]);
    expect(await times(engines.open("caller").engine)).toEqual([5, 5, 5]);
    for (const time of await times(engines.open("server").engine))
      expect(Math.abs(time - Date.now())).toBeLessThan(60_000);
  });

  // ── Jobs ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("J1 a job has a number in the order of changes for each write that adds to it", async () => {
    const { engine, rows } = engines.open();
    const changes = () => rows("SELECT h.n::int, j.id FROM @job_change h JOIN @job j ON j.n = h.job ORDER BY h.n");
    const change = (id: string, ...seqs: readonly number[]) =>
      engine.writeJobs(function* (db) {
        let row = (yield* db.get(JOB, "id", asJobId(id))) as JobRow;
        for (const seq of seqs) row = db.update(JOB, row, { seq, generation: seq });
        // It is read as it is written, before and after it is sent.
        expect(yield* db.get(JOB, "id", asJobId(id))).toEqual(row);
        expect((yield* db.scan(JOB, "session", [1])).find((each) => each.id === id)).toMatchObject({ seq: row.seq });
        return (changed) => changed(row);
      });
    const added = await engine.writeJobs(function* (db) {
      const jobs: JobRow[] = [];
      for (const id of ["a", "b"]) jobs.push(yield* db.add(JOB, jobLike(id)));
      return (changed) => jobs.map(changed);
    });
    expect(added).toEqual([1, 2]);
    expect(await change("a", 2, 3)).toBe(3);
    expect(await change("b")).toBe(2);
    expect(await changes()).toEqual([
      { n: 2, id: "b" },
      { n: 3, id: "a" },
    ]);
    const [latest, changed] = await engine.read(function* (db) {
      return [yield* db.latestChange(), yield* db.scan(JOB, "changed", [], { above: 2 })] as const;
    });
    expect(latest).toBe(3);
    expect(changed).toMatchObject([{ id: "a", seq: 3, changed: 3, generation: 3 }]);
    await engine.write(function* (db): Rule<void> {
      const row = (yield* db.get(JOB, "id", asJobId("a")))!;
      db.update(JOB, row, { due: 7 });
      const passing = yield* db.add(JOB, jobLike("passing"));
      db.remove(JOB, passing);
      db.remove(JOB, (yield* db.get(JOB, "id", asJobId("b")))!);
    });
    expect(await changes()).toEqual([{ n: 3, id: "a" }]);
    expect(await rows("SELECT due FROM @job")).toEqual([{ due: 7 }]);
    await engine.write(
      does((db) => {
        db.removeAll(JOB, "session", 1);
      }),
    );
    expect(await rows("SELECT 1 FROM @job_change UNION ALL SELECT 1 FROM @job")).toEqual([]);
  });

  test("J1 jobs are claimed past those that others have locked, and owners that came back are not gone", async () => {
    const { engine, rows, schema } = engines.open();
    const jobs = ["due", "locked", "later"].map((id, nth) => jobLike(id, { operation: ODD[0], due: nth }));
    const held = ["late", "back"].map((owner) => jobLike(owner, { operation: "", owner, due: null }));
    await put(engine, JOB, [...jobs, ...held]);
    await put(engine, JOB_OWNER, [
      { id: "late", process: "p", until: 5 },
      { id: "back", process: "p", until: 5 },
    ]);
    const blocker = await engines.pool.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT 1 FROM ${schema}.job WHERE id = 'locked' FOR UPDATE`);
    const claimed = await engine.write(function* (db) {
      yield* db.scan(JOB_OWNER, "all", []);
      yield* waits(rows("UPDATE @job_owner SET until = 99 WHERE id = 'back'"));
      return yield* db.claimable!(["", ODD[0]!], 1, ["late", "back"], 9);
    });
    await blocker.query("ROLLBACK");
    blocker.release();
    expect(claimed.map(({ id }) => id).sort()).toEqual(["due", "late"]);
    await engine.write(
      does((db) => {
        db.removeAll(JOB, "held", "late", "");
        db.forgetOwners!(6);
      }),
    );
    expect(await rows("SELECT id FROM @job_owner")).toEqual([{ id: "back" }]);
  });
});
