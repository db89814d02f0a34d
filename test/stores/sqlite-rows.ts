// For tests of the port: rows of every table, with names that SQLite would not keep as they are.
import { asEffectName, asInputId, asJobId, asTurnId, asWaitId, asWaitKey } from "../../src/model/ids.ts";
import { text } from "../../src/model/message.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import type { SqlitePort } from "../../src/stores/sqlite/port.ts";
import { APPEND, PROFILE, SEGMENT, SESSION, TAKEN, type Table, TURN, WITHDRAWN } from "../../src/stores/tables.ts";
import { alice, approval, bob, NOW } from "../../src/testing/cast.ts";
import { given, openPort, type Row } from "./sqlite-port.ts";

/** Names that SQLite would not keep as they are. */
export const ODD = ["a\u0000b", "\ud800", "\u0001x", "\u0001", "ü/名"];

export const session = (id = alice, other: object = {}) => ({
  ...{ id, revision: 0, turns: 0, head: null, headIndex: null, usage: NO_USAGE, generation: 0, turn: null },
  ...{ owner: null, process: null, until: 0, written: 0, wake: null, parked: null },
  ...{ ownedBy: null, tags: null, activity: 0, words: null },
  ...other,
});
export const profile = (n: number, other: object = {}) => ({
  ...{
    session: n,
    parentId: null,
    originId: null,
    originAt: null,
    createdAt: NOW,
    config: { model: "m" },
    options: null,
  },
  ...other,
});
const said = { message: { role: "user", parts: [text("Hello.")] }, at: NOW } as const;
export const turn = (name: string, other: object = {}) => ({
  ...{ session: 1, id: asTurnId(name), inputId: asInputId(`input-${name}`), state: 0, aside: 0, key: null, hash: "h" },
  ...{ claim: null, boundary: null, endedBy: null, done: null, cancel: null, ended: null, input: said },
  ...other,
});
export const wait = (name: string, other: object = {}) => ({
  ...{ id: asWaitId(`wai_${name}`), key: asWaitKey(name), session: 1, turn: 1, job: null, moved: null },
  ...{ effect: asEffectName("e"), at: NOW, about: approval, until: NOW + 10, isTurns: false, asked: null },
  ...{ answered: null, nth: null, answer: null, ...other },
});
const job = (name: string, other: object = {}) => ({
  ...{
    id: asJobId(name),
    session: 1,
    kind: "task",
    isHidden: false,
    recovery: 0,
    operation: "notes.index",
    parent: null,
  },
  ...{ state: 0, owner: null, generation: 0, isParked: false, due: 0, awaits: null, seq: 1, changed: 0 },
  moves: { sessionId: alice, state: "running", createdAt: NOW, starts: 0, steps: 0, wakes: 0 },
  ...other,
});
const segment = (n: number, other: object = {}) => ({
  ...{
    n,
    session: 1,
    revision: 0,
    depth: n - 1,
    parent: n === 1 ? null : n - 1,
    parentIndex: n === 1 ? null : 0,
    size: 1,
  },
  ...{ users: 1, isNamed: false, isBranch: false, name: `c${n}` },
  entries: [{ at: NOW, kind: "plugin", plugin: "notes", type: "remark", body: n }],
  ...other,
});
const subscription = (id: string, other: object = {}) => ({
  ...{ session: 1, id, incarnation: `i/${id}`, revision: 1, isEnabled: true, kind: 0, event: "mail", source: null },
  ...{ next: null, after: null, body: { label: id, on: { kind: "commits" }, starts: { kind: "turn", text: "" } } },
  ...other,
});
const delivery = (occurrence: number, nth: number, other: object = {}) => ({
  ...{ occurrence, nth, session: 1, subscription: "watch", revision: 1, job: null, turn: null, isLost: false },
  ...other,
});
const ledger = (source: string, nth: number, other: object = {}) => ({
  ...{ session: 1, source, model: "m", nth, calls: 1, input: 1, cacheRead: 2, cacheWrite: 3, output: 4, reasoning: 5 },
  ...{ unknownCalls: 0, estimatedInput: 0.5, estimatedOutput: 0, ...other },
});
const slept = { kind: "slept", at: NOW, effect: asEffectName("e") } as const;
const ended = { at: NOW, outcome: { kind: "told", node: 0 }, usage: NO_USAGE, size: 1, revision: 1 } as const;

