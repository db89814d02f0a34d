// Damage to a database: one byte of the file flipped, or one change by SQL. Whatever is read afterwards must be what was
// written, or refused with a code, or the check must complain.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { attach, createRuntime, definePlugin, type Runtime, RuntimeError, type RuntimeOptions } from "bowline";
import { type SqliteStore, sqlite } from "bowline/stores/sqlite";
import { z } from "zod";
import type { BlobHash, EffectName, JobCursor, NodeId, SessionId, TurnId, WaitKey } from "../../src/model/ids.ts";
import { waitIdOf } from "../../src/model/wait.ts";
import {
  ann,
  answering,
  begin,
  commit,
  ended,
  NOW,
  newInput,
  newSession,
  newWait,
  opening,
  send,
  slept,
  spent,
  turn,
} from "../../src/testing/cast.ts";
import {
  bound,
  claimJobs,
  end,
  jobId,
  newJob,
  over,
  parks,
  signal,
  spawn,
  stepped,
  TASK,
  turned,
  working,
  write,
} from "../../src/testing/job-cast.ts";
import { listener } from "../kit/models.ts";
import { named } from "../kit/worlds.ts";

// ── A database with something in every table ────────────────────────────────────────────────────────────────────────

const bytes = (words: string): Uint8Array => new TextEncoder().encode(words);

const notes = definePlugin({
  id: "test/notes",
  state: z.object({ n: z.number().default(0) }),
  setup: ({ command }) => ({
    afterToolCall: ({ state }) => state.update(({ n }) => ({ n: n + 1 })),
    afterTurn: ({ state }) => state.blobs.put("last", bytes(`after ${state.get().n} calls`)),
    operations: { add: command({ run: ({ state }) => state.update(({ n }) => ({ n: n + 10 })) }) },
  }),
});
const app = (store: SqliteStore): RuntimeOptions => ({
  store,
  model: listener(),
  tools: [named("work", async (_, { once }) => `Worked, ${await once("what", () => "and noted it")}.`)],
  plugins: [notes],
  recover: "manual",
});

const SESSIONS = ["chat", "child", "fork", "left", "busy", "beside", "gone", "asleep", "yard"] as SessionId[];
const [, child, , left, busy, beside, gone, asleep, yard] = SESSIONS as [
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
  SessionId,
];
const plugins = (state: number) => ({ p: { version: "1", revision: state, state } });

interface Known {
  readonly turns: readonly TurnId[];
  readonly blobs: readonly string[];
}
export interface Sample {
  readonly path: string;
  readonly whole: Buffer;
  readonly known: Known;
  readonly truth: Reading;
}

