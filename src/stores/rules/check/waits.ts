import { OVER } from "../../rows/job.ts";
import { attachmentsIn } from "../../rows/named-blobs.ts";
import { JOB, type JobRow, type SessionRow, WAIT, type WaitRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { askedAs, itemOf } from "../waits.ts";
import { eachPage, type Lookup, lookUp, type Report } from "./report.ts";
import { MissingSessions } from "./sessions.ts";

/** Checks waits of turns and jobs. Returns the highest fact number of a wait. */
export function* checkWaits(db: Port, report: Report): Rule<number> {
  const missing = new MissingSessions();
  let highest = 0;
  yield* eachPage(db, report, WAIT, function* (rows) {
    const [sessions, jobs] = yield* all([
      missing.look(db, rows),
      lookUp(
        db,
        JOB,
        rows.map(({ job }) => job),
        { index: "id" },
      ),
    ]);
    for (const row of rows) {
      highest = Math.max(highest, row.asked ?? 0, row.moved ?? 0, row.answered ?? 0);
      report.name(itemOf(row), attachmentsIn([row.about, row.answer]));
      report.look(itemOf(row), () => waitProblem(row, sessions, jobs));
    }
  });
  missing.report(report, WAIT);
  return highest;
}

function waitProblem(row: WaitRow, sessions: Lookup<SessionRow>, jobs: Lookup<JobRow>): string | undefined {
  const isOpen = isOpenWait(row, sessions, jobs);
  if (isOpen !== undefined && (row.key !== null) !== isOpen) return "its key does not tell whether it is still open";
  if (row.key === null && row.asked === null && row.answered === null)
    return "it is not a fact, and belongs to nothing that is open";
  if (row.isTurns !== (row.about?.kind === "turns")) return "it does not tell whether somebody is asked";
  const isAnswered = askedAs(row) !== null && row.answer !== null;
  return isAnswered === (row.answered !== null) ? undefined : "it has half an answer";
}

/** Returns undefined if the turn or the job cannot be read. */
function isOpenWait(
  { job, turn, key, session }: WaitRow,
  sessions: Lookup<SessionRow>,
  jobs: Lookup<JobRow>,
): boolean | undefined {
  if (job === null) return sessions.has(session) ? isTurn(sessions.row(session), turn) : false;
  // A running job may have questions without keys. They are from before it was handed over or claimed again.
  if (key === null || !jobs.has(job)) return false;
  const row = jobs.row(job);
  return row && row.state < OVER;
}

const isTurn = (session: SessionRow | undefined, turn: number): boolean | undefined => session && session.turn === turn;
