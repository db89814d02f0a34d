import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { asBlobHash, asEffectName, asSessionId, asWaitKey, type BlobHash } from "../../model/ids.ts";
import type { Part } from "../../model/message.ts";
import {
  alice,
  assistant,
  begin,
  bob,
  commit,
  NOW,
  newSession,
  newWait,
  node,
  opening,
  send,
  turn,
} from "../../testing/cast.ts";
import { thisProcess } from "../rows/process.ts";
import { type Database, type Durability, type SqliteStore, sqlite } from "../sqlite.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-retention-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

const HOUR = 3_600_000;
async function put(store: SqliteStore, words: string): Promise<BlobHash> {
  const name = asBlobHash(hash("sha256", words, "base64url"));
  await store.blobs.put(name, new TextEncoder().encode(words));
  return name;
}
const has = async (store: SqliteStore, name: BlobHash): Promise<boolean> => (await store.blobs.get(name)) !== undefined;
const attachment = (name: BlobHash): Part => ({ kind: "attachment", hash: name, mediaType: "text/plain", bytes: 1 });

test("D9 sqlite: a sweep removes exactly the old blobs without a reference", async () => {
  let now = 0;
  const store = sqlite(newFile(), { now: () => now });
  await store.create(newSession());
  const named = {
    node: await put(store, "in a node"),
    old: await put(store, "in a plugin's state of long ago"),
    state: await put(store, "in a plugin's state"),
    input: await put(store, "in an input"),
    journal: await put(store, "in a journal"),
    note: await put(store, "in a note"),
    begun: await put(store, "in a state that a session began with"),
  };
  const unnamed = [await put(store, "in nothing"), await put(store, "in a journal that has ended")];
  const keeps = (...names: readonly BlobHash[]) => ({
    plugin: {
      version: "1",
      revision: 1,
      state: null,
      blobs: Object.fromEntries(names.map((name, n) => [`x${n}`, name])),
    },
  });
  const keeper = asSessionId("keeper");
  await store.create({ ...newSession(keeper), plugins: keeps(named.input, named.journal, named.note) });
  await store.create({ ...newSession(bob), plugins: keeps(named.begun) });
  const one = await begin(store, "one");
  await store.append(one, 1, [{ kind: "prepared", at: NOW, effect: asEffectName("p"), prompt: unnamed[1]! }], NOW);
  await commit(store, one, { says: [assistant(attachment(named.node))], plugins: keeps(named.old) });
  await turn(store, "two", { plugins: keeps(named.state) });
  expect(await store.sweep()).toEqual({ isPartial: false, deleted: 0, bytes: 0, kept: 0, remaining: 0 });
  now = 2 * HOUR;
  const fresh = await put(store, "about to be named");
  expect(await store.sweep()).toEqual({
    isPartial: false,
    deleted: 2,
    bytes: "in nothing".length + "in a journal that has ended".length,
    kept: 7,
    remaining: 0,
  });
  expect(await has(store, fresh)).toBe(true);
  for (const name of unnamed) expect(await has(store, name)).toBe(false);
  const three = await begin(store, "three", { parts: [attachment(named.input)] });
  await store.append(three, 1, [{ kind: "prepared", at: NOW, effect: asEffectName("p"), prompt: named.journal }], NOW);
  await store.note(three.turnId, asEffectName("e"), "k", `blob:${named.note}/x`);
  await store.delete(keeper);
  now = 4 * HOUR;
  expect(await store.sweep()).toMatchObject({ deleted: 1, kept: 0 }); // Not named after all.
  expect(await has(store, fresh)).toBe(false);
  expect(await store.sweep()).toMatchObject({ deleted: 0, kept: 6, remaining: 0 }); // The input's own was touched.
  for (const name of Object.values(named)) expect(await has(store, name)).toBe(true);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

test("D9 sqlite: putting a blob again protects it until it is referred to", async () => {
  let now = 0;
  const store = sqlite(newFile(), { now: () => now });
  const name = await put(store, "a prompt");
  now = 2 * HOUR;
  await put(store, "a prompt");
  now += HOUR / 2;
  expect((await store.sweep()).deleted).toBe(0);
  now += HOUR;
  expect((await store.sweep()).deleted).toBe(1);
  expect(await has(store, name)).toBe(false);
  await put(store, "a prompt"); // The store must not go on remembering it as there.
  expect(await has(store, name)).toBe(true);
  await store.close();
});

/** Another process, on the same file and with another clock: everything looks old to it. */
const sweeper = (path: string, ahead = 2 * HOUR): SqliteStore => sqlite(path, { now: () => NOW + ahead });
const NOW_ON = { now: () => NOW };

for (const ahead of [2 * HOUR, 0, -2 * HOUR])
  test(`D9 sqlite: a blob that an open turn has put and not named yet is not garbage-collected, by a clock ${ahead / HOUR} h ahead`, async () => {
    const path = newFile();
    const [store, other] = [sqlite(path, NOW_ON), sweeper(path, ahead)];
    await store.create(newSession());
    await turn(store, "before");
    for (let round = 0; round < 3; round++) {
      const lease = await begin(store, `turn ${round}`);
      const name = await put(store, "a tool's result");
      for (let sweeps = 0; sweeps < 3; sweeps++) await other.sweep({ olderThanMs: -1 });
      expect(await has(other, name)).toBe(true);
      await commit(store, lease, { says: [`Not named in round ${round}.`] });
    }
    if (ahead >= 0) {
      await other.sweep({ olderThanMs: -1 });
      expect((await other.sweep({ olderThanMs: -1 })).deleted + (await other.sweep({ olderThanMs: -1 })).deleted).toBe(
        0,
      );
      expect(await other.blobs.get(asBlobHash(hash("sha256", "a tool's result", "base64url")))).toBe(undefined);
    }
    await Promise.all([store.close(), other.close()]);
  });

/** A database that says when it is read page by page. */
function paged(path: string, onPage: () => void): Database {
  const db = new DatabaseSync(path);
  return {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql);
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values),
        all(...values) {
          if (sql.endsWith(" LIMIT 50")) onPage();
          return statement.all(...values);
        },
      };
    },
  };
}

