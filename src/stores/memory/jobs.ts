import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type JobCursor, type JobId, type SessionId, type TurnId } from "../../model/ids.ts";
import { isOver, type JobEvent } from "../../model/job.ts";
import {
  type Agenda,
  type ClaimedJob,
  type JobAppended,
  type JobLease,
  type JobLine,
  type JobLines,
  type JobSent,
  type JobSpawn,
  type JobsPage,
  type JobWrites,
  type KeyedEvent,
  LEASE_MS,
  type NewInput,
  type Owner,
  type ParkedJob,
  type Store,
  type StoredJob,
  type StoredJobEvent,
} from "../store.ts";
import { JobChildren } from "./job-children.ts";
import { Sayings } from "./job-lines.ts";
import {
  eventsOf,
  find,
  has,
  isOrphan,
  isSameContent,
  isStill,
  type JobRows,
  recordOf,
  seqOf,
  storedJob,
} from "./job-rows.ts";
import type { JobRow, OwnerRow, SessionRow } from "./rows.ts";
import type { Sessions } from "./sessions.ts";
import type { Turns } from "./turns.ts";
import type { Waits } from "./waits.ts";

/** What jobs ask of the rest of a store. */
export interface JobSurroundings {
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly waits: Waits;
  /** Throws when an input cannot be kept for a reason of its own; nothing is changed. */
  check(input: NewInput): void;
  /** Keeps an input that nobody sent before, however many wait, and opens no turn. */
  keep(input: NewInput): void;
}

/** One string for the many jobs that begin once. */
const FIRST_START = "started/1";

interface Claimable {
  readonly row: JobRow;
  readonly due: number;
}

/**
 * Background work: who holds it, what happens to it, and what that does to others.
 *
 * 1. Every method checks before it changes anything, so that a throw leaves all as it was.
 * 2. A lease holds while no later generation was given out, the job is neither parked nor over, and its row is there.
 *    Whether its owner is gone says only whether another one may claim the job.
 * 3. A job has one `ended`, and from then on no holder, no waits, and no children that are to end with it.
 */
export class Jobs {
  readonly #rows: JobRows;
  readonly #store: JobSurroundings;
  readonly #owners = new Map<string, OwnerRow>();
  readonly #children = new JobChildren();
  readonly #sayings = new Sayings();
  /** Whether a job was ever to end with its parent: mostly none is, and commits need not look for them. */
  hasChildren = false;

  constructor(rows: JobRows, store: JobSurroundings) {
    this.#rows = rows;
    this.#store = store;
  }

  // ── Beginning ─────────────────────────────────────────────────────────────────────────────────────────────────────

