import type { JobId } from "../../model/ids.ts";
import type { JobEvent } from "../../model/job.ts";
import { corrupt } from "../rows/faults.ts";
import { jobCursorOf, type KeptId, keptId, type Moves, OVER, RUNNING, recordWith } from "../rows/job.ts";
import type { StoredJob } from "../store.ts";
import type { Transaction } from "./database.ts";
import { parsed } from "./text.ts";

export { idOf, jobCursorOf, type KeptId, keptId, OVER, RUNNING } from "../rows/job.ts";

/**
 * A job's row: what finds it, who holds it, and what changes of its record. What does not change is in its first event,
 * which may be long and is not written again.
 */
export interface JobRow {
  readonly n: number;
  /** As it is kept: `idOf` tells the id. */
  readonly id: KeptId;
  readonly session: number;
  readonly kind: string;
  readonly is_hidden: boolean;
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
  readonly is_parked: boolean;
  /** While nobody holds it: when it can be claimed; null when only something that comes makes it so. */
  readonly due: number | null;
  /** Whether a parked job needs any or all of those that it awaits. */
  readonly awaits: "any" | "all" | null;
  readonly seq: number;
  /** The number of its latest change in the order of all changes of jobs. */
  readonly changed: number;
  readonly moves: string;
}

/** What changes of a job's record, as it stands. */
export const movesIn = (row: Pick<JobRow, "id" | "moves">): Moves => parsed(row.moves, `The record of job ${row.id}`);

/** Whether somebody who awaits a job has to wait: it is there, and it runs. */
export async function isRunning(tx: Transaction, id: JobId): Promise<boolean> {
  return (await tx.row(`SELECT 1 FROM @job WHERE id = $1 AND state = ${RUNNING}`, keptId(id))) !== undefined;
}

// ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Selects rows that `storedOf` understands. */
export const WITH_FIRST = "j.*, e.event AS first";
export const FIRST = "LEFT JOIN @job_event e ON e.job = j.n AND e.seq = 1";
export const STORED = `SELECT ${WITH_FIRST} FROM @job j ${FIRST}`;
export const STORED_BY_ID = `${STORED} WHERE j.id = $1`;
export interface StoredRow extends JobRow {
  readonly first: string | null;
}

export const storedOf = (row: StoredRow): StoredJob => shownJob(row, firstOf(row));

export const shownJob = (row: JobRow, first: Spawned, changed = row.changed): StoredJob => ({
  record: recordWith(movesIn(row), first.job),
  seq: row.seq,
  cursor: jobCursorOf(changed),
});

export type Spawned = JobEvent & { readonly kind: "spawned" };

/** The event that began a job. */
export const firstOf = ({ id, first }: Pick<StoredRow, "id" | "first">): Spawned =>
  requireSpawned(id, first === null ? undefined : parsed<JobEvent>(first, `Event 1 of job ${id}`));

export function requireSpawned(id: KeptId, first: JobEvent | undefined): Spawned {
  if (first?.kind === "spawned") return first;
  throw corrupt(`The beginning of job ${id}`, first === undefined ? "it is missing" : "it is another event");
}

// ── Locks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const LOCK = "SELECT * FROM @job WHERE id = $1 FOR UPDATE";

/** Locks a job to the end of the transaction. Its events, lines and waits are written under this lock. */
export const lockJob = (tx: Transaction, id: KeptId): Promise<JobRow | undefined> => tx.row(LOCK, id);

/**
 * Locks jobs that may end or come to rest, with all that this may touch: their children, and the children of those, which
 * end with them; and those that await one of these. All in the order of their numbers: a job that awaits its child, and
 * both of them end, is touched from two sides at once. What comes to be touched later is locked when it is found.
 */
const touching = (which: string): string => `SELECT * FROM @job WHERE n IN (
    WITH RECURSIVE ending AS (SELECT n, id FROM @job WHERE ${which}
      UNION SELECT c.n, c.id FROM ending e JOIN @job c ON c.parent = 'job/' || e.id)
    SELECT n FROM ending
    UNION ALL SELECT a.job FROM ending e JOIN @job_await a ON a.awaited = e.id
    UNION ALL SELECT n FROM @job WHERE id = ANY ($2::text[]))
  ORDER BY n FOR UPDATE`;
const LOCK_TOUCHING = touching("id = ANY ($1::text[])");
const LOCK_CHILDREN = touching("parent = $1");
const LOCK_SESSION = touching("session = $1");

/** With these jobs and what they touch, `others` are locked too: those that one of them is going to await. */
export const lockTouching = (
  tx: Transaction,
  ids: readonly KeptId[],
  others: readonly KeptId[] = [],
): Promise<JobRow[]> => tx.rows(LOCK_TOUCHING, ids, others);

export const lockChildren = (tx: Transaction, parent: string): Promise<JobRow[]> => tx.rows(LOCK_CHILDREN, parent, []);

/** The jobs of a session, and what they touch. */
export const lockJobsOf = (tx: Transaction, session: number): Promise<JobRow[]> => tx.rows(LOCK_SESSION, session, []);

/** A job moved before it was locked: all is done again from its beginning, as when two transactions met. */
export const startOver = (): Error => Object.assign(new Error("A job moved before it was locked."), { code: "40001" });

// ── The order of all changes ────────────────────────────────────────────────────────────────────────────────────────

export const LATEST_CHANGE = "SELECT value AS latest FROM @counter WHERE name = 'job'";

/** How many jobs of a session are not over. */
export const LIVE = `SELECT count(*) AS live FROM @job WHERE session = (SELECT n FROM @session WHERE id = $1) AND state < ${OVER}`;
