// The background work of one process: which jobs run here, how they are begun, claimed, awaited, cancelled and left.
// Not its job: one job while it runs (`held.ts`, `function.ts`, `task.ts`), what plugins and apps call (`service.ts`).
// D1 Work begins only when the row of its job is in the store. What an effect begins waits here until the host says so.
// D2 One time for all jobs of this process: `renew` prolongs it, and brings what others sent to them.
// D3 One claim at a time, and no more tasks at once than `parallelJobsMax`. Those that only wait are given up instead.
// D4 A job that could not be gone on with is given back: it is tried again a while later, here or elsewhere.
// D5 Whoever awaits jobs is told by those that end here, and by the feed of the store for all others: one read for all.
import type { Composition } from "../../kernel/compose.ts";
import { checkedInput, wireName } from "../../kernel/operation.ts";
import { type Jobs, unavailable } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { JobCursor, JobId, SessionId, TurnId } from "../../model/ids.ts";
import { isOver, type JobRecord, type NewJob } from "../../model/job.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { Agenda, ClaimedJob, JobSent, JobSpawn, KeyedEvent, Store, StoredJob } from "../../stores/store.ts";
import { APP } from "../../tools/catalog.ts";
import type { Core } from "../core.ts";
import { cancel } from "../services/sessions.ts";
import type { SessionSite } from "../services/site.ts";
import { FunctionJob, outside, type Work } from "./function.ts";
import type { HeldJob } from "./held.ts";
import { type JobsPlace, SessionJobs } from "./service.ts";
import { TaskJobRun } from "./task.ts";
import { endWake } from "./wake.ts";

/** A job that is about to begin, and what is to be run for it here. */
export interface Spawning {
  readonly job: NewJob;
  readonly plugin: string;
  readonly work?: Work;
  /** Called here when a registered job is cancelled. */
  readonly cancel?: (reason: string) => Awaitable<unknown>;
}

const PAGE = 256;
/** D4 */
const AGAIN_MS = 1_000;
const LEFT_MS = 10_000;
/** How long `cancel` waits for the end of a job, besides its grace. */
const CANCEL_MS = 2_000;

export class Desk {
  readonly #core: () => Core;
  readonly #compose: () => Composition;
  /** D1 */
  readonly unbegun = new Map<JobId, Spawning & { readonly turnId?: TurnId }>();
  readonly #held = new Map<JobId, HeldJob>();
  readonly #working = new Set<Promise<void>>();
  readonly #cancels = new Map<JobId, NonNullable<Spawning["cancel"]>>();
  /** D5: who wants to know of a job. */
  readonly #waiters = new Map<JobId, Set<() => void>>();
  #operations: readonly string[] | undefined;
  /** D2: until when, and since when; and up to which event its mail is read. */
  #until = 0;
  #renewed = 0;
  #mail: JobCursor | undefined;
  #feed: JobCursor | undefined;
  #claiming: Promise<void> | undefined;
  #claimsAgain = false;
  #isClosed = false;

  constructor(core: () => Core, compose: () => Composition) {
    this.#core = core;
    this.#compose = compose;
  }

