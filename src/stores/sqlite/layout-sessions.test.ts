import { expect, test } from "vitest";
import { dumpOf, findingsOf, given, type Opened, openPort } from "../../../test/stores/sqlite-port.ts";
import { ODD, profile, SAMPLES, session, turn, wait } from "../../../test/stores/sqlite-rows.ts";
import { asEffectName, asSessionId, asWaitId, type SessionId } from "../../model/ids.ts";
import { NO_USAGE } from "../../model/usage.ts";
import { alice, bob, NOW } from "../../testing/cast.ts";
import {
  APPEND,
  GONE,
  JOB,
  JOURNAL,
  NOTE,
  OPERATION,
  PROFILE,
  type ProfileRow,
  SESSION,
  type SessionRow,
  STATE,
  SUBSCRIPTION,
  TABLES,
  TAKEN,
  TURN,
  type TurnRow,
  WAIT,
} from "../tables.ts";
import { storedTableOf } from "./layouts.ts";
import type { SqlitePort } from "./port.ts";

const carol = asSessionId("carol");
const slept = { kind: "slept", at: NOW, effect: asEffectName("e") } as const;

const begin = (port: SqlitePort, id: SessionId = alice, other: object = {}): SessionRow => {
  const row = given(port.add(SESSION, session(id) as never)) as SessionRow;
  port.insert(PROFILE, profile(row.n, other) as never);
  return row;
};
const sessionOf = ({ read }: Opened, id = alice): SessionRow => read((port) => port.session(id))!;
const profileOf = ({ read }: Opened, n = 1): ProfileRow => read((port) => port.get(PROFILE, "key", n))!;
const addTurn = (port: SqlitePort, name: string, other: object = {}): TurnRow =>
  given(port.add(TURN, turn(name, other) as never)) as TurnRow;

/** Opens a turn as the rules do: its journal begins before the session has it. */
function openTurn(its: Opened, id = alice): TurnRow {
  return its.write((port) => {
    const row = given(port.session(id))!;
    const opened = addTurn(port, `open-${id}`, { session: row.n, state: TAKEN });
    port.insert(JOURNAL, { session: row.n, seq: 0, size: 1, events: [slept] });
    const lease = { generation: row.generation + 1, turn: opened.n, owner: "ann", process: "p", until: NOW };
    port.update(SESSION, row, { ...lease, written: 1, wake: null, parked: null });
    return opened;
  });
}

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("D8 sqlite port: a session is added in two steps, and found by every index with its profile", () => {
  const its = openPort();
  const options = { notes: { depth: 1 } };
  its.write((port) => {
    begin(port, bob, { options, config: { model: "x" } });
    begin(port, alice, { parentId: bob, originId: bob, originAt: ODD[0], options: {} });
    begin(port, carol, { parentId: bob });
  });
  expect(findingsOf(its.db, { deep: true })).toEqual([]);
  const { read } = its;
  const ids = (options = {}) => read((port) => port.scan(SESSION, "ids", [], options)).map(({ id }) => id);
  expect(ids()).toEqual([alice, bob, carol]);
  expect([ids({ above: alice, max: 1 }), ids({ isDescending: true })]).toEqual([[bob], [carol, bob, alice]]);
  expect(sessionOf(its)).toEqual({ n: 2, ...session() });
  expect(read((port) => port.sessionOf(2))).toEqual({ n: 2, ...session() });
  expect([profileOf(its, 1).options, profileOf(its, 2).options]).toEqual([options, null]);
  expect(profileOf(its, 2)).toEqual(profile(2, { parentId: bob, originId: bob, originAt: ODD[0] }));
  const family = (index: string) => read((port) => port.scan(PROFILE, index, [bob])).map((row) => row.session);
  expect([family("parent"), family("origin")]).toEqual([[2, 3], [2]]);
  expect(read((port) => port.count(SESSION, "ids"))).toBe(3);
  expect(read((port) => port.sessionIds([3, 9, 1]))).toEqual(
    new Map([
      [1, bob],
      [3, carol],
    ]),
  );
});

