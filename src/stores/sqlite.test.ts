import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { asBlobHash, asEffectName, asInputId, asSessionId, asTurnId, asWaitKey, nodeId } from "../model/ids.ts";
import { DEFAULT_LIMITS } from "../model/limits.ts";
import { text } from "../model/message.ts";
import { NO_USAGE } from "../model/usage.ts";
import { storeLaws } from "../testing/store-laws.ts";
import { type Database, sqlite } from "./sqlite.ts";
import type { EndedTurn, Lease, NewInput, Opening, Owner, Store } from "./store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-sqlite-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

for (const { law, check } of storeLaws) {
  test(`D5 sqlite in memory: ${law}`, () => check(sqlite(":memory:")));
  test(`D5 sqlite in a file: ${law}`, async () => {
    const store = sqlite(newFile());
    await check(store);
    await store.close();
  });
}

for (const strength of ["process", "power-all"] as const)
  test(`D5 sqlite: every law holds in strength ${strength}, and leaves a sound file`, async () => {
    for (const { law, check } of storeLaws) {
      const path = newFile();
      const store = sqlite(path, { strength });
      await check(store);
      await store.close();
      const again = sqlite(path);
      assert.deepEqual(await again.check({ deep: true }), [], law);
      await again.close();
    }
  }, 60_000);

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

test("D5 sqlite: every law holds on a database that was handed in, used as better-sqlite3 allows", async () => {
  for (const { check } of storeLaws) await check(sqlite(new Strict(":memory:")));
}, 30_000);

// What is written is there for another store that opens the file.

const session = asSessionId("s");
const owner: Owner = { id: "ann", process: "elsewhere" };
const other: Owner = { id: "ben", process: "elsewhere" };
const opening: Opening = ({ at, sessionId, turnId, id, message }) => ({
  kind: "opened",
  at,
  sessionId,
  turnId,
  inputId: id,
  input: message,
  step: 1,
  protocol: { id: "tool-calls", version: 1 },
  host: "journal",
  plugins: [],
  limits: DEFAULT_LIMITS,
  config: { model: "house/model" },
});
const input = (name: string, more: Partial<NewInput> = {}): NewInput => ({
  id: asInputId(`i-${name}`),
  turnId: asTurnId(`turn-${name}`),
  sessionId: session,
  message: { role: "user", parts: [text(name)] },
  place: "turn",
  hash: "h",
  at: 1,
  ...more,
});
async function begin(store: Store, name: string, more: Partial<NewInput> = {}): Promise<Lease> {
  const receipt = await store.accept(input(name, more), owner, opening, 10);
  return receipt.kind === "opened" ? receipt.lease : assert.fail(receipt.kind);
}
async function ended(store: Store, { turnId }: Lease, more: Partial<EndedTurn> = {}): Promise<EndedTurn> {
  const head = (await store.load(session))?.head;
  const message = { id: nodeId(turnId, 0), role: "assistant", parts: [text(`so ${turnId}`)] } as const;
  return {
    turnId,
    at: 2,
    outcome: { kind: "answered", message, text: `so ${turnId}` },
    entries: [{ at: 2, kind: "message", message }],
    plugins: {},
    usage: { ...NO_USAGE, input: 3 },
    spent: [{ source: "turn", model: "m", usage: { ...NO_USAGE, input: 3 }, calls: 1 }],
    inputs: [asInputId(`i-${turnId.slice(5)}`)],
    ...(head === undefined ? {} : { base: head }),
    ...more,
  };
}
const slept = (effect: string) => ({ kind: "slept", at: 1, effect: asEffectName(effect) }) as const;

/** Everything that can be asked of a store. */
const all = async (store: Store, turns: readonly string[]) => ({
  sessions: await store.list(),
  path: await store.view(session),
  inputs: await store.inputs.list(session),
  changes: await store.changes(undefined, { max: 100 }),
  runnable: await store.runnable(1, 10),
  turns: await Promise.all(
    turns.map(async (turn) => ({
      terminal: await store.terminal(asTurnId(turn)),
      journal: await store.journal(asTurnId(turn), 0),
    })),
  ),
});