  /** The tasks that this process can run. Asked for when there is a job: plugins are composed for it. */
  get operations(): readonly string[] {
    this.#operations ??= [...this.#compose().operations.values()].flatMap(({ plugin, name, operation }) =>
      operation.kind === "task" ? [wireName(plugin, name)] : [],
    );
    return this.#operations;
  }

  /** Whether something here wants to be looked after. */
  get isBusy(): boolean {
    return this.#held.size > 0 || this.#waiters.size > 0;
  }
  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }
  get #tasks(): number {
    let count = 0;
    for (const job of this.#held.values()) if (job instanceof TaskJobRun) count++;
    return count;
  }
  get isFull(): boolean {
    return this.#tasks >= this.#core().limits.parallelJobsMax;
  }

  /** The service at a place of a session. */
  of(site: SessionSite, plugin: string): Jobs {
    return this.#at({ core: site.core, sessionId: site.sessionId, plugin, site });
  }
  ofApp(sessionId: SessionId): Jobs {
    return this.#at({ core: this.#core(), sessionId, plugin: APP });
  }
  /** A store of before there were jobs has none. */
  #at(place: JobsPlace): Jobs {
    const { jobs } = place.core.store as Partial<Store>;
    return jobs === undefined ? unavailable("jobs", place.plugin) : new SessionJobs(place);
  }

  find(id: JobId): HeldJob | undefined {
    return this.#held.get(id);
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

  /** Throws when the task, or its input, cannot be right. Where its plugin is not here, nobody knows. */
  async requireTask(sessionId: SessionId, operation: string, input: Json | undefined): Promise<void> {
    const core = this.#core();
    const plugin = operation.slice(0, operation.lastIndexOf("."));
    if (!core.plugins.some(({ id }) => id === plugin)) return;
    const open = core.sessions.find(sessionId);
    const found = (open?.composition ?? this.#compose()).operations.get(operation);
    if (found?.operation.kind !== "task")
      throw new RuntimeError("operation.unknown", { name: operation, known: this.operations });
    checkedInput(found, input);
  }

  /** Begins a job at once. Throws `session.unknown`, `job.conflict` and `job.full`. */
  async spawn(spawning: Spawning): Promise<StoredJob> {
    const { store, limits } = this.#core();
    const { job } = spawning;
    const [of] = this.spawnsOf([spawning]);
    const before = await store.jobs.load(job.id);
    const stored = await store.jobs.spawn(of as JobSpawn, limits.jobsMax);
    if (before === undefined) this.unbegun.set(job.id, spawning);
    this.begin([job]);
    return stored;
  }

  /** The rows of these jobs are in the store. */
  begin(jobs: readonly NewJob[]): void {
    for (const job of jobs) {
      const spawning = this.unbegun.get(job.id);
      this.unbegun.delete(job.id);
      if (spawning?.cancel !== undefined) this.#cancels.set(job.id, spawning.cancel);
      if (spawning?.work !== undefined) this.#beginWork(job, spawning.plugin, spawning.work);
      else if (job.recovery === "rerunnable") this.kick();
      this.moved(job.id);
    }
  }

  /** The turn is over, or lost: what it wanted to begin and is not in the store never begins. */
  turnEnded(turnId: TurnId): void {
    this.#forget(turnId).catch((error: unknown) => this.#trace("job.begin", error, { turn: turnId }));
  }

  async #forget(turnId: TurnId): Promise<void> {
    const { store, owner, world } = this.#core();
    const left = [...this.unbegun.values()].filter((each) => each.turnId === turnId);
    if (left.length === 0) return;
    // The answer may have been recorded, and the store have failed to say so; or another process has turn and jobs.
    const { changed } = await store.jobs.renew(owner, world.now());
    const ours = new Set(changed.map(({ jobId }) => jobId));
    for (const { job } of left) {
      const isThere = (await store.jobs.load(job.id)) !== undefined;
      if (isThere && (job.recovery !== "owner-bound" || ours.has(job.id))) this.begin([job]);
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

  #run(job: HeldJob): void {
    const core = this.#core();
    if (this.#isClosed) return;
    this.#held.set(job.id, job);
    core.watch.attend();
    const done = outside(() => job.run())
      .catch((error: unknown) => this.giveUp(job, error))
      .finally(() => {
        this.#working.delete(done);
        if (this.#held.get(job.id) === job) this.#held.delete(job.id);
        this.moved(job.id);
        if (job instanceof TaskJobRun) this.kick(); // There is room for another one.
      });
    this.#working.add(done);
  }

  // ── Claiming (D3) ───────────────────────────────────────────────────────────────────────────────────────────────

  /** There may be jobs to claim. */
  kick(): void {
    if (this.#isClosed) return;
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
      const room = limits.parallelJobsMax - this.#tasks;
      if (room <= 0 || this.#isClosed) return;
      const claimed = await store.jobs.claim(owner, world.now(), Math.min(room, PAGE), this.operations);
      for (const each of claimed) {
        if (each.isOrphan === true) await this.#tried(each, () => this.#abandon(each));
        else if (each.record.delivers !== undefined) await this.#tried(each, () => this.#deliver(each));
        else {
          this.#held.get(each.record.id)?.lose(); // It was taken from this process, and given back.
          this.#run(new TaskJobRun(this.#core(), each));
        }
      }
      if (claimed.length === 0) return;
    }
  }

  /** D4: what fails is tried again here, for nobody else can claim the job; the others that were claimed are run. */
  async #tried(job: ClaimedJob, run: () => Promise<void>): Promise<void> {
    await run().catch((error: unknown) => {
      this.#trace("job.claimed", error, { job: job.record.id });
      const { world } = this.#core();
      if (!hasCode(error, "lease.lost"))
        world.rest(AGAIN_MS).then(() => void (this.#isClosed || this.#tried(job, run)));
    });
  }

  /** The process that did the work is gone. */
  async #abandon({ lease, record }: ClaimedJob): Promise<void> {
    const core = this.#core();
    const at = core.world.now();
    const error = { code: "job.abandoned", message: TEXTS.jobAbandoned };
    const ended = { at, kind: "ended", state: "abandoned", error } as const;
    const wake = endWake(core, record, ended);
    const more = wake === undefined ? {} : { wakes: [wake], wakesMax: core.limits.jobWakesMax + 1 };
    await core.store.jobs.append(lease, [{ key: "end", event: ended }], at, more);
    if (wake !== undefined) this.woke(record.sessionId);
    this.moved(record.id);
  }

  /** The time of an input has come: it is accepted in the write that ends its job. */
  async #deliver({ lease, record }: ClaimedJob): Promise<void> {
    const core = this.#core();
    const at = core.world.now();
    const { sessionId, delivers } = record;
    if (delivers === undefined) return;
    const key = delivers.key ?? `job:${record.id}`;
    const ended = { at, kind: "ended", state: "completed" } as const;
    await core.store.jobs.append(lease, [{ key: "end", event: ended }], at, {
      wakes: [{ ...delivers, key, sessionId, at }],
    });
    this.woke(sessionId);
    this.moved(record.id);
  }

  // ── Looking (D2, D5) ────────────────────────────────────────────────────────────────────────────────────────────

  /** Nothing outward begins when this is false. */
  get isInTime(): boolean {
    return this.#core().world.now() < this.#until;
  }

  /** Prolongs the time of this process, and takes in what others sent to its jobs. */
  async renew(): Promise<void> {
    const { store, owner, world } = this.#core();
    const now = world.now();
    // Past its time others may have taken jobs, and no event tells it of that: it asks for all that it still holds.
    const isLate = !this.isInTime;
    const before = isLate ? [...this.#held.values()] : [];
    const { until, changed, cursor } = await store.jobs.renew(owner, now, isLate ? undefined : this.#mail);
    this.#until = until;
    this.#renewed = now;
    this.#mail = cursor ?? this.#mail;
    const ours = new Set(isLate ? changed.map(({ jobId }) => jobId) : []);
    for (const job of before) if (!ours.has(job.id)) job.lose();
    for (const { jobId, seq } of changed) {
      const job = this.#held.get(jobId);
      if (job !== undefined && job.seq < seq) await job.look();
    }
  }

  /** Every second, with what the store has to do. */
  async look(agenda: Agenda): Promise<void> {
    const { store, world, recovers } = this.#core();
    if (this.#isClosed) return;
    const isMoved = agenda.jobs !== undefined && agenda.jobs !== this.#feed;
    const isDue = world.now() - this.#renewed >= (this.#until - this.#renewed) / 3;
    if (this.#held.size > 0 && (isMoved || isDue)) await this.renew();
    if (isMoved && this.#waiters.size > 0) await this.#read();
    else if (this.#waiters.size === 0) this.#feed = agenda.jobs;
    if (agenda.hasJobs === true && (recovers || !store.isDurable || this.isBusy)) this.kick();
  }

  /** Claims all that there is, and settles when it has ended or waits. */
  async recover(): Promise<void> {
    this.kick();
    while (this.#claiming !== undefined || this.#tasks > 0) {
      await this.#claiming;
      const tasks = [...this.#working];
      if (tasks.length > 0) await Promise.race([...tasks, this.#core().world.rest(AGAIN_MS)]);
    }
  }

  async #read(): Promise<void> {
    const { store } = this.#core();
    for (;;) {
      const changed = await store.jobs.changes(this.#feed, { max: PAGE });
      for (const { record } of changed) this.#notify(record.id);
      this.#feed = changed.at(-1)?.cursor ?? this.#feed;
      if (changed.length < PAGE) return;
    }
  }

  #notify(id: JobId): void {
    for (const tell of this.#waiters.get(id) ?? []) tell();
  }

  /** Something happened to a job here. */
  moved(id: JobId): void {
    this.#notify(id);
    if (this.#held.get(id)?.isOver === false) return;
    this.#cancels.delete(id);
    this.#core().watch.jobEnded();
  }

  /** Calls `tell` when one of these jobs changes; `stop` ends that. */
  watch(ids: readonly JobId[], tell: (id: JobId) => void): { stop(): void } {
    const added = ids.map((id) => {
      const own = (): void => tell(id);
      const of = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, of.add(own));
      return [id, own] as const;
    });
    this.#core().watch.attend();
    return {
      stop: () => {
        for (const [id, own] of added) {
          const of = this.#waiters.get(id);
          of?.delete(own);
          if (of?.size === 0) this.#waiters.delete(id);
        }
        this.#core().watch.attended();
      },
    };
  }

  /** Reads jobs, and has `tell` called at the next change of one of them. */
  async watching<T>(ids: readonly JobId[], tell: () => void, read: () => Promise<T>): Promise<T> {
    const watching = this.watch(ids, () => {
      watching.stop();
      tell();
    });
    return read();
  }

  /** A session was told something by a job. */
  woke(id: SessionId): void {
    this.#core().watch.inputCame(id);
  }

  // ── Cancelling ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Asks a job to end, by what it is. Never throws for a job that is over or not there. */
  async requestCancel(id: JobId, reason: string): Promise<JobSent> {
    const core = this.#core();
    const { store, world } = core;
    const before = await store.jobs.load(id);
    if (before === undefined || isOver(before.record))
      return before === undefined ? { said: "unknown" } : { said: "over", job: before };
    const sent: KeyedEvent = { key: "cancel", event: { at: world.now(), kind: "cancelling", reason } };
    const { kind, childId } = before.record;
    if (kind === "subagent" && childId !== undefined) await this.#closeTree(childId, reason);
    const answer = await store.jobs.send(id, sent, world.now());
    const local = this.#cancels.get(id);
    this.#cancels.delete(id);
    if (local !== undefined)
      await Promise.resolve()
        .then(() => local(reason))
        .catch((error: unknown) => this.#trace("job.cancel", error, { job: id }));
    const held = this.#held.get(id);
    if (held !== undefined) await held.look();
    this.moved(id);
    return answer;
  }

  /** A subagent is stopped from the top down: one that is stopped first cannot start new ones below it. */
  async #closeTree(id: SessionId, reason: string): Promise<void> {
    const core = this.#core();
    if (!(await core.store.has(id))) return;
    await cancel(core, id, undefined, reason);
    for (const child of await core.store.list({ parent: id })) await this.#closeTree(child.id, reason);
  }

  /** Cancels a job and waits for its end, for a moment. */
  async cancel(id: JobId, reason: string): Promise<StoredJob> {
    const { store, limits, world } = this.#core();
    const ended = Promise.withResolvers<void>();
    const watching = this.watch([id], () => ended.resolve());
    const timer = new AbortController();
    try {
      const end = world.now() + limits.cancelGraceMs + CANCEL_MS;
      let { said, job } = await this.requestCancel(id, reason);
      if (job === undefined || said === "unknown") throw new RuntimeError("job.unknown", { id });
      while (!isOver(job.record) && world.now() < end) {
        await Promise.race([ended.promise, world.sleep(50, timer.signal)]);
        job = (await store.jobs.load(id)) ?? job;
      }
      return job;
    } finally {
      timer.abort();
      watching.stop();
    }
  }

  // ── Giving up ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** D4: something is wrong here: a fault of the store, a session that cannot be opened, a task that is not here. */
  giveUp(job: HeldJob, error: unknown): void {
    if (job.isOver) return;
    const { store, world } = this.#core();
    this.#trace("job.given-up", error, { job: job.id });
    job.letGo(error);
    const giveBack = async (): Promise<void> => {
      const at = world.now();
      if (job.record.recovery !== "rerunnable") {
        const how = { code: error instanceof RuntimeError ? error.code : "job.failed", message: describeThrown(error) };
        const ended = { at, kind: "ended", state: "failed", error: how } as const;
        await store.jobs.append(job.lease, [{ key: "end", event: ended }], at);
      } else {
        const due = at + LEFT_MS;
        await store.jobs.append(job.lease, [], at, { parks: { seen: Infinity, due } });
      }
    };
    void giveBack().catch(async (again: unknown) => {
      this.#trace("job.given-up", again, { job: job.id });
      await world.rest(AGAIN_MS);
      if (!this.#isClosed) await giveBack().catch(() => {});
    });
  }

  /** A session was deleted here: its jobs are gone. */
  sessionGone(id: SessionId): void {
    for (const job of this.#held.values())
      if (job.record.sessionId === id) job.letGo(new RuntimeError("session.deleted", { id }));
  }

  /** Tasks are left to other processes; functions have a grace, and are abandoned. */
  async close(graceMs: number): Promise<void> {
    const { world, store, owner } = this.#core();
    this.#isClosed = true;
    if (this.#held.size === 0) return;
    const timer = new AbortController();
    const inGrace = (left: Promise<unknown>): Promise<unknown> =>
      Promise.race([left, world.sleep(graceMs, timer.signal)]);
    const leaving = [...this.#held.values()].map(async (job) => {
      if (job instanceof TaskJobRun) {
        await inGrace(job.leave());
        job.letGo(new RuntimeError("runtime.closed", {}));
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