test("D8 sqlite port: a session and its profile change column by column, and each is sealed again", () => {
  const its = openPort();
  its.write((port) => begin(port));
  const change = {
    ...{
      revision: 3,
      turns: 2,
      head: 7,
      headIndex: 0,
      usage: { ...NO_USAGE, input: 1.5 },
      generation: 4,
      owner: "ann",
    },
    ...{ process: "p", until: 9, written: 5 },
  };
  const changed = its.write((port) => {
    const first = port.update(SESSION, given(port.session(alice))!, { revision: 1 });
    return port.update(SESSION, first, change);
  });
  expect(changed).toEqual({ n: 1, ...session(), ...change });
  expect(sessionOf(its)).toEqual(changed);
  const set = (change: Partial<ProfileRow>) =>
    its.write((port) => port.update(PROFILE, given(port.get(PROFILE, "key", 1))!, change));
  for (const options of [{ a: 1 }, { a: 2 }, {}, { b: [] }, null]) {
    set({ options });
    expect(profileOf(its).options).toEqual(options === null || Object.keys(options).length === 0 ? null : options);
  }
  set({ config: { model: "other" } });
  expect(profileOf(its).config).toEqual({ model: "other" });
  expect(() => set({ createdAt: 1 })).toThrow("never changes");
});

test("D8 sqlite port: a lease ends at the time in its session or its journal, and at once when it is released", () => {
  const its = openPort();
  its.write((port) => begin(port));
  openTurn(its);
  expect(sessionOf(its)).toMatchObject({ turn: 1, until: NOW, written: 1 });
  its.db.run("UPDATE journal SET until = ?", NOW + 7); // As an append does in one statement.
  expect(sessionOf(its).until).toBe(NOW + 7);
  its.write((port) => {
    const row = given(port.session(alice))!;
    port.insert(JOURNAL, { session: 1, seq: 1, size: 1, events: [slept] });
    port.update(SESSION, row, { until: row.until, written: 2 });
  });
  expect(sessionOf(its)).toMatchObject({ until: NOW + 7, written: 2 });
  its.db.run("UPDATE journal SET until = ?", NOW + 9);
  its.write((port) => port.update(SESSION, given(port.session(alice))!, { until: 0 }));
  expect(sessionOf(its).until).toBe(0);
  expect(its.db.row("SELECT max(until) AS until FROM journal")).toMatchObject({ until: 0 });
  expect(its.read((port) => port.scan(JOURNAL, "session", [1])).map(({ seq, events }) => [seq, events])).toEqual([
    [0, [slept]],
    [1, [slept]],
  ]);
  expect(findingsOf(its.db, {})).toEqual([]);
});

test("D8 sqlite port: a parked turn has a separate row, and open and parked turns are found by index", () => {
  const its = openPort();
  its.write((port) => [alice, bob, carol].map((id) => begin(port, id)));
  openTurn(its);
  openTurn(its, bob);
  const found = (index: string, options = {}) =>
    its.read((port) => port.scan(SESSION, index, [], options)).map(({ id }) => id);
  expect([found("open"), found("wake")]).toEqual([[alice, bob], []]);
  const update = (change: Partial<SessionRow>, id = alice) =>
    its.write((port) => port.update(SESSION, given(port.session(id))!, change));
  const parked = [asWaitId("wai_a"), asWaitId("wai_b")];
  update({ wake: NOW + 5, parked, until: 0, generation: 2 });
  update({ wake: NOW + 3, parked: [] }, bob);
  expect(sessionOf(its)).toMatchObject({ wake: NOW + 5, parked });
  expect([found("open"), found("wake")]).toEqual([[], [bob, alice]]);
  expect([found("wake", { upTo: NOW + 3 }), found("wake", { above: NOW + 3 })]).toEqual([[bob], [alice]]);
  update({ wake: 0 });
  expect(sessionOf(its)).toMatchObject({ wake: 0, parked });
  update({ wake: null, parked: null, owner: "ben" });
  expect(sessionOf(its)).toMatchObject({ wake: null, parked: null, owner: "ben" });
  expect([found("open"), found("wake")]).toEqual([[alice], [bob]]);
  expect(findingsOf(its.db, {})).toEqual([]);
});

test("D8 sqlite port: any changed byte of a session, its profile or its parking is detected", () => {
  const damages = [
    ...["id = 'x'", "parent_id = 'x'", "created_at = 1", "revision = 9", "turns = 9", "head = 9", "head_index = 9"],
    ...["usage = '[1,2]'", "origin_id = 'x'", "origin_at = 'x'", "generation = 9", "turn = 9", "owner = 'x'"],
    ...["process = 'x'", "seal = 9"],
  ].map((set) => `UPDATE session SET ${set}`);
  damages.push("UPDATE config SET body = replace(body, 'm', 'n')", "DELETE FROM config");
  damages.push("UPDATE options SET body = replace(body, '1', '2')");
  for (const set of ["turn = 9", "wake = 9", "waits = '[]'", "seal = 9"]) damages.push(`UPDATE parked SET ${set}`);
  for (const sql of damages) {
    const its = openPort();
    its.write((port) => begin(port, alice, { options: { a: 1 } }));
    openTurn(its);
    its.write((port) => port.update(SESSION, given(port.session(alice))!, { wake: 5, parked: [asWaitId("a")] }));
    its.db.run(sql);
    const damage: unknown[] = [];
    its.read((port) => port.scan(SESSION, "ids", [], { damage }));
    its.read((port) => port.scan(PROFILE, "key", [1], { damage }));
    expect(damage, sql).not.toEqual([]);
    expect(damage, sql).toEqual(damage.map(() => expect.objectContaining({ code: "store.corrupt" })));
  }
});