export async function soundFile(path: string): Promise<Sample> {
  const runtime = await createRuntime(app(sqlite(path, { durability: "process" })));
  const chat = await runtime.session("chat", { config: { label: "A chat" } });
  await chat.turn("Work, please.", { key: "first" }).result();
  const { head } = await chat.read();
  await chat
    .turn(["Look at this.", attach(bytes("a picture"), { mediaType: "image/png" })], { key: "second" })
    .result();
  await chat.command(notes, "add");
  await chat.append([{ kind: "message", role: "user", text: "By the way." }]);
  const fork = await runtime.sessions.fork("chat", { id: "fork", at: head! });
  await fork.turn("Work elsewhere.").result();
  await runtime.close();

  const store = sqlite(path, { durability: "process" });
  await store.create({ ...newSession(child), parentId: "chat" as SessionId, plugins: plugins(1) });
  for (const [nth, name] of ["one", "two", "three"].entries())
    await turn(
      store,
      name,
      {
        ...answering(`turn-${name}` as TurnId, name),
        plugins: nth === 2 ? {} : plugins(nth + 2),
        spent: [spent("turn", 3), spent("label", 1)],
      },
      { to: child, key: `key of ${name}` },
    );

  // A deleted session, of which a fork goes on.
  await store.create(newSession(gone));
  for (const [nth, name] of ["before", "after"].entries())
    await turn(store, name, { plugins: plugins(nth) }, { to: gone });
  await store.fork(gone, newSession(left));
  await store.delete(gone);

  // An open turn with all that one can have, and inputs that wait, were claimed, or were withdrawn.
  await store.create(newSession(busy));
  const lease = await begin(store, "open", { to: busy, key: "of open" });
  await store.append(lease, 1, [slept("a"), slept("b")], NOW);
  await store.append(lease, 3, [slept("c")], NOW, [
    newWait("w1" as WaitKey),
    newWait("w2" as WaitKey, { until: NOW + 9 }),
    newWait("w3" as WaitKey, { isEarly: true }),
  ]);
  await store.waits.resolve("w1" as WaitKey, { kind: "value", value: "yes", by: "Ann" }, NOW);
  await store.note(lease.turnId, "e" as EffectName, "k", { paid: true });
  await store.attempt(lease.turnId, "e" as EffectName);
  await send(store, "aside", { to: busy, place: "boundary" });
  await store.inputs.claim(lease, "r1" as EffectName, 5);
  for (const name of ["next", "back", "last"]) await send(store, name, { to: busy, key: `of ${name}` });
  await store.inputs.withdraw(busy, { key: "of back" });
  await store.cancel(lease.turnId, { requestId: "r", reason: "Enough.", at: NOW });
  await store.release(lease);

  // A turn whose questions are facts of the past, and one that is parked.
  await store.create({ ...newSession(asleep), parentId: busy });
  const past = await begin(store, "asked", { to: asleep });
  await store.append(past, 1, [slept("a")], NOW, [newWait("w4" as WaitKey), newWait("w5" as WaitKey)]);
  await store.waits.resolve("w4" as WaitKey, { kind: "value", value: "yes", by: "Ann" }, NOW);
  await commit(store, past);
  const waiting = await begin(store, "waits", { to: asleep });
  const keys = ["w6", "w7"] as [WaitKey, WaitKey];
  const turns = { kind: "turns", need: "all", turns: [{ sessionId: busy, turnId: lease.turnId }] } as const;
  await store.append(waiting, 1, [slept("a")], NOW, [newWait(keys[0]), newWait(keys[1], { about: turns })]);
  await store.park(waiting, { turnId: waiting.turnId, wakeAt: LATER + 1_000, waits: keys }, NOW);

  // A turn that was kept beside the path, and one whose input another turn settled.
  await store.create({ ...newSession(beside), owner: "acme", tags: ["red", "tall"] });
  await turn(store, "base", {}, { to: beside });
  const late = await begin(store, "late", { to: beside });
  await commit(store, late, { base: "turn-base.0" as NodeId, entries: [] });
  const moved = await begin(store, "moved", { to: beside });
  await send(store, "joined", { to: beside, place: "boundary" });
  await store.inputs.claim(moved, "r1" as EffectName, 5);
  await commit(store, moved, { inputs: ["input-moved", "input-joined"] as never });
  await store.fork(beside, newSession("beside-fork" as SessionId), "turn-base.0" as NodeId);
  const branch = await begin(store, "branch", { to: beside });
  const { base: _, ...unbased } = ended(branch);
  await store.commit(branch, unbased);
  await store.apply(REMARK);
  await addJobs(store, lease.turnId);
  const told = await store.changes(undefined, { max: 1_000 });
  const known = {
    turns: told.flatMap((change) => (change.kind === "accepted" ? (change.turnId ?? []) : [])),
    blobs: [...new Set(JSON.stringify(await store.list()).match(HASH)), hashOf("a picture")],
  };
  await store.vacuum({ compact: true });
  assert.deepEqual(await store.check({ deep: true }), []);
  await store.close();
  const whole = readFileSync(path);
  const truth = await readingOf(path, known);
  rmSync(path);
  return { path, whole, known, truth };
}
/** Jobs that run, wait, have ended and are bound, with all that one can have. */
async function addJobs(store: SqliteStore, turnId: TurnId): Promise<void> {
  await store.create({ ...newSession(yard), parentId: busy });
  const own = { sessionId: yard };
  await spawn(store, "removed", own);
  await store.jobs.send(jobId("removed"), { ...over(), event: CANCEL }, NOW);
  await store.jobs.remove(jobId("removed"));
  const done = await working(store, "done", own);
  const attached = { kind: "attachment", hash: hashOf("a picture"), mediaType: "image/png" };
  await write(store, done, [stepped("a"), stepped("b", attached)], { waits: [newWait("w8" as WaitKey)] });
  await store.waits.resolve("w8" as WaitKey, { kind: "value", value: "yes", by: "Ann" }, NOW);
  const wakes = [newInput("told", { to: yard, key: "of told", place: "injected" })];
  await write(store, done, [over("completed", "end", { result: { found: 9 } })], { wakes });
  const running = await working(store, "running", { ...own, parent: { turnId }, onParentEnd: "cancel" });
  await write(store, running, [stepped("a"), turned("idle"), turned("running")]);
  await bound(store, "bound", ann, { ...own, visibility: "hidden", kind: "code" });
  await spawn(store, "outside", { ...own, recovery: "external", kind: "external", about: { where: "there" } });
  await spawn(store, "later", { ...own, notBefore: LATER + 500 });
  await spawn(store, "now", { ...own, parent: { jobId: jobId("running") }, onParentEnd: "cancel" });
  const asleep = (await claimJobs(store, ann, LATER - 40_000)).at(-1)!.lease;
  await write(store, asleep, [], { waits: [newWait("w9" as WaitKey, { until: LATER * 2 })] });
  await parks(store, asleep, { due: LATER + 700 });
  const waits = await working(store, "waits", own);
  await parks(store, waits, { awaits: { jobs: [jobId("running"), jobId("bound")], need: "all" } });
  const moved = await working(store, "moved", { sessionId: beside });
  await write(store, moved, [], { waits: [newWait("w10" as WaitKey, { until: LATER * 2 })] });
  await store.jobs.transfer(beside, yard, [moved.jobId], NOW);
  await end(store, await working(store, "failed", own), "failed");
  await spawn(store, "ready", own);
}
const CANCEL = { kind: "cancelling", at: NOW, reason: "Enough." } as const;
const JOBS = ["removed", "done", "running", "bound", "outside", "later", "now", "waits", "moved", "failed", "ready"];
const REMARK = {
  sessionId: beside,
  operation: "remark",
  at: NOW,
  config: { label: "Beside" },
  spent: [spent("label", 2)],
};
const HASH = /(?<=")[\w-]{43}(?=")/g;
const hashOf = (words: string): string => hash("sha256", words, "base64url");

