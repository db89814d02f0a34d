/** Rows of every table, so that each index has several, and names that a database would not keep as they are. */
import {
  asEffectName,
  asInputId,
  asJobId,
  asSessionId,
  asTurnId,
  asWaitId,
  asWaitKey,
  nodeId,
} from "../../src/model/ids.ts";
import { text } from "../../src/model/message.ts";
import type { Entry } from "../../src/model/node.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import {
  APPEND,
  ATTEMPT,
  DELIVERY,
  GONE,
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_LINE_COUNTS,
  JOB_OWNER,
  JOURNAL,
  LEDGER,
  NOTE,
  OCCURRENCE,
  OPERATION,
  OPERATION_NOTE,
  PROFILE,
  SEGMENT,
  SESSION,
  SESSION_TAG,
  STATE,
  SUBSCRIPTION,
  TAKEN,
  type Table,
  TURN,
  WAIT,
  WITHDRAWN,
} from "../../src/stores/tables.ts";
import { alice, approval, bob, NOW, slept } from "../../src/testing/cast.ts";

export type Row = { readonly [column: string]: unknown };

export const ODD = ["a\u0000b", "\ud800", "\u0001x", "\u0001", "ü/名", ""];

const CANCEL = { requestId: "cancel-1", at: NOW, reason: "Enough." };
const ENDED = { at: NOW, outcome: { kind: "told", node: 0 }, usage: NO_USAGE, revision: 1, size: 1 };
const SAID = { message: { role: "user", parts: [text("Hello.")] }, at: NOW };
const CHANGE = { sessionId: alice, operation: "op", at: NOW, entries: [], queueMax: 5 };

const IDLE = {
  ...{ revision: 0, turns: 0, head: null, headIndex: null, usage: NO_USAGE, generation: 0, turn: null },
  ...{ owner: null, process: null, until: 0, written: 0, wake: null, parked: null },
  ...{ ownedBy: null, tags: null, activity: 0, words: null },
};
const NOT_TAKEN = { claim: null, boundary: null, endedBy: null, done: null, cancel: null, ended: null };
const turn = (name: string, other: Row = {}): Row => ({
  ...{ session: 1, id: asTurnId(name), inputId: asInputId(`input-${name}`), state: 0, aside: 0, key: null, hash: "h" },
  ...NOT_TAKEN,
  ...{ input: SAID, ...other },
});
const wait = (name: string, other: Row = {}): Row => ({
  ...{ id: asWaitId(`wai_${name}`), key: asWaitKey(name), session: 1, turn: 1, job: null, moved: null },
  ...{ effect: asEffectName("e"), at: NOW, about: approval, until: NOW + 10.5, isTurns: false, asked: null },
  ...{ answered: null, nth: null, answer: null, ...other },
});
const job = (name: string, other: Row = {}): Row => ({
  ...{ id: asJobId(name), session: 1, kind: "task", isHidden: false, recovery: 0, operation: "notes.index" },
  ...{ parent: null, state: 0, owner: null, generation: 0, isParked: false, due: 0, awaits: null, seq: 1, changed: 0 },
  moves: { sessionId: alice, state: "running", createdAt: NOW, starts: 0, steps: 0, wakes: 0 },
  ...other,
});
const entry = (commit: string, words: string): Entry => ({
  at: NOW,
  kind: "message",
  message: { id: nodeId(commit, 0), role: "user", parts: [text(words)] },
});
const segment = (n: number, other: Row = {}): Row => {
  const name = (other.name as string | undefined) ?? `c${n}`;
  return {
    ...{ n, session: 1, revision: 0, depth: n, parent: n === 1 ? null : n - 1, parentIndex: n === 1 ? null : 0 },
    ...{ size: 1, users: 1, isNamed: false, isBranch: false, name, entries: [entry(name, `said ${n}`)], ...other },
  };
};
const subscription = (id: string, other: Row = {}): Row => ({
  ...{ session: 1, id, incarnation: `i ${id}`, revision: 1, isEnabled: true, kind: 0, event: "ticket", source: null },
  ...{ next: null, after: null, body: { label: id, on: { kind: "event", event: "ticket" }, createdAt: NOW }, ...other },
});
const spending = { input: 1, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0, unknownCalls: 0 };

