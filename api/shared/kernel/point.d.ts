import { Any } from "../model/schema.js";
import { Owned } from "./owned.js";
/** What one plugin gives to a point. */
interface Contribution {
  readonly point: Point<Any, Any>;
  readonly value: unknown;
}
/**
 * A typed place to which plugins contribute and from which they read. It is recognised by identity, so whoever
 * contributes imports it from whoever reads it. `combine([])` is its value when nobody gave anything.
 */
interface Point<In, Out = readonly In[]> {
  readonly id: string;
  /** To contribute: `contributions: [point.of(value)]`. */
  of(value: In): Contribution;
  combine(given: readonly Owned<In>[]): Out;
}
declare function point<In>(id: string): Point<In>;
declare function point<In, Out>(id: string, combine: (given: readonly Owned<In>[]) => Out): Point<In, Out>;
export { Contribution, Point, point };
