// A job that runs a task of a plugin. Any process that has the plugin can resume it from its recorded steps.
// Not its job: tool calls (`call.ts`), what every running job does (`running-job.ts`), which jobs run here
// (`job-worker.ts`).
// task-1: A rerun runs the task from its beginning. A recorded step returns its value and does not run again. A step
//    has a name, or a number among its kind within the enclosing step. A rerun does not enter recorded steps, so
//    numbers must not depend on them.
// task-2: No outward effect starts after the lease has expired, because another process can have the job.
// task-3: A task that only waits (for time, jobs, signals or answers) is parked after a while, and leaves memory. Code
//    of the task that runs beside its waits outside of a step is lost and runs again.
// task-4: Changes of the session are stored once, when the task ends, in one change under the id of the job.
// task-5: A job fails after more than `resumesMax` starts in a row without a new event, because it probably crashes its
//    process.
import { AsyncLocalStorage } from "node:async_hooks";
import type { TaskJob } from "../../kernel/job-options.ts";
import { checkedInput, type OwnedOperation } from "../../kernel/operation.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { JobId, WaitId } from "../../model/ids.ts";
import type { JobEvent, JobRecord } from "../../model/job.ts";
import { bytesOver, frozen, type Json, toJson } from "../../model/json.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { ClaimedJob, NewWait } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { POLL_MS } from "../poller.ts";
import { type JobSteps, ServiceContext } from "../services/service-context.ts";
import { isChanging, keepTask, requireOperation, runTask } from "../session/operate.ts";
import type { LiveSession } from "../session/session.ts";
import { isSettled } from "./await.ts";
import { callTool } from "./call.ts";
import { forever, RunningJob } from "./running-job.ts";
import { OF_TRIGGER } from "./wake.ts";

/** The step in which the current code runs. */
interface CurrentStep {
  readonly job: TaskJobRun;
  readonly name: string;
  readonly outer: CurrentStep | undefined;
}
const currentStep = new AsyncLocalStorage<CurrentStep>();

/** What the task waits for. */
interface Waiting {
  /** When the wait ends at the latest. */
  readonly until?: number;
  /** The awaited jobs that were not settled at the last check. */
  jobs?: { readonly ids: readonly JobId[]; readonly need: "any" | "all" };
  /** No event in the store announces the end of this wait: it is polled, and the task is not parked. */
  isPolled?: boolean;
}

