import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** What happened to whom, in the order of the file: every process of a run adds its lines at the end. */
export type Line = { readonly life: number } /** Loaded, and about to begin. */ & (
  | { readonly kind: "ready" }
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true }
  | { readonly kind: "ended"; readonly turn: string; readonly effect: string }
  /** The store has taken this input. */
  | { readonly kind: "accepted"; readonly session: string; readonly turn: string; readonly input: string }
  /** Taken back by its sender, or gone with its session. */
  | { readonly kind: "withdrawn"; readonly input: string }
  | { readonly kind: "deleted"; readonly session: string }
  | { readonly kind: "took"; readonly session: string; readonly turn: string; readonly generation: number }
  /** What the scenario said of itself. */
  | { readonly kind: "act"; readonly what: string }
  /** The process is about to end, or to be stopped, here. */
  | { readonly kind: "killed" | "stopped"; readonly at: number; readonly place: string; readonly turn?: string }
  | { readonly kind: "continued" }
  | { readonly kind: "failed"; readonly code?: string; readonly problem: string }
  | { readonly kind: "done"; readonly places: readonly string[] }
);

/** Of each kind, without whose it is. */
export type Told = Line extends infer L ? (L extends Line ? Omit<L, "life"> : never) : never;

/** A line is there when this returns: what a process has handed to the system survives its death. */
export const addLine = (file: string, line: Line): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

export function readLines(file: string): readonly Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as Line);
}
