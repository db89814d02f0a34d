/** A light AbortSignal. Most effects never look at theirs, so the real signal is made only when `signal` is read. */
interface Scope {
  /** Another run began this effect before, so it may already have happened. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /**
   * Set when the abort is not a stop of the turn: this process lets the turn go, and another worker goes on with it.
   */
  readonly reason?: unknown;
  readonly signal: AbortSignal;
  /** Calls `run` once, at once if already aborted. Returns a function that stops listening. */
  onAbort(run: () => void): () => void;
}
export { Scope };
