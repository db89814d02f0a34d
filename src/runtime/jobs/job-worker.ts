// The background work of one process: runs, claims, cancels and releases jobs, and notifies code that awaits jobs.
// Not its job: how a job begins (`job-starts.ts`), a job while it runs (`running-job.ts`, `function.ts`, `task.ts`), the
// service (`service.ts`).
// job-worker-1: All jobs of this process share one lease time. `renew` prolongs it and reads what others sent to the
//    jobs.
// job-worker-2: One claim runs at a time, and at most `parallelJobsMax` tasks run at once. If all places are taken,
//    tasks that only wait are parked.
// job-worker-3: A task that cannot run here is parked for `RETRY_MS`. Then this process or another retries it.
// job-worker-4: Code that awaits a job is notified when the job ends here. For jobs of other processes one read of the
//    store's feed serves all waiting code.
import type { Jobs } from "../../kernel/services.ts";
import { unavailable } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { JobCursor, JobId, SessionId } from "../../model/ids.ts";
import { describeThrown } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { Agenda, ClaimedJob, Store } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { POLL_MS } from "../poller.ts";
import type { CallerPlace } from "../services/session-service.ts";
import { requestCancel } from "./cancel.ts";
import { abandon, deliver, endOf } from "./ends.ts";
import { JobFeed } from "./feed.ts";
import { FunctionJob, outside } from "./function.ts";
import { JobStarts } from "./job-starts.ts";
import { Registered } from "./registered.ts";
import { type BuiltIn, problemOf, type RunningJob } from "./running-job.ts";
import { SessionJobs } from "./service.ts";
import { JobSessions } from "./sessions.ts";
import { TaskJobRun } from "./task.ts";

const PAGE = 256;
/** job-worker-3 */
const RETRY_MS = 10_000;

export class JobWorker {
  readonly #core: () => Core;
  readonly #builtIn: BuiltIn;
  readonly starts: JobStarts;
  /** The jobs that run in this process. */
  readonly running = new Map<JobId, RunningJob>();
  /** The tasks among them. */
  readonly #tasks = new Set<Promise<void>>();
  readonly sessions: JobSessions;
  readonly #registered: Registered;
  /** job-worker-4 */
  readonly feed: JobFeed;
  /**
   * job-worker-1: when the lease ends (by our clock before the request), when it was renewed, and the last event that
   * was read.
   */
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
    this.starts = new JobStarts(this, core, this.#registered);
  }

  /** Whether the runtime itself has this task, and not a plugin. Callers cannot start such a task by its name. */
  isBuiltIn(operation: string): boolean {
    return Object.hasOwn(this.#builtIn, operation);
  }

  /** Whether this process runs, awaits or registered a job, so that the watch must poll. */
  get isBusy(): boolean {
    return this.running.size + this.feed.size + this.#registered.size > 0;
  }
  get isAwaited(): boolean {
    return this.feed.size > 0;
  }
  get isFull(): boolean {
    return this.#tasks.size >= this.#core().limits.parallelJobsMax;
  }

  /** The jobs service for a place of a session. A custom store without `jobs` has none. */
  at(place: CallerPlace): Jobs {
    const { jobs } = place.core.store as Partial<Store>;
    return jobs === undefined ? unavailable("jobs", place.plugin) : new SessionJobs(place);
  }

  find(id: JobId): RunningJob | undefined {
    return this.running.get(id);
  }

  /** Runs a job whose row is in the store. */
  run(job: FunctionJob | TaskJobRun): void {
    const core = this.#core();
    if (this.#isClosed) return;
    this.running.set(job.id, job);
    core.watcher.attend();
    if (job instanceof FunctionJob) return void outside(() => job.run());
    const done: Promise<void> = outside(() => job.run())
      .catch((error: unknown) => this.giveUp(job, error))
      .then(() => {
        this.#tasks.delete(done);
        this.finished(job);
        this.kick(); // A place for another task is free.
      });
    this.#tasks.add(done);
  }

  /** Removes a job that no longer runs here. */
  finished(job: RunningJob): void {
    if (this.running.get(job.id) === job) this.running.delete(job.id);
    this.jobChanged(job.id, true);
  }

  // ── Claiming (job-worker-2) ────────────────────────────────────────────────────────────────────────────────────────

  /** Claims jobs, if there are any. */
  kick(): void {
    if (this.#isClosed || !this.#core().runs) return;
    if (this.#claiming !== undefined) {
      this.#claimsAgain = true;
      return;
    }
    this.#claiming = outside(() => this.#claim())
      .catch((error: unknown) => this.trace("jobs.claim", error))
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
      // Due inputs and built-in work take no place, so they are always claimed.
      const operations = room > 0 ? this.#core().background.operations : Object.keys(this.#builtIn);
      const claimed = await store.jobs.claim(owner, world.now(), room > 0 ? Math.min(room, PAGE) : PAGE, operations);
      for (const each of claimed) {
        if (each.isOrphan === true) await this.#writeOrRetry(each, () => abandon(this.#core(), each));
        else if (each.record.delivers !== undefined) await this.#writeOrRetry(each, () => deliver(this.#core(), each));
        else this.#runClaimed(each);
      }
      if (claimed.length === 0) return;
    }
  }

  /** job-worker-2 */
  #makeRoom(): void {
    for (const job of this.running.values()) if (job instanceof TaskJobRun) job.makeRoom();
  }

  /** Retries a failed write later, so that other claimed jobs need not wait for it. */
  async #writeOrRetry({ record }: ClaimedJob, write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (hasCode(error, "lease.lost")) return;
      this.trace("jobs.claim", error, { job: record.id });
      void this.#core()
        .world.rest(POLL_MS.failedJob)
        .then(() => this.#retryUntilWritten(record.id, write));
    }
  }

