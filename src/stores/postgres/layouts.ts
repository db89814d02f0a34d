import { once } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Key, ScanOptions } from "../rules/port.ts";
import { type Condition, type Index, OPERATION, SET, type Table } from "../tables.ts";
import { type Column, columnsOf, type Fields, type SessionNames } from "./columns.ts";
import type { Value } from "./database.ts";

/**
 * The SQL statements of each table and index. Each text is built once, because a connection prepares each different
 * text.
 */

/** A statement with its values. */
export type Sent = readonly [sql: string, ...values: Value[]];

/** The FROM and ORDER BY of an index, if they are not the table and its column. */
interface Source {
  readonly from?: string;
  readonly by?: string;
}
const SOURCES: { readonly [place: string]: Source } = {
  // A step of a job writes no index of `job`, so another table contains the order of changes.
  "job.changed": { from: "(SELECT j.*, h.n AS nth FROM @job_change h JOIN @job j ON j.n = h.job) AS job", by: "nth" },
  "wait.open": { by: "coalesce(asked, moved)" },
  "wait.openMoved": { by: "coalesce(asked, moved)" },
};

/** Indexes with at most one row per key. */
const UNIQUE: ReadonlySet<string> = new Set([
  ...[
    "session.id",
    "turn.id",
    "turn.inputKey",
    "segment.named",
    "wait.id",
    "operation.name",
    "job.id",
    "job_event.name",
  ],
  ...["subscription.id", "occurrence.id"],
]);

/** Columns of times, which may be fractions. All other numbers are integers. */
const TIMES: ReadonlySet<string> = new Set([
  ...["session.wake", "session.activity", "session_tag.activity", "job.due", "subscription.next"],
]);
/** 32-bit columns. */
const SMALL: ReadonlySet<string> = new Set(["journal.seq", "job_event.seq", "delivery.nth"]);

interface Select {
  readonly text: string;
  readonly columns: readonly Column[];
  /** Columns whose values are known from the key, so they are not selected. */
  readonly given: readonly { readonly name: string; readonly at: number }[];
}

export class Layout {
  readonly table: Table;
  readonly columns: readonly Column[];
  readonly #byName: ReadonlyMap<string, Column>;
  readonly #texts = new Map<string, string>();
  readonly #selects = new Map<string, Select>();

  constructor(table: Table) {
    this.table = table;
    this.columns = columnsOf(table);
    this.#byName = new Map(this.columns.map((column) => [column.name, column]));
  }