  spawn(spawn: JobSpawn, max: number): StoredJob {
    const { job } = spawn;
    const known = this.#rows.byId.get(job.id);
    if (known !== undefined && !isSameContent(known.job, job)) throw new RuntimeError("job.conflict", { id: job.id });
    if (known !== undefined) return storedJob(known);
    if (this.#rows.live(this.#store.sessions.require(job.sessionId)) >= max)
      throw new RuntimeError("job.full", { max });
    return storedJob(this.#begin(spawn, job.at));
  }

  /** Throws when one of these jobs cannot begin. */
  check(spawns: readonly JobSpawn[]): void {
    for (const { job } of spawns) if (!this.#rows.byId.has(job.id)) this.#store.sessions.require(job.sessionId);
  }

  /** Begins jobs that were checked with what they go along with. */
  begin(spawns: readonly JobSpawn[], now: number): void {
    for (const spawn of spawns) if (!this.#rows.byId.has(spawn.job.id)) this.#begin(spawn, now);
  }

  #begin({ job, owner }: JobSpawn, now: number): JobRow {
    const row = this.#rows.add(job, this.#store.sessions.require(job.sessionId));
    this.#children.add(row);
    this.hasChildren ||= row.job.onParentEnd === "cancel";
    if (owner !== undefined) {
      this.#hold(row, this.#prolong(owner, now));
      this.#start(row, job.at);
    }
    return row;
  }

  // ── Holding ───────────────────────────────────────────────────────────────────────────────────────────────────────

  claim(owner: Owner, now: number, max: number, operations: readonly string[]): readonly ClaimedJob[] {
    // First: an owner that was slow still holds its jobs, and must not be given them a second time.
    const holder = this.#prolong(owner, now);
    const { claimable } = this.#look(now, new Set(operations));
    claimable.sort((a, b) => a.due - b.due || a.row.nth - b.row.nth);
    return claimable.slice(0, max).map(({ row }) => {
      this.#hold(row, holder);
      if (!isOrphan(row)) this.#start(row, now);
      const lease: JobLease = { jobId: row.job.id, generation: row.generation, owner };
      return {
        ...storedJob(row),
        lease,
        events: eventsOf(row, 0),
        ...(isOrphan(row) ? { isOrphan: true } : {}),
      };
    });
  }

  /** What can be claimed, with the times since which it can; and the next time at which something will. */
  #look(now: number, operations: ReadonlySet<string>): { readonly claimable: Claimable[]; readonly next: number } {
    const claimable: Claimable[] = [];
    let next = Infinity;
    for (const row of this.#rows.free) {
      if (!isFor(row, operations)) continue;
      const awaits = row.rare?.awaits;
      if (awaits !== undefined && this.#isMet(awaits)) claimable.push({ row, due: 0 });
      else if (row.due <= now) claimable.push({ row, due: row.due });
      else if (row.due < next) next = row.due;
    }
    for (const { id, until, jobs } of this.#owners.values()) {
      if (until > now) continue;
      for (const row of jobs) if (isFor(row, operations)) claimable.push({ row, due: 0 });
      if (jobs.size === 0) this.#owners.delete(id);
    }
    return { claimable, next };
  }

  #isMet({ jobs, need }: NonNullable<ParkedJob["awaits"]>): boolean {
    const isMet = (id: JobId): boolean => isStill(this.#rows.byId.get(id));
    return need === "all" ? jobs.every(isMet) : jobs.some(isMet);
  }

  renew(owner: Owner, now: number, after?: JobCursor): Awaited<ReturnType<Store["jobs"]["renew"]>> {
    const before = this.#owners.get(owner.id);
    const changed: { readonly jobId: JobId; readonly seq: number }[] = [];
    for (const row of this.#rows.after(after))
      if (row.holder !== undefined && row.holder === before) changed.push({ jobId: row.job.id, seq: seqOf(row) });
    this.#prolong(owner, now);
    const { latest } = this.#rows;
    return { heldMs: LEASE_MS, changed, ...(latest === undefined ? {} : { cursor: latest }) };
  }

  leave({ id }: Owner): void {
    const owner = this.#owners.get(id);
    if (owner === undefined) return;
    for (const row of [...owner.jobs]) this.#letGo(row);
    this.#owners.delete(id);
  }

  #prolong({ id }: Owner, now: number): OwnerRow {
    const owner = this.#owners.get(id) ?? { id, until: 0, jobs: new Set() };
    this.#owners.set(id, owner);
    owner.until = Math.max(owner.until, now + LEASE_MS); // A renewal that comes late must not shorten a later one.
    return owner;
  }

  #hold(row: JobRow, holder: OwnerRow): void {
    row.holder?.jobs.delete(row);
    row.holder = holder;
    row.generation += 1;
    row.isParked = false;
    row.due = 0;
    if (row.rare !== undefined) row.rare.awaits = undefined;
    holder.jobs.add(row);
    this.#rows.rest(row);
  }

  #start(row: JobRow, at: number): void {
    const { generation } = row;
    const key = generation === 1 ? FIRST_START : `started/${generation}`;
    this.#rows.write(row, key, { kind: "started", at, generation });
  }

  #letGo(row: JobRow): void {
    row.holder?.jobs.delete(row);
    row.holder = undefined;
    this.#rows.rest(row);
  }

