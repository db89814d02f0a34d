import { RuntimeError } from "../../model/errors.ts";
import { asJobCursor, type JobCursor, type JobId } from "../../model/ids.ts";
import { foldJob, isOver, type JobEvent, type JobRecord, type NewJob } from "../../model/job.ts";
import type { StoredJob, StoredJobEvent } from "../store.ts";
import type { JobRow, SessionRow } from "./rows.ts";

/** The jobs of one session. */
interface Group {
  readonly rows: Set<JobRow>;
  /** How many of them are not over. */
  live: number;
}

/**
 * All jobs: by id, by session, and in the order of their latest events.
 *
 * 1. Every event goes through `write`, which keeps the record, the order, and what is not over in step with it.
 * 2. `free` has the jobs that nobody holds and that may be claimable by themselves: when their time comes, or the jobs
 *    that they await are over. One that only an event can wake is in no list that anybody reads through.
 */
export class JobRows {
  /** In the order in which they were begun. */
  readonly #rows = new Map<JobId, JobRow>();
  readonly byId: ReadonlyMap<JobId, JobRow> = this.#rows;
  readonly #groups = new Map<SessionRow, Group>();
  readonly free = new Set<JobRow>();
  #begun = 0;
  /** How many events were ever written: the cursor of the latest. */
  #written = 0;
  /** The ends of the order of latest events. */
  #first: JobRow | undefined;
  #last: JobRow | undefined;

  get latest(): JobCursor | undefined {
    return this.#written === 0 ? undefined : jobCursorOf(this.#written);
  }

  require(id: JobId): JobRow {
    const row = this.#rows.get(id);
    if (row === undefined) throw new RuntimeError("job.unknown", { id });
    return row;
  }

  add(job: NewJob, session: SessionRow): JobRow {
    const event: JobEvent = { kind: "spawned", at: job.at, job };
    const row: JobRow = {
      id: job.id,
      nth: this.#begun++,
      session,
      record: foldJob(undefined, event),
      events: NO_EVENTS,
      keys: undefined,
      cursor: 0,
      earlier: undefined,
      later: undefined,
      generation: 0,
      holder: undefined,
      isParked: false,
      due: job.notBefore ?? 0,
      awaits: undefined,
      waits: undefined,
    };
    this.#rows.set(job.id, row);
    this.#join(row);
    this.write(row, "spawned", event);
    this.rest(row);
    return row;
  }

  /** Writes an event, unless there is one under its key (1). Answers the one that stands there. */
  write(row: JobRow, key: string, event: JobEvent): StoredJobEvent {
    const before = find(row, key);
    if (before !== undefined) return before;
    const stored: StoredJobEvent = { key, event, seq: row.events.length + 1 };
    // A list that is pushed to is given room for 16 more, which most jobs never use: short ones are made anew.
    if (stored.seq <= FEW) row.events = row.events.concat(stored);
    else row.events.push(stored);
    row.keys?.set(key, stored);
    const wasOver = isOver(row.record);
    row.record = foldJob(row.record, event);
    if (!wasOver && isOver(row.record)) this.#groups.get(row.session)!.live -= 1;
    this.#unlink(row);
    this.#written += 1;
    row.cursor = this.#written;
    this.#link(row);
    return stored;
  }

  /** Nobody holds the job any more: lists it where it may be claimable by itself (2). */
  rest(row: JobRow): void {
    const isForClaims = row.record.recovery !== "external" && !isOver(row.record) && row.holder === undefined;
    if (isForClaims && (row.due < Infinity || row.awaits !== undefined)) this.free.add(row);
    else this.free.delete(row);
  }

  /** Something came for a job: one that is parked can be claimed at once. */
  wake(row: JobRow): void {
    if (!row.isParked) return;
    row.due = 0;
    this.rest(row);
  }

  move(row: JobRow, to: SessionRow): void {
    this.#leave(row);
    row.session = to;
    this.#join(row);
  }

