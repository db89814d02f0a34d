import { describe, expect, test } from "vitest";
import { blobOf, busy, fillTables, gone, NAMED } from "../../../../test/stores/every-table.ts";
import { asSessionId } from "../../../model/ids.ts";
import { alice, NOW } from "../../../testing/cast.ts";
import { MemoryEngine } from "../../memory/engine.ts";
import { corrupt } from "../../rows/faults.ts";
import * as tables from "../../tables.ts";
import type { Port } from "../port.ts";
import type { Rule } from "../rule.ts";
import { RuleStore } from "../store.ts";
import { checkStore } from "./check.ts";

const { SESSION, PROFILE, SEGMENT, TURN, JOURNAL, NOTE, ATTEMPT, WAIT, OPERATION, OPERATION_NOTE } = tables;
const { JOB, JOB_EVENT, JOB_OWNER, JOB_AWAIT, JOB_LINE, JOB_LINE_COUNTS, SUBSCRIPTION, OCCURRENCE, DELIVERY, GONE } =
  tables;

async function filled(): Promise<MemoryEngine> {
  const engine = new MemoryEngine();
  await fillTables(new RuleStore(engine));
  return engine;
}

/** Other methods of a port. */
type Read = (db: Port) => Partial<Port>;
const withPort = (engine: MemoryEngine, other: Read): Pick<MemoryEngine, "read"> => ({
  read: (rule) => engine.read((db) => rule(portWith(db, other(db)))),
});

const portWith = (db: Port, other: Partial<Port>): Port =>
  new Proxy(db, {
    get(port, name) {
      const method = Reflect.get(name in other ? other : port, name) as unknown;
      return typeof method === "function" ? method.bind(port) : method;
    },
  });

/** What a check finds, without the numbers of rows. */
const found = async (engine: MemoryEngine, max?: number): Promise<readonly string[]> =>
  (await checkStore(engine, max === undefined ? {} : { max })).map(({ item, problem }) =>
    `${item}: ${problem}`.replaceAll(/\b\d+\b/g, "N").replaceAll(/wai_[\w-]+/g, "W"),
  );

// ── Ways to break rows ──────────────────────────────────────────────────────────────────────────────────────────────

type Break = (db: Port) => Rule<void>;

function* rowOf<Row extends object>(db: Port, table: tables.Table<Row>, which: Partial<Row>): Rule<Row> {
  const { rows } = yield* db.page(table, undefined, 1_000, { damage: [], isWhole: true });
  const isIt = (row: Row): boolean =>
    Object.entries(which).every(([column, value]) => row[column as keyof Row] === value);
  return rows.find(isIt)!;
}

const change = <Row extends object>(table: tables.Table<Row>, which: Partial<Row>, to: Partial<Row>): Break =>
  function* (db) {
    db.update(table, yield* rowOf(db, table, which), to);
  };

const drop = <Row extends object>(table: tables.Table<Row>, which: Partial<Row>): Break =>
  function* (db) {
    db.remove(table, yield* rowOf(db, table, which));
  };

/** Adds a row like another one. */
const copy = <Row extends object>(table: tables.Table<Row>, which: Partial<Row>, other: Partial<Row>): Break =>
  function* (db) {
    db.insert(table, { ...(yield* rowOf(db, table, which)), ...other });
  };

const NOBODY = 9_999;
const LATE = Date.now() + 10 * 86_400_000;
const turn = (name: string) => ({ id: `turn-${name}` as never });
const job = (name: string) => ({ id: `job-${name}` as never });

