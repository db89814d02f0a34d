// Who here wants to know of jobs, and what the store tells of those that others run: one read of its feed for all.
import type { JobCursor, JobId } from "../../model/ids.ts";
import type { JobRecord } from "../../model/job.ts";
import type { Core } from "../core.ts";

const PAGE = 256;
/** How often everybody looks who watches a job. */
const GONE_MS = 10_000;

export class JobFeed {
  readonly #core: () => Core;
  readonly #waiters = new Map<JobId, Set<() => void>>();
  /** Up to here the feed is read; undefined before the first look. */
  #cursor: JobCursor | undefined;

  constructor(core: () => Core) {
    this.#core = core;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Calls `tell` when one of these jobs changes; `stop` ends that. */
  watch(ids: readonly JobId[], tell: (id: JobId) => void): { stop(): void } {
    const added = ids.map((id) => {
      const own = (): void => tell(id);
      const of = this.#waiters.get(id) ?? new Set();
      this.#waiters.set(id, of.add(own));
      return [id, own] as const;
    });
    this.#core().watch.attend();
    return {
      stop: () => {
        for (const [id, own] of added) {
          const of = this.#waiters.get(id);
          of?.delete(own);
          if (of?.size === 0) this.#waiters.delete(id);
        }
        this.#core().watch.attended();
      },
    };
  }

  notify(id: JobId): void {
    for (const tell of this.#waiters.get(id) ?? []) tell();
  }

  notifyAll(): void {
    for (const id of [...this.#waiters.keys()]) this.notify(id);
  }

  /** Whether sessions were deleted since the last look, and their jobs with them. */
  hasGone(gone: number): boolean {
    return gone !== this.#gone;
  }

  /** Nothing in the feed tells of jobs that are not there any more: those who watch look for themselves then. */
  tellOfGone(gone: number): void {
    const now = this.#core().world.now();
    if (gone === this.#gone && now - this.#toldAll < GONE_MS) return;
    this.#gone = gone;
    this.#toldAll = now;
    this.notifyAll();
  }
  #gone = -1;
  #toldAll = 0;

  isBehind(latest: JobCursor | undefined): boolean {
    return latest !== undefined && latest !== this.#cursor;
  }

  /** Nobody wants to know what happened until now. */
  pass(latest: JobCursor | undefined): void {
    this.#cursor = latest;
  }

  /**
   * Tells what happened since the last look, and calls `changed` for each job of which it tells. At the first one nobody
   * knows: whoever watches looks for himself, and jobs `of` interest are read.
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
