// What the scenarios of triggers have in common.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "bowline";
import type { Occurrence } from "bowline/plugin";

/** Settles when a subscription has occurred so often. */
export async function occurred(
  { triggers }: Session,
  subscription: string,
  times: number,
): Promise<readonly Occurrence[]> {
  for (;;) {
    const found = await triggers.occurrences({ subscription, max: Infinity });
    if (found.length >= times) return found;
    await sleep(5);
  }
}

/** Settles when a schedule has served all its times up to this one. */
export async function served({ triggers }: Session, subscription: string, time: number): Promise<void> {
  for (;;) {
    const { next, isEnabled } = await triggers.get(subscription);
    if (!isEnabled || next === undefined || next > time) return;
    await sleep(5);
  }
}

/**
 * Puts the clock of this process forward when it is told to. How far is kept in a file, so that no later life is behind, and
 * no other worker. Not by more than a lease lasts: whoever holds one could not have renewed it.
 */
export class Clock {
  readonly #file: string;
  readonly #now = Date.now;

  constructor(file: string) {
    this.#file = file;
    Date.now = () => this.#now() + this.#ahead;
  }

  get #ahead(): number {
    return existsSync(this.#file) ? Number(readFileSync(this.#file, "utf8")) : 0;
  }

  /** Makes it this time, unless it is later already. */
  reach(time: number): void {
    if (Date.now() >= time) return;
    const draft = `${this.#file}-${process.pid}`;
    writeFileSync(draft, String(time - this.#now()));
    renameSync(draft, this.#file);
  }
}
