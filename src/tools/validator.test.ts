import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { did, opened } from "../../test/tools/obedient.ts";
import { defineTool } from "../index.ts";
import { plainCheck } from "./plain-schema.ts";
import { validatorOf } from "./validator.ts";

const OPTIONS = { strict: false, validateFormats: false, allErrors: false };
const RUNS = 200;
/** Made once: each new one compiles the schema of schemas. */
const META = new Ajv2020(OPTIONS);

type Document = { readonly [keyword: string]: unknown };

type Judge = (value: unknown) => string | undefined;

function byAjv(document: Document): Judge {
  META.validateSchema(document, true);
  const check = new Ajv2020({ ...OPTIONS, meta: false, validateSchema: false }).compile(document);
  return (value) => {
    if (check(value)) return undefined;
    expect(check.errors).toHaveLength(1);
    const { instancePath, message } = check.errors?.[0] ?? {};
    return `${instancePath} ${message}`;
  };
}

function plainly(document: Document): Judge {
  const check = plainCheck(document);
  if (check === undefined) throw new Error("It is not plain.");
  return (value) => {
    const wrong = check(value);
    return wrong === undefined ? undefined : `${wrong.at} ${wrong.problem}`;
  };
}

// ── Documents at random ─────────────────────────────────────────────────────────────────────────────────────────────

