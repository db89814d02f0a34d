import { RuntimeError } from "../../model/errors.ts";
import type { JobEvent } from "../../model/job.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { KeyedEvent, StoredJobEvent } from "../store.ts";
import { seal, sumOf, unseal } from "./checksum.ts";
import type { Connection } from "./connection.ts";

/**
 * The events of jobs. Those of one job lie together, under `job * SEQS + seq`, so that a claim reads them in one go. The
 * index over their keys keeps a second event of a key from being written.
 */
export const SEQS = 2 ** 22;

export interface EventRow {
  readonly k: number;
  readonly job: number;
  readonly key: string;
  readonly event: string;
}
const seedOf = ({ k, job, key }: Omit<EventRow, "event">): number => sumOf([k, job, key]);

export const eventIn = (row: EventRow, item = `Event ${row.k % SEQS} of job ${row.job}`): JobEvent =>
  unseal(row.event, seedOf(row), item);

const storedEvent = (row: EventRow): StoredJobEvent => ({
  seq: row.k % SEQS,
  key: fromKeyText(row.key),
  event: eventIn(row),
});

const ADD = "INSERT INTO job_event VALUES (?, ?, ?, ?) ON CONFLICT (job, key) DO NOTHING";

/** Writes an event unless there is one of this key; answers whether it did. */
export function addEvent(db: Connection, job: number, seq: number, { key, event }: KeyedEvent): boolean {
  if (seq >= SEQS) throw new RuntimeError("job.steps", { max: SEQS });
  const row = { k: job * SEQS + seq, job, key: keyText(key) };
  return db.run(ADD, row.k, job, row.key, seal(event, seedOf(row))) === 1;
}

const UNDER = "SELECT * FROM job_event WHERE job = ? AND key = ?";

export function eventUnder(db: Connection, job: number, key: string): StoredJobEvent | undefined {
  const row = db.row<EventRow>(UNDER, job, keyText(key));
  return row && storedEvent(row);
}

/** This key, or one like it that no event has: what the store says must not be kept out by what others sent. */
export function freeKey(db: Connection, job: number, key: string): string {
  const isTaken = db.row(UNDER, job, keyText(key)) !== undefined;
  return isTaken ? freeKey(db, job, `${key}+`) : key;
}

const AFTER = "SELECT * FROM job_event WHERE k > ? AND k < ? ORDER BY k";

/** The events of a job in order, without the first `after`. `seq` is how many there are. */
export function eventsAfter(
  db: Connection,
  { n, id, seq }: { readonly n: number; readonly id: string; readonly seq: number },
  after: number,
): readonly StoredJobEvent[] {
  const start = Math.min(Math.max(after, 0), seq);
  const events = db.rows<EventRow>(AFTER, n * SEQS + start, (n + 1) * SEQS).map((row) => {
    if (row.job !== n) throw corrupt(`The events of job ${id}`, "one of another job is among them");
    return storedEvent(row);
  });
  const isWhole = events.length === seq - start && events.every((event, index) => event.seq === start + index + 1);
  if (!isWhole) throw corrupt(`The events of job ${id}`, "some of them are missing");
  return events;
}

export function forgetEvents(db: Connection, job: number): void {
  db.run("DELETE FROM job_event WHERE k >= ? AND k < ?", job * SEQS, (job + 1) * SEQS);
}
