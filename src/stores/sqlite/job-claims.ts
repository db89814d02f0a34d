import { RuntimeError } from "../../model/errors.ts";
import type { JobCursor } from "../../model/ids.ts";
import type { ClaimedJob, Owner, Store } from "../store.ts";
import type { Connection } from "./connection.ts";
import { limit } from "./facts.ts";
import { forgetAwaits } from "./job-awaits.ts";
import { addEvent, eventsAfter, freeKey } from "./job-events.ts";
import { requireChange } from "./job-list.ts";
import { forgetOwner, forgetOwners, goneOwners, isGone, type OwnerRow, prolong } from "./job-owners.ts";
import {
  BOUND,
  EXTERNAL,
  folded,
  idOf,
  type JobRow,
  type KeptId,
  keepJob,
  latestChange,
  latestCursor,
  requireJob,
  requireNumber,
  requireSpawned,
  type Spawned,
  shownJob,
  takes,
} from "./job-row.ts";

/**
 * Who goes on with jobs. A job that nobody holds is found by the task that it needs and its time; one whose owner is gone,
 * by that owner. So neither the jobs that sleep nor those that others hold are looked at.
 */

interface Candidate {
  readonly n: number;
  /** When it became claimable; 0 for at once. */
  readonly since: number;
}

const IS_DUE = `SELECT n, due AS since FROM job INDEXED BY job_due
  WHERE operation = ? AND owner IS NULL AND due IS NOT NULL AND due <= ? ORDER BY due, n LIMIT ?`;
const IS_LEFT = `SELECT n, 0 AS since FROM job INDEXED BY job_held WHERE owner = ? AND operation = ? ORDER BY n LIMIT ?`;

export function claimJobs(
  db: Connection,
  owner: Owner,
  now: number,
  max: number,
  operations: readonly string[],
): readonly ClaimedJob[] {
  // First: an owner that was slow still holds its jobs, and must not be given them a second time.
  prolong(db, owner, now + db.leaseMs);
  const gone = goneOwners(db, now);
  const found = takes(operations).flatMap((operation) => [
    ...db.rows<Candidate>(IS_DUE, operation, now, limit(max)),
    ...gone.flatMap(({ id }) => db.rows<Candidate>(IS_LEFT, id, operation, limit(max))),
  ]);
  found.sort((a, b) => a.since - b.since || a.n - b.n);
  const claimed = taken(db, found.slice(0, max), owner, now);
  forgetOwners(db, now);
  return claimed;
}

/** Takes those that can be read. If none can, the first one says why: what is damaged must not keep others waiting. */
function taken(db: Connection, found: readonly Candidate[], owner: Owner, now: number): readonly ClaimedJob[] {
  const damage: unknown[] = [];
  const readable = found.flatMap(({ n }): readonly Readable[] => {
    try {
      const row = requireNumber(db, n);
      const events = eventsAfter(db, row, 0);
      return [{ row, events, first: requireSpawned(row, events[0]?.event) }];
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
      damage.push(error);
      return [];
    }
  });
  if (readable.length === 0 && damage.length > 0) throw damage[0];
  return readable.map((each) => take(db, each, owner, now));
}

interface Readable {
  readonly row: JobRow;
  readonly events: ClaimedJob["events"];
  readonly first: Spawned;
}

function take(db: Connection, { row: before, events, first }: Readable, owner: Owner, now: number): ClaimedJob {
  const generation = before.generation + 1;
  const isOrphan = before.recovery === BOUND;
  forgetAwaits(db, before);
  const held = { ...before, owner: owner.id, generation, is_parked: 0, due: null, awaits: null };
  const lease = { jobId: idOf(before), generation, owner };
  if (isOrphan) return { ...shownJob(keepJob(db, before, held), first), lease, events, isOrphan };
  const seq = before.seq + 1;
  const event = { kind: "started", generation, at: now } as const;
  const key = freeKey(db, before.n, `started/${generation}`);
  addEvent(db, before.n, seq, { key, event });
  const row = keepJob(db, before, { ...folded(held, event), seq });
  return { ...shownJob(row, first), lease, events: [...events, { seq, key, event }] };
}

type Renewed = Awaited<ReturnType<Store["jobs"]["renew"]>>;

interface Held {
  readonly id: KeptId;
  readonly seq: number;
}
const ALL_HELD = "SELECT id, seq FROM job WHERE owner = ? ORDER BY changed";
// By the changes since, whoever's they are: an index by owner and change would have to be written with every step.
const HELD_AND_CHANGED = "SELECT id, seq FROM job WHERE changed > ? AND +owner = ? ORDER BY changed";

export function renewJobs(db: Connection, owner: Owner, now: number, after: JobCursor | undefined): Renewed {
  prolong(db, owner, now + db.leaseMs);
  forgetOwners(db, now);
  const rows =
    after === undefined
      ? db.rows<Held>(ALL_HELD, owner.id)
      : db.rows<Held>(HELD_AND_CHANGED, requireChange(db, after), owner.id);
  const cursor = latestCursor(db);
  return {
    heldMs: db.leaseMs,
    changed: rows.map((row) => ({ jobId: idOf(row), seq: row.seq })),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

export function leaveJobs(db: Connection, { id }: Owner): void {
  for (const row of db.rows<JobRow>("SELECT * FROM job WHERE owner = ?", id))
    keepJob(db, requireJob(row), { ...row, owner: null, due: row.recovery === EXTERNAL ? null : 0 });
  forgetOwner(db, id);
}

/** What there is to do for a process that can run these tasks. */
export interface JobsToDo {
  /** The earliest times at which jobs that nobody holds can be claimed: one that has come, and one that has not. */
  readonly isDue: boolean;
  readonly next?: number;
  /** Those who hold such jobs: whether they still do is a matter of time, and of processes that die. */
  readonly owners: readonly OwnerRow[];
  readonly latest: number;
}

const TIMES = `SELECT
    (SELECT min(due) FROM job INDEXED BY job_due
      WHERE operation = each.value AND owner IS NULL AND due IS NOT NULL) AS first,
    (SELECT min(due) FROM job INDEXED BY job_due
      WHERE operation = each.value AND owner IS NULL AND due IS NOT NULL AND due > ?) AS next
  FROM json_each(?) each`;
const HOLDERS = `SELECT * FROM job_owner WHERE EXISTS (SELECT 1 FROM json_each(?) each
  CROSS JOIN job INDEXED BY job_held ON job.owner = job_owner.id AND job.operation = each.value)`;

export function jobsToDo(db: Connection, now: number, operations: readonly string[] | undefined): JobsToDo {
  const latest = latestChange(db);
  if (operations === undefined || latest === 0) return { isDue: false, owners: [], latest };
  const can = JSON.stringify(takes(operations));
  const times = db.rows<{ first: number | null; next: number | null }>(TIMES, now, can);
  const next = times.reduce((least, time) => Math.min(least, time.next ?? Infinity), Infinity);
  return {
    isDue: times.some(({ first }) => first !== null && first <= now),
    ...(next === Infinity ? {} : { next }),
    owners: db.rows<OwnerRow>(HOLDERS, can),
    latest,
  };
}

export const hasJobs = ({ isDue, owners }: JobsToDo, now: number): boolean =>
  isDue || owners.some((row) => isGone(row, now));
