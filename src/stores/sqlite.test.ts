import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sample } from "../../test/kit/size.ts";
import { capabilitiesOf } from "../../test/stores/titles.ts";
import { asBlobHash, asEffectName, asInputId, asTurnId, asWaitKey, type WaitKey } from "../model/ids.ts";
import { waitIdOf } from "../model/wait.ts";
import {
  alice,
  answering,
  begin,
  ben,
  bob,
  commit,
  type Ending,
  ended,
  inputId,
  LAPSED,
  NOW,
  newSession,
  newWait,
  node,
  opening,
  turn as runTurn,
  type Sending,
  send,
  slept,
  spent,
  turnId,
  usage,
} from "../testing/cast.ts";
import { storeLaws } from "../testing/store-laws.ts";
import { type Database, sqlite } from "./sqlite.ts";
import type { Lease, Store } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

/** A copy of an empty store: to create its tables takes longer than most laws. */
const EMPTY = newFile();
beforeAll(() => sqlite(EMPTY).close());
function newStore(): string {
  const path = newFile();
  copyFileSync(EMPTY, path);
  return path;
}

// In a file each law is held with one durability in turn, and leaves a sound file; `npm run test:long` has them all.
const DURABILITIES = ["power", "process", "power-all"] as const;
/** Laws are tried in memory, and on a strict driver, by the same code as in a file: `npm test` takes some of them. */
const some = storeLaws.filter((_, index) => index % sample(8, 1) === 0);

for (const each of some)
  test(`${capabilitiesOf(each)} sqlite in memory: ${each.law}`, () => each.check(sqlite(":memory:")));

for (const [index, each] of storeLaws.entries()) {
  const { law, check } = each;
  test(`${capabilitiesOf(each)} sqlite in a file: ${law}`, async () => {
    const path = newStore();
    const store = sqlite(path, { durability: DURABILITIES[index % DURABILITIES.length] });
    await check(store);
    await store.close();
    const again = sqlite(path);
    assert.deepEqual(await again.check({ deep: true }), []);
    await again.close();
  });
}

/** better-sqlite3 refuses to `run` what returns rows, and to `get` what returns none; and has nothing but these methods. */
class Strict implements Database {
  readonly #db: DatabaseSync;
  constructor(path: string) {
    this.#db = new DatabaseSync(path);
  }
  exec(sql: string): void {
    this.#db.exec(sql);
  }
  prepare(sql: string) {
    const statement = this.#db.prepare(sql);
    const returnsRows = statement.columns().length > 0;
    return {
      run: (...values: never[]) => (returnsRows ? assert.fail(`${sql} returns rows`) : statement.run(...values)),
      get: (...values: never[]) => (returnsRows ? statement.get(...values) : assert.fail(`${sql} returns no rows`)),
      all: (...values: never[]) => (returnsRows ? statement.all(...values) : assert.fail(`${sql} returns no rows`)),
    };
  }
  close(): void {
    this.#db.close();
  }
}

test("D5 sqlite: the laws hold on a caller's database, used as better-sqlite3 allows", async () => {
  for (const { check } of some) await check(sqlite(new Strict(":memory:")));
}, 60_000);

// What is written is there for another store that opens the file.

/** What turns cost here, so that no column of usage is left empty. */
const PAID = { usage: usage(3), spent: [spent("turn", 3)] };
/** A turn that was answered, paid for, and settles its input, as those of a runtime are. */
const turn = (store: Store, name: string, ending: Ending = {}, sending: Sending = {}) =>
  runTurn(
    store,
    name,
    { ...answering(turnId(name), `so ${name}`), ...PAID, inputs: [inputId(name)], ...ending },
    sending,
  );

/** Everything that can be asked of a store. */
const all = async (store: Store, turns: readonly string[]) => ({
  sessions: await store.list(),
  path: await store.view(alice),
  inputs: await store.inputs.list(alice),
  operations: await Promise.all(["op", "part", "late", "work"].map((name) => store.operations.find(alice, name))),
  note: await store.operations.note(alice, "work", "k"),
  changes: await store.changes(undefined, { max: 100 }),
  agenda: await store.agenda(NOW, 10),
  waits: await store.waits.list({ max: 10 }),
  turns: await Promise.all(
    turns.map(async (turn) => ({
      terminal: await store.terminal(asTurnId(turn)),
      journal: await store.journal(asTurnId(turn), 0),
    })),
  ),
});

async function take(store: Store, now: number): Promise<Lease> {
  const answer = await store.open(alice, ben, now, opening);
  assert.ok(answer.kind === "resumed");
  return answer.lease;
}

const LATE = [{ at: NOW, kind: "plugin", plugin: "acme/notes", type: "note", body: 1 }] as const;

