import { expect, test } from "vitest";
import { given, type Opened, openPort, type Row, rowsOf } from "../../../test/stores/sqlite-port.ts";
import { filled, ODD, SAMPLES } from "../../../test/stores/sqlite-rows.ts";
import type { RuntimeError } from "../../model/errors.ts";
import { asJobId } from "../../model/ids.ts";
import { keyText } from "../rows/codec.ts";
import type { Key, ScanOptions } from "../rules/port.ts";
import {
  type Condition,
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_LINE,
  JOB_OWNER,
  JOURNAL,
  OCCURRENCE,
  OPERATION,
  SEGMENT,
  SET,
  STATE,
  SUBSCRIPTION,
  TABLES,
  type Table,
  TURN,
  WAIT,
} from "../tables.ts";
import { type Cell, keyCell, SEQS } from "./layout-rows.ts";
import { storedTableOf } from "./layouts.ts";

const isLong = (table: Table, column: string): boolean => table.columns[column] === "long";
const short = (table: Table, row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([column]) => !isLong(table, column)));

function meets(value: unknown, condition: Condition): boolean {
  if (condition === SET) return value !== null;
  if (condition === null || typeof condition !== "object") return value === condition;
  if ("not" in condition) return value !== condition.not;
  return "below" in condition ? (value as number) < condition.below : (value as number) >= condition.from;
}

/** As the file orders them: a name by the text that is kept for it. */
function compared(a: unknown, b: unknown): number {
  if (typeof a !== "string") return (a as number) - (b as number);
  return Buffer.compare(Buffer.from(keyText(a)), Buffer.from(keyText(b as string)));
}

function expected(table: Table, rows: readonly Row[], index: string, key: readonly Key[], options: ScanOptions) {
  const { on, by = [], only = {} } = table.indexes[index]!;
  const order = [...by, ...table.key];
  const first = by[0] ?? table.key.at(-1)!;
  const { above, upTo, max, isDescending, isWhole } = options;
  const found = rows
    .filter((row) => on.every((column, at) => row[column] === key[at]))
    .filter((row) => Object.entries(only).every(([column, condition]) => meets(row[column], condition as Condition)))
    .filter((row) => above === undefined || compared(row[first], above) > 0)
    .filter((row) => upTo === undefined || compared(row[first], upTo) <= 0)
    .sort((a, b) => {
      const column = order.find((each) => compared(a[each], b[each]) !== 0);
      return column === undefined ? 0 : (isDescending ? -1 : 1) * compared(a[column], b[column]);
    });
  return (isWhole === true ? found : found.map((row) => short(table, row))).slice(0, max);
}

/** Reads a table by all of its indexes, in all ways. */
function verify({ read }: Opened, table: Table, rows: readonly Row[]): void {
  for (const [index, { on, by = [] }] of Object.entries(table.indexes)) {
    const first = by[0] ?? table.key.at(-1)!;
    const keys = new Map(
      rows.map((row) => on.map((column) => row[column] as Key)).map((key) => [JSON.stringify(key), key]),
    );
    keys.set(
      "none",
      on.map(() => -1),
    );
    for (const key of keys.values()) {
      const scanned = (options: ScanOptions) => {
        const found = read((port) => port.scan(table, index, key, options));
        expect(found, `${table.name} ${index} ${key}`).toEqual(expected(table, rows, index, key, options));
        return found;
      };
      const all = scanned({}) as readonly Row[];
      scanned({ isWhole: true });
      scanned({ isDescending: true, max: 2 });
      for (const row of all) {
        const value = row[first] as number;
        scanned({ above: value, max: 1 });
        if (typeof value === "number") scanned({ upTo: value, isDescending: true, isWhole: true });
      }
      expect(read((port) => port.get(table, index, ...key))).toEqual(all[0]);
      expect(read((port) => port.count(table, index, ...key))).toBe(all.length);
    }
  }
}

const SAMPLED = TABLES.filter(({ name }) => name in SAMPLES);

