// For tests of the port: a port on a database, all rows of a file as the port reads them, and a file made of such rows.
import assert from "node:assert/strict";
import { fromKeyText } from "../../src/stores/rows/codec.ts";
import { type CheckOptions, check, type Finding } from "../../src/stores/rules/check/check.ts";
import type { Key } from "../../src/stores/rules/port.ts";
import { type Read, type Rule, runNow } from "../../src/stores/rules/rule.ts";
import { Blobs } from "../../src/stores/sqlite/blobs.ts";
import { Connection } from "../../src/stores/sqlite/connection.ts";
import { openFile } from "../../src/stores/sqlite/database.ts";
import { SEQS, type StoredRow } from "../../src/stores/sqlite/layout-rows.ts";
import { storedTableOf } from "../../src/stores/sqlite/layouts.ts";
import { OWN_ROWS } from "../../src/stores/sqlite/own-rows.ts";
import { SqlitePort } from "../../src/stores/sqlite/port.ts";
import { setUp } from "../../src/stores/sqlite/schema.ts";
import {
  GONE,
  PROFILE,
  type ProfileRow,
  SESSION,
  type SessionRow,
  TABLES,
  type Table,
} from "../../src/stores/tables.ts";

export type Row = { readonly [column: string]: unknown };
export type Opened = ReturnType<typeof openPort>;

/** Each write is a transaction, after which every session must have counted its rows. */
export function openPort(path = ":memory:") {
  const db = new Connection(openFile(path), path, "process", 0, 30_000);
  db.setUp(() => setUp(db, false));
  const port = new SqlitePort(db, new Blobs(db, Date.now));
  const write = <T>(work: (port: SqlitePort) => T): T => {
    const done = db.write(false, () => {
      port.begin();
      const result = work(port);
      port.finish();
      return result;
    }) as T;
    assert.deepEqual(
      db.rows(`SELECT n, own_rows, ${OWN_ROWS} AS found FROM session s WHERE own_rows <> ${OWN_ROWS}`),
      [],
    );
    return done;
  };
  const read = <T>(work: (port: SqlitePort) => Read<T>): T =>
    db.readAll(() => {
      port.begin();
      return given(work(port));
    }) as T;
  return { db, port, write, read };
}

/** The value of a read. */
export const given = <T>(read: Read<T>): T => runNow(reading(read));
function* reading<T>(read: Read<T>): Rule<T> {
  return yield* read;
}

// ── Whole files ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** All rows of a table, whole, in the order of their keys. */
export function rowsOf({ db, read }: Opened, table: Table, damage?: unknown[]): readonly Row[] {
  const { layout } = storedTableOf(table);
  const isOfSession = table === SESSION || table === PROFILE;
  const columns = isOfSession ? ["n"] : layout.key;
  const from = isOfSession ? "session" : table.name;
  const keys = db.rows<StoredRow>(`SELECT ${columns.join(", ")} FROM ${from} ORDER BY ${columns.join(", ")}`);
  const keyOf = (kept: StoredRow): readonly Key[] => {
    if (layout.span !== undefined) return [Math.floor(Number(kept.k) / SEQS), Number(kept.k) % SEQS];
    return table.key.map((column, at) => {
      const cell = kept[columns[at]!] as Key;
      return table.columns[column] === "name" ? fromKeyText(cell as string) : cell;
    });
  };
  const options = { isWhole: true, ...(damage === undefined ? {} : { damage }) };
  return keys.flatMap((kept) => read((port) => port.scan(table, "key", keyOf(kept), options)) as readonly Row[]);
}

/** What the port does not read. */
const OTHERS = ["meta", "gone", "blob", "sweep"];

/** A file with the same rows, written by the port. */
export function copyOf(from: Opened, path?: string): Opened {
  const to = openPort(path);
  const profiles = new Map(rowsOf(from, PROFILE).map((row) => [row.session as number, row as unknown as ProfileRow]));
  to.write((port) => {
    for (const { n, ...row } of rowsOf(from, SESSION) as unknown as readonly SessionRow[]) {
      to.db.run("DELETE FROM sqlite_sequence"); // Numbers of sessions that were deleted are left out.
      to.db.run("INSERT INTO sqlite_sequence VALUES ('session', ?)", n - 1);
      given(port.add(SESSION, row));
      port.insert(PROFILE, profiles.get(n)!);
    }
    for (const table of TABLES)
      if (table !== SESSION && table !== PROFILE && table !== GONE)
        for (const row of rowsOf(from, table)) port.insert(table, row);
    for (const table of OTHERS) to.db.run(`DELETE FROM ${table}`);
    for (const table of OTHERS)
      for (const row of from.db.rows<{ [column: string]: never }>(`SELECT * FROM ${table}`)) {
        const columns = Object.keys(row);
        const places = columns.map(() => "?").join(", ");
        to.db.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places})`, ...Object.values(row));
      }
    const [last] = from.db.rows<{ seq: number }>("SELECT seq FROM sqlite_sequence");
    to.db.run("UPDATE sqlite_sequence SET seq = ?", last?.seq ?? 0);
  });
  return to;
}

/** All that a file holds. The end of a lease may lie in two places, so only the later one counts. */
export function dumpOf({ db }: Opened): { readonly [table: string]: readonly unknown[] } {
  const tables = db.rows<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
  );
  return Object.fromEntries(
    tables.map(({ name }) => {
      const rows = db.rows<StoredRow>(`SELECT * FROM ${name}`).map((row) => ({ ...row }));
      if (name === "journal" || name === "session") for (const row of rows) delete (row as Partial<StoredRow>).until;
      return [name, rows];
    }),
  );
}

/** What the check of a file finds. */
export const findingsOf = (db: Connection, options: CheckOptions = {}): readonly Finding[] => {
  const port = new SqlitePort(db, new Blobs(db, Date.now));
  port.begin();
  return runNow(check(port, options));
};