test("D8 sqlite port: a deleted session is removed whole, and its id and fact numbers are never reused", () => {
  const its = openPort();
  const { db } = its;
  its.write((port) => {
    begin(port, alice, { options: { a: 1 } });
    port.insert(STATE, { session: 1, plugin: "notes", since: 0, body: null });
    begin(port, bob);
  });
  openTurn(its);
  its.write((port) => {
    given(port.add(OPERATION, { session: 1, name: "op", hash: "h", committed: null }));
    port.insert(NOTE, { turn: 1, effect: asEffectName("e"), key: "k", value: 1 });
    port.update(SESSION, given(port.session(alice))!, { wake: 5, parked: [] });
  });
  its.write((port) => {
    const row = given(port.session(alice))!;
    port.nameSegments(1);
    port.insert(GONE, { id: alice });
    port.remove(SESSION, row);
    port.removeAll(NOTE, "turn", 1);
    for (const table of [TURN, OPERATION, JOURNAL, STATE]) port.removeAll(table, "session", 1);
    port.removeAll(PROFILE, "key", 1);
    expect(given(port.latestFact())).toBe(2);
  });
  expect([its.read((port) => port.get(GONE, "key", alice)), sessionOf(its)]).toEqual([{ id: alice }, undefined]);
  expect(its.read((port) => port.gone())).toBe(1);
  expect(its.read((port) => port.latestFact())).toBe(2);
  expect(db.row("SELECT * FROM gone")).toMatchObject({ id: alice, n: 1, states: 1 });
  const left = Object.entries(dumpOf(its)).flatMap(([table, rows]) =>
    rows.length === 0 ? [] : [[table, rows.length]],
  );
  expect(left).toEqual(
    expect.arrayContaining([
      ["session", 1],
      ["config", 1],
      ["gone", 1],
      ["meta", 1],
    ]),
  );
  expect(left).toHaveLength(4);
  expect(findingsOf(db, { deep: true })).toEqual([]);
  expect(its.write((port) => addTurn(port, "next", { session: 2 })).n).toBe(3);
});

// ── Numbers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("D8 sqlite port: facts have one order over turns, operations and waits, and are found by session", () => {
  const its = openPort();
  its.write((port) => {
    for (const id of [alice, bob]) begin(port, id);
    const first = addTurn(port, "one");
    expect(given(port.fact(1, "accepted", first.n))).toBe(1);
    const asked = given(port.add(WAIT, wait("a", { session: 2 }) as never));
    const n = given(port.fact(2, "asked", asked.n));
    port.update(WAIT, asked, { asked: n });
    expect([n, given(port.latestFact())]).toEqual([2, 2]);
    addTurn(port, "\u0001append/x", { aside: APPEND, input: { sessionId: alice, operation: "x", at: NOW } });
    const done = given(port.fact(1, "ended", first.n));
    port.update(TURN, first, {
      state: TAKEN,
      done,
      ended: { at: 1, outcome: {}, usage: NO_USAGE } as never,
      input: null,
    });
  });
  its.write((port) => {
    const { n } = given(port.add(OPERATION, { session: 1, name: "op", hash: "h", committed: null }));
    expect([n, given(port.fact(1, "applied", n))]).toEqual([5, 5]);
    const row = given(port.get(WAIT, "named", asWaitId("wai_a")))!;
    const answered = given(port.fact(2, "answered", row.n));
    port.update(WAIT, row, { answered, answer: { kind: "timeout" } });
  });
  const all = [
    { n: 1, session: 1, kind: "accepted", of: 1 },
    { n: 2, session: 2, kind: "asked", of: 1 },
    { n: 4, session: 1, kind: "ended", of: 1 },
    { n: 5, session: 1, kind: "applied", of: 5 },
    { n: 6, session: 2, kind: "answered", of: 1 },
  ];
  for (const sessions of [undefined, [1], [2], [1, 2], []])
    for (const after of [0, 1, 2, 3, 4, 5, 6])
      for (const max of [1, 2, Infinity]) {
        const right = all.filter(({ n, session: of }) => n > after && sessions?.includes(of) !== false).slice(0, max);
        expect(its.read((port) => port.facts(after, sessions, max)).map((row) => ({ ...row }))).toEqual(right);
      }
  expect(its.read((port) => port.latestFact())).toBe(6);
});