test.each(SAMPLED.map((table) => [table.name, table] as const))(
  "D8 sqlite port: the rows of %s are found by every index, changed and removed",
  (name, table) => {
    const its = filled(table);
    const { write, read, rows } = its;
    verify(its, table, rows);

    // Twice: a row that was changed can be changed again.
    const [, change] = SAMPLES[name]!;
    const keyOf = (row: Row): Key[] => table.key.map((column) => row[column] as Key);
    const changed = write((port) => {
      const before = given(port.scan(table, "key", keyOf(rows[0]!), { isWhole: true }))[0]! as Row;
      const [column, value] = Object.entries(change)[0] ?? [];
      const half = column === undefined ? before : (port.update(table, before, { [column]: value }) as Row);
      return port.update(table, half, change) as Row;
    });
    expect(changed).toEqual({ ...rows[0], ...change, ...(table === JOB ? { changed: rows.length + 1 } : {}) });
    const left = [changed, ...rows.slice(1)];
    verify(its, table, left);

    write((port) => port.remove(table, given(port.get(table, "key", ...keyOf(left[1]!)))!));
    verify(its, table, [left[0]!, ...left.slice(2)]);
    const index = Object.keys(table.indexes)[0]!;
    const { on } = table.indexes[index]!;
    const last = left.at(-1)!;
    const key = on.map((column) => last[column] as Key);
    const others = [left[0]!, ...left.slice(2)].filter((row) => !expected(table, [row], index, key, {}).length);
    write((port) => port.removeAll(table, index, ...key));
    verify(its, table, others);
    expect(read((port) => port.count(table, index, ...key))).toBe(0);
  },
);

test("D8 sqlite port: rows are removed by every index, and sessions count what is left", () => {
  for (const table of SAMPLED)
    for (const [index, { on }] of Object.entries(table.indexes)) {
      const { write, db, rows } = filled(table);
      const key = on.map((column) => rows[0]![column] as Key);
      const gone = expected(table, rows, index, key, {});
      write((port) => port.removeAll(table, index, ...key));
      const { count } = db.row<{ count: number }>(`SELECT count(*) AS count FROM ${table.name}`)!;
      expect(count, `${table.name} ${index}`).toBe(rows.length - gone.length);
      db.close();
    }
});

test("D8 sqlite port: a row that the port did not give out is neither changed nor removed, and no key changes", () => {
  for (const table of [TURN, JOB] as readonly Table[]) {
    const { write, rows } = filled(table);
    const copy = { ...rows[0]! };
    expect(() => write((port) => port.update(table, copy, { state: 1 }))).toThrow("did not give out");
    expect(() => write((port) => port.remove(table, copy))).toThrow("did not give out");
    expect(() => write((port) => port.update(table, given(port.get(table, "key", 1))!, { n: 9 }))).toThrow(
      "another key",
    );
  }
});

test("J5 sqlite port: what a job awaits is forgotten, also what it came to await in the same write", () => {
  const { write, read } = filled(JOB);
  const awaiting = (id: string) => ({ awaited: asJobId(id), job: 4 });
  const left = () => read((port) => port.scan(JOB_AWAIT, "job", [4])).map(({ awaited }) => awaited);
  write((port) => ["one", ODD[0]!].map((id) => port.insert(JOB_AWAIT, awaiting(id))));
  expect(left()).toHaveLength(2);
  write((port) => {
    const row = given(port.get(JOB, "key", 4))!;
    port.insert(JOB_AWAIT, awaiting("five"));
    port.update(JOB, row, { awaits: null });
    port.removeAll(JOB_AWAIT, "job", 4);
  });
  expect(left()).toEqual([]);
  write((port) => port.insert(JOB_AWAIT, awaiting("one")));
  write((port) => port.removeAll(JOB_AWAIT, "job", 4)); // Of a job that was not read.
  expect(left()).toEqual([]);
});

// ── Damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Columns without a checksum. Rules find what is wrong with a size; `check` finds the rest. */
const BARE: { readonly [table: string]: readonly string[] } = {
  segment: ["users", "is_named"],
  turn: ["is_shown"],
  journal: ["size", "until"],
};

const DAMAGED = SAMPLED.filter(({ name }) => name !== "gone" && name !== "job_await");

test.each(DAMAGED.map((table) => [table.name, table] as const))(
  "D8 sqlite port: whatever of a row of %s is changed, it is refused, and the others are read",
  (name, table) => {
    const { columns, key } = columnsOf(name);
    for (const { name: column, type } of columns) {
      if (BARE[name]?.includes(column)) continue;
      const its = filled(table);
      const { db, rows } = its;
      const which = key.map((each) => `${each} = ?`).join(" AND ");
      db.run(`UPDATE ${name} SET ${column} = ${other(type, column)} WHERE ${which}`, ...keyCells(table, rows[0]!));
      const damage: unknown[] = [];
      expect(rowsOf(its, table, damage), column).toHaveLength(rows.length - 1);
      expect(damage, column).toMatchObject([{ code: "store.corrupt" }]);
      expect(() => rowsOf(its, table), column).toThrow(expect.objectContaining({ code: "store.corrupt" }));
      db.close();
    }
  },
);