/** What happens before each of the pages of another process's search, in a file of its own for each. */
async function amidSearch(act: (store: SqliteStore) => Promise<() => Promise<BlobHash>>): Promise<void> {
  let happened = 0;
  for (let page = 1; page <= 10; page++) {
    const path = newFile();
    const store = sqlite(path, { ...NOW_ON, durability: "process" });
    await store.create(newSession());
    await turn(store, "one", { says: [assistant(attachment(await put(store, "to be searched for")))] });
    await store.sweep({ olderThanMs: -1 });
    const then = await act(store);
    let [pages, named]: [number, Promise<BlobHash> | undefined] = [0, undefined];
    const search = (): void => {
      if (++pages === page) named = then();
    };
    const other = sqlite(paged(path, search), { now: () => NOW + 2 * HOUR });
    await other.sweep();
    if (named !== undefined) {
      happened++;
      expect(await has(store, await named), `page ${page} of ${pages}`).toBe(true);
    }
    await Promise.all([store.close(), other.close()]);
  }
  expect(happened).toBeGreaterThanOrEqual(8); // Every table in which blobs are named.
}

test("D9 sqlite: a turn that was open when a search began keeps what it names, though it ends before the search does", async () => {
  await amidSearch(async (store) => {
    const lease = await begin(store, "names late");
    const name = await put(store, "a prompt");
    return async () => {
      await commit(store, lease, { says: [assistant(attachment(name))] });
      return name;
    };
  });
});

test("D9 sqlite: an input that comes during a search keeps its attachment, though that was put before", async () => {
  await amidSearch(async (store) => {
    const name = await put(store, "a picture");
    return async () => {
      await begin(store, "look", { parts: [attachment(name)] });
      return name;
    };
  });
});

test("D9 sqlite: an input with a garbage-collected attachment is refused, and accepted once its bytes are put again", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, NOW_ON), sweeper(path)];
  await store.create(newSession());
  const name = await put(store, "a picture");
  expect(await other.sweep()).toMatchObject({ deleted: 1 });
  const swept = { code: "store.swept", details: { hash: name } };
  await expect(begin(store, "look", { parts: [attachment(name)] })).rejects.toMatchObject(swept);
  expect(await store.inputs.list(alice)).toEqual([]);
  await put(store, "a picture");
  await begin(store, "look", { parts: [attachment(name)] });
  await other.sweep();
  expect(await has(store, name)).toBe(true);
  await Promise.all([store.close(), other.close()]);
});

