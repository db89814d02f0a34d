// A monitor that runs in this process: a job whose work is a shell command.
// Not its job: the command and its group (`shell.ts`, `group.ts`), what the session is told and when (`telling.ts`), what
// plugins and apps call (`service.ts`).
// M1 Whoever goes on with the job ends the groups of all earlier runs first: a command never runs twice beside itself.
// M2 The command begins when its group is recorded, and not before: it waits behind a gate.
// M3 When the job does not run here any more, for whatever reason, its command ends.
// M4 It is started again in another process only if that was asked for; else the job is abandoned.
import { randomUUID } from "node:crypto";
import type { CheckedMonitor } from "../../kernel/monitor.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import type { JobEvent } from "../../model/job.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import { TEXTS } from "../../model/texts.ts";
import type { ClaimedJob, JobWrites } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { HeldJob } from "../jobs/held.ts";
import { endGroup, type Group, groupIn } from "./group.ts";
import { type Exit, Shell } from "./shell.ts";
import { Telling } from "./telling.ts";

const BEGUN = "begun/";
/** Lines that come in a burst are written together, with the end of a command that is soon over, and no more often than this. */
const BATCH_MS = 100;
const PACE_MS = 200;
/** How often it is looked whether the session has taken in what it was told, while there is more to tell. */
const ACK_MS = 500;
const AGAIN_MS = 1_000;
/** A command that somebody else killed may have been cancelled: the word of it comes a moment later. */
const WORD_MS = 1_000;

/** A later version may have stored more than is known here, or less: what can be run is. */
const DEFAULTS = { command: "", timeoutMs: 300_000, isPersistent: false, restarts: false };

type How = { readonly exit: Exit } | "timeout" | "stopped";

export class MonitorRun extends HeldJob {
  readonly #spec: CheckedMonitor;
  readonly #earlier: Group[] = [];
  readonly #telling: Telling;
  readonly #stopped = Promise.withResolvers<"stopped">();
  readonly #done = Promise.withResolvers<void>();
  #shell: Shell | undefined;
  #nap = new AbortController();
  #flushing: Promise<void> | undefined;
  #isRunning = false;
  /** The command has: what is left to tell goes with the end of the job, and does not wait for the session. */
  #hasEnded = false;
  #isLeaving = false;

  constructor(core: Core, { lease, record, events }: ClaimedJob) {
    super(core, lease, record, 0);
    this.#spec = { ...DEFAULTS, label: record.label, wake: record.wake, ...(record.input as object) };
    this.#telling = new Telling(core, () => this.record, this.#spec);
    this.take(events);
  }

