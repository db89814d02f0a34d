import { Any } from "../model/schema.js";
import { Owned } from "./owned.js";
/** A value that one plugin gives to a point. */
interface Contribution {
  readonly point: Point<Any, Any>;
  readonly value: unknown;
}
/**
 * A typed place to which plugins contribute and from which they read. Points are recognised by identity: the
 * contributor must import the very object that the reader uses. `combine([])` is the value when nobody contributes.
 */
interface Point<In, Out = readonly In[]> {
  readonly id: string;
  /** Makes a contribution: `contributions: [point.of(value)]`. */
  of(value: In): Contribution;
  combine(given: readonly Owned<In>[]): Out;
}
/** Makes a point. Without `combine` its value is the list of what was contributed. */
declare function point<In>(id: string): Point<In>;
declare function point<In, Out>(id: string, combine: (given: readonly Owned<In>[]) => Out): Point<In, Out>;
export { Contribution, Point, point };
