import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { type Code, RuntimeError } from "../../model/errors.ts";
import { asBlobHash, asEffectName, asSessionId, asWaitKey, nodeId, type WaitKey } from "../../model/ids.ts";
import { type Part, text } from "../../model/message.ts";
import type { Entry } from "../../model/node.ts";
import { NO_USAGE } from "../../model/usage.ts";
import {
  alice,
  ann,
  answering,
  approval,
  begin as beginTurn,
  bob,
  commit,
  inputId,
  LAPSED,
  NOW,
  newSession,
  newWait,
  opening,
  send,
  spent,
  turnId,
} from "../../testing/cast.ts";
import { type Database, sqlite } from "../sqlite.ts";
import type { Lease, Store } from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-damage-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = (): string => join(folder, `${++files}.db`);

const begin = (store: Store, name: string): Promise<Lease> =>
  beginTurn(store, name, { parts: [text(`What about ${name}?`)] });

async function turn(store: Store, name: string, words: string): Promise<void> {
  await commit(store, await begin(store, name), {
    ...answering(turnId(name), words),
    plugins: { notes: { version: "1", revision: 1, state: { said: words.slice(0, 20) } } },
    usage: { ...NO_USAGE, output: 7 },
    spent: [spent("turn", 0)],
    inputs: [inputId(name)],
  });
}

async function refused(code: Code, act: () => unknown): Promise<RuntimeError> {
  let thrown: unknown;
  await assert.rejects(
    async () => act(),
    (error) => {
      thrown = error;
      return true;
    },
  );
  assert.ok(thrown instanceof RuntimeError, String(thrown));
  assert.equal(thrown.code, code, thrown.message);
  assert.ok(thrown.hint !== "");
  return thrown;
}

/** Everything that was committed, as it is read. */
const kept = async (store: Store) => ({
  session: await store.load(alice),
  path: await store.view(alice),
  ends: [await store.terminal(turnId("one")), await store.terminal(turnId("two"))],
});

test("D8 sqlite: a missing folder, a folder and an empty path are refused as files", async () => {
  await refused("store.path", () => sqlite(join(folder, "missing", "a.db")));
  expect(existsSync(join(folder, "missing"))).toBe(false);
  mkdirSync(join(folder, "a-folder"));
  await refused("store.path", () => sqlite(join(folder, "a-folder")));
  await refused("store.path", () => sqlite(""));
});

