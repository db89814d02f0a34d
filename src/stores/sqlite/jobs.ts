import { isDeepStrictEqual } from "node:util";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import type { JobEvent, NewJob } from "../../model/job.ts";
import { corrupt, jobLost } from "../rows/faults.ts";
import type {
  JobAppended,
  JobLease,
  JobSent,
  JobSpawn,
  JobWrites,
  KeyedEvent,
  Owner,
  ParkedJob,
  StoredJob,
  StoredJobEvent,
} from "../store.ts";
import type { Blobs } from "./blobs.ts";
import type { Connection } from "./connection.ts";
import { addAwaits, awaitsOf, forgetAwaits, isMet, wakeWaiters } from "./job-awaits.ts";
import { addEvent, eventUnder, forgetEvents, freeKey } from "./job-events.ts";
import { forgetLines, say } from "./job-lines.ts";
import { isOwnerGone, prolong } from "./job-owners.ts";
import {
  addJob,
  EXTERNAL,
  firstOf,
  folded,
  IDLE,
  idOf,
  isOrphan,
  type JobRow,
  jobAsParent,
  jobCursorOf,
  jobRow,
  type KeptId,
  keepJob,
  keptRow,
  liveCounts,
  movesIn,
  newJob,
  OVER,
  RERUNNABLE,
  RUNNING,
  raiseFloor,
  requireJob,
  type StoredRow,
  shownJob,
  storedOf,
  storedRow,
  turnAsParent,
} from "./job-row.ts";
import { countRows } from "./own-rows.ts";
import type { Turns } from "./turns.ts";
import { addWaits, endWaits, moveWaits, openWaitsOf, type TellJob } from "./waits.ts";

/**
 * What happens to jobs. Who may take one (`job-claims.ts`) and how they are listed (`job-list.ts`) is not its job.
 *
 * 1. All that is written about a job goes through `#keep`, which does what its end or its rest means to others: its waits
 *    are revoked, jobs that await it are due, and its children are sent a cancel.
 * 2. The fence: a lease holds while no later generation was given out and the job is neither parked nor over. Whether its
 *    owner is gone says only whether somebody else may claim the job.
 */
export class Jobs {
  readonly #db: Connection;
  readonly #turns: Turns;
  readonly #blobs: Blobs;

  constructor(db: Connection, turns: Turns, blobs: Blobs) {
    this.#db = db;
    this.#turns = turns;
    this.#blobs = blobs;
  }

  // ── Beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Begins a job unless it is there. */
  spawn({ job, owner }: JobSpawn, max: number, now = job.at): StoredJob {
    const db = this.#db;
    const known = storedRow(db, job.id);
    if (known !== undefined) return this.#known(known, job);
    const session = this.#requireSession(job.sessionId);
    if (max !== Infinity && liveCounts(db).of(session) >= max) throw new RuntimeError("job.full", { max });
    const spawned = { kind: "spawned", job, at: job.at } as const;
    this.#keepNamed([spawned]);
    const { next } = db.row<{ next: number }>("SELECT coalesce(max(n), 0) + 1 AS next FROM job")!;
    const row = newJob(next, session, job, spawned);
    addEvent(db, next, 1, { key: "spawned", event: spawned });
    const kept = addJob(db, owner === undefined ? row : this.#held(row, job, owner, now));
    countRows(db, session, 1);
    return shownJob(kept, asJson(spawned));
  }

  #known(row: StoredRow, job: NewJob): StoredJob {
    const [{ at: _, ...before }, { at: __, ...now }] = [firstOf(row).job, asJson(job)];
    if (!isDeepStrictEqual(before, now)) throw new RuntimeError("job.conflict", { id: job.id });
    return storedOf(row);
  }

