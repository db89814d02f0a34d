import type { JobEvent } from "../../model/job.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { corrupt } from "../rows/faults.ts";
import type { KeptId } from "../rows/job.ts";
import type { StoredJobEvent } from "../store.ts";
import type { Transaction } from "./database.ts";
import { parsed } from "./text.ts";

/** The events of jobs. The index over their keys keeps a second event of a key from being written. */
export interface EventRow {
  readonly job: number;
  readonly seq: number;
  readonly key: string;
  readonly event: string;
}

export const storedEvent = ({ job, seq, key, event }: EventRow): StoredJobEvent => ({
  seq,
  key: fromKeyText(key),
  event: parsed<JobEvent>(event, `Event ${seq} of job ${job}`),
});

const UNDER = "SELECT * FROM @job_event WHERE job = $1 AND key = $2";

export async function eventUnder(tx: Transaction, job: number, key: string): Promise<StoredJobEvent | undefined> {
  const row = await tx.row<EventRow>(UNDER, job, keyText(key));
  return row && storedEvent(row);
}

const UNDER_KEYS = `SELECT e.* FROM @job j JOIN @job_event e ON e.job = j.n
  WHERE j.id = $1 AND e.key = ANY ($2::text[]) ORDER BY e.seq`;

/** What stands under some keys of a job. */
export async function eventsUnder(
  tx: Transaction,
  id: KeptId,
  keys: readonly string[],
): Promise<readonly StoredJobEvent[]> {
  if (keys.length === 0) return [];
  return (await tx.rows<EventRow>(UNDER_KEYS, id, keys.map(keyText))).map(storedEvent);
}

/** Throws unless these are all events after the first `after`, of `seq` that there are. */
export function requireWhole(events: readonly StoredJobEvent[], id: KeptId, after: number, seq: number): void {
  const isWhole = events.length === seq - after && events.every((event, index) => event.seq === after + index + 1);
  if (!isWhole) throw corrupt(`The events of job ${id}`, "some of them are missing");
}
