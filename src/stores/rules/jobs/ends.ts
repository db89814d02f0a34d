import type { JobId, TurnId } from "../../../model/ids.ts";
import { EXTERNAL, OVER, parentJob, turnAsParent } from "../../rows/job.ts";
import { JOB, JOB_AWAIT, JOB_EVENT, JOB_LINE, JOB_LINE_COUNTS, type JobRow, WAIT, type WaitRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { endWaits } from "../waits.ts";
import { waitersOf, wakeWaiters } from "./awaits.ts";
import { JobDraft } from "./draft.ts";
import { eventsUnder, storedEvent } from "./events.ts";
import { isUnattended, readOwners } from "./owners.ts";

/**
 * Consequences of a job that ends or becomes idle: its waits end, jobs that await it become due, and its children are
 * cancelled.
 */

/** Writes changed jobs and the consequences for others. `parents` have ended too, besides these jobs. */
export function* writeAll(
  db: Port,
  drafts: readonly JobDraft[],
  now: number,
  parents: readonly string[] = [],
): Rule<void> {
  const written = [...drafts];
  const waits: WaitRow[] = [];
  const waiters: number[] = [];
  let latest = drafts;
  let ended = [...parents, ...over(drafts).map(parentJob)];
  // Children that end may have children too.
  while (ended.length > 0 || latest.some(({ isNowDone }) => isNowDone)) {
    const [children, revoked, awaiting] = yield* all([
      cancelChildren(db, ended, written, now),
      waitsOf(db, over(latest)),
      waitersOf(db, done(latest)),
    ]);
    written.push(...children);
    waits.push(...revoked);
    waiters.push(...awaiting);
    latest = children;
    ended = over(children).map(parentJob);
  }
  for (const draft of written) draft.write(db);
  endWaits(db, waits);
  yield* wakeWaiters(db, waiters);
  // No hint for a plain step: on some stores, writes that notify other processes wait for each other.
  if (written.length > drafts.length || done(written).length > 0) db.hint({ kind: "jobs" });
}

const idOf = ({ before }: JobDraft): JobId => before.id;
const over = (drafts: readonly JobDraft[]): readonly JobId[] => drafts.filter(({ isNowOver }) => isNowOver).map(idOf);
const done = (drafts: readonly JobDraft[]): readonly JobId[] => drafts.filter(({ isNowDone }) => isNowDone).map(idOf);

function* waitsOf(db: Port, ids: readonly JobId[]): Rule<readonly WaitRow[]> {
  return (yield* all(ids.map((id) => db.scan(WAIT, "job", [id])))).flat();
}

const KEYS = ["cancel", "end"];

/** Cancels children, and returns those that had no cancel. Skips jobs that the rule already changes. */
function* cancelChildren(
  db: Port,
  parents: readonly string[],
  written: readonly JobDraft[],
  now: number,
): Rule<readonly JobDraft[]> {
  for (const parent of parents) db.lock({ childrenOf: parent });
  const found = (yield* all(parents.map((parent) => db.scan(JOB, "parent", [parent])))).flat();
  const rows = found.filter(({ n }) => written.every(({ before }) => before.n !== n));
  if (rows.length === 0) return [];
  const [events, owners] = yield* all([all(rows.map(({ n }) => eventsUnder(db, n, KEYS))), readOwners(db, now)]);
  const children = rows
    .map((row, at) => new JobDraft(row, KEYS, events[at]!.map(storedEvent)))
    .filter((draft) => draft.eventUnder("cancel") === undefined);
  for (const draft of children) {
    draft.add({ key: "cancel", event: { kind: "cancelling", reason: "What began this job has ended.", at: now } });
    if (isUnattended(db, draft.before, owners)) yield* endCancelled(db, draft, now);
    draft.wake();
  }
  return children;
}

/** Ends a cancelled job that no process works on. */
export function* endCancelled(db: Port, draft: JobDraft, now: number): Rule<void> {
  draft.add({ key: yield* draft.freeKey(db, "end"), event: { kind: "ended", state: "cancelled", at: now } });
}

/** Cancels the jobs that end with a turn. A rule calls this before it numbers facts. */
export const turnEnded = (db: Port, turn: TurnId, now: number): Rule<void> =>
  writeAll(db, [], now, [turnAsParent(turn)]);

// ── Forgetting ──────────────────────────────────────────────────────────────────────────────────────────────────────

const REMOVED = "removed";

/** Removes an ended or external job. Returns whether it removed one. */
export function* removeJob(db: Port, id: JobId): Rule<boolean> {
  db.lock({ endings: [id] });
  const row = yield* db.get(JOB, "id", id);
  if (row === undefined) return db.attempt > 1 && db.tried.has(REMOVED); // An earlier attempt removed it.
  if (row.state !== OVER && row.recovery !== EXTERNAL) return false;
  db.tried.set(REMOVED, true);
  yield* removeJobs(db, [row]);
  return true;
}

/** Removes the ended ones of these jobs. */
export function* forgetOver(db: Port, ids: readonly JobId[]): Rule<void> {
  if (ids.length === 0) return;
  const unique = [...new Set(ids)];
  db.lock({ endings: unique });
  const rows = yield* all(unique.map((id) => db.get(JOB, "id", id)));
  yield* removeJobs(db, rows.filter((row) => row?.state === OVER) as readonly JobRow[]);
}

/** Removes the jobs of a session. The session is locked and is about to be deleted. */
export function* forgetJobsOf(db: Port, session: number): Rule<void> {
  db.lock({ jobsOf: session });
  yield* removeJobs(db, yield* db.scan(JOB, "session", [session]));
}

/** Jobs that await these can continue. Children are not cancelled, because the removed jobs did not end. */
function* removeJobs(db: Port, rows: readonly JobRow[]): Rule<void> {
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  // A job that was handed over may still have waits in its first session.
  const [waits, waiters] = yield* all([waitsOf(db, ids), waitersOf(db, ids)]);
  for (const row of rows) {
    db.removeAll(JOB_AWAIT, "job", row.n);
    db.removeAll(JOB_EVENT, "job", row.n);
    db.removeAll(JOB_LINE, "job", row.n);
    db.removeAll(JOB_LINE_COUNTS, "key", row.n);
    db.remove(JOB, row);
  }
  endWaits(db, waits);
  yield* wakeWaiters(db, waiters);
}
