import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Code, describe } from "../../src/model/errors.ts";

const codes = Array.from(
  readFileSync("src/model/errors.ts", "utf8").matchAll(/^ {2}"([\w.-]+)": \(/gm),
  ([, code]) => code,
);

/** Details of any error: lists where an error has one, else a text. */
const LISTS = new Set<string | symbol>(["plugins", "known", "allowed", "sources", "legal"]);
const details = new Proxy({}, { get: (_, field) => (LISTS.has(field) ? ["one", "two"] : "some") });

test("every hint says what to do, in a sentence", () => {
  expect(codes.length).toBeGreaterThan(80);
  const hints = codes.map((code) => [code, describe(code as Code, details as never).hint] as const);
  const silent = hints.filter(
    ([, hint]) => !/^[A-Z`].{24,}[.;]$/.test(hint) || /^(?:See|Check it against)\b/.test(hint),
  );
  expect(silent).toEqual([]);
});
