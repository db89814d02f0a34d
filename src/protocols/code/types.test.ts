import fc from "fast-check";
import { expect, test } from "vitest";
import { schema as anySchema, codeLeftOf } from "../../../test/kit/schemas.ts";
import { typeOf } from "./types.ts";

const typed = (schema: unknown, charsMax = 4_000): string => typeOf(schema, { charsMax });
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const text = { type: "string" };
const number = { type: "number" };

/** Fails unless the type is one, and nothing beside it. */
const requireType = (type: string): void => expect(codeLeftOf(`type X = ${type};`), type).toEqual([]);

test.each([
  [{ type: "string" }, "string"],
  [{ type: "integer" }, "number"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ type: "string", nullable: true }, "string | null"],
  [{ type: [] }, "unknown"],
  [{ type: "file" }, "unknown"],
  [{}, "unknown"],
  [true, "unknown"],
  [false, "never"],
  // Values
  [{ enum: ["a", "b", 3, null, true] }, '"a" | "b" | 3 | null | true'],
  [{ type: "string", enum: ["a", "a"] }, '"a"'],
  [{ const: 'it\'s "quoted"' }, '"it\'s \\"quoted\\""'],
  [{ const: { a: [1, -2.5] } }, '{"a":[1,-2.5]}'],
  [{ enum: [Number.NaN, -0, 1e21, "x".repeat(200), "x".repeat(300)] }, "number | 0 | 1e+21 | string"],
  [{ enum: Array.from({ length: 52 }, () => "a") }, '"a" | /* 2 more */ string'],
  // Lists
  [{ type: "array" }, "unknown[]"],
  [{ items: { type: ["string", "number"] } }, "(string | number)[]"],
  [
    { type: "array", items: { allOf: [object({ a: text }), object({ b: text })] } },
    "({ a?: string } & { b?: string })[]",
  ],
  [{ type: "array", prefixItems: [text, number] }, "[string, number]"],
  [{ type: "array", prefixItems: [text, number], minItems: 1, items: text }, "[string, number?, ...string[]]"],
  [
    { type: "array", items: [text, { type: ["string", "null"] }], additionalItems: true },
    "[string, (string | null), ...unknown[]]",
  ],
  // Objects
  [{ type: "object" }, "{ [name: string]: unknown }"],
  [object({}), "{}"],
  [object({ a: text, b: number }, { required: ["b"] }), "{ a?: string; b: number }"],
  [object({ a: text }, { additionalProperties: true }), "{ a?: string; [name: string]: unknown }"],
  [object({ a: text }, { additionalProperties: number }), "{ a?: string } & { [name: string]: number }"],
  [{ patternProperties: { "^x-": text }, additionalProperties: number }, "{ [name: string]: string | number }"],
  [object({ a: text }, { required: ["b"] }), "{ a?: string; b: unknown }"],
  [
    object({ "a-b": text, "2": text, é: text, new: text, $a_1: text }),
    '{ "2"?: string; "a-b"?: string; "é"?: string; new?: string; $a_1?: string }',
  ],
  // Choices
  [{ anyOf: [text, { type: "null" }, text] }, "string | null"],
  [{ type: "object", oneOf: [object({ a: text }), object({ b: text })] }, "{ a?: string } | { b?: string }"],
  [
    object({ a: text }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
    "{ a?: string } & ({ a: unknown } | { b: unknown })",
  ],
  [{ allOf: [{ $ref: "#/$defs/A" }], $defs: { A: text } }, "string"],
  // References
  [{ $ref: "#/definitions/A", definitions: { A: { type: "boolean" } } }, "boolean"],
  [{ $ref: "#/$defs/a~1b%20c", $defs: { "a/b c": text } }, "string"],
  [object({ a: text, b: { $ref: "#/properties/a" } }), "{ a?: string; b?: string }"],
  [{ $ref: "#/$defs/missing" }, "unknown"],
  [{ $ref: "https://example.com/a.json" }, "unknown"],
  [{ $ref: "#/$defs/__proto__", $defs: {} }, "unknown"],
  [{ $ref: "#/%zz" }, "unknown"],
])("P7: %j is the type %s", (schema, type) => {
  expect(typed(schema)).toBe(type);
  requireType(typed(schema));
});

