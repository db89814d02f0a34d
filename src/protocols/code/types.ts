// Converts a JSON Schema to a TypeScript type. Schemas are untrusted input: an unusual, cyclic or huge schema becomes a
// simpler type, or in the end `unknown`, and never an error. The result is always a valid type, and the same for the
// same schema.
import { isObject } from "../../model/json.ts";
import { commentOn, factsOf, onOneLine, quoted, WORDS } from "./comments.ts";

type Schema = { readonly [keyword: string]: unknown };

/** A union of intersections of atoms: `A | B & C`. */
type Type = readonly (readonly string[])[];

const UNKNOWN: Type = [["unknown"]];
const NULL: Type = [["null"]];

const LINE_CHARS_MAX = 100;
const LITERAL_CHARS_MAX = 100;
const NAME_CHARS_MAX = 200;
/** The maximum nesting of schemas by any keyword. Deeper ones could overflow the stack. */
const NESTING_MAX = 40;

interface Detail {
  readonly depthMax: number;
  readonly fieldsMax: number;
  readonly choicesMax: number;
  /** The depth to which fields have comments. */
  readonly commentsTo: number;
}
/** From full detail to very little. The first level that fits is used. */
const DETAILS: readonly Detail[] = [
  { depthMax: 8, fieldsMax: 100, choicesMax: 50, commentsTo: 8 },
  { depthMax: 8, fieldsMax: 100, choicesMax: 50, commentsTo: 1 },
  { depthMax: 3, fieldsMax: 60, choicesMax: 20, commentsTo: 1 },
  { depthMax: 2, fieldsMax: 60, choicesMax: 20, commentsTo: 0 },
  { depthMax: 1, fieldsMax: 20, choicesMax: 8, commentsTo: 0 },
  { depthMax: 1, fieldsMax: 5, choicesMax: 4, commentsTo: 0 },
];

export interface TypeBounds {
  readonly charsMax: number;
  /** The columns before the line of the type. Its further lines get the same indent. */
  readonly indent?: number;
}

/**
 * Returns the type of values that match a schema, for `type X = …`. It has at most `charsMax` characters, or is
 * `unknown`.
 */
export function typeOf(schema: unknown, { charsMax, indent = 0 }: TypeBounds): string {
  try {
    for (const detail of DETAILS) {
      const text = new Writing(schema, detail, charsMax).text(indent);
      if (text !== undefined && text.length <= charsMax) return text;
    }
  } catch {
    // The object is not JSON: its getters may throw.
  }
  return "unknown";
}

/** One attempt at a type. */
class Writing {
  readonly #root: unknown;
  readonly #detail: Detail;
  /**
   * Characters that are left. Every leaf takes some, so that an attempt ends soon with any schema. Below 0 it has
   * failed.
   */
  #left: number;
  #nesting = 0;
  /** Schemas that are being written. One that occurs again contains itself. */
  readonly #open = new Set<unknown>();

  constructor(root: unknown, detail: Detail, charsMax: number) {
    this.#root = root;
    this.#detail = detail;
    this.#left = charsMax;
  }

