import { EXTERNAL } from "../../rows/job.ts";
import type { Owner } from "../../store.ts";
import { JOB, JOB_OWNER, type JobOwnerRow, type JobRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";

/**
 * The processes that hold jobs. One row holds the lease on all jobs of a process, so one write renews it. There are few
 * such rows, and they lead to the jobs of owners that are gone.
 */
export interface Owners {
  /** The clock that leases are measured by. */
  readonly time: number;
  readonly rows: ReadonlyMap<string, JobOwnerRow>;
  /** A row is damaged, and its owner is unknown. */
  readonly isDamaged: boolean;
}

export function* readOwners(db: Port, now: number): Rule<Owners> {
  const damage: unknown[] = [];
  const [time, rows] = yield* all([db.now(now), db.scan(JOB_OWNER, "all", [], { damage })]);
  return { time, rows: new Map(rows.map((row) => [row.id, row])), isDamaged: damage.length > 0 };
}

/** Reads the owners and locks the row of one that is going to be prolonged. */
export function lockOwners(db: Port, { id }: Owner, now: number): Rule<Owners> {
  db.lock({ owner: id });
  return readOwners(db, now);
}

const isOwnerGone = (db: Port, { time }: Owners, { until, process }: JobOwnerRow): boolean =>
  until <= time || db.isDead(process);

/**
 * Returns whether no process works on a job, so that no process would act on a cancel. An owner without a row has no
 * lease. An owner whose row may be damaged counts as alive, because others would otherwise abandon its running work.
 */
export function isUnattended(db: Port, { recovery, owner }: JobRow, owners: Owners): boolean {
  if (recovery === EXTERNAL || owner === null) return true;
  const row = owners.rows.get(owner);
  return row === undefined ? !owners.isDamaged : isOwnerGone(db, owners, row);
}

/** Returns the owners that are gone, except this one. */
export const goneOwners = (db: Port, owners: Owners, except?: Owner): readonly string[] =>
  [...owners.rows.values()].flatMap((row) => (row.id !== except?.id && isOwnerGone(db, owners, row) ? [row.id] : []));

/** Prolongs the lease of an owner. A late call does not shorten it, unless another process took the owner's id. */
export function prolong(db: Port, { time, rows, isDamaged }: Owners, { id, process }: Owner): void {
  const until = time + db.leaseMs;
  const before = rows.get(id);
  if (before === undefined) {
    if (isDamaged) db.removeAll(JOB_OWNER, "key", id); // The damaged row may be the row of this owner.
    db.insert(JOB_OWNER, { id, process, until });
  } else if (before.process !== process) db.update(JOB_OWNER, before, { process, until });
  else if (before.until < until) db.update(JOB_OWNER, before, { until });
}

/** Removes owners that hold no job and whose lease has expired, except this one. */
export function* forgetOwners(db: Port, { time, rows }: Owners, except: Owner): Rule<void> {
  if (db.forgetOwners !== undefined) return db.forgetOwners(time);
  const late = [...rows.values()].filter(({ id, until }) => id !== except.id && until <= time);
  const jobCounts = yield* all(late.map(({ id }) => db.count(JOB, "owner", id)));
  for (const [at, row] of late.entries()) if (jobCounts[at] === 0) db.remove(JOB_OWNER, row);
}
