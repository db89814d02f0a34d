import { createHash } from "node:crypto";
import type { World } from "../model/world.ts";

/** A world in which time passes only when a test says so, and in which every run meets the same ids and secrets. */
export interface SimulatedWorld extends World {
  /**
   * Lets this much time pass. Sleepers wake in the order of their times, each at its own; whatever one sets off without
   * more sleep has happened before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /** How many sleep now. */
  readonly asleep: number;
}

export interface SimulatedWorldOptions {
  /** When it begins, in milliseconds since 1970. */
  readonly now?: number;
  /** Part of every id and secret: two worlds on one store need two names. */
  readonly name?: string;
}

/** The first of January 2026. */
const BEGINNING = 1_767_225_600_000;

export function simulatedWorld({ now: beginning = BEGINNING, name = "" }: SimulatedWorldOptions = {}): SimulatedWorld {
  const sleepers = new Set<Sleeper>();
  let now = beginning;
  let ids = 0;
  let secrets = 0;
  let moving = Promise.resolve();

  async function pass(ms: number): Promise<void> {
    const end = now + ms;
    await calm();
    for (let next = firstDue(sleepers, end); next !== undefined; next = firstDue(sleepers, end)) {
      now = next.due;
      next.wake();
      await calm();
    }
    now = end;
  }

  return {
    now: () => now,
    sleep(ms, signal) {
      if (!(ms > 0) || signal?.aborted === true) return Promise.resolve();
      return new Promise((resolve) => {
        const sleeper: Sleeper = {
          due: now + ms,
          wake() {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake, { once: true });
      });
    },
    id: (prefix) => `${prefix}_${String(++ids).padStart(8, "0")}${name}`,
    secret: () => createHash("sha256").update(`${name}/${++secrets}`).digest().subarray(0, 16).toString("base64url"),
    advance(ms) {
      if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`Time cannot move by ${ms} ms.`);
      moving = moving.then(() => pass(ms)); // One after the other, also when a sleeper asks for it.
      return moving;
    },
    get asleep() {
      return sleepers.size;
    },
  };
}

interface Sleeper {
  readonly due: number;
  wake(): void;
}

/** Of those due by then, the one to wake first; of several at the same time, the one who fell asleep first. */
function firstDue(sleepers: ReadonlySet<Sleeper>, end: number): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const each of sleepers) if (each.due <= end && (first === undefined || each.due < first.due)) first = each;
  return first;
}

/** Promises that follow from one another have all been kept when this one is. */
const calm = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
