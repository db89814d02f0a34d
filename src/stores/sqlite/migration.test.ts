import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import {
  asBlobHash,
  asEffectName,
  asInputId,
  asJobId,
  asSessionId,
  asTurnId,
  asWaitKey,
  type InputId,
  type TurnId,
  type WaitKey,
} from "../../model/ids.ts";
import type { Occurrence, Subscription } from "../../model/trigger.ts";
import { waitIdOf } from "../../model/wait.ts";
import {
  ann,
  ben,
  commit,
  inputId,
  LAPSED,
  NOW,
  newInput,
  newSession,
  newWait,
  node,
  opening,
  slept,
  turnId,
} from "../../testing/cast.ts";
import { jobId, newJob } from "../../testing/job-cast.ts";
import { moved, occur, scheduled } from "../../testing/trigger-cast.ts";
import { type Database, type SqliteStore, sqlite } from "../sqlite.ts";
import type {
  Agenda,
  Change,
  JobLines,
  NewInput,
  Segment,
  StoredJob,
  StoredJobEvent,
  StoredSession,
  StoredWait,
  Terminal,
} from "../store.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-migration-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/stores/${name}`, import.meta.url), "utf8");
/** What the code of a schema answered about its file. */
interface Answers {
  readonly sessions: readonly StoredSession[];
  readonly views: { readonly [session: string]: readonly Segment[] };
  readonly waiting: { readonly [session: string]: readonly NewInput[] };
  readonly terminals: { readonly [turn: string]: Terminal | null };
  readonly journal: readonly { readonly kind: string }[];
}
const answers = JSON.parse(fixture("v1.json")) as Answers & {
  readonly beside: readonly Segment[];
  readonly changes: readonly { readonly cursor: string; readonly kind: string; readonly turnId: TurnId }[];
};

/** A file as the code of a schema left it: what every table holds is in the dump. */
function ofVersion(version: number): string {
  const path = join(folder, `${++files}.db`);
  const db = new DatabaseSync(path);
  db.exec(fixture(`v${version}.sql`));
  db.close();
  return path;
}
const ofVersion1 = (): string => ofVersion(1);

const main = asSessionId("main");
/** In the file, an input's id is shorter than the cast's. */
const fileId = (name: string): InputId => asInputId(`inp-${name}`);
const input = (name: string, key: string): NewInput => ({ ...newInput(name, { to: main, key }), id: fileId(name) });
const turnOf = (change: Change): TurnId | undefined => ("turnId" in change ? change.turnId : undefined);

async function expectAnswers(store: SqliteStore, answers: Answers): Promise<void> {
  expect(await Promise.all((await store.list()).map(({ id }) => store.load(id)))).toEqual(answers.sessions);
  for (const [id, view] of Object.entries(answers.views)) expect(await store.view(asSessionId(id))).toEqual(view);
  for (const [id, waiting] of Object.entries(answers.waiting))
    expect(await store.inputs.list(asSessionId(id))).toEqual(waiting);
  for (const [turn, terminal] of Object.entries(answers.terminals))
    expect((await store.terminal(asTurnId(turn))) ?? null).toEqual(terminal);
  expect(await store.journal(turnId("open"), 0)).toEqual(answers.journal);
}

/**
 * The facts as today's code tells them: an end has its time, and an input that no turn has settled has its time and its
 * text. The turns of these files stored no message with an origin, so that what a settled input said is unknown.
 */
function toldNow(changes: readonly Change[]): readonly Change[] {
  const ended = new Set(changes.flatMap((change) => (change.kind === "committed" ? [turnOf(change)] : [])));
  return changes.map((change) => {
    if (change.kind === "committed" && change.by === "turn") return { ...change, at: NOW + 5 };
    if (change.kind !== "accepted" || (change.turnId !== undefined && ended.has(change.turnId))) return change;
    return { ...change, at: NOW, text: change.inputId.replace("input-", "") };
  });
}

/** The tables and indexes of a file, to compare with those of a file that is new. */
function schemaOf(path: string): unknown {
  const db = new DatabaseSync(path);
  const schema = db.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();
  const version = db.prepare("PRAGMA user_version").get();
  db.close();
  return { schema, version };
}
async function newSchema(): Promise<unknown> {
  const fresh = join(folder, `${++files}.db`);
  await sqlite(fresh).close();
  return schemaOf(fresh);
}

