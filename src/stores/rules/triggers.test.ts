import { expect, test } from "vitest";
import { iterate, portWith, replacing, rowsOf } from "../../../test/stores/rule-port.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asCursor, asSessionId } from "../../model/ids.ts";
import type { Subscription } from "../../model/trigger.ts";
import { alice, bob, NOW } from "../../testing/cast.ts";
import { jobId } from "../../testing/job-cast.ts";
import { INTERVAL, MAIL, moved, occurrence, sourceOf, subscription } from "../../testing/trigger-cast.ts";
import type { MemoryPort } from "../memory/port.ts";
import type { NewDelivery } from "../store.ts";
import { DELIVERY, OCCURRENCE, SUBSCRIPTION, type SubscriptionRow, type Table } from "../tables.ts";
import { forgetTriggersOf, listOccurrences, occur } from "./occurrences.ts";
import type { Key, Port, ScanOptions } from "./port.ts";
import { later, now, type Read, type Rule, runLater, runNow } from "./rule.ts";
import {
  dueSubscriptions,
  listSubscriptions,
  loadSubscription,
  moveSubscription,
  putSubscription,
  removeSubscription,
  triggersToDo,
} from "./triggers.ts";

// What the laws of triggers cannot see through a store: attempts, locks, round trips, damage, and two writers at once.

const CLOCK = subscription("clock", { on: INTERVAL, next: NOW });
const put = (port: Port, it: Subscription, before?: number) => runNow(putSubscription(port, it, before, 100));
const load = (port: Port, id: string) => runNow(loadSubscription(port, alice, id));
const due = (port: Port) => runNow(dueSubscriptions(port, NOW, 9)).map(({ id }) => id);
const occurrences = (port: Port) => runNow(listOccurrences(port, { max: 9 }));

const to = ({ sessionId, id, revision, incarnation }: Subscription): NewDelivery => ({
  ...{ sessionId, subscription: id, revision, incarnation, lost: "full" },
});
const happens = (port: Port, name: string, them: readonly Subscription[], { max = 9, source = MAIL } = {}) =>
  runNow(occur(port, occurrence(name, { source }), them.map(to), max));

// ── Attempts ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Runs a write that is kept although its answer is lost, then `between`, then the second attempt at the same write. */
function twice<T>(port: MemoryPort, rule: (db: Port) => Rule<T>, between = () => {}): readonly [T, T] {
  const tried = new Map<string, unknown>();
  const first = runNow(rule(replacing(port, { tried })));
  between();
  return [first, runNow(rule(replacing(port, { tried, attempt: 2 })))];
}

test("J7 D3 rules: a repeated write about triggers whose answer was lost gets the first answer", () => {
  const port = portWith(alice);
  twice(port, (db) => putSubscription(db, CLOCK, undefined, 1));
  expect(load(port, "clock")).toEqual(CLOCK);
  const second = { ...CLOCK, revision: 2, label: "second" };
  const move = moved(second, { next: NOW + 1 });
  twice(
    port,
    (db) => putSubscription(db, second, 1, 1),
    () => runNow(moveSubscription(port, move)),
  );
  expect(load(port, "clock")).toEqual({ ...second, next: NOW + 1 });
  expect(twice(port, (db) => moveSubscription(db, moved({ ...second, next: NOW + 1 }, {})))).toEqual([true, true]);

  const tick = (db: Port) => occur(db, occurrence("tick"), [to(second)], 9, moved({ ...second, next: NOW + 2 }, {}));
  runNow(moveSubscription(port, { ...move, from: {}, to: { next: NOW + 2 } }));
  const [one, two] = twice(port, tick);
  expect(one.kind).toBe("occurred");
  expect(two).toEqual(one);
  expect(runNow(tick(port)).kind).toBe("known");
  expect(rowsOf(port, DELIVERY)).toHaveLength(1);

  expect(twice(port, (db) => removeSubscription(db, alice, "clock", 2))).toEqual([true, true]);
  put(port, CLOCK);
  const remade = { ...CLOCK, incarnation: "another", revision: 5 };
  const make = () => put(port, remade);
  expect(twice(port, (db) => removeSubscription(db, alice, "clock", 1), make)).toEqual([true, true]);
  expect(load(port, "clock")).toEqual(remade);
});

