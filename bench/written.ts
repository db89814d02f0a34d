import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Database } from "bowline/stores/sqlite";

const WRITES = /^\s*(INSERT|UPDATE|DELETE)\b/;

/** Counts the bytes that are bound to writing statements. SQLite's own pages and indexes are not included. */
export function counted(db: DatabaseSync): { readonly database: Database; written(): number } {
  let bytes = 0;
  const bound = <T>(work: (...values: SQLInputValue[]) => T) => {
    return (...values: SQLInputValue[]): T => {
      for (const value of values) bytes += sizeOf(value);
      return work(...values);
    };
  };
  const database: Database = {
    exec: (sql) => db.exec(sql),
    prepare(sql) {
      const statement = db.prepare(sql);
      if (!WRITES.test(sql)) return statement;
      return {
        run: bound((...values) => statement.run(...values)),
        get: bound((...values) => statement.get(...values)),
        all: bound((...values) => statement.all(...values)),
      };
    },
    close: () => db.close(),
  };
  return { database, written: () => bytes };
}

function sizeOf(value: SQLInputValue): number {
  if (value === null) return 0;
  if (typeof value === "string") return Buffer.byteLength(value);
  return ArrayBuffer.isView(value) ? value.byteLength : 8;
}
