// The background work of one process: which jobs run here, how they are begun, claimed, awaited, cancelled and left.
// Not its job: one job while it runs (`held.ts`, `function.ts`, `task.ts`), what plugins and apps call (`service.ts`).
// D1 Work begins only when the row of its job is in the store. What an effect begins waits here until the host says so.
// D2 One time for all jobs of this process: `renew` prolongs it, and brings what others sent to them.
// D3 One claim at a time, and no more tasks at once than `parallelJobsMax`. Those that only wait are given up instead.
// D4 A job that could not be gone on with is given back: it is tried again a while later, here or elsewhere.
// D5 Whoever awaits jobs is told by those that end here, and by the feed of the store for all others: one read for all.
import { type Jobs, unavailable } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { JobCursor, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { isOver, type JobRecord, type NewJob } from "../../model/job.ts";
import { describeThrown } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { Agenda, ClaimedJob, JobSpawn, Store, StoredJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { requestCancel } from "./cancel.ts";
import { abandon, deliver, endOf } from "./ends.ts";
import { JobFeed } from "./feed.ts";
import { FunctionJob, outside, type Work } from "./function.ts";
import { type BuiltIn, type HeldJob, problemOf } from "./held.ts";
import { type OnCancel, Registered } from "./registered.ts";
import { type JobsPlace, SessionJobs } from "./service.ts";
import { JobSessions } from "./sessions.ts";
import { TaskJobRun } from "./task.ts";

/** A job that is about to begin, and what is to be run for it here. */
export interface Spawning {
  readonly job: NewJob;
  readonly plugin: string;
  /** Its id is not a new one: the job may be there already. */
  readonly isNamed?: boolean;
  readonly work?: Work;
  /** Called here when a registered job is cancelled. */
  readonly cancel?: OnCancel;
}

const PAGE = 256;
/** D4 */
const AGAIN_MS = 1_000;
const LEFT_MS = 10_000;

export class Desk {
  readonly #core: () => Core;
  readonly #builtIn: BuiltIn;
  /** D1 */
  readonly unbegun = new Map<JobId, Spawning & { readonly turnId?: TurnId }>();
  /** Jobs that run here. */
  readonly held = new Map<JobId, HeldJob>();
  /** The tasks among them. */
  readonly #tasks = new Set<Promise<void>>();
  readonly sessions: JobSessions;
  readonly #registered: Registered;
  /** D5 */
  readonly feed: JobFeed;
  /** D2: until when, by our own clock from before it asked, and since when; and up to which event its mail is read. */
  #until = 0;
  #renewed = 0;
  #mail: JobCursor | undefined;
  #claiming: Promise<void> | undefined;
  #claimsAgain = false;
  #isClosed = false;

  constructor(core: () => Core, builtIn: BuiltIn = {}) {
    this.#core = core;
    this.#builtIn = builtIn;
    this.sessions = new JobSessions(core);
    this.feed = new JobFeed(core);
    this.#registered = new Registered(core);
  }

  /** Work that no plugin has: nobody names it but what made it. */
  isBuiltIn(operation: string): boolean {
    return Object.hasOwn(this.#builtIn, operation);
  }

  /** Whether something here wants to be looked after. */
  get isBusy(): boolean {
    return this.held.size + this.feed.size + this.#registered.size > 0;
  }
  get isAwaited(): boolean {
    return this.feed.size > 0;
  }
  get isFull(): boolean {
    return this.#tasks.size >= this.#core().limits.parallelJobsMax;
  }

  /** The service at a place of a session. A store of before there were jobs has none. */
  at(place: JobsPlace): Jobs {
    const { jobs } = place.core.store as Partial<Store>;
    return jobs === undefined ? unavailable("jobs", place.plugin) : new SessionJobs(place);
  }

  find(id: JobId): HeldJob | undefined {
    return this.held.get(id);
  }

  // ── Beginning (D1) ──────────────────────────────────────────────────────────────────────────────────────────────

  /** An effect of this turn answers with the job: it begins when that is recorded. */
  toBegin(turnId: TurnId, spawning: Spawning): void {
    this.unbegun.set(spawning.job.id, { ...spawning, turnId });
  }

  /** As the store takes them. */
  spawnsOf(spawning: readonly Spawning[]): readonly JobSpawn[] {
    const { owner } = this.#core();
    return spawning.map(({ job }) => (job.recovery === "owner-bound" ? { job, owner } : { job }));
  }

  /** They are in the store, with the change of an operation. */
  beginAll(spawning: readonly Spawning[]): void {
    for (const each of spawning) this.unbegun.set(each.job.id, each);
    this.begin(spawning.map(({ job }) => job));
  }

  /** Begins a job at once. Throws `session.unknown`, `job.conflict` and `job.full`. */
  async spawn(spawning: Spawning): Promise<StoredJob> {
    if (spawning.isNamed !== true) return this.#spawn(spawning, true);
    const { id } = spawning.job;
    const named = this.#spawnNamed(spawning, this.#naming.get(id));
    this.#naming.set(id, named);
    return named.finally(() => {
      if (this.#naming.get(id) === named) this.#naming.delete(id);
    });
  }
  /** One after the other under an id: the first one runs the work. */
  readonly #naming = new Map<JobId, Promise<StoredJob>>();

  async #spawnNamed(spawning: Spawning, before: Promise<StoredJob> | undefined): Promise<StoredJob> {
    await before?.catch(() => {});
    const { job } = spawning;
    const found = await this.#core().store.jobs.load(job.id);
    const { parent } = found?.record ?? {};
    // A task that was handed over finds the jobs that it began, which stayed where they were.
    const isChild = parent !== undefined && "jobId" in parent && JSON.stringify(parent) === JSON.stringify(job.parent);
    return found !== undefined && isChild ? found : this.#spawn(spawning, found === undefined);
  }

  async #spawn(spawning: Spawning, isNew: boolean): Promise<StoredJob> {
    const { store, limits } = this.#core();
    const { job, isNamed } = spawning;
    const [of] = this.spawnsOf([spawning]);
    const stored = await store.jobs.spawn(of as JobSpawn, limits.jobsMax);
    const isBound = isNamed === true && job.recovery === "owner-bound";
    if (isNew && (!isBound || (await this.#isOurs(job.id)))) this.unbegun.set(job.id, spawning);
    this.begin([job]);
    return stored;
  }

  /** Whether this process holds it: another one may have begun it under the same id just before. */
  async #isOurs(id: JobId): Promise<boolean> {
    const { store, owner, world } = this.#core();
    return (await store.jobs.renew(owner, world.now())).changed.some(({ jobId }) => jobId === id);
  }

  /** The rows of these jobs are in the store. */
  begin(jobs: readonly NewJob[]): void {
    for (const job of jobs) {
      const spawning = this.unbegun.get(job.id);
      this.unbegun.delete(job.id);
      if (spawning?.cancel !== undefined) this.#registered.add(job.id, spawning.cancel);
      if (spawning?.work !== undefined) this.#beginWork(job, spawning.plugin, spawning.work);
      else if (job.recovery === "rerunnable") {
        const { watch, world } = this.#core();
        const ms = (job.notBefore ?? 0) - world.now();
        if (ms <= 0) this.kick();
        watch.attend(ms <= 0 ? undefined : ms);
      }
      this.moved(job.id);
    }
  }

  /** The turn is over, or lost: what it wanted to begin and is not in the store never begins. */
  turnEnded(turnId: TurnId): void {
    this.#forget(turnId).catch((error: unknown) => this.#trace("job.begin", error, { turn: turnId }));
  }

  async #forget(turnId: TurnId): Promise<void> {
    const { store, owner, world } = this.#core();
    for (const job of this.held.values()) {
      const { parent, onParentEnd } = job.record;
      if (onParentEnd === "cancel" && parent !== undefined && "turnId" in parent && parent.turnId === turnId)
        await job.look(); // The commit has sent it a cancel.
    }
    const left = [...this.unbegun.values()].filter((each) => each.turnId === turnId);
    if (left.length === 0) return;
    // The answer may have been recorded, and the store have failed to say so; or another process has turn and jobs; or
    // they have ended with their turn.
    const { changed } = await store.jobs.renew(owner, world.now());
    const ours = new Set(changed.map(({ jobId }) => jobId));
    for (const { job } of left) {
      const stored = await store.jobs.load(job.id);
      const isLive = stored !== undefined && !isOver(stored.record);
      if (isLive && (job.recovery !== "owner-bound" || ours.has(job.id))) this.begin([job]);
      else this.unbegun.delete(job.id);
    }
  }

  #beginWork(job: NewJob, plugin: string, work: Work): void {
    const core = this.#core();
    const { at: createdAt, ...about } = job;
    const lease = { jobId: job.id, generation: 1, owner: core.owner };
    const record: JobRecord = { ...about, state: "running", createdAt, starts: 1, steps: 0, wakes: 0 };
    this.#run(new FunctionJob(core, lease, record, 2, plugin, work));
  }

  #run(job: FunctionJob | TaskJobRun): void {
    const core = this.#core();
    if (this.#isClosed) return;
    this.held.set(job.id, job);
    core.watch.attend();
    if (job instanceof FunctionJob) return void outside(() => job.run());
    const done: Promise<void> = outside(() => job.run())
      .catch((error: unknown) => this.giveUp(job, error))
      .then(() => {
        this.#tasks.delete(done);
        this.finished(job);
        this.kick(); // There is room for another one.
      });
    this.#tasks.add(done);
  }

  /** It does not run here any more. */
  finished(job: HeldJob): void {
    if (this.held.get(job.id) === job) this.held.delete(job.id);
    this.moved(job.id, true);
  }

  // ── Claiming (D3) ───────────────────────────────────────────────────────────────────────────────────────────────

  /** There may be jobs to claim. */
  kick(): void {
    if (this.#isClosed || !this.#core().runs) return;
    if (this.#claiming !== undefined) {
      this.#claimsAgain = true;
      return;
    }
    this.#claiming = outside(() => this.#claim())
      .catch((error: unknown) => this.#trace("jobs.claim", error))
      .finally(() => {
        this.#claiming = undefined;
        if (this.#claimsAgain) this.kick();
      });
  }

  async #claim(): Promise<void> {
    const { store, owner, world, limits } = this.#core();
    for (;;) {
      this.#claimsAgain = false;
      const room = limits.parallelJobsMax - this.#tasks.size;
      if (this.#isClosed) return;
      if (room <= 0) this.#makeRoom();
      // What takes no place is claimed in any case: inputs whose time has come, and built-in work.
      const operations = room > 0 ? this.#core().background.operations : Object.keys(this.#builtIn);
      const claimed = await store.jobs.claim(owner, world.now(), room > 0 ? Math.min(room, PAGE) : PAGE, operations);
      for (const each of claimed) {
        if (each.isOrphan === true) await this.#surely(each, () => abandon(this.#core(), each));
        else if (each.record.delivers !== undefined) await this.#surely(each, () => deliver(this.#core(), each));
        else this.#runClaimed(each);
      }
      if (claimed.length === 0) return;
    }
  }

  /** D3 */
  #makeRoom(): void {
    for (const job of this.held.values()) if (job instanceof TaskJobRun) job.makeRoom();
  }

  /** What fails is done again a while later: whatever else was claimed with it does not wait for it. */
  async #surely({ record }: ClaimedJob, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (hasCode(error, "lease.lost")) return;
      this.#trace("jobs.claim", error, { job: record.id });
      void this.#core()
        .world.rest(AGAIN_MS)
        .then(() => this.#insist(record.id, write));
    }
  }

  /** An earlier run of it may not have left yet: what was claimed is not its any more. */
  #runClaimed(claimed: ClaimedJob): void {
    const { jobId } = claimed.lease;
    this.held.get(jobId)?.lose();
    const operation = claimed.record.operation ?? "";
    if (!this.isBuiltIn(operation)) return this.#run(new TaskJobRun(this.#core(), claimed));
    const job = this.#builtIn[operation]!(this.#core(), claimed);
    if (this.#isClosed || job.isOver) return;
    this.held.set(job.id, job);
    this.#core().watch.attend();
    void outside(() => job.run()).catch((error: unknown) => this.giveUp(job, error));
  }

  // ── Looking (D2, D5) ────────────────────────────────────────────────────────────────────────────────────────────

  /** Nothing outward begins when this is false. */
  get isInTime(): boolean {
    return this.#core().world.now() < this.#until;
  }

  /** Prolongs the time of this process, and takes in what others sent to its jobs. */
  async renew(mayBeGone = false): Promise<void> {
    const { store, owner, world } = this.#core();
    const now = world.now();
    // Past its time others may have taken jobs, or deleted them, and no event tells of that: it asks for all that it holds.
    const asksAll = mayBeGone || !this.isInTime;
    const before = asksAll ? [...this.held.values()] : [];
    const { heldMs, changed, cursor } = await store.jobs.renew(owner, now, asksAll ? undefined : this.#mail);
    this.#until = now + heldMs;
    this.#renewed = now;
    this.#mail = cursor ?? this.#mail;
    const ours = new Set(asksAll ? changed.map(({ jobId }) => jobId) : []);
    for (const job of before) if (!ours.has(job.id)) job.lose();
    for (const { jobId, seq } of changed) {
      const job = this.held.get(jobId);
      if (job !== undefined && job.seq < seq) await job.look();
    }
  }

  /** Every second, with what the store has to do. */
  async look(agenda: Agenda): Promise<void> {
    const { store, world, recovers } = this.#core();
    if (this.#isClosed) return;
    const isMoved = this.feed.isBehind(agenda.jobs);
    const isDue = world.now() - this.#renewed >= (this.#until - this.#renewed) / 3;
    const hasGone = this.feed.hasGone(agenda.gone);
    if (this.held.size > 0 && (isMoved || isDue || hasGone)) await this.renew(hasGone);
    if (this.feed.size + this.#registered.size === 0) this.feed.pass(agenda.jobs);
    else if (isMoved)
      await this.feed.read(agenda.jobs, this.#registered.ids, (record) => this.#registered.heard(record));
    this.feed.tellOfGone(agenda.gone);
    if (agenda.hasJobs === true && (recovers || !store.isDurable || this.isBusy)) this.kick();
  }

  /** Claims all that there is, and settles when it has ended or waits. */
  async recover(): Promise<void> {
    this.kick();
    while (this.#claiming !== undefined || this.#tasks.size > 0) {
      await this.#claiming;
      const tasks = [...this.#tasks];
      if (tasks.length > 0) await Promise.race([...tasks, this.#core().world.rest(AGAIN_MS)]);
    }
  }

  /** Something happened to a job here; it may have come to its end. */
  moved(id: JobId, mayBeOver = false): void {
    if (!mayBeOver) return this.feed.notify(id);
    this.#registered.forget(id);
    this.rested(id);
  }
  /** A job has come to rest here: whoever awaits it need not wait any longer. */
  rested(id: JobId): void {
    this.feed.notify(id);
    this.#core().watch.jobEnded(id);
  }

  /** A session was told something by a job. */
  woke(id: SessionId): void {
    this.#core().watch.inputCame(id);
  }

  // ── Cancelling ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Asks a job to end, for a turn that is stopped while it waits for it. */
  async stop(id: JobId, reason: string): Promise<void> {
    await requestCancel(this.#core(), id, reason);
  }

  /** A job was asked to end, here or elsewhere: whoever does its work here hears of it. */
  async wasCancelled(id: JobId, reason: string): Promise<void> {
    await this.#registered.call(id, reason);
    const held = this.held.get(id);
    if (held !== undefined) await held.look();
    this.moved(id, held === undefined);
  }

  // ── Giving up ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** D4: something is wrong here: a fault of the store, a session that cannot be opened, a task that is not here. */
  giveUp(job: HeldJob, error: unknown): void {
    if (job.isOver) return;
    this.#trace("job.given-up", error, { job: job.id });
    if (job.record.recovery === "rerunnable") return this.giveBack(job, LEFT_MS, error);
    job.letGo(error);
    this.#insist(job.id, () => endOf(this.#core(), job, "failed", problemOf(error)));
  }

  /** Lets others go on with a task, or this process again, so much later. */
  giveBack(job: HeldJob, ms = 0, reason: unknown = new RuntimeError("job.parked", { id: job.id })): void {
    job.letGo(reason);
    this.#insist(job.id, async () => {
      await this.#park(job, ms);
      this.kick();
    });
  }

  /** That it was left by its process is recorded: it has not ended it. */
  async #park({ lease }: HeldJob, ms: number): Promise<void> {
    const { store, world } = this.#core();
    const at = world.now();
    const event = { at, kind: "parked", due: at + ms } as const;
    const parks = { seen: Number.MAX_SAFE_INTEGER, due: at + ms };
    await store.jobs.append(lease, [{ key: `left/${lease.generation}`, event }], at, { parks });
  }

  /** Writes it, if need be a while later: a job that nobody gave back would wait for the end of this process. */
  #insist(id: JobId, write: () => Awaitable<unknown>): void {
    const { world } = this.#core();
    const attempt = async (): Promise<void> => {
      try {
        await write();
        this.moved(id, true);
      } catch (error) {
        if (this.#isClosed || hasCode(error, "lease.lost")) return;
        this.#trace("job.given-up", error, { job: id });
        await world.rest(AGAIN_MS);
        await attempt();
      }
    };
    void attempt();
  }

  /** A session was deleted here: its jobs are gone. */
  sessionGone(id: SessionId): void {
    for (const job of this.held.values())
      if (job.record.sessionId === id) job.letGo(new RuntimeError("session.deleted", { id }));
    this.feed.notifyAll();
    this.#registered.sessionGone(id).catch((error: unknown) => this.#trace("job.cancel", error, { session: id }));
  }

  /** Tasks are left to other processes; functions have a grace, and are abandoned. */
  async close(graceMs: number): Promise<void> {
    const { world, store, owner } = this.#core();
    this.#isClosed = true;
    this.feed.notifyAll();
    const isClaiming = this.#claiming !== undefined;
    await this.#claiming;
    if (this.held.size === 0 && !isClaiming) return;
    const timer = new AbortController();
    const inGrace = (left: Promise<unknown>): Promise<unknown> =>
      Promise.race([left, world.sleep(graceMs, timer.signal)]);
    const leaving = [...this.held.values()].map(async (job) => {
      if (job.leave !== undefined) {
        await inGrace(job.leave().catch((error: unknown) => this.#trace("jobs.leave", error)));
        const isLeft = !job.isOver;
        job.letGo(new RuntimeError("runtime.closed", {}));
        if (isLeft) await this.#park(job, 0).catch((error: unknown) => this.#trace("jobs.leave", error));
        return;
      }
      job.stop(new RuntimeError("runtime.closed", {}));
      await inGrace(job.over);
      if (!job.isOver)
        await job.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.jobAbandoned } }).catch(() => {});
    });
    await Promise.all(leaving);
    timer.abort();
    await Promise.resolve(store.jobs.leave(owner)).catch((error: unknown) => this.#trace("jobs.leave", error));
  }

  #trace(name: string, error: unknown, about: { readonly [key: string]: string } = {}): void {
    this.#core().trace(name, { problem: describeThrown(error), ...about });
  }
}