  /** Begins jobs with something else that is written, however many there are. What is there under an id stays. */
  spawnAll(spawns: readonly JobSpawn[], now: number): void {
    for (const spawn of spawns) if (storedRow(this.#db, spawn.job.id) === undefined) this.spawn(spawn, Infinity, now);
  }

  /** A new job in the hands of its owner. */
  #held(row: Omit<JobRow, "seal">, { at }: NewJob, owner: Owner, now: number): Omit<JobRow, "seal"> {
    const started = { kind: "started", generation: 1, at } as const;
    addEvent(this.#db, row.n, 2, { key: "started/1", event: started });
    prolong(this.#db, owner, now + this.#db.leaseMs);
    return { ...folded(row, started), owner: owner.id, generation: 1, due: null, seq: 2 };
  }

  #requireSession(id: SessionId): number {
    const row = this.#db.row<{ n: number }>("SELECT n FROM session WHERE id = ?", id);
    if (row === undefined) throw new RuntimeError("session.unknown", { id });
    return row.n;
  }

  #keepNamed(events: readonly JobEvent[]): void {
    this.#blobs.keepNamed(() => JSON.stringify(events));
  }

  // ── By its holder ─────────────────────────────────────────────────────────────────────────────────────────────────

  append(lease: JobLease, events: readonly KeyedEvent[], now: number, more: JobWrites = {}): JobAppended {
    const db = this.#db;
    const before = jobRow(db, lease.jobId);
    if (before === undefined) throw jobLost(lease);
    const isHeld = before.generation === lease.generation && before.is_parked === 0 && before.state !== OVER;
    if (!isHeld) return this.#repeated(before, lease, events, more);
    if (isOrphan(before)) requireAbandoned(before, events, more);
    this.#keepNamed(events.map(({ event }) => event));
    const told = this.#tell(before, events);
    const woken = this.#wake(told.row, more, now);
    if (more.says !== undefined) say(db, before.n, more.says);
    if (more.waits !== undefined && woken.state !== OVER)
      addWaits(db, { session: before.session, turn: 0, job: before.id }, more.waits);
    const isParked = more.parks !== undefined && this.#canPark(before, woken, more.parks);
    const row = this.#keep(before, isParked ? this.#parked(woken, more.parks!) : woken, now);
    return this.#appended(row, told.events, more.parks === undefined ? undefined : isParked);
  }

  #appended(row: JobRow, events: readonly StoredJobEvent[], isParked: boolean | undefined): JobAppended {
    const { seq, changed } = row;
    return { events, cursor: jobCursorOf(changed), seq, ...(isParked === undefined ? {} : { isParked }) };
  }

  /** The answer to a call that was done before: the one that ended the job, or the one that parked it. */
  #repeated(row: JobRow, lease: JobLease, events: readonly KeyedEvent[], { parks }: JobWrites): JobAppended {
    const there = events.map(({ key }) => eventUnder(this.#db, row.n, key));
    const isAll = there.every((event) => event !== undefined);
    const isParked = parks !== undefined && row.is_parked === 1 && row.generation === lease.generation;
    const isRepeat = row.state === OVER ? events.length > 0 : isParked;
    if (!isAll || !isRepeat) throw jobLost(lease);
    return this.#appended(row, there, parks === undefined ? undefined : row.is_parked === 1);
  }

  /** Writes events whose keys are new, and answers what stands under each key. */
  #tell<Row extends Omit<JobRow, "seal">>(
    before: Row,
    events: readonly KeyedEvent[],
  ): { readonly row: Row; readonly events: readonly StoredJobEvent[] } {
    const db = this.#db;
    let row = before;
    let end: StoredJobEvent | undefined;
    const told = events.map(({ key, event }): StoredJobEvent => {
      if (event.kind === "ended" && end !== undefined) return end; // A job ends once.
      const seq = row.seq + 1;
      if (!addEvent(db, row.n, seq, { key, event })) return this.#requireUnder(row, key);
      row = { ...folded(row, event), seq };
      const stored = { seq, key, event };
      if (event.kind === "ended") end = stored;
      return stored;
    });
    return { row, events: told };
  }

  #requireUnder({ n, id }: Pick<JobRow, "n" | "id">, key: string): StoredJobEvent {
    const event = eventUnder(this.#db, n, key);
    if (event === undefined) throw corrupt(`Job ${id}`, `its event ${key} is missing`);
    return event;
  }

