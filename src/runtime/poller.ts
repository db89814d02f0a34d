// When this process polls the store for changes of other processes. With a store that sends hints most polls are
// unnecessary. They stay, because a hint can be lost.
import type { Clock } from "./world.ts";

/** All polling intervals, in milliseconds. A shorter interval finds changes sooner and costs more queries. */
export const POLL_MS = {
  /** Due work of any session: turns to resume, jobs, schedules. */
  agenda: 1_000,
  /** The same, while a handle here waits for a turn that another process runs, or for an input without a turn. */
  awaitedTurn: 250,
  /** Between two looks that hints cause. */
  hinted: 100,
  /** The next turn of one session: after the store failed, and while another process has the session. */
  session: 250,
  /** Facts, for readers of sessions. */
  facts: 250,
  /** Previews of turns in other processes: while they arrive, with hints, after a quiet time, and while the turn is parked. */
  previews: 200,
  hintedPreviews: 1_000,
  quietPreviews: 1_000,
  parkedPreviews: 5_000,
  /** A subagent that a job waits for, because its session has facts about turns, not about the job. */
  subagent: 250,
  /** A job that was cancelled, until it has ended. */
  cancelledJob: 500,
  /** A job that could not be claimed, renewed or given back, because the store failed. */
  failedJob: 1_000,
} as const;

/** The longest interval of a timer that does nothing but keep the process alive. */
export const HOLD_MS = 2_147_483_647;

/** Calls `look` at the earliest requested time. A look requests the next one itself. */
export class Poller {
  readonly #clock: () => Clock;
  readonly #look: () => Promise<unknown>;
  #pause: AbortController | undefined;
  #dueAt = Infinity;
  #hold: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `look` handles its own errors. */
  constructor(clock: () => Clock, look: () => Promise<unknown>) {
    this.#clock = clock;
    this.#look = look;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Requests a look within `ms`. `isHeld`: the process stays alive until then. */
  soonest(ms: number, isHeld = false): void {
    if (this.#isClosed) return;
    const clock = this.#clock();
    const dueAt = clock.now() + ms;
    if (dueAt >= this.#dueAt) return;
    this.#pause?.abort();
    const pause = new AbortController();
    this.#pause = pause;
    this.#dueAt = dueAt;
    const due = (): void => {
      if (pause.signal.aborted) return;
      this.#dueAt = Infinity;
      void this.#look();
    };
    // Referenced, because an idle process would run an unreferenced immediate only with its next event.
    if (ms === 0) setImmediate(due);
    else void (isHeld ? clock.sleep(ms, pause.signal) : clock.rest(ms, pause.signal)).then(due);
  }

  /** Keeps the process alive while a caller waits for the result of a look. */
  hold(is: boolean): void {
    if (is && !this.#isClosed) this.#hold ??= setInterval(() => {}, HOLD_MS);
    else {
      clearInterval(this.#hold);
      this.#hold = undefined;
    }
  }

  /** Cancels the requested look. */
  pause(): void {
    this.#pause?.abort();
    this.#dueAt = Infinity;
  }

  close(): void {
    this.#isClosed = true;
    this.pause();
    this.hold(false);
  }
}
