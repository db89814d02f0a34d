import { Any } from "../model/schema.js";
import { Owned } from "./owned.js";
/** A value that a plugin contributes to a point. */
interface Contribution {
  readonly point: Point<Any, Any>;
  readonly value: unknown;
}
/**
 * A typed point: plugins contribute values to it, and others read the combined value. The object identifies the point,
 * so the contributor must import the same object as the reader. Without contributions its value is `combine([])`.
 */
interface Point<In, Out = readonly In[]> {
  readonly id: string;
  /** Makes a contribution: `contributions: [point.of(value)]`. */
  of(value: In): Contribution;
  combine(given: readonly Owned<In>[]): Out;
}
/** Makes a point. Without `combine` its value is the list of all contributions. */
declare function point<In>(id: string): Point<In>;
declare function point<In, Out>(id: string, combine: (given: readonly Owned<In>[]) => Out): Point<In, Out>;
export { Contribution, Point, point };
