import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Code } from "../../src/model/errors.ts";
import { badEnglishIn } from "../kit/style.ts";

interface Script {
  readonly codes: readonly Code[];
  page(): string;
  wordingsOf(code: Code): readonly { readonly message: string; readonly hint: string }[];
}
// Not by a literal path: a script has no types.
const { codes, page, wordingsOf }: Script = await import(new URL("../../scripts/errors-doc.mjs", import.meta.url).href);

const textOf = (file: string): string => readFileSync(file, "utf8");
const docs = ["README.md", ...globSync("docs/**/*.md")].map((file) => ({ file, text: textOf(file) }));
const wordings = codes.flatMap((code) => wordingsOf(code).map((each) => ({ code, ...each })));

test("the page of errors has what the table has: if not, run `npm run docs`", () => {
  expect(textOf("docs/errors.md")).toBe(page());
});

test("the page of errors has an entry for every code, with all of its messages and hints", () => {
  expect(codes.length).toBeGreaterThan(150);
  expect(new Set(codes).size).toBe(codes.length);
  const headings = Array.from(page().matchAll(/^### (.*)$/gm), ([, code]) => code);
  expect(headings).toEqual(codes);
  // A row whose message depends on its details shows each of its messages.
  for (const state of ["parked", "orphaned: no process runs it"])
    expect(page()).toContain(`while turn <turnId> is ${state}.`);
  expect(page()).toMatch(/^\| `on\.cron` \| Write 5 fields/m);
  expect(page()).not.toMatch(/undefined|NaN|\[object/);
});

test("the page of errors is in plain English", () => {
  const lines = page()
    .replace(/^###.*$/gm, "")
    .split("\n"); // A code is not a sentence.
  expect(lines.flatMap((line) => badEnglishIn(line).map((problem) => `${line} ${problem}`))).toEqual([]);
});

test("every message is a short sentence", () => {
  const bad = wordings.filter(({ message }) => message.length > 240 || !/^[A-Z<].*[.>]$/s.test(message));
  expect(bad).toEqual([]);
});

test("every hint is a sentence that begins with what to do", () => {
  const noVerb = /^(?:The|An?|Its?|This|That|There|Nothing|What|You|See|Check it against)\b/;
  const bad = wordings.filter(({ hint }) => !/^[A-Z].{24,}[.;]$/s.test(hint) || noVerb.test(hint));
  expect(bad).toEqual([]);
});

test("what callers put into messages is in plain English too", () => {
  const files = globSync("src/**/*.ts").filter((file) => !/\.test\.ts$|texts\.ts$|testing\//.test(file));
  const fragment =
    /(?:\bproblem: |\b(?:wrong|invalid|refuse|corrupt)\((?:[\w.]+, |"[^"]*", |`[^`]*`, )?)(?:"([^"\n]*)"|`([^`\n]*)`)/g;
  const found = files.flatMap((file) =>
    Array.from(textOf(file).matchAll(fragment), ([, plain, template]) => ({ file, words: plain ?? template ?? "" })),
  );
  expect(found.length).toBeGreaterThan(200);
  expect(
    found.flatMap(({ file, words }) => badEnglishIn(words).map((problem) => `${file}: ${words}: ${problem}`)),
  ).toEqual([]);
});

test("the docs name only codes that exist", () => {
  const known = new Set<string>(codes);
  const sources = globSync("src/**/*.ts").map(textOf).join("\n");
  const api = globSync("api/**/*.d.ts").map(textOf).join("\n");
  const areas = [...new Set(codes.map((code) => code.split(".")[0]))].join("|");
  const isCode = (name: string): boolean => known.has(name) || sources.includes(`"${name}"`); // Or of a trace or a tool.
  const isMember = (name: string): boolean => new RegExp(`\\b${name.split(".")[1]}\\??[:(<]`).test(api);
  const names = new RegExp(`[\`"]((?:${areas})\\.[a-z]+(?:-[a-z]+)*)[\`"]`, "g");
  const found = docs.flatMap(({ file, text }) => Array.from(text.matchAll(names), ([, name = ""]) => ({ file, name })));
  expect(found.length).toBeGreaterThan(100);
  const unknown = found.filter(({ name }) => !isCode(name) && !isMember(name) && !/\.(?:ts|md)$/.test(name));
  expect(unknown).toEqual([]);
});

test("the docs import only names that the package exports", () => {
  const exportsOf = (path: string): ReadonlySet<string> => {
    const [, list = ""] = /^export \{([^}]*)\};/m.exec(textOf(`api/${path}.d.ts`)) ?? [];
    return new Set(list.split(",").map((name) => name.replace(/^\s*(?:type )?(?:\w+ as )?/, "").trim()));
  };
  const imports = /import (?:type )?\{([^}]*)\} from "bowline(?:\/([\w/-]+))?"/g;
  const found = docs.flatMap(({ file, text }) =>
    Array.from(text.matchAll(imports), ([, names = "", path = "index"]) =>
      names.split(",").map((name) => ({ file, path, name: name.replace(/\btype |\bas \w+/g, "").trim() })),
    ).flat(),
  );
  expect(found.length).toBeGreaterThan(50);
  const unknown = found.filter(({ path, name }) => name !== "" && !exportsOf(path).has(name));
  expect(unknown).toEqual([]);
});