  #column(name: string): Column {
    return this.#byName.get(name)!;
  }

  #index(name: string): Index<Fields> {
    const index = this.table.indexes[name];
    if (index === undefined) throw new Error(`The table ${this.table.name} has no index ${name}.`);
    return index;
  }

  #text(key: string, make: () => string): string {
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#texts.set(key, made);
    return made;
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  get(index: string, key: readonly Key[]): Reading {
    return this.scan(index, key, this.#isUnique(index) ? {} : { max: 1 });
  }

  #isUnique(index: string): boolean {
    return index === "key" || UNIQUE.has(`${this.table.name}.${index}`);
  }

  scan(index: string, key: readonly Key[], options: ScanOptions): Reading {
    const { above, upTo, upToNext, max = Infinity, isDescending = false, isWhole = false } = options;
    const has = {
      above: above !== undefined,
      upTo: upTo !== undefined,
      next: upToNext !== undefined,
      max: max !== Infinity,
    };
    const shape = `${index} ${has.above} ${has.upTo} ${has.next} ${has.max} ${isDescending} ${isWhole}`;
    const select = this.#selects.get(shape) ?? this.#select(shape, index, has, isDescending, isWhole);
    const values = this.#keyValues(index, key);
    if (above !== undefined) values.push(this.#bound(index, above));
    if (upTo !== undefined) values.push(this.#bound(index, upTo));
    if (upToNext !== undefined) values.push(upToNext);
    if (has.max) values.push(max);
    const fixed = Object.fromEntries(select.given.map(({ name, at }) => [name, key[at]]));
    return {
      sent: [select.text, ...values],
      decode: (rows, known, damage) => decodeAll(select.columns, rows, known, fixed, damage),
    };
  }

  #select(
    shape: string,
    name: string,
    has: { readonly above: boolean; readonly upTo: boolean; readonly next: boolean; readonly max: boolean },
    isDescending: boolean,
    isWhole: boolean,
  ): Select {
    const { on, by = [] } = this.#index(name);
    const { key } = this.table;
    const { from = `@${this.table.name}`, by: order } = this.#source(name);
    const isGiven = (column: string): boolean =>
      on.includes(column) && ["number", "name"].includes(this.#column(column).kind);
    const columns = this.columns.filter(({ name, kind }) => !isGiven(name) && (isWhole || kind !== "long"));
    const given = on.flatMap((name, at) => (isGiven(name) ? [{ name, at }] : []));
    const terms = this.#terms(name);
    const bound = order ?? this.#column(by[0] ?? key.at(-1)!).sql;
    let last = on.length;
    if (has.above) terms.push(`${bound} > $${++last}`);
    if (has.next) {
      const next = [...by, ...key].filter((column) => !on.includes(column))[1]!;
      terms.push(`(${bound}, ${this.#column(next).sql}) <= ($${++last}, $${++last})`);
    } else if (has.upTo) terms.push(`${bound} <= $${++last}`);
    const where = terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`;
    const limited = has.max ? ` LIMIT $${++last}` : "";
    // A row whose columns are all in the key must still be returned as a row.
    const wanted = columns.map(({ sql }) => sql).join(", ") || "1 AS found";
    const text = `SELECT ${wanted} FROM ${from}${where}${this.#order(name, isDescending)}${limited}`;
    const select = { text, columns, given };
    this.#selects.set(shape, select);
    return select;
  }

  #order(name: string, isDescending: boolean): string {
    if (this.#isUnique(name)) return "";
    const { on, by = [] } = this.#index(name);
    const order = this.#source(name).by;
    const first = order === undefined ? by.map((column) => this.#column(column).sql) : [order];
    const rest = this.table.key.filter((column) => !on.includes(column)).map((column) => this.#column(column).sql);
    const sorted = [...new Set([...first, ...rest])].map((place) => (isDescending ? `${place} DESC` : place));
    return sorted.length === 0 ? "" : ` ORDER BY ${sorted.join(", ")}`;
  }

  #source(index: string): Source {
    return SOURCES[`${this.table.name}.${index}`] ?? {};
  }

  count(index: string, key: readonly Key[]): Sent {
    const text = this.#text(
      `count ${index}`,
      () => `SELECT count(*) AS count FROM @${this.table.name}${this.#where(index)}`,
    );
    return [text, ...this.#keyValues(index, key)];
  }

  /** Returns the conditions of an index. The parameters are its key. */
  #terms(name: string): string[] {
    const { on, only = {} } = this.#index(name);
    return [
      ...on.map((column, at) => `${this.#column(column).sql} = $${at + 1}`),
      ...Object.entries(only as { readonly [column: string]: Condition }).map(([column, condition]) =>
        termOf(this.#column(column).sql, condition),
      ),
    ];
  }

  #where(index: string): string {
    const terms = this.#terms(index);
    return terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`;
  }

  #keyValues(index: string, key: readonly Key[]): Value[] {
    return this.#index(index).on.map((column, at) => this.#column(column).encode(key[at], {}));
  }

  /** Returns a number in the range of the column for any number of a caller. */
  #bound(index: string, value: number | string): Value {
    const { by = [] } = this.#index(index);
    const column = this.#column(by[0] ?? this.table.key.at(-1)!);
    if (typeof value === "string") return column.encode(value, {});
    const place = `${this.table.name}.${column.name}`;
    if (TIMES.has(place)) return value;
    const most = SMALL.has(place) ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
    return Math.floor(Math.min(Math.max(value, -most), most));
  }

  // ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  insert(row: Fields): Sent {
    return [this.#text("insert", () => this.#inserts(this.columns)), ...encodeAll(this.columns, row)];
  }

  /**
   * Returns the insert of a row that the server numbers. With `once`, an index of that name must not contain the row
   * yet.
   */
  add(row: Fields, once?: string): Sent {
    const columns = this.columns.filter(({ name }) => name !== "n");
    const text = this.#text(`add ${once}`, () => {
      const onConflict = once === undefined ? "" : ` ON CONFLICT ${this.#target(once)} DO NOTHING`;
      return `${this.#inserts(columns)}${onConflict} RETURNING n`;
    });
    return [text, ...encodeAll(columns, row)];
  }

  #inserts(columns: readonly Column[]): string {
    const names = columns.map(({ sql }) => sql);
    const values = columns.map((_, at) => `$${at + 1}`);
    // The number of an operation has no default, because a segment may already use it.
    if (this.table === OPERATION && columns.length < this.columns.length) {
      names.push("n");
      values.push("pg_catalog.nextval('@number'::regclass)");
    }
    return `INSERT INTO @${this.table.name} (${names.join(", ")}) VALUES (${values.join(", ")})`;
  }

  #target(index: string): string {
    const { on, only = {} } = this.#index(index);
    const terms = Object.entries(only as { readonly [column: string]: Condition }).map(([column, condition]) =>
      termOf(this.#column(column).sql, condition),
    );
    return `(${on.map((column) => this.#column(column).sql).join(", ")})${terms.length === 0 ? "" : ` WHERE ${terms.join(" AND ")}`}`;
  }

  /** Returns undefined if no column changes. */
  update(row: Fields, change: Fields): Sent | undefined {
    const columns = this.changed(row, change);
    if (columns.length === 0) return undefined;
    const { key } = this.table;
    const text = this.#text(`update ${columns.map(({ sql }) => sql).join()}`, () => {
      const sets = columns.map(({ sql }, at) => `${sql} = $${key.length + at + 1}`).join(", ");
      return `UPDATE @${this.table.name} SET ${sets}${this.#where("key")}`;
    });
    return [text, ...this.#keyOf(row), ...encodeAll(columns, { ...row, ...change })];
  }

  /** Returns the columns whose value changes. */
  changed(row: Fields, change: Fields): readonly Column[] {
    return this.columns.filter(({ name }) => change[name] !== undefined && change[name] !== row[name]);
  }

  remove(row: Fields): Sent {
    return [this.#text("remove", () => `DELETE FROM @${this.table.name}${this.#where("key")}`), ...this.#keyOf(row)];
  }

  /** Returns the delete of all rows under a key, or of the first `count`. */
  removeAll(index: string, key: readonly Key[], count?: number): Sent {
    const values = this.#keyValues(index, key);
    if (count === undefined)
      return [this.#text(`remove ${index}`, () => `DELETE FROM @${this.table.name}${this.#where(index)}`), ...values];
    const text = this.#text(`remove first ${index}`, () => {
      const names = this.table.key.map((column) => this.#column(column).sql).join(", ");
      const first = `SELECT ${names} FROM @${this.table.name}${this.#where(index)}${this.#order(index, false)}`;
      return `DELETE FROM @${this.table.name} WHERE (${names}) IN (${first} LIMIT $${values.length + 1})`;
    });
    return [text, ...values, count];
  }

  #keyOf(row: Fields): readonly Value[] {
    return this.table.key.map((column) => this.#column(column).encode(row[column], row));
  }

  /** Returns an added row as it will be read back. */
  added(row: Fields, n: number): Fields {
    const present = this.columns.filter(({ name }) => row[name] !== undefined).map(({ name }) => [name, row[name]]);
    return { ...Object.fromEntries(present), n };
  }

  decode(row: Fields, known: SessionNames, isWhole = false): Fields {
    const columns = isWhole ? this.columns : this.columns.filter(({ kind }) => kind !== "long");
    return decodeOne(columns, row, known, {});
  }

  /** As `decode`, but decodes each value on first use. So a damaged value fails only its readers. */
  decodeLate(stored: Fields, known: SessionNames): Fields {
    const row: Fields = {};
    for (const { name, sql, kind, decode } of this.columns) {
      const get = once(() => decode(stored[sql], row, known));
      Object.defineProperty(row, name, kind === "json" ? { ...SHOWN, get } : { ...SHOWN, value: get() });
    }
    return row;
  }
}