// ── All that can be read of it ──────────────────────────────────────────────────────────────────────────────────────

/** What each question was answered with, as text; `refused` where the store said that it is damaged. */
type Reading = ReadonlyMap<string, string>;

async function readingOf(path: string, { turns, blobs }: Known): Promise<Reading> {
  const answers = new Map<string, string>();
  const ask = async (question: string, act: () => unknown): Promise<void> => {
    try {
      answers.set(question, asText(await act()));
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw new Error(`${question}: ${String(error)}`, { cause: error });
      answers.set(question, error.code.startsWith("store.") ? "refused" : error.code);
    }
  };
  const store = sqlite(path, { durability: "process" });
  const runtime = await createRuntime(app(store));
  try {
    await ask("list", () => store.list());
    await ask("children", () => store.list({ parent: "chat" as SessionId }));
    await ask("forks", () => store.list({ origin: "chat" as SessionId }));
    for (const page of [{ order: "activity" }, { order: "created" }, { owner: "acme" }, { tag: "red" }] as const)
      await ask(`list of ${JSON.stringify(page)}`, () => store.list(page));
    await ask("turns", () => store.turns.list({ max: 1_000 }));
    await ask("changes", () => store.changes(undefined, { max: 1_000 }));
    await ask("latest", () => store.latest());
    await ask("waits", () => store.waits.list({ max: 10 }));
    await ask("agenda", () => store.agenda(LATER, 10));
    await ask("agenda later", () => store.agenda(LATER + 1_000, 10));
    for (const id of SESSIONS) {
      await ask(`has ${id}`, () => store.has(id));
      await ask(`load ${id}`, () => store.load(id));
      await ask(`view ${id}`, () => store.view(id));
      await ask(`inputs of ${id}`, () => store.inputs.list(id));
      await ask(`waits of ${id}`, () => store.waits.list({ tree: id, max: 10 }));
      await ask(`changes of ${id}`, () => store.changes(undefined, { tree: id, max: 1_000 }));
      await ask(`spent by ${id}`, () => runtime.sessions.usage(id));
      await ask(`reading of ${id}`, () => runtime.sessions.get(id));
    }
    for (const id of turns) {
      await ask(`find ${id}`, () => store.find(id));
      await ask(`end of ${id}`, () => store.terminal(id));
      await ask(`journal of ${id}`, () => store.journal(id, 0));
      await ask(`record of ${id}`, () => store.turns.get(id));
      await ask(`kept journal of ${id}`, () => store.turns.journal(id));
    }
    for (const hash of blobs) await ask(`blob ${hash}`, () => store.blobs.get(hash as BlobHash));
    for (const key of KEYS) await ask(`wait ${key}`, () => store.waits.get(waitIdOf(key)));
    for (const node of NODES) await ask(`from ${node}`, () => store.view(beside, { from: node }));
    await ask("jobs", () => store.jobs.list({ max: 100 }));
    await ask("hidden jobs", () => store.jobs.list({ visibility: "hidden", kind: "code", isLive: true, max: 100 }));
    await ask("changes of jobs", () => store.jobs.changes(undefined, { max: 100 }));
    await ask("later changes of jobs", () => store.jobs.changes("4" as JobCursor, { session: yard, max: 100 }));
    for (const later of [0, 600, 800])
      await ask(`agenda of jobs ${later}`, () => store.agenda(LATER + later, 10, [TASK]));
    for (const name of JOBS) {
      await ask(`job ${name}`, () => store.jobs.load(jobId(name)));
      await ask(`events of ${name}`, () => store.jobs.events(jobId(name), 0));
    }
    for (const id of [yard, beside]) await ask(`jobs of ${id}`, () => store.jobs.count(id));
    await ask("chat", () => chatIn(runtime));

    // What is written now must be answered as what was written then.
    const open = turns.find((id) => id === "turn-open")!;
    await ask("note", () => store.note(open, "e" as EffectName, "k"));
    await ask("attempt", () => store.attempt(open, "e" as EffectName));
    for (const name of ["one", "two", "three"])
      await ask(`${name} again`, () =>
        store.accept(newInput(name, { to: child, key: `key of ${name}` }), ann, opening, 9),
      );
    for (const name of ["open", "next", "back", "last"])
      await ask(`${name} again`, () => store.accept(newInput(name, { to: busy, key: `of ${name}` }), ann, opening, 9));
    await ask("remark again", () => store.apply(REMARK));
    await ask("a deleted session again", () => store.create(newSession(gone)));
    await ask("a fork of what was deleted", () =>
      store.fork(left, newSession("anew" as SessionId), "turn-before.0" as NodeId),
    );
    await ask("asleep", () => store.open(asleep, ann, LATER, opening));
    for (const key of KEYS)
      await ask(`an answer to ${key}`, () => store.waits.resolve(key, { kind: "value", value: "late" }, LATER));
    await ask("ready again", () => store.jobs.spawn({ job: newJob("ready", { sessionId: yard }) }, 100));
    await ask("a signal to a parked job", () => store.jobs.send(jobId("now"), signal("s"), LATER));
    await ask("jobs of ann", () => store.jobs.renew(ann, NOW)); // It has more time already, and none at `LATER`.
    await ask("jobs to go on with", () => store.jobs.claim({ ...ann, id: "eve" }, LATER, 100, [TASK]));
    await ask("a cancel again", () => store.cancel(open, { requestId: "s", reason: "Again.", at: NOW }));
    await ask("going on", async () => {
      const answer = await store.open(busy, ann, LATER, opening);
      if (answer.kind !== "resumed") return answer;
      const claimed = await store.inputs.claim(answer.lease, "r1" as EffectName, 5);
      return [answer, claimed, await store.renew(answer.lease, LATER)];
    });
  } finally {
    await runtime.close();
  }
  return answers;
}
const LATER = NOW + 3_600_000;
const KEYS = ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10"] as WaitKey[];
const NODES = ["turn-base.0", "turn-moved.0", "turn-branch.0"] as NodeId[];