  /** Accepts inputs for a session, and tells of each. */
  #wake(before: JobRow, { wakes = [], wakesMax = Infinity }: JobWrites, now: number): JobRow {
    let row = before;
    const { id: sessionId } = this.#db.row<{ id: SessionId }>("SELECT id FROM session WHERE n = ?", before.session)!;
    for (const given of wakes) {
      const input = { ...given, sessionId };
      // An input that came under the key before is the one that was told, whatever this one says.
      const known = this.#turns.before(input);
      const inputId = known ?? input.id;
      const key = `wake/${inputId}`;
      if (eventUnder(this.#db, row.n, key) !== undefined) continue;
      const isFull = known === undefined && movesIn(row).wakes >= wakesMax;
      const lost = isFull ? "full" : undefined;
      if (lost === undefined && known === undefined) this.#turns.accept(input, NOBODY, undefined, Infinity);
      const event: JobEvent = { kind: "woke", inputId, at: now, ...(lost === undefined ? {} : { lost }) };
      row = this.#tell(row, [{ key, event }]).row;
    }
    return row;
  }

  #canPark(before: JobRow, row: JobRow, { seen, awaits }: ParkedJob): boolean {
    if (row.recovery !== RERUNNABLE || row.state === OVER || before.seq > seen) return false;
    return awaits === undefined || !isMet(this.#db, awaitsOf(awaits));
  }

  #parked(row: JobRow, { due, awaits }: ParkedJob): JobRow {
    const parked = { ...row, owner: null, is_parked: 1, due: due ?? null };
    if (awaits === undefined) return parked;
    const kept = awaitsOf(awaits);
    addAwaits(this.#db, row.n, kept);
    return { ...parked, awaits: JSON.stringify(kept) };
  }

  /** Writes what became of a job, and what that means to others (1). */
  #keep(before: JobRow, after: Omit<JobRow, "seal">, now: number): JobRow {
    const db = this.#db;
    if (after.state !== OVER || before.state === OVER) {
      const row = keepJob(db, before, after);
      if (row.state === IDLE && before.state === RUNNING) wakeWaiters(db, row.id);
      return row;
    }
    forgetAwaits(db, after);
    const row = keepJob(db, before, { ...after, owner: null, is_parked: 0, due: null, awaits: null, parent: null });
    endWaits(db, openWaitsOf(db, row.id));
    wakeWaiters(db, row.id);
    this.#cancelChildren(jobAsParent(row.id), now);
    return row;
  }

  // ── By others ─────────────────────────────────────────────────────────────────────────────────────────────────────

