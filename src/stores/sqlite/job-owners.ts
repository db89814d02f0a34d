import { isProvenDead } from "../rows/process.ts";
import type { Owner } from "../store.ts";
import { requireFit, sumOf } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/**
 * The processes that hold jobs, and until when. A lease on a job has no time of its own: one row is renewed for all jobs
 * of a process. There are few of these rows, so that they lead to the jobs that nobody holds any more.
 */
export interface OwnerRow {
  readonly id: string;
  readonly process: string;
  readonly until: number;
  readonly seal: number;
}
const columnsOf = ({ id, process, until }: Omit<OwnerRow, "seal">) => [id, process, until];

export const requireOwner = (row: OwnerRow): void =>
  requireFit(row.seal, columnsOf(row), `The owner ${row.id} of jobs`);

const BY_ID = "SELECT * FROM job_owner WHERE id = ?";

/** Gives an owner time, at least until then: what comes late shortens nothing. */
export function prolong(db: Connection, { id, process }: Owner, least: number): void {
  const before = db.row<OwnerRow>(BY_ID, id);
  const isKnown = before?.process === process && isSound(before);
  if (isKnown && before.until >= least) return;
  keepOwner(db, { id, process, until: least });
}

function keepOwner(db: Connection, row: Omit<OwnerRow, "seal">): void {
  db.run("REPLACE INTO job_owner VALUES (?, ?, ?, ?)", row.id, row.process, row.until, sumOf(columnsOf(row)));
}

const isSound = (row: OwnerRow): boolean => row.seal === sumOf(columnsOf(row));

/** Whether an owner is gone. One whose row is damaged is not: others would abandon what it works at. */
export const isGone = (row: OwnerRow, now: number): boolean =>
  isSound(row) && (row.until <= now || isProvenDead(row.process));

/** Whether a job's owner is gone; one without a row never had any time. */
export function isOwnerGone(db: Connection, id: string, now: number): boolean {
  const row = db.row<OwnerRow>(BY_ID, id);
  return row === undefined || isGone(row, now);
}

export const goneOwners = (db: Connection, now: number): readonly OwnerRow[] =>
  db.rows<OwnerRow>("SELECT * FROM job_owner").filter((row) => isGone(row, now));

/** A row for each job that somebody holds. */
export const holdersOf = (db: Connection): readonly Pick<OwnerRow, "process" | "until">[] =>
  db.rows("SELECT o.process, o.until FROM job j JOIN job_owner o ON o.id = j.owner WHERE j.owner IS NOT NULL");

export function forgetOwner(db: Connection, id: string): void {
  db.run("DELETE FROM job_owner WHERE id = ?", id);
}

const HELD_NONE = "NOT EXISTS (SELECT 1 FROM job WHERE owner = job_owner.id)";

/** Forgets owners whose time is over and who hold nothing. */
export function forgetOwners(db: Connection, now: number): void {
  db.run(`DELETE FROM job_owner WHERE until <= ? AND ${HELD_NONE}`, now);
}
