// A job whose work is a task of a plugin: any process that has the plugin can go on with it, from its recorded steps.
// Not its job: tool calls (`call.ts`), what every held job does (`held.ts`), which jobs run here (`desk.ts`).
// T1 A rerun runs the task from its beginning; every step that is recorded gives its value and is not done again. Steps
//    are known by their names, and those without a name by their number among their kind, in the step that they are
//    made in: a rerun does not enter a step that is recorded, and must number those after it alike.
// T2 Nothing outward begins when the time of this process has lapsed: another one may have the job.
// T3 While the task only waits (sleeps, awaits jobs, signals or answers) it is given up after a while: nothing of it is
//    left in memory. Code of the task that runs beside its waits, and is no step, is then lost and runs again.
// T4 What the task changes in its session is kept at its end, in one change under the job's name: once.
// T5 A job that crashes its process again and again ends as failed.
import { AsyncLocalStorage } from "node:async_hooks";
import { checkedInput, type OwnedOperation } from "../../kernel/operation.ts";
import type { TaskJob } from "../../kernel/services.ts";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { JobId, WaitId } from "../../model/ids.ts";
import type { JobEvent, JobRecord } from "../../model/job.ts";
import { bytesOver, frozen, type Json, toJson } from "../../model/json.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { ClaimedJob, NewWait } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type JobSteps, SessionSite } from "../services/site.ts";
import { isChanging, keepTask, requireOperation, runTask } from "../session/operate.ts";
import type { LiveSession } from "../session/session.ts";
import { CHILD_MS, isSettled } from "./await.ts";
import { callTool } from "./call.ts";
import { forever, HeldJob } from "./held.ts";
import { OF_TRIGGER } from "./wake.ts";

/** The step in which the current code runs. */
interface Within {
  readonly job: TaskJobRun;
  readonly name: string;
  readonly outer: Within | undefined;
}
const within = new AsyncLocalStorage<Within>();

/** What the task waits for. */
interface Waiting {
  /** When it goes on at the latest. */
  readonly until?: number;
  /** Of the jobs that it waits for those that were not settled when they were looked at. */
  jobs?: { readonly ids: readonly JobId[]; readonly need: "any" | "all" };
  /** Nothing in the store would tell that it is over: it is looked at again and again, and not given up. */
  stays?: boolean;
}

