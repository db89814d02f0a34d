import { RuntimeError } from "../../model/errors.ts";
import type { JobCursor } from "../../model/ids.ts";
import { BOUND, EXTERNAL, takes } from "../rows/job.ts";
import type { ClaimedJob, Owner, Store, StoredJobEvent } from "../store.ts";
import type { Database, Transaction } from "./database.ts";
import { limit } from "./facts.ts";
import { changesOf, JobDraft, numbersOf } from "./job-draft.ts";
import { hintAtJobs } from "./job-ends.ts";
import { type EventRow, requireWhole, storedEvent } from "./job-events.ts";
import { changeIn, requireGiven } from "./job-list.ts";
import { forgetOwners, goneOwners, isGone, type OwnerRow, ownerColumns, prolong } from "./job-owners.ts";
import {
  idOf,
  type JobRow,
  jobCursorOf,
  type KeptId,
  LATEST_CHANGE,
  requireSpawned,
  type Spawned,
  shownJob,
} from "./job-row.ts";

/**
 * Who goes on with jobs. A job that nobody holds is found by the task that it needs and its time; one whose owner is gone,
 * by that owner. So neither the jobs that sleep nor those that others hold are looked at.
 *
 * Many processes claim at once: each passes over the jobs that another has locked, and waits for none. Claims of one owner
 * wait for each other, by its row.
 */

// Of each task as many as may be taken at all: those that are too many are let go when the transaction ends.
const DUE = `SELECT j.* FROM unnest($1::text[]) AS t (operation) CROSS JOIN LATERAL (
    SELECT * FROM @job WHERE operation = t.operation AND owner IS NULL AND due IS NOT NULL AND due <= $2
    ORDER BY due, n LIMIT $3 FOR UPDATE SKIP LOCKED) j`;
const LEFT = `SELECT * FROM @job WHERE owner = ANY ($1::text[]) AND operation = ANY ($2::text[])
  ORDER BY n LIMIT $3 FOR UPDATE SKIP LOCKED`;
const TAKEN = "SELECT * FROM @job WHERE n = ANY ($1::bigint[]) AND owner = $2 ORDER BY n FOR UPDATE";

export async function claimJobs(
  db: Database,
  owner: Owner,
  now: number,
  max: number,
  operations: readonly string[],
): Promise<readonly ClaimedJob[]> {
  // What an attempt took of which, after a crash of the server, nobody knows whether it was kept. If it was, the jobs are
  // this owner's, and no later claim would give them to it.
  let tried: readonly JobRow[] = [];
  const { jobs, changes } = await db.write(async (tx) => {
    // First: an owner that was slow still holds its jobs, and must not be given them a second time.
    prolong(tx, db, owner, now);
    const kept = await keptOf(tx, tried, owner);
    const found = kept.length > 0 ? kept : await claimable(tx, db.time(now), now, max, takes(operations));
    const read = await readable(tx, found);
    const taken = kept.length > 0 ? read.map(takenBefore) : read.map((job) => take(job, owner, now));
    if (kept.length === 0) tried = taken.map(({ draft }) => draft.row);
    for (const { draft } of taken) draft.keep(tx);
    forgetOwners(tx, db.time(now));
    const drafts = taken.map(({ draft }) => draft);
    return { jobs: taken, changes: changesOf(tx, drafts) };
  });
  const numbers = await numbersOf(db, changes);
  return jobs.map(({ draft, first, events, isOrphan }): ClaimedJob => {
    const { row } = draft;
    const lease = { jobId: idOf(row), generation: row.generation, owner };
    const job = { ...shownJob(row, first, numbers.get(row.n)), lease, events };
    return isOrphan ? { ...job, isOrphan } : job;
  });
}

/** Those of these jobs that stand as they were taken. */
async function keptOf(tx: Transaction, tried: readonly JobRow[], owner: Owner): Promise<readonly JobRow[]> {
  if (tried.length === 0) return [];
  const generations = new Map(tried.map(({ n, generation }) => [n, generation]));
  const rows = await tx.rows<JobRow>(TAKEN, [...generations.keys()], owner.id);
  return rows.filter(({ n, generation }) => generations.get(n) === generation);
}

async function claimable(
  tx: Transaction,
  time: number | null,
  now: number,
  max: number,
  operations: readonly string[],
): Promise<readonly JobRow[]> {
  const gone = await goneOwners(tx, time);
  const [due, left] = await Promise.all([
    tx.rows<JobRow>(DUE, operations, now, limit(max)),
    gone.length === 0 ? [] : tx.rows<JobRow>(LEFT, gone, operations, limit(max)),
  ]);
  // What its owner left can be taken at once.
  const found = [...due.map((row) => ({ row, since: row.due! })), ...left.map((row) => ({ row, since: 0 }))];
  found.sort((a, b) => a.since - b.since || a.row.n - b.row.n);
  return found.slice(0, max).map(({ row }) => row);
}

interface Readable {
  readonly row: JobRow;
  readonly events: readonly StoredJobEvent[];
  readonly first: Spawned;
}