/** What is broken, and all that a check finds. */
const CASES: { readonly [what: string]: readonly [Break, ...string[]] } = {
  // Sessions.
  "a deleted session is there": [(db) => insertGone(db, alice), "The deleted session alice: it is still there"],
  "a deleted session is forgotten": [drop(GONE, { id: gone }), "The deleted sessions: there are N, not N"],
  "a head is no segment": [
    change(SESSION, { id: asSessionId("bob") }, { head: NOBODY }),
    "Segment N: it is missing",
    "The segments: the users of N, N are miscounted",
  ],
  "a head is beyond its segment": [
    change(SESSION, { id: alice }, { headIndex: 7 }),
    "Session alice: its head is not a node",
  ],
  "a head has no place": [change(SESSION, { id: alice }, { headIndex: null }), "Session alice: its head is not a node"],
  "a configuration is missing": [
    drop(PROFILE, { parentId: busy }),
    "The configuration of session asleep: it is missing",
  ],
  "a profile has no session": [
    copy(PROFILE, { parentId: busy }, { session: NOBODY }),
    "The table profile: the sessions N are missing",
  ],
  "a lease ends too late": [change(SESSION, { id: busy }, { until: LATE }), "Session busy: its lease ends too late"],
  "an open turn is missing": [
    change(SESSION, { id: alice }, { turn: NOBODY }),
    "Session alice: its open turn is missing",
  ],
  "an ended turn is open": [
    function* (db) {
      const { n } = yield* rowOf(db, TURN, turn("one"));
      db.update(SESSION, yield* rowOf(db, SESSION, { id: alice }), { turn: n });
    },
    "Session alice: it is held by a turn that has ended",
    "Turn turn-one: it has ended and is open",
  ],
  "an open turn is of another session": [
    function* (db) {
      const { n } = yield* rowOf(db, TURN, turn("open"));
      db.update(SESSION, yield* rowOf(db, SESSION, { id: alice }), { turn: n });
    },
    "Session alice: its open turn is not its own",
  ],
  "a turn is parked that is not open": [
    change(SESSION, { id: alice }, { wake: NOW, parked: [] }),
    "Session alice: a turn is parked that is not open",
  ],
  "a turn is parked by half": [
    change(SESSION, { id: asSessionId("asleep") }, { parked: null }),
    "Session asleep: its turn is parked by half",
  ],
  "a parked turn waits for what is not there": [
    change(SESSION, { id: asSessionId("asleep") }, { parked: ["wai_x" as never] }),
    "Session asleep: its parked turn waits for what is not there",
  ],
  "a journal has lost its end": [
    change(SESSION, { id: busy }, { written: 9 }),
    "The journal of turn N: events at its end are missing",
  ],
  "a journal is of no open turn": [
    copy(JOURNAL, { seq: 0 }, { session: 1 }),
    "The journals: events of no open turn are there",
  ],

  // The graph.
  "a segment has no parent": [
    change(SEGMENT, { name: "turn-two" }, { parent: null, parentIndex: null }),
    "Segment N: it has no parent",
    "The segments: the users of N are miscounted",
  ],
  "a parent is missing": [
    drop(SEGMENT, { name: "turn-before" }),
    "Segment N: it is missing",
    "The segments: the users of N are miscounted",
  ],
  "a parent is no node": [
    change(SEGMENT, { name: "turn-two" }, { parentIndex: 3 }),
    "Segment N: its parent is not a node",
  ],
  "a depth is wrong": [change(SEGMENT, { name: "op" }, { depth: 7 }), "Segment N: its depth is wrong"],
  "a segment has other nodes": [
    change(SEGMENT, { name: "op" }, { entries: [] }),
    "The segment of op: it has N nodes, not N",
  ],
  "users are miscounted": [
    change(SEGMENT, { name: "turn-one" }, { users: 5 }),
    "The segments: the users of N are miscounted",
  ],
  "a segment has another name": [
    change(SEGMENT, { name: "turn-two" }, { name: "turn-x" }),
    "The segments: N cannot be found by what made them",
  ],
  "a segment is not found by name": [
    change(SEGMENT, { name: "op" }, { isNamed: false }),
    "The segments: N cannot be found by what made them",
  ],

  // Turns.
  "a turn has no session": [
    change(TURN, turn("joined"), { session: NOBODY }),
    "Turn turn-joined: its session is missing",
  ],
  "a turn has half an end": [change(TURN, turn("one"), { ended: null }), "Turn turn-one: it has half an end"],
  "a receipt does not fit": [
    drop(SEGMENT, { name: "turn-asked" }),
    "Segment N: it is missing",
    "The segments: the users of N are miscounted",
    "Turn turn-asked: its receipt does not fit its nodes",
  ],
  "an input that waits is lost": [
    change(TURN, turn("next"), { input: null }),
    "Turn turn-next: it waits without an input",
  ],
  "a turn was taken by nobody": [
    change(TURN, turn("next"), { state: tables.TAKEN }),
    "Turn turn-next: it was taken, but is neither open nor ended",
  ],
  "a turn was taken by one that is not open": [
    change(TURN, turn("aside"), { claim: NOBODY }),
    "Turn turn-aside: a turn has taken it that is not open",
  ],
  "a turn was settled by one that is missing": [
    change(TURN, turn("joined"), { endedBy: NOBODY }),
    "Turn turn-joined: the turn that settled it is missing",
  ],
  "a note is of no open turn": [copy(NOTE, { key: "k" }, { turn: NOBODY }), "The table note: N: not open"],
  "an attempt is of a turn that has ended": [
    function* (db) {
      const { n } = yield* rowOf(db, TURN, turn("one"));
      db.insert(ATTEMPT, { turn: n, effect: "e" as never });
    },
    "The table attempt: N: not open",
  ],
  "an operation has no session": [
    change(OPERATION, { name: "op" }, { session: NOBODY }),
    "The table operation: the sessions N are missing",
  ],
  "work on an operation has no session": [
    copy(OPERATION_NOTE, { operation: "work" }, { session: NOBODY }),
    "The table operation_note: the sessions N are missing",
  ],
  "a number of a fact comes again": [
    change(TURN, turn("one"), { done: NOBODY }),
    "The order of facts: a number that was used would be used again",
  ],

  // Waits.
  "a wait of an open turn has no key": [
    change(WAIT, { key: "w2" as never }, { key: null }),
    "The wait W: its key does not tell whether it is still open",
  ],
  "a wait of an ended turn has a key": [
    change(WAIT, { key: null, job: null }, { key: "w9" as never }),
    "The wait W: its key does not tell whether it is still open",
  ],
  "a wait is of a job that is missing": [
    change(WAIT, { key: "w7" as never }, { job: "job-x" as never }),
    "The wait W: its key does not tell whether it is still open",
  ],
  "a wait is nothing any more": [
    change(WAIT, { key: null, job: null }, { asked: null, answered: null, answer: null }),
    "The wait W: it is not a fact, and belongs to nothing that is open",
  ],
  "a wait has half an answer": [
    change(WAIT, { key: "w1" as never }, { answer: null }),
    "The wait W: it has half an answer",
  ],
  "a wait asks somebody and nobody": [
    change(WAIT, { key: "w1" as never }, { isTurns: true }),
    "The wait W: it does not tell whether somebody is asked",
  ],

  // Jobs.
  "an event is gone": [
    function* (db) {
      const { n } = yield* rowOf(db, JOB, job("done"));
      db.remove(JOB_EVENT, yield* rowOf(db, JOB_EVENT, { job: n, seq: 3 }));
    },
    "The events of job job-done: some of them are missing",
  ],
  "the first event is another": [
    function* (db) {
      const { n } = yield* rowOf(db, JOB, job("done"));
      const { event } = yield* rowOf(db, JOB_EVENT, { job: n, seq: 3 });
      db.update(JOB_EVENT, yield* rowOf(db, JOB_EVENT, { job: n, seq: 1 }), { event });
    },
    "The beginning of job job-done: it is another event",
  ],
  "a job is in another session": [change(JOB, job("done"), { session: 1 }), "Job job-done: it is not in its session"],
  "a job has another record": [
    function* (db) {
      const row = yield* rowOf(db, JOB, job("running"));
      db.update(JOB, row, { moves: { ...row.moves, steps: 7 } });
    },
    "Job job-running: its record does not fit its events",
  ],
  "a job is of another kind": [change(JOB, job("done"), { kind: "code" }), "Job job-done: it is not what was begun"],
  "a job has another state": [
    change(JOB, job("outside"), { state: 1 }),
    "Job job-outside: its state does not fit its record",
  ],
  "a job has lost its parent": [
    change(JOB, job("running"), { parent: null }),
    "Job job-running: it would end with something else",
  ],
  "a job awaits and is not parked": [
    change(JOB, job("waits"), { isParked: false }),
    "Job job-waits: it awaits something and is not parked",
  ],
  "a job that is over is held": [
    change(JOB, job("done"), { owner: "ann" }),
    "Job job-done: nobody could go on with it",
  ],
  "a job is held and waits": [change(JOB, job("running"), { due: NOW }), "Job job-running: it is held and waits"],
  "an owner is missing": [change(JOB, job("running"), { owner: "eve" }), "Job job-running: its owner eve is missing"],
  "an owner's time ends too late": [
    change(JOB_OWNER, { id: "ann" }, { until: LATE }),
    "The owner ann of jobs: its time ends too late",
  ],
  "nothing leads back to a job that awaits": [
    drop(JOB_AWAIT, { awaited: "job-bound" as never }),
    "Job job-waits: what it awaits does not lead to it",
  ],
  "something leads to a job that does not await": [
    copy(JOB_AWAIT, { awaited: "job-bound" as never }, { awaited: "job-done" as never }),
    "What jobs await: the jobs N do not await what is said",
  ],
  "events are of no job": [copy(JOB_EVENT, { seq: 1 }, { job: NOBODY }), "The events of jobs: the jobs N are missing"],
  "a number of a change comes again": [
    change(JOB, job("done"), { changed: NOBODY }),
    "The order of jobs: a number that was used would be used again",
  ],
  "a line is gone": [drop(JOB_LINE, { n: 2 }), "What job N has said: there are N lines, not N"],
  "the last line is not the last": [
    change(JOB_LINE_COUNTS, { last: 3 }, { last: 2 }),
    "What job N has said: its last line is not the last",
  ],
  "more was taken than was said": [
    change(JOB_LINE_COUNTS, { last: 3 }, { taken: 9 }),
    "What job N has said: more was taken than it has said",
  ],
  "lines are of no job": [copy(JOB_LINE, { n: 1 }, { job: NOBODY }), "The table job_line: the jobs N are missing"],
  "something was said by no job": [
    copy(JOB_LINE_COUNTS, { last: 3 }, { job: NOBODY, lines: 0 }),
    "The table job_said: the jobs N are missing",
  ],

  // Triggers.
  "a subscription waits for another event": [
    change(SUBSCRIPTION, { id: "watch" }, { event: "mail.lost" }),
    "The subscription watch: it is found by what it does not wait for",
  ],
  "a subscription has a time": [
    change(SUBSCRIPTION, { id: "watch" }, { next: NOW }),
    "The subscription watch: it has a next time and is not a schedule",
  ],
  "a schedule is told of commits": [
    change(SUBSCRIPTION, { id: "clock" }, { after: "3" }),
    "The subscription clock: it has a place among the commits and does not wait for commits",
  ],
  "a subscription has no session": [
    change(SUBSCRIPTION, { id: "watch" }, { session: NOBODY }),
    "The table subscription: the sessions N are missing",
  ],
  "a delivery is gone": [
    drop(DELIVERY, { subscription: "other" }),
    "The occurrence occurrence-mail: some of its deliveries are missing",
  ],
  "a delivery was to no session": [
    change(DELIVERY, { subscription: "other" }, { session: NOBODY }),
    "The occurrence occurrence-mail: the session of a delivery is missing",
    "The table delivery: the sessions N are missing",
  ],
  "an occurrence is gone": [
    drop(OCCURRENCE, { id: "occurrence-mail" }),
    "The table delivery: the occurrences N are missing",
  ],
};

