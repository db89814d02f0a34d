// How jobs begin in one process: the request, the row in the store, and then the work that runs here.
// Not its job: claiming, cancelling and ending jobs (`job-worker.ts`).
// job-starts-1: Work starts only after the store has the row of its job, or a crash would lose running work. Jobs of an
//    effect wait here until the host has written the effect's answer.
import type { JobId, TurnId } from "../../model/ids.ts";
import { isOver, type JobRecord, type NewJob } from "../../model/job.ts";
import type { JobSpawn, StoredJob } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { FunctionJob, type Work } from "./function.ts";
import type { JobWorker } from "./job-worker.ts";
import type { OnCancel, Registered } from "./registered.ts";

/** A job that is about to start, and the work that this process runs for it. */
export interface Spawning {
  readonly job: NewJob;
  readonly plugin: string;
  /** The caller chose the id, so the job can already exist. */
  readonly isNamed?: boolean;
  readonly work?: Work;
  /** Called here when a registered job is cancelled. */
  readonly cancel?: OnCancel;
}

export class JobStarts {
  readonly #worker: JobWorker;
  readonly #core: () => Core;
  readonly #registered: Registered;
  /** job-starts-1 */
  readonly unbegun = new Map<JobId, Spawning & { readonly turnId?: TurnId }>();

  constructor(worker: JobWorker, core: () => Core, registered: Registered) {
    this.#worker = worker;
    this.#core = core;
    this.#registered = registered;
  }

  /** Keeps a job that an effect of this turn answers with. `begin` starts it when the answer is recorded. */
  toBegin(turnId: TurnId, spawning: Spawning): void {
    this.unbegun.set(spawning.job.id, { ...spawning, turnId });
  }

  /** The same in the form of the store. */
  spawnsOf(spawning: readonly Spawning[]): readonly JobSpawn[] {
    const { owner } = this.#core();
    return spawning.map(({ job }) => (job.recovery === "owner-bound" ? { job, owner } : { job }));
  }

  /** Starts jobs that the change of an operation has written. */
  beginAll(spawning: readonly Spawning[]): void {
    for (const each of spawning) this.unbegun.set(each.job.id, each);
    this.begin(spawning.map(({ job }) => job));
  }

  /** Writes and starts a job at once. Throws `session.unknown`, `job.conflict` and `job.full`. */
  async spawn(spawning: Spawning): Promise<StoredJob> {
    if (spawning.isNamed !== true) return this.#spawn(spawning, true);
    const { id } = spawning.job;
    const named = this.#spawnNamed(spawning, this.#namedSpawns.get(id));
    this.#namedSpawns.set(id, named);
    return named.finally(() => {
      if (this.#namedSpawns.get(id) === named) this.#namedSpawns.delete(id);
    });
  }
  /** Two calls with one id run one after the other, so that only the first runs the work. */
  readonly #namedSpawns = new Map<JobId, Promise<StoredJob>>();

  async #spawnNamed(spawning: Spawning, before: Promise<StoredJob> | undefined): Promise<StoredJob> {
    await before?.catch(() => {});
    const { job } = spawning;
    const found = await this.#core().store.jobs.load(job.id);
    const { parent } = found?.record ?? {};
    // A task that was transferred finds the jobs that it started, because they stay in the old session.
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

  /** Whether this process owns the job: another process can have started one with the same id just before. */
  async #isOurs(id: JobId): Promise<boolean> {
    const { store, owner, world } = this.#core();
    return (await store.jobs.renew(owner, world.now())).changed.some(({ jobId }) => jobId === id);
  }

  /** Starts jobs whose rows are in the store. */
  begin(jobs: readonly NewJob[]): void {
    for (const job of jobs) {
      const spawning = this.unbegun.get(job.id);
      this.unbegun.delete(job.id);
      if (spawning?.cancel !== undefined) this.#registered.add(job.id, spawning.cancel);
      if (spawning?.work !== undefined) this.#beginWork(job, spawning.plugin, spawning.work);
      else if (job.recovery === "rerunnable") {
        const { watcher, world } = this.#core();
        const ms = (job.notBefore ?? 0) - world.now();
        if (ms <= 0) this.#worker.kick();
        watcher.attend(ms <= 0 ? undefined : ms);
      }
      this.#worker.jobChanged(job.id);
    }
  }

  /** The turn has ended or was lost: its jobs that are not in the store never start. */
  turnEnded(turnId: TurnId): void {
    this.#dropUnstarted(turnId).catch((error: unknown) => this.#worker.trace("job.begin", error, { turn: turnId }));
  }

  async #dropUnstarted(turnId: TurnId): Promise<void> {
    const { store, owner, world } = this.#core();
    for (const job of this.#worker.running.values()) {
      const { parent, onParentEnd } = job.record;
      if (onParentEnd === "cancel" && parent !== undefined && "turnId" in parent && parent.turnId === turnId)
        await job.look(); // The commit has written a cancel for it.
    }
    const left = [...this.unbegun.values()].filter((each) => each.turnId === turnId);
    if (left.length === 0) return;
    // The store can have recorded the answer and then failed to confirm it. Or another process has the turn and its
    // jobs. Or the jobs have ended with their turn.
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
    this.#worker.run(new FunctionJob(core, lease, record, 2, plugin, work));
  }
}