async function chatIn(runtime: Runtime): Promise<unknown> {
  const chat = await runtime.session("chat");
  const first = await chat.turn("Work, please.", { key: "first" }).result();
  return [first, await chat.history(), await chat.read(), await chat.inputs.list()];
}

const asText = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (each instanceof Uint8Array ? Buffer.from(each).toString("base64") : each)) ??
  "nothing";

// ── One damage ──────────────────────────────────────────────────────────────────────────────────────────────────────

type Dice = (sides: number) => number;
/** Mulberry32. */
function diceOf(seed: number): Dice {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}
const oneOf = <T>(dice: Dice, list: readonly T[]): T => list[dice(list.length)]!;

function flipByte(path: string, whole: Buffer, dice: Dice): string {
  const damaged = Buffer.from(whole);
  const [at, mask] = [dice(whole.length), dice(2) === 0 ? 1 << dice(8) : 1 + dice(255)];
  damaged[at]! ^= mask;
  writeFileSync(path, damaged);
  return `byte ${at} ^ ${mask}`;
}

type Row = { readonly [column: string]: SQLInputValue };

/** Changes one row: a column of it, or it is deleted, written twice, or changes a value with another. */
function changeBySql(path: string, whole: Buffer, dice: Dice): string {
  writeFileSync(path, whole);
  const db = new DatabaseSync(path);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all() as {
      name: string;
    }[];
    for (;;) {
      const { name: table } = oneOf(dice, tables);
      const columns = db.prepare(`PRAGMA table_info(${table})`).all() as unknown as readonly Column[];
      const rows = db.prepare(`SELECT * FROM ${table}`).all() as Row[];
      if (rows.length === 0) continue;
      const said = changed(db, table, columns, rows, dice);
      if (said !== undefined) return `${table}: ${said}`;
    }
  } finally {
    db.close();
  }
}

