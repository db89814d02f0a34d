// A job that runs in this process: its lease, what it has recorded, and what others send to it.
// Not its job: what the work is (`function.ts`, `task.ts`), which jobs run here and when (`desk.ts`).
// B1 What is written is written under the lease. When that is lost, nothing more is: the signal aborts, and what the work
//    still asks for never settles. Whoever has the job now does the same work.
// B2 A job ends once: the store refuses a second end.
// B3 Signals are received in the order of their events, each once. Which receive gets which is so the same in every run.
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import type { JobId, WaitId } from "../../model/ids.ts";
import type { JobEnd, JobError, JobEvent, JobRecord } from "../../model/job.ts";
import { describeThrown, type Json, toJson } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import { ToolError } from "../../model/tool.ts";
import type { WaitAnswer } from "../../model/wait.ts";
import type { ClaimedJob, JobAppended, JobLease, JobWrites, KeyedEvent, StoredJobEvent } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { endWake, type WakeInput, wakeInput } from "./wake.ts";

/** What the work asks for after its time never comes: an error would run its handlers, and they would act. */
export const forever = <T>(): Promise<T> => new Promise<T>(() => {});

/** What was thrown may be anything, also a proxy that throws when it is looked at. */
export function problemOf(error: unknown): JobError {
  try {
    // A task fails as an operation does; what it threw itself says more.
    const own = hasCode(error, "operation.failed") && error.cause !== undefined ? error.cause : error;
    if (own instanceof RuntimeError || own instanceof ToolError) return { code: own.code, message: own.message };
    if (own !== error) return { code: "job.failed", message: describeThrown(own) };
  } catch {
    // It is described below.
  }
  return { code: "job.failed", message: describeThrown(error) };
}

/** Work that every process can do, by the operation that its jobs name. It takes no place of a task. */
export interface BuiltIn {
  readonly [operation: string]: (core: Core, claimed: ClaimedJob) => BuiltInJob;
}
type BuiltInJob = HeldJob & { run(): Promise<void> };

export abstract class HeldJob {
  readonly core: Core;
  readonly lease: JobLease;
  record: JobRecord;
  /** How many events of the job are known here. */
  seq: number;
  /** It does not run here any more. */
  isOver = false;
  /** Made when it is first read: most jobs never read it, and there may be thousands. */
  #controller: AbortController | undefined;
  #reason: unknown;
  // These are made when they are needed: there may be thousands of jobs that never do.
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

  /** It does not run here any more. */
  protected ended(): void {}
  /** Of a task: waits for other jobs in a way that is recorded. */
  awaitJobs?(
    ids: readonly JobId[],
    need: "any" | "all",
    timeoutMs: number,
    load: () => Promise<readonly JobRecord[]>,
  ): Promise<readonly JobRecord[]>;
  /** Of work that can go on elsewhere: this process closes. What is not over after it is left to others. */
  leave?(): Promise<void>;
  /** It belongs to another session from now on. */
  protected abstract handedOver(): void;
  /** Something came: whoever waits for it in the work looks again. */
  protected abstract nudge(): void;

  // ── What others send ────────────────────────────────────────────────────────────────────────────────────────────

  /** Takes in events that are new here. */
  take(events: readonly StoredJobEvent[]): void {
    for (const { seq, event } of events) {
      if (seq <= this.seq) continue;
      this.seq = seq;
      this.learn(event);
    }
    this.nudge();
  }