  /** What is to be done for jobs, for a process that has these operations. */
  agenda(now: number, operations: readonly string[] | undefined): Pick<Agenda, "hasJobs" | "jobs" | "next"> {
    const { latest } = this.#rows;
    const jobs = latest === undefined ? {} : { jobs: latest };
    if (operations === undefined) return jobs;
    const { claimable, next } = this.#look(now, new Set(operations));
    return {
      ...jobs,
      ...(claimable.length === 0 ? {} : { hasJobs: true }),
      ...(next === Infinity ? {} : { next }),
    };
  }

  // ── What happens to a job ─────────────────────────────────────────────────────────────────────────────────────────

  append(lease: JobLease, events: readonly KeyedEvent[], now: number, more: JobWrites = {}): JobAppended {
    const row = this.#rows.byId.get(lease.jobId);
    if (row === undefined) throw leaseLost(lease);
    if (isOver(row) || row.isParked || row.generation !== lease.generation) {
      if (!isRepeat(row, lease, events, more)) throw leaseLost(lease);
      const isParked = more.parks === undefined ? {} : { isParked: row.isParked };
      return { ...this.#appended(row, events), ...isParked };
    }
    if (isOrphan(row) && !isAbandoning(events, more)) throw new RuntimeError("job.bound", { id: row.job.id });
    for (const input of more.wakes ?? []) this.#store.check(input);

    const before = seqOf(row);
    for (const { key, event } of events) this.#write(row, key, event, now);
    this.#tell(row, now, more);
    if (more.says !== undefined) this.#sayings.add(row, more.says);
    if (!isOver(row) && more.waits !== undefined) this.#store.waits.add(row, more.waits);
    const { parks } = more;
    if (parks === undefined) return this.#appended(row, events);
    const seen = parks.seen + seqOf(row) - before;
    return { ...this.#appended(row, events), isParked: this.#park(row, parks, seen) };
  }

  #appended(row: JobRow, events: readonly KeyedEvent[]): JobAppended {
    const { cursor, seq } = storedJob(row);
    return { events: events.map(({ key }) => find(row, key) ?? endOf(row)), cursor, seq };
  }

  /** A second end is not written (3), and after an end nothing but what the session was told. */
  #write(row: JobRow, key: string, event: JobEvent, now: number): void {
    if (isOver(row) && event.kind === "ended") return;
    this.#rows.write(row, key, event);
    if (event.kind !== "ended") return;
    this.#end(row);
    this.#cancelAll(this.#children.ofJob(row), now);
  }

