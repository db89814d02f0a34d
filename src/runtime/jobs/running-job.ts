// A job that runs in this process: its lease, its record, and the events that others send to it.
// Not its job: what the work is (`function.ts`, `task.ts`), which jobs run here and when (`job-worker.ts`).
// running-job-1: Every write needs the lease. When the lease is lost, the job writes nothing more: its signal aborts,
//    and further requests of the work never settle, because another process now does the same work.
// running-job-2: A job ends once: the store refuses a second end.
// running-job-3: Signals are received once each, in the order of their events. So every run receives the same signals
//    in the same order.
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import type { JobId, WaitId } from "../../model/ids.ts";
import type { JobEnd, JobError, JobEvent, JobRecord } from "../../model/job.ts";
import { defined, describeThrown, type Json, toJson } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import { ToolError } from "../../model/tool.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { ClaimedJob, JobAppended, JobLease, JobWrites, KeyedEvent, StoredJobEvent } from "../../stores/store.ts";
import type { JobSpan } from "../../telemetry/telemetry.ts";
import type { Core } from "../core.ts";
import { endWake, type WakeInput, wakeInput } from "./wake.ts";

/** The answer to work that has lost its job. It never settles, because an error would run the work's error handlers. */
export const forever = <T>(): Promise<T> => new Promise<T>(() => {});

/** The error of a job. `error` can be any value, even a proxy that throws on every access. */
export function problemOf(error: unknown): JobError {
  try {
    // A task fails with `operation.failed`. Its cause is what the task threw, and is more precise.
    const own = hasCode(error, "operation.failed") && error.cause !== undefined ? error.cause : error;
    if (own instanceof RuntimeError || own instanceof ToolError) return { code: own.code, message: own.message };
    if (own !== error) return { code: "job.failed", message: describeThrown(own) };
  } catch {
    // The value cannot be read: the generic error below describes it.
  }
  return { code: "job.failed", message: describeThrown(error) };
}

type Ended = Extract<JobEvent, { readonly kind: "ended" }>;

/** Work of the runtime itself, by the operation of its jobs. It does not count against `parallelJobsMax`. */
export interface BuiltIn {
  readonly [operation: string]: (core: Core, claimed: ClaimedJob) => BuiltInJob;
}
type BuiltInJob = RunningJob & { run(): Promise<void> };

export abstract class RunningJob {
  readonly core: Core;
  readonly lease: JobLease;
  /** For telemetry. */
  readonly span: JobSpan | undefined;
  record: JobRecord;
  /** The number of the job's events that this process has read. */
  seq: number;
  /** The job no longer runs here. */
  isOver = false;
  /** Made on first read, because most jobs never read the signal. */
  #controller: AbortController | undefined;
  #reason: unknown;
  // Made on first use, because thousands of jobs can run and most never need these.
  #signals: Map<string, Json[]> | undefined;
  #received: Map<string, number> | undefined;
  #answers: Map<WaitId, WaitAnswer> | undefined;
  #isCancelling = false;
  #wakes = 0;

  constructor(core: Core, lease: JobLease, record: JobRecord, seq: number) {
    this.core = core;
    this.lease = lease;
    this.record = record;
    this.seq = seq;
    this.span = core.telemetry?.job(record);
  }

