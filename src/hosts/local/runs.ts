import type { World } from "../../model/world.ts";

/**
 * How often a turn reads mail without a hint: a cancel or an answer from another process. This also renews its lease.
 */
export const LOOK_MS = 500;

/** A turn with its index in the list, so that it can be removed without a search. */
interface Listed {
  place: number;
  look(): void;
}

/** The turns of one host. One loop reads the mail of all of them and runs only while there are any. */
export class Runs {
  readonly #runs: Listed[] = [];
  #isLooking = false;

  /** The loop uses the clock of the turn that starts it: a host serves one runtime, which has one clock. */
  add(run: Listed, world: World): void {
    run.place = this.#runs.length;
    this.#runs.push(run);
    if (!this.#isLooking) void this.#look(world);
  }

  /** Moves the last turn into the gap, so that removing one of thousands of turns needs no search and no copy. */
  delete(run: Listed): void {
    if (this.#runs[run.place] !== run) return;
    const last = this.#runs.pop() as Listed;
    if (last === run) return;
    this.#runs[run.place] = last;
    last.place = run.place;
  }

  async #look(world: World): Promise<void> {
    this.#isLooking = true;
    while (this.#runs.length > 0) {
      await world.rest(LOOK_MS);
      for (const run of [...this.#runs]) run.look();
    }
    this.#isLooking = false;
  }
}
