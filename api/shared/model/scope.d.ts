/** A cheap AbortSignal. Most effects never read their signal, so the real one is made when `signal` is first read. */
interface Scope {
  /** An earlier run began this effect, so it may already have taken place. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /** Set if the abort does not stop the turn: this process releases the turn, and another worker continues it. */
  readonly reason?: unknown;
  readonly signal: AbortSignal;
  /** Calls `run` once, at once if already aborted. Returns a function that stops listening. */
  onAbort(run: () => void): () => void;
}
export { Scope };
