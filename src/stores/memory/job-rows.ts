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
    const row: JobRow = {
      job,
      nth: this.#begun++,
      session,
      state: "running",
      log: NOTHING,
      cursor: 0,
      earlier: undefined,
      later: undefined,
      sibling: undefined,
      generation: 0,
      holder: undefined,
      isParked: false,
      due: job.notBefore ?? 0,
      rare: undefined,
    };
    this.#rows.set(job.id, row);
    this.#join(row);
    this.#advance(row);
    this.rest(row);
    return row;
  }

  /** Writes an event, unless there is one under its key (1). */
  write(row: JobRow, key: string, event: JobEvent): void {
    if (has(row, key)) return;
    const { record, places } = row.rare ?? {};
    // A list that is pushed to is given room for 16 more, which most jobs never use: short ones are made anew.
    if (seqOf(row) < FEW) row.log = row.log.concat(key, event);
    else row.log.push(key, event);
    places?.set(key, seqOf(row) - 1);
    if (record !== undefined) row.rare!.record = foldJob(record, event);
    if (event.kind === "transitioned" || event.kind === "ended") {
      const wasOver = isOver(row);
      row.state = recordOf(row).state;
      if (!wasOver && isOver(row)) this.#groups.get(row.session)!.live -= 1;
    }
    this.#advance(row);
  }

  #advance(row: JobRow): void {
    this.#unlink(row);
    this.#written += 1;
    row.cursor = this.#written;
    this.#link(row);
  }

  /** Nobody holds the job any more: lists it where it may be claimable by itself (2). */
  rest(row: JobRow): void {
    if (row.holder === undefined) shrink(row);
    const isForClaims = row.job.recovery !== "external" && !isOver(row) && row.holder === undefined;
    if (isForClaims && (row.due < Infinity || row.rare?.awaits !== undefined)) this.free.add(row);
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
    this.#rows.delete(row.job.id);
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
    if (!isOver(row)) group.live += 1;
  }

  #leave(row: JobRow): void {
    const group = this.#groups.get(row.session)!;
    group.rows.delete(row);
    if (!isOver(row)) group.live -= 1;
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

/** How many events are searched one by one, and folded whenever somebody asks. */
const FEW = 8;
/** What all lists of events and keys begin with. */
const NOTHING = Object.freeze([]) as never as never[];

/** How many events there are. */
export const seqOf = ({ log }: JobRow): number => 1 + log.length / 2;

function placeOf(row: JobRow, key: string): number {
  const count = seqOf(row);
  if (count > FEW) {
    row.rare ??= {};
    row.rare.places ??= new Map(eventsOf(row, 0).map((each) => [each.key, each.seq - 1]));
    return row.rare.places.get(key) ?? -1;
  }
  for (let place = 0; place < count; place += 1) if (keyAt(row, place) === key) return place;
  return -1;
}
const keyAt = ({ log }: JobRow, place: number): string => (place === 0 ? "spawned" : (log[2 * place - 2] as string));
const eventAt = ({ log, job }: JobRow, place: number): JobEvent =>
  place === 0 ? { kind: "spawned", at: job.at, job } : (log[2 * place - 1] as JobEvent);

export const has = (row: JobRow, key: string): boolean => placeOf(row, key) >= 0;

/** The event under a key. */
export function find(row: JobRow, key: string): StoredJobEvent | undefined {
  const place = placeOf(row, key);
  return place < 0 ? undefined : shownEvent(row, place);
}
const shownEvent = (row: JobRow, place: number): StoredJobEvent => ({
  key: keyAt(row, place),
  event: eventAt(row, place),
  seq: place + 1,
});

/** The events of a job, without the first `after`. */
export function eventsOf(row: JobRow, after: number): readonly StoredJobEvent[] {
  const events: StoredJobEvent[] = [];
  for (let place = after; place < seqOf(row); place += 1) events.push(shownEvent(row, place));
  return events;
}

export function recordOf(row: JobRow): JobRecord {
  if (row.rare?.record !== undefined) return row.rare.record;
  let record = foldJob(undefined, eventAt(row, 0));
  for (let place = 1; place < seqOf(row); place += 1) record = foldJob(record, eventAt(row, place));
  if (row.holder !== undefined || seqOf(row) > FEW) {
    row.rare ??= {};
    row.rare.record = record;
  }
  return record;
}

/** Forgets what can be made again of a job that nobody holds. */
function shrink(row: JobRow): void {
  if (row.rare === undefined || seqOf(row) > FEW) return;
  const { waits, awaits } = row.rare;
  row.rare = waits === undefined && awaits === undefined ? undefined : { waits, awaits };
}

/** Whether nobody need wait for a job any more: it is over, idle, or not there. */
export const isStill = (row: JobRow | undefined): boolean => row === undefined || row.state !== "running";

export const storedJob = (row: JobRow): StoredJob => ({
  record: recordOf(row),
  seq: seqOf(row),
  cursor: jobCursorOf(row.cursor),
});

/** Whether a spawn is a repeat. `at` is not compared: a repeat has another clock. */
export const isSameContent = (a: NewJob, b: NewJob): boolean => a === b || contentOf(a) === contentOf(b);
const contentOf = (job: NewJob): string => JSON.stringify({ ...job, at: 0 });

/** Whether it is bound to an owner and somebody else has claimed it, which is not told by an event. */
export const isOrphan = (row: JobRow): boolean =>
  row.job.recovery === "owner-bound" && row.generation > recordOf(row).starts;

export const jobCursorOf = (nth: number): JobCursor => asJobCursor(String(nth));