test("P7: a schema that contains itself is written once, and then named", () => {
  const node = object({ value: number, children: { type: "array", items: { $ref: "#/$defs/Node" } } });
  expect(typed({ $ref: "#/$defs/Node", $defs: { Node: node } })).toBe(
    "{ value?: number; children?: /* Node again */ unknown[] }",
  );
  expect(typed(object({ a: { $ref: "#" } }))).toBe("{ a?: /* all of this again */ unknown }");
  expect(typed({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } })).toBe(
    "/* a again */ unknown",
  );
});

test.each([
  [{ type: "string", description: " The\n  path. " }, "/** The path. */"],
  [
    { type: "integer", description: "Lines.", minimum: 1, maximum: 9, default: 5 },
    "/** Lines. (integer, 1 to 9, default 5) */",
  ],
  [{ type: "number", description: "Default: 5.", exclusiveMinimum: 0, default: 5 }, "/** Default: 5. (above 0) */"],
  [{ type: "string", format: "date-time", maxLength: 40, minLength: 1 }, "/** date-time, at most 40 characters */"],
  [{ type: "array", minItems: 1, maxItems: 25, deprecated: true }, "/** 1 to 25 items, deprecated */"],
  [{ type: "string", pattern: "^a*/" }, "/** matches ^a* / */"],
  [{ type: "string", description: "Ends */ here. *\u0000/ And there." }, "/** Ends * / here. * / And there. */"],
  [{ type: "string", description: "a\u202eb\u0007c\ud800" }, "/** abc\ufffd */"],
  [{ anyOf: [{ type: "integer", minimum: 0 }, { type: "null" }], default: null }, "/** integer, at least 0 */"],
  [{ $ref: "#/$defs/Size", $defs: {} }, ""],
  [{ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }, "/** integer */"],
  [{ type: "string", minLength: Number.NaN, default: { a: "x".repeat(100) }, format: "x".repeat(100) }, ""],
])("P7: of the field %j is said %s", (field, comment) => {
  expect(typed(object({ a: field }))).toMatch(/^\{ .*a\?: .* \}$/);
  expect(
    typed(object({ a: field }))
      .slice(2)
      .split("a?:")[0]
      ?.trim(),
  ).toBe(comment);
  requireType(typed(object({ a: field })));
});

test("P7: a field is described where it refers to, if not itself", () => {
  const $defs = { Size: { type: "integer", description: "A size.", minimum: 1 } };
  expect(
    typed(object({ a: { $ref: "#/$defs/Size" }, b: { $ref: "#/$defs/Size", description: "Mine." } }, { $defs })),
  ).toBe("{ /** A size. (integer, at least 1) */ a?: number; /** Mine. (integer, at least 1) */ b?: number }");
});

test("P7: a comment is one short line, whatever was written", () => {
  const type = typed(object({ a: { type: "integer", description: "😀 word ".repeat(5_000), minimum: 1, default: 7 } }));
  const [, comment] = /\/\*\* (.*) \*\//.exec(type) ?? [];
  expect(comment?.length).toBeLessThanOrEqual(160);
  expect(comment).toMatch(/… \(integer, at least 1, default 7\)$/);
  expect(comment?.isWellFormed()).toBe(true);
});

test("P7: what is long has a line for each field", () => {
  const inner = object({
    first: { ...text, description: "The first of the two." },
    second: { ...text, description: "The second." },
  });
  expect(typeOf(object({ inner, list: { type: "array", items: inner } }), { charsMax: 2_000, indent: 2 })).toBe(`{
    inner?: { /** The first of the two. */ first?: string; /** The second. */ second?: string };
    list?: { /** The first of the two. */ first?: string; /** The second. */ second?: string }[];
  }`);
});