test("D1 S2 sqlite: a store opened again has everything that was kept", async () => {
  const path = newFile();
  const store = sqlite(path);
  const key = "a key with \ud800 and \u0000";
  await store.create({ id: session, config: { model: "m", instructions: "é\u0000\ud83d\ude00" }, at: 1 });
  const one = await begin(store, "one", { key });
  const plugins = {
    "acme/notes": { version: "1", revision: 1, state: { a: ["\ud800"] }, blobs: { b: asBlobHash("h") } },
  };
  await store.commit(one, await ended(store, one, { plugins }));
  await store.apply({ sessionId: session, operation: "op", at: 3, config: { model: "n" } });
  const two = await begin(store, "two", { wants: { output: { type: "object" } } });
  await store.append(two, 1, [slept("a"), slept("b")], 5, [{ key: asWaitKey("w"), until: 9 }]);
  await store.append(two, 3, [slept("c")], 6);
  await store.accept(input("three", { place: "boundary" }), owner, opening, 10);
  await store.inputs.claim(two, asEffectName("b1"), 5);
  await store.accept(input("four"), owner, opening, 10);
  await store.note(two.turnId, asEffectName("e"), "k", { paid: true });
  await store.attempt(two.turnId, asEffectName("e"));
  await store.waits.resolve(asWaitKey("w"), { kind: "value", value: 1 });
  await store.cancel(two.turnId, { requestId: "r", reason: "", at: 7 });
  const turns = ["turn-one", "turn-two", "turn-three", "turn-four"];
  const before = await all(store, turns);
  await store.close();

  const again = sqlite(path);
  expect(await all(again, turns)).toEqual(before);
  expect((await again.accept(input("one", { key }), owner, opening, 10)).kind).toBe("known");
  const answer = await again.open(session, other, 1_000_000, opening);
  assert.ok(answer.kind === "resumed");
  expect(answer.journal.slice(1)).toEqual([slept("a"), slept("b"), slept("c")]);
  const mail = await again.renew(answer.lease, 1_000_001);
  expect(mail.cancel?.requestId).toBe("r");
  expect(mail.resolved).toEqual([{ key: "w", answer: { kind: "value", value: 1 } }]);
  expect(await again.note(two.turnId, asEffectName("e"), "k")).toEqual({ paid: true });
  expect(await again.attempt(two.turnId, asEffectName("e"))).toBe("again");
  const claimed = await again.inputs.claim(answer.lease, asEffectName("b1"), 5);
  expect(claimed.map(({ id }) => id)).toEqual(["i-three"]);
  await assert.rejects(async () => store.load(session), { code: "runtime.closed" });
  await again.close();
});

test("S5 sqlite: keys that SQLite cannot tell apart as text are different keys", async () => {
  const store = sqlite(":memory:");
  await store.create({ id: session, config: {}, at: 1 });
  const keys = ["\ud800", "\ud801", "\ufffd", "a", "a\u0000b", "a\u0000c", "\u0001a", '\u0001"\\ud800"'];
  for (const [index, key] of keys.entries())
    expect((await store.accept(input(`${index}`, { key }), owner, opening, 100)).kind).not.toBe("known");
  for (const [index, key] of keys.entries())
    expect((await store.accept(input(`${index}`, { key }), owner, opening, 100)).inputId).toBe(`i-${index}`);
});

test("S6 sqlite: an operation's name is its own over all sessions", async () => {
  const store = sqlite(":memory:");
  const entries = [{ at: 1, kind: "frame", reason: "x" }] as const;
  for (const id of ["a", "b"]) await store.create({ id: asSessionId(id), config: {}, at: 1 });
  await store.apply({ sessionId: asSessionId("a"), operation: "op", at: 1, entries });
  await assert.rejects(async () => store.apply({ sessionId: asSessionId("b"), operation: "op", at: 1, entries }), {
    code: "append.conflict",
  });
  expect((await store.view(asSessionId("a"))).length).toBe(1);
});

