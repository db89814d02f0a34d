/** What the store needs of a database; `node:sqlite` and better-sqlite3 both have it. */
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
