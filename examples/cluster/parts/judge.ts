// The lines that the workers write to the ledger, and the calls that ran too often.

/** A line of the ledger. All workers append to one file, so the lines of all workers are in order. */
export type Line = { readonly worker: number } & (
  | { readonly kind: "ready" }
  | { readonly kind: "accepted" | "answered"; readonly turn: string }
  /** A call of a model or tool starts. With `once`, the call must not start twice. */
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true }
  /** Answers in the store. `recorded`: the worker stored them. `took`: the journal of a resumed turn contains them. */
  | { readonly kind: "recorded" | "took"; readonly turn: string; readonly effects: readonly string[] }
);
/** A line without its worker. */
export type Entry = Line extends infer L ? (L extends Line ? Omit<L, "worker"> : never) : never;

/** Skips incomplete lines, because a kill can interrupt the last line of a worker. */
export const linesIn = (text: string): readonly Line[] =>
  text.split("\n").flatMap((line) => (line.endsWith("}") ? [JSON.parse(line) as Line] : []));

export function judged(lines: readonly Line[]) {
  const recorded = new Set<string>();
  const begun = new Set<string>();
  const repeated: string[] = [];
  const twice: string[] = [];
  let [took, calls] = [0, 0];
  for (const line of lines) {
    if (line.kind === "took") took++;
    if (line.kind === "recorded" || line.kind === "took")
      for (const effect of line.effects) recorded.add(`${line.turn} ${effect}`);
    if (line.kind !== "began") continue;
    calls++;
    const call = `${line.turn} ${line.effect}`;
    if (recorded.has(call)) repeated.push(call);
    if (line.once === true && begun.has(call)) twice.push(call);
    begun.add(call);
  }
  return { repeated, twice, took, calls };
}
