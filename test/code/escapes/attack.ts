// An attack on the sandbox: guest code and its expected result. `escapes.test.ts` runs them all.

import type { Bound, CellBounds, Surroundings } from "../../../src/sandbox/sandbox.ts";

/** Cells that run one after the other in a new guest. The expectation is about the last; the others must succeed. */
export interface Attack {
  readonly name: string;
  readonly cells: readonly string[];
  readonly expect: Expected;
  /** `tools.echo` returns its input, `tools.fail` fails, and `tools.say` returns this text. */
  readonly says?: string;
  /** The surroundings of each cell. A read returns `{ read, list }`. */
  readonly around?: readonly Surroundings[];
  readonly refusesFinish?: true;
  readonly bounds?: Partial<CellBounds>;
}

/** Texts must be equal, patterns must match. An omitted field may be anything. */
export type Expected = {
  readonly printed?: string | RegExp;
  readonly unhandled?: RegExp;
  /** The total of all cells. */
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
