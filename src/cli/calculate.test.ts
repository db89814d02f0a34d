import { expect, test } from "vitest";
import { calculate } from "./calculate.ts";

test.each([
  ["21*2", 42],
  ["(3+4)^2/7", 7],
  ["1 + 2 * 3 - 4 / 8", 6.5],
  ["10 - 4 - 3", 3],
  ["2^3^2", 512],
  ["-2^2", -4],
  ["2^-1", 0.5],
  ["--3 + +4", 7],
  ["7 % 4 * 2", 6],
  [".5 + 1.", 1.5],
  ["1e3 / 1E-1", 10_000],
  ["0.1 + 0.2", 0.3],
  ["((((1))))", 1],
])("%s is %d", (expression, value) => expect(calculate(expression)).toBe(value));

test.each([
  ["", "The expression is empty."],
  ["   ", "The expression is empty."],
  ["2 +", "A number was expected at the end."],
  ["2 + * 3", "A number was expected before “*”."],
  ["(2 + 3", "A closing parenthesis is missing."],
  ["2 + 3)", "“)” was not expected after 2 + 3."],
  ["2 3", "“3” was not expected after 2."],
  ["1/0", "A division by zero has no result."],
  ["1 % (2 - 2)", "A division by zero has no result."],
  ["9^999", "The result is too large."],
  ["(-8)^0.5", "There is no real number that is the result."],
  ["process.exit(1)", "“process.exit(1)” is no number and none of + - * / % ^ ( )."],
  ["2 + alert", "“alert” is no number and none of + - * / % ^ ( )."],
  ["1".repeat(501), "The expression is longer than 500 characters."],
])("%j is refused: %s", (expression, problem) => expect(() => calculate(expression)).toThrow(problem));

test("the deepest expression that is short enough does not overflow", () => {
  expect(calculate(`${"(".repeat(249)}1${")".repeat(249)}`)).toBe(1);
  expect(calculate(`${"-".repeat(498)}1`)).toBe(1);
});
