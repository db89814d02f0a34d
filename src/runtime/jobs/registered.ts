import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { JobId, SessionId } from "../../model/ids.ts";
import { isOver, type JobRecord } from "../../model/job.ts";
import { describeThrown } from "../../model/json.ts";
import type { Core } from "../core.ts";

export type OnCancel = (reason: string) => Awaitable<unknown>;

/** The registered jobs of this process. Each has a function that is called when any process cancels the job. */
export class Registered {
  readonly #core: () => Core;
  readonly #calls = new Map<JobId, OnCancel>();

  constructor(core: () => Core) {
    this.#core = core;
  }

  get size(): number {
    return this.#calls.size;
  }
  get ids(): readonly JobId[] {
    return [...this.#calls.keys()];
  }

  add(id: JobId, call: OnCancel): void {
    this.#calls.set(id, call);
    this.#core().watcher.attend();
  }

  forget(id: JobId): void {
    this.#calls.delete(id);
  }

  /** Called when a job has changed, in any process. */
  changed(record: JobRecord): void {
    const { id, cancel } = record;
    if (!this.#calls.has(id)) return;
    if (cancel !== undefined)
      void this.#core().background.jobs.cancelRequested(id, cancel.reason).catch(this.#trace(id));
    else if (isOver(record)) this.forget(id);
  }

  /**
   * Calls the function and waits a grace period at most, so that a function that never returns does not block the
   * cancel.
   */
  async call(id: JobId, reason: string): Promise<void> {
    const { world, limits } = this.#core();
    const call = this.#calls.get(id);
    this.forget(id);
    if (call === undefined) return;
    const called = Promise.resolve()
      .then(() => call(reason))
      .catch(this.#trace(id));
    const timer = new AbortController();
    await Promise.race([called, world.sleep(limits.cancelGraceMs, timer.signal)]).finally(() => timer.abort());
  }

  /** Called when a session was deleted: calls the functions of jobs that no longer exist. */
  async sessionGone(session: SessionId): Promise<void> {
    const { message } = new RuntimeError("session.deleted", { id: session });
    for (const id of this.ids) if ((await this.#core().store.jobs.load(id)) === undefined) await this.call(id, message);
  }

  #trace(id: JobId): (error: unknown) => void {
    return (error) => this.#core().trace("job.cancel", { problem: describeThrown(error), job: id });
  }
}
