// Job: checks values against JSON Schemas of a few keywords, so that Ajv is not loaded for them. Most tools use no
// others.
// plain-schema-1: Accepts exactly the values that Ajv accepts, and reports the same first fault in the same words. This
//     determines the order of everything below.
// plain-schema-2: For all other documents, and for those that Ajv would refuse, `plainCheck` returns undefined, and Ajv
//     checks them.

import { isObject } from "../model/json.ts";

/** The first fault, with its JSON pointer in the value that was checked. */
export interface Wrong {
  readonly at: string;
  readonly problem: string;
}
export type PlainCheck = (value: unknown) => Wrong | undefined;

/** The check for a plain document; undefined if Ajv must check it (plain-schema-2). */
export function plainCheck(schema: unknown): PlainCheck | undefined {
  if (schema === true) return passes;
  if (!isPlainObject(schema)) return undefined;
  const keys = Object.keys(schema).filter((key) => schema[key] !== undefined);
  if (!keys.every((key) => (Object.hasOwn(NOTES, key) ? NOTES[key]?.(schema[key]) : CHECKED.has(key))))
    return undefined;
  const types = typesOf(schema.type);
  if (types === undefined) return undefined;
  const only = types.length === 1 ? types[0] : undefined;
  const wrongType: Wrong = { at: "", problem: `must be ${types.join(",")}` };
  const checks: PlainCheck[] = [];
  let isTypeChecked = types.length === 0;
  for (const { type, rules } of GROUPS) {
    const used = Object.keys(rules).filter((key) => schema[key] !== undefined);
    if (used.length === 0) continue;
    const made = used.map((key) => rules[key]?.(schema[key], schema));
    if (!made.every((check) => check !== undefined)) return undefined;
    const all = inOrder(made.filter((check) => check !== passes));
    if (type === undefined) checks.push(all);
    else {
      const is = IS[type];
      // A single type is checked together with the keywords of that type, as Ajv does. Otherwise another fault could
      // come first.
      const otherwise = type === only ? wrongType : undefined;
      if (otherwise !== undefined) isTypeChecked = true;
      checks.push((value) => (is(value) ? all(value) : otherwise));
    }
  }
  if (!isTypeChecked) {
    const kinds = types.map((type) => IS[type]);
    const is = only === undefined ? (value: unknown) => kinds.some((isOne) => isOne(value)) : IS[only];
    checks.unshift((value) => (is(value) ? undefined : wrongType));
  }
  return inOrder(checks);
}

const passes: PlainCheck = () => undefined;

