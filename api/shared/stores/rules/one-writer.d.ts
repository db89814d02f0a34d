import { FactKind, FactRow, SessionRow, Table } from "../tables.js";
import { Hint } from "../store.js";
import { Key, Lock, PageOptions, Port, ScanOptions, TablePage } from "./port.js";
import { Read } from "./rule.js";
import { SessionId } from "../../model/ids.js";
/**
 * The port of a store that runs one write at a time, tries it once and never sweeps blobs. It implements the methods
 * that are trivial for such a store, and the reads that `scan` can answer. A scan of the index `key` with an empty key
 * must return all rows.
 */
declare abstract class OneWriter implements Port {
  readonly leaseMs: number;
  readonly attempt: number;
  abstract scan<Row extends object>(table: Table<Row>, index: string, key: readonly Key[], options?: ScanOptions): Read<readonly Row[]>;
  abstract add<Row extends {
    readonly n: number;
  }>(table: Table<Row>, row: Omit<Row, "n">): Read<Row>;
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
  get tried(): Map<string, unknown>;
  now(given: number): Read<number>;
  isDead(process: string): boolean;
  session(id: SessionId): Read<SessionRow | undefined>;
  sessionOf(n: number): Read<SessionRow | undefined>;
  lock(_what: Lock): void;
  hint(_hint: Hint): void;
  keepNamed(_text: () => string): Read<void>;
  get<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<Row | undefined>;
  count<Row extends object>(table: Table<Row>, index: string, ...key: readonly Key[]): Read<number>;
  gone(): Read<number>;
  /** Returns all rows as one page. */
  page<Row extends object>(table: Table<Row>, _after: readonly Key[] | undefined, _max: number, options: PageOptions): Read<TablePage<Row>>;
}
export { OneWriter };
