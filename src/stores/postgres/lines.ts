/**
 * Calls of one process about one session, one after the other in the order in which they were made. Over several
 * connections a later call could overtake an earlier one, and what somebody said second would be heard first.
 */
export class Lines {
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
