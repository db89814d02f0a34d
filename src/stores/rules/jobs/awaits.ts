import type { JobId } from "../../../model/ids.ts";
import { type Awaits, RUNNING } from "../../rows/job.ts";
import type { ParkedJob } from "../../store.ts";
import { JOB, JOB_AWAIT, type JobRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";

/**
 * The jobs for which parked jobs wait. A job locks the jobs that it is going to await before it parks, so that none of
 * them ends unnoticed in between. A job that ends locks the jobs that await it, so that the second of two simultaneous
 * ends sees the first.
 */

/** Returns the running jobs among these. An ended, idle or missing job blocks no wait. */
export function* runningOf(db: Port, ids: readonly JobId[]): Rule<ReadonlySet<JobId>> {
  const rows = yield* all([...new Set(ids)].map((id) => db.get(JOB, "id", id)));
  return new Set(rows.flatMap((row) => (row?.state === RUNNING ? [row.id] : [])));
}

export const awaitsOf = ({ jobs, need }: NonNullable<ParkedJob["awaits"]>): Awaits => ({
  jobs: [...new Set(jobs)],
  need,
});

/** Returns whether the awaited jobs are done. */
export const isMet = ({ jobs, need }: Awaits, running: ReadonlySet<JobId>): boolean =>
  need === "all" ? jobs.every((id) => !running.has(id)) : jobs.some((id) => !running.has(id));

export function addAwaits(db: Port, job: number, { jobs }: Awaits): void {
  for (const awaited of jobs) db.insert(JOB_AWAIT, { awaited, job });
}

/**
 * Returns the numbers of the jobs that await one of these, and locks them. A rule calls this before it writes the ends.
 */
export function* waitersOf(db: Port, ids: readonly JobId[]): Rule<readonly number[]> {
  if (ids.length === 0) return [];
  db.lock({ endings: ids }); // Locks again: a job may have parked while the first lock was waited for.
  const rows = yield* all(ids.map((id) => db.scan(JOB_AWAIT, "awaited", [id])));
  return rows.flat().map(({ job }) => job);
}

/** Makes the waiting jobs due whose condition is met. */
export function* wakeWaiters(db: Port, numbers: Iterable<number>): Rule<void> {
  const found = yield* all([...new Set(numbers)].map((n) => db.get(JOB, "key", n)));
  const rows = found.filter((row) => row !== undefined && row.awaits !== null && row.due !== 0) as readonly JobRow[];
  if (rows.length === 0) return;
  const awaits = yield* all(rows.map((row) => awaitsIn(db, row)));
  const running = yield* runningOf(
    db,
    awaits.flatMap(({ jobs }) => jobs),
  );
  for (const [at, row] of rows.entries()) if (isMet(awaits[at]!, running)) db.update(JOB, row, { due: 0 });
}

/** Returns what a parked job awaits. Some stores keep the list only in `job_await`. */
function* awaitsIn(db: Port, { n, awaits }: JobRow): Rule<Awaits> {
  const { jobs, need } = awaits!;
  if (jobs.length > 0) return { jobs, need };
  return { jobs: (yield* db.scan(JOB_AWAIT, "job", [n])).map(({ awaited }) => awaited), need };
}
