import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Script {
  page(): string;
  readonly UNUSED: { readonly [hook: string]: string };
}
// Not by a literal path: a script has no types.
const { page, UNUSED }: Script = await import(new URL("../../scripts/hooks-doc.mjs", import.meta.url).href);

test("the page of hooks says what the table says: if not, run `npm run docs`", () => {
  expect(readFileSync("docs/hooks.md", "utf8")).toBe(page());
});

test("a hook that the page calls unused is one that no source runs, and the other way round", () => {
  const sources = globSync("src/**/*.ts").map((file) => readFileSync(file, "utf8"));
  const runs = /\.(?:slot|handlers|collect|transform|first|single|observe)\(\s*"(\w+)"/g;
  const run = new Set(sources.flatMap((text) => Array.from(text.matchAll(runs), ([, hook]) => hook)));
  const names = Array.from(page().matchAll(/^### (\w+)$/gm), ([, hook]) => hook);
  expect(names.filter((hook) => !run.has(hook))).toEqual(Object.keys(UNUSED));
});
