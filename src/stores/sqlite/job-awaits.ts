import type { ParkedJob } from "../store.ts";
import type { Connection } from "./connection.ts";
import { isRunning, type JobRow, type KeptId, keepJob, keptId, requireNumber } from "./job-row.ts";

/**
 * What parked jobs await of other jobs. The row of the one that waits says it; `job_await` only leads from a job to those
 * that await it, so that its end need not look at others. Both are written together.
 */
export interface Awaits {
  readonly jobs: readonly KeptId[];
  readonly need: "any" | "all";
}

export const awaitsOf = ({ jobs, need }: NonNullable<ParkedJob["awaits"]>): Awaits => ({
  jobs: [...new Set(jobs.map(keptId))],
  need,
});

export const awaitsIn = ({ awaits }: Pick<JobRow, "awaits">): Awaits | undefined =>
  awaits === null ? undefined : (JSON.parse(awaits) as Awaits);

/** Whether what is awaited has come. A job that is not there any more is over. */
export function isMet(db: Connection, { jobs, need }: Awaits): boolean {
  const isDone = (id: KeptId): boolean => !isRunning(db, id);
  return need === "all" ? jobs.every(isDone) : jobs.some(isDone);
}

export function addAwaits(db: Connection, job: number, { jobs }: Awaits): void {
  for (const id of jobs) db.run("INSERT INTO job_await VALUES (?, ?)", id, job);
}

export function forgetAwaits(db: Connection, row: Pick<JobRow, "n" | "awaits">): void {
  for (const id of awaitsIn(row)?.jobs ?? []) db.run("DELETE FROM job_await WHERE awaited = ? AND job = ?", id, row.n);
}

/** A job is over, idle or gone: those that await it, and have what they need, are due. */
export function wakeWaiters(db: Connection, awaited: KeptId): void {
  for (const { job } of db.rows<{ job: number }>("SELECT job FROM job_await WHERE awaited = ?", awaited)) {
    const row = requireNumber(db, job);
    const awaits = awaitsIn(row);
    if (awaits !== undefined && row.due !== 0 && isMet(db, awaits)) keepJob(db, row, { ...row, due: 0 });
  }
}
