import { RuntimeError } from "../../../model/errors.ts";
import type { JobCursor, JobId } from "../../../model/ids.ts";
import { BOUND, EXTERNAL, jobCursorOf, tasksOf } from "../../rows/job.ts";
import type { ClaimedJob, Owner, Store, StoredJobEvent } from "../../store.ts";
import { JOB, JOB_EVENT, JOB_OWNER, type JobRow } from "../../tables.ts";
import type { Numbered, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { JobDraft } from "./draft.ts";
import { requireSpawned, requireWhole, type Spawned, storedEvent, toStoredJob } from "./events.ts";
import { changeIn } from "./list.ts";
import { forgetOwners, goneOwners, lockOwners, prolong } from "./owners.ts";

/**
 * Claims of jobs. An unheld job is found by its task and time, a job of a gone owner by that owner. So a claim reads
 * neither sleeping jobs nor jobs that others hold.
 */

export function* claimJobs(
  db: Port,
  owner: Owner,
  now: number,
  max: number,
  operations: readonly string[],
): Rule<Numbered<readonly ClaimedJob[]>> {
  const owners = yield* lockOwners(db, owner, now);
  // Prolonged first: a slow owner still holds its jobs and must not receive them twice.
  prolong(db, owners, owner);
  const damage: unknown[] = [];
  const before = yield* takenBefore(db, owner);
  const gone = goneOwners(db, owners, owner);
  const found = before.length > 0 ? before : yield* claimable(db, tasksOf(operations), now, gone, max, damage);
  const jobs = yield* readable(db, found, damage);
  if (jobs.length === 0 && damage.length > 0) throw damage[0];
  const taken = before.length > 0 ? jobs.map(takenAgain) : jobs.map((job) => take(job, owner, now));
  for (const { draft } of taken) draft.write(db);
  db.tried.set(
    TAKEN,
    taken.map(({ draft }) => draft.stored),
  );
  yield* forgetOwners(db, owners, owner);
  return (changed) =>
    taken.map(({ draft: { stored }, first, events, isOrphan }): ClaimedJob => {
      const lease = { jobId: stored.id, generation: stored.generation, owner };
      const job = { ...toStoredJob(stored, first, changed(stored)), lease, events };
      return isOrphan ? { ...job, isOrphan } : job;
    });
}

// ── Finding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const TAKEN = "claimed";

/** Returns the jobs that an earlier attempt took, if its write was kept. A later claim would not return them. */
function* takenBefore(db: Port, owner: Owner): Rule<readonly JobRow[]> {
  const tried = db.attempt > 1 ? ((db.tried.get(TAKEN) ?? []) as readonly JobRow[]) : [];
  if (tried.length === 0) return [];
  db.lock({ jobs: tried.map(({ id }) => id) });
  const rows = yield* all(tried.map(({ n }) => db.get(JOB, "key", n)));
  const isKept = (row: JobRow | undefined, at: number): boolean =>
    row?.owner === owner.id && row.generation === tried[at]!.generation;
  return rows.filter(isKept) as readonly JobRow[];
}

/**
 * Returns up to `max` jobs that no process holds, the longest due first. A job of a gone owner can be claimed at once.
 */
function* claimable(
  db: Port,
  tasks: readonly string[],
  now: number,
  gone: readonly string[],
  max: number,
  damage: unknown[],
): Rule<readonly JobRow[]> {
  if (max <= 0) return [];
  const limit = max === Infinity ? {} : { max };
  const found =
    db.claimable === undefined
      ? yield* all([
          ...tasks.map((task) => db.scan(JOB, "due", [task], { upTo: now, ...limit, damage })),
          ...gone.flatMap((owner) => tasks.map((task) => db.scan(JOB, "held", [owner, task], { ...limit, damage }))),
        ])
      : [yield* db.claimable(tasks, now, gone, max)];
  const since = ({ owner, due }: JobRow): number => (owner === null ? due! : 0);
  return found
    .flat()
    .sort((a, b) => since(a) - since(b) || a.n - b.n)
    .slice(0, max);
}

interface Readable {
  readonly row: JobRow;
  readonly events: readonly StoredJobEvent[];
  readonly first: Spawned;
}

/** Returns the jobs that can be read. A damaged job must not block the others. */
function* readable(db: Port, rows: readonly JobRow[], damage: unknown[]): Rule<readonly Readable[]> {
  const losses: readonly unknown[][] = rows.map(() => []);
  const read = yield* all(rows.map(({ n }, at) => db.scan(JOB_EVENT, "job", [n], { damage: losses[at]! })));
  return rows.flatMap((row, at): readonly Readable[] => {
    try {
      for (const error of losses[at]!) throw error;
      const events = read[at]!.map(storedEvent);
      requireWhole(row, events, 0);
      return [{ row, events, first: requireSpawned(row.id, events[0]?.event) }];
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
      damage.push(error);
      return [];
    }
  });
}

// ── Taking ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Taken extends Omit<Readable, "row"> {
  readonly draft: JobDraft;
  readonly isOrphan: boolean;
}

