import { DescribedSchema, JsonSchema } from "../model/schema.js";
/**
 * Makes a schema from a JSON Schema document; `T` is the type that you promise for it. Values are checked when they
 * come. Options, states and operations are checked synchronously, so there it must be plain: types, properties, items,
 * enums and bounds.
 */
declare function jsonSchema<T>(document: JsonSchema): DescribedSchema<T, T>;
export { jsonSchema };