/** Few, so that values and documents meet; some are of every object, some need escapes in a pointer. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: a name that code generators trip over
const name = fc.constantFrom("a", "b", "c", "a/b", "m~n", "toString", "constructor", "0", "x y", "'\"`${}");
const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1, -1, 2.5, 3, 1e21, "", "a", "ab", "abc", "😀", "é😀\ud800", "2.5"),
  fc.integer({ min: -5, max: 5 }),
  fc.string({ maxLength: 4, unit: "binary" }),
);
const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const count = fc.integer({ min: 0, max: 4 });
const limit = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, -2.5, 1e21, -0));

const keywords = (schema: fc.Arbitrary<unknown>) => ({
  type: fc.oneof({ weight: 5, arbitrary: type }, fc.uniqueArray(type, { minLength: 1, maxLength: 4 })),
  const: scalar,
  enum: fc.array(scalar, { minLength: 1, maxLength: 5 }),
  maximum: limit,
  minimum: limit,
  exclusiveMaximum: limit,
  exclusiveMinimum: limit,
  maxLength: count,
  minLength: count,
  pattern: fc.constantFrom("^a", "b$", ".", "^.$", "[0-9]", '"', "\\p{L}", "\\/"),
  format: fc.constantFrom("email", "date-time", "int32", "nonsense"),
  maxItems: count,
  minItems: count,
  items: schema,
  maxProperties: count,
  minProperties: count,
  required: fc.uniqueArray(name, { maxLength: 3 }),
  additionalProperties: fc.oneof(fc.boolean(), schema),
  properties: fc.dictionary(name, schema, { maxKeys: 12, noNullPrototype: true }),
  title: fc.string(),
  description: fc.string(),
  $comment: fc.string(),
  default: scalar,
  examples: fc.array(scalar, { maxLength: 2 }),
  deprecated: fc.boolean(),
  readOnly: fc.boolean(),
});

const { schema } = fc.letrec((tie) => {
  const all = keywords(tie("schema"));
  const some = Object.entries(all).map(([key, value]) => value.map((given): [string, unknown] => [key, given]));
  const few = fc
    .array(fc.oneof({ depthSize: "small", withCrossShrink: true }, ...some), { maxLength: 5 })
    .map((fields) => Object.fromEntries(fields));
  const keyed = (fields: readonly (keyof typeof all)[], of: string) =>
    fc
      .record(Object.fromEntries(fields.map((key) => [key, all[key]])), { requiredKeys: [], noNullPrototype: true })
      .map((found): object => ({ type: of, ...found }));
  return {
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.oneof(
        type.map((of): object => ({ type: of })),
        keyed(["maximum", "minimum", "exclusiveMinimum", "enum", "format"], "number"),
        keyed(["maxLength", "minLength", "pattern", "const", "format"], "string"),
        fc.constant({}),
      ),
      few,
      keyed(["properties", "required", "additionalProperties", "maxProperties", "enum"], "object"),
      keyed(["items", "maxItems", "minItems", "const"], "array"),
      fc.constant(true),
    ),
  };
});
const whole = schema.filter((found) => typeof found === "object") as fc.Arbitrary<Document>;
const nested = fc.oneof(
  fc.dictionary(name, whole, { minKeys: 1, maxKeys: 12, noNullPrototype: true }).map((properties) => ({
    type: "object",
    properties,
    additionalProperties: { type: "string" },
  })),
  whole.map((items) => ({ items })),
);
const document: fc.Arbitrary<Document> = fc.oneof(whole, nested);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    // What only a tool's result can hold.
    fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY, new Date(0), new Map(), () => 1, 1n),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.dictionary(name, tie("value"), { maxKeys: 5 }),
  ),
}));

/** One that mostly fits, so that what is deep inside is reached. */
function fitting(given: unknown): fc.Arbitrary<unknown> {
  const found = (typeof given === "object" ? given : {}) as Document & {
    readonly properties?: { readonly [name: string]: unknown };
    readonly required?: readonly string[];
  };
  const of = Array.isArray(found.type) ? found.type[0] : found.type;
  const right = ((): fc.Arbitrary<unknown> => {
    if (found.const !== undefined) return fc.constant(found.const);
    if (Array.isArray(found.enum)) return fc.constantFrom(...found.enum);
    if (of === "object" || (of === undefined && found.properties !== undefined)) {
      const known = Object.entries(found.properties ?? {}).map(([key, each]) => [key, fitting(each)] as const);
      const needed = (found.required ?? []).map(
        (key) => [key, known.find(([at]) => at === key)?.[1] ?? value] as const,
      );
      const more = fc.dictionary(name, fitting(found.additionalProperties), { maxKeys: 1, noNullPrototype: true });
      const own = fc.record(Object.fromEntries([...known, ...needed]), { requiredKeys: found.required as never });
      return fc.tuple(more, own).map(([others, fields]) => ({ ...others, ...fields }));
    }
    if (of === "array" || (of === undefined && found.items !== undefined))
      return fc.array(fitting(found.items), { maxLength: 4 });
    if (of === "number") return fc.oneof(fc.integer({ min: -4, max: 4 }), fc.constantFrom(0.5, 1e21));
    if (of === "integer") return fc.integer({ min: -4, max: 4 });
    if (of === "string") return fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom("a", "ab", "😀"));
    if (of === "boolean") return fc.boolean();
    return of === "null" ? fc.constant(null) : value;
  })();
  return fc.oneof({ weight: 8, arbitrary: right }, value);
}

test("a plain document is judged as Ajv judges it, in the same words and at the same place", () => {
  const judged = { right: 0, wrong: 0, deep: 0 };
  const given = document.chain((found) =>
    fc.tuple(fc.constant(found), fc.array(fc.oneof(value, fitting(found)), { minLength: 8, maxLength: 8 })),
  );
  fc.assert(
    fc.property(given, ([found, values]) => {
      const [theirs, ours] = [byAjv(found), plainly(found)];
      for (const each of values) {
        const expected = theirs(each);
        if (expected === undefined) judged.right++;
        else judged[expected.startsWith("/") ? "deep" : "wrong"]++;
        expect(ours(each)).toBe(expected);
      }
    }),
    { numRuns: RUNS },
  );
  // The generators reach every kind of verdict.
  expect(Math.min(judged.right, judged.wrong, judged.deep)).toBeGreaterThan(50);
});