test("D9 sqlite: a change with a garbage-collected blob is refused, and none of it is stored", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, NOW_ON), sweeper(path)];
  await store.create(newSession());
  const name = await put(store, "a plugin's bytes");
  await other.sweep();
  const change = (state: object) => ({
    sessionId: alice,
    operation: "op",
    at: NOW,
    plugins: { p: { version: "1", revision: 1, state: null, ...state } },
  });
  const named = [change({ blobs: { x: name } }), change({ state: { mine: `blob ${name}` } })];
  for (const each of named) await expect(async () => store.apply(each)).rejects.toMatchObject({ code: "store.swept" });
  expect((await store.load(alice))?.revision).toBe(0);
  await put(store, "a plugin's bytes");
  expect(await store.apply(named[0]!)).toMatchObject({ kind: "committed" });
  expect(await store.apply(change({ blobs: { x: name } }))).toMatchObject({ kind: "committed" }); // A repeat.
  await other.sweep();
  expect(await has(store, name)).toBe(true);
  await Promise.all([store.close(), other.close()]);
});

test("D9 sqlite: blobs that notes, receipts and parts of operations, options and waiting appends name are not garbage-collected", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, NOW_ON), sweeper(path)];
  await store.create(newSession());
  const note = await put(store, "in a note");
  const receipt = await put(store, "in a receipt");
  const parts = [await put(store, "in a part of a change"), await put(store, "in a part of a turn")];
  const options = await put(store, "in options");
  const append = await put(store, "in an append, and in a note first");
  const done = await put(store, "in a note of an operation that was applied");
  await store.operations.note(alice, "work", "k", { at: `blob ${note}` });
  await store.operations.note(alice, "append", "k", append);
  await store.operations.note(alice, "done", "k", done);
  const partOf = (n: number) => [{ operation: `part ${n}`, receipt: parts[n]! }];
  await store.apply({ sessionId: alice, operation: "done", at: NOW, receipt, parts: partOf(0) });
  await turn(store, "one", { parts: partOf(1) });
  await store.setOptions(alice, { p: options });
  expect(await other.sweep()).toMatchObject({ deleted: 1, kept: 6 });
  expect(await has(store, done)).toBe(false);

  // By one that did not put it: nothing but the row itself keeps it from the next sweep.
  const lease = await begin(store, "two");
  const entries = [{ at: NOW, kind: "plugin", plugin: "p", type: "t", body: append }] as const;
  const change = { sessionId: alice, operation: "append", at: NOW, entries, queueMax: 9 };
  expect(await other.apply(change)).toEqual({ kind: "queued" });
  const db = new DatabaseSync(path);
  db.exec("DELETE FROM operation_note WHERE operation = 'append'");
  db.close();
  expect(await other.sweep()).toMatchObject({ deleted: 0, kept: 6 });
  await commit(store, lease);
  expect(await other.sweep()).toMatchObject({ deleted: 0, kept: 6 });
  for (const name of [note, receipt, ...parts, options, append]) expect(await has(store, name)).toBe(true);
  await Promise.all([store.close(), other.close()]);
});

test("D9 sqlite: a note with a garbage-collected blob is refused", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, NOW_ON), sweeper(path)];
  await store.create(newSession());
  const name = await put(store, "paid work");
  await other.sweep();
  await expect(async () => store.operations.note(alice, "op", "k", { name })).rejects.toMatchObject({
    code: "store.swept",
  });
  await put(store, "paid work");
  expect(await store.operations.note(alice, "op", "k", { name })).toEqual({ name });
  await other.sweep();
  expect(await has(store, name)).toBe(true);
  await Promise.all([store.close(), other.close()]);
});

test("D9 sqlite: a sweep is bounded, reports what remains, and continues where it stopped", async () => {
  let now = 0;
  const store = sqlite(newFile(), { now: () => now, durability: "process" });
  await store.create(newSession());
  for (let n = 0; n < 25; n++) await put(store, `blob ${n}`);
  for (let n = 0; n < 120; n++) await turn(store, `${n}`);
  now = 2 * HOUR;
  const partial = await store.sweep({ max: 10, ms: 0 });
  expect(partial).toEqual({ isPartial: true, deleted: 0, bytes: 0, kept: 0, remaining: 25 });
  let [calls, deleted, remaining] = [0, 0, 25];
  for (; remaining > 0 && calls < 100; calls++) {
    const swept = await store.sweep({ max: 10 });
    deleted += swept.deleted;
    remaining = swept.remaining;
    expect(swept.deleted).toBeLessThanOrEqual(10);
  }
  expect([calls, deleted]).toEqual([3, 25]);
  await store.close();
});

/** A file with a megabyte of free pages, and its size. */
async function emptied(path: string, autoVacuum: boolean): Promise<{ store: SqliteStore; size: number }> {
  const db = new DatabaseSync(path);
  const store = sqlite(db as unknown as Database, { now: () => 0, autoVacuum });
  await store.create(newSession());
  const big = "x".repeat(50_000);
  for (let n = 0; n < 20; n++) await turn(store, `${n}`, { says: [big] });
  await store.vacuum();
  const size = statSync(path).size;
  await store.delete(alice);
  return { store, size };
}