  text(indent: number): string | undefined {
    this.#open.add(this.#root);
    const text = textOf(this.#type(this.#root, 0, indent));
    return this.#left < 0 ? undefined : text;
  }

  #type(schema: unknown, depth: number, indent: number): Type {
    if (schema === false) return this.#leaf("never");
    if (!isObject(schema) || this.#nesting >= NESTING_MAX || this.#left < 0) return this.#leaf("unknown");
    this.#nesting++;
    const type = this.#all(schema, depth, indent);
    this.#nesting--;
    return schema.nullable === true ? union([type, NULL]) : type;
  }

  /** Returns the intersection of all parts of a schema. */
  #all(schema: Schema, depth: number, indent: number): Type {
    const { $ref, allOf, anyOf, oneOf } = schema;
    if ($ref === undefined && allOf === undefined && anyOf === undefined && oneOf === undefined)
      return this.#own(schema, depth, indent);
    const within = (inner: unknown): Type => this.#type(inner, depth, indent);
    const types: Type[] = [];
    if (isText($ref)) types.push(this.#referred($ref, depth, indent));
    for (const each of this.#some(allOf)) types.push(within(each));
    for (const choices of [anyOf, oneOf])
      if (Array.isArray(choices) && choices.length > 0)
        types.push(this.#cut(union(this.#some(choices).map(within)), choices));
    const known = types.filter(isTelling);
    // `type: "object"` beside `anyOf` adds nothing to the choices.
    if (known.length > 0 && !SHAPES.some((keyword) => Object.hasOwn(schema, keyword))) return intersection(known);
    const own = this.#own(schema, depth, indent);
    return known.length === 0 ? own : intersection([own, ...known].filter(isTelling));
  }

  #own(schema: Schema, depth: number, indent: number): Type {
    if (Object.hasOwn(schema, "const")) return this.#leaf(literal(schema.const));
    if (Array.isArray(schema.enum) && schema.enum.length > 0)
      return this.#cut(union(this.#some(schema.enum).map((value) => this.#leaf(literal(value)))), schema.enum);
    if (!Array.isArray(schema.type)) return this.#typed(schema.type ?? impliedType(schema), schema, depth, indent);
    const types = schema.type.slice(0, TYPES_MAX);
    return types.length === 0
      ? this.#leaf("unknown")
      : union(types.map((type) => this.#typed(type, schema, depth, indent)));
  }

  #typed(type: unknown, schema: Schema, depth: number, indent: number): Type {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return this.#leaf(type);
      case "integer":
        return this.#leaf("number");
      case "array":
        return this.#array(schema, depth, indent);
      case "object":
        return this.#object(schema, depth, indent);
      default:
        return this.#leaf("unknown");
    }
  }

  #array({ items, prefixItems, additionalItems, minItems }: Schema, depth: number, indent: number): Type {
    const within = (inner: unknown): string => atomOf(this.#type(inner, depth, indent));
    const tuple = [prefixItems, items].find(Array.isArray);
    if (tuple === undefined) return atom(`${within(items)}[]`);
    const rest = tuple === prefixItems ? items : additionalItems;
    const shown = this.#some(tuple);
    const needed = typeof minItems === "number" ? minItems : shown.length;
    const each = shown.map((item, index) => `${within(item)}${index < needed ? "" : "?"}`);
    if (shown.length < tuple.length) each.push("...unknown[]");
    else if (rest === true || isObject(rest)) each.push(`...${within(rest)}[]`);
    return atom(`[${each.join(", ")}]`);
  }

  #object(schema: Schema, depth: number, indent: number): Type {
    const properties = isObject(schema.properties) ? schema.properties : {};
    const needed = new Set(Array.isArray(schema.required) ? schema.required.filter(isText) : []);
    const names = Object.keys(properties);
    for (const name of needed) if (!Object.hasOwn(properties, name)) names.push(name);
    const others = this.#others(schema, depth, indent);
    if (names.length === 0) {
      if (others.length > 0) return atom(`{ [name: string]: ${textOf(union(others))} }`);
      return this.#leaf(schema.additionalProperties === false || isObject(schema.properties) ? "{}" : ANYTHING);
    }
    if (depth >= this.#detail.depthMax) return this.#leaf("object");
    const shown = this.#chosen(names, needed);
    const fields = shown.map((name) =>
      this.#field(name, needed.has(name), Object.hasOwn(properties, name) ? properties[name] : true, depth, indent + 2),
    );
    const isOpen = others.length > 0 && !isTelling(union(others));
    if (shown.length < names.length) fields.push(`/** ${WORDS.more(names.length - shown.length)} */ ${ANY_FIELD}`);
    else if (isOpen) fields.push(ANY_FIELD);
    const object = atom(braced(fields, indent));
    // Beside fields of other types, a separate index signature would be an error in TypeScript.
    return others.length === 0 || isOpen
      ? object
      : intersection([object, atom(`{ [name: string]: ${textOf(union(others))} }`)]);
  }

  /** Returns the types of fields whose names are not fixed. */
  #others({ patternProperties, additionalProperties }: Schema, depth: number, indent: number): readonly Type[] {
    if (patternProperties === undefined && additionalProperties === undefined) return [];
    const patterns = isObject(patternProperties) ? this.#some(Object.values(patternProperties)) : [];
    const isMore = additionalProperties === true || isObject(additionalProperties);
    const schemas = isMore ? [...patterns, additionalProperties] : patterns;
    if (depth >= this.#detail.depthMax) return schemas.length === 0 ? [] : [UNKNOWN];
    return schemas.map((schema) => this.#type(schema, depth + 1, indent));
  }

  /** Returns the names to show, in order. If not all fit, required ones have priority. */
  #chosen(names: readonly string[], needed: ReadonlySet<string>): readonly string[] {
    const isShort = (name: string): boolean => name.length <= NAME_CHARS_MAX;
    const writable = names.every(isShort) ? names : names.filter(isShort);
    if (writable.length <= this.#detail.fieldsMax) return writable;
    const isNeeded = (name: string): boolean => needed.has(name);
    const ranked = [...writable.filter(isNeeded), ...writable.filter((name) => !isNeeded(name))];
    const chosen = new Set(ranked.slice(0, this.#detail.fieldsMax));
    return writable.filter((name) => chosen.has(name));
  }

  #field(name: string, isNeeded: boolean, schema: unknown, depth: number, indent: number): string {
    const comment = depth < this.#detail.commentsTo && isObject(schema) ? this.#comment(schema) : "";
    const key = IDENTIFIER.test(name) ? name : (quoted(name) as string);
    this.#left -= comment.length + key.length;
    return `${comment}${key}${isNeeded ? "" : "?"}: ${textOf(this.#type(schema, depth + 1, indent))}`;
  }

  /** Returns the comment of a field, from its schema or the one that it refers to. */
  #comment(schema: Schema): string {
    const facts = factsOf(schema);
    if (isText(schema.description) && facts.length > 0) return commentOn(schema, facts);
    const only = this.#only(schema);
    return commentOn(isText(schema.description) ? schema : only, facts.length > 0 ? facts : factsOf(only));
  }

  /** Returns the schema that another one stands for: its reference, or its only choice besides null. */
  #only({ $ref, anyOf, oneOf }: Schema): Schema {
    if (isText($ref)) {
      const target = this.#find($ref);
      return isObject(target) ? target : {};
    }
    const choices = this.#some(anyOf ?? oneOf).filter((each) => isObject(each) && each.type !== "null");
    return choices.length === 1 ? (choices[0] as Schema) : {};
  }

  #referred(ref: string, depth: number, indent: number): Type {
    const target = this.#find(ref);
    if (this.#open.has(target)) {
      const name = onOneLine(ref.slice(ref.lastIndexOf("/") + 1).replace(/^#/, ""), 40);
      return this.#leaf(this.#detail.commentsTo === 0 ? "unknown" : `/* ${WORDS.again(name)} */ unknown`);
    }
    this.#open.add(target);
    const type = this.#type(target, depth, indent);
    this.#open.delete(target);
    return type;
  }

  /** Returns the schema at a path in this one, such as `#/$defs/Node`. Other references are not resolved. */
  #find(ref: string): unknown {
    const [start, ...path] = decoded(ref).split("/");
    let at = start === "#" ? this.#root : undefined;
    for (const step of path) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined;
      at = (at as Schema)[key];
    }
    return at;
  }

  #some(list: unknown): readonly unknown[] {
    return Array.isArray(list) ? list.slice(0, this.#detail.choicesMax) : [];
  }

  /** Adds the number of omitted choices. */
  #cut(type: Type, choices: readonly unknown[]): Type {
    const missing = choices.length - this.#detail.choicesMax;
    if (missing <= 0) return type;
    return union([type, this.#leaf(`/* ${WORDS.more(missing)} */ ${choices.every(isText) ? "string" : "unknown"}`)]);
  }

  #leaf(text: string): Type {
    this.#left -= text.length;
    return [[text]];
  }
}

const ANY_FIELD = "[name: string]: unknown";
const ANYTHING = `{ ${ANY_FIELD} }`;
const TYPES_MAX = 7; // JSON Schema has seven types.
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
/** Keywords that say more than the type. */
const SHAPES = ["const", "enum", "properties", "required", "patternProperties", "items", "prefixItems"];
const isText = (value: unknown): value is string => typeof value === "string";

function decoded(ref: string): string {
  try {
    return decodeURIComponent(ref);
  } catch {
    return ref;
  }
}

function impliedType(schema: Schema): "object" | "array" | undefined {
  const has = (keyword: string): boolean => Object.hasOwn(schema, keyword);
  if (["properties", "required", "additionalProperties", "patternProperties"].some(has)) return "object";
  return ["items", "prefixItems"].some(has) ? "array" : undefined;
}

function literal(value: unknown): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  const json = quoted(value);
  if (json !== undefined && json.length <= LITERAL_CHARS_MAX) return json; // JSON is also a valid literal type.
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "unknown[]";
  return isObject(value) ? "object" : "unknown";
}

