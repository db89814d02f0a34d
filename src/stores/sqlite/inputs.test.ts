import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { asEffectName } from "../../model/ids.ts";
import { alice, begin, bob, commit, inputId, newSession, send } from "../../testing/cast.ts";
import { type Database, sqlite } from "../sqlite.ts";
import type { Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-inputs-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

/** A database that notes which statements are run. */
function noting(path: string): { readonly db: Database; readonly ran: string[] } {
  const db = new DatabaseSync(path);
  const ran: string[] = [];
  const note =
    <T>(sql: string, run: (...values: never[]) => T) =>
    (...values: never[]): T => {
      ran.push(sql);
      return run(...values);
    };
  return {
    ran,
    db: {
      exec: (sql) => db.exec(sql),
      close: () => db.close(),
      prepare(sql) {
        const { run, get, all } = ((statement) => ({
          run: statement.run.bind(statement),
          get: statement.get.bind(statement),
          all: statement.all.bind(statement),
        }))(db.prepare(sql));
        return { run: note(sql, run), get: note(sql, get), all: note(sql, all) } as never;
      },
    },
  };
}

test("I3 sqlite: the time of an acceptance does not grow with the waiting inputs", async () => {
  const { db, ran } = noting(newFile());
  const store = sqlite(db, { durability: "process" });
  for (const id of [alice, bob]) await store.create(newSession(id));
  const [one, two] = [await begin(store, "one"), await begin(store, "two", { to: bob })];
  ran.length = 0;
  for (let n = 0; n < 300; n++) await send(store, `input ${n}`, { to: n % 3 === 0 ? bob : alice, pendingMax: 1_000 });
  expect(ran.filter((sql) => /count\(/.test(sql))).toHaveLength(2); // Once for each session.
  await commit(store, one);
  await commit(store, two);
  ran.length = 0;
  expect((await send(store, "last", { to: bob, pendingMax: 101 })).kind).toBe("queued");
  expect(ran.filter((sql) => /count\(/.test(sql))).toEqual([]); // The end of a turn is reckoned with.
  await store.close();
});

test("I3 sqlite: a boundary finds its inputs by an index, among any number of inputs that wait for separate turns", async () => {
  const path = newFile();
  const { db, ran } = noting(path);
  const store = sqlite(db, { durability: "process" });
  await store.create(newSession());
  const lease = await begin(store, "one");
  await send(store, "for a turn of its own");
  ran.length = 0;
  expect(await store.inputs.claim(lease, asEffectName("b"), 10)).toEqual([]);
  const plans = new DatabaseSync(path);
  for (const sql of ran) {
    const plan = plans.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    expect(JSON.stringify(plan)).toContain("turn_aside");
  }
  expect(ran).toHaveLength(1);
  plans.close();
  await store.close();
});

test("D5 sqlite: a turn on a session that nothing was injected or appended to looks for neither by reading rows", async () => {
  const path = newFile();
  const { db, ran } = noting(path);
  const store = sqlite(db, { durability: "process" });
  await store.create(newSession());
  await commit(store, await begin(store, "one"));
  ran.length = 0;
  await commit(store, await begin(store, "two"));
  const plans = new DatabaseSync(path);
  const steps = [...new Set(ran)].flatMap((sql) =>
    plans
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((step) => String(step.detail)),
  );
  expect(steps.filter((step) => /^SCAN (?!meta)/.test(step))).toEqual([]);
  expect(steps.join("; ")).toContain("turn_append");
  expect(ran.filter((sql) => /is_aside < 2|operation_note|waits/.test(sql))).toEqual([]);
  plans.close();
  await store.close();
});

test("I3 sqlite: a queue is full at exactly its limit, whatever other processes put in and take out", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, { durability: "process" }), sqlite(path, { durability: "process" })];
  await store.create(newSession());
  const lease = await begin(store, "one");
  let sent = 0;
  const fill = async (by: Store): Promise<number> => {
    for (let count = 0; ; count++) {
      try {
        await send(by, `input ${++sent}`, { pendingMax: 5, place: count === 0 ? "boundary" : "turn" });
      } catch (error) {
        expect(error).toMatchObject({ code: "input.full" });
        return count;
      }
    }
  };
  expect(await fill(store)).toBe(5);
  expect(await fill(other)).toBe(0);
  await other.inputs.withdraw(alice, { id: inputId("input 2") });
  expect(await fill(store)).toBe(1);
  expect(await store.inputs.claim(lease, asEffectName("b"), 10)).toHaveLength(2);
  expect(await fill(store)).toBe(2);
  await commit(store, lease); // Settles neither: both wait again.
  expect(await store.inputs.list(alice)).toHaveLength(7);
  expect(await fill(other)).toBe(0);
  expect(await fill(store)).toBe(0);
  await Promise.all([store.close(), other.close()]);
});
