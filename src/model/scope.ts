/** The light half of an AbortSignal: most effects never look, so the signal is made when somebody does. */
export interface Scope {
  readonly isAborted: boolean;
  readonly signal: AbortSignal;
  /** Runs once, at once if it is aborted already. Gives back how to stop listening. */
  onAbort(run: () => void): () => void;
}

/** A cancellation that costs nothing until somebody looks at it. */
export class LazyScope implements Scope {
  isAborted = false;
  #controller: AbortController | undefined;
  #listeners: Set<() => void> | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isAborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  onAbort(run: () => void): () => void {
    if (this.isAborted) {
      run();
      return () => {};
    }
    this.#listeners ??= new Set();
    const listener = (): void => run(); // The same function may listen twice.
    this.#listeners.add(listener);
    return () => this.#listeners?.delete(listener);
  }

  abort(): void {
    if (this.isAborted) return;
    this.isAborted = true;
    this.#controller?.abort();
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (listeners !== undefined) for (const run of listeners) run();
  }
}
