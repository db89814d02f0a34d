/** A light AbortSignal. Most effects never look at theirs, so the real signal is made only when `signal` is read. */
export interface Scope {
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

/** The implementation of `Scope`. It makes the controller and the set of listeners on first use. */
export class LazyScope implements Scope {
  isAborted = false;
  reason: unknown = undefined;
  #controller: AbortController | undefined;
  /** The first listener is a field, because there is nearly always one listener or none. */
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
    const listener = (): void => run(); // A new function each time: the same `run` may be registered twice.
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
