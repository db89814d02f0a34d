import { stripTypeScriptTypes } from "node:module";
import { parse } from "acorn";
import fc from "fast-check";

/** What is left of a text in TypeScript without its types. A text that is none throws. */
export const codeLeftOf = (text: string): readonly string[] =>
  parse(stripTypeScriptTypes(text), { ecmaVersion: "latest", sourceType: "script" })
    .body.map(({ type }) => type)
    .filter((type) => type !== "EmptyStatement");

/** Names and texts that mean something where they must not. */
const nasty = fc.constantFrom(
  ..."*/ /** // \n \r\n \u2028 \u0000 \u202e \ud800 \" ' ` $& $' \\ ; } { | & < > ? : … 😀 *\u0000/ *\n/".split(" "),
  ..."__proto__ constructor toString new get readonly delete default a-b 1a é string".split(" "),
  "*/ declare const evil: 1; /*",
  "*/ process.exit() /*",
  "x".repeat(500),
);
const text = fc.oneof(
  fc.string(),
  nasty,
  fc.tuple(nasty, fc.string(), nasty).map((parts) => parts.join("")),
);
const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom("path", "id", "from", "items") }, text);
const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), text, fc.double(), fc.constant(undefined));
const ref = fc.oneof(
  fc.constantFrom(
    "#",
    "#/",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/a",
    "#/properties/path",
    "#/allOf/0",
    "#/%zz",
    "a",
  ),
  text.map((each) => `#/$defs/${each}`),
);
const limit = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(0, 1, "3", null));

/** A keyword is right most of the time, and else anything. */
const odd = (right: fc.Arbitrary<unknown>) => fc.oneof({ weight: 12, arbitrary: right }, value);
const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object", "date");

/** Schemas as they come from anywhere: mostly right, some of them nonsense. */
export const { schema } = fc.letrec<{ schema: unknown }>((tie) => {
  const some = fc.array(tie("schema"), { maxLength: 3 });
  const named = fc.dictionary(name, tie("schema"), { maxKeys: 4 });
  const keyword = (word: string, right: fc.Arbitrary<unknown>) => fc.tuple(fc.constant(word), odd(right));
  const keywords = fc.oneof(
    keyword("type", fc.oneof(type, fc.array(type, { maxLength: 3 }))),
    keyword("description", text),
    keyword("properties", named),
    keyword("properties", named),
    keyword("required", fc.array(name, { maxLength: 3 })),
    keyword("additionalProperties", fc.oneof(fc.boolean(), tie("schema"))),
    keyword("patternProperties", named),
    keyword("items", fc.oneof(tie("schema"), some)),
    keyword("prefixItems", some),
    keyword("additionalItems", tie("schema")),
    keyword("enum", fc.array(value, { maxLength: 70 })),
    keyword("const", value),
    keyword("anyOf", some),
    keyword("oneOf", some),
    keyword("allOf", some),
    keyword("$ref", ref),
    keyword("$defs", fc.record({ a: tie("schema"), b: tie("schema") })),
    keyword("nullable", fc.boolean()),
    keyword("format", text),
    keyword("pattern", text),
    keyword("default", value),
    keyword("deprecated", fc.boolean()),
    ...["minimum", "maximum", "exclusiveMinimum", "maxLength", "minItems"].map((word) => keyword(word, limit)),
  );
  const few = fc.array(keywords, { minLength: 1, maxLength: 6 }).map((entries) => Object.fromEntries(entries));
  return { schema: fc.oneof({ depthSize: "small" }, fc.oneof(fc.boolean(), value, fc.record({ type })), few) };
});