  protected override learn(event: JobEvent): void {
    if (event.kind === "stepped" && event.name.startsWith(BEGUN)) {
      const group = groupIn(event.value);
      if (group !== undefined && group.mark !== this.#mark) this.#earlier.push(group);
    }
    if (event.kind === "woke" && event.lost === undefined && !this.#isRunning) this.#telling.told(event.inputId);
    super.learn(event);
  }
  /** With something of its own: another store on this machine may have a job of the same id. */
  get #mark(): string {
    return `${this.id}/${this.lease.generation}/${this.#own}`;
  }
  readonly #own = randomUUID();

  protected override handedOver(): void {} // What it tells goes to the session that has it.
  protected override nudge(): void {
    if (this.isStopped) this.#stopped.resolve("stopped");
    this.#nap.abort();
  }
  /** M3 */
  protected override ended(): void {
    this.#stopped.resolve("stopped");
    this.#shell?.end().catch((error: unknown) => this.#trace(error));
    this.core.background.jobs.finished(this);
  }

  // ── Running ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async run(): Promise<void> {
    this.#isRunning = true;
    try {
      for (const group of this.#earlier) await endGroup(group); // M1
      const { lines } = await this.core.store.jobs.lines(this.id);
      this.#telling.goOnAfter(lines.at(-1)?.n ?? 0); // Also for the last word of one that is not started again.
      if (typeof this.#spec.command !== "string" || this.#spec.command === "")
        throw new RuntimeError("monitor.failed", { problem: "there is none" });
      if (this.isCancelling) await this.end("cancelled", {});
      else if (this.#earlier.length > 0 && !this.#spec.restarts)
        await this.#abandon(); // M4
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
      this.#telling.hear(channel, line);
      this.#flush();
    });
    this.#shell = shell;
    if (this.isOver) return shell.end();
    if (this.#earlier.length > 0) this.#telling.hear("note", TEXTS.monitorRestarted);
    const value = { leader: shell.group.leader, mark: shell.group.mark };
    const at = world.now();
    const name = `${BEGUN}${this.lease.generation}`;
    await this.write([{ key: name, event: { at, kind: "stepped", name, value } }]);
    if (!this.isStopped) shell.go(); // M2
    this.#flush();
    const how = await this.#until(shell);
    await shell.end();
    this.#hasEnded = true;
    this.#nap.abort();
    await this.#flushing;
    if (!this.isOver && !this.#isLeaving) await this.#insist(() => this.#conclude(how));
  }

  /** How a command ended is not known to anybody else: a fault of the store must not make it another end. */
  async #insist(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (this.isOver || this.#isLeaving || passingFault(error, this.core.store) === undefined) throw error;
      this.#trace(error);
      await this.core.world.rest(AGAIN_MS);
      await this.#insist(write);
    }
  }

  async #until(shell: Shell): Promise<How> {
    const { world } = this.core;
    const { isPersistent, timeoutMs } = this.#spec;
    const timer = new AbortController();
    const ends = [shell.exited.then((exit) => ({ exit })), this.#stopped.promise];
    if (isPersistent) return Promise.race(ends);
    // A command that is started again has what is left of its time.
    const left = (this.record.startedAt ?? world.now()) + timeoutMs - world.now();
    const timeout = world.rest(Math.max(0, left), timer.signal).then(() => "timeout" as const);
    return Promise.race([...ends, timeout]).finally(() => timer.abort());
  }

  async #conclude(how: How): Promise<void> {
    if (typeof how === "object" && how.exit.signal !== undefined && !this.isStopped) {
      await this.look();
      if (!this.isStopped) await Promise.race([this.core.world.sleep(WORD_MS), this.#stopped.promise]);
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
    const { count: lines } = this.#telling;
    return { result: exitCode === undefined ? { lines } : { exitCode, lines } };
  }
  #abandon(): Promise<void> {
    return this.end("abandoned", { error: { code: "job.abandoned", message: TEXTS.monitorAbandoned } });
  }

  /** Its process closes: the command ends, and what is to be restarted is left to others. */
  override async leave(): Promise<void> {
    this.#isLeaving = true;
    this.stop(new RuntimeError("runtime.closed", {}));
    await this.#done.promise;
    if (!this.isOver && !this.#spec.restarts) await this.#abandon();
  }

  // ── Telling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #flush(): void {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** Writes what was printed, and tells the session, until there is nothing left to write and to tell. */
  async #flushAll(): Promise<void> {
    while (this.#telling.hasMore && !this.#isQuiet) {
      await this.#rest(BATCH_MS);
      if (this.#isQuiet) return; // The end of the job carries the rest.
      const isNew = this.#telling.hasLines;
      try {
        const writes = await this.#telling.next();
        if (writes !== undefined) await this.#say(writes);
      } catch (error) {
        this.#trace(error); // A fault of the store: what was printed is kept, and written with what comes next.
        await this.#rest(ACK_MS);
      }
      if (this.#telling.hasMore) await this.#rest(isNew ? PACE_MS : ACK_MS);
    }
  }
  async #say(writes: JobWrites): Promise<void> {
    await this.write([], writes);
    this.#telling.wrote(writes);
  }

  async #rest(ms: number): Promise<void> {
    if (this.#nap.signal.aborted) this.#nap = new AbortController();
    if (!this.#isQuiet) await this.core.world.rest(ms, this.#nap.signal);
  }
  get #isQuiet(): boolean {
    return this.isStopped || this.isOver || this.#hasEnded;
  }

  /** The end of the job carries the last lines, and one word of it. */
  protected override async endWrites(ended: Extract<JobEvent, { readonly kind: "ended" }>): Promise<JobWrites> {
    return this.#telling.last(ended);
  }

  #trace(error: unknown): void {
    this.core.trace("monitor", { problem: describeThrown(error), job: this.id });
  }
}
