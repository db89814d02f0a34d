import { isProvenDead } from "../rows/process.ts";
import type { Owner } from "../store.ts";
import { clock, type Database, type Transaction } from "./database.ts";

/**
 * The processes that hold jobs, and until when. A lease on a job has no time of its own: one row is renewed for all jobs
 * of a process. There are few of these rows, so that they lead to the jobs that nobody holds any more.
 *
 * A row is locked before the jobs of its owner are given to others: an owner that comes back meanwhile waits, and is then
 * told what it still holds.
 */
export interface OwnerRow {
  readonly id: string;
  readonly process: string;
  /** Its time is over. */
  readonly is_late: boolean;
}

/** Selects an `OwnerRow`: the parameter is the time of leases. */
export const ownerColumns = (parameter: number): string =>
  `o.id, o.process, o.until <= ${clock(parameter)} AS is_late FROM @job_owner o`;

export const isGone = ({ is_late, process }: OwnerRow): boolean => is_late || isProvenDead(process);

// What comes late shortens nothing.
const PROLONG = `INSERT INTO @job_owner AS o VALUES ($1, $2, ${clock(3)} + $4::float8) ON CONFLICT (id) DO UPDATE
  SET process = excluded.process, until =
    CASE WHEN o.process = excluded.process THEN greatest(o.until, excluded.until) ELSE excluded.until END`;

/** Gives an owner the time of a lease. */
export function prolong(tx: Transaction, db: Database, { id, process }: Owner, now: number): void {
  tx.queue(PROLONG, id, process, db.time(now), db.leaseMs);
}

const HOLDER = `SELECT ${ownerColumns(2)} JOIN @job j ON j.owner = o.id WHERE j.id = $1`;

/** The row of who holds a job. A holder without one never had any time: it is gone. */
export const holderOf = (tx: Transaction, job: string, time: number | null): Promise<OwnerRow | undefined> =>
  tx.row(HOLDER, job, time);

const LIVE = `SELECT ${ownerColumns(1)} WHERE o.until > ${clock(1)}`;
const LATE = `SELECT ${ownerColumns(1)} WHERE o.until <= ${clock(1)} FOR UPDATE SKIP LOCKED`;

/** Owners that are gone. Those whose time is over are locked; one that renews its time at this moment is not gone. */
export async function goneOwners(tx: Transaction, time: number | null): Promise<readonly string[]> {
  const [late, live] = await Promise.all([tx.rows<OwnerRow>(LATE, time), tx.rows<OwnerRow>(LIVE, time)]);
  return [...late, ...live].filter(isGone).map(({ id }) => id);
}

const FORGET = `DELETE FROM @job_owner WHERE id IN (SELECT o.id FROM @job_owner o WHERE o.until <= ${clock(1)}
  AND NOT EXISTS (SELECT 1 FROM @job j WHERE j.owner = o.id) FOR UPDATE SKIP LOCKED)`;

/** Forgets owners whose time is over and who hold nothing. */
export function forgetOwners(tx: Transaction, time: number | null): void {
  tx.queue(FORGET, time);
}
