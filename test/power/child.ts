// The process that is recorded: it plays its part and notes, in a file that is recorded too, what it was told.
import { openSync, writeSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Database, type Durability, sqlite } from "../../src/stores/sqlite.ts";
import { type Mark, play } from "./agent.ts";

export interface Orders {
  readonly path: string;
  readonly durability: Durability;
  /** A mutant: what the store says of syncs is not heard. */
  readonly isDeaf?: boolean;
}

const orders = JSON.parse(process.argv[2]!) as Orders;
const marks = openSync(`${orders.path}-marks`, "a");
const tell = (mark: Mark): void => void writeSync(marks, `${JSON.stringify(mark)}\n`);
await play(() => sqlite(database(orders), { durability: orders.durability }), tell);
process.kill(process.pid, "SIGKILL");

function database({ path, isDeaf }: Orders): Database {
  const db = new DatabaseSync(path);
  // Moves the write-ahead log into the file often; at SQLite's 1,000 pages it would need much more to do.
  db.exec("PRAGMA wal_autocheckpoint = 40");
  if (isDeaf !== true) return db as unknown as Database;
  db.exec("PRAGMA synchronous = OFF");
  const exec = (sql: string): void => (/^PRAGMA synchronous/.test(sql) ? undefined : db.exec(sql));
  return { exec, prepare: (sql) => db.prepare(sql) as never, close: () => db.close() };
}
