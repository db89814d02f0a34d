import { afterAll, beforeAll, expect, test } from "vitest";
import { asEffectName } from "../../src/model/ids.ts";
import type { PostgresEngine } from "../../src/stores/postgres/engine.ts";
import type { Key, Port, ScanOptions } from "../../src/stores/rules/port.ts";
import type { Rule } from "../../src/stores/rules/rule.ts";
import {
  type Condition,
  type Index,
  JOB_EVENT,
  JOB_LINE,
  NOTE,
  SEGMENT,
  SESSION,
  SET,
  TABLES,
  type Table,
} from "../../src/stores/tables.ts";
import { alice } from "../../src/testing/cast.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import { does, Engines, newSessions, put, rowsOf, scan } from "./port-kit.ts";
import { ODD, ROWS, type Row } from "./port-rows.ts";

describePostgres("the tables of rules on Postgres", () => {
  let engines: Engines;
  beforeAll(async () => {
    engines = await Engines.begin();
  });
  afterAll(() => engines.end());

  test.each(ROWS.map(([table, rows]) => [table.name, table, rows] as const))(
    "D5 the rows of %s are found by every index as they were written",
    async (_, table, given) => {
      const { engine } = engines.open();
      await put(engine, table, given);
      const all = await whole(engine, table, given);
      for (const [name, index] of Object.entries(table.indexes))
        for (const key of keysOf(table, index, all)) {
          const found = all.filter((row) => isUnder(index, row, key)).sort(orderOf(table, index));
          for (const options of optionsFor(table, index, found)) {
            const { isWhole = false } = options;
            const expected = pageOf(table, index, found, options).map((row) =>
              isWhole ? row : withoutLong(table, row),
            );
            expect(await scan(engine, table, name, key, options), `${name} ${JSON.stringify([key, options])}`).toEqual(
              expected,
            );
          }
          const [first, count] = await engine.read(function* (db) {
            return [yield* db.get(table, name, ...key), yield* db.count(table, name, ...key)] as const;
          });
          expect(count, name).toBe(found.length);
          expect(first, name).toEqual(found[0] === undefined ? undefined : withoutLong(table, found[0]));
        }
    },
  );

  test.each(ROWS.map(([table, rows]) => [table.name, table, rows] as const))(
    "D5 the rows of %s are changed and removed one by one, or all under a key",
    async (_, table, given) => {
      const { engine } = engines.open();
      await put(engine, table, given);
      const all = await whole(engine, table, given);
      const [first, last] = [all[0]!, all.at(-1)!];
      const [index, ...rest] = ["session", "turn", "job", "operation", "key"].filter((name) => name in table.indexes);
      const key = table.indexes[index!]!.on.map((column) => first[column] as Key);
      // The first row comes to say what the last one says, besides what it is found by.
      const said = Object.keys(table.columns).filter(
        (column) => !isOfKey(table, column) && last[column] !== undefined && column !== "changed",
      );
      const change = Object.fromEntries(said.map((column) => [column, last[column]]));
      if (table !== SEGMENT && said.length > 0) {
        const changed = await engine.write(function* (db: Port) {
          const [row] = yield* db.scan(table, "key", keyOf(table, first), { isWhole: true });
          return [row as Row, db.update(table, row as Row, change)] as const;
        });
        expect(changed[1]).toEqual({ ...changed[0], ...change });
        const [found] = await scan(engine, table, "key", keyOf(table, first), { isWhole: true });
        expect({ ...found, changed: 0 }).toEqual({ ...changed[1], changed: 0 });
      }
      await engine.write(function* (db: Port): Rule<void> {
        const row = yield* db.get(table, "key", ...keyOf(table, last));
        db.remove(table, row as Row);
      });
      expect(await scan(engine, table, "key", keyOf(table, last))).toEqual([]);
      const before = await whole(engine, table, given);
      expect(before.length).toBe(all.length - 1);
      const under = (row: Row): boolean => isUnder(table.indexes[index!]!, row, key);
      await engine.write(
        does((db) => {
          db.removeAll(table, index!, ...key);
        }),
      );
      expect(await whole(engine, table, given), rest.join()).toEqual(before.filter((row) => !under(row)));
    },
  );

  /** All rows of a table, in the order of their keys. */
  async function whole(engine: PostgresEngine, table: Table, given: readonly Row[]): Promise<readonly Row[]> {
    const { on } = table.indexes.session ?? table.indexes.all ?? table.indexes.key!;
    if ("all" in table.indexes) return scan(engine, table, "all", [], { isWhole: true });
    if (on.length === 1 && on[0] !== table.key[0] && table !== SEGMENT) {
      const keys = [...new Set(given.map((row) => row[on[0]!] as Key))].sort();
      const found = await Promise.all(keys.map((key) => scan(engine, table, "session", [key], { isWhole: true })));
      return found.flat().sort(orderOf(table, { on: [] }));
    }
    if (table === SESSION) return scan(engine, table, "ids", []);
    const keys = given.map((row) => keyOf(table, row));
    const found = await Promise.all(keys.map((key) => scan(engine, table, "key", key, { isWhole: true })));
    return found.flat().sort(orderOf(table, { on: [] }));
  }

  test("D5 every table is tried", () => {
    expect(ROWS.map(([table]) => table.name).sort()).toEqual(TABLES.map(({ name }) => name).sort());
  });

  test("D5 the first rows under a key are removed", async () => {
    const { engine } = engines.open();
    await put(engine, JOB_LINE, rowsOf(JOB_LINE));
    await engine.write(
      does((db) => {
        db.removeFirst!(JOB_LINE, "job", [5], 2);
      }),
    );
    expect((await scan(engine, JOB_LINE, "job", [5])).map(({ n }) => n)).toEqual([5, 9]);
  });

  test("D5 keys of notes that are too long for an index are kept apart", async () => {
    const { engine } = engines.open();
    const keys = ["x", "y"].flatMap((end) => ODD.map((odd) => odd + "n".repeat(900) + end));
    const row = { turn: 1, effect: asEffectName("e") };
    await put(
      engine,
      NOTE,
      keys.map((key, value) => ({ ...row, key, value })),
    );
    for (const [value, key] of keys.entries())
      expect(await scan(engine, NOTE, "key", [1, "e", key])).toEqual([{ ...row, key, value }]);
    expect(await scan(engine, NOTE, "turn", [1])).toHaveLength(keys.length);
  });

  test("D5 a text that is not JSON is corrupt, or is left out if the reader asks for that", async () => {
    const { engine, rows } = engines.open();
    await put(engine, JOB_EVENT, rowsOf(JOB_EVENT));
    await rows("UPDATE @job_event SET event = '{' WHERE seq = 2");
    await expect(scan(engine, JOB_EVENT, "job", [5])).rejects.toThrow("Event 2 of job 5");
    const damage: unknown[] = [];
    expect((await scan(engine, JOB_EVENT, "job", [5], { damage })).map(({ seq }) => seq)).toEqual([1, 3, 4, 5, 6]);
    expect(damage).toMatchObject([{ code: "store.corrupt" }]);
  });

  test("D5 a session whose usage is damaged is there, and can be removed", async () => {
    const { engine, rows } = engines.open();
    await newSessions(engine, alice);
    await rows("UPDATE @session SET usage = '{'");
    const [usage, isThere] = await engine.read(function* (db) {
      const row = yield* db.get(SESSION, "id", alice);
      return [() => row!.usage, row !== undefined] as const;
    });
    expect(isThere).toBe(true);
    expect(usage).toThrow("The usage of session alice");
    await engine.write(function* (db): Rule<void> {
      db.remove(SESSION, (yield* db.session(alice))!);
    });
    expect(await rows("SELECT 1 FROM @session")).toEqual([]);
  });
});

