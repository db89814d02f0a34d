/** What the store needs from a database. Both `node:sqlite` and better-sqlite3 have it. */
interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): Statement;
  close(): unknown;
}
interface Statement {
  run(...values: Value[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: Value[]): unknown;
  all(...values: Value[]): unknown[];
}
type Value = string | number | null | Uint8Array;
export { Database };
