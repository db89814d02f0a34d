/**
 * Runs the calls of one process about one session in order. Over several connections a later call could overtake an
 * earlier one, so that two inputs could swap.
 */
export class CallQueue {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(of: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(of);
    const running = before === undefined ? work() : before.then(work, work);
    this.#last.set(of, running);
    const left = (): void => {
      if (this.#last.get(of) === running) this.#last.delete(of);
    };
    running.then(left, left);
    return running;
  }
}
