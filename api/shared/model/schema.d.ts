/**
 * Standard Schema v1 (standardschema.dev), as a type: schemas of zod, arktype, valibot and others match it without an
 * import.
 */
interface StandardSchemaV1<In = unknown, Out = In> {
  readonly "~standard": StandardSchemaV1.Props<In, Out>;
}
declare namespace StandardSchemaV1 {
  interface Props<In = unknown, Out = In> {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Out> | Promise<Result<Out>>;
    readonly types?: {
      readonly input: In;
      readonly output: Out;
    } | undefined;
  }
  type Result<Out> = {
    readonly value: Out;
    readonly issues?: undefined;
  } | {
    readonly issues: readonly Issue[];
  };
  interface Issue {
    readonly message: string;
    readonly path?: readonly (PropertyKey | {
      readonly key: PropertyKey;
    })[] | undefined;
  }
}
/** Standard JSON Schema v1: a schema that can describe itself to a model. */
interface JsonSchemaSource {
  readonly input: (options: {
    readonly target: "draft-2020-12";
  }) => Record<string, unknown>;
  readonly output: (options: {
    readonly target: "draft-2020-12";
  }) => Record<string, unknown>;
}
type Any = any;
/** Any Standard Schema. `In` is the type that it accepts, `Out` the type of its result. */
type Schema<In = Any, Out = Any> = StandardSchemaV1<In, Out>;
/** A Standard Schema that can describe itself to a model as JSON Schema, for example one made with zod. */
interface DescribedSchema<In = Any, Out = Any> {
  readonly "~standard": StandardSchemaV1.Props<In, Out> & {
    readonly jsonSchema: JsonSchemaSource;
  };
}
/** A JSON Schema document, draft 2020-12, without remote `$ref`. */
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
  /** Not a field. If a schema cannot describe itself, the compiler shows this type, which contains the hint. */
  readonly "~standard"?: "This schema cannot describe itself to a model: wrap it in described(schema, json)";
}
/** A schema that can be shown to a model: a self-describing Standard Schema, or a JSON Schema document. */
type ToolSchema = DescribedSchema | JsonSchema;
type InputOf<S> = S extends StandardSchemaV1<infer In, Any> ? In : unknown;
type OutputOf<S> = S extends StandardSchemaV1<Any, infer Out> ? Out : unknown;
/** Attaches a JSON Schema to a schema that cannot make one itself. The two must agree; nothing checks that. */
declare function described<In, Out>(schema: Schema<In, Out>, document: JsonSchema): DescribedSchema<In, Out>;
export { Any, DescribedSchema, InputOf, JsonSchema, OutputOf, Schema, ToolSchema, described };
