import { asCursor, type Cursor } from "../../model/ids.ts";
import { requireFit, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/**
 * The number of the latest fact. Facts have one order over all sessions. Numbers are assigned under the write lock, so
 * they become visible in order. `floor` prevents the reuse of numbers of deleted sessions.
 */
export const LATEST_FACT = `max(
  coalesce((SELECT max(n) FROM turn), 0),
  coalesce((SELECT max(done) FROM turn WHERE done IS NOT NULL), 0),
  coalesce((SELECT max(n) FROM operation), 0),
  coalesce((SELECT max(asked) FROM wait WHERE asked IS NOT NULL), 0),
  coalesce((SELECT max(answered) FROM wait WHERE answered IS NOT NULL), 0),
  (SELECT floor FROM meta))`;

const LATEST = `SELECT ${LATEST_FACT} AS latest`;

export const latestFact = (db: Connection): number => db.row<{ latest: number }>(LATEST)!.latest;

/**
 * Facts about deleted data: the latest fact when the last session was deleted, the number of sessions in `gone`, and,
 * since schema 8, the latest job change when the last job was removed.
 */
interface Meta {
  readonly floor: number;
  readonly gone: number;
  readonly job_floor?: number;
  readonly seal: number;
}
const metaOf = (db: Connection): Meta | undefined => db.row<Meta>("SELECT * FROM meta");

const columnsOf = ({ floor, gone, job_floor }: Meta): readonly number[] =>
  job_floor === undefined ? [floor, gone] : [floor, gone, job_floor];

export function sealMeta(db: Connection): void {
  db.run("UPDATE meta SET seal = ?", sumOf(columnsOf(metaOf(db)!)));
}

/** Call it for a new floor of jobs. A seal that did not match before does not match after it. */
export function sealJobFloor(db: Connection): void {
  const meta = metaOf(db);
  if (meta?.seal === sumOf([meta?.floor ?? -1, meta?.gone ?? -1])) sealMeta(db);
}

export function requireMeta(db: Connection): Meta {
  const meta = metaOf(db) ?? { floor: -1, gone: -1, seal: -1 };
  requireFit(meta.seal, columnsOf(meta), "What is known of deleted sessions");
  return meta;
}

export const cursorOf = (fact: number): Cursor => asCursor(String(fact));

/** SQLite writes "no limit" as -1. */
export const limit = (max: number): number => (max === Infinity ? -1 : Math.max(0, max));