test("D1 S2 sqlite: a reopened store has everything that was stored", async () => {
  const path = newFile();
  const store = sqlite(path);
  const key = "a key with \ud800 and \u0000";
  await store.create({ ...newSession(), config: { model: "m", instructions: "é\u0000\ud83d\ude00" } });
  const plugins = {
    "acme/notes": { version: "1", revision: 1, state: { a: ["\ud800"] }, blobs: { b: asBlobHash("h") } },
  };
  await turn(store, "one", { plugins }, { key });
  const kept = { receipt: { made: 1 }, parts: [{ operation: "part", receipt: [] }] };
  await store.apply({ sessionId: alice, operation: "op", at: NOW + 3, config: { model: "n" }, ...kept });
  await store.setOptions(alice, { "acme/notes": { depth: 2 } });
  await store.operations.note(alice, "work", "k", { paid: 2 });
  const two = await begin(store, "two", { wants: { output: { type: "object" } } });
  await store.append(two, 1, [slept("a"), slept("b")], NOW + 5, [newWait(asWaitKey("w")), newWait(asWaitKey("x"))]);
  await store.append(two, 3, [slept("c")], NOW + 6);
  await send(store, "three", { place: "boundary" });
  await store.inputs.claim(two, asEffectName("b1"), 5);
  await send(store, "four");
  await send(store, "five", { place: "injected" });
  await store.apply({ sessionId: alice, operation: "late", at: NOW, entries: LATE, queueMax: 9 });
  await store.note(two.turnId, asEffectName("e"), "k", { paid: true });
  await store.attempt(two.turnId, asEffectName("e"));
  await store.waits.resolve(asWaitKey("w"), { kind: "value", value: 1 }, NOW);
  await store.cancel(two.turnId, { requestId: "r", reason: "", at: NOW + 7 });
  await store.create({ ...newSession(bob), parentId: alice });
  const asleep = await begin(store, "asleep", { to: bob });
  const keys = ["y", "z"].map(asWaitKey) as [WaitKey, WaitKey];
  const turnsOf = { kind: "turns", need: "all", turns: [{ sessionId: alice, turnId: two.turnId }] } as const;
  await store.append(asleep, 1, [slept("a")], NOW, [newWait(keys[0]), newWait(keys[1], { about: turnsOf })]);
  await store.park(asleep, { turnId: asleep.turnId, wakeAt: LAPSED + 50, waits: keys }, NOW);
  const turns = ["turn-one", "turn-two", "turn-three", "turn-four"];
  const before = await all(store, turns);
  await store.close();

  const again = sqlite(path);
  expect(await all(again, turns)).toEqual(before);
  expect((await send(again, "one", { key })).kind).toBe("known");
  const LATER = LAPSED + 6;
  const answer = await again.open(alice, ben, LATER, opening);
  assert.ok(answer.kind === "resumed");
  expect(answer.journal.slice(1)).toEqual([slept("a"), slept("b"), slept("c")]);
  const mail = await again.renew(answer.lease, LATER + 1);
  expect(mail.cancel?.requestId).toBe("r");
  expect(mail.resolved).toEqual([{ key: "w", answer: { kind: "value", value: 1 } }]);
  expect(await again.note(two.turnId, asEffectName("e"), "k")).toEqual({ paid: true });
  expect(await again.attempt(two.turnId, asEffectName("e"))).toBe("again");
  const claimed = await again.inputs.claim(answer.lease, asEffectName("b1"), 5);
  expect(claimed.map(({ id }) => id)).toEqual([inputId("three")]);
  expect(await again.open(bob, ben, LATER, opening)).toEqual({
    kind: "parked",
    turnId: asleep.turnId,
    wakeAt: LAPSED + 50,
  });
  await commit(again, answer.lease, { cancel: "r" });
  expect((await again.agenda(LATER, 10)).sessions).toContain(bob);
  await assert.rejects(async () => store.load(alice), { code: "runtime.closed" });
  await again.close();
});

test("S5 sqlite: keys that SQLite cannot tell apart as text are different keys", async () => {
  const store = sqlite(":memory:");
  await store.create(newSession());
  const keys = ["\ud800", "\ud801", "\ufffd", "a", "a\u0000b", "a\u0000c", "\u0001a", '\u0001"\\ud800"'];
  for (const [index, key] of keys.entries()) expect((await send(store, `${index}`, { key })).kind).not.toBe("known");
  for (const [index, key] of keys.entries())
    expect((await send(store, `${index}`, { key })).inputId).toBe(inputId(`${index}`));
});

test("S6 sqlite: an operation's name is unique over all sessions", async () => {
  const store = sqlite(":memory:");
  const entries = [{ at: NOW, kind: "frame", reason: "x" }] as const;
  for (const id of [alice, bob]) await store.create(newSession(id));
  await store.apply({ sessionId: alice, operation: "op", at: NOW, entries });
  await assert.rejects(async () => store.apply({ sessionId: bob, operation: "op", at: NOW, entries }), {
    code: "append.conflict",
  });
  expect((await store.view(alice)).length).toBe(1);
});