test("D8 sqlite: a text file is not a database, and is not changed", async () => {
  const path = newFile();
  writeFileSync(path, "Dear diary, this is not a database. ".repeat(200));
  const before = readFileSync(path);
  await refused("store.corrupt", () => sqlite(path));
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("D8 sqlite: the database of another program is refused, and left as it was", async () => {
  const path = newFile();
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
  db.close();
  const before = readFileSync(path);
  await refused("store.foreign", () => sqlite(path));
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("D8 sqlite: a newer schema is refused with both versions, and left as it was", async () => {
  const path = newFile();
  await sqlite(path).close();
  const db = new DatabaseSync(path);
  db.exec("PRAGMA user_version = 99");
  db.close();
  const error = await refused("store.newer", () => sqlite(path));
  expect(error.details).toMatchObject({ found: 99, known: 11 });
  expect(error.hint).toMatch(/Update/);
  const again = new DatabaseSync(path);
  expect(again.prepare("PRAGMA user_version").get()).toEqual({ user_version: 99 });
  again.close();
});

test("D8 sqlite: an empty file becomes a store", async () => {
  const path = newFile();
  writeFileSync(path, "");
  const store = sqlite(path);
  expect(await store.list()).toEqual([]);
  await store.close();
});

test("D8 sqlite: a database that cannot be written is refused", async () => {
  const path = newFile();
  await sqlite(path).close();
  const readOnly = new DatabaseSync(path, { readOnly: true }) as unknown as Database;
  const error = await refused("store.readonly", async () => {
    const store = sqlite(readOnly);
    await store.create(newSession());
  });
  expect(error.hint).toMatch(/write/);
});

test("D1 D8 sqlite: a turn on a full disk stores nothing, and continues when there is room", async () => {
  const db = new DatabaseSync(newFile());
  const store = sqlite(db as unknown as Database);
  await store.create(newSession());
  await turn(store, "one", "Well.");
  const before = await kept(store);
  const { page_count } = db.prepare("PRAGMA page_count").get() as { page_count: number };
  db.exec(`PRAGMA max_page_count = ${page_count + 3}`);
  const words = "More than fits. ".repeat(3_000);
  await refused("store.full", () => turn(store, "two", words));
  expect(await kept(store)).toEqual({ ...before, session: { ...before.session, openTurn: turnId("two") } });
  const lease = await store.open(alice, ann, LAPSED, opening);
  expect(lease.kind).toBe("resumed"); // The input was accepted while there was room.
  expect(await store.check({ deep: true })).toEqual([]);
  db.exec("PRAGMA max_page_count = 100000");
  assert.ok(lease.kind === "resumed");
  await store.append(lease.lease, 1, [{ kind: "resumed", at: 1, step: 1, generation: 2 }], LAPSED);
  await store.close();
});

test("D1 D8 sqlite: a write that fails at its commit throws, also a single statement", () => {
  // Past the limit on file sizes the write-ahead log cannot grow: appends fail at their very end.
  const path = newFile();
  const program = `
    import { sqlite } from ${JSON.stringify(new URL("../sqlite.ts", import.meta.url).href)};
    import { begin, newSession, NOW, slept } from ${JSON.stringify(new URL("../../testing/cast.ts", import.meta.url).href)};
    const store = sqlite(${JSON.stringify(path)}, { durability: "process" });
    await store.create(newSession());
    const lease = await begin(store, "hello");
    let seq = 1;
    try {
      for (; seq < 2000; seq++) store.append(lease, seq, [slept("x".repeat(3000))], NOW);
    } catch (error) {
      console.log(JSON.stringify({ code: error.code, acknowledged: seq, read: store.journal(lease.turnId, 0).length }));
    }
    process.exit(0);`;
  const { stdout } = spawnSync(
    "bash",
    ["-c", `ulimit -f 1024; exec "$0" --input-type=module -e "$1"`, process.execPath, program],
    {
      encoding: "utf8",
    },
  );
  const { code, acknowledged, read } = JSON.parse(stdout) as { code: string; acknowledged: number; read: number };
  expect(["store.full", "store.failed"]).toContain(code);
  expect(read).toBe(acknowledged);
});

test("D8 sqlite: a locked file throws after the patience, without blocking", async () => {
  const path = newFile();
  const store = sqlite(path, { busyTimeoutMs: 150 });
  await store.create(newSession());
  const other = new DatabaseSync(path);
  other.exec("BEGIN IMMEDIATE");
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  expect((await store.load(alice))?.id).toBe(alice); // Reading goes on.
  const error = await refused("store.locked", () => begin(store, "one"));
  expect(error.retry).toBe("unchanged");
  expect(ticks).toBeGreaterThan(3);
  const waiting = begin(store, "one");
  setTimeout(() => other.exec("ROLLBACK"), 40);
  expect((await waiting).turnId).toBe(turnId("one"));
  clearInterval(timer);
  other.close();
  await store.close();
});

/** Two committed turns and an open one, all in the file itself and none of it in the log. */
async function sample(): Promise<string> {
  const path = newFile();
  const store = sqlite(path);
  await store.create({ ...newSession(), config: { model: "m", instructions: "Be kind." } });
  await turn(store, "one", "The first thing that was said. ".repeat(40));
  await turn(store, "two", "The second thing, and quite another. ".repeat(200));
  const lease = await begin(store, "three");
  await store.append(lease, 1, [{ kind: "cancelled", at: 1, requestId: "r", reason: "no ".repeat(50) }], NOW);
  await store.vacuum();
  await store.close();
  return path;
}

test("D8 sqlite: every byte of content is under a checksum", async () => {
  const path = await sample();
  const whole = readFileSync(path);
  const store = sqlite(path);
  const truth = { ...(await kept(store)), journal: await store.journal(turnId("three"), 0) };
  await store.close();
  const said = [
    "The first thing",
    "The second thing",
    "Be kind",
    "no no no",
    "What about three",
    '"said":',
    "unknownCalls",
  ];
  for (const words of said) {
    for (let at = whole.indexOf(words); at >= 0; at = whole.indexOf(words, at + 1)) {
      const damaged = Buffer.from(whole);
      damaged[at + 3]! ^= 1; // Another letter: it is JSON all the same.
      const file = newFile();
      writeFileSync(file, damaged);
      const opened = sqlite(file);
      const read = async () => ({ ...(await kept(opened)), journal: await opened.journal(turnId("three"), 0) });
      const result = await read().catch((error: unknown) => error);
      if (!(result instanceof RuntimeError))
        expect(result, words).toEqual(truth); // A page that is no longer used.
      else {
        expect(result.code).toBe("store.corrupt");
        expect((await opened.check()).length).toBeGreaterThan(0);
      }
      await opened.close();
    }
  }
}, 30_000);

test("D8 sqlite: the origin of a fork and the maker of an operation are under a checksum", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  await store.apply({ sessionId: alice, operation: "op", at: NOW, by: "append" });
  await store.fork(alice, newSession(bob));
  const db = new DatabaseSync(path);
  const hurt = async (sql: string, act: () => unknown, back: string) => {
    db.exec(sql);
    await refused("store.corrupt", act);
    expect((await store.check()).length).toBe(1);
    db.exec(back);
    expect(await store.check()).toEqual([]);
  };
  const load = () => store.load(bob);
  const id = (of: string) => `UPDATE session SET origin_id = ${of} WHERE id = '${bob}'`;
  await hurt(id("'another'"), load, id(`'${alice}'`));
  await hurt(id("NULL, origin_at = 'op.0'"), load, id(`'${alice}', origin_at = NULL`));
  const made = (from: string, to: string) => `UPDATE operation SET committed = replace(committed, '${from}', '${to}')`;
  await hurt(made("append", "compact"), () => store.changes(undefined, { max: 1 }), made("compact", "append"));
  db.close();
  await store.close();
});

const REMARK: readonly Entry[] = [{ at: NOW, kind: "plugin", plugin: "notes", type: "remark", body: 1 }];

test("D8 sqlite: the check finds every changed or lost row", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create({ ...newSession(), plugins: { notes: { version: "1", revision: 1, state: 1 } } });
  await turn(store, "one", "First.");
  await turn(store, "two", "Second.");
  const parts = [{ operation: "part", receipt: 1 }];
  await store.apply({ sessionId: alice, operation: "op", at: NOW, config: { model: "n" }, parts });
  await store.create(newSession(bob));
  await store.delete(bob);
  const lease = await begin(store, "three");
  const wait = newWait(asWaitKey("w"));
  await store.append(lease, 1, [{ kind: "slept", at: 1, effect: asEffectName("e") }], NOW, [wait]);
  await store.note(lease.turnId, asEffectName("e"), "k", 1);
  await store.attempt(lease.turnId, asEffectName("e"));
  await send(store, "four", { key: "k" });
  await send(store, "five", { place: "injected" });
  await store.apply({ sessionId: alice, operation: "late", at: NOW, entries: REMARK, queueMax: 9 });
  await store.setOptions(alice, { notes: { depth: 2 } });
  await store.operations.note(alice, "work", "k", "paid");
  await store.release(lease);
  const carol = asSessionId("carol");
  await store.create(newSession(carol));
  const past = await beginTurn(store, "past", { to: carol });
  await store.append(past, 1, [], NOW, [newWait(asWaitKey("p"))]);
  await store.waits.resolve(asWaitKey("p"), { kind: "value", value: 1, by: "ann" }, NOW);
  await commit(store, past);
  const asleep = await beginTurn(store, "asleep", { to: carol });
  const turns = { kind: "turns", need: "all", turns: [{ sessionId: alice, turnId: lease.turnId }] } as const;
  const keys = ["a", "b"].map(asWaitKey) as [WaitKey, WaitKey];
  await store.append(asleep, 1, [], NOW, [newWait(keys[0]), newWait(keys[1], { about: turns })]);
  await store.park(asleep, { turnId: asleep.turnId, wakeAt: NOW + 9, waits: keys }, NOW);
  const db = new DatabaseSync(path);
  const damages = [
    "UPDATE turn SET key = 'another' WHERE n = 1",
    "UPDATE turn SET hash = 'another'",
    "UPDATE turn SET state = 2 WHERE state = 0",
    "UPDATE turn SET input_id = 'another' WHERE n = 1",
    "UPDATE turn SET cancel = ended",
    "UPDATE turn SET done = done + 100 WHERE n = 1",
    "UPDATE ledger SET calls = calls + 1",
    "UPDATE ledger SET source = 'another'",
    "UPDATE segment SET name = 'another' WHERE n = 1",
    "UPDATE segment SET is_named = 1 - is_named WHERE n = 1",
    "UPDATE operation SET hash = 'another'",
    "UPDATE options SET body = replace(body, '2', '3')",
    "UPDATE operation_note SET operation = 'another'",
    "UPDATE operation_note SET value = replace(value, 'paid', 'free') WHERE key > ''",
    "UPDATE turn SET is_aside = 1 WHERE is_aside = 2",
    "UPDATE turn SET is_aside = 2 WHERE is_aside = 3",
    "UPDATE session SET generation = generation + 1",
    "UPDATE session SET until = 1e15",
    "UPDATE state SET body = NULL WHERE since = 0",
    "UPDATE wait SET until = until + 1",
    "UPDATE wait SET key = 'another' WHERE key IS NOT NULL",
    "UPDATE wait SET key = 'x' WHERE key IS NULL",
    "UPDATE wait SET key = NULL",
    "UPDATE wait SET id = 'another'",
    "UPDATE wait SET n = n + 100",
    "UPDATE wait SET effect = 'another'",
    "UPDATE wait SET at = at + 1",
    "UPDATE wait SET about = replace(about, 'shell', 'shall') WHERE is_turns = 0",
    "UPDATE wait SET about = replace(about, 'all', 'any') WHERE is_turns = 1",
    "UPDATE wait SET is_turns = 1 - is_turns",
    "UPDATE wait SET asked = asked + 100",
    "UPDATE wait SET answered = answered + 100",
    "UPDATE wait SET answer = replace(answer, 'ann', 'ben')",
    "UPDATE wait SET answer = NULL",
    "UPDATE wait SET turn = turn + 1",
    "UPDATE wait SET session = 99",
    "UPDATE parked SET wake = wake + 1",
    "UPDATE parked SET turn = turn + 1",
    "UPDATE parked SET waits = '[]'",
    "UPDATE parked SET session = 99",
    "UPDATE session SET turn = NULL WHERE n IN (SELECT session FROM parked)",
    "UPDATE meta SET floor = floor + 100",
    "UPDATE gone SET id = 'another'",
    "UPDATE sqlite_sequence SET seq = 1",
    "DELETE FROM turn WHERE state = 0",
    "DELETE FROM turn WHERE n = 1",
    "DELETE FROM operation",
    "DELETE FROM options",
    "DELETE FROM operation_note WHERE key = ''",
    "DELETE FROM operation_note WHERE key > ''",
    "DELETE FROM turn WHERE is_aside = 3",
    "DELETE FROM ledger",
    "DELETE FROM state WHERE since > 0",
    "DELETE FROM state WHERE since = 0",
    "DELETE FROM journal WHERE k = (SELECT max(k) FROM journal)",
    "DELETE FROM wait",
    "DELETE FROM wait WHERE key IS NULL",
    "DELETE FROM parked",
    "DELETE FROM note",
    "DELETE FROM attempt",
    "DELETE FROM gone",
    "DELETE FROM session",
    "DROP INDEX turn_key",
  ];
  expect(await store.check({ deep: true })).toEqual([]);
  for (const sql of damages) {
    const copy = newFile();
    db.exec(`VACUUM INTO '${copy}'`);
    const other = new DatabaseSync(copy);
    other.exec(sql);
    other.close();
    const damaged = sqlite(copy);
    expect((await damaged.check()).length, sql).toBeGreaterThan(0);
    await damaged.close();
  }
  db.close();
  await store.close();
}, 30_000);

const NAMED = ["a state's", "a node's", "an input's", "a journal's", "an append's", "an operation's"];
NAMED.push("a question's", "an answer's");

test("D8 sqlite: a blob that is named and missing is found, wherever it is named", async () => {
  const path = newFile();
  const store = sqlite(path);
  const put = async (words: string) => {
    const name = asBlobHash(hash("sha256", words, "base64url"));
    await store.blobs.put(name, new TextEncoder().encode(words));
    return name;
  };
  const attached = async (words: string): Promise<Part> => {
    return { kind: "attachment", hash: await put(words), mediaType: "text/plain", bytes: words.length };
  };
  const state = { version: "1", revision: 1, state: null, blobs: { x: await put("a state's") } };
  await store.create({ ...newSession(), plugins: { notes: state } });
  const one = await begin(store, "one");
  await commit(store, one, {
    says: [{ role: "assistant", parts: [await attached("a node's")] }],
    plugins: { notes: state },
  });
  const two = await beginTurn(store, "two", { parts: [await attached("an input's")] });
  const prepared = { kind: "prepared", at: 1, effect: asEffectName("e"), prompt: await put("a journal's") } as const;
  await store.append(two, 1, [prepared], NOW);
  const message = { id: nodeId("late", 0), role: "user", parts: [await attached("an append's")] } as const;
  const entries = [{ at: NOW, kind: "message", message }] as const;
  await store.apply({ sessionId: alice, operation: "late", at: NOW, entries, queueMax: 9 });
  await store.operations.note(alice, "work", "k", [(await attached("an operation's")) as never]);
  const [asked, given] = [await attached("a question's"), await attached("an answer's")];
  const call = { ...approval.call, input: asked as never };
  await store.append(two, 2, [], NOW, [newWait(asWaitKey("w"), { about: { ...approval, call } })]);
  await store.waits.resolve(asWaitKey("w"), { kind: "value", value: given as never }, NOW);
  await put("nobody's");
  const db = new DatabaseSync(path);
  const missing = async (words: string) => {
    const name = hash("sha256", words, "base64url");
    db.exec(`BEGIN; DELETE FROM blob WHERE hash = '${name}'; COMMIT`);
    return (await store.check()).filter(({ problem }) => problem === `the blob ${name} is missing`).length;
  };
  expect(await missing("nobody's")).toBe(0);
  for (const words of NAMED) expect(await missing(words), words).toBe(1);
  db.close();
  await store.close();
});

test("D8 sqlite: with any byte changed, a read is right, throws a code, or finds nothing", async () => {
  const path = await sample();
  const whole = readFileSync(path);
  const store = sqlite(path);
  const truth = await kept(store);
  await store.close();
  const seen = { true: 0, refused: 0, absent: 0 };
  const offsets = [
    ...Array(100).keys(),
    ...Array.from({ length: 250 }, (_, n) => 100 + Math.floor((n * whole.length) / 251)),
  ];
  for (const at of offsets) {
    const damaged = Buffer.from(whole);
    damaged[at]! ^= 0x10;
    const file = newFile();
    writeFileSync(file, damaged);
    let opened: Store | undefined;
    try {
      opened = sqlite(file);
      const found = await kept(opened);
      // An index that lost an entry answers as if the thing were not there; `check` with `deep` tells.
      const isTrue = (a: unknown, b: unknown): boolean => a === undefined || isEqual(a, b);
      if (isEqual(found, truth)) seen.true++;
      else {
        assert.ok(
          isTrue(found.session, truth.session) && found.ends.every((end, n) => isTrue(end, truth.ends[n])),
          `${at}`,
        );
        seen.absent++;
      }
    } catch (error) {
      assert.ok(error instanceof RuntimeError, `at ${at}: ${String(error)}`);
      seen.refused++;
    } finally {
      await opened?.close();
      rmSync(file);
    }
  }
  expect(seen.true).toBeGreaterThan(100);
  expect(seen.refused).toBeGreaterThan(20);
}, 30_000);
function isEqual(a: unknown, b: unknown): boolean {
  try {
    assert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

test("D8 sqlite: a file that was cut short is refused, or has what it had", async () => {
  const path = await sample();
  const { size } = statSync(path);
  for (let cut = 4096; cut < size; cut += 4096) {
    const file = newFile();
    copyFileSync(path, file);
    const bytes = readFileSync(file).subarray(0, size - cut);
    writeFileSync(file, bytes);
    try {
      const store = sqlite(file);
      await kept(store);
      expect((await store.check()).length).toBeGreaterThan(0);
      await store.close();
    } catch (error) {
      assert.ok(error instanceof RuntimeError, String(error));
      expect(["store.corrupt", "store.foreign", "session.unknown"]).toContain(error.code);
    }
  }
}, 30_000);

test("D8 sqlite: a history in a circle is refused", async () => {
  const path = newFile();
  const store = sqlite(path);
  await store.create(newSession());
  for (const words of ["one", "two", "three"]) await turn(store, words, words);
  await store.close();
  const db = new DatabaseSync(path);
  db.exec("UPDATE segment SET parent = (SELECT max(n) FROM segment) WHERE n = (SELECT min(n) FROM segment)");
  db.close();
  const again = sqlite(path);
  await refused("store.corrupt", () => again.view(alice));
  expect(await again.check()).not.toEqual([]);
  await again.close();
});
