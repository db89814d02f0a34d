import { isObject, type JsonObject } from "../model/json.ts";
import { documentOf, type ToolSchema } from "../model/schema.ts";
import { type Validate, validatorOf } from "../tools/validator.ts";

/** The typed result a caller asked for: its schema as a document for the turn, and live for the gate. */
export interface TypedOutput {
  readonly document: JsonObject;
  readonly check: Validate;
}

const OF_TURN = "the output of the turn";

/** Models hand results in as a tool's arguments, which are objects: anything else travels as the field `value` of one. */
export function typed(schema: ToolSchema): TypedOutput {
  const { $schema: _, ...document } = documentOf(schema, OF_TURN);
  const check = validatorOf(schema, OF_TURN);
  if (document.type === "object") return { document, check };
  const { $defs, ...value } = document;
  return {
    document: { type: "object", properties: { value }, required: ["value"], ...($defs === undefined ? {} : { $defs }) },
    check: (input) =>
      isObject(input) && "value" in input ? check(input.value) : { ok: false, problem: "value: it is missing" },
  };
}
