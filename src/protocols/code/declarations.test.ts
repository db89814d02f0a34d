import fc from "fast-check";
import { expect, test } from "vitest";
import { schema as anySchema, codeLeftOf } from "../../../test/kit/schemas.ts";
import type { JsonObject } from "../../model/json.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import { declare } from "./declarations.ts";

const ROOM = { charsMax: 20_000 };
const object = (properties: JsonObject, ...required: string[]): JsonObject => ({
  type: "object",
  properties,
  required,
});
const text = { type: "string" };
const tool = (name: string, given: Partial<ToolDeclaration> = {}): ToolDeclaration => ({
  name,
  description: `Does ${name}.`,
  inputSchema: object({ id: text }, "id"),
  ...given,
});
const textOf = (...tools: readonly ToolDeclaration[]): string => declare(tools, ROOM).text;
/** What a tool without a module is declared as, without the block around it. */
const oneOf = (given: Partial<ToolDeclaration>): string =>
  textOf(tool("t", given)).replace(/^declare const tools: \{\n|\n\};$/g, "");

test("P7: tools are declared by module, where code calls them", () => {
  const declared = declare(
    [
      tool("read_file", {
        path: "files.read",
        description: "Reads a file.",
        inputSchema: object({ path: text, from: { type: "integer", description: "First line." } }, "path"),
        outputSchema: text,
      }),
      tool("weather", {
        description: "Weather now.",
        inputSchema: object({ city: text }, "city"),
        outputSchema: object({ celsius: { type: "number" } }, "celsius"),
      }),
      tool("write_file", { path: "files.write", description: "" }),
      tool("remove_file", { path: "files.delete", description: "" }),
      tool("mcp__github__list_issues"),
      tool("get-it"),
      tool("new"),
    ],
    ROOM,
  );
  expect(declared).toEqual({
    shown: 7,
    left: 0,
    text: `declare const files: {
  /** Reads a file. */
  read(input: { path: string; /** First line. (integer) */ from?: number }): Promise<string>;
  write(input: { id: string }): Promise<unknown>;
  delete(input: { id: string }): Promise<unknown>;
};

declare const github: {
  /** Does mcp__github__list_issues. */
  list_issues(input: { id: string }): Promise<unknown>;
};

declare const tools: {
  /** Weather now. */
  weather(input: { city: string }): Promise<{ celsius: number }>;
  /** Does get-it. */
  "get-it"(input: { id: string }): Promise<unknown>;
  /** Does new. */
  "new"(input: { id: string }): Promise<unknown>;
};`,
  });
});

test("P7: a module by a name that code has for something else is none, and nothing is declared of no tools", () => {
  expect(declare([tool("out", { path: "print.line" })], ROOM).text).toContain("\n  out(input:");
  expect(declare([], ROOM)).toEqual({ text: "", shown: 0, left: 0 });
});

test.each([
  ["t()", object({})],
  ["t()", { type: "object", additionalProperties: false }],
  ["t()", {}],
  ["t(input?: { a?: string })", object({ a: text })],
  ["t(input?: { [name: string]: unknown })", { type: "object", additionalProperties: true }],
  ["t(input?: { [name: string]: string })", { type: "object", additionalProperties: text }],
  ["t(input: { a: string })", object({ a: text }, "a")],
  ["t(input: { a?: string } | { b?: string })", { anyOf: [object({ a: text }), object({ b: text })] }],
  ["t(input: { a?: string })", { $ref: "#/$defs/a", $defs: { a: object({ a: text }) } }],
] as const)("P7: what needs no arguments is called without: %s", (call, inputSchema) => {
  expect(oneOf({ description: "", inputSchema })).toBe(`  ${call}: Promise<unknown>;`);
});

