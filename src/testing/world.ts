import { createHash } from "node:crypto";
import { type Known, requireKnown } from "../model/known.ts";
import type { World } from "../model/world.ts";

/** A world for tests: time only moves when the test moves it, and ids and secrets are the same in every run. */
export interface SimulatedWorld extends World {
  /**
   * Advances time by milliseconds. Sleepers wake in the order of their times. Everything that a sleeper starts without
   * another sleep has finished before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /**
   * Sets the clock ahead, or back with a negative number, like a machine that slept or whose clock was corrected.
   * Ahead, all sleepers that are due by then wake at the new time. Back, they sleep as long as they would have.
   */
  jump(ms: number): Promise<void>;
  /** The number of sleepers, without those of repeating work. */
  readonly asleep: number;
}

export interface SimulatedWorldOptions {
  /** The start time, in milliseconds since 1970. Default: 1 January 2026. */
  readonly now?: number | undefined;
  /** A part of every id and secret. Two worlds on one store need different names. */
  readonly name?: string | undefined;
}

const BEGINNING = 1_767_225_600_000; // 2026-01-01T00:00:00Z

const OPTIONS: Known<SimulatedWorldOptions> = { now: true, name: true };

export function simulatedWorld(options: SimulatedWorldOptions = {}): SimulatedWorld {
  requireKnown("simulatedWorld", options, OPTIONS);
  const { now: beginning = BEGINNING, name = "" } = options;
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

  async function leap(ms: number): Promise<void> {
    await calm();
    now += ms;
    if (ms < 0) for (const each of sleepers) each.due += ms;
    for (const each of [...sleepers].sort((a, b) => a.due - b.due)) if (each.due <= now) each.wake();
    await calm();
  }

  function sleep(ms: number, signal: AbortSignal | undefined, isResting: boolean): Promise<void> {
    if (!(ms > 0) || signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const sleeper: Sleeper = {
        due: now + ms,
        isResting,
        wake() {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", sleeper.wake);
          resolve();
        },
      };
      sleepers.add(sleeper);
      signal?.addEventListener("abort", sleeper.wake, { once: true });
    });
  }

  return {
    now: () => now,
    sleep: (ms, signal) => sleep(ms, signal, false),
    rest: (ms, signal) => sleep(ms, signal, true),
    id: (prefix) => `${prefix}_${String(++ids).padStart(8, "0")}${name}`,
    secret: () => createHash("sha256").update(`${name}/${++secrets}`).digest().subarray(0, 16).toString("base64url"),
    advance(ms) {
      if (!(ms >= 0 && ms < Infinity)) throw new RangeError(`Time cannot move by ${ms} ms.`);
      moving = moving.then(() => pass(ms)); // Sequential, even if a sleeper calls it.
      return moving;
    },
    jump(ms) {
      if (!Number.isFinite(ms)) throw new RangeError(`Time cannot move by ${ms} ms.`);
      moving = moving.then(() => leap(ms));
      return moving;
    },
    get asleep() {
      return [...sleepers].filter(({ isResting }) => !isResting).length;
    },
  };
}

interface Sleeper {
  due: number;
  readonly isResting: boolean;
  wake(): void;
}

/** Returns the next sleeper that is due before `end`. Of several with the same time, the one that slept first. */
function firstDue(sleepers: ReadonlySet<Sleeper>, end: number): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const each of sleepers) if (each.due <= end && (first === undefined || each.due < first.due)) first = each;
  return first;
}

/** Resolves after all consequences that wait for neither time nor the system. */
async function calm(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await new Promise((resolve) => setImmediate(resolve));
}
/** A store, a queue and a watch pass work to each other through the event loop a few times in a row. */
const ROUNDS = 4;
