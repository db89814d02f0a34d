import { EXTERNAL, jobAsParent, type KeptId } from "../rows/job.ts";
import type { Transaction } from "./database.ts";
import { payloadOf } from "./hints.ts";
import { lockWaiters, wakeWaiters } from "./job-awaits.ts";
import { JobDraft } from "./job-draft.ts";
import { type EventRow, storedEvent } from "./job-events.ts";
import { isGone, type OwnerRow, ownerColumns } from "./job-owners.ts";
import type { JobRow } from "./job-row.ts";
import { endWaits, type WaitRow } from "./waits.ts";

/**
 * What the end of a job, or its rest, means to others: its waits are revoked, jobs that await it are due, and its children
 * are sent a cancel.
 */

/** What leases are told by, and the time of what is written. */
export interface Times {
  readonly now: number;
  /** As `Database.time` tells it. */
  readonly time: number | null;
}

/** Writes what became of jobs, and what that means to others. `ended`: parents that are over, besides these jobs. */
export async function keepAll(
  tx: Transaction,
  drafts: readonly JobDraft[],
  times: Times,
  ended: readonly string[] = [],
): Promise<void> {
  const all = [...drafts];
  const waits: WaitRow[] = [];
  let over = drafts.filter(({ isNowOver }) => isNowOver);
  let parents = [...ended, ...over.map(asParent)];
  while (parents.length > 0) {
    const [children, revoked] = await Promise.all([
      cancelChildren(tx, parents, all, times),
      waitsOf(tx, over.map(idIn)),
    ]);
    all.push(...children);
    waits.push(...revoked);
    over = children.filter(({ isNowOver }) => isNowOver);
    parents = over.map(asParent);
  }
  const done = all.filter(({ isNowDone }) => isNowDone).map(idIn);
  if (done.length > 0) lockWaiters(tx, done);
  for (const draft of all) draft.keep(tx);
  endWaits(tx, waits);
  if (done.length > 0) wakeWaiters(tx, done);
  if (done.length > 0 || all.length > drafts.length) hintAtJobs(tx);
}

/** Tells other processes that there may be something to do. Not for steps: commits that tell something wait in line. */
export const hintAtJobs = (tx: Transaction): void => tx.hint(payloadOf({ kind: "jobs" }));

const idIn = ({ before }: JobDraft): KeptId => before.id;
const asParent = (draft: JobDraft): string => jobAsParent(idIn(draft));

const WAITS = "SELECT * FROM @wait WHERE job = ANY ($1::text[]) AND key IS NOT NULL ORDER BY n";
const waitsOf = async (tx: Transaction, jobs: readonly KeptId[]): Promise<readonly WaitRow[]> =>
  jobs.length === 0 ? [] : tx.rows<WaitRow>(WAITS, jobs);

// They are locked already, but for those that were begun since.
const CHILDREN = "SELECT * FROM @job WHERE parent = ANY ($1::text[]) ORDER BY n FOR UPDATE";
const KEYS = ["cancel", "end"];
const UNDER_KEYS = `SELECT e.* FROM @job j JOIN @job_event e ON e.job = j.n
  WHERE j.parent = ANY ($1::text[]) AND e.key = ANY ($2::text[]) ORDER BY e.job, e.seq`;
const HOLDERS = `SELECT ${ownerColumns(2)} WHERE o.id IN (SELECT owner FROM @job WHERE parent = ANY ($1::text[]))`;

/** Sends a cancel to children, and answers those that it was new to. Those that are written about already are left. */
async function cancelChildren(
  tx: Transaction,
  parents: readonly string[],
  known: readonly JobDraft[],
  { now, time }: Times,
): Promise<readonly JobDraft[]> {
  const [rows, events, holders] = await Promise.all([
    tx.rows<JobRow>(CHILDREN, parents),
    tx.rows<EventRow>(UNDER_KEYS, parents, KEYS),
    tx.rows<OwnerRow>(HOLDERS, parents, time),
  ]);
  const told: JobDraft[] = [];
  for (const row of rows) {
    const under = events.filter(({ job }) => job === row.n).map(storedEvent);
    const draft = new JobDraft(row, KEYS, under);
    const isKnown = known.some(({ before }) => before.n === row.n) || draft.under("cancel") !== undefined;
    if (isKnown) continue;
    draft.tell({ key: "cancel", event: { kind: "cancelling", reason: "What began this job has ended.", at: now } });
    const holder = holders.find(({ id }) => id === row.owner);
    if (isNobodys(row, holder)) await endCancelled(tx, draft, now);
    draft.rouse();
    told.push(draft);
  }
  return told;
}

/** Whether nobody here works at a job, so that nobody would follow a cancel. `holder` is the row of its owner. */
export const isNobodys = ({ recovery, owner }: JobRow, holder: OwnerRow | undefined): boolean =>
  recovery === EXTERNAL || owner === null || holder === undefined || isGone(holder);

/** Nobody works at a job that is asked to end: so it has ended. */
export async function endCancelled(tx: Transaction, draft: JobDraft, now: number): Promise<void> {
  draft.tell({ key: await draft.freeKey(tx, "end"), event: { kind: "ended", state: "cancelled", at: now } });
}

// ── Forgetting ──────────────────────────────────────────────────────────────────────────────────────────────────────

const OF_JOBS = ["job_await", "job_event", "job_line", "job_said", "job_change"];

/**
 * Removes jobs, whose rows are locked. Jobs that await these can go on. Their children do not end with them: nobody says
 * that they are over.
 */
export async function forgetJobs(tx: Transaction, rows: readonly JobRow[]): Promise<void> {
  if (rows.length === 0) return;
  const [ids, numbers] = [rows.map(({ id }) => id), rows.map(({ n }) => n)];
  lockWaiters(tx, ids);
  const waits = await waitsOf(tx, ids); // Of a job that was handed over, its first session may have some.
  for (const table of OF_JOBS) tx.queue(`DELETE FROM @${table} WHERE job = ANY ($1::bigint[])`, numbers);
  tx.queue("DELETE FROM @job WHERE n = ANY ($1::bigint[])", numbers);
  endWaits(tx, waits);
  wakeWaiters(tx, ids);
}
