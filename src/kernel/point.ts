import { RuntimeError } from "../model/errors.ts";
import type { Any } from "../model/schema.ts";
import type { Owned } from "./owned.ts";

/** A value that a plugin contributes to a point. */
export interface Contribution {
  readonly point: Point<Any, Any>;
  readonly value: unknown;
}

/**
 * A typed point: plugins contribute values to it, and others read the combined value. The object identifies the point,
 * so the contributor must import the same object as the reader. Without contributions its value is `combine([])`.
 */
export interface Point<In, Out = readonly In[]> {
  readonly id: string;
  /** Makes a contribution: `contributions: [point.of(value)]`. */
  of(value: In): Contribution;
  combine(given: readonly Owned<In>[]): Out;
}

/** Makes a point. Without `combine` its value is the list of all contributions. */
export function point<In>(id: string): Point<In>;
export function point<In, Out>(id: string, combine: (given: readonly Owned<In>[]) => Out): Point<In, Out>;
export function point<In>(id: string, combine?: (given: readonly Owned<In>[]) => unknown): Point<In, unknown> {
  const made: Point<In, unknown> = {
    id,
    of: (value) => ({ point: made, value }),
    combine: combine ?? ((given) => given.map(({ value }) => value)),
  };
  return made;
}

/** The contributions of a session's plugins, combined when they are first read. */
export class Contributions {
  readonly #given: readonly (Owned<unknown> & { readonly point: Point<Any, Any> })[];
  readonly #combined = new Map<Point<Any, Any>, unknown>();

  constructor(given: readonly (Owned<unknown> & { readonly point: Point<Any, Any> })[]) {
    this.#given = given;
  }

  read<Out>(from: Point<Any, Out>): Out {
    if (!this.#combined.has(from)) this.#combined.set(from, from.combine(this.given(from)));
    return this.#combined.get(from) as Out;
  }

  given<In>(to: Point<In, Any>): readonly Owned<In>[] {
    const given = this.#given.filter((each) => each.point === to);
    return given.map(({ plugin, value }) => ({ plugin, value: value as In })); // Typed by `point.of`.
  }
}

/** Checks a plugin's contributions. Refuses values that `point.of` did not make. */
export function contributionsOf(
  plugin: string,
  part: unknown,
): readonly (Owned<unknown> & { readonly point: Point<Any, Any> })[] {
  const isContribution = (each: unknown): each is Contribution =>
    typeof (each as Contribution | undefined)?.point?.combine === "function";
  if (!Array.isArray(part) || !part.every(isContribution)) {
    throw new RuntimeError("plugin.invalid", {
      plugin,
      problem: "its contributions must be a list, each made with `point.of`",
    });
  }
  return part.map(({ point: to, value }) => ({ plugin, point: to, value }));
}
