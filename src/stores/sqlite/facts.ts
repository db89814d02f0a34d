import { RuntimeError } from "../../model/errors.ts";
import { asCursor, type Cursor } from "../../model/ids.ts";
import { requireFit, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/**
 * The number of the latest fact. Facts are numbered in one order over all sessions; numbers are given out under the
 * write lock, so they become visible in that order. `floor` keeps those of deleted sessions from being used again.
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
 * What is known of what was deleted: the latest fact when the last session went, how many sessions there are in `gone`,
 * and, since schema 8, the latest change of a job when the last one was removed.
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

/** To be done when the floor of jobs is new: a seal that did not fit before does not fit afterwards. */
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

export function requireFact(db: Connection, cursor: Cursor): number {
  const fact = /^[1-9]\d{0,15}$/.test(cursor) ? Number(cursor) : 0;
  if (fact === 0 || fact > latestFact(db)) throw new RuntimeError("cursor.unknown", { cursor });
  return fact;
}

/** SQLite writes no limit as -1. */
export const limit = (max: number): number => (max === Infinity ? -1 : max);