interface Column {
  readonly name: string;
  readonly pk: number;
}

/** Undefined when the database refuses the change, or it changes nothing. */
function changed(db: DatabaseSync, table: string, columns: readonly Column[], rows: readonly Row[], dice: Dice) {
  const [row, other] = [oneOf(dice, rows), oneOf(dice, rows)];
  const { name: column } = oneOf(dice, columns);
  const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name);
  const names = keys.length === 0 ? columns.map(({ name }) => name) : keys; // `sqlite_sequence` has no key.
  const which = names.map((name) => `${name} IS ?`).join(" AND ");
  const keyOf = (of: Row) => names.map((name) => of[name]!);
  const set = (of: Row, value: SQLInputValue) =>
    db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${which}`).run(value, ...keyOf(of)).changes > 0;
  const about = `${JSON.stringify(keyOf(row).map((value) => (value instanceof Uint8Array ? "…" : value)))}`;
  try {
    switch (dice(8)) {
      case 0:
        db.prepare(`DELETE FROM ${table} WHERE ${which}`).run(...keyOf(row));
        return `${about} is deleted`;
      case 1: {
        const [twin, values] = [oneOf(dice, names), { ...row }];
        values[twin] = another(values[twin]!, other[twin]!, dice);
        if (values[twin] === row[twin]) return undefined;
        const marks = columns.map(() => "?").join(", ");
        db.prepare(`INSERT INTO ${table} VALUES (${marks})`).run(...columns.map(({ name }) => values[name]!));
        return `${about} is there again, with another ${twin}`;
      }
      case 2: {
        if (row === other || asText(row[column]) === asText(other[column]) || names.includes(column)) return undefined;
        db.exec("BEGIN");
        const isSwapped = set(row, other[column]!) && set(other, row[column]!);
        db.exec(isSwapped ? "COMMIT" : "ROLLBACK");
        return isSwapped ? `${about} and another changed their ${column}` : undefined;
      }
      default: {
        const value = another(row[column]!, other[column]!, dice);
        if (asText(value) === asText(row[column]) || !set(row, value)) return undefined;
        return `${about}.${column} is ${asText(value)}, not ${asText(row[column])}`;
      }
    }
  } catch {
    if (db.isTransaction) db.exec("ROLLBACK");
    return undefined;
  }
}

/** A value that could stand there. */
function another(value: SQLInputValue, other: SQLInputValue, dice: Dice): SQLInputValue {
  if (dice(4) === 0) return other;
  if (dice(8) === 0) return null;
  if (typeof value === "number") return oneOf(dice, [value + 1, value - 1, 0, 1, 2, value * 2, -value]);
  if (typeof value === "string") return typo(value, dice);
  if (value instanceof Uint8Array)
    return dice(3) === 0 ? new Uint8Array() : value.map((byte, at) => (at === 0 ? byte ^ 1 : byte));
  return oneOf(dice, [0, 1, 2, 7, "x"]);
}

function typo(text: string, dice: Dice): string {
  const at = dice(text.length + 1);
  return oneOf(dice, [text.slice(0, at), `${text.slice(0, at)}x${text.slice(at + 1)}`, `${text}x`, ""]);
}

// ── The sweep ───────────────────────────────────────────────────────────────────────────────────────────────────────

export interface Swept {
  /** Answers as before; some were refused; some were others or lost, and the check complained. */
  same: number;
  refused: number;
  told: number;
  /** Some of the answers were others, or lost, and the check found nothing; or it broke without a code. */
  readonly broken: string[];
}

export async function sweep({ path, whole, known, truth }: Sample, from: number, count: number): Promise<Swept> {
  const swept: Swept = { same: 0, refused: 0, told: 0, broken: [] };
  for (let seed = from; seed < from + count; seed++) {
    const dice = diceOf(seed);
    const file = `${path}.${seed}`;
    const damage = (seed % 2 === 0 ? flipByte : changeBySql)(file, whole, dice);
    try {
      const findings = await findingsIn(file);
      const reading = await readingOf(file, known).catch(refusedOpening);
      const wrong = [...truth].flatMap(([question, answer]) => {
        const now = reading === undefined ? "refused" : reading.get(question);
        return now === answer ? [] : [{ question, now, answer }];
      });
      const lies = wrong.filter(({ now }) => now !== "refused");
      if (wrong.length === 0) swept.same++;
      else if (lies.length === 0) swept.refused++;
      else if (findings > 0) swept.told++;
      else
        swept.broken.push(
          `${seed}: ${damage}\n${lies.map(({ question, now, answer }) => `  ${question}\n    ${answer}\n    ${now}`).join("\n")}`,
        );
    } catch (error) {
      swept.broken.push(`${seed}: ${damage}\n  ${(error as Error).stack}`);
    } finally {
      for (const tail of ["", "-wal", "-shm"]) rmSync(`${file}${tail}`, { force: true });
    }
  }
  return swept;
}

/** How much the check complains; one that cannot open the file complains, too. */
async function findingsIn(path: string): Promise<number> {
  let store: SqliteStore | undefined;
  try {
    store = sqlite(path);
    return (await store.check({ deep: true })).length;
  } catch (error) {
    if (error instanceof RuntimeError) return 1;
    throw error;
  } finally {
    await store?.close();
  }
}

function refusedOpening(error: unknown): undefined {
  if (!(error instanceof RuntimeError)) throw error;
}