test("D9 sqlite: what a deleted session leaves is given back to the disk in slices, without rewriting the file", async () => {
  const path = newFile();
  const { store, size } = await emptied(path, true);
  expect(await store.vacuum({ ms: 0 })).toMatchObject({ freeBytes: expect.closeTo(1_000_000, -5) });
  expect(await store.vacuum()).toMatchObject({ isCompacted: false, freeBytes: 0, isLogEmptied: true });
  expect(statSync(path).size).toBeLessThan(size / 3);
  expect(await store.list()).toEqual([]);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
});

test("D9 sqlite: a file that does not shrink keeps its free pages, and gives them back when it is compacted", async () => {
  const path = newFile();
  const { store, size } = await emptied(path, false);
  const kept = await store.vacuum();
  expect(kept).toMatchObject({ isCompacted: false });
  expect(kept.freeBytes).toBeGreaterThan(900_000);
  expect(statSync(path).size).toBe(size);
  expect(await store.vacuum({ compact: true })).toMatchObject({ isCompacted: true, freeBytes: 0, isLogEmptied: true });
  expect(statSync(path).size).toBeLessThan(size / 3);
  await store.close();
});

test("D2 D9 sqlite: a file is not rewritten while another process runs a turn on it", async () => {
  const path = newFile();
  const clock = { now: NOW };
  const store = sqlite(path, { now: () => clock.now });
  await store.create(newSession());
  const theirs = { id: "them", process: "elsewhere/boot/7/1" };
  const ours = { id: "us", process: thisProcess() };
  await commit(store, await begin(store, "ours", { by: ours }));
  const lease = await begin(store, "theirs", { by: theirs });
  await expect(store.vacuum({ compact: true })).rejects.toMatchObject({
    code: "store.in-use",
    details: { path, turns: 1 },
  });
  expect(await store.vacuum()).toMatchObject({ isCompacted: false });
  await store.release(lease);
  expect(await store.vacuum({ compact: true })).toMatchObject({ isCompacted: true });
  await store.renew(lease, NOW);
  clock.now = NOW + lease.heldMs;
  expect(await store.vacuum({ compact: true })).toMatchObject({ isCompacted: true });
  await store.close();
});

test("D2 D9 sqlite: a parked turn is run by nobody, so a file is rewritten; what the turn put stays as long as it is open", async () => {
  const path = newFile();
  const [store, other] = [sqlite(path, NOW_ON), sweeper(path)];
  await store.create(newSession());
  const theirs = { id: "them", process: "elsewhere/boot/7/1" };
  const lease = await begin(store, "theirs", { by: theirs });
  const names = [await put(store, "named in its journal"), await put(store, "not named yet")] as const;
  await store.append(lease, 1, [{ kind: "prepared", at: NOW, effect: asEffectName("p"), prompt: names[0] }], NOW);
  await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 9, waits: [] }, NOW);
  expect(await store.vacuum({ compact: true })).toMatchObject({ isCompacted: true });
  expect((await other.sweep()).deleted).toBe(0);
  for (const name of names) expect(await has(store, name)).toBe(true);
  const answer = await store.open(alice, theirs, NOW + 9, opening);
  expect(answer.kind).toBe("resumed");
  await expect(store.vacuum({ compact: true })).rejects.toMatchObject({ code: "store.in-use" });
  await Promise.all([store.close(), other.close()]);
});

test("D9 S7 sqlite: nothing remains of a deleted session once its forks are deleted too", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  for (let n = 0; n < 5; n++) {
    const plugins = { p: { version: "1", revision: n, state: n } };
    await turn(store, `${n}`, { plugins });
  }
  await turn(store, "late", { base: node("1", 0) });
  await store.apply({
    sessionId: alice,
    operation: "an operation",
    at: NOW,
    entries: [{ at: 1, kind: "frame", reason: "" }],
  });
  await store.setOptions(alice, { p: 1 });
  await store.operations.note(alice, "work", "k", 1);
  await store.fork(alice, newSession(bob), node("3", 0));
  const waiting = [newWait(asWaitKey("w"))];
  const past = await begin(store, "past");
  await store.append(past, 1, [], NOW, waiting);
  await commit(store, past);
  const open = await begin(store, "open");
  await store.append(open, 1, [], NOW, waiting);
  await store.park(open, { turnId: open.turnId, wakeAt: NOW + 9, waits: [] }, NOW);
  await send(store, "psst", { place: "injected" });
  await store.apply({ sessionId: alice, operation: "late", at: NOW, queueMax: 9 });
  await store.delete(alice);
  expect(await store.check({ deep: true })).toEqual([]);
  const carol = asSessionId("carol");
  const fork = await store.fork(bob, newSession(carol), node("2", 0));
  expect(fork.plugins).toEqual({ p: { version: "1", revision: 2, state: 2 } });
  await store.delete(bob);
  await store.delete(carol);
  const db = new DatabaseSync(path);
  const tables = ["session", "config", "options", "ledger", "state", "segment", "turn", "operation", "operation_note"];
  tables.push("journal", "wait", "parked", "note", "attempt", "preview", "follower");
  for (const table of tables)
    expect(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get(), table).toEqual({ rows: 0 });
  db.close();
  await store.close();
});