/** Returns one line if that is short. */
function braced(fields: readonly string[], indent: number): string {
  const line = `{ ${fields.join("; ")} }`;
  if (indent + line.length <= LINE_CHARS_MAX && !line.includes("\n")) return line;
  const margin = " ".repeat(indent);
  return `{\n${fields.map((field) => `${margin}  ${field};\n`).join("")}${margin}}`;
}

const atom = (text: string): Type => [[text]];
const isAtom = (type: Type): boolean => type.length === 1 && type[0]?.length === 1;
const textOf = (type: Type): string =>
  isAtom(type) ? (type[0]?.[0] as string) : type.map((atoms) => atoms.join(" & ")).join(" | ");
const atomOf = (type: Type): string => (isAtom(type) ? textOf(type) : `(${textOf(type)})`);
/** Returns whether a type excludes some values. */
const isTelling = (type: Type): boolean => !["unknown", "{}", ANYTHING].includes(textOf(type));

function union(types: readonly Type[]): Type {
  const seen = new Set<string>();
  const each: (readonly string[])[] = [];
  for (const atoms of types.flat()) {
    const text = atoms.join(" & ");
    if (!seen.has(text)) each.push(atoms);
    seen.add(text);
  }
  return each;
}
function intersection(types: readonly Type[]): Type {
  const [first = UNKNOWN, ...more] = types;
  if (more.length === 0) return first;
  return [[...new Set(types.flatMap((type) => (type.length === 1 ? (type[0] ?? []) : [atomOf(type)])))]];
}