test("D8 sqlite: a file of schema 1 is migrated and keeps its content", async () => {
  const path = ofVersion1();
  const store = sqlite(path);
  await expectAnswers(store, answers);
  expect(await store.view(main, { from: node("late", 0) })).toEqual(answers.beside);
  const kept = asBlobHash(hash("sha256", "kept bytes", "base64url"));
  expect(new TextDecoder().decode(await store.blobs.get(kept))).toBe("kept bytes");
  await assert.rejects(async () => store.create(newSession(asSessionId("source"))), {
    code: "session.deleted",
  });
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();

  expect(schemaOf(path)).toEqual(await newSchema());
});

test("D8 sqlite: a file of schema 1 returns all its facts, in their order", async () => {
  const store = sqlite(ofVersion1());
  const told = await store.changes(undefined, { max: 100 });
  const turns = told.filter((change) => turnOf(change) !== undefined);
  expect(turns.map((change) => ({ ...change, turnId: turnOf(change) }))).toMatchObject(answers.changes);
  const by = (operation: string, ...nodes: readonly string[]) => ({ by: "command", operation, nodes });
  expect(told.filter((change) => turnOf(change) === undefined)).toMatchObject([
    by("op-append", "op-append.0", "op-append.1"),
    by("op-configure"),
    by("op\u0000command"),
  ]);
  expect(told.map(({ cursor }) => Number(cursor))).toEqual(
    told.map(({ cursor }) => Number(cursor)).sort((a, b) => a - b),
  );
  const two = told.find((change) => change.kind === "committed" && turnOf(change) === "turn-two");
  expect(two).toMatchObject({
    outcome: { kind: "answered", text: "Third." },
    nodes: ["turn-two.0", "turn-two.1"],
    frames: ["turn-two.0"],
    usage: { input: 3 },
  });
  const late = told.find((change) => change.kind === "committed" && turnOf(change) === "turn-late");
  expect(late).toMatchObject({ branch: "turn-late.0", nodes: ["turn-late.0"] });
  const child = await store.changes(undefined, { tree: asSessionId("child"), max: 100 });
  expect(child).toEqual(told.filter(({ sessionId }) => sessionId === "child"));
  expect((await store.list({ parent: main })).map(({ id }) => id)).toEqual(["child"]);
  expect((await store.booked(main)).map(({ sessionId, source }) => [sessionId, source])).toEqual([
    ["child", "turn"],
    ["main", "turn"],
    ["main", "label"],
  ]);
  expect((await store.view(main, { toFrame: true })).map(({ commit }) => commit)).toEqual(["turn-two"]);
  await store.close();
});

/** Ends the turn that is open, or the one that waits. */
async function next(store: SqliteStore, name: string, inputs: readonly string[], cancel?: string): Promise<void> {
  const answer = await store.open(main, ben, NOW, opening);
  assert.ok(answer.kind === "opened" || answer.kind === "resumed");
  const { lease } = answer;
  expect(lease.turnId).toBe(turnId(name));
  const session = await store.load(main);
  await commit(store, lease, {
    entries: [{ at: NOW, kind: "frame", reason: "new" }],
    plugins: session!.plugins,
    inputs: [name, ...inputs].map(fileId),
    ...(cancel === undefined ? {} : { cancel }),
  });
}