test("P7: a description is shown whole, line by line, and nothing in it ends the comment", () => {
  expect(oneOf({ description: "\n Reads.\n  All of it.\r\n \n\n- More */ here.\n" })).toBe(`  /**
   * Reads.
   * All of it.
   * - More * / here.
   */
  t(input: { id: string }): Promise<unknown>;`);
  const first = (description: string): string => oneOf({ description }).split("\n")[0] ?? "";
  expect(first("It */ ends *\u0000/ here.\u001b[31m\u202e")).toBe("  /** It * / ends * / here.[31m */");
  expect(first(" \n\n ")).toBe("  t(input: { id: string }): Promise<unknown>;");
  const long = first("😀 word ".repeat(1_000));
  expect(long.length).toBeLessThanOrEqual(610);
  expect(long).toMatch(/ word… \*\/$|😀… \*\/$/u);
});

test("P7: one that is very long is cut after a line", () => {
  const lines = Array.from({ length: 100 }, (_, at) => `${at} ${"x".repeat(97)}`);
  const told = oneOf({ description: lines.join("\n") }).split("\n");
  expect(told.slice(-4)).toEqual([
    `   * ${lines[29]}`,
    "   * …",
    "   */",
    "  t(input: { id: string }): Promise<unknown>;",
  ]);
});

test("P7: where it would take more than half of the tool's room, or not all tools fit, its first paragraph is shown", () => {
  const description = `Reads.\n  All of it.\n\n${"More of it. ".repeat(20)}`;
  const told = (charsMax: number, ...others: readonly ToolDeclaration[]) =>
    declare([tool("t", { description }), ...others], { charsMax }).text;
  expect(told(600)).toContain("More of it.");
  for (const brief of [told(500), told(4_000, ...crowd(40))]) {
    expect(brief).toContain("  /** Reads. All of it. */\n  t(input: { id: string })");
    expect(brief).not.toContain("More of it.");
  }
});

test("P7: documented tools have examples, written as calls", () => {
  const examples = [{ path: "a.ts", "x-y": [1, { b: null }], end: "*/" }, {}, { path: "x".repeat(1_000) }];
  const declared = tool("read_file", { path: "files.read", description: "Reads.", examples, isDocumented: true });
  expect(textOf(declared)).toBe(`declare const files: {
  /**
   * Reads.
   * @example files.read({ path: "a.ts", "x-y": [1, { b: null }], end: "*\\/" })
   * @example files.read({})
   */
  read(input: { id: string }): Promise<unknown>;
};`);
  const { isDocumented: _, ...plain } = declared;
  expect(textOf(plain)).not.toContain("@example");
});

// ── Room ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const SENTENCES = "Looks for things, e.g. these. Then it does more, of which only a whole declaration tells.";
const crowd = (count: number): readonly ToolDeclaration[] =>
  Array.from({ length: count }, (_, index) => tool(`mcp__m${index % 4}__tool${index}`, { description: SENTENCES }));
