import { expect, test } from "vitest";
import { linesBetween } from "./lines.ts";

const marks = { same: " ", added: "+", removed: "-" } as const;
const between = (before: string, after: string): readonly string[] =>
  linesBetween(before, after).map(({ kind, text }) => marks[kind] + text);

test("E6 a diff keeps equal lines and shows removed lines before added ones", () => {
  expect(between("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(between("a", "a")).toEqual([" a"]);
  expect(between("a\nb", "b")).toEqual(["-a", " b"]);
});

test("E6 both texts can be read from a diff, also when they are too long to be compared line by line", () => {
  const text = (seed: number, lines: number): string =>
    Array.from({ length: lines }, (_, n) => `line ${(n * seed) % 7}`).join("\n");
  for (const [before, after] of [
    [text(3, 40), text(5, 60)],
    [text(3, 1_500), text(5, 1_500)],
  ] as const) {
    const lines = linesBetween(before, after);
    const without = (kind: "added" | "removed"): string =>
      lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join("\n");
    expect(without("added")).toBe(before);
    expect(without("removed")).toBe(after);
  }
});