test("D8 sqlite: an unfinished turn of schema 1 continues", async () => {
  const path = ofVersion1();
  const store = sqlite(path);
  const answer = await store.open(main, ben, NOW, opening);
  assert.ok(answer.kind === "resumed");
  expect(answer.journal).toEqual(answers.journal);
  const mail = await store.renew(answer.lease, NOW);
  expect(mail.cancel?.requestId).toBe("r");
  expect(mail.resolved).toEqual([{ key: "w1", answer: { kind: "value", value: "yes" } }]);
  expect(await store.note(answer.lease.turnId, asEffectName("e"), "k")).toEqual({ paid: true });
  expect(await store.attempt(answer.lease.turnId, asEffectName("e"))).toBe("again");
  expect(await store.waits.resolve(asWaitKey("w2"), { kind: "timeout" }, NOW)).toMatchObject({ said: "accepted" });
  const claimed = async (boundary: string) =>
    (await store.inputs.claim(answer.lease, asEffectName(boundary), 5)).map(({ id }) => id);
  expect(await claimed("r1.after-work")).toEqual(["inp-aside"]);
  expect(await claimed("r2.after-work")).toEqual(["inp-back"]);

  // Keys are known as before; one that was withdrawn is free now.
  for (const name of ["one", "open", "back", "next"])
    expect((await store.accept(input(name, `k-${name}`), ben, opening, 100)).kind).toBe("known");
  expect((await store.accept(input("again", "k-again"), ben, opening, 100)).kind).toBe("queued");
  expect((await store.inputs.withdraw(main, { from: fileId("next") })).map(({ answer }) => answer)).toEqual(
    Array(4).fill("withdrawn"),
  );
  expect((await store.accept(input("anew", "k-next"), ben, opening, 100)).kind).toBe("queued");

  await store.release(answer.lease);
  await next(store, "open", ["aside"], "r");
  await next(store, "back", []);
  await next(store, "anew", []);
  expect((await store.terminal(turnId("aside")))?.turnId).toBe(turnId("open"));

  // An operation that comes again after the update is the same, though it now says what it is.
  const configured = { sessionId: main, operation: "op-configure", at: NOW, by: "configure" } as const;
  const config = { model: "n", instructions: "Be brief." };
  expect(await store.apply({ ...configured, config })).toMatchObject({ kind: "committed", revision: 3 });
  await assert.rejects(async () => store.apply({ ...configured, config: {} }), { code: "append.conflict" });

  const fork = await store.fork(main, newSession(asSessionId("new")), node("one", 1));
  expect(fork.origin).toEqual({ sessionId: main, at: "turn-one.1" });
  expect(fork.plugins).toMatchObject({ "acme/notes": { state: { n: 1 } } });
  await store.delete(main);
  await store.close();
  const again = sqlite(path);
  expect((await again.load(asSessionId("new")))?.origin?.sessionId).toBe(main);
  expect(await again.view(asSessionId("fork"))).toEqual(answers.views.fork);
  expect(await again.check({ deep: true })).toEqual([]);
  await again.close();
});

test("D8 sqlite: a plugin whose state in schema 1 is empty keeps nothing, and a lost state is not read as empty", async () => {
  const path = ofVersion1();
  const db = new DatabaseSync(path);
  db.exec("INSERT INTO state VALUES (1, 'acme/notes', 5, NULL)");
  const store = sqlite(path);
  expect((await store.load(main))?.plugins).not.toHaveProperty("acme/notes");
  expect(await store.check({ deep: true })).toEqual([]);
  db.exec("UPDATE state SET body = NULL WHERE session = 1 AND since = 5");
  db.close();
  expect(await store.check()).toMatchObject([{ item: "The state of plugin acme/notes" }]);
  await store.close();
  const again = sqlite(path);
  await assert.rejects(async () => again.load(main), { code: "store.corrupt" });
  await again.close();
});

test("D8 sqlite: a file of schema 1 that cannot be written is refused, and left as it was", async () => {
  const path = ofVersion1();
  const before = readFileSync(path);
  const readOnly = new DatabaseSync(path, { readOnly: true }) as unknown as Database;
  assert.throws(() => sqlite(readOnly), { code: "store.readonly" });
  expect(readFileSync(path).equals(before)).toBe(true);
});

