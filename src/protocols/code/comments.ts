// What declarations say beside their types, and the words for it. Nearly all of it is foreign text: it stays on one line,
// and nothing in it ends its comment.
import { isObject } from "../../model/json.ts";

type Schema = { readonly [keyword: string]: unknown };

const FIELD_CHARS_MAX = 160;
const FACTS_CHARS_MAX = 80;
const FACT_CHARS_MAX = 40;

export const WORDS = {
  /** Where a type contains itself. */
  again: (name: string) => `${name || "all of this"} again`,
  more: (count: number) => `${count} more`,
  names: (module: string) => `// Also in ${module}: `,
};

/** Characters that nobody sees, and those that change the direction of what is around them. */
const UNSEEN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Nearly all texts are clean already, and need not be made so. */
const UNCLEAN = /[^\x20-\x7e]|\*\/| {2}|^ | $/;

/** A text for one line of a comment. */
export function onOneLine(text: string, charsMax: number): string {
  if (text.length <= charsMax && !UNCLEAN.test(text)) return text;
  const plain = text
    .slice(0, 4 * charsMax) // Whoever wrote it wrote as much as they liked; cleaning must not cost that much.
    .replace(/\s+/g, " ")
    .replace(UNSEEN, "")
    .toWellFormed()
    .trim()
    .replaceAll("*/", "* /");
  return plain.length <= charsMax ? plain : `${cutAt(plain, charsMax - 1).trimEnd()}…`;
}
const cutAt = (text: string, chars: number): string =>
  text.slice(0, /[\ud800-\udbff]$/.test(text.slice(0, chars)) ? chars - 1 : chars);

/** A text or a value as JSON, which is TypeScript too: for names, literals and examples. */
export function quoted(value: unknown): string | undefined {
  try {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined || IS_ASCII.test(json) ? json : json.replace(UNSEEN_IN_JSON, escaped);
  } catch {
    return undefined; // It contains itself.
  }
}
const IS_ASCII = /^[\x20-\x7e]*$/;
const UNSEEN_IN_JSON = new RegExp(`${UNSEEN.source}|[\\u2028\\u2029]`, "gu");
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** The comment before a field: what its schema says of it, then what its type cannot say. Empty if that is nothing. */
export function commentOn({ description }: Schema, facts: readonly string[]): string {
  const isDefaultTold = facts.length > 0 && typeof description === "string" && /\bdefault/i.test(description);
  let told = "";
  for (const fact of facts) {
    if (isDefaultTold && fact.startsWith("default")) continue;
    const more = told === "" ? fact : `${told}, ${fact}`;
    if (more.length <= FACTS_CHARS_MAX) told = more;
  }
  told = onOneLine(told, FACTS_CHARS_MAX);
  const room = FIELD_CHARS_MAX - (told === "" ? 0 : told.length + 3);
  const words = typeof description === "string" ? onOneLine(description, room) : "";
  if (words === "" || told === "") return words === told ? "" : `/** ${words}${told} */ `;
  return `/** ${words} (${told}) */ `;
}

/** What a type cannot say, in a few words each. */
export function factsOf(schema: Schema): readonly string[] {
  const { type } = schema;
  const whole = type === "integer" || (Array.isArray(type) && type.includes("integer")) ? ["integer"] : NONE;
  if (!Object.keys(schema).some((keyword) => SAYING.has(keyword))) return whole;
  const { format, pattern, minLength, maxLength, minItems, maxItems, exclusiveMinimum, exclusiveMaximum } = schema;
  const facts = [
    short(format),
    range(schema.minimum, schema.maximum, ""),
    isLimit(exclusiveMinimum) ? `above ${exclusiveMinimum}` : undefined,
    isLimit(exclusiveMaximum) ? `below ${exclusiveMaximum}` : undefined,
    range(minLength === 0 || minLength === 1 ? undefined : minLength, maxLength, " characters"),
    range(minItems === 0 ? undefined : minItems, maxItems, " items"),
    short(pattern) === undefined ? undefined : `matches ${pattern}`,
    defaultOf(schema.default),
    schema.deprecated === true ? "deprecated" : undefined,
  ];
  return [...whole, ...facts.filter((fact) => fact !== undefined)];
}
const NONE: readonly string[] = [];
const SAYING: ReadonlySet<string> = new Set(
  (
    "format minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems pattern default " +
    "deprecated"
  ).split(" "),
);

/** Numbers at the end of what can be counted say nothing: some libraries write them for every integer. */
const isLimit = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && Math.abs(value) < Number.MAX_SAFE_INTEGER;

function range(min: unknown, max: unknown, unit: string): string | undefined {
  if (isLimit(min) && isLimit(max)) return `${min === max ? min : `${min} to ${max}`}${unit}`;
  if (isLimit(max)) return `at most ${max}${unit}`;
  return isLimit(min) ? `at least ${min}${unit}` : undefined;
}

const short = (text: unknown): string | undefined =>
  typeof text === "string" && text !== "" && text.length <= FACT_CHARS_MAX ? text : undefined;

function defaultOf(value: unknown): string | undefined {
  if (value === undefined || value === null || (isObject(value) && Object.keys(value).length > 4)) return undefined;
  const json = short(quoted(value));
  return json === undefined ? undefined : `default ${json}`;
}