export class TaskJobRun extends RunningJob {
  readonly #steps = new Map<string, Json>();
  /** Steps that run now. A second caller waits for the same step. */
  readonly #making = new Map<string, Promise<Json>>();
  readonly #counts = new Map<string, number>();
  readonly #waits = new Set<Waiting>();
  #nudged = Promise.withResolvers<void>();
  /** The number of steps and tool calls that run now. */
  #active = 0;
  #isLeaving = false;
  #idle: AbortController | undefined;
  /**
   * Set while the store parks the task. No step starts before the store has answered, or two processes could do the
   * same step.
   */
  #parking: Promise<void> | undefined;
  /** Starts in a row without another event after them. */
  #startsWithoutProgress = 0;
  #stop!: () => void;
  /** Settles when the task is released. */
  readonly #released: Promise<void> = new Promise((resolve) => {
    this.#stop = resolve;
  });

  /** The steps of the code that runs in this job (`InJob`). */
  get steps(): JobSteps {
    return this;
  }

  constructor(core: Core, { lease, record, events }: ClaimedJob) {
    super(core, lease, record, 0);
    for (const { event } of events)
      this.#startsWithoutProgress = event.kind === "started" ? this.#startsWithoutProgress + 1 : 0;
    this.take(events);
  }

  /** Releases the task. It resumes in its new session from its steps. */
  protected override transferred(): void {
    if (this.#isRunning) this.core.background.jobs.giveBack(this);
  }
  #isRunning = false;

  protected override apply(event: JobEvent): void {
    if (event.kind === "stepped") this.#steps.set(event.name, frozen(event.value));
    super.apply(event);
  }

  async run(): Promise<void> {
    const { core, record } = this;
    this.#isRunning = true;
    if (this.isCancelling) return this.end("cancelled", {});
    if (this.#startsWithoutProgress > core.limits.resumesMax)
      return this.failed(new RuntimeError("job.crash-loop", { id: this.id, max: core.limits.resumesMax }));
    await core.sessions.using(record.sessionId, (session) => Promise.race([this.#runIn(session), this.#released]));
  }

  async #runIn(session: LiveSession): Promise<void> {
    try {
      const owned = this.#operation(session);
      if (owned === undefined) return;
      const input = checkedInput(owned, this.#inputFor(owned));
      const callContext = new ServiceContext(session, undefined, this, undefined, undefined, this);
      const ran = await runTask(session, owned, input, callContext, this.signal, this.#job(session, callContext));
      while (!this.#isReady) await this.#ready();
      if (isChanging(ran))
        await this.step("kept", async () => {
          await keepTask(session, owned, ran, { id: this.id, isOver: () => this.isOver });
          return null;
        });
      await this.completed(ran.output);
    } catch (error) {
      await this.failed(error);
    }
  }

  /**
   * The input for the task. A trigger passes its event to every task, but a task without an input schema must get none.
   */
  #inputFor({ operation }: OwnedOperation): Json | undefined {
    const isUnwanted = operation.spec.input === undefined && this.id.startsWith(`job_${OF_TRIGGER}`);
    return isUnwanted ? undefined : this.record.input;
  }

  /**
   * The task. If it is missing in this version of the plugin, another process can have it, so the job is parked for a
   * while.
   */
  #operation(session: LiveSession): OwnedOperation | undefined {
    try {
      return requireOperation(session, "task", this.record.operation ?? "");
    } catch (error) {
      if (!hasCode(error, "operation.unknown")) throw error;
      this.core.background.jobs.giveUp(this, error);
      return undefined;
    }
  }

  // ── Steps (task-1) ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** The name of the next step of a kind, in the step that runs now. */
  next(kind: string): string {
    const name = this.here(kind);
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    return `${name}/${nth}`;
  }

  /** A name in the step that runs now. */
  here(name: string): string {
    const at = this.#at;
    return at === undefined ? name : `${at.name}/${name}`;
  }
  get #at(): CurrentStep | undefined {
    const at = currentStep.getStore();
    return at?.job === this ? at : undefined;
  }

  /** Runs code as part of a step, so that unnamed steps are numbered within it. */
  inside<T>(name: string, run: () => T): T {
    return currentStep.run({ job: this, name, outer: this.#at }, run);
  }
  /** The same in the step that runs now, wherever it is called. */
  bound<T>(run: () => T): () => T {
    const at = this.#at;
    return at === undefined ? run : () => currentStep.run(at, run);
  }

  recorded(name: string): Json | undefined {
    return this.#steps.get(name);
  }

  /** Runs a step once. If `make` throws, this throws the same, and nothing is recorded. */
  step(name: string, make: () => Json | PromiseLike<Json>, waits?: (value: Json) => readonly NewWait[]): Promise<Json> {
    const known = this.#steps.get(name);
    if (known !== undefined) return Promise.resolve(known);
    const before = this.#making.get(name);
    for (let at = this.#at; before !== undefined && at !== undefined; at = at.outer)
      if (at.name === name)
        return Promise.reject(new RuntimeError("job.invalid", { problem: `the step ${name} waits for itself` }));
    if (before !== undefined) return before;
    const making = this.inside(name, () => this.#make(name, make, waits));
    this.#making.set(name, making);
    const done = (): boolean => this.#making.delete(name);
    making.then(done, done);
    return making;
  }

  async #make(
    name: string,
    make: () => Json | PromiseLike<Json>,
    waits?: (value: Json) => readonly NewWait[],
  ): Promise<Json> {
    if (this.isOver || this.#isLeaving) return forever();
    const { world, limits } = this.core;
    if (this.#steps.size >= limits.jobStepsMax) throw new RuntimeError("job.steps", { max: limits.jobStepsMax });
    this.#active++;
    try {
      while (!this.#isReady) await this.#ready();
      const found = toJson(await make());
      if ("problem" in found)
        throw new RuntimeError("job.invalid", {
          problem: `the step ${name} is not JSON: ${found.path}: ${found.problem}`,
        });
      const bytes = bytesOver(JSON.stringify(found.json), limits.resultBytesMax);
      if (bytes !== undefined)
        throw new RuntimeError("limit.bytes", { what: `The step ${name}`, bytes, max: limits.resultBytesMax });
      const event = { at: world.now(), kind: "stepped", name, value: found.json } as const;
      const rows = waits?.(found.json) ?? [];
      const { events } = await this.write([{ key: `step/${name}`, event }], rows.length === 0 ? {} : { waits: rows });
      const recorded = events[0]?.event;
      const value = frozen(recorded?.kind === "stepped" ? recorded.value : found.json);
      this.#steps.set(name, value);
      return value;
    } finally {
      this.#active--;
      this.#parkWhenIdle();
    }
  }

  /** task-2. Callers check it again after `#ready()`, because the process can have been suspended meanwhile. */
  get #isReady(): boolean {
    return this.#parking === undefined && this.core.background.jobs.isInTime && !this.isOver;
  }
  async #ready(): Promise<void> {
    await this.#parking;
    if (!this.core.background.jobs.isInTime) await this.core.background.jobs.renew();
    if (this.isOver) await forever();
  }

  /** Runs a tool call, which is not a step. The task is not parked while it runs. */
  async active<T>(run: () => Promise<T>): Promise<T> {
    if (this.isOver || this.#isLeaving) return forever();
    this.#active++;
    try {
      while (!this.#isReady) await this.#ready();
      return await run();
    } finally {
      this.#active--;
      this.#parkWhenIdle();
    }
  }

  // ── Waits (task-3) ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits until `look` returns a value. Returns undefined when the time has passed. */
  async wait<T>(waiting: Waiting, look: () => T | undefined | Promise<T | undefined>): Promise<T | undefined> {
    const { world } = this.core;
    this.#waits.add(waiting);
    try {
      for (;;) {
        if (this.isOver || this.#isLeaving) return await forever();
        const nudged = this.#nudged.promise;
        const found = await look();
        if (found !== undefined) return found;
        if (this.isStopped) throw this.signal.reason;
        const left = waiting.until === undefined ? Infinity : waiting.until - world.now();
        if (left <= 0) return undefined;
        this.#parkWhenIdle();
        const timer = new AbortController();
        const ms = waiting.isPolled === true ? Math.min(left, POLL_MS.subagent) : left;
        const due = ms === Infinity ? nudged : Promise.race([nudged, world.sleep(ms, timer.signal)]);
        await due.finally(() => timer.abort());
      }
    } finally {
      this.#waits.delete(waiting);
    }
  }

  answerTo(wait: WaitId, until: number): Promise<WaitAnswer | undefined> {
    return this.wait({ until }, () => this.answerOf(wait));
  }

  protected override notifyWaiters(): void {
    const { resolve } = this.#nudged;
    this.#nudged = Promise.withResolvers();
    resolve();
  }

  /** Parks the task at once if it only waits, because other tasks wait for its place. */
  makeRoom(): void {
    this.#parkWhenIdle();
  }

  /** Parks the task if it only waits for a while. */
  #parkWhenIdle(): void {
    this.#idle?.abort();
    this.#idle = undefined;
    if (this.#active > 0 || this.#waits.size === 0 || this.isOver || this.isCancelling) return;
    const { world, limits, background } = this.core;
    const idle = new AbortController();
    this.#idle = idle;
    const quietMs = background.jobs.isFull || this.#isLeaving ? 0 : limits.parkAfterMs;
    if (quietMs === Infinity) return;
    void world.rest(quietMs, idle.signal).then(() => {
      if (idle.signal.aborted || this.#parking !== undefined) return;
      this.#parking = this.#park()
        .catch((error: unknown) => background.jobs.giveUp(this, error))
        .finally(() => {
          this.#parking = undefined;
        });
    });
  }

  async #park(): Promise<void> {
    const { world, limits } = this.core;
    const waits = [...this.#waits];
    if (this.#active > 0 || waits.length === 0 || this.isOver || waits.some(({ isPolled: stays }) => stays)) return;
    const due = Math.min(...waits.map(({ until = Infinity }) => until));
    if (due - world.now() <= (this.core.background.jobs.isFull ? NAP_MS : Math.min(limits.parkAfterMs, SOON_MS)))
      return;
    const awaited = waits.flatMap(({ jobs }) => (jobs === undefined ? [] : [jobs]));
    const [first] = awaited;
    const need: "any" | "all" = waits.length === 1 && first?.need === "all" ? "all" : "any";
    const awaits = first && { jobs: awaited.flatMap(({ ids }) => ids), need };
    const when = due === Infinity ? {} : { due };
    const event = { at: world.now(), kind: "parked", ...when } as const;
    const parks = { seen: this.seq, ...when, ...(awaits === undefined ? {} : { awaits }) };
    const { isParked } = await this.write([{ key: `parked/${this.lease.generation}`, event }], { parks });
    if (isParked === true) return this.giveUp();
    await this.look();
    this.notifyWaiters();
  }

  /** Releases the parked task: its further requests never settle. */
  giveUp(): void {
    this.release(new RuntimeError("job.parked", { id: this.id }));
    this.#stop();
  }

  override release(reason: unknown): void {
    super.release(reason);
    this.#idle?.abort();
    this.#stop();
  }

  /** Starts no more steps, and settles when the running steps are recorded. */
  override async leave(): Promise<void> {
    this.#isLeaving = true;
    while (this.#active > 0 && !this.isOver) await this.core.world.sleep(5);
  }

  // ── What the task is given ──────────────────────────────────────────────────────────────────────────────────────

  #job(session: LiveSession, callContext: ServiceContext): TaskJob {
    const { world } = this.core;
    return {
      id: this.id,
      sleep: async (time) => {
        const name = this.next("sleep");
        const until = Number(await this.step(name, () => untilOf(time, world.now())));
        if (until > world.now()) await this.wait({ until }, () => undefined);
      },
      call: (tool, input) => callTool(this, session, callContext, tool, input),
      receive: async <T extends Json>(signal: string) => {
        if (this.#at !== undefined)
          // A rerun does not enter a recorded step, so the next receive would get the same signal again.
          throw new RuntimeError("job.invalid", { problem: "a step cannot receive a signal" });
        const next = this.nextSignal(signal);
        return (await this.wait({}, next)) as T;
      },
      wake: (text, options) => this.wake(text, options, this.next("wake")),
      transition: (state) => this.transition(state),
    };
  }

  /** Awaits other jobs as a recorded step. */
  override async awaitJobs(
    ids: readonly JobId[],
    need: "any" | "all",
    timeoutMs: number,
    load: () => Promise<readonly JobRecord[]>,
  ): Promise<readonly JobRecord[]> {
    const { world } = this.core;
    const name = this.next("await");
    const known = this.recorded(name);
    if (known !== undefined) return known as unknown as readonly JobRecord[];
    const until = world.now() + timeoutMs;
    const now = await load();
    const found = isMet(now, ids, need) ? now : await this.waitFor(ids, need, await this.#untilOf(name, until), load);
    return (await this.step(
      name,
      async () => (found ?? (await load())) as unknown as Json,
    )) as unknown as readonly JobRecord[];
  }

  /**
   * Waits for other jobs and returns their records; undefined when the time has passed. `ended` returns which turns have
   * ended. It is polled.
   */
  async waitFor(
    ids: readonly JobId[],
    need: "any" | "all",
    until: number,
    load: () => Promise<readonly JobRecord[]>,
    ended: () => Promise<readonly boolean[]> = async () => [],
  ): Promise<readonly JobRecord[] | undefined> {
    const watching = this.core.background.jobs.feed.watch(ids, () => this.notifyWaiters());
    this.#watching.add(watching);
    // Before the first check the awaited jobs are unknown: a task parked now would sleep until its time has passed.
    const waiting: Waiting = { until, isPolled: true };
    try {
      return await this.wait(waiting, async () => {
        const [records, others] = await Promise.all([load(), ended()]);
        const open = records.filter((record) => !isSettled(record));
        waiting.jobs = { ids: open.map(({ id }) => id), need };
        waiting.isPolled = others.includes(false) || open.some(({ kind }) => kind === "subagent");
        return isMet(records, ids, need, others) ? records : undefined;
      });
    } finally {
      watching.stop();
      this.#watching.delete(watching);
    }
  }
  /** Stops the watchers, because the code of a released task never reaches its `finally`. */
  protected override ended(): void {
    for (const watching of this.#watching) watching.stop();
    this.#watching.clear();
  }
  readonly #watching = new Set<{ stop(): void }>();

  /** A rerun waits no longer than the first run would have. */
  async #untilOf(name: string, until: number): Promise<number> {
    const recorded = await this.step(`${name}/until`, () => (until === Infinity ? null : until));
    return recorded === null ? Infinity : Number(recorded);
  }
}

/** Deleted jobs count as ended. */
const isMet = (
  records: readonly JobRecord[],
  ids: readonly JobId[],
  need: "any" | "all",
  others: readonly boolean[] = [],
): boolean =>
  need === "all"
    ? records.every(isSettled) && !others.includes(false)
    : records.length < ids.length || records.some(isSettled) || others.includes(true);

/** A task that continues within this time is not parked. `NAP_MS` counts while other tasks wait for a place. */
const SOON_MS = 1_000;
const NAP_MS = 50;

function untilOf(time: number | Date, now: number): number {
  const until = time instanceof Date ? time.getTime() : now + time;
  if (!Number.isFinite(until))
    throw new RuntimeError("job.invalid", { problem: "the time of a sleep must be a number of milliseconds" });
  return until;
}
