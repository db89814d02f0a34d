import type { Key, ScanOptions } from "../rules/port.ts";
import { type Condition, SET } from "../tables.ts";
import { limit } from "./facts.ts";
import { type Cell, keyCell, type Layout, LIMIT, SEQS, type StoredRow } from "./layout-rows.ts";

/**
 * The SQL statements of one table. A connection finds prepared statements by their text, so each text is built once.
 *
 * Conditions of an index are literals: SQLite uses a partial index only if the statement contains its condition.
 */

/** A condition and its parameter. */
interface Term {
  /** Empty for a further parameter of the condition before it. */
  readonly sql: string;
  readonly value?: (key: readonly Key[], options: ScanOptions) => Cell;
}

/** A statement and its parameters. */
export interface Statement {
  readonly sql: string;
  values(key: readonly Key[], options: ScanOptions): Cell[];
}

const [ABOVE, UP_TO, MAX, DESCENDING, WHOLE, NEXT] = [1, 2, 4, 8, 16, 32] as const;

const shapeOf = ({ above, upTo, upToNext, max, isDescending, isWhole }: ScanOptions): number =>
  (above === undefined ? 0 : ABOVE) |
  (upTo === undefined ? 0 : UP_TO) |
  (upToNext === undefined ? 0 : NEXT) |
  (max === undefined ? 0 : MAX) |
  (isDescending === true ? DESCENDING : 0) |
  (isWhole === true ? WHOLE : 0);

const NO_OPTIONS: ScanOptions = {};

export class Statements {
  readonly #layout: Layout;
  readonly #selects = new Map<string, Statement[]>();
  readonly #others = new Map<string, Statement>();
  readonly #updates = new Map<number, string>();
  readonly insert: string;
  readonly next: string;
  readonly remove: string;
  /** The selected columns, with and without long ones. */
  readonly whole: string;
  readonly short: string;
  readonly #from: string;

  constructor(layout: Layout) {
    const { table, columns, sum, select, key } = layout;
    this.#layout = layout;
    const all = [...columns.map(({ storedAs }) => storedAs), ...(sum === undefined ? [] : ["seal"])];
    const selected = (column: string, isLong: boolean): string =>
      // A long text begins with its checksum, which the checksum of the row needs.
      isLong && sum !== undefined ? `substr(t.${column}, 1, 8) AS ${column}` : `t.${column}`;
    const long = new Set(columns.flatMap(({ kind, storedAs }) => (kind === "long" ? [storedAs] : [])));
    this.whole = select ?? all.map((column) => selected(column, false)).join(", ");
    this.short =
      select ??
      all
        .flatMap((column) => (long.has(column) && sum === undefined ? [] : selected(column, long.has(column))))
        .join(", ");
    this.#from = layout.from ?? `${table.name} t`;
    const verb = layout.isReplaced === true ? "REPLACE" : "INSERT";
    this.insert = `${verb} INTO ${table.name} (${all.join(", ")}) VALUES (${all.map(() => "?").join(", ")})`;
    this.next = `SELECT coalesce(max(n), 0) + 1 AS next FROM ${table.name}`;
    this.remove = `DELETE FROM ${table.name} WHERE ${key.map((column) => `${column} = ?`).join(" AND ")}`;
  }

  /** Returns the parameters of `insert`. */
  inserted(row: StoredRow): Cell[] {
    const { columns, sum } = this.#layout;
    const cells: Cell[] = [];
    for (const { storedAs } of columns) cells.push(row[storedAs] as Cell);
    if (sum !== undefined) cells.push(row.seal as Cell);
    return cells;
  }

  keyOf(row: StoredRow): Cell[] {
    return this.#layout.key.map((column) => row[column] as Cell);
  }

  /** Returns the statement that updates the columns of a mask, and the checksum. */
  update(mask: number): string {
    const known = this.#updates.get(mask);
    if (known !== undefined) return known;
    const { table, columns, sum, key } = this.#layout;
    const changed = columns.flatMap(({ storedAs }, at) => ((mask & (1 << at)) === 0 ? [] : [storedAs]));
    const sets = [...changed, ...(sum === undefined ? [] : ["seal"])].map((column) => `${column} = ?`);
    const text = `UPDATE ${table.name} SET ${sets.join(", ")} WHERE ${key.map((column) => `${column} = ?`).join(" AND ")}`;
    this.#updates.set(mask, text);
    return text;
  }

  /** Returns the parameters of `update`. */
  updated(mask: number, row: StoredRow): Cell[] {
    const { columns, sum } = this.#layout;
    const cells: Cell[] = [];
    for (let at = 0; at < columns.length; at++)
      if ((mask & (1 << at)) !== 0) cells.push(row[columns[at]!.storedAs] as Cell);
    if (sum !== undefined) cells.push(row.seal as Cell);
    cells.push(...this.keyOf(row));
    return cells;
  }

  select(index: string, options: ScanOptions = NO_OPTIONS): Statement {
    const shape = shapeOf(options);
    let shapes = this.#selects.get(index);
    if (shapes === undefined) this.#selects.set(index, (shapes = []));
    return (shapes[shape] ??= this.#selected(index, shape));
  }

  count(index: string): Statement {
    return this.#other(`count ${index}`, () => {
      const { with: before = "", from = this.#from } = this.#way(index);
      const terms = this.#termsOf(index);
      return statement(`${before}SELECT count(*) AS count FROM ${from}${where(terms)}`, terms);
    });
  }