test.each([
  // Ajv looks at the one type where that type's keywords are, so it names the other fault.
  [{ type: "object", properties: {}, enum: ["a"] }, "b", " must be equal to one of the allowed values"],
  [{ type: "object", properties: {}, minimum: 3 }, 1, " must be >= 3"],
  [
    { additionalProperties: { additionalProperties: false } },
    { a: { b: 1 } },
    "/a must NOT have additional properties",
  ],
  [
    { properties: { "a/b": { properties: { "m~n": { type: "null" } } } } },
    { "a/b": { "m~n": 1 } },
    "/a~1b/m~0n must be null",
  ],
])("of several faults the same one is named: %j", (document, value, problem) => {
  expect(byAjv(document)(value)).toBe(problem);
  expect(plainly(document)(value)).toBe(problem);
});

test.each([
  [{ anyOf: [{ type: "string" }] }],
  [{ $ref: "#/$defs/a", $defs: { a: {} } }],
  [{ type: "text" }],
  [{ type: [] }],
  [{ type: ["string", "string"] }],
  [{ enum: [] }],
  [{ enum: [{ a: 1 }] }],
  [{ const: [] }],
  [{ minLength: -1 }],
  [{ minimum: "1" }],
  [{ pattern: "(" }],
  [{ items: false }],
  [{ items: [{}] }],
  [{ required: ["a", "a"] }],
  [{ required: [""] }],
  [{ properties: JSON.parse('{"__proto__": {}}') }],
  [{ properties: { a: { nullable: true } } }],
  [{ description: 1 }],
  [{ constructor: 1 }],
  [Object.create({ type: "string" })],
])("what is not plain, or not right, is left to Ajv: %j", (document) => {
  expect(plainCheck(document)).toBeUndefined();
});

test("a plain document is checked at once, and from the first call on", () => {
  const check = validatorOf({ $schema: "https://json-schema.org/draft/2020-12/schema", required: ["q"] }, "it");
  expect(check({ q: 1 })).toEqual({ ok: true, value: { q: 1 } });
  expect(check({})).toEqual({ ok: false, problem: "the arguments must have required property 'q'" });
});

test("another is compiled once, also when calls come before it is", async () => {
  const before = globalThis.Function;
  let compiled = 0;
  const first = validatorOf({ anyOf: [{ type: "string" }] }, "it");
  await first("a"); // With the first one the schema of schemas is compiled too.
  globalThis.Function = new Proxy(before, {
    construct: (target, args) => {
      compiled++;
      return Reflect.construct(target, args);
    },
  });
  try {
    const check = validatorOf({ anyOf: [{ type: "string" }, { type: "null" }] }, "it");
    const found = await Promise.all([check("a"), check(null), check(1)]);
    expect(found.map(({ ok }) => ok)).toEqual([true, true, false]);
    expect(check("b")).toEqual({ ok: true, value: "b" });
  } finally {
    globalThis.Function = before;
  }
  expect(compiled).toBe(1);
});

test("a document that Ajv refuses is refused in its words, and two of the same $id are not", async () => {
  await expect(validatorOf({ type: "text" }, "the tool t")("a")).rejects.toMatchObject({
    code: "schema.invalid",
    message: expect.stringContaining("schema is invalid: data/type must be equal to one of the allowed values"),
  });
  for (const type of ["string", "null"])
    expect(await validatorOf({ $id: "https://example.com/a", type }, "it")("a")).toMatchObject({
      ok: type === "string",
    });
});

test("T5 a check of arguments that never ends is stopped after 30 seconds", async () => {
  // In this file, which has a process for itself: deadlines of one length share a timer, and a real one that another test
  // started would not follow the fake clock.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  try {
    const asked = Promise.withResolvers<void>();
    const validate = (): Promise<never> => {
      asked.resolve();
      return new Promise(() => {});
    };
    const json = () => ({ type: "object" });
    const input = {
      "~standard": { version: 1 as const, vendor: "test", validate, jsonSchema: { input: json, output: json } },
    };
    await using world = await opened({
      tools: [defineTool({ name: "a", description: "A.", input, execute: () => "ran" })],
    });
    const doing = did(world.session, "a");
    await asked.promise;
    vi.advanceTimersByTime(40_000);
    expect((await doing).shown[0]).toMatch(/^a failed: Error \(tool\.arguments\).*took more than 30000 ms/);
  } finally {
    vi.useRealTimers();
  }
});
