// JSON Schemas as forms: which ones fit a form of simple fields, and what the texts of its fields mean.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type Schema = { readonly [name: string]: Json };

export interface Field {
  readonly name: string;
  readonly type: "text" | "number" | "integer" | "boolean" | "choice";
  readonly isRequired: boolean;
  readonly about: string;
  /** Of a choice: the values, as JSON. */
  readonly choices: readonly string[];
  /** The default, as a text of the field. */
  readonly first: string;
}

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const TYPES: { readonly [type: string]: Field["type"] } = {
  string: "text",
  number: "number",
  integer: "integer",
  boolean: "boolean",
};

/** The fields of a simple object: texts, numbers, booleans and choices. Undefined for every other schema. */
export function fieldsOf(schema: unknown): readonly Field[] | undefined {
  if (!isObject(schema) || schema.type !== "object" || !isObject(schema.properties)) return undefined;
  const required: readonly Json[] = Array.isArray(schema.required) ? schema.required : [];
  const fields: Field[] = [];
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isObject(property)) return undefined;
    const choices = Array.isArray(property.enum) ? property.enum.map((each) => JSON.stringify(each)) : [];
    const type = choices.length > 0 ? "choice" : typeof property.type === "string" ? TYPES[property.type] : undefined;
    if (type === undefined) return undefined;
    const { default: first, description, title } = property;
    fields.push({
      name,
      type,
      choices,
      isRequired: required.includes(name),
      about: String(description ?? title ?? ""),
      first: first === undefined ? "" : type === "text" ? String(first) : JSON.stringify(first),
    });
  }
  return fields;
}

/** The object that the texts of the fields mean. An empty text is left out, unless it is a required text. */
export function objectOf(
  fields: readonly Field[],
  texts: { readonly [name: string]: string },
): { [name: string]: Json } {
  const given: [string, Json][] = [];
  for (const { name, type, isRequired, first } of fields) {
    const text = texts[name] ?? first;
    if (text === "" && !(type === "text" && isRequired)) continue;
    given.push([name, type === "text" ? text : (JSON.parse(text) as Json)]);
  }
  return Object.fromEntries(given);
}

/** A value to begin with, for schemas that do not fit a form. */
export function sampleOf(schema: unknown): Json {
  if (!isObject(schema)) return null;
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0] as Json;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object" || isObject(schema.properties)) {
    const properties = isObject(schema.properties) ? schema.properties : {};
    const required: readonly Json[] = Array.isArray(schema.required) ? schema.required : [];
    return Object.fromEntries(
      Object.entries(properties).flatMap(([name, each]) => (required.includes(name) ? [[name, sampleOf(each)]] : [])),
    );
  }
  const samples: { readonly [type: string]: Json } = { string: "", number: 0, integer: 0, boolean: false, array: [] };
  return samples[String(type)] ?? null;
}
