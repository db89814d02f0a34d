import { JOB, JOB_LINE, JOB_LINE_COUNTS, type JobLineCountsRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { eachPage, guarded, lookUp, type Report, RowList } from "./report.ts";

/** Checks the printed lines of jobs. */
export function* checkLines(db: Port, report: Report): Rule<void> {
  const [noJob, noCount] = [new RowList(), new RowList()];
  yield* eachPage(db, report, JOB_LINE_COUNTS, function* (rows) {
    const check = (row: JobLineCountsRow) => guarded(db, report, itemOf(row), checkLineCounters(db, report, row));
    const [jobs] = yield* all([
      lookUp(
        db,
        JOB,
        rows.map(({ job }) => job),
      ),
      all(rows.map(check)),
    ]);
    for (const { job } of rows) if (!jobs.has(job)) noJob.add(job);
  });
  yield* eachPage(db, report, JOB_LINE, function* (rows) {
    const counts = yield* lookUp(
      db,
      JOB_LINE_COUNTS,
      rows.map(({ job }) => job),
    );
    for (const { job } of rows) if (!counts.has(job)) noCount.add(job);
  });
  noJob.report(report, "The table job_said", missing);
  noCount.report(report, "The table job_line", missing);
}

const missing = (jobs: string): string => `the jobs ${jobs} are missing`;
const itemOf = ({ job }: JobLineCountsRow): string => `What job ${job} has said`;

function* checkLineCounters(db: Port, report: Report, row: JobLineCountsRow): Rule<void> {
  const { job, last, lines, since, taken } = row;
  const damage: unknown[] = []; // The check of the table itself reports this damage.
  const [found, [first], [final]] = yield* all([
    db.count(JOB_LINE, "job", job),
    db.scan(JOB_LINE, "job", [job], { max: 1, damage }),
    db.scan(JOB_LINE, "job", [job], { max: 1, isDescending: true, damage }),
  ]);
  report.look(itemOf(row), () => {
    if (found !== lines) return `there are ${found} lines, not ${lines}`;
    if ((first?.n ?? 1) < 1 || (final?.n ?? 0) > last) return "its last line is not the last";
    return since <= taken && taken <= last ? undefined : "more was taken than it has said";
  });
}
