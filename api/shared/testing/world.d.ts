import { World } from "../model/world.js";
/** A world for tests: time passes only when the test says so, and ids and secrets are the same in every run. */
interface SimulatedWorld extends World {
  /**
   * Lets this much time pass, in milliseconds. Sleepers wake in the order of their times. All that a sleeper sets off
   * without another sleep has happened before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /**
   * Sets the clock so much ahead, or with a negative number back, as on a machine that slept or whose clock was put right.
   * Ahead, all sleepers that are due by then wake at the new time; back, they sleep as long as they would have.
   */
  jump(ms: number): Promise<void>;
  /** How many sleeps are under way, without those of work that comes again and again. */
  readonly asleep: number;
}
interface SimulatedWorldOptions {
  /** The time at the beginning, in milliseconds since 1970. Default: the first of January 2026. */
  readonly now?: number | undefined;
  /** A part of every id and secret. Two worlds on one store need different names. */
  readonly name?: string | undefined;
}
declare function simulatedWorld(options?: SimulatedWorldOptions): SimulatedWorld;
export { SimulatedWorld, simulatedWorld };