  #end(row: JobRow): void {
    this.#store.waits.end(row.rare?.waits);
    row.rare = undefined;
    row.isParked = false;
    this.#letGo(row);
    this.#children.remove(row);
  }

  /** Tells the session of a job something, in the write that tells it to the job. */
  #tell(row: JobRow, at: number, { wakes = [], wakesMax = Infinity }: JobWrites): void {
    const { session } = row;
    for (const given of wakes) {
      const input = { ...given, sessionId: session.id };
      const known = this.#store.turns.before(session, input);
      const inputId = known?.inputId ?? input.id;
      const key = `wake/${inputId}`;
      if (has(row, key)) continue;
      const isFull = known === undefined && recordOf(row).wakes >= wakesMax;
      const lost = isFull ? "full" : undefined;
      if (lost === undefined && known === undefined) this.#store.keep(input);
      this.#rows.write(row, key, { kind: "woke", at, inputId, ...(lost === undefined ? {} : { lost }) });
    }
  }

  /** Gives up the lease, unless something came that its holder, who knows `seen` events now, has not seen. */
  #park(row: JobRow, { due = Infinity, awaits }: ParkedJob, seen: number): boolean {
    if (isOver(row) || row.job.recovery !== "rerunnable" || seqOf(row) > seen) return false;
    if (awaits !== undefined && this.#isMet(awaits)) return false;
    row.isParked = true;
    row.due = due;
    if (awaits !== undefined) {
      row.rare ??= {};
      row.rare.awaits = { jobs: awaits.jobs.slice(), need: awaits.need };
    }
    this.#letGo(row);
    return true;
  }

  send(id: JobId, { key, event }: KeyedEvent, now: number, more: Pick<JobWrites, "wakes" | "wakesMax"> = {}): JobSent {
    const row = this.#rows.byId.get(id);
    if (row === undefined) return { said: "unknown" };
    const said = refusal(row, key, event);
    if (said !== undefined) return { said, job: storedJob(row) };
    for (const input of more.wakes ?? []) this.#store.check(input);
    if (event.kind === "cancelling") {
      if (this.#cancel(row, key, event, now)) this.#cancelAll(this.#children.ofJob(row), now);
    } else this.#write(row, key, event, now);
    this.#tell(row, now, more);
    this.#rows.wake(row);
    return { said: "accepted", job: storedJob(row) };
  }

  /** Asks a job to end, and ends it where nobody would. Answers whether it did. */
  #cancel(row: JobRow, key: string, event: JobEvent, now: number): boolean {
    this.#rows.write(row, key, event);
    const isHeld = row.holder !== undefined && row.holder.until > now;
    if (isHeld && row.job.recovery !== "external") return false;
    const end = !has(row, "end") ? "end" : `end/${seqOf(row) + 1}`;
    this.#rows.write(row, end, { kind: "ended", at: now, state: "cancelled" });
    this.#end(row);
    return true;
  }

  /** A turn has ended: so do the jobs that are to end with it. */
  endTurn(turn: TurnId, now: number): void {
    this.#cancelAll(this.#children.ofTurn(turn), now);
  }

  /** Asks jobs to end whose parent has ended. */
  #cancelAll(rows: readonly JobRow[], at: number): void {
    const all = rows.slice();
    // The loop also visits what it adds: children that end have children of their own.
    for (const row of all) {
      if (has(row, "cancel")) continue;
      const event: JobEvent = { kind: "cancelling", at, reason: "What began this job has ended." };
      if (this.#cancel(row, "cancel", event, at)) all.push(...this.#children.ofJob(row));
    }
  }

  // ── Reading, handing over, forgetting ─────────────────────────────────────────────────────────────────────────────

  load(id: JobId): StoredJob | undefined {
    const row = this.#rows.byId.get(id);
    return row && storedJob(row);
  }

  events(id: JobId, after: number): readonly StoredJobEvent[] {
    const row = this.#rows.byId.get(id);
    return row === undefined ? [] : eventsOf(row, after);
  }

  lines(id: JobId): JobLines {
    return this.#sayings.lines(this.#rows.byId.get(id));
  }

  take(id: JobId, key: string): readonly JobLine[] {
    const row = this.#rows.byId.get(id);
    return row === undefined ? [] : this.#sayings.take(row, key);
  }

  list({ session, isLive, visibility, kind, after, max }: JobsPage): readonly StoredJob[] {
    const last = after === undefined ? -1 : this.#rows.byId.get(after)?.nth;
    if (last === undefined) return [];
    const found: StoredJob[] = [];
    for (const row of session === undefined ? this.#rows.byId.values() : this.#of(session)) {
      if (found.length >= max) break;
      if (row.nth <= last || (isLive === true && isOver(row))) continue;
      if (visibility !== undefined && row.job.visibility !== visibility) continue;
      if (kind === undefined || row.job.kind === kind) found.push(storedJob(row));
    }
    return found;
  }

  #of(session: SessionId): readonly JobRow[] {
    const row = this.#store.sessions.byId.get(session);
    return row === undefined ? [] : [...this.#rows.of(row)].sort((a, b) => a.nth - b.nth);
  }

  count(session: SessionId): number {
    return this.#rows.live(this.#store.sessions.byId.get(session));
  }

  transfer(from: SessionId, to: SessionId, ids: readonly JobId[], at: number): readonly StoredJob[] {
    const { sessions, waits } = this.#store;
    const source = sessions.requireLasting(from);
    const target = sessions.requireLasting(to);
    const rows = ids.map((id) => this.#rows.require(id));
    for (const { session, state, job } of rows) {
      const { id } = job;
      if (session === target) continue;
      if (session !== source) throw new RuntimeError("job.foreign", { id, session: from });
      if (isOver({ state })) throw new RuntimeError("job.over", { id, state });
    }
    for (const row of rows) {
      if (row.session === target) continue;
      this.#rows.write(row, `transferred/${seqOf(row) + 1}`, { kind: "transferred", at, to });
      this.#rows.move(row, target);
      waits.move(row);
    }
    return rows.map(storedJob);
  }

  remove(id: JobId): boolean {
    const row = this.#rows.byId.get(id);
    if (row === undefined || !(isOver(row) || row.job.recovery === "external")) return false;
    this.#forget(row);
    return true;
  }

  /** Forgets those of these jobs that are over. */
  forgetOver(ids: readonly JobId[]): void {
    for (const id of ids) {
      const row = this.#rows.byId.get(id);
      if (row !== undefined && isOver(row)) this.#forget(row);
    }
  }

  /** Its session goes, and with it all its jobs. */
  forget(session: SessionRow): void {
    for (const row of this.#rows.of(session)) this.#forget(row);
  }

  #forget(row: JobRow): void {
    this.#end(row);
    this.#sayings.forget(row);
    this.#rows.forget(row);
  }

  changes(
    after: JobCursor | undefined,
    { session, max }: Parameters<Store["jobs"]["changes"]>[1],
  ): readonly StoredJob[] {
    const found: StoredJob[] = [];
    for (const row of this.#rows.after(after)) {
      if (found.length >= max) break;
      if (session === undefined || row.session.id === session) found.push(storedJob(row));
    }
    return found;
  }
}

