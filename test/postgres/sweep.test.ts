import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { asBlobHash, type BlobHash } from "../../src/model/ids.ts";
import { Blobs, SWEEPS } from "../../src/stores/postgres/blobs.ts";
import { Database, type Pool } from "../../src/stores/postgres/database.ts";
import { setUp } from "../../src/stores/postgres/schema.ts";
import { Sweeper } from "../../src/stores/postgres/sweep.ts";
import { describePostgres, freshSchema } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";

const HOUR = 3_600_000;
const named = (words: string): BlobHash => asBlobHash(hash("sha256", words, "base64url"));
const bytes = (words: string): Uint8Array => new TextEncoder().encode(words);

describePostgres("sweeps of blobs on Postgres, while others write", () => {
  const pools: pg.Pool[] = [];
  let now = 0;
  let sessions = 0;
  /** A process: its connections and what it remembers. */
  const process = (url: string, schema: string) => {
    const pool = new pg.Pool({ connectionString: url, pipeline: true, max: 4 });
    pools.push(pool);
    const options = { schema, name: "test", leaseMs: 30_000, retryMs: 10_000, statementTimeoutMs: 10_000 };
    const db = new Database(pool as unknown as Pool, { ...options, clock: "caller", setUp });
    return { db, blobs: new Blobs(db, () => now), sweeper: new Sweeper(db, () => now) };
  };
  let one: ReturnType<typeof process>;
  let two: ReturnType<typeof process>;

  beforeAll(async () => {
    const { url, schema } = await freshSchema();
    [one, two] = [process(url, schema), process(url, schema)];
  });
  beforeEach(() => one.db.rows("TRUNCATE @blob, @sweep, @session, @profile"));
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
  });

  const put = ({ blobs }: typeof one, words: string) => blobs.put(named(words), bytes(words));
  const has = async (words: string): Promise<boolean> => (await one.blobs.get(named(words))) !== undefined;
  const sweepAll = ({ sweeper }: typeof one) => sweeper.sweep({ olderThanMs: -HOUR });
  const addSession = async (): Promise<number> => {
    const add = "INSERT INTO @session (id, usage) VALUES ($1, '[0,0]') RETURNING n";
    return (await one.db.row<{ n: number }>(add, `s${++sessions}`))!.n;
  };
  /** As stores open a turn: its number and that of the latest sweep are read in one transaction. */
  const OPEN = `UPDATE @session SET turn = nextval('@number') WHERE n = $1 RETURNING ${SWEEPS} AS sweeps`;
  const END = "UPDATE @session SET turn = NULL WHERE n = $1";
  const NAME = "INSERT INTO @profile (session, created_at, config) VALUES ($1, 0, $2)";

  test("D9 postgres: a sweep removes old blobs that nothing names, counts them, and continues where it stopped", async () => {
    now = 0;
    for (let n = 0; n < 25; n++) await put(one, `blob ${n}`);
    await one.db.rows(NAME, 1, JSON.stringify({ at: `blob:${named("blob 7")}/x` }));
    expect(await one.sweeper.sweep({})).toEqual({ isPartial: false, deleted: 0, bytes: 0, kept: 0, remaining: 0 });
    now = 2 * HOUR;
    await put(one, "fresh");
    expect(await one.sweeper.sweep({ max: 10, ms: -1 })).toMatchObject({ isPartial: true, remaining: 25 });
    const swept = [await one.sweeper.sweep({}), await one.sweeper.sweep({ max: 10 }), await one.sweeper.sweep({})];
    expect(swept.map(({ remaining }) => remaining)).toEqual([15, 5, 0]);
    const total = (what: "deleted" | "kept" | "bytes"): number => swept.reduce((sum, each) => sum + each[what], 0);
    expect([total("deleted"), total("kept"), total("bytes")]).toEqual([24, 1, 10 * 6 + 15 * 7 - 6]);
    expect([await has("blob 7"), await has("fresh"), await has("blob 8")]).toEqual([true, true, false]);
  });

  test("D9 postgres: sweeps that are called at once continue one search", async () => {
    now = 0;
    await put(one, "named");
    await put(one, "not named");
    await one.db.rows(NAME, 1, JSON.stringify(named("named")));
    const swept = await Promise.all(Array.from({ length: 5 }, () => sweepAll(one)));
    expect(swept.map(({ deleted }) => deleted)).toEqual([1, 0, 0, 0, 0]);
    expect(await has("named")).toBe(true);
  });

  test("D9 postgres: a sweep waits for a turn that is being opened, and leaves what that may name", async () => {
    const session = await addSession();
    await put(one, "a tool's result");
    let isOpened = false;
    const opening = one.db.write(async (tx) => {
      expect(await tx.row(`SELECT ${SWEEPS} AS sweeps`)).toEqual({ sweeps: 0 });
      await sleep(300);
      await tx.row(OPEN, session);
      isOpened = true;
    });
    await sleep(50);
    await sweepAll(two);
    expect([isOpened, await has("a tool's result")]).toEqual([true, true]);
    await opening;
    await one.db.rows(END, session);
    expect(await sweepAll(two)).toMatchObject({ deleted: 1 });
  });

  for (const how of ["puts", "keeps"] as const)
    test(`D9 postgres: who ${how} a blob while a sweep begins does so under the new sweep`, async () => {
      await put(two, "a prompt");
      let waiting: Promise<void> | undefined;
      await one.db.write(async (tx) => {
        tx.queue("LOCK TABLE @sweep IN ACCESS EXCLUSIVE MODE");
        await tx.rows("INSERT INTO @sweep SELECT $1, nextval('@number')", 1);
        const keep = () => two.db.write((other) => two.blobs.keepNamed(other, () => `"${named("a prompt")}"`));
        waiting = how === "puts" ? put(two, "a prompt") : keep();
        await sleep(100);
      });
      await waiting;
      expect(await one.db.rows("SELECT sweep FROM @blob")).toEqual([{ sweep: 1 }]);
    });

  test("D9 postgres: a blob that is kept while it is about to be removed stays", async () => {
    await put(one, "a picture");
    await one.db.rows("INSERT INTO @sweep SELECT $1, nextval('@number')", 1);
    const naming = two.db.write(async (tx) => {
      await two.blobs.keep(tx, [named("a picture")]);
      await sleep(300);
      await tx.rows(NAME, 1, JSON.stringify(named("a picture")));
    });
    await sleep(50);
    expect(await sweepAll(one)).toMatchObject({ deleted: 0, kept: 1 });
    await naming;
    expect(await has("a picture")).toBe(true);
  });

  test("D9 postgres: what names a blob that is being removed is refused", async () => {
    await put(one, "a picture");
    await one.db.rows("INSERT INTO @sweep SELECT $1, nextval('@number')", 1);
    let naming: Promise<unknown> | undefined;
    await one.db.write(async (tx) => {
      await tx.rows("DELETE FROM @blob WHERE hash = $1", named("a picture"));
      naming = two.db.write((other) => two.blobs.keep(other, [named("a picture")])).catch((error: unknown) => error);
      await sleep(100);
    });
    expect(await naming).toMatchObject({ code: "store.swept", details: { hash: named("a picture") } });
  });

  test("D9 postgres: turns that put what they do not know to be there find all of it, however sweeps come between", async () => {
    const [lost, counts]: [string[], Set<number>] = [[], new Set()];
    let deleted = 0;
    /** Sweeps have begun between turns so often, and have removed something. */
    const isEnough = (): boolean => counts.size > sample(8, 100) && deleted > 0;
    /** Runs turns one after the other, as a process does that remembers under which sweep it put what. */
    const works = async (of: typeof one): Promise<void> => {
      const session = await addSession();
      const known = new Map<string, number>();
      for (let n = 0; !isEnough(); n++) {
        const words = `prompt ${n % 3}`;
        const { sweeps } = (await of.db.row<{ sweeps: number }>(OPEN, session))!;
        if (known.get(words) !== sweeps) await put(of, words);
        known.set(words, sweeps);
        counts.add(sweeps);
        await sleep(Math.random() * 6);
        await of.db.write(async (tx) => {
          await tx.rows("DELETE FROM @profile WHERE session = $1", session);
          await tx.rows(NAME, session, JSON.stringify(named(words)));
          await tx.rows(END, session);
        });
        if (!(await has(words))) lost.push(words);
        await of.db.rows("DELETE FROM @profile WHERE session = $1", session);
        await sleep(Math.random() * 6);
      }
    };
    const sweeps = async (of: typeof one): Promise<void> => {
      while (!isEnough()) deleted += (await sweepAll(of)).deleted;
    };
    await Promise.all([works(one), works(two), sweeps(one), sweeps(two)]);
    expect(lost).toEqual([]);
  });
});
