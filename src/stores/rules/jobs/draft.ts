import { RuntimeError } from "../../../model/errors.ts";
import type { JobId } from "../../../model/ids.ts";
import { foldJob, type JobEvent, type JobRecord } from "../../../model/job.ts";
import { BOUND, IDLE, type Moves, movesOf, OVER, RUNNING, stateIn } from "../../rows/job.ts";
import type { KeyedEvent, StoredJobEvent } from "../../store.ts";
import { JOB, JOB_AWAIT, JOB_EVENT, type JobRow } from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, now, type Rule } from "../rule.ts";
import { eventsUnder, storedEvent } from "./events.ts";

const EVENTS_MAX = 2 ** 22;

/**
 * A job that a rule changes: the row as read, the row to write, and the new events. Nothing is written before `write`,
 * because the rule must first lock and read everything that its decision depends on.
 */
export class JobDraft {
  readonly before: JobRow;
  readonly added: StoredJobEvent[] = [];
  moves: Moves;
  #columns: Partial<JobRow> = {};
  /** The events found under the keys that were looked up; undefined: none exists. */
  readonly #under = new Map<string, StoredJobEvent | undefined>();
  #stored: JobRow;

  /** `keys` were looked up, and `events` were found. A new event must have one of these keys, or one from `freeKey`. */
  constructor(before: JobRow, keys: Iterable<string>, events: readonly StoredJobEvent[]) {
    this.before = before;
    this.#stored = before;
    this.moves = before.moves;
    for (const key of keys) this.#under.set(key, undefined);
    for (const event of events) this.#under.set(event.key, event);
  }

  get stored(): JobRow {
    return this.#stored;
  }

  get seq(): number {
    return this.before.seq + this.added.length;
  }

  get state(): number {
    return stateIn(this.moves);
  }

  get isNowOver(): boolean {
    return this.state === OVER && this.before.state !== OVER;
  }

  /** This write ends the job or makes it idle, so jobs that await it may continue. */
  get isNowDone(): boolean {
    return this.isNowOver || (this.state === IDLE && this.before.state === RUNNING);
  }

  /** The job is bound to its first owner, and another one has claimed it. No event records that claim. */
  get isOrphan(): boolean {
    return this.before.recovery === BOUND && this.before.generation > this.moves.starts;
  }

  eventUnder(key: string): StoredJobEvent | undefined {
    return this.#under.get(key);
  }

  /** Adds an event, unless one exists under its key, and returns the event under that key. A job ends once. */
  add({ key, event }: KeyedEvent): StoredJobEvent {
    const end = event.kind === "ended" ? this.added.find((each) => each.event.kind === "ended") : undefined;
    const there = end ?? this.#under.get(key);
    if (there !== undefined) return there;
    const numbered = { seq: this.seq + 1, key, event };
    if (numbered.seq >= EVENTS_MAX) throw new RuntimeError("job.steps", { max: EVENTS_MAX });
    this.added.push(numbered);
    this.#under.set(key, numbered);
    this.moves = movesOf(foldJob(this.moves as JobRecord, event)); // `foldJob` reads only the fields that change.
    return numbered;
  }

  change(columns: Partial<JobRow>): void {
    this.#columns = { ...this.#columns, ...columns };
  }

  /** An event arrived: a parked job becomes due. A job that never started keeps its time. */
  wake(): void {
    if (this.before.isParked) this.change({ due: 0 });
  }

  /** Looks up events under more keys. */
  *lookUp(db: Port, keys: readonly string[]): Rule<void> {
    const unread = keys.filter((key) => !this.#under.has(key));
    for (const key of unread) this.#under.set(key, undefined);
    for (const row of yield* eventsUnder(db, this.before.n, unread)) this.#under.set(row.key, storedEvent(row));
  }

  /**
   * Returns this key, or a variant without an event. An event that other senders wrote must not block one of the store.
   */
  *freeKey(db: Port, key: string): Rule<string> {
    for (let free = key; ; free += "+") {
      yield* this.lookUp(db, [free]);
      if (this.eventUnder(free) === undefined) return free;
    }
  }

  /** Writes the new events and the changed columns. */
  write(db: Port): void {
    const { before, added } = this;
    for (const { seq, key, event } of added) db.insert(JOB_EVENT, { job: before.n, seq, key, event });
    const change = this.#changes();
    if (before.awaits !== null && change.awaits === null) db.removeAll(JOB_AWAIT, "job", before.n);
    if (Object.keys(change).length > 0) this.#stored = db.update(JOB, before, change);
  }

  /** A step changes only `seq` and `moves`, so that a store need not write its indexes again. */
  #changes(): Partial<JobRow> {
    const { before, added, seq, state, moves } = this;
    const over = { owner: null, isParked: false, due: null, awaits: null, parent: null };
    const columns: Partial<JobRow> = {
      ...this.#columns,
      ...(this.isNowOver ? over : {}),
      ...(added.length === 0 ? {} : { seq, state, moves }),
    };
    const changed = Object.entries(columns).filter(([column, value]) => before[column as keyof JobRow] !== value);
    return Object.fromEntries(changed);
  }
}

/** Returns a job with the events under these keys. The rule has already locked it. */
export function* draftOf(db: Port, id: JobId, keys: readonly string[]): Rule<JobDraft | undefined> {
  const [row, found] = yield* all([
    db.get(JOB, "id", id),
    keys.length === 0 ? now([]) : db.jobEvents?.(id, [...new Set(keys)]),
  ]);
  if (row === undefined) return undefined;
  const events = found ?? (yield* eventsUnder(db, row.n, keys));
  return new JobDraft(row, keys, events.map(storedEvent));
}

/** Returns whether an event may end a job or make it idle. That concerns its children and the jobs that await it. */
export const mayAffectOthers = (event: JobEvent): boolean =>
  event.kind === "ended" || event.kind === "cancelling" || (event.kind === "transitioned" && event.state === "idle");
