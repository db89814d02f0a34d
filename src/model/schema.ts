import { RuntimeError } from "./errors.ts";
import { isObject, type JsonObject } from "./json.ts";

/**
 * Standard Schema v1 (standardschema.dev), as a type: schemas of zod, arktype, valibot and others match it without an
 * import.
 */
export interface StandardSchemaV1<In = unknown, Out = In> {
  readonly "~standard": StandardSchemaV1.Props<In, Out>;
}
export declare namespace StandardSchemaV1 {
  interface Props<In = unknown, Out = In> {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Out> | Promise<Result<Out>>;
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
  }
  type Result<Out> = { readonly value: Out; readonly issues?: undefined } | { readonly issues: readonly Issue[] };
  interface Issue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  }
}
/** Standard JSON Schema v1: a schema that can describe itself to a model. */
export interface JsonSchemaSource {
  readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
  readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: a value of any type fits where only what is inferred from it matters
export type Any = any;

/** Any Standard Schema. `In` is the type that it accepts, `Out` the type of its result. */
export type Schema<In = Any, Out = Any> = StandardSchemaV1<In, Out>;
/** A Standard Schema that can describe itself to a model as JSON Schema, for example one made with zod. */
export interface DescribedSchema<In = Any, Out = Any> {
  readonly "~standard": StandardSchemaV1.Props<In, Out> & { readonly jsonSchema: JsonSchemaSource };
}
/** A JSON Schema document, draft 2020-12, without remote `$ref`. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
  /** Not a field. If a schema cannot describe itself, the compiler shows this type, which contains the hint. */
  readonly "~standard"?: "This schema cannot describe itself to a model: wrap it in described(schema, json)";
}
/** A schema that can be shown to a model: a self-describing Standard Schema, or a JSON Schema document. */
export type ToolSchema = DescribedSchema | JsonSchema;

export type InputOf<S> = S extends StandardSchemaV1<infer In, Any> ? In : unknown;
export type OutputOf<S> = S extends StandardSchemaV1<Any, infer Out> ? Out : unknown;

export type Checked<T = unknown> =
  | { readonly ok: true; readonly value: T }
  /** One line for a model or a person, with the paths of the wrong values. */
  | { readonly ok: false; readonly problem: string };

/**
 * Runs a synchronous schema. Throws for an asynchronous schema, because the values of state and options must be
 * available at once.
 */
export function check<Out>(schema: Schema<Any, Out>, value: unknown, of: string): Checked<Out> {
  const result = schema["~standard"].validate(value);
  if (result instanceof Promise) {
    result.catch(() => {});
    throw new RuntimeError("schema.invalid", { of, problem: "it is asynchronous" });
  }
  return checked(result);
}

export const checked = <Out>(result: StandardSchemaV1.Result<Out>): Checked<Out> =>
  result.issues === undefined ? { ok: true, value: result.value } : { ok: false, problem: explain(result.issues) };

function explain(issues: readonly StandardSchemaV1.Issue[]): string {
  const shown = issues.slice(0, 8).map(({ message, path }) => {
    const at = (path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  return shown.join("; ") + (issues.length > 8 ? `; and ${issues.length - 8} more` : "");
}

/** Attaches a JSON Schema to a schema that cannot make one itself. The two must agree; nothing checks that. */
export function described<In, Out>(schema: Schema<In, Out>, document: JsonSchema): DescribedSchema<In, Out> {
  const json = (): Record<string, unknown> => document as Record<string, unknown>;
  return { "~standard": { ...schema["~standard"], jsonSchema: { input: json, output: json } } };
}

export const isStandard = (schema: unknown): schema is StandardSchemaV1 =>
  (typeof schema === "object" || typeof schema === "function") &&
  schema !== null &&
  isObject((schema as { "~standard"?: unknown })["~standard"]) &&
  typeof (schema as StandardSchemaV1)["~standard"].validate === "function";

/** The JSON Schema of this schema's input, to show to a model. */
export function documentOf(schema: unknown, of: string): JsonObject {
  if (!isStandard(schema)) {
    if (!isObject(schema))
      throw new RuntimeError("schema.invalid", {
        of,
        problem: "it is neither a Standard Schema nor a JSON Schema object",
      });
    return schema as JsonObject;
  }
  const source = (schema["~standard"] as { jsonSchema?: JsonSchemaSource }).jsonSchema;
  if (typeof source?.input !== "function") throw new RuntimeError("schema.undescribed", { of });
  try {
    return source.input({ target: "draft-2020-12" }) as JsonObject;
  } catch (error) {
    throw new RuntimeError(
      "schema.invalid",
      { of, problem: error instanceof Error ? error.message : "it cannot be described" },
      { cause: error },
    );
  }
}
