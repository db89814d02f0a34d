/** A cheap AbortSignal. Most effects never read their signal, so the real one is made when `signal` is first read. */
export interface Scope {
  /** An earlier run began this effect, so it may already have taken place. */
  readonly isResumed?: boolean;
  readonly isAborted: boolean;
  /** Set if the abort does not stop the turn: this process releases the turn, and another worker continues it. */
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
    const listener = (): void => run(); // A new function each time, because the same `run` can be registered twice.
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