const formsIn = (declared: string) => ({
  full: declared.match(/ tool\d+\(input: \{ id/g)?.length ?? 0,
  short: declared.match(/ tool\d+\(input: unknown/g)?.length ?? 0,
  named: declared.match(/(?<=^\/\/ Also in m\d: .*)tool\d+/gm)?.length ?? 0,
});

test("P7: tools that do not fit are shown in short, then by name, then counted", () => {
  const tools = crowd(100);
  const total = declare(tools, { charsMax: 1e6 }).text.length;
  const forms = [total, 12_000, 6_000, 3_000, 600, 30].map((charsMax) => {
    const { text: declared, shown, left } = declare(tools, { charsMax });
    const { full, short, named } = formsIn(declared);
    expect(declared.length).toBeLessThanOrEqual(charsMax);
    expect([shown, shown + left]).toEqual([full + short + named, 100]);
    return [full, short, named];
  });
  // In full, in short, by name.
  expect(forms).toEqual([
    [100, 0, 0],
    [56, 41, 3],
    [24, 21, 55],
    [9, 11, 73],
    [1, 3, 9],
    [0, 0, 2],
  ]);
});

test("P7: a tool in short has its first sentence, and the others of its module are named in one line", () => {
  const { text } = declare(crowd(100), { charsMax: 6_000 });
  expect(text).toMatch(
    /\n {2}\/\*\* Looks for things, e\.g\. these\. \*\/\n {2}tool\d+\(input: unknown\): Promise<unknown>;\n/,
  );
  expect(text).toMatch(/\n\};\n\/\/ Also in m2: tool\d+, tool\d+, /);
  expect(text.match(/Also in m2/g)).toHaveLength(1);
});

test("P7: the first tools of the list are shown in full, and documented tools before them", () => {
  const tools = crowd(100).map((each, index) => (index >= 98 ? { ...each, isDocumented: true as const } : each));
  const { text } = declare(tools, { charsMax: 3_000 });
  for (const first of ["tool98", "tool99", "tool0", "tool1"]) expect(text).toContain(`  ${first}(input: { id`);
  expect(text).not.toContain("  tool97(input: { id");
});

test("P7: a giant is made smaller rather than push others out", () => {
  const fields = Array.from({ length: 80 }, (_, index) => [`field${index}`, { ...text, description: SENTENCES }]);
  const giant = tool("giant", { inputSchema: object(Object.fromEntries(fields), "field7") });
  const others = crowd(16);
  const alone = declare([giant], ROOM).text;
  expect(alone.length).toBeGreaterThan(8_000);
  const beside = declare([giant, ...others], { charsMax: 3_600 });
  expect([beside.left, formsIn(beside.text).full]).toEqual([0, 16]);
  const line = beside.text.slice(beside.text.indexOf("  giant("));
  expect(line.length).toBeLessThanOrEqual(910);
  expect(line).toContain("field7: string");
  expect(line).toContain("more */");
});

test("P7: examples go before the types do", () => {
  const examples = Array.from({ length: 4 }, (_, at) => ({ id: `${at}`.repeat(200) }));
  const documented = tool("documented", { isDocumented: true, examples });
  const { text } = declare([documented, ...crowd(40)], { charsMax: 4_000 });
  expect(text).toContain("documented(input: { id: string })");
  expect(text.match(/@example/g)).toHaveLength(1);
  expect(textOf(documented).match(/@example/g)).toHaveLength(4);
});

test("P7: with room for all, a large tool is whole", () => {
  const large = tool("large", {
    inputSchema: object({ a: { enum: Array.from({ length: 50 }, (_, at) => `choice ${at}`) } }),
  });
  const { text } = declare([large, ...crowd(4)], { charsMax: 1_600 });
  expect(text).toContain('"choice 49"');
});

// ── Anything ────────────────────────────────────────────────────────────────────────────────────────────────────────

const anyText = fc.oneof(
  fc.string(),
  fc.constantFrom("*/ evil() /*", "\u2028*/", "A.\n\nB.", "`${", "$&$'$`", "\ud800"),
);
const anyTools = fc.uniqueArray(
  fc.record(
    {
      name: fc.oneof(
        fc.constantFrom("new", "get", "then", "a-b", "1x", "mcp__x__y"),
        fc.stringMatching(/^(a_|b_)?[\w-]{1,9}$/),
      ),
      description: anyText,
      inputSchema: anySchema as fc.Arbitrary<JsonObject>,
      outputSchema: anySchema as fc.Arbitrary<JsonObject>,
      path: fc.constantFrom(
        "files.read",
        "files.get",
        "files.new",
        "files.delete",
        "type.of",
        "any.any",
        "declare.module",
      ),
      isDocumented: fc.constant(true as const),
      examples: fc.array(fc.dictionary(anyText, fc.jsonValue() as fc.Arbitrary<JsonObject>), { maxLength: 3 }),
    },
    { requiredKeys: ["name", "description", "inputSchema"] },
  ),
  { maxLength: 12, selector: ({ name }) => name },
);

test("P7: any tools are TypeScript within its bounds that only declares, and always the same", () => {
  fc.assert(
    fc.property(anyTools, fc.integer({ min: 0, max: 3_000 }), (tools, charsMax) => {
      const declared = declare(tools, { charsMax });
      expect(codeLeftOf(declared.text), declared.text).toEqual([]);
      expect(declared.text.length).toBeLessThanOrEqual(charsMax);
      expect(declared.shown + declared.left).toBe(tools.length);
      expect(declare(structuredClone(tools), { charsMax })).toEqual(declared);
    }),
    { numRuns: Number(process.env.RUNS ?? 60) },
  );
});
