// A monitor that runs in this process: a job whose work is a shell command.
// Not its job: the command and its process group (`shell.ts`, `group.ts`), messages to the session (`notices.ts`), the
// service for plugins and apps (`service.ts`).
// monitor-run-1: A process that resumes the job first ends the process groups of all earlier runs, so that a command
//    never runs twice.
// monitor-run-2: The command starts only after its group is recorded. Until then the shell waits (`shell.ts`).
// monitor-run-3: When the job no longer runs here, for any reason, its command ends.
// monitor-run-4: Another process starts the command again only with `restarts`. Otherwise the job is abandoned.
import { randomUUID } from "node:crypto";
import type { CheckedMonitor } from "../../kernel/monitor.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import type { JobEvent } from "../../model/job.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { ClaimedJob, JobWrites } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { RunningJob } from "../jobs/running-job.ts";
import { endGroup, type Group, groupIn } from "./group.ts";
import { MonitorNotices } from "./notices.ts";
import { type Exit, Shell } from "./shell.ts";

const BEGUN = "begun/";
/**
 * Waits before a write and after it, so that a burst of lines is one write, together with the end of a short command.
 */
const BATCH_MS = 100;
const PACE_MS = 200;
/** How often the run checks for an acknowledgement while a message waits for it. */
const ACK_MS = 500;
const AGAIN_MS = 1_000;
/**
 * How long a killed command waits for a cancel event, because another process writes the event after it has killed the
 * command.
 */
const CANCEL_EVENT_MS = 1_000;

/** Defaults for specs of other versions, which can have other fields. */
const DEFAULTS = { command: "", timeoutMs: 300_000, isPersistent: false, restarts: false };

type CommandEnd = { readonly exit: Exit } | "timeout" | "stopped";

export class MonitorRun extends RunningJob {
  readonly #spec: CheckedMonitor;
  readonly #earlier: Group[] = [];
  readonly #notices: MonitorNotices;
  readonly #stopped = Promise.withResolvers<"stopped">();
  readonly #done = Promise.withResolvers<void>();
  #shell: Shell | undefined;
  #nap = new AbortController();
  #flushing: Promise<void> | undefined;
  #isRunning = false;
  /**
   * The command has ended. The last lines are written with the end of the job, without waiting for an acknowledgement.
   */
  #hasEnded = false;
  #isLeaving = false;

  constructor(core: Core, { lease, record, events }: ClaimedJob) {
    super(core, lease, record, 0);
    this.#spec = { ...DEFAULTS, label: record.label, wake: record.wake, ...(record.input as object) };
    this.#notices = new MonitorNotices(core, () => this.record, this.#spec);
    this.take(events);
  }