test("D8 sqlite: a file of schema 5 is migrated, keeps its content, and stores new kinds of rows", async () => {
  const path = ofVersion(5);
  const before = JSON.parse(fixture("v5.json")) as Answers & { readonly changes: readonly Change[] };
  const store = sqlite(path);
  await expectAnswers(store, before);
  expect(await store.changes(undefined, { max: 100 })).toEqual(toldNow(before.changes));
  expect([...(await store.agenda(NOW, 10)).sessions].sort()).toEqual(["idle", "main"]);
  expect(await store.check({ deep: true })).toEqual([]);

  await store.setOptions(main, { "acme/notes": { depth: 2 } });
  const answer = await store.open(main, ben, NOW, opening);
  assert.ok(answer.kind === "resumed");
  const { lease } = answer;
  await store.accept(newInput("psst", { to: main, place: "injected" }), ben, opening, 100);
  const entries = [{ at: NOW, kind: "plugin", plugin: "acme/notes", type: "note", body: 2 }] as const;
  const append = { sessionId: main, operation: "op-late", at: NOW, by: "append", entries } as const;
  expect(await store.apply({ ...append, queueMax: 5 })).toEqual({ kind: "queued" });
  expect(await store.operations.note(main, "op-late", "k", 1)).toBe(1);
  const claimed = async (boundary: string, max: number) =>
    (await store.inputs.claim(lease, asEffectName(boundary), max)).map(({ id }) => id);
  const aside = [inputId("aside")];
  expect(await claimed("r1.after-work", 1)).toEqual(aside); // By the code of then.
  expect(await claimed("r2.after-work", 2)).toEqual([inputId("back"), inputId("psst")]);
  const head = (await store.load(main))?.head;
  await commit(store, lease, {
    base: head!,
    inputs: [inputId("open"), ...aside],
    plugins: before.sessions[2]!.plugins,
  });
  expect((await store.view(main))[0]?.commit).toBe("op-late");
  expect((await store.inputs.list(main)).map(({ id }) => id)).toEqual(["back", "next", "psst"].map(inputId));
  expect(
    await store.apply({ sessionId: main, operation: "op-configure", at: NOW, config: { model: "n" } }),
  ).toMatchObject({
    kind: "committed",
  });
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
  expect(schemaOf(path)).toEqual(await newSchema());
});

test("D8 D4 sqlite: the waits of a file of schema 6 can be answered, and are announced once the turn records them again", async () => {
  const path = ofVersion(6);
  const before = JSON.parse(fixture("v6.json")) as Answers & { readonly changes: readonly Change[] };
  const store = sqlite(path);
  await expectAnswers(store, before);
  expect(await store.changes(undefined, { max: 100 })).toEqual(toldNow(before.changes));
  expect(await store.check({ deep: true })).toEqual([]);
  expect([...(await store.agenda(NOW, 10)).sessions].sort()).toEqual(["child", "main"]);

  const [w1, w2, w3, w4] = ["w1", "w2", "w3", "w4"].map(asWaitKey) as [WaitKey, WaitKey, WaitKey, WaitKey];
  const yes = { kind: "value", value: "yes" } as const;
  const answered = async (key: WaitKey) => (await store.waits.resolve(key, yes, NOW)).said;
  expect(await Promise.all([w2, w3, w4, asWaitKey("w5")].map(answered))).toEqual([
    "already-resolved",
    "accepted",
    "unknown",
    "unknown",
  ]);
  expect(await store.waits.list({ max: 10 })).toEqual([]);
  expect(await store.waits.get(waitIdOf(w1))).toBeUndefined();
  const answer = await store.open(main, ben, NOW, opening);
  assert.ok(answer.kind === "resumed");
  const resolved = [
    { key: w2, answer: { kind: "value", value: { yes: true } } },
    { key: w3, answer: yes },
  ];
  expect((await store.renew(answer.lease, NOW)).resolved).toEqual(resolved);
  await store.append(
    answer.lease,
    answer.journal.length,
    [],
    NOW,
    [w1, w2, w3].map((key) => newWait(key)),
  );
  expect((await store.waits.list({ max: 10 })).map(({ key }) => key)).toEqual([w1]);
  const told = (await store.changes(undefined, { max: 100 })).slice(before.changes.length);
  expect(told.map(({ kind }) => kind)).toEqual(["waiting", "waiting", "resolved", "waiting", "resolved"]);
  expect(await store.park(answer.lease, { turnId: answer.lease.turnId, wakeAt: NOW + 9, waits: [w1] }, NOW)).toEqual({
    kind: "parked",
  });
  expect(await answered(w1)).toBe("accepted");
  expect(await store.check({ deep: true })).toEqual([]);
  const again = await store.open(main, ben, NOW, opening);
  assert.ok(again.kind === "resumed");
  await commit(store, again.lease, { inputs: [inputId("open")] });
  expect(await answered(w1)).toBe("unknown");
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
  expect(schemaOf(path)).toEqual(await newSchema());
});