test("D9 D8 sqlite: a check names the damage and changes nothing", async () => {
  const wrongs: readonly [string, RegExp][] = [
    ["UPDATE session SET head = 77", /^Session alice: its checksum/],
    ["UPDATE session SET turn = 1 WHERE turn IS NULL", /has ended/],
    ["UPDATE segment SET parent = 99 WHERE parent IS NOT NULL", /The segment of turn-two: its checksum/],
    ["UPDATE segment SET entries = substr(entries, 1, 8) || '[]'", /The segment of turn-\w+: its checksum/],
    ["UPDATE segment SET users = 5", /miscounted/],
    ["UPDATE turn SET ended = NULL", /half an end/],
    ["UPDATE turn SET ended = replace(ended, '\"size\":1', '\"size\":2')", /checksum/],
    ["DELETE FROM segment WHERE parent IS NULL", /missing/],
    ["DELETE FROM config", /configuration of session alice: it is missing/],
    ["UPDATE state SET body = substr(body, 1, 8) || '{}'", /plugin/],
    ["INSERT INTO journal VALUES (4194304, 1, 0, 'x')", /no open turn/],
    ["UPDATE blob SET data = x'00'", /another hash/],
    ["UPDATE operation SET committed = 'x'", /receipt/],
  ];
  for (const [sql, expected] of wrongs) {
    const path = newFile();
    const store = sqlite(path);
    await store.create(newSession());
    await put(store, "a blob");
    const plugins = { p: { version: "1", revision: 1, state: 1 } };
    for (const name of ["one", "two"]) await turn(store, name, { plugins });
    await store.apply({ sessionId: alice, operation: "op", at: NOW, config: { model: "n" } });
    expect(await store.check({ deep: true })).toEqual([]);
    const db = new DatabaseSync(path);
    db.exec(sql);
    const changes = () => db.prepare("PRAGMA data_version").get();
    const before = changes();
    const findings = (await store.check()).map(({ item, problem }) => `${item}: ${problem}`);
    expect(findings.join("\n"), sql).toMatch(expected);
    expect(changes()).toEqual(before);
    db.close();
    await store.close();
  }
});

/** How often it waits for the disk: ten appends, between an acceptance and a commit. */
function syncsOf(durability: Durability, turns: number): number {
  const program = `
    import { sqlite } from ${JSON.stringify(new URL("../sqlite.ts", import.meta.url).href)};
    import { begin, commit, newSession, NOW, slept } from ${JSON.stringify(new URL("../../testing/cast.ts", import.meta.url).href)};
    const store = sqlite(process.argv[1], { durability: ${JSON.stringify(durability)} });
    await store.create(newSession());
    for (let n = 0; n < ${turns}; n++) {
      const lease = await begin(store, "n" + n);
      for (let seq = 1; seq <= 10; seq++) await store.append(lease, seq, [slept("e" + seq)], NOW);
      await commit(store, lease);
    }
    process.exit(0);`;
  const { stderr } = spawnSync(
    "strace",
    ["-f", "-e", "trace=fsync,fdatasync", process.execPath, "--input-type=module", "-e", program, newFile()],
    { encoding: "utf8" },
  );
  return [...stderr.matchAll(/\bf(?:data)?sync\(/g)].length;
}

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
test.skipIf(!canTrace)(
  "D1 sqlite: each durability waits for the disk as often as it promises",
  () => {
    const perTurn = (durability: Durability): number => (syncsOf(durability, 13) - syncsOf(durability, 3)) / 10;
    expect(perTurn("process")).toBe(0);
    expect(perTurn("power")).toBe(2); // The acceptance and the commit.
    expect(perTurn("power-all")).toBe(12);
  },
  60_000,
);
