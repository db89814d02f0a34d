// A job whose work is a function: it is bound to this process, and abandoned when that is gone.
// Not its job: what every held job does (`held.ts`), which jobs run here (`desk.ts`).
import { AsyncLocalStorage } from "node:async_hooks";
import type { JobContext, ServiceName, Services } from "../../kernel/services.ts";
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
  /** The sessions that are open for it. */
  readonly #held: SessionId[] = [];

  constructor(core: Core, lease: JobLease, record: JobRecord, seq: number, plugin: string, work: Work) {
    super(core, lease, record, seq);
    this.#plugin = plugin;
    this.#work = work;
  }

  /** Runs the work. One frame for all of it: there may be thousands. Work that never ends is left alone when it is over. */
  async run(): Promise<void> {
    const { jobs } = this.core.background;
    const { sessionId } = this.record;
    try {
      const session = await jobs.sessions.hold(sessionId);
      this.#held.push(sessionId);
      this.#context = new Context(this, session, this.#plugin);
      let value: unknown;
      try {
        value = await this.#work(this.#context);
      } catch (error) {
        return await this.failed(error);
      }
      await this.completed(value);
    } catch (error) {
      jobs.giveUp(this, error);
    }
  }

  protected override ended(): void {
    const { jobs } = this.core.background;
    for (const id of this.#held.splice(0)) jobs.sessions.letGo(id);
    jobs.finished(this);
  }

  /** Its services are those of the session that has it now, as long as it runs. */
  protected override handedOver(): void {
    const { jobs } = this.core.background;
    const { sessionId } = this.record;
    jobs.sessions.hold(sessionId).then(
      (session) => {
        this.#context?.moveTo(session);
        if (this.isOver) jobs.sessions.letGo(sessionId);
        else this.#held.push(sessionId);
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

type Methods = { readonly [method: string]: ((...given: readonly unknown[]) => unknown) | undefined };

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

  /** Work may take a service off the context and use it when the job was handed over: it is then that of the new session. */
  #late<N extends ServiceName>(service: N): Services[N] {
    return new Proxy({} as Services[N], {
      get: (_, method) => {
        if (typeof method === "symbol" || method === "then") return undefined;
        return (...given: readonly unknown[]): unknown =>
          (this.#site.service(service, this.#plugin) as unknown as Methods)[method]?.(...given);
      },
    });
  }

  /** The session that has the job now: it may have been handed over. */
  get sessionId(): SessionId {
    return this.#job.record.sessionId;
  }
  get signal(): AbortSignal {
    return this.#job.signal;
  }
  get session() {
    return this.#late("session");
  }
  get sessions() {
    return this.#late("sessions");
  }
  get graph() {
    return this.#late("graph");
  }
  get complete() {
    return this.#late("complete");
  }
  get blobs() {
    return this.#late("blobs");
  }
  get trace() {
    return this.#late("trace");
  }
  get jobs() {
    return this.#late("jobs");
  }
  get triggers() {
    return this.#late("triggers");
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
