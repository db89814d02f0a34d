import { expect, test } from "vitest";
import { fieldsOf, objectOf, sampleOf } from "./schema.ts";

const simple = {
  type: "object",
  properties: {
    to: { type: "string", description: "Who gets it" },
    euros: { type: "number" },
    days: { type: "integer", default: 3 },
    isUrgent: { type: "boolean" },
    speed: { enum: ["slow", 2] },
  },
  required: ["to", "euros"],
};

test("E6: a simple object becomes fields with their types, descriptions and defaults", () => {
  expect(
    fieldsOf(simple)?.map(({ name, type, isRequired, about, first }) => [name, type, isRequired, about, first]),
  ).toEqual([
    ["to", "text", true, "Who gets it", ""],
    ["euros", "number", true, "", ""],
    ["days", "integer", false, "", "3"],
    ["isUrgent", "boolean", false, "", ""],
    ["speed", "choice", false, "", ""],
  ]);
});

test.each([
  [{ type: "array", items: { type: "string" } }],
  [{ type: "object", properties: { lines: { type: "array" } } }],
  [{ type: "object", properties: { who: { anyOf: [{ type: "string" }, { type: "null" }] } } }],
  [{ type: ["object", "null"], properties: {} }],
  [{}],
  [undefined],
])("E6: the schema %j needs JSON", (schema) => {
  expect(fieldsOf(schema)).toBeUndefined();
});

test("E6: empty fields are left out of the object, and a required text can be empty", () => {
  const fields = fieldsOf(simple) ?? [];
  expect(objectOf(fields, {})).toEqual({ to: "", days: 3 });
  expect(objectOf(fields, { to: "ada", euros: "2.5", days: "", isUrgent: "false", speed: "2" })).toEqual({
    to: "ada",
    euros: 2.5,
    isUrgent: false,
    speed: 2,
  });
});

test("E6: the JSON of a schema begins with its required properties", () => {
  const order = { type: "object", properties: { item: simple, note: { type: "string" } }, required: ["item"] };
  expect(sampleOf(order)).toEqual({ item: { to: "", euros: 0 } });
  expect([{ enum: ["a", "b"] }, { type: "array" }, { const: 7 }, {}].map(sampleOf)).toEqual(["a", [], 7, null]);
});
