// A job whose work is a function: it is bound to this process, and abandoned when that is gone.
// Not its job: what every held job does (`held.ts`), which jobs run here (`desk.ts`).
import { AsyncLocalStorage } from "node:async_hooks";
import type { JobContext } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Json } from "../../model/json.ts";
import type { JobLease } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { SessionSite } from "../services/site.ts";
import type { LiveSession } from "../session/session.ts";
import { HeldJob } from "./held.ts";

export type Work = (job: JobContext) => Awaitable<unknown>;

export class FunctionJob extends HeldJob {
  readonly #plugin: string;
  readonly #work: Work;
  #nudged: PromiseWithResolvers<void> | undefined;
  #context: Context | undefined;

  constructor(core: Core, lease: JobLease, record: JobRecord, seq: number, plugin: string, work: Work) {
    super(core, lease, record, seq);
    this.#plugin = plugin;
    this.#work = work;
  }

  async run(): Promise<void> {
    const { jobs } = this.core;
    const { sessionId } = this.record;
    const session = await jobs.holdSession(sessionId);
    this.whenOver(() => jobs.letGoSession(sessionId));
    this.#context = new Context(this, session, this.#plugin);
    return new Promise((resolve, reject) => {
      this.whenOver(resolve); // Work that never ends is left alone.
      this.#done(this.#context as Context).catch(reject);
    });
  }

  async #done(context: Context): Promise<void> {
    let value: unknown;
    try {
      value = await this.#work(context);
    } catch (error) {
      return this.failed(error);
    }
    await this.completed(value);
  }

  /** Its services are those of the session that has it now, as long as it runs. */
  protected override handedOver(): void {
    const { jobs } = this.core;
    const { sessionId } = this.record;
    jobs.holdSession(sessionId).then(
      (session) => {
        this.#context?.moveTo(session);
        this.whenOver(() => jobs.letGoSession(sessionId));
      },
      (error: unknown) => jobs.giveUp(this, error),
    );
  }

  async receive(name: string): Promise<Json> {
    const next = this.nextSignal(name);
    for (;;) {
      const found = next();
      if (found !== undefined) return found;
      if (this.isStopped) throw this.signal.reason;
      this.#nudged ??= Promise.withResolvers();
      await this.#nudged.promise;
    }
  }

  protected override nudge(): void {
    this.#nudged?.resolve();
    this.#nudged = undefined;
  }
}

/** Services are made when they are first used: most jobs use few. */
class Context implements JobContext {
  readonly id: JobId;
  readonly #job: FunctionJob;
  #session: LiveSession;
  #made: SessionSite | undefined;
  readonly #plugin: string;

  constructor(job: FunctionJob, session: LiveSession, plugin: string) {
    this.id = job.id;
    this.#job = job;
    this.#session = session;
    this.#plugin = plugin;
  }

  moveTo(session: LiveSession): void {
    this.#session = session;
    this.#made = undefined;
  }
  get #site(): SessionSite {
    this.#made ??= new SessionSite(this.#session, undefined, this.#job, undefined, undefined, { id: this.id });
    return this.#made;
  }

  /** The session that has the job now: it may have been handed over. */
  get sessionId(): SessionId {
    return this.#job.record.sessionId;
  }
  get signal(): AbortSignal {
    return this.#job.signal;
  }
  get session() {
    return this.#site.service("session", this.#plugin);
  }
  get sessions() {
    return this.#site.service("sessions", this.#plugin);
  }
  get graph() {
    return this.#site.service("graph", this.#plugin);
  }
  get complete() {
    return this.#site.service("complete", this.#plugin);
  }
  get blobs() {
    return this.#site.service("blobs", this.#plugin);
  }
  get trace() {
    return this.#site.service("trace", this.#plugin);
  }
  get jobs() {
    return this.#site.service("jobs", this.#plugin);
  }
  // These return closures, because work often takes them off the context: `({ wake }) => …`.
  get receive(): JobContext["receive"] {
    return async <T extends Json>(signal: string) => (await this.#job.receive(signal)) as T;
  }
  get wake(): JobContext["wake"] {
    return (text, options) => this.#job.wake(text, options);
  }
  get transition(): JobContext["transition"] {
    return (state) => this.#job.transition(state);
  }
}

/** Runs code outside of the turn or operation that asked for it: a job is not part of what began it. */
export const outside = AsyncLocalStorage.snapshot();

export const requireWork = (work: unknown): Work => {
  if (typeof work !== "function") throw new RuntimeError("job.invalid", { problem: "its work is no function" });
  return work as Work;
};