  protected override apply(event: JobEvent): void {
    if (event.kind === "stepped" && event.name.startsWith(BEGUN)) {
      const group = groupIn(event.value);
      if (group !== undefined && group.mark !== this.#mark) this.#earlier.push(group);
    }
    if (event.kind === "woke" && event.lost === undefined && !this.#isRunning) this.#notices.restoreSent(event.inputId);
    super.apply(event);
  }
  /** Contains a unique id, because another store on this machine can have a job with the same id. */
  get #mark(): string {
    return `${this.id}/${this.lease.generation}/${this.#uniqueId}`;
  }
  readonly #uniqueId = randomUUID();

  protected override transferred(): void {} // Messages go to the new session by themselves.
  protected override notifyWaiters(): void {
    if (this.isStopped) this.#stopped.resolve("stopped");
    this.#nap.abort();
  }
  /** monitor-run-3 */
  protected override ended(): void {
    this.#stopped.resolve("stopped");
    this.#shell?.end().catch((error: unknown) => this.#trace(error));
    this.core.background.jobs.finished(this);
  }

  // ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (const group of this.#earlier) await endGroup(group); // monitor-run-1
      const { lines } = await this.core.store.jobs.lines(this.id);
      this.#notices.resumeAfter(lines.at(-1)?.n ?? 0); // Also before an end without a restart, which adds a last line.
      if (typeof this.#spec.command !== "string" || this.#spec.command === "")
        throw new RuntimeError("monitor.failed", { problem: "it is missing or empty" });
      if (this.isCancelling) await this.end("cancelled", {});
      else if (this.#earlier.length > 0 && !this.#spec.restarts)
        await this.#abandon(); // monitor-run-4
      else await this.#watch();
    } catch (error) {
      if (hasCode(error, "monitor.failed")) await this.failed(error).catch((fault) => this.#giveUp(fault));
      else this.#giveUp(error);
    } finally {
      this.#done.resolve();
    }
  }
  #giveUp(error: unknown): void {
    this.core.background.jobs.giveUp(this, error);
  }

  async #watch(): Promise<void> {
    const { world } = this.core;
    const shell = await Shell.open(this.#spec, this.#mark, (channel, line) => {
      this.#notices.add(channel, line);
      this.#flush();
    });
    this.#shell = shell;
    if (this.isOver) return shell.end();
    if (this.#earlier.length > 0) this.#notices.add("note", TEXTS.monitorRestarted);
    const value = { leader: shell.group.leader, mark: shell.group.mark };
    const at = world.now();
    const name = `${BEGUN}${this.lease.generation}`;
    await this.write([{ key: name, event: { at, kind: "stepped", name, value } }]);
    if (!this.isStopped) shell.go(); // monitor-run-2
    this.#flush();
    const how = await this.#outcomeOf(shell);
    await shell.end();
    this.#hasEnded = true;
    this.#nap.abort();
    await this.#flushing;
    if (!this.isOver && !this.#isLeaving) await this.#retry(() => this.#conclude(how));
  }

  /** Retries after store errors, because only this process has the end of the command. */
  async #retry(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (this.isOver || this.#isLeaving || passingFault(error, this.core.store) === undefined) throw error;
      this.#trace(error);
      await this.core.world.rest(AGAIN_MS);
      await this.#retry(write);
    }
  }

  async #outcomeOf(shell: Shell): Promise<CommandEnd> {
    const { world } = this.core;
    const { isPersistent, timeoutMs } = this.#spec;
    const timer = new AbortController();
    const ends = [shell.exited.then((exit) => ({ exit })), this.#stopped.promise];
    if (isPersistent) return Promise.race(ends);
    // A restarted command has only the rest of its time.
    const left = (this.record.startedAt ?? world.now()) + timeoutMs - world.now();
    const timeout = world.rest(Math.max(0, left), timer.signal).then(() => "timeout" as const);
    return Promise.race([...ends, timeout]).finally(() => timer.abort());
  }

  async #conclude(how: CommandEnd): Promise<void> {
    if (typeof how === "object" && how.exit.signal !== undefined && !this.isStopped) {
      await this.look();
      if (!this.isStopped) await Promise.race([this.core.world.sleep(CANCEL_EVENT_MS), this.#stopped.promise]);
    }
    if (this.isOver || this.#isLeaving) return;
    if (this.isStopped) return this.#isAborted ? this.#abandon() : this.end("cancelled", this.#result());
    if (how === "timeout") return this.failed(new RuntimeError("monitor.timeout", { ms: this.#spec.timeoutMs }));
    const { code, signal } = (how as { readonly exit: Exit }).exit;
    if (code === 0) return this.end("completed", this.#result(0));
    const problem = code === undefined ? `it was ended by ${signal}` : `it ended with exit code ${code}`;
    const { message } = new RuntimeError("monitor.failed", { problem });
    await this.end("failed", { ...this.#result(code), error: { code: "monitor.failed", message } });
  }
  get #isAborted(): boolean {
    return hasCode(this.signal.reason, "runtime.closed");
  }

  #result(exitCode?: number): { readonly result: Json } {
    const { count: lines } = this.#notices;
    return { result: exitCode === undefined ? { lines } : { exitCode, lines } };
  }
  #abandon(): Promise<void> {
    return this.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.monitorAbandoned } });
  }

  /** The process closes: ends the command, and leaves a monitor with `restarts` to other processes. */
  override async leave(): Promise<void> {
    this.#isLeaving = true;
    this.stop(new RuntimeError("runtime.closed", {}));
    await this.#done.promise;
    if (!this.isOver && !this.#spec.restarts) await this.#abandon();
  }

  // ── Writing ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #flush(): void {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** Writes lines and messages until none are left. */
  async #flushAll(): Promise<void> {
    while (this.#notices.hasMore && !this.#isQuiet) {
      await this.#pause(BATCH_MS);
      if (this.#isQuiet) return; // The write with the end of the job has the rest.
      const isNew = this.#notices.hasLines;
      try {
        const writes = await this.#notices.nextWrites();
        if (writes !== undefined) await this.#writeLines(writes);
      } catch (error) {
        this.#trace(error); // A store error: the lines stay in memory until the next write.
        await this.#pause(ACK_MS);
      }
      if (this.#notices.hasMore) await this.#pause(isNew ? PACE_MS : ACK_MS);
    }
  }
  async #writeLines(writes: JobWrites): Promise<void> {
    await this.write([], writes);
    this.#notices.markWritten(writes);
  }

  async #pause(ms: number): Promise<void> {
    if (this.#nap.signal.aborted) this.#nap = new AbortController();
    if (!this.#isQuiet) await this.core.world.rest(ms, this.#nap.signal);
  }
  get #isQuiet(): boolean {
    return this.isStopped || this.isOver || this.#hasEnded;
  }

  /** The last lines, and a message of how the monitor ended. */
  protected override async endWrites(ended: Extract<JobEvent, { readonly kind: "ended" }>): Promise<JobWrites> {
    return this.#notices.lastWrites(ended);
  }

  #trace(error: unknown): void {
    this.core.trace("monitor", { problem: describeThrown(error), job: this.id });
  }
}