test("J7 D3 rules: a second attempt is refused as the first would have been where none was kept", () => {
  const port = portWith(alice);
  put(port, CLOCK);
  const again = replacing(port, { attempt: 2 });
  expect(() => put(again, { ...CLOCK, label: "another" })).toThrow(RuntimeError);
  expect(() => put(again, { ...CLOCK, isEnabled: false })).toThrow(RuntimeError);
  expect(() => put(again, { ...CLOCK, revision: 3 }, 2)).toThrow(RuntimeError);
  expect(runNow(moveSubscription(again, moved({ ...CLOCK, next: NOW + 5 }, { next: NOW + 6 })))).toBe(false);
  expect(runNow(removeSubscription(port, alice, "clock"))).toBe(true);
  expect(runNow(removeSubscription(replacing(port, { attempt: 2, tried: new Map() }), alice, "clock"))).toBe(false);
  expect(runNow(removeSubscription(port, alice, "clock"))).toBe(false);
});

// ── Two writers at once ─────────────────────────────────────────────────────────────────────────────────────────────

test("J7 D3 rules: an occurrence of another source that takes the id first is known, and one that goes again is not", () => {
  const port = portWith(alice);
  put(port, CLOCK);
  const at = { at: NOW, payload: { payload: "first" }, deliveries: 0 };
  let nth = 0;
  const racing = (faster: () => void): Port =>
    replacing(port, {
      addOnce: (table, index, row) => {
        expect([table.name, index]).toEqual(["occurrence", "id"]);
        if (nth++ > 0) return port.add(table, row);
        faster();
        return now(undefined);
      },
    });
  const gone = racing(() => {});
  expect(happens(gone, "gone", [CLOCK]).kind).toBe("occurred");
  nth = 0;
  const taken = racing(() => void port.add(OCCURRENCE, { id: "occurrence-taken", source: "other", ...at }));
  expect(happens(taken, "taken", [CLOCK])).toMatchObject({ kind: "known", occurrence: { payload: "first" } });
  expect(occurrences(port).map(({ id }) => id)).toEqual(["occurrence-taken", "occurrence-gone"]);
});

test("J7 D3 rules: what happens locks its source, sessions, subscriptions, old occurrences and their jobs, in this order", () => {
  const port = portWith(alice, bob);
  const other = subscription("other", { sessionId: bob });
  for (const it of [CLOCK, other]) put(port, it);
  const { lost: _, ...begun } = { ...to(CLOCK), jobId: jobId("old") };
  runNow(occur(port, occurrence("old"), [begun], 1));
  const locks: string[] = [];
  const noting = replacing(port, { lock: (what) => void locks.push(JSON.stringify(what)) });
  runNow(occur(noting, occurrence("new"), [to(other), to(CLOCK)], 1, moved(CLOCK, { next: NOW + 1 })));
  const places = [other, CLOCK, CLOCK].map(({ sessionId, id }) => ({ sessionId, id }));
  expect([...new Set(locks.map((lock) => Object.keys(JSON.parse(lock) as object)[0]))]).toEqual([
    ...["source", "sessions", "subscriptions", "occurrences", "endings"],
  ]);
  expect(JSON.parse(locks[4]!)).toEqual({ endings: [jobId("old")] });
  expect(JSON.parse(locks[1]!)).toEqual({ sessions: [bob, alice] });
  expect(JSON.parse(locks[2]!)).toMatchObject({ subscriptions: places });
});

// ── Round trips ─────────────────────────────────────────────────────────────────────────────────────────────────────

const READS = ["now", "session", "sessionOf", "get", "scan", "count", "add", "keepNamed", "keepBlobs"] as const;

/** Runs a rule on a port that answers all reads that are open at once, and counts how often it answers. */
async function tripsOf<T>(port: MemoryPort, rule: (db: Port) => Rule<T>): Promise<readonly [T, number]> {
  let trips = 0;
  let open: (() => void)[] = [];
  const answer = (): void => {
    const answered = open;
    open = [];
    trips += 1;
    for (const resolve of answered) resolve();
  };
  const slow: { [name: string]: unknown } = {};
  for (const name of READS) {
    const read = port[name].bind(port) as (...given: unknown[]) => Read<unknown>;
    slow[name] = (...given: unknown[]) => {
      const value = runNow(iterate(read(...given)));
      if (open.length === 0) setImmediate(answer);
      return later(new Promise((resolve) => open.push(() => resolve(value))));
    };
  }
  return [await runLater(rule(replacing(port, slow as Partial<Port>))), trips];
}