test("P7: with less room a type has less detail, and loses the inner parts first", () => {
  const leaf = object({ value: { ...text, description: "The value that is deep inside, at the very end of it all." } });
  const schema = object(
    { near: { ...text, description: "Close by." }, far: object({ a: object({ b: object({ c: leaf }) }) }) },
    { required: ["near"] },
  );
  const sizes = [400, 120, 100, 70, 30].map((charsMax) => typed(schema, charsMax));
  expect(sizes).toEqual([
    `{
  /** Close by. */ near: string;
  far?: {
    a?: {
      b?: { c?: { /** The value that is deep inside, at the very end of it all. */ value?: string } };
    };
  };
}`,
    "{ /** Close by. */ near: string; far?: { a?: { b?: { c?: { value?: string } } } } }",
    "{ /** Close by. */ near: string; far?: { a?: { b?: { c?: { value?: string } } } } }",
    "{ /** Close by. */ near: string; far?: { a?: { b?: object } } }",
    "{ near: string; far?: object }",
  ]);
});

test("P7: of many fields those that are needed are shown", () => {
  const names = Array.from({ length: 10_000 }, (_, index) => `field${index}`);
  const schema = object(Object.fromEntries(names.map((name) => [name, text])), { required: ["field9999"] });
  const type = typed(schema);
  expect(type).toContain("  field0?: string;");
  expect(type).toContain("  field9999: string;");
  expect(type).toContain("  /** 9900 more */ [name: string]: unknown;");
  expect(typed(schema, 200)).toContain("field9999: string");
  requireType(type);
});

const cyclic: { [keyword: string]: unknown } = { type: "object" };
cyclic.properties = { a: cyclic, b: cyclic, c: { anyOf: Array.from({ length: 50 }, () => cyclic) } };
const deep = (keyword: string): unknown =>
  Array.from({ length: 20_000 }).reduce<unknown>(
    (inner) => ({ [keyword]: keyword === "items" ? inner : [inner] }),
    text,
  );
const tower = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `d${at}`,
    { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { items: { $ref: `#/$defs/d${at + 1}` } }] },
  ]),
);
const selfish = { anyOf: [] as unknown[] };
selfish.anyOf = Array.from({ length: 50 }, () => selfish);
const proto = JSON.parse(
  '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"const":{"__proto__":1}}}}',
);

test.each([
  ["that has itself as a field", cyclic],
  ["that is each of its choices", selfish],
  ["20,000 lists deep", deep("items")],
  ["20,000 choices deep", deep("anyOf")],
  ["20,000 parts deep", deep("allOf")],
  ["of references that double", { $ref: "#/$defs/d0", $defs: tower }],
  [
    "with 10,000 references in a row",
    { $ref: "#/$defs/0", $defs: Array.from({ length: 10_000 }, (_, at) => ({ $ref: `#/$defs/${at + 1}` })) },
  ],
  ["with fields named like parts of every object", proto],
  ["whose fields have endless names", object({ ["n".repeat(1e6)]: text, a: text })],
  ["with a million values", { enum: Array.from({ length: 1e6 }, (_, at) => at) }],
  [
    "that throws when read",
    object(
      Object.defineProperty({}, "a", {
        enumerable: true,
        get: () => {
          throw new Error("No.");
        },
      }),
    ),
  ],
  ["with values that are not JSON", { enum: [1n, Symbol.iterator, () => {}, undefined, cyclic] }],
  ["that is a list", [text]],
  ["that is not a schema", "string"],
  ["that is nothing", undefined],
])("P7: a schema %s is soon some type", (_, schema) => {
  const type = typed(schema);
  expect(type.length).toBeLessThanOrEqual(4_000);
  requireType(type);
});

test("P7: fields named like parts of every object are fields", () => {
  expect(typed(proto)).toBe('{ __proto__?: string; constructor?: {"__proto__":1} }');
});

test("P7: any schema is a type within its bounds, and always the same", () => {
  fc.assert(
    fc.property(anySchema, fc.integer({ min: 7, max: 2_000 }), fc.nat(8), (schema, charsMax, indent) => {
      const type = typeOf(schema, { charsMax, indent });
      requireType(type);
      expect(type.length).toBeLessThanOrEqual(charsMax);
      expect(type).not.toMatch(/[^\P{Cc}\n]/u);
      expect(typeOf(structuredClone(schema), { charsMax, indent })).toBe(type);
    }),
    { numRuns: Number(process.env.RUNS ?? 200) },
  );
});
