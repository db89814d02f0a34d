import type { TurnRun } from "../host.ts";

/** How often a turn looks for mail that nobody told it of: a cancel, an answer from another process. Its lease is renewed with it. */
export const LOOK_MS = 500;

/** The turns of one host. One timer looks for the mail of them all, and runs only while there are any. */
export class Runs {
  readonly #runs = new Set<TurnRun>();
  #timer: NodeJS.Timeout | undefined;

  add(run: TurnRun): void {
    this.#runs.add(run);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  delete(run: TurnRun): void {
    this.#runs.delete(run);
  }

  #look(): void {
    if (this.#runs.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    for (const run of this.#runs) void run.poke();
  }
}