/** Rows of each table, and a change of the first. */
export const SAMPLES: { readonly [table: string]: readonly [rows: readonly object[], change: object] } = {
  state: [
    [
      { session: 1, plugin: "notes", since: 0, body: { version: "1", revision: 1, state: { a: 1 } } },
      { session: 1, plugin: "notes", since: 2, body: null },
      { session: 2, plugin: ODD[0], since: 0, body: { version: "1", revision: 1, state: null } },
    ],
    { body: null },
  ],
  ledger: [[ledger("turn", 2), ledger("tool", 1), ledger("turn", 1, { session: 2 })], { calls: 7, output: 9.5 }],
  segment: [
    [
      segment(1),
      segment(2, { isNamed: true, name: ODD[0] }),
      segment(3, { isBranch: true, users: 2 }),
      segment(4, { session: 2, isNamed: true, parent: null, parentIndex: null, entries: [], size: 0 }),
    ],
    { users: 3, isNamed: true },
  ],
  turn: [
    [
      turn("one", { state: TAKEN, key: "k" }),
      turn("two", { key: ODD[1], aside: 1 }),
      turn("three", { aside: 2, claim: 1, boundary: asEffectName("b"), state: TAKEN }),
      turn("\u0001append/x", { aside: APPEND, input: { sessionId: alice, operation: "x", at: NOW } }),
      turn("five", { state: WITHDRAWN, key: "k", input: null }),
      turn("six", { session: 2, cancel: { requestId: "r", reason: "No.", at: NOW } }),
      turn("seven", { aside: 2, input: { ...said, wants: { unwraps: true } } }),
      turn("eight", { state: TAKEN, done: 99, endedBy: 1, input: null, ended: { ...ended, branch: "x.0" } }),
    ],
    { state: TAKEN, done: 50, ended, input: null, cancel: { requestId: "q", reason: "", at: NOW } },
  ],
  journal: [
    [
      { session: 1, seq: 0, size: 1, events: [{ ...slept, at: 1 }] },
      { session: 1, seq: 1, size: 2, events: [slept, { kind: "bounded", at: NOW, effect: asEffectName("b") }] },
      { session: 2, seq: 0, size: 1, events: [slept] },
    ],
    { size: 2, events: [slept, slept] },
  ],
  note: [
    [
      { turn: 1, effect: "e", key: "k", value: null },
      { turn: 1, effect: "e", key: ODD[0], value: { a: [1] } },
      { turn: 2, effect: "f", key: ODD[1], value: "x" },
    ],
    { value: 2 },
  ],
  attempt: [
    [
      { turn: 1, effect: "e" },
      { turn: 1, effect: "f" },
      { turn: 2, effect: "e" },
    ],
    {},
  ],
  wait: [
    [
      wait("a", { asked: 10 }),
      wait("b", { isTurns: true, about: { kind: "turns", turns: [], need: "any" } }),
      wait(ODD[2]!, { turn: 0, job: asJobId(ODD[0]!), moved: 11 }),
      wait("d", { key: null, asked: 12, answered: 13, nth: 1, answer: { kind: "value", value: null, by: "ann" } }),
      wait("e", { session: 2, turn: 0, job: asJobId("w"), effect: null, at: null, about: null, asked: 9 }),
    ],
    { answer: { kind: "value", value: { ok: true } }, answered: 14, nth: 1, session: 2 },
  ],
  operation: [
    [
      { session: 1, name: "op", hash: "h", committed: { kind: "committed", revision: 1, cursor: "1" } },
      { session: 1, name: ODD[0], hash: "h", committed: null },
      { session: 2, name: "op", hash: "i", committed: { by: "append" } },
    ],
    { committed: { kind: "committed", revision: 2, cursor: "9" } },
  ],
  operation_note: [
    [
      { session: 1, operation: "op", key: "", value: 1 },
      { session: 1, operation: "op", key: `/${ODD[1]}`, value: null },
      { session: 2, operation: ODD[0], key: "/k", value: [] },
    ],
    { value: "again" },
  ],
  job: [
    [
      job("one"),
      job(ODD[0]!, { operation: ODD[1], due: null, owner: "ann", generation: 1, parent: "turn/t" }),
      job("three", { state: 2, operation: null, due: null, isHidden: true }),
      job("four", { isParked: true, due: 5, awaits: { jobs: [asJobId("one"), asJobId(ODD[0]!)], need: "all" } }),
      job("five", { session: 2, operation: "", due: 3, state: 1, recovery: 1 }),
    ],
    { owner: "ben", due: null, seq: 2, moves: { state: "idle" }, session: 2 },
  ],
  job_event: [
    [
      { job: 1, seq: 1, key: "spawned", event: { kind: "started", generation: 1, at: NOW } },
      { job: 1, seq: 2, key: ODD[0], event: { kind: "started", generation: 2, at: NOW } },
      { job: 2, seq: 1, key: "spawned", event: { kind: "started", generation: 1, at: NOW } },
    ],
    { event: { kind: "started", generation: 3, at: NOW } },
  ],
  job_owner: [
    [
      { id: "ann", process: "p", until: 5 },
      { id: "ben", process: "q", until: 0.5 },
    ],
    { until: 6 },
  ],
  job_await: [
    [
      { awaited: "one", job: 2 },
      { awaited: ODD[1], job: 2 },
      { awaited: "one", job: 3 },
    ],
    {},
  ],
  job_line: [
    [
      { job: 1, n: 1, line: { at: NOW, channel: "out", text: "a" } },
      { job: 1, n: 4, line: { at: NOW, channel: "err", text: "\u0000" } },
      { job: 2, n: 1, line: { at: NOW, channel: "note", text: "" } },
    ],
    { line: { at: NOW, channel: "out", text: "b" } },
  ],
  job_said: [
    [
      { job: 1, last: 4, lines: 2, key: null, since: 0, taken: 0 },
      { job: 2, last: 1, lines: 1, key: ODD[0], since: 0, taken: 1 },
    ],
    { key: ODD[3], taken: 4 },
  ],
  subscription: [
    [
      subscription("a"),
      subscription(ODD[0]!, { isEnabled: false, source: ODD[1] }),
      subscription("c", { kind: 2, event: null, next: 7 }),
      subscription("d", { session: 2, kind: 3, event: null, next: 5 }),
      subscription("e", { kind: 1, event: null, after: "3" }),
    ],
    { isEnabled: false, revision: 2, event: ODD[4], next: 9 },
  ],
  occurrence: [
    [
      { id: "o1", source: "event:mail", at: NOW, deliveries: 1, payload: { payload: null } },
      { id: ODD[0], source: ODD[1], at: 0.5, deliveries: 0, payload: { payload: [1] } },
      { id: "o3", source: "event:mail", at: NOW, deliveries: 2, payload: { payload: "x" } },
    ],
    { deliveries: 3 },
  ],
  delivery: [
    [
      delivery(1, 0, { job: asJobId(ODD[0]!), turn: asTurnId(ODD[1]!) }),
      delivery(1, 1, { session: 2, isLost: true }),
      delivery(2, 0, { subscription: ODD[2] }),
    ],
    { isLost: true },
  ],
  gone: [[{ id: "carol" }, { id: "dave" }], {}],
};

/** Two sessions, each with an open turn, and all rows of a table. */
export function filled(table: Table) {
  const its = openPort();
  const rows = its.write((port): Row[] => {
    for (const id of [alice, bob]) {
      const { n } = given(port.add(SESSION, session(id) as never));
      port.insert(PROFILE, profile(n) as never);
    }
    if (table === TURN) return addAll(port, table);
    for (const n of [1, 2]) {
      const opened = given(port.add(TURN, turn(`open-${n}`, { session: n, state: TAKEN }) as never));
      const row = given(port.sessionOf(n))!;
      port.update(SESSION, row, { turn: opened.n, owner: "ann", process: "p", generation: 1 });
    }
    return addAll(port, table);
  });
  return { ...its, rows };
}

function addAll(port: SqlitePort, table: Table): Row[] {
  const [rows] = SAMPLES[table.name]!;
  const isNumbered = table.key[0] === "n" && table !== SEGMENT;
  return rows.map((row) => {
    if (isNumbered) return given(port.add(table, row));
    port.insert(table, row);
    return row as Row;
  });
}

// ── What is read, compared with what should be ──────────────────────────────────────────────────────────────────────
