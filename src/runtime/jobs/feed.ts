// Notifies code that waits for jobs. One read of the store's feed serves all waiting code for jobs of other processes.
import type { JobCursor, JobId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Core } from "../core.ts";

const PAGE = 256;
/** How often all waiting code is notified without a change, in case a job was deleted. */
const RECHECK_MS = 10_000;

export class JobFeed {
  readonly #core: () => Core;
  readonly #waiters = new Map<JobId, Set<() => void>>();
  /** The last change that was read; undefined before the first read. */
  #cursor: JobCursor | undefined;

  constructor(core: () => Core) {
    this.#core = core;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Calls `notify` when one of these jobs changes, until `stop`. */
  watch(ids: readonly JobId[], notify: (id: JobId) => void): { stop(): void } {
    const added = ids.map((id) => {
      const own = (): void => notify(id);
      const of = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, of.add(own));
      return [id, own] as const;
    });
    this.#core().watcher.attend();
    return {
      stop: () => {
        for (const [id, own] of added) {
          const of = this.#waiters.get(id);
          of?.delete(own);
          if (of?.size === 0) this.#waiters.delete(id);
        }
        this.#core().watcher.attended();
      },
    };
  }

  notify(id: JobId): void {
    for (const notify of this.#waiters.get(id) ?? []) notify();
  }

  notifyAll(): void {
    for (const id of [...this.#waiters.keys()]) this.notify(id);
  }

  /** Whether sessions and their jobs were deleted since the last check. */
  hasDeletions(gone: number): boolean {
    return gone !== this.#deletions;
  }

  /** Notifies all waiting code after a deletion, because the feed has no events of deleted jobs. */
  notifyDeletions(gone: number): void {
    const now = this.#core().world.now();
    if (gone === this.#deletions && now - this.#notifiedAllAt < RECHECK_MS) return;
    this.#deletions = gone;
    this.#notifiedAllAt = now;
    this.notifyAll();
  }
  #deletions = -1;
  #notifiedAllAt = 0;

  isBehind(latest: JobCursor | undefined): boolean {
    return latest !== undefined && latest !== this.#cursor;
  }

  /** Skips earlier changes, because no code waits for them. */
  skipTo(latest: JobCursor | undefined): void {
    this.#cursor = latest;
  }

  /**
   * Notifies waiting code of changes since the last read, and calls `changed` for each changed job. The first read has
   * no cursor, so it notifies all waiting code and reads the jobs in `of`.
   */
  async read(latest: JobCursor | undefined, of: readonly JobId[], changed: (record: JobRecord) => void): Promise<void> {
    const { store } = this.#core();
    if (this.#cursor === undefined) {
      this.#cursor = latest;
      this.notifyAll();
      for (const id of of) {
        const found = await store.jobs.load(id);
        if (found !== undefined) changed(found.record);
      }
      return;
    }
    for (;;) {
      const found = await store.jobs.changes(this.#cursor, { max: PAGE });
      for (const { record } of found) {
        this.notify(record.id);
        changed(record);
      }
      this.#cursor = found.at(-1)?.cursor ?? this.#cursor;
      if (found.length < PAGE) return;
    }
  }
}
