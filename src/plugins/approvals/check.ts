// Tests of a call's arguments. A test returns true, false, or undefined if the value cannot be tested. The rule decides
// what undefined means, because the safe result depends on the rule.
import type { Fields } from "../../plugin.ts";

export type Scalar = string | number | boolean | null;

/** Tests of one argument; all of them must pass. */
export interface ArgumentTest {
  readonly gt?: number | undefined;
  readonly gte?: number | undefined;
  readonly lt?: number | undefined;
  readonly lte?: number | undefined;
  /** The value is one of these. */
  readonly in?: readonly Scalar[] | undefined;
  /** A regular expression that matches the text from beginning to end. */
  readonly matches?: string | undefined;
  /** A text that the value contains. */
  readonly contains?: string | undefined;
  /** Whether the argument is present. */
  readonly exists?: boolean | undefined;
}

type Truth = boolean | undefined;
type Test = (value: unknown) => Truth;

/** Tests arguments by all conditions of a rule. Without conditions, all calls pass. */
export function checkOf(when: Fields | undefined): Test {
  if (when === undefined) return () => true;
  return all(
    when.names.map((path) => {
      const steps = path.split(".");
      if (steps.includes("")) throw when.wrong("must be the path of an argument, such as order.total", path);
      const test = testOf(when, path);
      return (input) => test(at(input, steps));
    }),
  );
}

const at = (input: unknown, steps: readonly string[]): unknown =>
  steps.reduce<unknown>(
    (value, step) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, step)
        ? (value as { readonly [field: string]: unknown })[step]
        : undefined,
    input,
  );

function testOf(when: Fields, path: string): Test {
  const wanted = when.value(path);
  if (isScalar(wanted)) return same(wanted);
  const given = when.object(path);
  given.only("gt", "gte", "lt", "lte", "in", "matches", "contains", "exists");
  const tests: Test[] = [];
  const gt = given.checked("gt", isNumber, "a number", undefined);
  const gte = given.checked("gte", isNumber, "a number", undefined);
  const lt = given.checked("lt", isNumber, "a number", undefined);
  const lte = given.checked("lte", isNumber, "a number", undefined);
  const among = given.checked("in", isScalars, "a list of texts, numbers, true, false and null", undefined);
  const matches = given.checked("matches", isExpression, "a regular expression, as a text", undefined);
  const contains = given.text("contains", undefined);
  const exists = given.flag("exists", undefined);
  if (gt !== undefined) tests.push(onNumber((value) => value > gt));
  if (gte !== undefined) tests.push(onNumber((value) => value >= gte));
  if (lt !== undefined) tests.push(onNumber((value) => value < lt));
  if (lte !== undefined) tests.push(onNumber((value) => value <= lte));
  if (among !== undefined) tests.push(any(among.map(same)));
  if (matches !== undefined) {
    const whole = expressionOf(matches);
    tests.push(onText((value) => whole.test(value)));
  }
  if (contains !== undefined) tests.push(onText((value) => value.includes(contains)));
  if (exists !== undefined) tests.push((value) => (value !== undefined) === exists);
  if (tests.length === 0) throw when.wrong("must have at least one test", path);
  return all(tests);
}

// ── Logic with a third value: what is not known spoils a test only where it could change the result ─────────────────

const all =
  (tests: readonly Test[]): Test =>
  (value) => {
    const found = tests.map((test) => test(value));
    return found.includes(false) ? false : found.includes(undefined) ? undefined : true;
  };

const any =
  (tests: readonly Test[]): Test =>
  (value) => {
    const found = tests.map((test) => test(value));
    return found.includes(true) ? true : found.includes(false) ? false : undefined;
  };

const same =
  (wanted: Scalar): Test =>
  (value) => {
    if (value === undefined || value === wanted) return value === undefined ? undefined : true;
    // A tool can accept "7" as 7. So a text and a number that look alike are neither equal nor different.
    return wanted === null || typeof value === typeof wanted ? false : undefined;
  };

const onNumber =
  (isRight: (value: number) => boolean): Test =>
  (value) =>
    typeof value === "number" ? isRight(value) : undefined;

const onText =
  (isRight: (value: string) => boolean): Test =>
  (value) =>
    typeof value === "string" ? isRight(value) : undefined;

const expressionOf = (source: string): RegExp => new RegExp(`^(?:${source})$`, "s");

const isNumber = (given: unknown): given is number => Number.isFinite(given);
const isScalar = (given: unknown): given is Scalar =>
  given === null || isNumber(given) || /^(string|boolean)$/.test(typeof given);
const isScalars = (given: unknown): given is readonly Scalar[] =>
  Array.isArray(given) && given.length > 0 && given.every(isScalar);
const isExpression = (given: unknown): given is string => {
  try {
    return typeof given === "string" && expressionOf(given) instanceof RegExp;
  } catch {
    return false;
  }
};
