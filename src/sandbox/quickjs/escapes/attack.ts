// What an attack on the sandbox is: guest code, and what must come of it. `escapes.test.ts` runs them all.

import type { Bound, CellBounds, Surroundings } from "../../sandbox.ts";

/** Cells that run one after the other in a new guest. What is expected is said of the last; those before it are done. */
export interface Attack {
  readonly name: string;
  readonly cells: readonly string[];
  readonly expect: Expected;
  /** A call of `tools.echo` is answered with its input, one of `tools.fail` with an error, and of `tools.say` with this. */
  readonly says?: string;
  /** What each cell has around it. What is read is answered with `{ read, list }`. */
  readonly around?: readonly Surroundings[];
  readonly refusesFinish?: true;
  readonly bounds?: Partial<CellBounds>;
}

/** Texts must be equal, patterns must match. What is left out may be anything. */
export type Expected = {
  readonly printed?: string | RegExp;
  readonly unhandled?: RegExp;
  /** Of all cells together. */
  readonly calls?: number;
} & (
  | {
      readonly state: "done";
      readonly value?: string | RegExp;
      readonly finish?: unknown;
      readonly continues?: unknown;
    }
  | { readonly state: "threw"; readonly error: RegExp }
  | { readonly state: "stalled" }
  | { readonly state: "refused"; readonly problem: RegExp }
  | { readonly state: "stopped"; readonly bound: Bound }
);

export const done = (value?: string | RegExp): Expected => ({ state: "done", ...(value !== undefined && { value }) });
export const printing = (printed: string | RegExp): Expected => ({ state: "done", printed });
export const threw = (error: RegExp): Expected => ({ state: "threw", error });
export const refused = (problem: RegExp): Expected => ({ state: "refused", problem });
export const stopped = (bound: Bound): Expected => ({ state: "stopped", bound });