test("D8 sqlite: a wait of a file of schema 6 that is damaged stays damaged, and keeps nothing else from being read", async () => {
  const path = ofVersion(6);
  const db = new DatabaseSync(path);
  db.exec("UPDATE wait SET until = until + 1 WHERE key = 'w1'");
  db.close();
  const store = sqlite(path);
  const findings = await store.check();
  expect(findings).toMatchObject([{ problem: "its checksum does not fit" }]);
  expect(JSON.stringify(findings)).not.toContain("w1");
  await assert.rejects(async () => store.waits.resolve(asWaitKey("w1"), { kind: "timeout" }, NOW), {
    code: "store.corrupt",
  });
  expect((await store.waits.resolve(asWaitKey("w3"), { kind: "timeout" }, NOW)).said).toBe("accepted");
  expect((await store.load(main))?.revision).toBe(2);
  await store.close();
});

test("D8 J5 sqlite: a file of schema 7 is migrated, keeps its content, and stores jobs", async () => {
  const path = ofVersion(7);
  const before = JSON.parse(fixture("v7.json")) as Answers & {
    readonly changes: readonly Change[];
    readonly waits: readonly StoredWait[];
  };
  const store = sqlite(path);
  await expectAnswers(store, before);
  expect(await store.changes(undefined, { max: 100 })).toEqual(toldNow(before.changes));
  expect(await store.waits.list({ max: 10 })).toEqual(before.waits);
  expect(await store.check({ deep: true })).toEqual([]);
  expect(await store.agenda(NOW, 10, ["acme/notes.sum"])).toMatchObject({ sessions: ["main"], next: NOW + 500 });

  // A turn that was parked before there were jobs waits on, and another waits for a job.
  const child = asSessionId("child");
  const yes = { kind: "value", value: "yes" } as const;
  expect(await store.waits.resolve(asWaitKey("w6"), yes, NOW)).toEqual({ said: "accepted", sessionId: child });
  const answer = await store.open(child, ben, NOW, opening);
  assert.ok(answer.kind === "resumed");
  const job = newJob("j", { sessionId: main });
  const about = { kind: "turns", need: "all", turns: [], jobs: [job.id] } as const;
  const key = asWaitKey("w8");
  const { lease, journal } = answer;
  await store.append(lease, journal.length, [slept("j")], NOW, [newWait(key, { about })], [{ job }]);
  expect(await store.park(lease, { turnId: lease.turnId, wakeAt: NOW + 900, waits: [key] }, NOW)).toEqual({
    kind: "parked",
  });
  expect(await store.agenda(NOW, 10, [job.operation!])).toMatchObject({ sessions: ["main"], hasJobs: true });
  const [claimed] = await store.jobs.claim(ben, NOW, 5, [job.operation!]);
  const end = { key: "end", event: { kind: "ended", state: "completed", at: NOW } } as const;
  await store.jobs.append(claimed!.lease, [end], NOW);
  expect([...(await store.agenda(NOW, 10)).sessions].sort()).toEqual(["child", "main"]);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
  expect(schemaOf(path)).toEqual(await newSchema());
});

test("D8 sqlite: damage in the record of deleted sessions survives the migration from schema 7", async () => {
  const path = ofVersion(7);
  const db = new DatabaseSync(path);
  db.exec("UPDATE meta SET gone = 2");
  db.close();
  const store = sqlite(path);
  expect(await store.check()).toMatchObject([{ item: "What is known of deleted sessions" }]);
  await store.close();
});

