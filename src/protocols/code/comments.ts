// The comments of declarations. Nearly all of their text is untrusted, so it is kept on one line and cannot end the
// comment.
import { isObject } from "../../model/json.ts";

type Schema = { readonly [keyword: string]: unknown };

const FIELD_CHARS_MAX = 160;
const FACTS_CHARS_MAX = 80;
const FACT_CHARS_MAX = 40;

export const WORDS = {
  /** Marks a type that contains itself. */
  again: (name: string) => `${name || "all of this"} again`,
  more: (count: number) => `${count} more`,
  names: (module: string) => `// Also in ${module}: `,
};

/** Invisible characters, and characters that change the text direction. */
const UNSEEN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Nearly all texts match nothing here and are used unchanged. */
const UNCLEAN = /[^\x20-\x7e]|\*\/| {2}|^ | $/;

/** Returns a text as one line of a comment. */
export function onOneLine(text: string, charsMax: number): string {
  if (text.length <= charsMax && !UNCLEAN.test(text)) return text;
  const plain = text
    .slice(0, 4 * charsMax) // Cut first, because a foreign text may be huge and cleaning must not cost that much.
    .replace(/\s+/g, " ")
    .replace(UNSEEN, "")
    .toWellFormed()
    .trim()
    .replaceAll("*/", "* /");
  return plain.length <= charsMax ? plain : `${cutAt(plain, charsMax - 1).trimEnd()}…`;
}
const cutAt = (text: string, chars: number): string =>
  text.slice(0, /[\ud800-\udbff]$/.test(text.slice(0, chars)) ? chars - 1 : chars);

/** Returns a value as JSON, which is valid TypeScript: for names, literals and examples. */
export function quoted(value: unknown): string | undefined {
  try {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined || IS_ASCII.test(json) ? json : json.replace(UNSEEN_IN_JSON, escaped);
  } catch {
    return undefined; // The value contains itself.
  }
}
const IS_ASCII = /^[\x20-\x7e]*$/;
const UNSEEN_IN_JSON = new RegExp(`${UNSEEN.source}|[\\u2028\\u2029]`, "gu");
const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * Returns the comment before a field: its description, then what its type cannot express. Empty if there is neither.
 */
export function commentOn({ description }: Schema, facts: readonly string[]): string {
  const isDefaultTold = facts.length > 0 && typeof description === "string" && /\bdefault/i.test(description);
  let joinedFacts = "";
  for (const fact of facts) {
    if (isDefaultTold && fact.startsWith("default")) continue;
    const more = joinedFacts === "" ? fact : `${joinedFacts}, ${fact}`;
    if (more.length <= FACTS_CHARS_MAX) joinedFacts = more;
  }
  joinedFacts = onOneLine(joinedFacts, FACTS_CHARS_MAX);
  const room = FIELD_CHARS_MAX - (joinedFacts === "" ? 0 : joinedFacts.length + 3);
  const words = typeof description === "string" ? onOneLine(description, room) : "";
  if (words === "" || joinedFacts === "") return words === joinedFacts ? "" : `/** ${words}${joinedFacts} */ `;
  return `/** ${words} (${joinedFacts}) */ `;
}

/** Returns short notes about what a type cannot express. */
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

/** Limits at the end of the safe integers are noise that some libraries write for every integer. */
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