// ── What is expected ────────────────────────────────────────────────────────────────────────────────────────────────

const keyOf = (table: Table, row: Row): readonly Key[] => table.key.map((column) => row[column] as Key);
const isOfKey = (table: Table, column: string): boolean =>
  table.key.includes(column) || ["id", "name", "session", "key", "job"].includes(column);

/** The keys under which an index has rows, and one under which it has none. */
function keysOf(table: Table, { on }: Index<Row>, rows: readonly Row[]): readonly (readonly Key[])[] {
  if (on.length === 0) return [[]];
  const keys = new Map(
    rows.map((row) => on.map((column) => row[column] as Key)).map((key) => [JSON.stringify(key), key]),
  );
  const nowhere = on.map((column) => (table.columns[column] === "number" ? 12_345 : "nowhere"));
  return [...keys.values(), nowhere].filter((key) => !key.includes(null));
}

function isUnder({ on, only = {} }: Index<Row>, row: Row, key: readonly Key[]): boolean {
  const conditions = Object.entries(only as { readonly [column: string]: Condition });
  return (
    on.every((column, at) => row[column] === key[at]) && conditions.every(([name, value]) => meets(row[name], value))
  );
}

function meets(value: unknown, condition: Condition): boolean {
  if (condition === SET) return value !== null;
  if (condition === null || typeof condition !== "object") return value === condition;
  if ("not" in condition) return value !== condition.not;
  return "below" in condition ? Number(value) < condition.below : Number(value) >= condition.from;
}

const boundOf = (table: Table, { by = [] }: Index<Row>): string => by[0] ?? table.key.at(-1)!;

/** By what orders the index, and then by the key. Names are in the order in which they are kept. */
function orderOf(table: Table, { on, by = [] }: Index<Row>): (a: Row, b: Row) => number {
  const columns = [...by, ...table.key].filter((column) => !on.includes(column));
  return (a, b) => {
    for (const column of columns) {
      const [one, other] = [a[column], b[column]];
      if (one === other) continue;
      if (typeof one === "number") return one - Number(other);
      return Buffer.compare(Buffer.from(kept(one)), Buffer.from(kept(other)));
    }
    return 0;
  };
}
const kept = (name: unknown): string => {
  const text = String(name);
  return text.isWellFormed() && !text.includes("\u0000") && !text.startsWith("\u0001")
    ? text
    : `\u0001${JSON.stringify(text)}`;
};

function optionsFor(table: Table, index: Index<Row>, found: readonly Row[]): readonly ScanOptions[] {
  const middle = found[Math.floor(found.length / 2)]?.[boundOf(table, index)];
  const basic: readonly ScanOptions[] = [{}, { isWhole: true }, { isDescending: true }, { max: 2 }];
  if (typeof middle !== "number") return basic;
  return [
    ...basic,
    ...[{ above: middle }, { upTo: middle, isDescending: true }, { above: middle - 1.5, upTo: middle, max: 1 }],
    ...[{ above: -Infinity, upTo: Infinity }, { above: 2 ** 40 }],
  ];
}

function pageOf(table: Table, index: Index<Row>, found: readonly Row[], options: ScanOptions): readonly Row[] {
  const { above = -Infinity, upTo = Infinity, max = Infinity, isDescending = false } = options;
  const bound = boundOf(table, index);
  const within = found.filter(
    ({ [bound]: value }) => typeof value !== "number" || (value > Number(above) && value <= upTo),
  );
  return (isDescending ? within.toReversed() : within).slice(0, max);
}

const withoutLong = (table: Table, row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => table.columns[column] !== "long"));
