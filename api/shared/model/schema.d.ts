/** Standard Schema v1 (standardschema.dev), by shape: zod, arktype, valibot and others fit without an import. */
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
type Schema<In = Any, Out = Any> = StandardSchemaV1<In, Out>;
interface DescribedSchema<In = Any, Out = Any> {
  readonly "~standard": StandardSchemaV1.Props<In, Out> & {
    readonly jsonSchema: JsonSchemaSource;
  };
}
interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly [keyword: string]: unknown;
  /** Not a field: it makes the compiler say what to do with a schema that cannot describe itself. */
  readonly "~standard"?: "This schema cannot describe itself to a model: wrap it in described(schema, json)";
}
type ToolSchema = DescribedSchema | JsonSchema;
type InputOf<S> = S extends StandardSchemaV1<infer In, Any> ? In : unknown;
type OutputOf<S> = S extends StandardSchemaV1<Any, infer Out> ? Out : unknown;
/** Gives a schema the JSON Schema that it cannot make itself; the two are promised to agree. */
declare function described<In, Out>(schema: Schema<In, Out>, document: JsonSchema): DescribedSchema<In, Out>;
export { Any, DescribedSchema, InputOf, JsonSchema, OutputOf, Schema, ToolSchema, described };