  /** Returns the statement that counts the rows under an index key by session or by turn. */
  owners(index: string, column: string): Statement {
    return this.#other(`owners ${index}`, () => {
      const terms = this.#termsOf(index);
      const { name } = this.#layout.table;
      return statement(
        `SELECT t.${column} AS owner, count(*) AS count FROM ${name} t${where(terms)} GROUP BY t.${column}`,
        terms,
      );
    });
  }

  removeAll(index: string): Statement {
    return this.#other(`remove ${index}`, () => {
      const terms = this.#termsOf(index);
      return statement(`DELETE FROM ${this.#layout.table.name} AS t${where(terms)}`, terms);
    });
  }

  #other(name: string, make: () => Statement): Statement {
    const known = this.#others.get(name) ?? make();
    this.#others.set(name, known);
    return known;
  }

  #selected(index: string, shape: number): Statement {
    const { table, span } = this.#layout;
    const { on, by = [] } = this.#index(index);
    const { with: before = "", from = this.#from, start } = this.#way(index);
    const first = by[0] ?? table.key.at(-1)!;
    const kind = table.columns[first] as (typeof table.columns)[string];
    const bound = (value: number | string, key: readonly Key[]): Cell =>
      span?.at === first ? (key[0] as number) * SEQS + (value as number) : keyCell(kind!, value);
    const terms = [...this.#termsOf(index)];
    if (shape & ABOVE) terms.push({ sql: `${this.#at(first)} > ?`, value: (key, { above }) => bound(above!, key) });
    else if (start !== undefined) terms.push({ sql: start });
    const order = [...new Set([...by, ...table.key])].filter((column) => !on.includes(column));
    if (shape & NEXT)
      terms.push(
        { sql: `(${this.#at(first)}, ${this.#at(order[1]!)}) <= (?, ?)`, value: (key, { upTo }) => bound(upTo!, key) },
        { sql: "", value: (_, { upToNext }) => upToNext! },
      );
    else if (shape & UP_TO) terms.push({ sql: `${this.#at(first)} <= ?`, value: (key, { upTo }) => bound(upTo!, key) });
    const sorted = order.map((column) => this.#at(column) + (shape & DESCENDING ? " DESC" : "")).join(", ");
    const sql = [
      `${before}SELECT ${shape & WHOLE ? this.whole : this.short} FROM ${from}${where(terms)}`,
      order.length === 0 ? "" : ` ORDER BY ${sorted}`,
      shape & MAX ? ` ${LIMIT}` : "",
    ];
    const limits: readonly Term[] = shape & MAX ? [{ sql: "", value: (_, { max }) => limit(max!) }] : [];
    return statement(sql.join(""), [...terms, ...limits]);
  }

  #index(name: string) {
    const index = this.#layout.table.indexes[name];
    if (index === undefined) throw new Error(`The table ${this.#layout.table.name} has no index ${name}.`);
    return index;
  }

  #way(index: string) {
    return this.#layout.ways?.[index] ?? {};
  }

  /** Returns a column's SQL. */
  #at(name: string): string {
    const { columns, places } = this.#layout;
    const { storedAs } = columns[places.get(name)!]!;
    return storedAs.includes(".") ? storedAs : `t.${storedAs}`;
  }

  #termsOf(index: string): readonly Term[] {
    const { on, only = {} } = this.#index(index);
    const words = this.#way(index).only ?? {};
    return [
      ...this.#keyTerms(on),
      ...Object.entries(only).map(([column, condition]) => ({
        sql: words[column] ?? `${this.#at(column)} ${literal(condition as Condition)}`,
      })),
    ];
  }

  #keyTerms(on: readonly string[]): readonly Term[] {
    const { span, table } = this.#layout;
    if (span !== undefined && on[0] === span.of && (on.length === 1 || on[1] === span.at)) {
      const start = (key: readonly Key[]): number => (key[0] as number) * SEQS;
      if (on.length > 1) return [{ sql: "t.k = ?", value: (key) => start(key) + (key[1] as number) }];
      return [
        { sql: "t.k >= ?", value: start },
        { sql: "t.k < ?", value: (key) => start(key) + SEQS },
      ];
    }
    return on.map((column, at) => {
      const kind = table.columns[column] as (typeof table.columns)[string];
      return { sql: `${this.#at(column)} = ?`, value: (key) => keyCell(kind!, key[at]!) };
    });
  }
}

const where = (terms: readonly Term[]): string =>
  terms.length === 0 ? "" : ` WHERE ${terms.flatMap(({ sql }) => (sql === "" ? [] : [sql])).join(" AND ")}`;

function statement(sql: string, terms: readonly Term[]): Statement {
  const given = terms.flatMap(({ value }) => (value === undefined ? [] : [value]));
  return {
    sql,
    values: (key, options) => {
      const values: Cell[] = [];
      for (const value of given) values.push(value(key, options));
      return values;
    },
  };
}

function literal(condition: Condition): string {
  if (condition === SET) return "IS NOT NULL";
  if (condition === null) return "IS NULL";
  if (typeof condition === "boolean") return `= ${condition ? 1 : 0}`;
  if (typeof condition !== "object") return `= ${condition}`;
  if ("not" in condition) return `<> ${condition.not}`;
  return "below" in condition ? `< ${condition.below}` : `>= ${condition.from}`;
}
