import { isDeepStrictEqual } from "node:util";
import { foldJob, isOver, type JobRecord } from "../../../model/job.ts";
import { EXTERNAL, IDLE, OVER, parentOfJob, RUNNING, recordWith, recoveryOf, taskOf } from "../../rows/job.ts";
import { attachmentsIn } from "../../rows/named-blobs.ts";
import {
  JOB,
  JOB_AWAIT,
  JOB_EVENT,
  JOB_OWNER,
  type JobEventRow,
  type JobOwnerRow,
  type JobRow,
  SESSION,
  type SessionRow,
} from "../../tables.ts";
import { requireSpawned, requireWhole, type Spawned } from "../jobs/events.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { eachPage, guarded, isThere, type Lookup, lookUp, type Report, RowList } from "./report.ts";
import { DAY_MS } from "./sessions.ts";

/** How many jobs are read at a time. Each is read with all its events. */
const JOBS = 20;

/** Checks jobs and their events. Returns the highest change number of a job. */
export function* checkJobs(db: Port, report: Report): Rule<number> {
  let highest = 0;
  const see = function* (rows: readonly JobRow[]): Rule<void> {
    for (const { changed } of rows) highest = Math.max(highest, changed);
    const [sessions, owners] = yield* all([
      lookUp(
        db,
        SESSION,
        rows.map(({ session }) => session),
      ),
      lookUp(
        db,
        JOB_OWNER,
        rows.map(({ owner }) => owner),
      ),
    ]);
    const check = (row: JobRow) => guarded(db, report, itemOf(row), checkJob(db, report, row, sessions, owners));
    yield* all(rows.map(check));
  };
  yield* eachPage(db, report, JOB, see, { max: JOBS });
  const missing = new RowList();
  yield* eachPage(db, report, JOB_EVENT, function* (rows) {
    const jobs = yield* lookUp(
      db,
      JOB,
      rows.map(({ job }) => job),
    );
    for (const { job } of rows) if (!jobs.has(job)) missing.add(job);
  });
  missing.report(report, "The events of jobs", (jobs) => `the jobs ${jobs} are missing`);
  return highest;
}

const itemOf = ({ id }: JobRow): string => `Job ${id}`;

function* checkJob(
  db: Port,
  report: Report,
  row: JobRow,
  sessions: Lookup<SessionRow>,
  owners: Lookup<JobOwnerRow>,
): Rule<void> {
  const damage: unknown[] = [];
  const [events, isLed] = yield* all([db.scan(JOB_EVENT, "job", [row.n], { damage }), leadsBack(db, row)]);
  for (const error of damage) report.thrown(itemOf(row), error);
  report.name(itemOf(row), attachmentsIn(events));
  report.look(itemOf(row), () => {
    const problem = damage.length > 0 ? undefined : recordProblem(row, events, sessions);
    return problem ?? holderProblem(row, owners) ?? (isLed ? undefined : "what it awaits does not lead to it");
  });
}

// ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns how a row differs from the fold of its events. */
function recordProblem(row: JobRow, events: readonly JobEventRow[], sessions: Lookup<SessionRow>): string | undefined {
  requireWhole(row, events, 0);
  const first = requireSpawned(row.id, events[0]?.event);
  const record = events.reduce<JobRecord | undefined>((before, { event }) => foldJob(before, event), undefined)!;
  const session = sessions.row(row.session);
  const isInSession = session === undefined ? sessions.has(row.session) : session.id === record.sessionId;
  if (!isInSession) return "it is not in its session";
  if (!isDeepStrictEqual(plain(recordWith(row.moves, first.job)), plain(record)))
    return "its record does not fit its events";
  return columnProblem(row, first, record);
}

/** JSON drops undefined fields. A store that keeps values by reference may have such fields; the others have none. */
const plain = (record: JobRecord): unknown => JSON.parse(JSON.stringify(record));

function columnProblem(row: JobRow, { job }: Spawned, record: JobRecord): string | undefined {
  const isSame =
    row.id === job.id &&
    row.kind === job.kind &&
    row.isHidden === (job.visibility === "hidden") &&
    row.recovery === recoveryOf(job) &&
    row.operation === taskOf(job);
  if (!isSame) return "it is not what was begun";
  const state = isOver(record) ? OVER : STATES[record.state as keyof typeof STATES];
  if (row.state !== state) return "its state does not fit its record";
  return row.parent === (state === OVER ? null : parentOfJob(job)) ? undefined : "it would end with something else";
}
const STATES = { running: RUNNING, idle: IDLE } as const;

// ── Holders ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function holderProblem(row: JobRow, owners: Lookup<JobOwnerRow>): string | undefined {
  const { owner, due, awaits, state, recovery, isParked } = row;
  if (awaits !== null && !isParked) return "it awaits something and is not parked";
  if (state === OVER || recovery === EXTERNAL)
    return (owner === null || state !== OVER) && due === null ? undefined : "nobody could go on with it";
  if (owner === null) return undefined;
  if (due !== null || isParked) return "it is held and waits";
  return owners.has(owner) ? undefined : `its owner ${owner} is missing`;
}

/** Checks the processes that hold jobs. */
export function* checkOwners(db: Port, report: Report): Rule<void> {
  const time = yield* db.now(Date.now());
  yield* eachPage(db, report, JOB_OWNER, (rows) => {
    for (const { id, until } of rows)
      if (until > time + db.leaseMs + DAY_MS) report.add(`The owner ${id} of jobs`, "its time ends too late");
    return undefined;
  });
}

// ── Awaiting ────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns whether each awaited job has a `job_await` row that leads back to this one. A store that keeps the list only
 * in those rows must have at least one.
 */
function* leadsBack(db: Port, { n, awaits }: JobRow): Rule<boolean> {
  if (awaits === null) return true;
  if (awaits.jobs.length === 0) return yield* isThere(db, JOB_AWAIT, "job", n);
  const found = yield* all(awaits.jobs.map((awaited) => isThere(db, JOB_AWAIT, "key", awaited, n)));
  return found.every(Boolean);
}

/** Checks the rows that lead from jobs to the jobs that await them. */
export function* checkAwaits(db: Port, report: Report): Rule<void> {
  const others = new RowList();
  yield* eachPage(db, report, JOB_AWAIT, function* (rows) {
    const jobs = yield* lookUp(
      db,
      JOB,
      rows.map(({ job }) => job),
    );
    for (const { job, awaited } of rows) {
      const row = jobs.row(job);
      const awaits = row?.awaits;
      const isAwaited = awaits != null && (awaits.jobs.length === 0 || awaits.jobs.includes(awaited));
      if (!isAwaited && (row !== undefined || !jobs.has(job))) others.add(job);
    }
  });
  others.report(report, "What jobs await", (jobs) => `the jobs ${jobs} do not await what is said`);
}
