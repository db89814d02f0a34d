import type { JobId } from "../../../model/ids.ts";
import type { JobEvent } from "../../../model/job.ts";
import { corrupt } from "../../rows/faults.ts";
import { jobCursorOf, recordWith } from "../../rows/job.ts";
import type { StoredJob, StoredJobEvent } from "../../store.ts";
import { JOB_EVENT, type JobEventRow, type JobRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";

/** Events and records of jobs. The first event contains the fields of the record that never change. */

export const storedEvent = ({ seq, key, event }: JobEventRow): StoredJobEvent => ({ seq, key, event });

/** Returns the events under these keys of a job. */
export function* eventsUnder(db: Port, job: number, keys: Iterable<string>): Rule<readonly JobEventRow[]> {
  const rows = yield* all([...new Set(keys)].map((key) => db.get(JOB_EVENT, "name", job, key)));
  return rows.filter((row) => row !== undefined);
}

/** Throws unless these are all events after number `after`. */
export function requireWhole({ id, seq }: JobRow, events: readonly StoredJobEvent[], after: number): void {
  const isWhole = events.length === seq - after && events.every((event, at) => event.seq === after + at + 1);
  if (!isWhole) throw corrupt(`The events of job ${id}`, "some of them are missing");
}

// ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────

export type Spawned = JobEvent & { readonly kind: "spawned" };

export function requireSpawned(id: JobId, first: JobEvent | undefined): Spawned {
  if (first?.kind === "spawned") return first;
  throw corrupt(`The beginning of job ${id}`, first === undefined ? "it is missing" : "it is another event");
}

/** Returns the first event of a job. */
export function* firstOf(db: Port, { n, id }: JobRow): Rule<Spawned> {
  return requireSpawned(id, (yield* db.get(JOB_EVENT, "key", n, 1))?.event);
}

/** Returns a job as readers see it. `changed` is the number of its latest change. */
export const toStoredJob = (row: JobRow, first: Spawned, changed = row.changed): StoredJob => ({
  record: recordWith(row.moves, first.job),
  seq: row.seq,
  cursor: jobCursorOf(changed),
});

/** Returns jobs as readers see them, in the order of the rows. */
export function* storedJobs(db: Port, rows: readonly JobRow[]): Rule<readonly StoredJob[]> {
  const firsts = yield* all(rows.map((row) => firstOf(db, row)));
  return rows.map((row, at) => toStoredJob(row, firsts[at]!));
}
