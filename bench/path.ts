// The functions that one warmed turn runs through. A turn in a fresh process costs about what compiling them costs, and
// their number is the same on every machine, so tests can hold it to a budget.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Tree } from "./sides.ts";

export interface WalkedTurn {
  readonly about: string;
  readonly input: string;
  readonly isDurable?: true;
  /** The budget: at most this many functions of the sources. */
  readonly functionsMax?: number;
}

export const PATHS: { readonly [id: string]: WalkedTurn } = {
  "P-text": { about: "a text reply", input: "text", functionsMax: 200 },
  "P-ten": { about: "ten rounds of one call, then text", input: "loop:10", functionsMax: 280 },
  "P-fifty": { about: "50 calls in one reply, then text", input: "par:50" },
  "P-durable": { about: "ten rounds of one call, then text, on a file", input: "loop:10", isDurable: true },
};

export interface Passed {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  /** The number of calls in one turn. */
  readonly calls: number;
}

/**
 * The functions that run at least once in every turn. The sources need no build and give the same functions as the
 * build, except for the initialisers of the few classes that keep private fields there: 7 more in the build for a text
 * turn, 8 more in ten rounds.
 */
export async function pathOf(tree: Tree, { input, isDurable }: WalkedTurn): Promise<readonly Passed[]> {
  const args = [join(import.meta.dirname, "walk.ts"), tree, input, ...(isDurable ? ["durable"] : [])];
  const { stdout } = await promisify(execFile)(process.execPath, ["--disable-warning=ExperimentalWarning", ...args]);
  return JSON.parse(stdout);
}