/** Tables whose rows the store numbers have no `n` here. */
export const ROWS: readonly (readonly [Table, readonly Row[]])[] = [
  [
    SESSION,
    [
      {
        ...IDLE,
        id: alice,
        usage: { ...NO_USAGE, input: 3 },
        revision: 4,
        turns: 2,
        head: 7,
        headIndex: 1,
        words: ODD[0],
      },
      {
        ...IDLE,
        id: bob,
        turn: 11,
        owner: "ann",
        process: "elsewhere",
        until: NOW + 0.5,
        generation: 3,
        written: 9,
        ownedBy: ODD[0],
        tags: ["red", ODD[1]],
        activity: NOW + 0.5,
      },
      { ...IDLE, id: asSessionId("c"), turn: 12, owner: "ann", process: "p", wake: NOW + 5, parked: ["wai_1"] },
      { ...IDLE, id: asSessionId("d"), turn: 13, owner: "ann", process: "p", wake: 0, parked: [] },
    ],
  ],
  [
    SESSION_TAG,
    [
      ...["red", ODD[0]].map((tag, nth) => ({ session: 1, tag, ownedBy: ODD[0], activity: NOW + nth })),
      ...["red", "new"].map((tag) => ({ session: 2, tag, ownedBy: null, activity: NOW + 0.5 })),
    ],
  ],
  [
    PROFILE,
    [
      ...[alice, alice, bob].map((parentId, nth) => ({
        ...{ session: nth + 1, parentId, originId: nth === 0 ? null : parentId, originAt: nth === 0 ? null : ODD[0] },
        ...{ createdAt: NOW, config: { model: "m" }, options: nth === 0 ? { a: { max: 1 } } : null },
      })),
      ...[{ session: 9, parentId: null, originId: null, originAt: null, createdAt: NOW, config: {}, options: null }],
    ],
  ],
  [
    STATE,
    [0, 3, 7].flatMap((since) => [
      { session: 1, plugin: "counts", since, body: { version: "1", revision: since, state: { n: since } } },
      ...ODD.map((plugin) => ({ session: 2, plugin, since, body: null })),
    ]),
  ],
  [
    LEDGER,
    ["turn", "notes", "calls"].map((source, nth) => ({
      ...{ session: 1, source, model: "m", nth: 9 - nth, calls: 1, ...spending, estimatedInput: 0, estimatedOutput: 0 },
    })),
  ],
  [GONE, [{ id: asSessionId("gone-1") }, { id: asSessionId("gone-2") }]],
  [
    SEGMENT,
    [
      ...[1, 2, 3].map((n) => segment(n)),
      ...ODD.map((name, nth) => segment(10 + nth, { name, isNamed: true })),
      ...[
        segment(21, { isBranch: true }),
        segment(22, { isBranch: true, session: 2 }),
        segment(23, { size: 0, entries: [] }),
      ],
    ],
  ],
  [
    TURN,
    [
      ...ODD.map((key, nth) => turn(`waits-${nth}`, { key, aside: nth % 3 })),
      ...[turn("cancelled", { cancel: CANCEL }), turn("\u0001append/op", { aside: APPEND, input: CHANGE })],
      ...[turn("opened", { state: TAKEN }), turn("ended", { state: TAKEN, done: 4, ended: ENDED, input: null })],
      ...["one", "two"].map((name) => turn(name, { state: TAKEN, claim: 11, boundary: "r1.b", session: 2 })),
      ...["three", "four"].map((name) => turn(name, { state: WITHDRAWN, key: "left", input: null })),
      ...[turn("settled", { state: TAKEN, endedBy: 11 }), turn("of bob", { session: 2 })],
    ],
  ],
  [
    JOURNAL,
    [0, 1, 4].map((seq, nth) => ({
      ...{ session: 2, seq, size: nth + 1, events: Array.from({ length: nth + 1 }, (_, at) => slept(`e${seq}.${at}`)) },
    })),
  ],
  [
    NOTE,
    ODD.map((key, nth) => ({
      ...{ turn: 11, effect: asEffectName("e"), key, value: nth === 0 ? null : { nth } },
    })),
  ],
  [ATTEMPT, ["a", "b"].map((name) => ({ turn: 11, effect: asEffectName(name) }))],
  [
    WAIT,
    [
      ...ODD.map((key, nth) => wait(`w${nth}`, { key, asked: 20 - nth })),
      ...[wait("early"), wait("old", { key: null, asked: 3, answered: 4, answer: { kind: "value", value: null } })],
      ...[wait("answered", { asked: 5, answered: 6, nth: 1, answer: { kind: "timeout" } })],
      ...[wait("turns", { isTurns: true, about: { kind: "turns", need: "all", turns: [] } })],
      ...ODD.map((id, nth) => wait(`j${nth}`, { turn: 0, job: id, asked: 30 + nth })),
      ...[wait("moved", { turn: 0, job: "j", moved: 2 }), wait("moved too", { turn: 0, job: "j", moved: 1 })],
    ],
  ],
  [
    OPERATION,
    ODD.map((name, nth) => ({ session: 1, name, hash: "h", committed: nth === 0 ? null : { kind: "committed" } })),
  ],
  [
    OPERATION_NOTE,
    ODD.flatMap((operation) => ODD.map((key) => ({ session: 1, operation, key, value: { operation, key } }))),
  ],
  [
    JOB,
    [
      ...ODD.map((id, nth) => job(id, { due: 9 - nth, operation: nth % 2 === 0 ? "" : ODD[0] })),
      ...[job("held", { owner: "ann", due: null }), job("of another", { owner: "ben", due: null, operation: "" })],
      ...[job("parked", { isParked: true, due: null, awaits: { need: "all", jobs: [] } })],
      ...[job("child", { parent: "job/a", due: null }), job("over", { state: 2, due: null, operation: null })],
      ...[job("of bob", { session: 2, isHidden: true, recovery: 2, operation: null, due: null })],
    ],
  ],
  [
    JOB_EVENT,
    ODD.map((key, nth) => ({
      job: 5,
      seq: nth + 1,
      key,
      event: { kind: "signalled", name: key, payload: nth, at: NOW },
    })),
  ],
  [JOB_OWNER, ["ann", "ben"].map((id, nth) => ({ id, process: "elsewhere", until: NOW + nth / 2 }))],
  [JOB_AWAIT, [...ODD.map((awaited) => ({ awaited, job: 5 })), { awaited: "", job: 6 }]],
  [
    JOB_LINE,
    [1, 2, 5, 9].map((n) => ({ job: 5, n, line: { at: NOW, channel: "out", text: `line ${n} \u0000 \ud800` } })),
  ],
  [
    JOB_LINE_COUNTS,
    [
      { job: 5, last: 9, lines: 4, key: ODD[0], since: 0, taken: 2 },
      { job: 6, last: 0, lines: 0, key: null, since: 0, taken: 0 },
    ],
  ],
  [
    SUBSCRIPTION,
    [
      ...ODD.map((id, nth) => subscription(id, { event: id, source: nth % 2 === 0 ? id : null, incarnation: id })),
      ...[subscription("off", { isEnabled: false }), subscription("commits", { kind: 1, event: null, after: "3" })],
      ...[3.5, 1].map((next) => subscription(`at ${next}`, { kind: 2, event: null, next })),
    ],
  ],
  [
    OCCURRENCE,
    ODD.map((id, nth) => ({
      id,
      source: nth % 2 === 0 ? "s" : ODD[0],
      at: NOW,
      payload: { payload: nth === 0 ? null : id },
    })),
  ],
  [
    DELIVERY,
    ODD.map((name, nth) => ({
      ...{ occurrence: nth % 2, nth, session: 1 + (nth % 3), subscription: name, revision: 1 },
      ...{ job: nth === 0 ? null : name, turn: nth === 1 ? null : name, isLost: nth === 2 },
    })),
  ],
];
