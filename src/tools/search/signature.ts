const DEPTH_MAX = 3;
const FIELDS_MAX = 24;
const CHOICES_MAX = 12;

type Node = { readonly [keyword: string]: unknown };
const isNode = (given: unknown): given is Node => typeof given === "object" && given !== null && !Array.isArray(given);

/**
 * A tool's arguments, written like a TypeScript type. It may be cut, because the schema is declared when the tool is
 * open.
 */
export function signatureOf(name: string, schema: unknown, charsMax: number): string {
  const whole = `${name}(${typeOf(schema, 0)})`;
  return whole.length <= charsMax ? whole : `${cutAt(whole, charsMax - 1)}…`;
}

/** How code calls a tool, and what the call returns: `files.read(input: { path: string }): Promise<string>`. */
export function codeSignature(callee: string, input: unknown, output: unknown, charsMax: number): string {
  const type = typeOf(input, 0);
  const result = output === undefined ? "unknown" : typeOf(output, 0) || "object";
  const whole = `${callee}(${type === "" ? "" : `input: ${type}`}): Promise<${result}>`;
  return whole.length <= charsMax ? whole : `${cutAt(whole, charsMax - 1)}…`;
}

/** The first `chars` characters; one less if the cut would split a surrogate pair. */
export const cutAt = (text: string, chars: number): string =>
  text.slice(0, /[\ud800-\udbff]$/.test(text.slice(0, chars)) ? chars - 1 : chars);

function typeOf(schema: unknown, depth: number): string {
  if (!isNode(schema)) return "any";
  if ("const" in schema) return literal(schema.const);
  if (Array.isArray(schema.enum)) return oneOf(schema.enum.map(literal));
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices))
    return depth >= DEPTH_MAX ? "any" : oneOf(choices.slice(0, CHOICES_MAX + 1).map((each) => typeOf(each, depth + 1)));
  if (Array.isArray(schema.type)) return oneOf(schema.type.map((type) => typeOf({ ...schema, type }, depth)));
  if (schema.type === "array") {
    const item = depth >= DEPTH_MAX ? "any" : typeOf(schema.items, depth + 1);
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type === "object" || isNode(schema.properties)) return fieldsOf(schema, depth);
  return typeof schema.type === "string" ? schema.type : "any";
}

function fieldsOf({ properties, required }: Node, depth: number): string {
  const fields = isNode(properties) ? Object.keys(properties) : [];
  if (fields.length === 0) return depth === 0 ? "" : "object";
  if (depth >= DEPTH_MAX) return "object";
  const needed = new Set(Array.isArray(required) ? required : []);
  // Required fields come first, so that a cut does not remove them.
  const sorted = [...fields.filter((field) => needed.has(field)), ...fields.filter((field) => !needed.has(field))];
  const shown = sorted
    .slice(0, FIELDS_MAX)
    .map((field) => `${field}${needed.has(field) ? "" : "?"}: ${typeOf((properties as Node)[field], depth + 1)}`);
  return `{ ${[...shown, ...(fields.length > FIELDS_MAX ? ["…"] : [])].join(", ")} }`;
}

const literal = (value: unknown): string => cutAt(JSON.stringify(value) ?? "any", 64);
const oneOf = (types: readonly string[]): string => {
  const each = [...new Set(types)];
  return [...each.slice(0, CHOICES_MAX), ...(each.length > CHOICES_MAX ? ["…"] : [])].join(" | ");
};