  get id(): JobId {
    return this.record.id;
  }
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }
  get isStopped(): boolean {
    return this.#reason !== undefined;
  }

  /** Called when the job no longer runs here. */
  protected ended(): void {}
  /** For a task: awaits other jobs as a recorded step. */
  awaitJobs?(
    ids: readonly JobId[],
    need: "any" | "all",
    timeoutMs: number,
    load: () => Promise<readonly JobRecord[]>,
  ): Promise<readonly JobRecord[]>;
  /** For work that another process can resume: called when this process closes, before the job is parked. */
  leave?(): Promise<void>;
  /** Called when the job has moved to another session. */
  protected abstract transferred(): void;
  /** Called after new events: makes waiting code of the work check again. */
  protected abstract notifyWaiters(): void;

  // ── What others send ────────────────────────────────────────────────────────────────────────────────────────────

  /** Applies events that are new in this process. */
  take(events: readonly StoredJobEvent[]): void {
    for (const { seq, event } of events) {
      if (seq <= this.seq) continue;
      this.seq = seq;
      this.apply(event);
    }
    this.notifyWaiters();
  }

  protected apply(event: JobEvent): void {
    if (event.kind === "signalled") {
      this.#signals ??= new Map();
      const before = this.#signals.get(event.name);
      if (before === undefined) this.#signals.set(event.name, [event.payload]);
      else before.push(event.payload);
    }
    if (event.kind === "resolved") (this.#answers ??= new Map()).set(event.wait, event.answer);
    if (event.kind === "transferred" && event.to !== this.record.sessionId) {
      this.record = { ...this.record, sessionId: event.to };
      this.transferred();
    }
    if (event.kind === "cancelling")
      this.cancel(event.reason).catch((error) => this.core.background.jobs.giveUp(this, error));
    if (event.kind === "ended") this.release(new RuntimeError("job.over", { id: this.id, state: event.state }));
  }

  /** The answer to a wait of the job. */
  protected answerOf(wait: WaitId): WaitAnswer | undefined {
    return this.#answers?.get(wait);
  }

  /** Reads new events of other processes. */
  async look(): Promise<void> {
    if (!this.isOver) this.take(await this.core.store.jobs.events(this.id, this.seq));
  }

  /** Stops the work, which has a grace period to end. */
  async cancel(reason: string): Promise<void> {
    if (this.#isCancelling || this.isOver) return;
    this.#isCancelling = true;
    this.stop(new RuntimeError("job.cancelled", { id: this.id, reason }));
    const timer = new AbortController();
    const grace = this.core.world.sleep(this.core.limits.cancelGraceMs, timer.signal);
    await Promise.race([grace, this.over]).finally(() => timer.abort());
    if (!this.isOver) await this.end("cancelled", {});
  }
  get isCancelling(): boolean {
    return this.#isCancelling;
  }

  /** Aborts the signal of the work. A value that the work still returns is stored as its result. */
  stop(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    this.notifyWaiters();
  }
  #onOver: (() => void)[] | undefined;
  /** Calls `notify` when the job no longer runs here. */
  whenOver(notify: () => void): void {
    if (this.isOver) notify();
    else (this.#onOver ??= []).push(notify);
  }
  get over(): Promise<void> {
    return new Promise((resolve) => this.whenOver(resolve));
  }

  // ── What it writes ──────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Writes events, and returns the events that are stored under their keys. Never settles without the lease
   * (running-job-1).
   */
  async write(events: readonly KeyedEvent[], more?: JobWrites): Promise<JobAppended> {
    if (this.isOver) return forever();
    const { store, world, background } = this.core;
    try {
      const answer = await store.jobs.append(this.lease, events, world.now(), more);
      const end = answer.events.find(({ event }) => event.kind === "ended")?.event;
      if (end?.kind === "ended") this.#over(end);
      else if (answer.seq > this.seq) await this.look();
      background.jobs.jobChanged(this.id);
      if (more?.wakes !== undefined && more.wakes.length > 0) background.jobs.inputAdded(this.record.sessionId);
      return answer;
    } catch (error) {
      if (hasCode(error, "lease.lost")) {
        this.release(error);
        return forever();
      }
      throw error;
    }
  }

  async transition(state: "running" | "idle"): Promise<void> {
    if (state !== "running" && state !== "idle")
      throw new RuntimeError("job.invalid", { problem: "its state must be running or idle" });
    if (this.record.state === state) return;
    const { world } = this.core;
    await this.write([{ key: world.id("tra"), event: { at: world.now(), kind: "transitioned", state } }]);
    this.record = { ...this.record, state };
  }

  /** Sends a text to the session. Its name gives the input the same id in every run, so it is accepted once. */
  async wake(
    text: string,
    options: { readonly isNotice?: boolean | undefined } = {},
    name = `wake/${this.#wakes++}`,
  ): Promise<void> {
    await this.writeWake(wakeInput(this.core, this.record, name, text, options.isNotice === true));
  }
  protected async writeWake(input: WakeInput): Promise<void> {
    await this.write([], { wakes: [input], wakesMax: this.core.limits.jobWakesMax });
  }

  /** Writes the end of the job (running-job-2). */
  async end(state: JobEnd, how: { readonly result?: Json; readonly error?: JobError }): Promise<void> {
    const ended = { at: this.core.world.now(), kind: "ended", state, ...how } as const;
    await this.write([{ key: "end", event: ended }], await this.endWrites(ended));
  }
  /** What the store writes together with the end. */
  protected endWrites(ended: Ended): Awaitable<JobWrites> {
    const { limits } = this.core;
    const wake = endWake(this.core, this.record, ended);
    return wake === undefined ? {} : { wakes: [wake], wakesMax: limits.jobWakesMax + 1 };
  }

  async completed(value: unknown): Promise<void> {
    const found = toJson(value ?? null);
    const problem =
      "problem" in found ? `its result is not JSON: ${found.path}: ${found.problem}` : this.#tooLarge(found.json);
    if (problem !== undefined) return this.failed(new RuntimeError("job.failed", { id: this.id, problem }));
    const how = "json" in found && found.json !== null ? { result: found.json } : {};
    await this.end(this.#isCancelling ? "cancelled" : "completed", how);
  }
  #tooLarge(json: Json): string | undefined {
    const max = this.core.limits.resultBytesMax;
    return JSON.stringify(json).length > max ? `its result has more than ${max} bytes` : undefined;
  }

  /**
   * Ends a job whose work threw. After a cancel the job is cancelled. After a store error this throws, so that the job
   * is retried.
   */
  async failed(error: unknown): Promise<void> {
    if (this.isOver) return;
    if (passingFault(error, this.core.store) !== undefined) throw error;
    if (this.#isCancelling) return this.end("cancelled", {});
    // The work stopped because its process closes, which is not a failure of the work.
    if (hasCode(this.#reason, "runtime.closed"))
      return this.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.jobAbandoned } });
    await this.end("failed", { error: problemOf(error) });
  }

  // ── Its end here ────────────────────────────────────────────────────────────────────────────────────────────────

  #over(end?: Ended): void {
    this.isOver = true;
    if (this.span !== undefined)
      this.core.telemetry?.hub.end(this.span, defined({ state: end?.state, error: end?.error }));
    this.ended();
    for (const notify of this.#onOver?.splice(0) ?? []) notify();
  }

  /** running-job-1 */
  release(reason: unknown): void {
    if (this.isOver) return;
    this.#over();
    this.stop(reason);
  }

  /** Another process has claimed the job, or the job was deleted. */
  leaseLost(): void {
    this.release(new RuntimeError("lease.lost", { sessionId: this.id, generation: this.lease.generation }));
  }

  // ── Signals (running-job-3) ────────────────────────────────────────────────────────────────────────────────────────

  /** Reserves the next signal of this name. The result returns its payload, or undefined until it arrives. */
  protected nextSignal(name: string): () => Json | undefined {
    if (this.record.signals === undefined || !Object.hasOwn(this.record.signals, name))
      throw new RuntimeError("job.invalid", { problem: `it does not declare the signal ${JSON.stringify(name)}` });
    this.#received ??= new Map();
    const nth = this.#received.get(name) ?? 0;
    this.#received.set(name, nth + 1);
    return () => this.#signals?.get(name)?.[nth];
  }
}
