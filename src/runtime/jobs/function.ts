// A job that runs a function. The function exists only in this process, so the job is abandoned when the process dies.
// Not its job: what every running job does (`running-job.ts`), which jobs run here (`job-worker.ts`).
import { AsyncLocalStorage } from "node:async_hooks";
import type { JobContext, ServiceName, Services } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Json } from "../../model/json.ts";
import type { JobLease } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { ServiceContext } from "../services/service-context.ts";
import type { LiveSession } from "../session/session.ts";
import { RunningJob } from "./running-job.ts";

export type Work = (job: JobContext) => Awaitable<unknown>;

export class FunctionJob extends RunningJob {
  readonly #plugin: string;
  readonly #work: Work;
  #nudged: PromiseWithResolvers<void> | undefined;
  #context: Context | undefined;
  /** The sessions that are open for this job. */
  readonly #sessions: SessionId[] = [];

  constructor(core: Core, lease: JobLease, record: JobRecord, seq: number, plugin: string, work: Work) {
    super(core, lease, record, seq);
    this.#plugin = plugin;
    this.#work = work;
  }

  /**
   * Runs the work in one async function, because thousands of jobs can run. After the job has ended, the work is
   * ignored.
   */
  async run(): Promise<void> {
    const { jobs } = this.core.background;
    const { sessionId } = this.record;
    try {
      const session = await jobs.sessions.hold(sessionId);
      this.#sessions.push(sessionId);
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
    for (const id of this.#sessions.splice(0)) jobs.sessions.release(id);
    jobs.finished(this);
  }

  /** From now on the job uses the services of its new session. */
  protected override transferred(): void {
    const { jobs } = this.core.background;
    const { sessionId } = this.record;
    jobs.sessions.hold(sessionId).then(
      (session) => {
        this.#context?.moveTo(session);
        if (this.isOver) jobs.sessions.release(sessionId);
        else this.#sessions.push(sessionId);
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

  protected override notifyWaiters(): void {
    this.#nudged?.resolve();
    this.#nudged = undefined;
  }
}

type Methods = { readonly [method: string]: ((...given: readonly unknown[]) => unknown) | undefined };

/** Makes each service on first use, because most jobs use few. */
class Context implements JobContext {
  readonly id: JobId;
  readonly #job: FunctionJob;
  #session: LiveSession;
  #siteCache: ServiceContext | undefined;
  readonly #plugin: string;

  constructor(job: FunctionJob, session: LiveSession, plugin: string) {
    this.id = job.id;
    this.#job = job;
    this.#session = session;
    this.#plugin = plugin;
  }

  moveTo(session: LiveSession): void {
    this.#session = session;
    this.#siteCache = undefined;
  }
  get #callContext(): ServiceContext {
    this.#siteCache ??= new ServiceContext(this.#session, undefined, this.#job, undefined, undefined, {
      id: this.id,
      span: this.#job.span,
    });
    return this.#siteCache;
  }

  /**
   * A proxy, because work can store a service and use it after a transfer. It must then be the service of the new
   * session.
   */
  #lateBound<N extends ServiceName>(service: N): Services[N] {
    return new Proxy({} as Services[N], {
      get: (_, method) => {
        if (typeof method === "symbol" || method === "then") return undefined;
        return (...given: readonly unknown[]): unknown =>
          (this.#callContext.service(service, this.#plugin) as unknown as Methods)[method]?.(...given);
      },
    });
  }

  /** The current session of the job. A transfer changes it. */
  get sessionId(): SessionId {
    return this.#job.record.sessionId;
  }
  get signal(): AbortSignal {
    return this.#job.signal;
  }
  get session() {
    return this.#lateBound("session");
  }
  get sessions() {
    return this.#lateBound("sessions");
  }
  get graph() {
    return this.#lateBound("graph");
  }
  get complete() {
    return this.#lateBound("complete");
  }
  get blobs() {
    return this.#lateBound("blobs");
  }
  get trace() {
    return this.#lateBound("trace");
  }
  get jobs() {
    return this.#lateBound("jobs");
  }
  get triggers() {
    return this.#lateBound("triggers");
  }
  // Closures, because work often destructures the context: `({ wake }) => …`.
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

/** Runs code outside of the current turn or operation, because a job is not part of the turn that started it. */
export const outside = AsyncLocalStorage.snapshot();

export const requireWork = (work: unknown): Work => {
  if (typeof work !== "function") throw new RuntimeError("job.invalid", { problem: "its work must be a function" });
  return work as Work;
};