function take({ row, events, first }: Readable, owner: Owner, now: number): Taken {
  const draft = new JobDraft(row, [], events);
  const generation = row.generation + 1;
  draft.change({ owner: owner.id, generation, isParked: false, due: null, awaits: null });
  if (row.recovery === BOUND) return { draft, events, first, isOrphan: true };
  let key = `started/${generation}`;
  while (draft.eventUnder(key) !== undefined) key += "+"; // Other senders may have used this key.
  const started = draft.add({ key, event: { kind: "started", generation, at: now } });
  return { draft, events: [...events, started], first, isOrphan: false };
}

function takenAgain({ row, events, first }: Readable): Taken {
  const draft = new JobDraft(row, [], []);
  return { draft, events, first, isOrphan: draft.isOrphan };
}

// ── Holding ─────────────────────────────────────────────────────────────────────────────────────────────────────────

type Renewed = Awaited<ReturnType<Store["jobs"]["renew"]>>;

/** Prolongs an owner's lease and returns its jobs that have changed. */
export function* renewJobs(db: Port, owner: Owner, now: number, after?: JobCursor): Rule<Renewed> {
  const above = after === undefined ? 0 : changeIn(after);
  const [owners, latest, rows] = yield* all([
    // Locked first: a claim that takes jobs from this owner locks the same row, and must be seen whole.
    lockOwners(db, owner, now),
    // Read before the jobs: a change between the two reads is then reported twice instead of missed.
    db.latestChange(),
    // Reads the changes of all jobs. An index by owner and change would be written with every step.
    above === 0
      ? db.scan(JOB, "owner", [owner.id], { damage: [] })
      : db.scan(JOB, "changed", [], { above, damage: [] }),
  ]);
  if (above > latest) throw new RuntimeError("cursor.unknown", { cursor: after! });
  prolong(db, owners, owner);
  yield* forgetOwners(db, owners, owner);
  const owned = rows.filter((row) => row.owner === owner.id).sort((a, b) => a.changed - b.changed);
  return {
    heldMs: db.leaseMs,
    changed: owned.map(({ id, seq }): { readonly jobId: JobId; readonly seq: number } => ({ jobId: id, seq })),
    ...(latest === 0 ? {} : { cursor: jobCursorOf(latest) }),
  };
}

/** Removes the owner, so that its jobs can be claimed at once. */
export function* leaveJobs(db: Port, { id }: Owner): Rule<void> {
  db.lock({ owner: id });
  const owned = yield* db.scan(JOB, "owner", [id]);
  if (owned.length > 0) db.lock({ jobs: owned.map((row) => row.id) });
  for (const row of owned.length === 0 ? [] : yield* db.scan(JOB, "owner", [id]))
    db.update(JOB, row, { owner: null, due: row.recovery === EXTERNAL ? null : 0 });
  db.removeAll(JOB_OWNER, "key", id);
  db.hint({ kind: "jobs" });
}