test("J7 D7 rules: however many subscriptions something is delivered to, it takes a few round trips", async () => {
  const port = portWith(...Array.from({ length: 20 }, (_, nth) => asSessionId(`${nth}`)));
  const them = Array.from({ length: 20 }, (_, nth) =>
    subscription("clock", { sessionId: asSessionId(`${nth}`), incarnation: `${nth}`, on: INTERVAL, next: NOW }),
  );
  for (const it of them) await tripsOf(port, (db) => putSubscription(db, it, undefined, 9));
  const [answer, trips] = await tripsOf(port, (db) =>
    occur(db, occurrence(), them.map(to), 9, moved(them[0]!, { next: NOW + 1 })),
  );
  // The sessions, the subscriptions, the blobs of the payload, and the new row.
  expect([answer.kind, trips]).toEqual(["occurred", 4]);
  for (let nth = 0; nth < 9; nth++) await tripsOf(port, (db) => occur(db, occurrence(`${nth}`), them.map(to), 9));
  const [full, more] = await tripsOf(port, (db) => occur(db, occurrence("full"), them.map(to), 9));
  expect([full.kind, more]).toEqual(["occurred", 5]);
  expect((await tripsOf(port, (db) => occur(db, occurrence("full"), [], 9)))[1]).toBe(3);
  expect((await tripsOf(port, (db) => listOccurrences(db, { max: 9 })))[1]).toBe(3);
  expect((await tripsOf(port, (db) => listSubscriptions(db, { max: 9 })))[1]).toBe(2);
  expect((await tripsOf(port, (db) => dueSubscriptions(db, NOW, 99)))[1]).toBe(2);
  expect((await tripsOf(port, (db) => triggersToDo(db, NOW)))[1]).toBe(1);
});

test("J7 D7 rules: a store that lists subscriptions and has the ids of sessions by itself is asked for them", () => {
  const port = portWith(alice, bob);
  for (const it of [CLOCK, subscription("b", { sessionId: bob })]) put(port, it);
  const asked: unknown[] = [];
  const fast = replacing(port, {
    subscriptions(page) {
      asked.push(page);
      return port.scan(SUBSCRIPTION, "all", [], { isDescending: true });
    },
    sessionIds(numbers) {
      asked.push(numbers);
      return now(new Map(numbers.map((n, at) => [n, [alice, bob][at]!])));
    },
  });
  const page = { session: alice, max: 1 };
  expect(runNow(listSubscriptions(fast, page)).map(({ sessionId, id }) => `${sessionId}/${id}`)).toEqual([
    ...["alice/b", "bob/clock"],
  ]);
  expect(asked).toEqual([page, [2, 1]]);
});

// ── Damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const DAMAGE = new RuntimeError("store.corrupt", { item: "The row", problem: "it is not JSON" });

/** A port on which the subscriptions of these ids are damaged. As in SQL, `max` counts damaged rows. */
const damaged = (port: MemoryPort, ...ids: readonly string[]): Port => {
  const isDamaged = (row: object): boolean => "incarnation" in row && ids.includes((row as SubscriptionRow).id);
  function* get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Rule<Row | undefined> {
    const row = yield* port.get(table, index, ...key);
    if (row !== undefined && isDamaged(row)) throw DAMAGE;
    return row;
  }
  function* scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options: ScanOptions = {},
  ): Rule<readonly Row[]> {
    const rows = yield* port.scan(table, index, key, options);
    const wrong = rows.filter(isDamaged);
    if (wrong.length > 0 && options.damage === undefined) throw DAMAGE;
    options.damage?.push(...wrong.map(() => DAMAGE));
    return rows.filter((row) => !isDamaged(row));
  }
  return replacing(port, { get, scan });
};

test("J7 D8 rules: a damaged schedule keeps no other from being served, and can be removed where no revision is given", () => {
  const port = portWith(alice);
  for (const id of ["one", "two"]) put(port, subscription(id, { on: INTERVAL, next: NOW }));
  const db = damaged(port, "one");
  expect(due(db)).toEqual(["two"]);
  expect(() => runNow(listSubscriptions(db, { max: 9 }))).toThrow(DAMAGE);
  expect(() => load(db, "one")).toThrow(DAMAGE);
  expect(() => put(db, subscription("one", { revision: 2 }), 1)).toThrow(DAMAGE);
  expect(() => due(damaged(port, "one", "two"))).toThrow(DAMAGE);
  expect(() => runNow(removeSubscription(db, alice, "one", 1))).toThrow(DAMAGE);
  expect(runNow(removeSubscription(db, alice, "one"))).toBe(true);
  expect(runNow(removeSubscription(db, alice, "one"))).toBe(false);
  expect(rowsOf(port, SUBSCRIPTION).map(({ id }) => id)).toEqual(["two"]);
});

