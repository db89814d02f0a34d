/**
 * How often a turn looks for mail that nobody told it of: a cancel or an answer from another process. This renews its
 * lease, too.
 */
export const LOOK_MS = 500;

/** A turn that knows its index in the list, so that it can be removed without a search. */
interface Listed {
  place: number;
  look(): void;
}

/** The turns of one host. One timer looks for the mail of all of them and runs only while there are any. */
export class Runs {
  readonly #runs: Listed[] = [];
  #timer: NodeJS.Timeout | undefined;

  add(run: Listed): void {
    run.place = this.#runs.length;
    this.#runs.push(run);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** Moves the last turn into the gap: turns come and go by the thousand, so nothing is searched or copied. */
  delete(run: Listed): void {
    if (this.#runs[run.place] !== run) return;
    const last = this.#runs.pop() as Listed;
    if (last === run) return;
    this.#runs[run.place] = last;
    last.place = run.place;
  }

  #look(): void {
    if (this.#runs.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const run of [...this.#runs]) run.look();
  }
}
