import type { JobId } from "../../../model/ids.ts";
import { corrupt } from "../../rows/faults.ts";
import type { JobLine, JobLines, Saying } from "../../store.ts";
import { JOB, JOB_LINE, JOB_LINE_COUNTS, type JobLineCountsRow, type JobLineRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import type { Rule } from "../rule.ts";

/**
 * Lines that jobs print. A job that has printed a line, or whose lines were taken, has a `job_said` row with the number
 * of remaining lines and the key of the latest call that took some. Most jobs have no such row. Every write holds the
 * lock of the job.
 */

const lineIn = ({ n, line }: JobLineRow): JobLine => ({ n, ...line });

const noLines = (job: number): JobLineCountsRow => ({ job, last: 0, lines: 0, key: null, since: 0, taken: 0 });

function updateCounters(
  db: Port,
  before: JobLineCountsRow | undefined,
  job: number,
  change: Partial<JobLineCountsRow>,
): void {
  if (before === undefined) db.insert(JOB_LINE_COUNTS, { ...noLines(job), ...change });
  else db.update(JOB_LINE_COUNTS, before, change);
}

/** Adds lines of a job and drops the oldest ones. `said` is its row. */
export function* addLines(
  db: Port,
  job: number,
  said: JobLineCountsRow | undefined,
  { lines, max }: Saying,
): Rule<void> {
  const before = said ?? noLines(job);
  let last = before.last;
  const fresh = lines.filter(({ n }) => {
    const isFresh = n > last;
    if (isFresh) last = n;
    return isFresh;
  });
  const added = fresh.slice(Math.max(0, fresh.length - max));
  for (const { n, ...line } of added) db.insert(JOB_LINE, { job, n, line });
  const count = before.lines + added.length;
  if (count > max) yield* dropFirst(db, job, count - max);
  if (fresh.length > 0 || count > max) updateCounters(db, said, job, { last, lines: Math.min(count, max) });
}

function* dropFirst(db: Port, job: number, count: number): Rule<void> {
  if (db.removeFirst !== undefined) return db.removeFirst(JOB_LINE, "job", [job], count);
  for (const row of yield* db.scan(JOB_LINE, "job", [job], { max: count })) db.remove(JOB_LINE, row);
}

/** Returns the remaining lines, oldest first. */
export function* linesOfJob(db: Port, id: JobId): Rule<JobLines> {
  const row = yield* db.get(JOB, "id", id);
  const said = row && (yield* db.get(JOB_LINE_COUNTS, "key", row.n));
  if (said === undefined) return { lines: [], taken: 0 };
  const lines = yield* db.scan(JOB_LINE, "job", [said.job]);
  if (lines.length !== said.lines) throw corrupt(`What job ${said.job} has said`, "some lines are missing");
  return { lines: lines.map(lineIn), taken: said.taken };
}

/**
 * Takes the lines that no call has taken. A repetition of the latest call returns the same lines, as far as they
 * remain.
 */
export function* takeLines(db: Port, id: JobId, key: string): Rule<readonly JobLine[]> {
  db.lock({ jobs: [id] });
  const row = yield* db.get(JOB, "id", id);
  if (row === undefined) return [];
  const said = yield* db.get(JOB_LINE_COUNTS, "key", row.n);
  const before = said ?? noLines(row.n);
  const isAgain = before.key === key;
  const [since, end] = isAgain ? [before.since, before.taken] : [before.taken, before.last];
  const lines = end <= since ? [] : yield* db.scan(JOB_LINE, "job", [row.n], { above: since, upTo: end });
  const taken = lines.at(-1)?.n ?? before.taken;
  if (!isAgain) updateCounters(db, said, row.n, { key, since, taken });
  return lines.map(lineIn);
}