/** The methods of a store for jobs, each of which begins with `requireOpen`. */
export function jobMethods(jobs: Jobs, requireOpen: () => void): Store["jobs"] {
  const method =
    <Given extends readonly unknown[], Answer>(call: (...given: Given) => Answer) =>
    (...given: Given): Answer => {
      requireOpen();
      return call.apply(jobs, given as never);
    };
  return {
    spawn: method(jobs.spawn),
    claim: method(jobs.claim),
    renew: method(jobs.renew),
    leave: method(jobs.leave),
    append: method(jobs.append),
    send: method(jobs.send),
    load: method(jobs.load),
    events: method(jobs.events),
    list: method(jobs.list),
    count: method(jobs.count),
    transfer: method(jobs.transfer),
    remove: method(jobs.remove),
    changes: method(jobs.changes),
    lines: method(jobs.lines),
    take: method(jobs.take),
  };
}

/** Whether this was written before: by a job that has ended since, or that was parked by it and that nobody took. */
function isRepeat(row: JobRow, lease: JobLease, events: readonly KeyedEvent[], { parks }: JobWrites): boolean {
  if (events.some(({ key }) => !has(row, key))) return false;
  if (isOver(row)) return events.length > 0;
  return row.isParked && row.generation === lease.generation && parks !== undefined;
}

/** Why something that is sent to a job is not written. */
function refusal(row: JobRow, key: string, { kind }: JobEvent): JobSent["said"] | undefined {
  if (has(row, key)) return "known";
  if (isOver(row)) return "over";
  if (kind === "signalled" || kind === "cancelling") return undefined;
  const isForExternal = kind === "transitioned" || kind === "ended";
  return isForExternal && row.job.recovery === "external" ? undefined : "bound";
}

/** Whether a process that has these operations may claim a job: any may see to one that is bound to an owner gone. */
function isFor({ job }: JobRow, operations: ReadonlySet<string>): boolean {
  const { recovery, delivers, operation } = job;
  return recovery === "owner-bound" || delivers !== undefined || (operation !== undefined && operations.has(operation));
}

/** What stands for a second end that was sent in one write. */
const endOf = (row: JobRow): StoredJobEvent => eventsOf(row, 0).find(({ event }) => event.kind === "ended")!;

const isAbandoning = (events: readonly KeyedEvent[], { waits, parks }: JobWrites): boolean =>
  waits === undefined &&
  parks === undefined &&
  events.length > 0 &&
  events.every(({ event }) => event.kind === "ended" && event.state === "abandoned");

const leaseLost = ({ jobId, generation }: JobLease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId: asSessionId(jobId), generation });