export class TaskJobRun extends HeldJob {
  readonly #steps = new Map<string, Json>();
  /** Steps that are being made: a second caller waits for the same one. */
  readonly #making = new Map<string, Promise<Json>>();
  readonly #counts = new Map<string, number>();
  readonly #waits = new Set<Waiting>();
  #nudged = Promise.withResolvers<void>();
  /** Steps under way. */
  #active = 0;
  #isLeaving = false;
  #idle: AbortController | undefined;
  /** It is being given up. Nothing begins before the store has said whether it was: else it would be done here and elsewhere. */
  #parking: Promise<void> | undefined;
  /** Starts in a row after which nothing was recorded. */
  #loops = 0;
  #stop!: () => void;
  /** Settles when it is given up. */
  readonly #given: Promise<void> = new Promise((resolve) => {
    this.#stop = resolve;
  });

  /** It is where its own code runs, too (`InJob`). */
  get steps(): JobSteps {
    return this;
  }

  constructor(core: Core, { lease, record, events }: ClaimedJob) {
    super(core, lease, record, 0);
    for (const { event } of events) this.#loops = event.kind === "started" ? this.#loops + 1 : 0;
    this.take(events);
  }

  /** It goes on in the session that has it now, from its steps. */
  protected override handedOver(): void {
    if (this.#isRunning) this.core.background.jobs.giveBack(this);
  }
  #isRunning = false;

  protected override learn(event: JobEvent): void {
    if (event.kind === "stepped") this.#steps.set(event.name, frozen(event.value));
    super.learn(event);
  }

  async run(): Promise<void> {
    const { core, record } = this;
    this.#isRunning = true;
    if (this.isCancelling) return this.end("cancelled", {});
    if (this.#loops > core.limits.resumesMax)
      return this.failed(new RuntimeError("job.crash-loop", { id: this.id, max: core.limits.resumesMax }));
    await core.sessions.using(record.sessionId, (session) => Promise.race([this.#runIn(session), this.#given]));
  }

  async #runIn(session: LiveSession): Promise<void> {
    try {
      const owned = this.#operation(session);
      if (owned === undefined) return;
      const input = checkedInput(owned, this.#inputFor(owned));
      const site = new SessionSite(session, undefined, this, undefined, undefined, this);
      const ran = await runTask(session, owned, input, site, this.signal, this.#job(session, site));
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

  /** What happened is given to every task that a trigger starts, and not every one wants it. */
  #inputFor({ operation }: OwnedOperation): Json | undefined {
    const isUnwanted = operation.spec.input === undefined && this.id.startsWith(`job_${OF_TRIGGER}`);
    return isUnwanted ? undefined : this.record.input;
  }

  /** A task that is not here, though its plugin is, may be elsewhere: the job is left to others for a while. */
  #operation(session: LiveSession): OwnedOperation | undefined {
    try {
      return requireOperation(session, "task", this.record.operation ?? "");
    } catch (error) {
      if (!hasCode(error, "operation.unknown")) throw error;
      this.core.background.jobs.giveUp(this, error);
      return undefined;
    }
  }

  // ── Steps (T1) ──────────────────────────────────────────────────────────────────────────────────────────────────

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
  get #at(): Within | undefined {
    const at = within.getStore();
    return at?.job === this ? at : undefined;
  }

  /** Runs code as part of a step: what it does without a name is numbered there. */
  inside<T>(name: string, run: () => T): T {
    return within.run({ job: this, name, outer: this.#at }, run);
  }
  /** The same in the step that runs now, wherever it is called. */
  bound<T>(run: () => T): () => T {
    const at = this.#at;
    return at === undefined ? run : () => within.run(at, run);
  }

  recorded(name: string): Json | undefined {
    return this.#steps.get(name);
  }

  /** Does a step once. What `make` throws is thrown, and nothing is recorded. */
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
      const kept = events[0]?.event;
      const value = frozen(kept?.kind === "stepped" ? kept.value : found.json);
      this.#steps.set(name, value);
      return value;
    } finally {
      this.#active--;
      this.#rest();
    }
  }

  /** T2: looked at once more when it was not: the process may have slept meanwhile, and nothing may come in between. */
  get #isReady(): boolean {
    return this.#parking === undefined && this.core.background.jobs.isInTime && !this.isOver;
  }
  async #ready(): Promise<void> {
    await this.#parking;
    if (!this.core.background.jobs.isInTime) await this.core.background.jobs.renew();
    if (this.isOver) await forever();
  }

  /** Work that is no step, but may not be given up while it runs: a tool that is called. */
  async active<T>(run: () => Promise<T>): Promise<T> {
    if (this.isOver || this.#isLeaving) return forever();
    this.#active++;
    try {
      while (!this.#isReady) await this.#ready();
      return await run();
    } finally {
      this.#active--;
      this.#rest();
    }
  }

  // ── Waits (T3) ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Waits until `look` finds something, or its time is over: then undefined. */
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
        this.#rest();
        const timer = new AbortController();
        const ms = waiting.stays === true ? Math.min(left, CHILD_MS) : left;
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

  protected override nudge(): void {
    const { resolve } = this.#nudged;
    this.#nudged = Promise.withResolvers();
    resolve();
  }

  /** Others wait for its place. */
  makeRoom(): void {
    this.#rest();
  }

  /** Looks whether the task only waits, and gives it up when it does so for a while. */
  #rest(): void {
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
    if (this.#active > 0 || waits.length === 0 || this.isOver || waits.some(({ stays }) => stays)) return;
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
    this.nudge();
  }

  /** It does not run here any more: what it still asks for never settles. */
  giveUp(): void {
    this.letGo(new RuntimeError("job.parked", { id: this.id }));
    this.#stop();
  }

  override letGo(reason: unknown): void {
    super.letGo(reason);
    this.#idle?.abort();
    this.#stop();
  }

  /** Begins nothing more; settles when the steps under way are recorded. */
  override async leave(): Promise<void> {
    this.#isLeaving = true;
    while (this.#active > 0 && !this.isOver) await this.core.world.sleep(5);
  }

  // ── What the task is given ──────────────────────────────────────────────────────────────────────────────────────

  #job(session: LiveSession, site: SessionSite): TaskJob {
    const { world } = this.core;
    return {
      id: this.id,
      sleep: async (time) => {
        const name = this.next("sleep");
        const until = Number(await this.step(name, () => untilOf(time, world.now())));
        if (until > world.now()) await this.wait({ until }, () => undefined);
      },
      call: (tool, input) => callTool(this, session, site, tool, input),
      receive: async <T extends Json>(signal: string) => {
        if (this.#at !== undefined)
          // A rerun would not enter the step, and receive the same signal again.
          throw new RuntimeError("job.invalid", { problem: "a signal cannot be received inside of a step" });
        const next = this.nextSignal(signal);
        return (await this.wait({}, next)) as T;
      },
      wake: (text, options) => this.wake(text, options, this.next("wake")),
      transition: (state) => this.transition(state),
    };
  }

  /** Awaits other jobs; the records that were found are recorded. */
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
   * Waits for other jobs, and gives their records; undefined when its time is over. `ended` tells of what else it waits
   * for: that is looked at again and again.
   */
  async waitFor(
    ids: readonly JobId[],
    need: "any" | "all",
    until: number,
    load: () => Promise<readonly JobRecord[]>,
    ended: () => Promise<readonly boolean[]> = async () => [],
  ): Promise<readonly JobRecord[] | undefined> {
    const watching = this.core.background.jobs.feed.watch(ids, () => this.nudge());
    this.#watching.add(watching);
    // Until it was looked at nobody knows what would wake it: parked then, it would sleep until its time is over.
    const waiting: Waiting = { until, stays: true };
    try {
      return await this.wait(waiting, async () => {
        const [records, others] = await Promise.all([load(), ended()]);
        const open = records.filter((record) => !isSettled(record));
        waiting.jobs = { ids: open.map(({ id }) => id), need };
        waiting.stays = others.includes(false) || open.some(({ kind }) => kind === "subagent");
        return isMet(records, ids, need, others) ? records : undefined;
      });
    } finally {
      watching.stop();
      this.#watching.delete(watching);
    }
  }
  /** What is given up never comes to its end: its watchers are stopped here. */
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

/** Jobs that are not there any more are over. */
const isMet = (
  records: readonly JobRecord[],
  ids: readonly JobId[],
  need: "any" | "all",
  others: readonly boolean[] = [],
): boolean =>
  need === "all"
    ? records.every(isSettled) && !others.includes(false)
    : records.length < ids.length || records.some(isSettled) || others.includes(true);

/** What wakes as soon as this is not given up; and where others wait for its place. */
const SOON_MS = 1_000;
const NAP_MS = 50;

function untilOf(time: number | Date, now: number): number {
  const until = time instanceof Date ? time.getTime() : now + time;
  if (!Number.isFinite(until)) throw new RuntimeError("job.invalid", { problem: "it sleeps for no known time" });
  return until;
}
