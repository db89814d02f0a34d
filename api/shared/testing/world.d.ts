import { World } from "../model/world.js";
/** A world for tests: time only moves when the test moves it, and ids and secrets are the same in every run. */
interface SimulatedWorld extends World {
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
interface SimulatedWorldOptions {
  /** The start time, in milliseconds since 1970. Default: 1 January 2026. */
  readonly now?: number | undefined;
  /** A part of every id and secret. Two worlds on one store need different names. */
  readonly name?: string | undefined;
}
declare function simulatedWorld(options?: SimulatedWorldOptions): SimulatedWorld;
export { SimulatedWorld, simulatedWorld };