  protected learn(event: JobEvent): void {
    if (event.kind === "signalled") {
      this.#signals ??= new Map();
      const before = this.#signals.get(event.name);
      if (before === undefined) this.#signals.set(event.name, [event.payload]);
      else before.push(event.payload);
    }
    if (event.kind === "resolved") (this.#answers ??= new Map()).set(event.wait, event.answer);
    if (event.kind === "transferred" && event.to !== this.record.sessionId) {
      this.record = { ...this.record, sessionId: event.to };
      this.handedOver();
    }
    if (event.kind === "cancelling")
      this.cancel(event.reason).catch((error) => this.core.background.jobs.giveUp(this, error));
    if (event.kind === "ended") this.letGo(new RuntimeError("job.over", { id: this.id, state: event.state }));
  }

  /** How a wait of the job was answered. */
  protected answerOf(wait: WaitId): WaitAnswer | undefined {
    return this.#answers?.get(wait);
  }

  /** Looks for events of others. */
  async look(): Promise<void> {
    if (!this.isOver) this.take(await this.core.store.jobs.events(this.id, this.seq));
  }

  /** Stops the work: it has a grace to end by itself. */
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

  /** Tells the work to stop; what it still returns is kept. */
  stop(reason: unknown): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
    this.nudge();
  }
  #onOver: (() => void)[] | undefined;
  /** Calls it when the job does not run here any more. */
  whenOver(tell: () => void): void {
    if (this.isOver) tell();
    else (this.#onOver ??= []).push(tell);
  }
  get over(): Promise<void> {
    return new Promise((resolve) => this.whenOver(resolve));
  }

  // ── What it writes ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes events, and returns what stands under their keys. Never settles when the job is not held any more (B1). */
  async write(events: readonly KeyedEvent[], more?: JobWrites): Promise<JobAppended> {
    if (this.isOver) return forever();
    const { store, world, background } = this.core;
    try {
      const answer = await store.jobs.append(this.lease, events, world.now(), more);
      if (answer.events.some(({ event }) => event.kind === "ended")) this.#over();
      else if (answer.seq > this.seq) await this.look();
      background.jobs.moved(this.id);
      if (more?.wakes !== undefined && more.wakes.length > 0) background.jobs.woke(this.record.sessionId);
      return answer;
    } catch (error) {
      if (hasCode(error, "lease.lost")) {
        this.letGo(error);
        return forever();
      }
      throw error;
    }
  }

  async transition(state: "running" | "idle"): Promise<void> {
    if (state !== "running" && state !== "idle")
      throw new RuntimeError("job.invalid", { problem: "a job is running or idle" });
    if (this.record.state === state) return;
    const { world } = this.core;
    await this.write([{ key: world.id("tra"), event: { at: world.now(), kind: "transitioned", state } }]);
    this.record = { ...this.record, state };
  }

  /** The input of a wake has the same id in every run, by its name: it is accepted once. */
  async wake(
    text: string,
    options: { readonly isNotice?: boolean | undefined } = {},
    name = `wake/${this.#wakes++}`,
  ): Promise<void> {
    await this.tell(wakeInput(this.core, this.record, name, text, options.isNotice === true));
  }
  protected async tell(input: WakeInput): Promise<void> {
    await this.write([], { wakes: [input], wakesMax: this.core.limits.jobWakesMax });
  }

  /** B2: what is returned in the grace of a cancel is kept as its result. */
  async end(state: JobEnd, how: { readonly result?: Json; readonly error?: JobError }): Promise<void> {
    const ended = { at: this.core.world.now(), kind: "ended", state, ...how } as const;
    await this.write([{ key: "end", event: ended }], await this.endWrites(ended));
  }
  /** What goes with its end. */
  protected endWrites(ended: Extract<JobEvent, { readonly kind: "ended" }>): Awaitable<JobWrites> {
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

  /** The work threw. After a cancel that is how it ends; a fault of the store leaves it to be tried again. */
  async failed(error: unknown): Promise<void> {
    if (this.isOver) return;
    if (passingFault(error, this.core.store) !== undefined) throw error;
    if (this.#isCancelling) return this.end("cancelled", {});
    // It stopped because its process goes: that is no failure of the work.
    if (hasCode(this.#reason, "runtime.closed"))
      return this.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.jobAbandoned } });
    await this.end("failed", { error: problemOf(error) });
  }

  // ── Its end here ────────────────────────────────────────────────────────────────────────────────────────────────

  #over(): void {
    this.isOver = true;
    this.ended();
    for (const tell of this.#onOver?.splice(0) ?? []) tell();
  }

  /** B1 */
  letGo(reason: unknown): void {
    if (this.isOver) return;
    this.#over();
    this.stop(reason);
  }

  /** Another process has, or had, the job. */
  lose(): void {
    this.letGo(new RuntimeError("lease.lost", { sessionId: this.id, generation: this.lease.generation }));
  }

  // ── Signals (B3) ────────────────────────────────────────────────────────────────────────────────────────────────

  /** A place in the line of this signal: its payload, once it is there. */
  protected nextSignal(name: string): () => Json | undefined {
    if (this.record.signals === undefined || !Object.hasOwn(this.record.signals, name))
      throw new RuntimeError("job.invalid", { problem: `it declares no signal ${JSON.stringify(name)}` });
    this.#received ??= new Map();
    const nth = this.#received.get(name) ?? 0;
    this.#received.set(name, nth + 1);
    return () => this.#signals?.get(name)?.[nth];
  }
}
