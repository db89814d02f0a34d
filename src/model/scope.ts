/** The light half of an AbortSignal: most effects never look, so the signal is made when somebody does. */
export interface Scope {
  /** What it is for was begun by another run, and may have happened. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /** Why, when it is not that the turn is stopped: it is let go here, to be gone on with elsewhere. */
  readonly reason?: unknown;
  readonly signal: AbortSignal;
  /** Runs once, at once if it is aborted already. Gives back how to stop listening. */
  onAbort(run: () => void): () => void;
}

/** A cancellation that costs nothing until somebody looks at it. */
export class LazyScope implements Scope {
  isAborted = false;
  reason: unknown = undefined;
  #controller: AbortController | undefined;
  /** Nearly always one or none. */
  #listener: (() => void) | undefined;
  #others: Set<() => void> | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isAborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  onAbort(run: () => void): () => void {
    if (this.isAborted) {
      run();
      return () => {};
    }
    const listener = (): void => run(); // The same function may listen twice.
    if (this.#listener === undefined) {
      this.#listener = listener;
      return () => {
        if (this.#listener === listener) this.#listener = undefined;
      };
    }
    this.#others ??= new Set();
    this.#others.add(listener);
    return () => this.#others?.delete(listener);
  }

  abort(reason?: unknown): void {
    if (this.isAborted) return;
    this.isAborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    const first = this.#listener;
    const others = this.#others;
    this.#listener = undefined;
    this.#others = undefined;
    first?.();
    if (others !== undefined) for (const run of others) run();
  }
}