test("S6 D7 sqlite: a path that is read to its frame costs nothing of what came before", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create({ id: session, config: {}, at: 1 });
  for (let n = 0; n < 5; n++) {
    const lease = await begin(store, `${n}`);
    const frame = { at: 2, kind: "frame", reason: "compaction" } as const;
    const { entries, ...rest } = await ended(store, lease);
    await store.commit(lease, { ...rest, entries: n === 3 ? [frame, ...entries] : entries });
  }
  const db = new DatabaseSync(path);
  db.exec("UPDATE segment SET entries = 'damaged' WHERE n NOT IN (SELECT n FROM segment ORDER BY n DESC LIMIT 2)");
  db.close();
  expect((await store.view(session, { toFrame: true })).map(({ commit }) => commit)).toEqual(["turn-4", "turn-3"]);
  await assert.rejects(async () => store.view(session), { code: "store.corrupt" });
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
            .filter((detail) => /^SCAN (session|turn|operation|segment|ledger|[a-z])\b/.test(detail)),
        );
      }
      return db.prepare(sql) as never;
    },
  };
  const store = sqlite(watched);
  await store.create({ id: session, config: {}, at: 1 });
  const lease = await begin(store, "one", { key: "k" });
  await store.commit(lease, await ended(store, lease));
  await store.apply({ sessionId: session, operation: "op", at: 3 });
  const cursor = (await store.changes(undefined, { max: 1 }))[0]?.cursor;
  for (const which of [{}, { session }, { tree: session }])
    expect((await store.changes(cursor, { ...which, max: 10 })).length).toBe(2);
  await store.booked(session);
  await store.latest();
  for (const page of [{}, { parent: session }, { origin: session }, { parent: session, origin: session }])
    await store.list({ ...page, max: 1 });
  for (const ref of [{ id: asInputId("i") }, { from: asInputId("i") }, { key: "k" }, { key: "none" }])
    await store.inputs.withdraw(session, ref);
  expect(scans).toEqual([]);
  await store.close();
});

test("S7 D7 sqlite: a plugin's state is written when it changes, and found at any node by a fork", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create({ id: session, config: {}, at: 1 });
  const big = { version: "1", revision: 1, state: "x".repeat(60_000) };
  for (let n = 0; n < 20; n++) {
    const lease = await begin(store, `${n}`);
    const plugins = { big, count: { version: "1", revision: n, state: n } };
    await store.commit(lease, await ended(store, lease, { plugins }));
  }
  const db = new DatabaseSync(path);
  expect(db.prepare("SELECT plugin, count(*) AS rows FROM state GROUP BY plugin").all()).toMatchObject([
    { plugin: "big", rows: 1 },
    { plugin: "count", rows: 20 },
  ]);
  db.close();
  const fork = await store.fork(session, { id: asSessionId("f"), config: {}, at: 1 }, nodeId("turn-7", 0));
  expect(fork.plugins).toEqual({ big, count: { version: "1", revision: 7, state: 7 } });
  await store.close();
});

test("D7 sqlite: what a turn adds to the file does not grow with the turns before it", async () => {
  const path = newFile();
  const store = sqlite(path, { strength: "process" });
  await store.create({ id: session, config: {}, at: 1 });
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
      const lease = await begin(store, `${n}`.padStart(24, "0"));
      for (let seq = 1; seq <= 5; seq++) await store.append(lease, seq, [{ ...slept(said) }], n);
      const message = { id: nodeId(lease.turnId, 0), role: "assistant", parts: [text(said)] } as const;
      const entries = [{ at: 2, kind: "message", message }] as const;
      await store.commit(
        lease,
        await ended(store, lease, { entries, outcome: { kind: "answered", message, text: said } }),
      );
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
