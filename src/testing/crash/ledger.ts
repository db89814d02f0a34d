import { appendFileSync, existsSync, readFileSync } from "node:fs";

/** A line of the ledger: an event in one process. All processes of a trial append to one file. */
export type Line = { readonly life: number } & (
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true }
  | { readonly kind: "ended"; readonly turn: string; readonly effect: string }
  /** The process is loaded and about to start. */
  | { readonly kind: "ready" }
  /** The store has accepted this input. `isUnnamed`: it has no key, so a rerun sends it again. */
  | {
      readonly kind: "accepted";
      readonly session: string;
      readonly turn: string;
      readonly input: string;
      readonly isUnnamed?: true;
    }
  /** The sender has withdrawn this input. */
  | { readonly kind: "withdrawn"; readonly input: string }
  | { readonly kind: "deleted"; readonly session: string }
  | { readonly kind: "took"; readonly session: string; readonly turn: string; readonly generation: number }
  /** The scenario acted on the outer world. `step` is the job's step that it was part of, as `job name`. */
  | { readonly kind: "act"; readonly what: string; readonly step?: string }
  /** The process is about to be killed or stopped at this boundary. */
  | { readonly kind: "killed" | "stopped"; readonly at: number; readonly place: string; readonly turn?: string }
  | { readonly kind: "continued" }
  | { readonly kind: "failed"; readonly code?: string; readonly problem: string }
  | { readonly kind: "done"; readonly places: readonly string[] }
);

/** A line without its life, which the ledger adds. */
export type NewLine = Line extends infer L ? (L extends Line ? Omit<L, "life"> : never) : never;

/** Synchronous, because what a process has passed to the system survives its death. */
export const addLine = (file: string, line: Line): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

export function readLines(file: string): readonly Line[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as Line);
}
