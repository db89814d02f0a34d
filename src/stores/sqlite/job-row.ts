import type { JobCursor, JobId } from "../../model/ids.ts";
import { foldJob, type JobEvent, type JobRecord, type NewJob } from "../../model/job.ts";
import { corrupt } from "../rows/faults.ts";
import {
  BOUND,
  EXTERNAL,
  jobCursorOf,
  type KeptId,
  keptId,
  type Moves,
  movesOf,
  OVER,
  parentOf,
  RUNNING,
  recordWith,
  recoveryOf,
  stateIn,
  takerOf,
} from "../rows/job.ts";
import type { StoredJob } from "../store.ts";
import { requireFit, seal, sumIn, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";
import { counting } from "./counts.ts";
import { sealMeta } from "./facts.ts";
import { type EventRow, eventIn, SEQS } from "./job-events.ts";

export {
  BOUND,
  EXTERNAL,
  IDLE,
  idOf,
  jobAsParent,
  jobCursorOf,
  type KeptId,
  keptId,
  OVER,
  RERUNNABLE,
  RUNNING,
  takes,
  turnAsParent,
} from "../rows/job.ts";

/**
 * A job's row: what finds it, who holds it, and what changes of its record. What does not change is in its first event,
 * which may be long and is not written again. The checksum is over all columns.
 */
export interface JobRow {
  readonly n: number;
  /** As it is kept: `idOf` tells the id. */
  readonly id: KeptId;
  readonly session: number;
  readonly kind: string;
  readonly is_hidden: number;
  readonly recovery: number;
  /** The task that a process must have to run it, or `ANYBODY`; null when nobody can take it. */
  readonly operation: string | null;
  /** What began it, if it is to end with that and is not over. */
  readonly parent: string | null;
  readonly state: number;
  /** Who holds it. */
  readonly owner: string | null;
  /** The generation of its latest lease. */
  readonly generation: number;
  /** Its holder gave up the lease: that one writes nothing more, though no other has a later generation. */
  readonly is_parked: number;
  /** While nobody holds it: when it can be claimed; null when only something that comes makes it so. */
  readonly due: number | null;
  /** What a parked job awaits, as JSON. */
  readonly awaits: string | null;
  readonly seq: number;
  /** The number of its latest change in the order of all changes of jobs. */
  readonly changed: number;
  readonly moves: string;
  readonly seal: number;
}

const columnsOf = (row: Omit<JobRow, "seal">) => [
  ...[row.n, row.id, row.session, row.kind, row.is_hidden, row.recovery, row.operation, row.parent, row.state],
  ...[row.owner, row.generation, row.is_parked, row.due, row.awaits, row.seq, row.changed, sumIn(row.moves)],
];

const itemOf = ({ id }: Pick<JobRow, "id">): string => `Job ${id}`;

export function requireJob<Row extends JobRow>(row: Row): Row {
  requireFit(row.seal, columnsOf(row), itemOf(row));
  return row;
}

const BY_ID = "SELECT * FROM job WHERE id = ?";

export function jobRow(db: Connection, id: JobId): JobRow | undefined {
  return keptRow(db, keptId(id));
}

export function keptRow(db: Connection, id: KeptId): JobRow | undefined {
  const row = db.row<JobRow>(BY_ID, id);
  return row && requireJob(row);
}

const BY_NUMBER = "SELECT * FROM job WHERE n = ?";

export function requireNumber(db: Connection, n: number): JobRow {
  const row = db.row<JobRow>(BY_NUMBER, n);
  if (row === undefined) throw corrupt(`Job ${n}`, "it is missing");
  return requireJob(row);
}

/** Whether somebody who awaits a job has to wait: it is there, and it runs. */
export const isRunning = (db: Connection, id: KeptId): boolean => keptRow(db, id)?.state === RUNNING;

// ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A job of which nothing is written yet, as nobody holds it. */
export function newJob(n: number, session: number, job: NewJob, spawned: JobEvent): Omit<JobRow, "seal"> {
  const recovery = recoveryOf(job);
  return {
    n,
    id: keptId(job.id),
    session,
    kind: job.kind,
    is_hidden: job.visibility === "hidden" ? 1 : 0,
    recovery,
    operation: takerOf(job),
    parent: parentOf(job),
    state: RUNNING,
    owner: null,
    generation: 0,
    is_parked: 0,
    due: recovery === EXTERNAL ? null : (job.notBefore ?? 0),
    awaits: null,
    seq: 1,
    changed: 0,
    moves: sealMoves(movesOf(foldJob(undefined, spawned)), n),
  };
}

const sealMoves = (moves: Moves, n: number): string => seal(moves, n);

/** What changes of a job's record, as it stands. */
export const movesIn = (row: Pick<JobRow, "n" | "id" | "moves">): Moves =>
  unseal(row.moves, row.n, `The record of job ${row.id}`);

/** The row after an event. `foldJob` reads nothing of a record but what changes. */
export function folded<Row extends Omit<JobRow, "seal">>(row: Row, event: JobEvent): Row {
  const moves = foldJob(movesIn(row) as JobRecord, event);
  return { ...row, state: stateIn(moves), moves: sealMoves(moves, row.n) };
}

/** Whether it is bound and somebody else has claimed it than the one it was begun with: no event tells of that. */
export const isOrphan = (row: JobRow): boolean => row.recovery === BOUND && row.generation > movesIn(row).starts;

/** The whole record. */
export function recordOf(row: Pick<JobRow, "n" | "id" | "moves">, { job }: { readonly job: NewJob }): JobRecord {
  return recordWith(movesIn(row), job);
}

const WITH_FIRST = `j.*, e.key AS first_key, e.event AS first FROM job j
  LEFT JOIN job_event e ON e.k = j.n * ${SEQS} + 1`;
/** Selects rows that `storedOf` understands. */
export const STORED = `SELECT ${WITH_FIRST}`;
export interface StoredRow extends JobRow {
  readonly first_key: string | null;
  readonly first: string | null;
}

export function storedOf(row: StoredRow): StoredJob {
  return shownJob(requireJob(row), firstOf(row));
}

export const shownJob = (row: JobRow, first: Spawned): StoredJob => ({
  record: recordOf(row, first),
  seq: row.seq,
  cursor: jobCursorOf(row.changed),
});

export type Spawned = JobEvent & { readonly kind: "spawned" };

/** The event that began a job. */
export function firstOf(row: StoredRow): Spawned {
  const { n, first_key: key, first } = row;
  const found: EventRow | undefined =
    key === null || first === null ? undefined : { k: n * SEQS + 1, job: n, key, event: first };
  return requireSpawned(row, found && eventIn(found));
}

export function requireSpawned({ id }: JobRow, first: JobEvent | undefined): Spawned {
  if (first?.kind === "spawned") return first;
  throw corrupt(`The beginning of job ${id}`, first === undefined ? "it is missing" : "it is another event");
}

const STORED_BY_ID = `${STORED} WHERE j.id = ?`;
export const storedRow = (db: Connection, id: JobId): StoredRow | undefined => db.row(STORED_BY_ID, keptId(id));

// ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const ADD = "INSERT INTO job VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
// A step moves nothing that an index is over but `changed`: those over the other columns are not to be written again.
const STEP = "UPDATE job SET seq = ?, changed = ?, moves = ?, seal = ? WHERE n = ?";
const KEEP = `UPDATE job SET session = ?, parent = ?, state = ?, owner = ?, generation = ?, is_parked = ?, due = ?,
  awaits = ?, seq = ?, changed = ?, moves = ?, seal = ? WHERE n = ?`;

const STAYING = ["session", "parent", "state", "owner", "generation", "is_parked", "due", "awaits"] as const;

/** How many jobs of a session are not over. */
export const liveCounts = counting(
  `SELECT count(*) AS count FROM job INDEXED BY job_live WHERE session = ? AND state < ${OVER}`,
);

export function addJob(db: Connection, row: Omit<JobRow, "seal">): JobRow {
  const kept = withSeal({ ...row, changed: latestChange(db) + 1 });
  const { n, id, session, kind, is_hidden, recovery, operation, parent, state, owner, generation } = kept;
  const { is_parked, due, awaits, seq, changed, moves } = kept;
  const first = [n, id, session, kind, is_hidden, recovery, operation, parent, state, owner, generation];
  db.run(ADD, ...first, is_parked, due, awaits, seq, changed, moves, kept.seal);
  liveCounts(db).change(session, state < OVER ? 1 : 0);
  return kept;
}

/** Writes what became of a row. One that has more events is changed last of all jobs. */
export function keepJob(db: Connection, before: JobRow, after: Omit<JobRow, "seal">): JobRow {
  const changed = after.seq === before.seq ? after.changed : latestChange(db) + 1;
  const row = withSeal({ ...after, changed });
  const { n, session, parent, state, owner, generation, is_parked, due, awaits, seq, moves } = row;
  if (STAYING.every((column) => row[column] === before[column])) db.run(STEP, seq, changed, moves, row.seal, n);
  else {
    const columns = [session, parent, state, owner, generation, is_parked, due, awaits, seq, changed, moves];
    db.run(KEEP, ...columns, row.seal, n);
    liveCounts(db).change(before.session, before.state < OVER ? -1 : 0);
    liveCounts(db).change(session, state < OVER ? 1 : 0);
  }
  return row;
}

const withSeal = (row: Omit<JobRow, "seal">): JobRow => ({ ...row, seal: sumOf(columnsOf(row)) });

// ── The order of all changes ────────────────────────────────────────────────────────────────────────────────────────

/** The number of the latest change of a job. Numbers are given out under the write lock, and none is given twice. */
const LATEST = "max(coalesce((SELECT max(changed) FROM job), 0), (SELECT job_floor FROM meta))";
const SELECT_LATEST = `SELECT ${LATEST} AS latest`;

export const latestChange = (db: Connection): number => db.row<{ latest: number }>(SELECT_LATEST)!.latest;

/** The cursor of the latest change, as a field; none where no job was ever changed. */
export function latestCursor(db: Connection): JobCursor | undefined {
  const latest = latestChange(db);
  return latest === 0 ? undefined : jobCursorOf(latest);
}

/** To be called before jobs are removed: what they have used of the order is not used again. */
export function raiseFloor(db: Connection): void {
  db.run(`UPDATE meta SET job_floor = ${LATEST}`);
  sealMeta(db);
}
