// What the workers say they do, a line each, and what is wrong with it.

/** A line of the ledger. All workers append to one file, so the lines are in one order. */
export type Line = { readonly worker: number } & (
  | { readonly kind: "ready" }
  | { readonly kind: "accepted" | "answered"; readonly turn: string }
  /** A model or a tool is called; `once`: a tool that must not be called twice. */
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true }
  /** The store has these answers: by its own word, or in the journal of a turn that was taken over. */
  | { readonly kind: "recorded" | "took"; readonly turn: string; readonly effects: readonly string[] }
);
export type Told = Line extends infer L ? (L extends Line ? Omit<L, "worker"> : never) : never;

/** A worker may be killed in the midst of its last line. */
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
