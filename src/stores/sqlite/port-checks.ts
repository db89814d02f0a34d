import type { BlobPage, Finding, Key, PageOptions, TablePage } from "../rules/port.ts";
import { now, type Read } from "../rules/rule.ts";
import type { Table } from "../tables.ts";
import type { Connection } from "./connection.ts";
import { blobsAfter, blobsAmong, damageIn, pageOf } from "./layout-pages.ts";
import { problemsIn } from "./problems.ts";

/** The parts of the port that a check needs. */
export abstract class PortChecks {
  readonly #db: Connection;

  constructor(db: Connection) {
    this.#db = db;
  }

  /** Clears the cache of read rows, because a check reads too many to cache. */
  protected abstract forgetRead(): void;

  page<Row extends object>(
    table: Table<Row>,
    after: readonly Key[] | undefined,
    max: number,
    options: PageOptions,
  ): Read<TablePage<Row>> {
    this.forgetRead();
    return now(pageOf(this.#db, table, after, max, options));
  }

  problems(isDeep: boolean, max: number): Read<readonly Finding[]> {
    return now(problemsIn(this.#db, isDeep, max));
  }

  blobPage(after: Key | undefined, max: number): Read<BlobPage> {
    return now(blobsAfter(this.#db, after, max));
  }

  hasBlobs(hashes: readonly string[]): Read<ReadonlySet<string>> {
    return now(blobsAmong(this.#db, hashes));
  }

  damageIn(error: unknown): unknown {
    return damageIn(error, this.#db.path);
  }
}
