import { RuntimeError } from "../../../model/errors.ts";
import type { JobId } from "../../../model/ids.ts";
import { jobLost } from "../../rows/faults.ts";
import { type Awaits, jobCursorOf, OVER, RERUNNABLE } from "../../rows/job.ts";
import type { JobAppended, JobLease, JobWrites, KeyedEvent, ParkedJob, StoredJobEvent } from "../../store.ts";
import { JOB_LINE_COUNTS, type JobRow, type SessionRow } from "../../tables.ts";
import { acceptWaiting } from "../inputs.ts";
import type { Numbered, Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { addWaits } from "../waits.ts";
import { addAwaits, awaitsOf, isMet, runningOf } from "./awaits.ts";
import { draftOf, type JobDraft, mayAffectOthers } from "./draft.ts";
import { writeAll } from "./ends.ts";
import { addLines } from "./lines.ts";
import { lockSessionOf, wakeSession } from "./wakes.ts";

/**
 * Writes by the holder of a job.
 *
 * fence-1: A lease is valid while no later generation exists and the job is neither parked nor over. An owner that is
 * gone, or has left, still holds it: it only allows others to claim the job.
 * fence-2: A write that wakes the session or asks a question locks the session before the job. The session is read
 * before the lock and again after it, because the job may move.
 */
export function* appendJob(
  db: Port,
  lease: JobLease,
  events: readonly KeyedEvent[],
  now: number,
  more: JobWrites = {},
): Rule<Numbered<JobAppended>> {
  const { draft, session, awaits, running } = yield* locked(db, lease, events, more);
  if (!isHeld(draft.before, lease)) return repeated(draft, lease, events, more);
  if (draft.isOrphan) requireAbandoned(draft.before, events, more);
  const { n } = draft.before;
  const [said] = yield* all([
    more.says && db.get(JOB_LINE_COUNTS, "key", n),
    db.keepNamed(() => JSON.stringify(events.map(({ event }) => event))),
  ]);
  const recorded = events.map((event) => draft.add(event));
  const inputs = yield* wakeSession(db, draft, session, more, now);
  const isParked = more.parks && canPark(draft, more.parks, awaits, running);
  if (isParked) park(db, draft, more.parks!, awaits);
  if (more.says !== undefined) yield* addLines(db, n, said, more.says);
  yield* writeAll(db, [draft], now);
  for (const input of inputs) yield* acceptWaiting(db, session!, input);
  if (hasSome(more.waits) && draft.state !== OVER)
    yield* addWaits(db, { session: draft.before.session, turn: 0, job: lease.jobId }, more.waits!);
  return appended(draft, recorded, isParked);
}

interface Locked {
  readonly draft: JobDraft;
  readonly session: SessionRow | undefined;
  readonly awaits: Awaits | undefined;
  /** The running jobs among those that this job is going to await. */
  readonly running: ReadonlySet<JobId>;
}

/** Locks and reads all rows that the write concerns (fence-2). */
function* locked(db: Port, lease: JobLease, events: readonly KeyedEvent[], more: JobWrites): Rule<Locked> {
  const id = lease.jobId;
  const awaits = more.parks?.awaits && awaitsOf(more.parks.awaits);
  const isTelling = hasSome(more.wakes) || hasSome(more.waits);
  const session = isTelling ? yield* lockSessionOf(db, id) : undefined;
  const isTouching = awaits !== undefined || events.some(({ event }) => mayAffectOthers(event));
  db.lock(isTouching ? { endings: [id], others: awaits?.jobs ?? [] } : { jobs: [id] });
  const keys = events.map(({ key }) => key);
  const [draft, running] = yield* all([draftOf(db, id, keys), runningOf(db, awaits?.jobs ?? [])]);
  if (draft === undefined) throw jobLost(lease);
  if (isTelling && session?.n !== draft.before.session) db.startOver?.();
  return { draft, session, awaits, running };
}

const hasSome = (list: readonly unknown[] | undefined): boolean => list !== undefined && list.length > 0;

const isHeld = ({ generation, owner, isParked, state }: JobRow, lease: JobLease): boolean =>
  generation === lease.generation && (owner ?? lease.owner.id) === lease.owner.id && !isParked && state !== OVER;

const appended =
  (draft: JobDraft, events: readonly StoredJobEvent[], isParked: boolean | undefined): Numbered<JobAppended> =>
  (changed) => {
    const answer = { events, cursor: jobCursorOf(changed(draft.stored)), seq: draft.seq };
    return isParked === undefined ? answer : { ...answer, isParked };
  };

/** Returns the answer to a repeated call: one that ended the job, or one that parked it. */
function repeated(
  draft: JobDraft,
  lease: JobLease,
  events: readonly KeyedEvent[],
  { parks }: JobWrites,
): Numbered<JobAppended> {
  const { before } = draft;
  const recorded = events.map(({ key }) => draft.eventUnder(key)).filter((event) => event !== undefined);
  const isParked = parks !== undefined && before.isParked && before.generation === lease.generation;
  const isRepeat = before.state === OVER ? events.length > 0 : isParked;
  if (recorded.length < events.length || !isRepeat) throw jobLost(lease);
  return appended(draft, recorded, parks === undefined ? undefined : before.isParked);
}

/** Throws unless the only event is that an orphan was abandoned. */
function requireAbandoned({ id }: JobRow, events: readonly KeyedEvent[], { waits, parks }: JobWrites): void {
  const isAbandoned = ({ event }: KeyedEvent): boolean => event.kind === "ended" && event.state === "abandoned";
  const isMore = hasSome(waits) || parks !== undefined;
  if (events.length === 0 || !events.every(isAbandoned) || isMore) throw new RuntimeError("job.bound", { id });
}

// ── Parking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Returns whether the job may park: its holder has seen all events, and the jobs that it awaits still run. */
function canPark(
  { before, state }: JobDraft,
  { seen }: ParkedJob,
  awaits: Awaits | undefined,
  running: ReadonlySet<JobId>,
): boolean {
  if (before.recovery !== RERUNNABLE || state === OVER || before.seq > seen) return false;
  return awaits === undefined || !isMet(awaits, running);
}

function park(db: Port, draft: JobDraft, { due }: ParkedJob, awaits: Awaits | undefined): void {
  draft.change({ owner: null, isParked: true, due: due ?? null, awaits: awaits ?? null });
  if (awaits !== undefined) addAwaits(db, draft.before.n, awaits);
}