/** Those that can be read. If none can, the first one says why: what is damaged must not keep others waiting. */
async function readable(tx: Transaction, found: readonly JobRow[]): Promise<readonly Readable[]> {
  if (found.length === 0) return [];
  const all = await tx.rows<EventRow>(
    "SELECT * FROM @job_event WHERE job = ANY ($1::bigint[]) ORDER BY job, seq",
    found.map(({ n }) => n),
  );
  const byJob = Map.groupBy(all, ({ job }) => job);
  const damage: unknown[] = [];
  const read = found.flatMap((row): readonly Readable[] => {
    try {
      const events = (byJob.get(row.n) ?? []).map(storedEvent);
      requireWhole(events, row.id, 0, row.seq);
      return [{ row, events, first: requireSpawned(row.id, events[0]?.event) }];
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
      damage.push(error);
      return [];
    }
  });
  if (read.length === 0 && damage.length > 0) throw damage[0];
  return read;
}

interface Taken extends Omit<Readable, "row"> {
  readonly draft: JobDraft;
  readonly isOrphan: boolean;
}

function take({ row, events, first }: Readable, owner: Owner, now: number): Taken {
  const keys = new Set(events.map(({ key }) => key));
  const draft = new JobDraft(row, [], events);
  const generation = row.generation + 1;
  draft.change({ owner: owner.id, generation, is_parked: false, due: null, awaits: null });
  if (row.recovery === BOUND) return { draft, events, first, isOrphan: true };
  let key = `started/${generation}`;
  while (keys.has(key)) key += "+"; // Others may send events of any key.
  const started = draft.tell({ key, event: { kind: "started", generation, at: now } });
  return { draft, events: [...events, started], first, isOrphan: false };
}

function takenBefore({ row, events, first }: Readable): Taken {
  const draft = new JobDraft(row, [], []);
  return { draft, events, first, isOrphan: draft.isOrphan };
}

type Renewed = Pick<Awaited<ReturnType<Store["jobs"]["renew"]>>, "changed" | "cursor"> & { readonly heldMs: number };

interface Held {
  readonly id: KeptId;
  readonly seq: number;
}
const ALL_HELD = "SELECT id, seq FROM @job WHERE owner = $1 ORDER BY changed";
// By the changes since, whoever's they are: an index by owner and change would have to be written with every step.
const HELD_AND_CHANGED = `SELECT j.id, j.seq FROM @job_change h JOIN @job j ON j.n = h.job
  WHERE h.n > $2 AND j.owner = $1 ORDER BY h.n`;

export function renewJobs(db: Database, owner: Owner, now: number, after: JobCursor | undefined): Promise<Renewed> {
  return db.write(async (tx) => {
    prolong(tx, db, owner, now);
    forgetOwners(tx, db.time(now));
    // The cursor first: what changes between the two is told again, and not missed.
    const [counter, rows] = await Promise.all([
      tx.row<{ latest: number }>(LATEST_CHANGE),
      after === undefined
        ? tx.rows<Held>(ALL_HELD, owner.id)
        : tx.rows<Held>(HELD_AND_CHANGED, owner.id, changeIn(after)),
    ]);
    const { latest } = counter!;
    if (after !== undefined) requireGiven(after, latest);
    return {
      heldMs: db.leaseMs,
      changed: rows.map((row) => ({ jobId: idOf(row), seq: row.seq })),
      ...(latest === 0 ? {} : { cursor: jobCursorOf(latest) }),
    };
  }, db.heldMs);
}

const LEAVE = `UPDATE @job SET owner = NULL, due = CASE WHEN recovery = ${EXTERNAL} THEN NULL ELSE 0 END WHERE owner = $1`;

export const leaveJobs = (db: Database, { id }: Owner): Promise<void> =>
  db.write(async (tx) => {
    tx.queue("SELECT 1 FROM @job_owner WHERE id = $1 FOR UPDATE", id);
    tx.queue("SELECT 1 FROM @job WHERE owner = $1 ORDER BY n FOR UPDATE", id);
    tx.queue(LEAVE, id);
    tx.queue("DELETE FROM @job_owner WHERE id = $1", id);
    hintAtJobs(tx);
  });

/** What there is to do for a process that can run these tasks. */
export interface JobsToDo {
  readonly hasJobs: boolean;
  /** The earliest time at which a job that nobody holds can be claimed, and that has not come yet. */
  readonly next?: number;
  readonly latest: number;
}

const FREE = "SELECT min(due) FROM @job WHERE operation = t.operation AND owner IS NULL AND due IS NOT NULL";
const TIMES = `SELECT (${FREE}) AS first, (${FREE} AND due > $2) AS next FROM unnest($1::text[]) AS t (operation)`;
const HOLDERS = `SELECT ${ownerColumns(2)}
  WHERE EXISTS (SELECT 1 FROM @job j WHERE j.owner = o.id AND j.operation = ANY ($1::text[]))`;

/** `time` is that of leases, as `Database.time` tells it. */
export async function jobsToDo(
  tx: Transaction,
  now: number,
  operations: readonly string[] | undefined,
  time: number | null,
): Promise<JobsToDo> {
  const can = operations === undefined ? [] : takes(operations);
  const [counter, times, holders] = await Promise.all([
    tx.row<{ latest: number }>(LATEST_CHANGE),
    can.length === 0 ? [] : tx.rows<{ first: number | null; next: number | null }>(TIMES, can, now),
    can.length === 0 ? [] : tx.rows<OwnerRow>(HOLDERS, can, time),
  ]);
  const next = times.reduce((least, each) => Math.min(least, each.next ?? Infinity), Infinity);
  const isDue = times.some(({ first }) => first !== null && first <= now);
  const hasJobs = isDue || holders.some(isGone);
  return { hasJobs, ...(next === Infinity ? {} : { next }), latest: counter!.latest };
}
