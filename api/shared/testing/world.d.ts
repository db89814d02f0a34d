import { World } from "../model/world.js";
/** A world in which time passes only when a test says so, and in which every run meets the same ids and secrets. */
interface SimulatedWorld extends World {
  /**
   * Lets this much time pass. Sleepers wake in the order of their times, each at its own; whatever one sets off without
   * more sleep has happened before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /** How many sleep now. */
  readonly asleep: number;
}
interface SimulatedWorldOptions {
  /** When it begins, in milliseconds since 1970. */
  readonly now?: number;
  /** Part of every id and secret: two worlds on one store need two names. */
  readonly name?: string;
}
declare function simulatedWorld({ now: beginning, name }?: SimulatedWorldOptions): SimulatedWorld;
export { SimulatedWorld, simulatedWorld };
