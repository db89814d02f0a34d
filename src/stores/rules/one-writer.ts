import type { SessionId } from "../../model/ids.ts";
import { isProvenDead } from "../rows/process.ts";
import { type Hint, LEASE_MS } from "../store.ts";
import { type FactKind, type FactRow, GONE, SESSION, type SessionRow, type Table } from "../tables.ts";
import type { Key, Lock, PageOptions, Port, ScanOptions, TablePage } from "./port.ts";
import { now, type Read } from "./rule.ts";

/**
 * The port of a store that runs one write at a time, tries it once and never sweeps blobs. It implements the methods
 * that are trivial for such a store, and the reads that `scan` can answer. A scan of the index `key` with an empty key
 * must return all rows.
 */
export abstract class OneWriter implements Port {
  readonly leaseMs: number = LEASE_MS;
  readonly attempt: number = 1;

  abstract scan<Row extends object>(
    table: Table<Row>,
    index: string,
    key: readonly Key[],
    options?: ScanOptions,
  ): Read<readonly Row[]>;
  abstract add<Row extends { readonly n: number }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row>;
  abstract insert<Row extends object>(table: Table<Row>, row: Row): void;
  abstract update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row;
  abstract remove<Row extends object>(table: Table<Row>, row: Row): void;
  abstract removeAll(table: Table, index: string, ...key: readonly Key[]): void;
  abstract fact(session: number, kind: FactKind, of: number): Read<number>;
  abstract facts(after: number, sessions: readonly number[] | undefined, max: number): Read<readonly FactRow[]>;
  abstract latestFact(): Read<number>;
  abstract latestChange(): Read<number>;
  abstract keepBlobs(names: readonly string[]): Read<void>;

  /** Always new: a write must not see what an earlier write tried. */
  get tried(): Map<string, unknown> {
    return new Map();
  }

  now(given: number): Read<number> {
    return now(given);
  }

  isDead(process: string): boolean {
    return isProvenDead(process);
  }

  session(id: SessionId): Read<SessionRow | undefined> {
    return this.get(SESSION, "id", id);
  }

  sessionOf(n: number): Read<SessionRow | undefined> {
    return this.get(SESSION, "key", n);
  }

  lock(_what: Lock): void {}
  hint(_hint: Hint): void {}

  keepNamed(_text: () => string): Read<void> {
    return now(undefined);
  }

  *get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<Row | undefined> {
    return (yield* this.scan(table, index, key, { max: 1 }))[0];
  }

  *count<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<number> {
    return (yield* this.scan(table, index, key)).length;
  }

  gone(): Read<number> {
    return this.count(GONE, "key");
  }

  /** Returns all rows as one page. */
  *page<Row extends object>(
    table: Table<Row>,
    _after: readonly Key[] | undefined,
    _max: number,
    options: PageOptions,
  ): Read<TablePage<Row>> {
    return { rows: yield* this.scan(table, "key", [], options), last: undefined };
  }
}
