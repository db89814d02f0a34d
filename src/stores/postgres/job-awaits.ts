import { RUNNING } from "../rows/job.ts";
import type { ParkedJob } from "../store.ts";
import type { Transaction } from "./database.ts";
import { type JobRow, type KeptId, keptId } from "./job-row.ts";

/**
 * What parked jobs await of other jobs. A job locks those that it is going to await before it is parked, so that none of
 * them ends unseen in between; and one that ends locks those that await it, so that of two that end at once the second
 * sees the first.
 */
export interface Awaits {
  readonly jobs: readonly KeptId[];
  readonly need: "any" | "all";
}

export const awaitsOf = ({ jobs, need }: NonNullable<ParkedJob["awaits"]>): Awaits => ({
  jobs: [...new Set(jobs.map(keptId))],
  need,
});

/** Whether what is awaited has come, by the rows that are there of it. A job that is not there any more is over. */
export function isMet({ jobs, need }: Awaits, rows: readonly JobRow[]): boolean {
  const running = new Set(rows.filter(({ state }) => state === RUNNING).map(({ id }) => id));
  const isDone = (id: KeptId): boolean => !running.has(id);
  return need === "all" ? jobs.every(isDone) : jobs.some(isDone);
}

export function addAwaits(tx: Transaction, job: number, { jobs }: Awaits): void {
  tx.queue("INSERT INTO @job_await SELECT unnest($2::text[]), $1::bigint", job, jobs);
}

const WAITERS = "n IN (SELECT job FROM @job_await WHERE awaited = ANY ($1::text[]))";
const LOCK = `SELECT 1 FROM @job WHERE ${WAITERS} ORDER BY n FOR UPDATE`;

/** To be called before the end or the rest of these jobs is written. */
export function lockWaiters(tx: Transaction, awaited: readonly KeptId[]): void {
  tx.queue(LOCK, awaited);
}

// Of what it awaits, those that run; null for the others.
const AWAITED = `FROM @job_await a LEFT JOIN @job r ON r.id = a.awaited AND r.state = ${RUNNING} WHERE a.job = w.n`;
const WAKE = `UPDATE @job w SET due = 0 WHERE ${WAITERS} AND due IS DISTINCT FROM 0 AND CASE awaits
  WHEN 'any' THEN EXISTS (SELECT 1 ${AWAITED} AND r.n IS NULL)
  WHEN 'all' THEN NOT EXISTS (SELECT 1 ${AWAITED} AND r.n IS NOT NULL) END`;

/** Jobs are over, idle or gone, which is written: those that await them, and have what they need, are due. */
export function wakeWaiters(tx: Transaction, awaited: readonly KeptId[]): void {
  tx.queue(WAKE, awaited);
}