/** The key of a row as the file has it. */
function keyCells(table: Table, row: Row): Cell[] {
  const { span } = storedTableOf(table).layout;
  if (span !== undefined) return [Number(row[span.of]) * SEQS + Number(row[span.at])];
  return table.key.map((column) => keyCell(table.columns[column]!, row[column] as Key));
}

/** The columns of a table of the file, and those of its key. */
function columnsOf(name: string) {
  const { db } = openPort();
  const columns = db.rows<{ name: string; type: string; pk: number }>(`SELECT * FROM pragma_table_info('${name}')`);
  const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk);
  return { columns, key: key.map((column) => column.name) };
}

/** Another value of a column. The last letter of a text may be one of JSON: a text that is no JSON any more is found too. */
function other(type: string, column: string): string {
  if (type === "TEXT") return `iif(${column} IS NULL, 'x', substr(${column}, 1, length(${column}) - 1) || '~')`;
  return column.startsWith("is_") ? `1 - ${column}` : `coalesce(${column}, 0) + 1000`;
}

test("D8 sqlite port: what is refused is named as it always was, and never by the key of a wait", () => {
  const named = (table: Table, sql: string): unknown => {
    const its = filled(table);
    its.db.run(sql);
    const damage: unknown[] = [];
    rowsOf(its, table, damage);
    return (damage[0] as RuntimeError).details;
  };
  const NO_FIT = "its checksum does not fit";
  const item = (it: string, problem = NO_FIT) => ({ item: it, problem });
  expect(named(TURN, "UPDATE turn SET hash = 'x' WHERE n = 1")).toEqual(item("Turn one"));
  expect(named(TURN, "UPDATE turn SET input = substr(input, 1, 9) WHERE n = 1")).toEqual(item("The input input-one"));
  expect(named(TURN, "UPDATE turn SET cancel = substr(cancel, 1, 9) WHERE n = 6")).toEqual(
    item("The cancel of turn 6"),
  );
  expect(named(TURN, "UPDATE turn SET ended = substr(ended, 1, 9) WHERE n = 8")).toEqual(item("The end of turn eight"));
  expect(named(WAIT, "UPDATE wait SET until = 1 WHERE n = 1")).toEqual(item("The wait wai_a of turn 1"));
  expect(named(WAIT, "UPDATE wait SET until = 1 WHERE n = 5")).toEqual(item("The wait wai_e of job w"));
  expect(named(JOB, "UPDATE job SET due = 1 WHERE n = 1")).toEqual(item("Job one"));
  expect(named(JOB, "UPDATE job SET moves = substr(moves, 1, 9) WHERE n = 1")).toEqual(item("The record of job one"));
  expect(named(JOB_EVENT, "UPDATE job_event SET event = 'x' WHERE job = 2")).toEqual(item("Event 1 of job 2"));
  expect(named(SEGMENT, "UPDATE segment SET depth = 9 WHERE n = 1")).toEqual(item("The segment of c1"));
  expect(named(JOURNAL, "UPDATE journal SET events = 'x' WHERE size = 2")).toEqual(item("The journal of turn 1 at 1"));
  expect(named(OPERATION, "UPDATE operation SET hash = 'x' WHERE n = 3")).toEqual(item("The receipt of operation op"));
  expect(named(SUBSCRIPTION, "UPDATE subscription SET next = 1 WHERE n = 1")).toEqual(item("The subscription a"));
  expect(named(OCCURRENCE, "UPDATE occurrence SET at = 1 WHERE n = 1")).toEqual(item("The occurrence o1"));
  expect(named(STATE, "UPDATE state SET body = NULL WHERE since = 2")).toEqual(
    item("The state of plugin notes", "it is not a text"),
  );
});

test("D8 sqlite port: damaged rows can be removed, and an owner can be written again", () => {
  const its = filled(JOB_OWNER);
  its.db.run("UPDATE job_owner SET until = 99 WHERE id = 'ann'");
  const ann = { id: "ann", process: "p", until: 7 };
  its.write((port) => port.insert(JOB_OWNER, ann));
  expect(its.read((port) => port.get(JOB_OWNER, "key", "ann"))).toEqual(ann);
  const lines = filled(JOB_LINE);
  lines.db.run("UPDATE job_line SET line = 'x' WHERE n = 1");
  lines.write((port) => port.removeFirst(JOB_LINE, "job", [1], 1));
  expect(lines.read((port) => port.scan(JOB_LINE, "job", [1])).map(({ n }) => n)).toEqual([4]);
  const jobs = filled(JOB);
  jobs.db.run("UPDATE job SET due = 77");
  jobs.write((port) => port.removeAll(JOB, "session", 1));
  expect(jobs.read((port) => port.count(JOB, "session", 1))).toBe(0);
});
