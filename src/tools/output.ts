import { isObject, type Json, type JsonObject } from "../model/json.ts";
import { documentOf, type ToolSchema } from "../model/schema.ts";
import { type Validate, validatorOf } from "./validator.ts";

/** The typed result that a caller asked for: its schema as a document for the turn, and as a function for the gate. */
export interface TypedOutput {
  readonly output: JsonObject;
  readonly unwraps?: true;
  readonly check: Validate;
}

const OF_TURN = "the output of the turn";

/**
 * Models return the result as a tool's arguments, which must be an object. So any other result is the field `value` of
 * an object.
 */
export function typed(schema: ToolSchema): TypedOutput {
  const { $schema: _, ...document } = documentOf(schema, OF_TURN);
  const check = validatorOf(schema, OF_TURN);
  if (document.type === "object") return { output: document, check };
  return { output: wrapped(document), unwraps: true, check: unwrapped(check) };
}

/** Changes references to the root, because the document is now inside another one. */
function wrapped({ $defs, ...document }: JsonObject): JsonObject {
  const defs = ($defs ?? {}) as JsonObject;
  if (!hasOwnRefs(document) && !hasOwnRefs(defs))
    return {
      type: "object",
      properties: { value: document },
      required: ["value"],
      ...($defs === undefined ? {} : { $defs }),
    };
  let root = "value";
  while (Object.hasOwn(defs, root)) root += "_";
  const moved = (node: Json): Json => {
    if (Array.isArray(node)) return node.map(moved);
    if (!isObject(node)) return node;
    return Object.fromEntries(
      Object.entries(node as JsonObject).map(([key, value]) => [
        key,
        key === "$ref" && typeof value === "string" && isOwnRef(value)
          ? `#/$defs/${root}${value.slice(1)}`
          : moved(value),
      ]),
    );
  };
  return {
    type: "object",
    properties: { value: { $ref: `#/$defs/${root}` } },
    required: ["value"],
    $defs: { ...(moved(defs) as JsonObject), [root]: moved(document) },
  };
}
const isOwnRef = (ref: string): boolean => ref === "#" || (ref.startsWith("#/") && !ref.startsWith("#/$defs/"));
const hasOwnRefs = (node: Json): boolean => {
  if (Array.isArray(node)) return node.some(hasOwnRefs);
  if (!isObject(node)) return false;
  return Object.entries(node as JsonObject).some(
    ([key, value]) => (key === "$ref" && typeof value === "string" && isOwnRef(value)) || hasOwnRefs(value),
  );
};

const unwrapped =
  (check: Validate): Validate =>
  (input) =>
    isObject(input) && "value" in input ? check(input.value) : { ok: false, problem: "value: it is missing" };

/** The check of a turn whose caller is in another process, made from the stored document. */
export function checkOf({
  output,
  unwraps,
}: {
  readonly output?: JsonObject;
  readonly unwraps?: true;
}): Validate | undefined {
  if (output === undefined) return undefined;
  const check = validatorOf(output, OF_TURN);
  if (unwraps !== true) return check;
  return (input) => {
    const whole = check(input);
    const value = (result: Awaited<typeof whole>) =>
      result.ok ? { ok: true as const, value: (result.value as { value: unknown }).value } : result;
    return whole instanceof Promise ? whole.then(value) : value(whole as Awaited<typeof whole>);
  };
}
