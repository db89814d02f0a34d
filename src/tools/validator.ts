import { type Awaitable, isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { describeThrown, isObject, type JsonObject } from "../model/json.ts";
import {
  type Checked,
  checked,
  type DescribedSchema,
  described,
  isStandard,
  type JsonSchema,
  type Schema,
  type StandardSchemaV1,
} from "../model/schema.ts";
import { plainCheck } from "./plain-schema.ts";

export type Validate = (value: unknown) => Awaitable<Checked>;

/** Makes the check for a schema of any kind. A JSON Schema is compiled once, on first use. */
export function validatorOf(schema: unknown, of: string): Validate {
  return isStandard(schema) ? (value) => standard(schema, value) : fromDocument(schema, of);
}

function standard(schema: Schema, value: unknown): Awaitable<Checked> {
  const result = schema["~standard"].validate(value);
  return isThenable(result) ? result.then(checked) : checked(result);
}

/** The check for a JSON Schema. Refuses a wrong document now, and compiles a valid one when the first value comes. */
function fromDocument(document: unknown, of: string): Validate {
  if (!isObject(document)) throw new RuntimeError("schema.invalid", { of, problem: "it is not a JSON Schema object" });
  if (document.$async !== undefined) throw new RuntimeError("schema.invalid", { of, problem: "it is asynchronous" });
  refuseRemote(document, of, 0);
  let check: DocumentCheck | undefined;
  let compiling: Promise<DocumentCheck> | undefined;
  return (value) => {
    if (check !== undefined) return check(value);
    if (compiling === undefined) {
      check = plain(document);
      if (check !== undefined) return check(value);
      compiling = compile(document, of).then((compiled) => {
        check = compiled;
        return compiled;
      });
    }
    return compiling.then((compiled) => compiled(value));
  };
}

/** Compiles a JSON Schema that will check values later, perhaps in another process. Throws `schema.invalid`. */
export async function requireDocument(document: JsonObject, of: string): Promise<void> {
  refuseRemote(document, of, 0);
  if (plain(document) === undefined) await compile(document, of);
}

type DocumentCheck = (value: unknown) => Checked;
type Document = { readonly $schema?: unknown };

function plain({ $schema: _, ...document }: Document): DocumentCheck | undefined {
  const check = plainCheck(document);
  if (check === undefined) return undefined;
  return (value) => {
    const wrong = check(value);
    return wrong === undefined ? { ok: true, value } : { ok: false, problem: explained(wrong.at, wrong.problem) };
  };
}

const explained = (at: string, problem: string): string => `${at === "" ? "the arguments" : at} ${problem}`;

function refuseRemote(node: unknown, of: string, depth: number): void {
  if (depth > 100) throw new RuntimeError("schema.invalid", { of, problem: "it has more than 100 levels" });
  if (Array.isArray(node)) for (const item of node) refuseRemote(item, of, depth + 1);
  else if (isObject(node)) {
    for (const [key, value] of Object.entries(node)) {
      if ((key === "$ref" || key === "$dynamicRef") && typeof value === "string" && !value.startsWith("#")) {
        throw new RuntimeError("schema.invalid", {
          of,
          problem: `the reference ${value} points outside of the schema`,
        });
      }
      if (key === "$async" && value === true)
        throw new RuntimeError("schema.invalid", { of, problem: "a part of it is asynchronous" });
      refuseRemote(value, of, depth + 1);
    }
  }
}

async function compile({ $schema: _, ...document }: Document, of: string): Promise<DocumentCheck> {
  const { Ajv, meta } = await (loading ??= load());
  try {
    meta.validateSchema(document, true);
    // A separate Ajv for each document, because two documents can have the same `$id`, and the compiled code must be
    // freed with its tool.
    const check = new Ajv({ ...OPTIONS, meta: false, validateSchema: false }).compile(document);
    return (value) => {
      if (check(value)) return { ok: true, value };
      const problems = (check.errors ?? [])
        .slice(0, 8)
        .map(({ instancePath, message }) => explained(instancePath, message ?? "is wrong"));
      return { ok: false, problem: problems.join("; ") };
    };
  } catch (error) {
    throw new RuntimeError("schema.invalid", { of, problem: describeThrown(error) }, { cause: error });
  }
}

const OPTIONS = { strict: false, validateFormats: false, allErrors: false };

let loading: ReturnType<typeof load> | undefined;

/**
 * Loads Ajv, about 100 ms, and compiles the schema of schemas, 20 ms more. This happens once, and only if a schema is
 * not plain.
 */
async function load() {
  const { Ajv2020: Ajv } = await import("ajv/dist/2020.js");
  return { Ajv, meta: new Ajv(OPTIONS) };
}

/**
 * Makes a schema from a JSON Schema document; `T` is the type that you promise for it. The first value compiles it.
 * Options, states and operations are checked synchronously, so their documents must be plain: types, properties, items,
 * enums and bounds.
 */
export function jsonSchema<T>(document: JsonSchema): DescribedSchema<T, T> {
  const validate = fromDocument(document, "jsonSchema()");
  const toResult = (result: Checked): StandardSchemaV1.Result<T> =>
    result.ok ? { value: result.value as T } : { issues: [{ message: result.problem }] };
  const schema: Schema<T, T> = {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate: (value) => {
        const result = validate(value);
        return isThenable(result) ? Promise.resolve(result).then(toResult) : toResult(result);
      },
    },
  };
  return described(schema, document);
}