test("J7 D8 rules: the agenda has the schedules and commits although some rows are damaged", () => {
  const port = portWith(alice);
  for (const [id, ms] of [["one", 0], ["two", 1], ["three", 2]] as const) // biome-ignore format: a table
    put(port, subscription(id, { on: INTERVAL, next: NOW + ms }));
  put(port, subscription("turns", { on: { kind: "commits" }, after: asCursor("3") }));
  const toDo = (db: Port) => runNow(triggersToDo(db, NOW));
  const right = { hasSchedules: true, hasCommits: true, next: NOW + 1 };
  expect(toDo(port)).toEqual(right);
  expect(toDo(damaged(port, "one", "turns"))).toEqual(right);
  expect(toDo(damaged(port, "two"))).toEqual({ ...right, next: NOW + 2 });
  expect(toDo(portWith(alice))).toEqual({});
});

test("J7 D8 rules: an occurrence without one of its deliveries, or whose session is missing, is corrupt", () => {
  const port = portWith(alice, bob);
  const other = subscription("other", { sessionId: bob });
  for (const it of [CLOCK, other]) put(port, it);
  happens(port, "mail", [CLOCK, other]);
  const rows = rowsOf(port, DELIVERY);
  port.remove(DELIVERY, rows[0]!);
  const problem = (text: string) =>
    expect.objectContaining({ details: { item: "The occurrence occurrence-mail", problem: text } });
  expect(() => occurrences(port)).toThrow(problem("some of its deliveries are missing"));
  expect(() => happens(port, "mail", [])).toThrow(problem("some of its deliveries are missing"));
  port.insert(DELIVERY, { ...rows[0]!, session: 99 });
  expect(() => occurrences(port)).toThrow(problem("the session of a delivery is missing"));
});

// ── Forgetting ──────────────────────────────────────────────────────────────────────────────────────────────────────

test("J7 D9 rules: with a session go its subscriptions and deliveries, and what came to nobody else", () => {
  const port = portWith(alice, bob);
  const other = subscription("other", { sessionId: bob });
  const former = subscription("former");
  for (const it of [CLOCK, former, other]) put(port, it);
  happens(port, "mail", [CLOCK, other, former]);
  happens(port, "tick", [CLOCK, other], { source: sourceOf(CLOCK) });
  happens(port, "silent", [], { source: sourceOf(CLOCK) });
  happens(port, "of former", [former], { source: sourceOf(former) });
  happens(port, "of former, and other", [former, other], { source: sourceOf(former) });
  runNow(removeSubscription(port, alice, "former"));
  const locks: unknown[] = [];
  runNow(forgetTriggersOf(replacing(port, { lock: (what) => void locks.push(what) }), 1));

  expect(rowsOf(port, SUBSCRIPTION).map(({ id }) => id)).toEqual(["other"]);
  const left = (name: string, source: string) => ({ id: `occurrence-${name}`, source, deliveries: 1 });
  expect(rowsOf(port, OCCURRENCE)).toMatchObject([left("mail", MAIL), left("of former, and other", sourceOf(former))]);
  expect(rowsOf(port, DELIVERY).map(({ session }) => session)).toEqual([2, 2]);
  expect(occurrences(port)).toHaveLength(2);
  expect(locks).toHaveLength(1); // One lock of all of them: two would not be in the order of their numbers.
});

test("J7 D9 rules: a store that does not count deliveries forgets the same", () => {
  const port = portWith(alice, bob);
  const other = subscription("other", { sessionId: bob });
  for (const it of [CLOCK, other]) put(port, it);
  happens(port, "mail", [CLOCK, other]);
  happens(port, "tick", [CLOCK], { source: sourceOf(CLOCK) });
  for (const row of rowsOf(port, OCCURRENCE)) port.update(OCCURRENCE, row, { deliveries: undefined } as never);
  runNow(removeSubscription(port, alice, "clock"));
  runNow(forgetTriggersOf(port, 1));
  expect(occurrences(port).map(({ id, deliveries }) => [id, deliveries.length])).toEqual([["occurrence-mail", 1]]);
});

test("J7 rules: a source with a maximum of 0 stores no occurrence, and still answers", () => {
  const port = portWith(alice);
  put(port, CLOCK);
  happens(port, "one", [CLOCK]);
  expect(happens(port, "two", [CLOCK], { max: 0 })).toMatchObject({
    kind: "occurred",
    occurrence: { id: "occurrence-two" },
  });
  expect([rowsOf(port, OCCURRENCE), rowsOf(port, DELIVERY)]).toEqual([[], []]);
});
