/** The light half of an AbortSignal: most effects never look, so the signal is made when somebody does. */
interface Scope {
  /** What it is for was begun by another run, and may have happened. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /** Why, when it is not that the turn is stopped: it is let go here, to be gone on with elsewhere. */
  readonly reason?: unknown;
  readonly signal: AbortSignal;
  /** Runs once, at once if it is aborted already. Gives back how to stop listening. */
  onAbort(run: () => void): () => void;
}
export { Scope };