test("D8 sqlite port: changes of jobs are numbered when one is added or has more events, and never twice", () => {
  const its = openPort();
  its.write((port) => begin(port));
  const sample = SAMPLES.job![0][0]!;
  const add = (id: string) => its.write((port) => given(port.add(JOB, { ...sample, id } as never)).changed);
  const update = (n: number, change: object) =>
    its.write((port) => port.update(JOB, given(port.get(JOB, "key", n))!, change).changed);
  expect([add("a"), add("b"), update(1, { seq: 2 }), update(1, { due: 5 }), update(2, { seq: 3 })]).toEqual([
    1, 2, 3, 3, 4,
  ]);
  its.write((port) => port.remove(JOB, given(port.get(JOB, "key", 2))!));
  expect(its.read((port) => port.latestChange())).toBe(4);
  expect(add("c")).toBe(5);
  its.write((port) => port.removeAll(JOB, "session", 1));
  expect(its.read((port) => port.latestChange())).toBe(5);
  expect(findingsOf(its.db, {})).toEqual([]);
});

// ── What a port remembers ───────────────────────────────────────────────────────────────────────────────────────────

test("I3 D8 sqlite port: counts are kept, and hold after changes and after a failure", () => {
  const its = openPort();
  its.write((port) => [alice, bob].map((id) => begin(port, id)));
  const counts = () =>
    [1, 2].map((n) => [
      its.read((port) => port.count(TURN, "waiting", n)),
      its.read((port) => port.count(JOB, "live", n)),
      its.read((port) => port.count(SUBSCRIPTION, "session", n)),
    ]);
  expect(counts()).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ]);
  const [job, subscription] = [SAMPLES.job![0][0]!, SAMPLES.subscription![0][0]!];
  const rows = its.write((port) => ({
    turns: ["a", "b"].map((name) => addTurn(port, name)),
    job: given(port.add(JOB, job as never)),
    subscription: given(port.add(SUBSCRIPTION, subscription as never)),
  }));
  expect(counts()).toEqual([
    [2, 1, 1],
    [0, 0, 0],
  ]);
  expect(() =>
    its.write((port) => {
      addTurn(port, "c");
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(counts()).toEqual([
    [2, 1, 1],
    [0, 0, 0],
  ]);
  its.write((port) => {
    port.update(TURN, rows.turns[0]!, { state: TAKEN });
    port.update(JOB, rows.job as never, { session: 2 } as never);
    port.remove(SUBSCRIPTION, rows.subscription as never);
  });
  expect(counts()).toEqual([
    [1, 0, 0],
    [0, 1, 0],
  ]);
  its.write((port) => {
    port.removeAll(TURN, "session", 1);
    port.update(JOB, given(port.get(JOB, "key", 1))!, { state: 2 });
  });
  expect(counts()).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ]);
});

test("D8 sqlite port: a failed write leaves nothing in the caches", () => {
  const its = openPort();
  its.write((port) => begin(port));
  const before = dumpOf(its);
  expect(() =>
    its.write((port) => {
      addTurn(port, "a");
      port.insert(JOURNAL, { session: 1, seq: 0, size: 1, events: [slept] });
      port.update(SESSION, given(port.session(alice))!, { revision: 9 });
      throw new Error("no");
    }),
  ).toThrow("no");
  expect(dumpOf(its)).toEqual(before);
  expect(its.write((port) => addTurn(port, "b")).n).toBe(1);
  expect(its.read((port) => port.count(JOURNAL, "session", 1))).toBe(0);
  expect(findingsOf(its.db, {})).toEqual([]);
});

/** Scans that the file has no index for: these tables have few rows, or such a scan is rare. */
const FEW =
  /^(session key|session open|job_owner all|job_await job|occurrence all|subscription all|job all|turn all|job changed)$/;

test("D7 sqlite port: every index of a table is one of the file", () => {
  const { db } = openPort();
  for (const table of TABLES)
    for (const [index, { on, by = [] }] of Object.entries(table.indexes)) {
      if (FEW.test(`${table.name} ${index}`)) continue;
      const key = on.map(() => 1);
      const isNumber = table.columns[by[0] ?? table.key.at(-1)!] === "number";
      for (const options of [{}, { max: 1 }, ...(isNumber ? [{ above: 1, max: 1, isWhole: true }] : [])]) {
        const { sql, values } = storedTableOf(table).statements.select(index, options);
        const plan = db.rows<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values(key, options));
        const scans = plan.filter(({ detail }) => /^SCAN t(?! USING (COVERING )?INDEX)/.test(detail));
        expect(scans, `${table.name} ${index}`).toEqual([]);
      }
    }
});
