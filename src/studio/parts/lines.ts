// The lines that two texts share.
export type Line = { readonly kind: "same" | "added" | "removed"; readonly text: string };

/** Comparing takes as many steps as the product of both lengths: above this, all lines count as changed. */
const STEPS_MAX = 1_000_000;

export function linesBetween(before: string, after: string): readonly Line[] {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: readonly string[]): readonly Line[] => lines.map((text) => ({ kind: "same", text }));
  return [
    ...same(a.slice(0, start)),
    ...changed(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...same(a.slice(a.length - end)),
  ];
}

/** The longest common subsequence stays, and the rest is removed or added. */
function changed(a: readonly string[], b: readonly string[]): readonly Line[] {
  const lines: Line[] = [];
  const add = (kind: Line["kind"], text: string): void => void lines.push({ kind, text });
  if (a.length * b.length > STEPS_MAX) {
    for (const text of a) add("removed", text);
    for (const text of b) add("added", text);
    return lines;
  }
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length)
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("same", a[i++]!);
      j++;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      add("removed", a[i++]!);
    else add("added", b[j++]!);
  return lines;
}