// biome-ignore lint/correctness/useYield: a rule that only writes
function* insertGone(db: Port, id: tables.GoneRow["id"]): Rule<void> {
  db.insert(GONE, { id });
}

describe("a check of any store", () => {
  test("D8 finds nothing where nothing is damaged", async () => {
    expect(await found(await filled())).toEqual([]);
  });

  test.each(Object.entries(CASES))("D8 finds that %s", async (_, [damage, ...problems]) => {
    const engine = await filled();
    engine.write(damage);
    expect(await found(engine)).toEqual(problems);
  });

  test.each(NAMED)("D8 finds that a blob is missing that %s names", async (words) => {
    const engine = await filled();
    const hash = blobOf(words);
    const without: Read = (db) => ({
      hasBlobs: (hashes) => db.hasBlobs!(hashes.filter((each) => each !== hash)),
    });
    expect((await checkStore(withPort(engine, without))).map(({ problem }) => problem)).toEqual([
      `the blob ${hash} is missing`,
    ]);
  });

  test("D8 finds a blob whose content is another", async () => {
    const engine = await filled();
    engine.blobs.put(blobOf("this"), new TextEncoder().encode("that"));
    expect(await checkStore(engine)).toEqual([
      { item: `The blob ${blobOf("this")}`, problem: "its content has another hash" },
    ]);
  });

  test("D8 continues after a row that is damaged, and after a table that cannot be read", async () => {
    const engine = await filled();
    const damaged: Read = (db) => ({
      page: (table, after, max, options) => {
        if ((table as tables.Table) === NOTE) throw corrupt("The note k", "it is not JSON");
        if ((table as tables.Table) === ATTEMPT) options.damage.push(corrupt("The attempt e", "it is not JSON"));
        return db.page(table, after, max, options);
      },
    });
    engine.write(change(JOB, job("done"), { kind: "x" }));
    const findings = await checkStore(withPort(engine, damaged));
    expect(findings.map(({ item }) => item)).toEqual(["The note k", "The attempt e", "Job job-done"]);
  });

  test("D8 rethrows errors that are not damage: a lost connection, or a lock", async () => {
    const engine = await filled();
    const lost: Read = () => ({
      page: () => {
        throw new Error("Connection terminated unexpectedly");
      },
    });
    expect(() => checkStore(withPort(engine, lost))).toThrow("Connection terminated");
  });

  test("D8 stops at the maximum of findings", async () => {
    const engine = await filled();
    for (const id of ["running", "done"]) engine.write(change(JOB, job(id), { kind: "x" }));
    expect(await found(engine, 1)).toEqual(["Job job-done: it is not what was begun"]);
  });
});
