import { isDeepStrictEqual } from "node:util";
import { foldJob, isOver, type JobRecord } from "../../model/job.ts";
import { attachmentsIn } from "../rows/named-blobs.ts";
import type { Connection } from "./connection.ts";
import type { Value } from "./database.ts";
import { awaitsIn } from "./job-awaits.ts";
import { eventsAfter, SEQS } from "./job-events.ts";
import { type LineRow, lineIn, requireSaid, type SaidRow } from "./job-lines.ts";
import { type OwnerRow, requireOwner } from "./job-owners.ts";
import {
  EXTERNAL,
  firstOf,
  IDLE,
  type JobRow,
  type KeptId,
  latestChange,
  newJob,
  OVER,
  RUNNING,
  recordOf,
  requireJob,
  STORED,
  type StoredRow,
} from "./job-row.ts";

/** How a check looks at rows, and what it notes of them. */
export interface Look {
  /** Notes the problem that the work answers, or why it failed. */
  at(item: string, work: () => string | undefined | void): void;
  each<Row>(
    table: string,
    sql: string,
    start: readonly Value[],
    keyOf: (row: Row) => readonly Value[],
    see: (row: Row) => void,
  ): void;
  /** Tells of rows that should not be there. */
  none(item: string, sql: string, tell: (rows: string) => string): void;
  /** Notes that a row names blobs. */
  name(item: string, blobs: readonly string[]): void;
}

const LOWEST = Number.MIN_SAFE_INTEGER;
const DAY_MS = 86_400_000;

/** The jobs, their events, who holds them and what they await. */
export function checkJobs(db: Connection, look: Look): void {
  look.each<StoredRow & { readonly sessionId: string | null }>(
    "job",
    `${STORED.replace("j.*", "j.*, (SELECT id FROM session WHERE n = j.session) AS sessionId")} WHERE j.n > ? ORDER BY j.n`,
    [LOWEST],
    ({ n }) => [n],
    (row) => {
      const item = `Job ${row.id}`;
      look.at(item, () => void requireJob(row));
      look.at(item, () => {
        const record = recordIn(db, row, (blobs) => look.name(item, blobs));
        if (record.sessionId !== row.sessionId) return "it is not in its session";
        return recordProblem(row, record) ?? holderProblem(db, row) ?? awaitsProblem(db, row);
      });
    },
  );
  look.none(
    "The events of jobs",
    `SELECT DISTINCT k / ${SEQS} AS n FROM job_event WHERE NOT EXISTS (SELECT 1 FROM job WHERE n = k / ${SEQS})`,
    (jobs) => `the jobs ${jobs} are missing`,
  );
  look.none(
    "What jobs await",
    `SELECT a.job AS n FROM job_await a LEFT JOIN job j ON j.n = a.job WHERE j.awaits IS NULL
       OR NOT EXISTS (SELECT 1 FROM json_each(j.awaits, '$.jobs') each WHERE each.value = a.awaited)`,
    (jobs) => `the jobs ${jobs} do not await what is said`,
  );
  look.each<OwnerRow>(
    "job_owner",
    "SELECT * FROM job_owner WHERE id > ? OR (? = '' AND id = '') ORDER BY id",
    ["", ""],
    ({ id }) => [id, id],
    (row) =>
      look.at(`The owner ${row.id} of jobs`, () => {
        requireOwner(row);
        return row.until > Date.now() + db.leaseMs + DAY_MS ? "its time ends too late" : undefined;
      }),
  );
  checkLines(look);
  look.at("The order of jobs", () => {
    const { last } = db.row<{ last: number }>("SELECT coalesce(max(changed), 0) AS last FROM job")!;
    return last > latestChange(db) ? "a number that was used would be used again" : undefined;
  });
}

/** What jobs have said. */
function checkLines(look: Look): void {
  look.each<SaidRow & { readonly found: number; readonly first: number | null; readonly final: number | null }>(
    "job_said",
    `SELECT t.*, (SELECT count(*) FROM job_line WHERE job = t.job) AS found,
       (SELECT min(n) FROM job_line WHERE job = t.job) AS first,
       (SELECT max(n) FROM job_line WHERE job = t.job) AS final FROM job_said t WHERE job > ? ORDER BY job`,
    [LOWEST],
    ({ job }) => [job],
    (row) =>
      look.at(`What job ${row.job} has said`, () => {
        const { last, lines, since, taken } = requireSaid(row);
        if (row.found !== lines) return `there are ${row.found} lines, not ${lines}`;
        if ((row.first ?? 1) < 1 || (row.final ?? 0) > last) return "its last line is not the last";
        return since <= taken && taken <= last ? undefined : "more was taken than it has said";
      }),
  );
  look.each<LineRow>(
    "job_line",
    "SELECT * FROM job_line WHERE (job, n) > (?, ?) ORDER BY job, n",
    [LOWEST, LOWEST],
    ({ job, n }) => [job, n],
    (row) => look.at(`Line ${row.n} of job ${row.job}`, () => void lineIn(row)),
  );
  const missing = (jobs: string): string => `the jobs ${jobs} are missing`;
  for (const [table, owner] of [
    ["job_said", "SELECT n FROM job"],
    ["job_line", "SELECT job FROM job_said"],
  ])
    look.none(`The table ${table}`, `SELECT DISTINCT job AS n FROM ${table} WHERE job NOT IN (${owner})`, missing);
}

/** What the events of a job come to. */
function recordIn(db: Connection, row: StoredRow, name: (blobs: readonly string[]) => void): JobRecord {
  const events = eventsAfter(db, row, 0);
  name(attachmentsIn(events));
  return events.reduce<JobRecord | undefined>((record, { event }) => foldJob(record, event), undefined)!;
}

const STATES = { running: RUNNING, idle: IDLE } as const;

/** What differs between a row and the events that it is made of. */
function recordProblem(row: StoredRow, record: JobRecord): string | undefined {
  const first = firstOf(row);
  if (!isDeepStrictEqual(recordOf(row, first), record)) return "its record does not fit its events";
  const fresh = newJob(row.n, row.session, first.job, first);
  const isSame = (["id", "kind", "is_hidden", "recovery", "operation"] as const).every((it) => row[it] === fresh[it]);
  if (!isSame) return "it is not what was begun";
  const state = isOver(record) ? OVER : STATES[record.state as keyof typeof STATES];
  if (row.state !== state) return "its state does not fit its record";
  return row.parent === (state === OVER ? null : fresh.parent) ? undefined : "it would end with something else";
}

function holderProblem(db: Connection, row: JobRow): string | undefined {
  const { owner, due, awaits, state, recovery } = row;
  if (awaits !== null && row.is_parked === 0) return "it awaits something and is not parked";
  if (state === OVER || recovery === EXTERNAL)
    return (owner === null || state !== OVER) && due === null ? undefined : "nobody could go on with it";
  if (owner === null) return undefined;
  if (due !== null || row.is_parked === 1) return "it is held and waits";
  const its = db.row("SELECT 1 FROM job_owner WHERE id = ?", owner);
  return its === undefined ? `its owner ${owner} is missing` : undefined;
}

function awaitsProblem(db: Connection, row: JobRow): string | undefined {
  const isLed = (id: KeptId): boolean =>
    db.row("SELECT 1 FROM job_await WHERE awaited = ? AND job = ?", id, row.n) !== undefined;
  return (awaitsIn(row)?.jobs ?? []).every(isLed) ? undefined : "what it awaits does not lead to it";
}
