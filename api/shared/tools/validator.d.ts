import { DescribedSchema, JsonSchema } from "../model/schema.js";
/**
 * Makes a schema from a JSON Schema document; `T` is the type that you promise for it. The first value compiles it.
 * Options, states and operations are checked synchronously, so their documents must be plain: types, properties, items,
 * enums and bounds.
 */
declare function jsonSchema<T>(document: JsonSchema): DescribedSchema<T, T>;
export { jsonSchema };
