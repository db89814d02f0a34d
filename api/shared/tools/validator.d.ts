import { DescribedSchema, JsonSchema } from "../model/schema.js";
/**
 * A JSON Schema whose type you promise: values are checked when they come. Where no promise may be waited for (options,
 * states, operations) it must be plain: types, properties, items, enums and bounds.
 */
declare function jsonSchema<T>(document: JsonSchema): DescribedSchema<T, T>;
export { jsonSchema };