  forget(row: JobRow): void {
    this.#rows.delete(row.id);
    this.free.delete(row);
    this.#leave(row);
    this.#unlink(row);
  }

  of(session: SessionRow): readonly JobRow[] {
    return [...(this.#groups.get(session)?.rows ?? [])];
  }

  live(session: SessionRow | undefined): number {
    return (session && this.#groups.get(session)?.live) ?? 0;
  }

  /** Jobs with events after a cursor, in the order of their latest ones. */
  *after(cursor: JobCursor | undefined): Iterable<JobRow> {
    const last = cursor === undefined ? 0 : this.#require(cursor);
    let row = last === 0 ? this.#first : this.#last;
    // From the end: whoever asks has mostly seen all but the latest.
    if (last > 0) {
      if (row === undefined || row.cursor <= last) return;
      while (row.earlier !== undefined && row.earlier.cursor > last) row = row.earlier;
    }
    for (; row !== undefined; row = row.later) yield row;
  }

  #require(cursor: JobCursor): number {
    const nth = /^[1-9]\d*$/.test(cursor) ? Number(cursor) : 0;
    if (nth === 0 || nth > this.#written) throw new RuntimeError("cursor.unknown", { cursor });
    return nth;
  }

  #join(row: JobRow): void {
    const group = this.#groups.get(row.session) ?? { rows: new Set(), live: 0 };
    this.#groups.set(row.session, group);
    group.rows.add(row);
    if (!isOver(row.record)) group.live += 1;
  }

  #leave(row: JobRow): void {
    const group = this.#groups.get(row.session)!;
    group.rows.delete(row);
    if (!isOver(row.record)) group.live -= 1;
    if (group.rows.size === 0) this.#groups.delete(row.session);
  }

  #link(row: JobRow): void {
    row.earlier = this.#last;
    if (this.#last === undefined) this.#first = row;
    else this.#last.later = row;
    this.#last = row;
  }

  #unlink(row: JobRow): void {
    if (row.cursor === 0) return;
    if (row.earlier === undefined) this.#first = row.later;
    else row.earlier.later = row.later;
    if (row.later === undefined) this.#last = row.earlier;
    else row.later.earlier = row.earlier;
    row.earlier = undefined;
    row.later = undefined;
  }
}

/** How many events are searched one by one. */
const FEW = 8;
/** What all lists of events begin with. */
const NO_EVENTS = Object.freeze([]) as never as StoredJobEvent[];

/** The event under a key. */
export function find(row: JobRow, key: string): StoredJobEvent | undefined {
  const { events } = row;
  if (events.length <= FEW) return events.find((each) => each.key === key);
  row.keys ??= new Map(events.map((each) => [each.key, each]));
  return row.keys.get(key);
}

/** Whether nobody need wait for a job any more: it is over, idle, or not there. */
export const isStill = (row: JobRow | undefined): boolean => row === undefined || row.record.state !== "running";

export const storedJob = ({ record, events, cursor }: JobRow): StoredJob => ({
  record,
  seq: events.length,
  cursor: jobCursorOf(cursor),
});

/** Whether a spawn is a repeat. */
export function isSameJob({ events }: JobRow, job: NewJob): boolean {
  const { event } = events[0]!;
  return event.kind === "spawned" && isSameContent(event.job, job);
}
/** `at` is not compared: a repeat has another clock. */
export const isSameContent = (a: NewJob, b: NewJob): boolean => a === b || contentOf(a) === contentOf(b);
const contentOf = (job: NewJob): string => JSON.stringify({ ...job, at: 0 });

/** Whether it is bound to an owner and somebody else has claimed it, which is not told by an event. */
export const isOrphan = ({
  record,
  generation,
}: {
  readonly record: JobRecord;
  readonly generation: number;
}): boolean => record.recovery === "owner-bound" && generation > record.starts;

export const jobCursorOf = (nth: number): JobCursor => asJobCursor(String(nth));