  /** Runs a claimed job. An earlier run of the job in this process loses its lease first. */
  #runClaimed(claimed: ClaimedJob): void {
    const { jobId } = claimed.lease;
    this.running.get(jobId)?.leaseLost();
    const operation = claimed.record.operation ?? "";
    if (!this.isBuiltIn(operation)) return this.run(new TaskJobRun(this.#core(), claimed));
    const job = this.#builtIn[operation]!(this.#core(), claimed);
    if (this.#isClosed || job.isOver) return;
    this.running.set(job.id, job);
    this.#core().watcher.attend();
    void outside(() => job.run()).catch((error: unknown) => this.giveUp(job, error));
  }

  // ── Looking (job-worker-1, job-worker-4) ───────────────────────────────────────────────────────────────────────────

  /** Whether the lease still holds. If not, no outward effect can start, because another process can have the job. */
  get isInTime(): boolean {
    return this.#core().world.now() < this.#until;
  }

  /** Renews the lease of this process, and reads what others sent to its jobs. */
  async renew(mayBeGone = false): Promise<void> {
    const { store, owner, world } = this.#core();
    const now = world.now();
    // After the lease has expired others can have claimed or deleted jobs without an event, so it asks for all its
    // jobs.
    const asksAll = mayBeGone || !this.isInTime;
    const before = asksAll ? [...this.running.values()] : [];
    const { heldMs, changed, cursor } = await store.jobs.renew(owner, now, asksAll ? undefined : this.#mail);
    this.#until = now + heldMs;
    this.#renewed = now;
    this.#mail = cursor ?? this.#mail;
    const ours = new Set(asksAll ? changed.map(({ jobId }) => jobId) : []);
    for (const job of before) if (!ours.has(job.id)) job.leaseLost();
    for (const { jobId, seq } of changed) {
      const job = this.running.get(jobId);
      if (job !== undefined && job.seq < seq) await job.look();
    }
  }

  /** Called every second with the agenda of the store. */
  async look(agenda: Agenda): Promise<void> {
    const { store, world, recovers } = this.#core();
    if (this.#isClosed) return;
    const isMoved = this.feed.isBehind(agenda.jobs);
    const isDue = world.now() - this.#renewed >= (this.#until - this.#renewed) / 3;
    const hasDeletions = this.feed.hasDeletions(agenda.gone);
    if (this.running.size > 0 && (isMoved || isDue || hasDeletions)) await this.renew(hasDeletions);
    if (this.feed.size + this.#registered.size === 0) this.feed.skipTo(agenda.jobs);
    else if (isMoved)
      await this.feed.read(agenda.jobs, this.#registered.ids, (record) => this.#registered.changed(record));
    this.feed.notifyDeletions(agenda.gone);
    if (agenda.hasJobs === true && (recovers || !store.isDurable || this.isBusy)) this.kick();
  }

  /** Claims all jobs, and settles when each has ended or is parked. */
  async recover(): Promise<void> {
    this.kick();
    while (this.#claiming !== undefined || this.#tasks.size > 0) {
      await this.#claiming;
      const tasks = [...this.#tasks];
      if (tasks.length > 0) await Promise.race([...tasks, this.#core().world.rest(POLL_MS.failedJob)]);
    }
  }

  /** Called after each change of a job in this process. `mayBeOver`: the job can have ended. */
  jobChanged(id: JobId, mayBeOver = false): void {
    if (!mayBeOver) return this.feed.notify(id);
    this.#registered.forget(id);
    this.jobSettled(id);
  }
  /** Called when a job has ended or is idle: notifies the code and the turns that await it. */
  jobSettled(id: JobId): void {
    this.feed.notify(id);
    this.#core().watcher.jobEnded(id);
  }

  /** Called when a job has sent an input to a session. */
  inputAdded(id: SessionId): void {
    this.#core().watcher.inputAccepted(id);
  }

  // ── Cancelling ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Cancels a job for a turn that is stopped while it waits for the job. */
  async stop(id: JobId, reason: string): Promise<void> {
    await requestCancel(this.#core(), id, reason);
  }

  /** Called when a job was cancelled, in any process: passes the cancel on to its work in this process. */
  async cancelRequested(id: JobId, reason: string): Promise<void> {
    await this.#registered.call(id, reason);
    const runningJob = this.running.get(id);
    if (runningJob !== undefined) await runningJob.look();
    this.jobChanged(id, runningJob === undefined);
  }

  // ── Giving up ───────────────────────────────────────────────────────────────────────────────────────────────────

  /** job-worker-3: the job cannot run here: the store fails, the session cannot be opened, or the task is missing. */
  giveUp(job: RunningJob, error: unknown): void {
    if (job.isOver) return;
    this.trace("job.given-up", error, { job: job.id });
    if (job.record.recovery === "rerunnable") return this.giveBack(job, RETRY_MS, error);
    job.release(error);
    this.#retryUntilWritten(job.id, () => endOf(this.#core(), job, "failed", problemOf(error)));
  }

  /** Parks a task for `ms`. Then this process or another can claim it. */
  giveBack(job: RunningJob, ms = 0, reason: unknown = new RuntimeError("job.parked", { id: job.id })): void {
    job.release(reason);
    this.#retryUntilWritten(job.id, async () => {
      await this.#park(job, ms);
      this.kick();
    });
  }

  /** Records that the process released the job alive, so the claim does not count as a crash. */
  async #park({ lease }: RunningJob, ms: number): Promise<void> {
    const { store, world } = this.#core();
    const at = world.now();
    const event = { at, kind: "parked", due: at + ms } as const;
    const parks = { seen: Number.MAX_SAFE_INTEGER, due: at + ms };
    await store.jobs.append(lease, [{ key: `left/${lease.generation}`, event }], at, { parks });
  }

  /** Retries the write until it works, because otherwise the job would wait until this process ends. */
  #retryUntilWritten(id: JobId, write: () => Awaitable<unknown>): void {
    const { world } = this.#core();
    const attempt = async (): Promise<void> => {
      try {
        await write();
        this.jobChanged(id, true);
      } catch (error) {
        if (this.#isClosed || hasCode(error, "lease.lost")) return;
        this.trace("job.given-up", error, { job: id });
        await world.rest(POLL_MS.failedJob);
        await attempt();
      }
    };
    void attempt();
  }

  /** A session was deleted in this process, and its jobs with it. */
  sessionGone(id: SessionId): void {
    for (const job of this.running.values())
      if (job.record.sessionId === id) job.release(new RuntimeError("session.deleted", { id }));
    this.feed.notifyAll();
    this.#registered.sessionGone(id).catch((error: unknown) => this.trace("job.cancel", error, { session: id }));
  }

  /** Releases tasks to other processes. Functions get a grace period and are then abandoned. */
  async close(graceMs: number): Promise<void> {
    const { world, store, owner } = this.#core();
    this.#isClosed = true;
    this.feed.notifyAll();
    const isClaiming = this.#claiming !== undefined;
    await this.#claiming;
    if (this.running.size === 0 && !isClaiming) return;
    const timer = new AbortController();
    const inGrace = (left: Promise<unknown>): Promise<unknown> =>
      Promise.race([left, world.sleep(graceMs, timer.signal)]);
    const leaving = [...this.running.values()].map(async (job) => {
      if (job.leave !== undefined) {
        await inGrace(job.leave().catch((error: unknown) => this.trace("jobs.leave", error)));
        const isLeft = !job.isOver;
        job.release(new RuntimeError("runtime.closed", {}));
        if (isLeft) await this.#park(job, 0).catch((error: unknown) => this.trace("jobs.leave", error));
        return;
      }
      job.stop(new RuntimeError("runtime.closed", {}));
      await inGrace(job.over);
      if (!job.isOver)
        await job.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.jobAbandoned } }).catch(() => {});
    });
    await Promise.all(leaving);
    timer.abort();
    await Promise.resolve(store.jobs.leave(owner)).catch((error: unknown) => this.trace("jobs.leave", error));
  }

  trace(name: string, error: unknown, about: { readonly [key: string]: string } = {}): void {
    this.#core().trace(name, { problem: describeThrown(error), ...about });
  }
}