test("S6 D7 sqlite: a path that is read to its frame costs nothing of what came before", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  for (let n = 0; n < 5; n++) {
    const frame = { at: NOW, kind: "frame", reason: "compaction" } as const;
    const { entries } = ended({ turnId: turnId(`${n}`) }, { says: [`so ${n}`] });
    await turn(store, `${n}`, { entries: n === 3 ? [frame, ...entries] : entries });
  }
  const db = new DatabaseSync(path);
  db.exec("UPDATE segment SET entries = 'damaged' WHERE n NOT IN (SELECT n FROM segment ORDER BY n DESC LIMIT 2)");
  db.close();
  expect((await store.view(alice, { toFrame: true })).map(({ commit }) => commit)).toEqual(["turn-4", "turn-3"]);
  await assert.rejects(async () => store.view(alice), { code: "store.corrupt" });
  await store.close();
});

test("S6 D7 sqlite: what is new of one session, or of a tree, is found by index alone", async () => {
  const scans: string[] = [];
  const db = new DatabaseSync(":memory:");
  const watched: Database = {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      if (/^\s*(SELECT|WITH)/.test(sql)) {
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { readonly detail: string }[];
        scans.push(
          ...plan
            .map(({ detail }) => detail)
            .filter((detail) => /^SCAN (alice|turn|operation|segment|ledger|[a-z])\b/.test(detail)),
        );
      }
      return db.prepare(sql) as never;
    },
  };
  const store = sqlite(watched);
  await store.create(newSession());
  await turn(store, "one", {}, { key: "k" });
  await store.apply({ sessionId: alice, operation: "op", at: NOW + 3 });
  const cursor = (await store.changes(undefined, { max: 1 }))[0]?.cursor;
  for (const which of [{}, { session: alice }, { tree: alice }])
    expect((await store.changes(cursor, { ...which, max: 10 })).length).toBe(2);
  await store.booked(alice);
  await store.latest();
  for (const page of [{}, { parent: alice }, { origin: alice }, { parent: alice, origin: alice }])
    await store.list({ ...page, max: 1 });
  for (const ref of [{ id: asInputId("i") }, { from: asInputId("i") }, { key: "k" }, { key: "none" }])
    await store.inputs.withdraw(alice, ref);
  const lease = await begin(store, "waits");
  await store.append(lease, 1, [], NOW, [newWait(asWaitKey("w")), newWait(asWaitKey("x"))]);
  await store.waits.resolve(asWaitKey("w"), { kind: "timeout" }, NOW);
  for (const which of [{}, { session: alice }, { tree: alice }])
    expect((await store.waits.list({ ...which, after: waitIdOf(asWaitKey("w")), max: 10 })).length).toBe(1);
  await store.waits.get(waitIdOf(asWaitKey("x")));
  await store.renew(lease, NOW);
  await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 9, waits: [asWaitKey("x")] }, NOW);
  await store.open(alice, ben, NOW, opening);
  await commit(store, await take(store, NOW + 9));
  expect(scans).toEqual([]);
  await store.close();
});

test("S7 D7 sqlite: a plugin's state is written when it changes, and found at any node by a fork", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  const big = { version: "1", revision: 1, state: "x".repeat(60_000) };
  for (let n = 0; n < 20; n++) {
    await turn(store, `${n}`, { plugins: { big, count: { version: "1", revision: n, state: n } } });
  }
  const db = new DatabaseSync(path);
  expect(db.prepare("SELECT plugin, count(*) AS rows FROM state GROUP BY plugin").all()).toMatchObject([
    { plugin: "big", rows: 1 },
    { plugin: "count", rows: 20 },
  ]);
  db.close();
  const fork = await store.fork(alice, newSession(bob), node("7", 0));
  expect(fork.plugins).toEqual({ big, count: { version: "1", revision: 7, state: 7 } });
  await store.close();
});

test("D7 sqlite: what a turn adds to the file does not grow with the turns before it", async () => {
  const path = newFile();
  const store = sqlite(path, { durability: "process" });
  await store.create(newSession());
  const pages = () => {
    const db = new DatabaseSync(path);
    const { used } = db
      .prepare("SELECT p.page_count - f.freelist_count AS used FROM pragma_page_count p, pragma_freelist_count f")
      .get() as { used: number };
    db.close();
    return used;
  };
  const said = "What the model said, at some length. ".repeat(50);
  const run = async (from: number, to: number) => {
    for (let n = from; n < to; n++) {
      const name = `${n}`.padStart(24, "0");
      const lease = await begin(store, name);
      for (let seq = 1; seq <= 5; seq++) await store.append(lease, seq, [slept(said)], NOW + n);
      await commit(store, lease, { ...answering(lease.turnId, said), ...PAID, inputs: [inputId(name)] });
    }
  };
  await run(0, 20);
  const first = pages();
  await run(20, 120);
  const second = pages();
  await run(120, 920);
  await run(920, 1020);
  const fourth = pages();
  const perTurn = ((second - first) * 4096) / 100;
  expect(perTurn).toBeLessThan(said.length * 3);
  expect((fourth - second) / 900).toBeLessThan(((second - first) / 100) * 1.1);
  await store.close();
}, 30_000);
