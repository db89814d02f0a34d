import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const linesOf = (text: string): string => text.replace(/^ +/gm, "");
const sources = ["test/stores/json-file.ts", "test/stores/json-file.test.ts"].map((path) =>
  linesOf(readFileSync(path, "utf8")),
);

test("the code of the page on stores is that of the store in the tests", () => {
  const blocks = Array.from(
    readFileSync("docs/stores.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms),
    ([, code]) => code!,
  );
  expect(blocks.length).toBe(3);
  const pieces = blocks.flatMap((code) => linesOf(code).split(/^\/\/ …\n|^\n/m));
  const strange = pieces.filter((piece) => !sources.some((source) => source.includes(piece.trim())));
  expect(strange).toEqual([]);
});