  send(id: JobId, sent: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax"> = {}): JobSent {
    const before = jobRow(this.#db, id);
    if (before === undefined) return { said: "unknown" };
    const said = this.#refusal(before, sent);
    if (said === undefined) {
      this.#keepNamed([sent.event]);
      const isEnd = sent.event.kind === "cancelling" && this.#isNobodys(before, now);
      const { row } = this.#tell(before, [sent]);
      this.#keep(before, this.#wake(roused(isEnd ? this.#cancelled(row, now) : row), more, now), now);
    }
    return { said: said ?? "accepted", job: storedOf(storedRow(this.#db, id)!) };
  }

  #cancelled(row: JobRow, now: number): JobRow {
    const event = { kind: "ended", state: "cancelled", at: now } as const;
    return this.#tell(row, [{ key: freeKey(this.#db, row.n, "end"), event }]).row;
  }

  #refusal(row: JobRow, { key, event }: KeyedEvent): JobSent["said"] | undefined {
    if (eventUnder(this.#db, row.n, key) !== undefined) return "known";
    if (row.state === OVER) return "over";
    const isFree = event.kind === "signalled" || event.kind === "cancelling";
    const isOfExternal = event.kind === "transitioned" || event.kind === "ended";
    return isFree || (isOfExternal && row.recovery === EXTERNAL) ? undefined : "bound";
  }

  /** Whether nobody here works at a job, so that nobody would follow a cancel. */
  #isNobodys({ recovery, owner }: JobRow, now: number): boolean {
    return recovery === EXTERNAL || owner === null || isOwnerGone(this.#db, owner, now);
  }

  /** A wait of a job was answered. */
  readonly resolved: TellJob = (id, wait, answer, now) => {
    const before = keptRow(this.#db, id);
    if (before === undefined) throw corrupt(`The wait ${wait}`, "its job is missing");
    const event = { kind: "resolved", wait, answer, at: now } as const;
    const { row } = this.#tell(before, [{ key: freeKey(this.#db, before.n, `wait/${wait}`), event }]);
    this.#keep(before, roused(row), now);
  };

  /** A turn is over: what was begun in it, and is to end with it, is sent a cancel. */
  turnEnded(turn: string, now: number): void {
    this.#cancelChildren(turnAsParent(turn), now);
  }

  #cancelChildren(parent: string, now: number): void {
    const event = { kind: "cancelling", reason: "What began this job has ended.", at: now } as const;
    for (const row of this.#db.rows<{ id: KeptId }>("SELECT id FROM job WHERE parent = ? ORDER BY n", parent))
      this.send(idOf(row), { key: "cancel", event }, now);
  }

  // ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────────────────

  transfer(from: SessionId, to: SessionId, ids: readonly JobId[], now: number): readonly StoredJob[] {
    const db = this.#db;
    const [source, target] = [from, to].map((id) => this.#requireNotGone(id)) as [number, number];
    const rows = [...new Set(ids)].map((id) => ({ id, before: this.#require(id) }));
    for (const { id, before } of rows) {
      if (before.session === target) continue;
      if (before.session !== source) throw new RuntimeError("job.foreign", { id, session: from });
      if (before.state === OVER) throw new RuntimeError("job.over", { id, state: movesIn(before).state });
      const event = { kind: "transferred", to, at: now } as const;
      const key = freeKey(db, before.n, `transferred/${before.seq + 1}`);
      const { row } = this.#tell(before, [{ key, event }]);
      this.#keep(before, { ...row, session: target }, now);
      countRows(db, source, -1);
      countRows(db, target, 1);
      moveWaits(db, before.id, source, target);
    }
    return ids.map((id) => storedOf(storedRow(db, id)!));
  }

  #require(id: JobId): JobRow {
    const row = jobRow(this.#db, id);
    if (row === undefined) throw new RuntimeError("job.unknown", { id });
    return row;
  }

  #requireNotGone(id: SessionId): number {
    if (this.#db.row("SELECT 1 FROM gone WHERE id = ?", id) !== undefined)
      throw new RuntimeError("session.deleted", { id });
    return this.#requireSession(id);
  }

  remove(id: JobId): boolean {
    const row = jobRow(this.#db, id);
    if (row === undefined || (row.state !== OVER && row.recovery !== EXTERNAL)) return false;
    this.#forget([row]);
    countRows(this.#db, row.session, -1);
    return true;
  }

  /** Removes those of these jobs that are over. */
  forgetOver(ids: readonly JobId[]): void {
    const rows = [...new Set(ids)].flatMap((id) => jobRow(this.#db, id) ?? []).filter(({ state }) => state === OVER);
    if (rows.length > 0) this.#forget(rows);
    for (const { session } of rows) countRows(this.#db, session, -1);
  }

  /** Removes the jobs of a session that is about to be deleted. */
  forgetOf(id: SessionId): void {
    const rows = this.#db.rows<JobRow>("SELECT * FROM job WHERE session = (SELECT n FROM session WHERE id = ?)", id);
    if (rows.length > 0) this.#forget(rows.map(requireJob));
  }

  /** Jobs that await these can go on. Their children do not end with them: nobody says that they are over. */
  #forget(rows: readonly JobRow[]): void {
    const db = this.#db;
    raiseFloor(db);
    for (const row of rows) {
      forgetAwaits(db, row);
      forgetEvents(db, row.n);
      forgetLines(db, row.n);
      db.run("DELETE FROM job WHERE n = ?", row.n);
      liveCounts(db).clear();
      endWaits(db, openWaitsOf(db, row.id)); // Of a job that was handed over, its first session may have some.
    }
    for (const { id } of rows) wakeWaiters(db, id);
  }
}

const NOBODY = { id: "", process: "" };

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** Something came for a job: if it is parked, it is due. One that was never begun keeps its time. */
const roused = (row: JobRow): JobRow => (row.is_parked === 1 ? { ...row, due: 0 } : row);

/** Throws unless all that is said of an orphan is that it was abandoned. */
function requireAbandoned(row: JobRow, events: readonly KeyedEvent[], { waits = [], parks }: JobWrites): void {
  const isAbandoned = ({ event }: KeyedEvent): boolean => event.kind === "ended" && event.state === "abandoned";
  const isMore = waits.length > 0 || parks !== undefined;
  if (events.length === 0 || !events.every(isAbandoned) || isMore)
    throw new RuntimeError("job.bound", { id: idOf(row) });
}