test("D8 J7 J4 sqlite: a file of schema 8 is migrated, keeps its content, and stores triggers and lines", async () => {
  const path = ofVersion(8);
  const before = JSON.parse(fixture("v8.json")) as Answers & {
    readonly changes: readonly Change[];
    readonly waits: readonly StoredWait[];
    readonly jobs: readonly StoredJob[];
    readonly events: { readonly [job: string]: readonly StoredJobEvent[] };
    readonly agenda: Agenda;
  };
  const store = sqlite(path);
  await expectAnswers(store, before);
  expect(await store.changes(undefined, { max: 100 })).toEqual(toldNow(before.changes));
  expect(await store.waits.list({ max: 10 })).toEqual(before.waits);
  expect(await store.jobs.list({ max: 100 })).toEqual(before.jobs);
  for (const [id, events] of Object.entries(before.events))
    expect(await store.jobs.events(asJobId(id), 0)).toEqual(events);
  expect(await store.agenda(NOW, 10, ["notes.index", "acme/notes.sum"])).toEqual(before.agenda);
  expect(await store.triggers.list({ max: 10 })).toEqual([]);
  expect(await store.jobs.lines(jobId("held"))).toEqual({ lines: [], taken: 0 });
  expect(await store.check({ deep: true })).toEqual([]);

  // A job that was held then says something, and a session of then is subscribed.
  const lease = { jobId: jobId("held"), generation: 1, owner: ann };
  const line = { n: 1, at: NOW, channel: "out", text: "hello" } as const;
  await store.jobs.append(lease, [], NOW, { says: { lines: [line], max: 9 } });
  expect(await store.jobs.take(lease.jobId, "k")).toEqual([line]);
  const clock = await scheduled(store, "clock", NOW, { sessionId: main });
  expect(await store.agenda(NOW, 10)).toMatchObject({ hasSchedules: true });
  expect(await occur(store, "tick", [clock], { moved: moved(clock, { next: NOW + 10 }) })).toMatchObject({
    kind: "occurred",
  });
  expect(await store.jobs.load(jobId("tick-clock"))).toMatchObject({ record: { sessionId: main } });
  expect(await store.check({ deep: true })).toEqual([]);
  await store.delete(main);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
  expect(schemaOf(path)).toEqual(await newSchema());
});

test("D8 S11 sqlite: a file of schema 9 is migrated, keeps its content, and shows turns to other processes", async () => {
  const path = ofVersion(9);
  const before = JSON.parse(fixture("v9.json")) as Answers & {
    readonly changes: readonly Change[];
    readonly waits: readonly StoredWait[];
    readonly jobs: readonly StoredJob[];
    readonly events: { readonly [job: string]: readonly StoredJobEvent[] };
    readonly lines: JobLines;
    readonly subscriptions: readonly Subscription[];
    readonly occurrences: readonly Occurrence[];
    readonly agenda: Agenda;
  };
  const store = sqlite(path);
  await expectAnswers(store, before);
  expect(await store.changes(undefined, { max: 100 })).toEqual(toldNow(before.changes));
  expect(await store.waits.list({ max: 10 })).toEqual(before.waits);
  expect(await store.jobs.list({ max: 100 })).toEqual(before.jobs);
  for (const [id, events] of Object.entries(before.events))
    expect(await store.jobs.events(asJobId(id), 0)).toEqual(events);
  expect(await store.jobs.lines(jobId("held"))).toEqual(before.lines);
  expect(await store.triggers.list({ max: 10 })).toEqual(before.subscriptions);
  expect(await store.triggers.occurrences({ max: 10 })).toEqual(before.occurrences);
  expect(await store.agenda(NOW, 10, ["notes.index", "acme/notes.sum"])).toEqual(before.agenda);

  // A turn that was open then is followed, and shows something.
  const { live } = store;
  await live!.follow([main], NOW, 60_000);
  const found = await store.open(main, ben, LAPSED, opening);
  if (found.kind !== "resumed") throw new Error(`The session is ${found.kind}.`);
  expect(await store.renew(found.lease, NOW)).toMatchObject({ isFollowed: true });
  await live!.show(found.lease, { part: "first", previews: [] });
  expect(await live!.read(main, 0)).toMatchObject({ rows: [{ part: "first", previews: [] }], has: "turn" });
  expect(await store.check({ deep: true })).toEqual([]);
  await store.delete(main);
  expect(await store.check({ deep: true })).toEqual([]);
  await store.close();
  expect(schemaOf(path)).toEqual(await newSchema());
});