const SHOWN = { enumerable: true, configurable: true };

/** Returns a changed copy of a row without decoding its unchanged values. */
export function changedRow<Row extends object>(row: Row, change: Partial<Row>): Row {
  const after = Object.defineProperties({}, Object.getOwnPropertyDescriptors(row));
  for (const [name, value] of Object.entries(change)) Object.defineProperty(after, name, { ...SHOWN, value });
  return after as Row;
}

/** A statement and its result rows. */
export interface Reading {
  readonly sent: Sent;
  decode(rows: readonly Fields[], known: SessionNames, damage?: unknown[]): readonly Fields[];
}

function decodeAll(
  columns: readonly Column[],
  rows: readonly Fields[],
  known: SessionNames,
  fixed: Fields,
  damage: unknown[] | undefined,
): readonly Fields[] {
  if (damage === undefined) return rows.map((row) => decodeOne(columns, row, known, fixed));
  return rows.flatMap((row) => {
    try {
      return [decodeOne(columns, row, known, fixed)];
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
      damage.push(error);
      return [];
    }
  });
}

function decodeOne(columns: readonly Column[], stored: Fields, known: SessionNames, fixed: Fields): Fields {
  const row: { [column: string]: unknown } = { ...fixed };
  for (const { name, sql, decode } of columns) row[name] = decode(stored[sql], row, known);
  return row;
}

const encodeAll = (columns: readonly Column[], row: Fields): Value[] =>
  columns.map(({ name, encode }) => encode(row[name], row));

function termOf(column: string, condition: Condition): string {
  if (condition === SET) return `${column} IS NOT NULL`;
  if (condition === null) return `${column} IS NULL`;
  if (typeof condition === "boolean") return condition ? column : `NOT ${column}`;
  if (typeof condition === "number") return `${column} = ${condition}`;
  if ("not" in condition) return `${column} <> ${condition.not}`;
  return "below" in condition ? `${column} < ${condition.below}` : `${column} >= ${condition.from}`;
}

const LAYOUTS = new Map<Table, Layout>();

export function layoutOf(table: Table): Layout {
  const known = LAYOUTS.get(table);
  if (known !== undefined) return known;
  const made = new Layout(table);
  LAYOUTS.set(table, made);
  return made;
}