function inOrder(checks: readonly PlainCheck[]): PlainCheck {
  if (checks.length <= 1) return checks[0] ?? passes;
  return (value) => {
    for (let index = 0; index < checks.length; index++) {
      const wrong = checks[index]?.(value);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

type Fields = { readonly [key: string]: unknown };

/** Refuses objects with a prototype, because Ajv would read inherited keywords. */
function isPlainObject(value: unknown): value is Fields {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

// ── Types ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const IS = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  // Infinity counts as an integer, because Ajv with `strict: false` accepts it and a tool's result can contain it.
  integer: (value) => typeof value === "number" && !(value % 1) && !Number.isNaN(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
} as const satisfies { readonly [type: string]: (value: unknown) => boolean };
type Type = keyof typeof IS;

const isType = (value: unknown): value is Type => typeof value === "string" && Object.hasOwn(IS, value);

function typesOf(given: unknown): readonly Type[] | undefined {
  if (given === undefined) return [];
  if (isType(given)) return [given];
  return Array.isArray(given) && given.length > 0 && given.every(isType) && isDistinct(given) ? given : undefined;
}

const isDistinct = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

// ── Keywords ────────────────────────────────────────────────────────────────────────────────────────────────────────

const isText = (value: unknown): value is string => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isNumber = (value: unknown): value is number => Number.isFinite(value);
const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0;
const isScalar = (value: unknown): boolean => value === null || isText(value) || isFlag(value) || isNumber(value);

/** Keywords that only describe. The types of their values are checked, as Ajv does. */
const NOTES: { readonly [keyword: string]: (value: unknown) => boolean } = {
  title: isText,
  description: isText,
  $comment: isText,
  default: () => true,
  examples: Array.isArray,
  deprecated: isFlag,
  readOnly: isFlag,
  writeOnly: isFlag,
};

/** Makes the check of a keyword; undefined if this file does not support the keyword's value. */
type Rule = (given: unknown, schema: Fields) => PlainCheck | undefined;

/** A rule for values of one type that holds or does not. */
const rule =
  <G, V>(
    isRight: (given: unknown) => given is G,
    problem: (given: G) => string,
    isMet: (value: V, given: G) => boolean,
  ) =>
  (given: unknown): PlainCheck | undefined => {
    if (!isRight(given)) return undefined;
    const wrong: Wrong = { at: "", problem: problem(given) };
    return (value) => (isMet(value as V, given) ? undefined : wrong);
  };

const bound = (sign: string, isMet: (value: number, given: number) => boolean) =>
  rule(isNumber, (given) => `must be ${sign} ${given}`, isMet);
const most = (what: string, count: (value: never) => number) =>
  rule(
    isCount,
    (max) => `must NOT have more than ${max} ${what}`,
    (value: never, max) => count(value) <= max,
  );
const least = (what: string, count: (value: never) => number) =>
  rule(
    isCount,
    (min) => `must NOT have fewer than ${min} ${what}`,
    (value: never, min) => count(value) >= min,
  );

const lengthOf = (value: readonly unknown[]): number => value.length;
const sizeOf = (value: object): number => Object.keys(value).length;
function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function pattern(given: unknown): PlainCheck | undefined {
  if (!isText(given)) return undefined;
  let expression: RegExp;
  try {
    expression = new RegExp(given, "u");
  } catch {
    return undefined;
  }
  const wrong: Wrong = { at: "", problem: `must match pattern "${given}"` };
  return (value) => (expression.test(value as string) ? undefined : wrong);
}

const format = (given: unknown): PlainCheck | undefined => (isText(given) ? passes : undefined);

const isChoice = (given: unknown): given is readonly unknown[] =>
  Array.isArray(given) && given.length > 0 && given.every(isScalar);
const constant = (given: unknown): PlainCheck | undefined =>
  isScalar(given) ? (value) => (value === given ? undefined : NOT_CONSTANT) : undefined;
const NOT_CONSTANT: Wrong = { at: "", problem: "must be equal to constant" };

function items(given: unknown): PlainCheck | undefined {
  const check = plainCheck(given);
  if (check === undefined || check === passes) return check;
  return (value) => {
    const list = value as readonly unknown[];
    for (let index = 0; index < list.length; index++) {
      const wrong = check(list[index]);
      if (wrong !== undefined) return { at: `/${index}${wrong.at}`, problem: wrong.problem };
    }
    return undefined;
  };
}

function required(given: unknown): PlainCheck | undefined {
  // Ajv never reports a missing property with an empty name, so Ajv checks such documents.
  if (!Array.isArray(given) || !given.every((name) => isText(name) && name !== "") || !isDistinct(given))
    return undefined;
  const names: readonly string[] = [...given];
  return (value) => {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string;
      if ((value as Fields)[name] === undefined) return { at: "", problem: `must have required property '${name}'` };
    }
    return undefined;
  };
}

function additionalProperties(given: unknown, schema: Fields): PlainCheck | undefined {
  const check = given === false ? () => NOT_ALLOWED : plainCheck(given);
  if (check === undefined || check === passes) return check;
  const known = new Set(Object.keys(isObject(schema.properties) ? schema.properties : {}));
  return (value) => {
    for (const name in value as Fields) {
      if (known.has(name)) continue;
      const wrong = check((value as Fields)[name]);
      if (wrong !== undefined) return given === false ? wrong : under(name, wrong);
    }
    return undefined;
  };
}
const NOT_ALLOWED: Wrong = { at: "", problem: "must NOT have additional properties" };

function properties(given: unknown): PlainCheck | undefined {
  if (!isPlainObject(given) || Object.hasOwn(given, "__proto__")) return undefined;
  const names = Object.keys(given);
  const checks: PlainCheck[] = [];
  for (const name of names) {
    const check = plainCheck(given[name]);
    if (check === undefined) return undefined;
    checks.push(check);
  }
  return (value) => {
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string;
      const field = (value as Fields)[name];
      const wrong = field === undefined ? undefined : checks[index]?.(field);
      if (wrong !== undefined) return under(name, wrong);
    }
    return undefined;
  };
}

const under = (name: string, { at, problem }: Wrong): Wrong => ({
  at: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}${at}`,
  problem,
});

/** Rules in the order in which Ajv applies them. */
const GROUPS: readonly { readonly type?: Type; readonly rules: { readonly [keyword: string]: Rule } }[] = [
  {
    rules: {
      const: constant,
      enum: rule(
        isChoice,
        () => "must be equal to one of the allowed values",
        (value, choices) => choices.includes(value),
      ),
    },
  },
  {
    type: "number",
    rules: {
      maximum: bound("<=", (value, max) => value <= max),
      minimum: bound(">=", (value, min) => value >= min),
      exclusiveMaximum: bound("<", (value, max) => value < max),
      exclusiveMinimum: bound(">", (value, min) => value > min),
      format,
    },
  },
  {
    type: "string",
    rules: {
      maxLength: most("characters", charactersOf),
      minLength: least("characters", charactersOf),
      pattern,
      format,
    },
  },
  { type: "array", rules: { maxItems: most("items", lengthOf), minItems: least("items", lengthOf), items } },
  {
    type: "object",
    rules: {
      maxProperties: most("properties", sizeOf),
      minProperties: least("properties", sizeOf),
      required,
      additionalProperties,
      properties,
    },
  },
];

const CHECKED: ReadonlySet<string> = new Set(["type", ...GROUPS.flatMap(({ rules }) => Object.keys(rules))]);
