import { definePlugin, hasCode, optionsSchema, type Schema } from "bowline/plugin";
import { expect, expectTypeOf, test } from "vitest";
import { check } from "./schema.ts";

const ofNotes = optionsSchema<object, object>((given) => {
  given.only("max", "isLoud", "title", "tags", "keep", "from", "notes", "sink");
  return {
    max: given.whole("max", { min: 1, max: 100 }, 20),
    isLoud: given.flag("isLoud", false),
    title: given.text("title", undefined),
    tags: given.texts("tags", []),
    keep: given.oneOf("keep", ["head", "tail"], "head"),
    from: given.object("from", undefined)?.whole("line"),
    notes: given.objects("notes", (note) => ({ id: note.text("id") }), []),
    sink: given.checked("sink", (value) => typeof value === "function", "a function", undefined),
  };
});

const checkedBy = (schema: Schema, given: unknown) => check(schema, given, "the test");
const problemWith = (given: unknown): string | undefined => {
  const result = checkedBy(ofNotes, given);
  return result.ok ? undefined : result.problem;
};

test("fields that are not given have the values they were read with", () => {
  expect(checkedBy(ofNotes, {})).toEqual({
    ok: true,
    value: { max: 20, isLoud: false, title: undefined, tags: [], keep: "head", from: undefined, notes: [] },
  });
  expect(checkedBy(ofNotes, { max: undefined })).toMatchObject({ ok: true, value: { max: 20 } });
});

test("fields that are given are read as they are", () => {
  const sink = (): void => {};
  const given = {
    max: 100,
    isLoud: true,
    title: "",
    tags: ["a"],
    keep: "tail",
    from: { line: 0 },
    notes: [{ id: "n1" }],
  };
  expect(checkedBy(ofNotes, { ...given, sink })).toEqual({ ok: true, value: { ...given, from: 0, sink } });
});

test.each([
  ["text", "it must be an object"],
  [null, "it must be an object"],
  [[], "it must be an object"],
  [{ max: 0 }, "max must be a whole number from 1 to 100"],
  [{ max: 1.5 }, "max must be a whole number from 1 to 100"],
  [{ max: "5" }, "max must be a whole number from 1 to 100"],
  [{ max: null }, "max must be a whole number from 1 to 100"],
  [{ isLoud: 1 }, "isLoud must be true or false"],
  [{ title: 1 }, "title must be a text"],
  [{ tags: "a" }, "tags must be a list of texts"],
  [{ tags: ["a", 1] }, "tags must be a list of texts"],
  [{ keep: "middle" }, "keep must be one of head, tail"],
  [{ from: 3 }, "from must be an object"],
  [{ from: {} }, "from.line must be a whole number of 0 or more"],
  [{ notes: {} }, "notes must be a list"],
  [{ notes: [{ id: "n1" }, "n2"] }, "notes.1 must be an object"],
  [{ notes: [{ id: "n1" }, {}] }, "notes.1.id must be a text"],
  [{ sink: "stdout" }, "sink must be a function"],
  [
    { maxx: 1 },
    "there is no field maxx; there are max, isLoud, title, tags, keep, from, notes, sink; the nearest is max",
  ],
  [{ colour: 1 }, "there is no field colour; there are max, isLoud, title, tags, keep, from, notes, sink"],
])("%j is refused: %s", (given, problem) => {
  expect(problemWith(given)).toBe(problem);
});

test("a rule of one's own is reported with the path of what broke it", () => {
  const schema = optionsSchema<object, unknown>((given) => {
    const servers = given.object("servers");
    if (servers.names.length === 0) throw given.wrong("needs a server");
    for (const name of servers.names) {
      const server = servers.object(name);
      if (server.value("command") === server.value("url")) throw server.wrong("needs a command or a url");
      if (server.text("url") === "") throw server.wrong("must not be empty", "url");
    }
    return {};
  });
  expect(checkedBy(schema, { servers: {} })).toEqual({ ok: false, problem: "it needs a server" });
  expect(checkedBy(schema, { servers: { a: {} } })).toEqual({
    ok: false,
    problem: "servers.a needs a command or a url",
  });
  expect(checkedBy(schema, { servers: { a: { url: "" } } })).toEqual({
    ok: false,
    problem: "servers.a.url must not be empty",
  });
});

test("an error that does not refuse the value is a bug of the reading function, and is thrown", () => {
  const schema = optionsSchema(() => {
    throw new TypeError("A bug.");
  });
  expect(() => checkedBy(schema, {})).toThrow(new TypeError("A bug."));
});

test("a plugin is typed by what it is given and works with what was read", () => {
  interface Options {
    readonly max?: number;
  }
  const notes = definePlugin({
    id: "acme/notes",
    options: optionsSchema<Options, { readonly max: number }>((given) => ({
      max: given.whole("max", { min: 1 }, 100),
    })),
    state: optionsSchema<unknown, { readonly notes: readonly string[] }>((given) => ({
      notes: given.texts("notes", []),
    })),
    setup: ({ options }) => {
      expectTypeOf(options).toEqualTypeOf<{ readonly max: number }>();
      return { prompt: ({ state }) => ({ slot: "context", text: state.get().notes.join("\n") }) };
    },
  });
  notes({ max: 5 });
  // @ts-expect-error a text is no number
  const wrong = (): unknown => notes({ max: "5" });
  expect(wrong).toThrow(
    expect.toSatisfy(
      (error) =>
        hasCode(error, "plugin.options") && error.details.problem === "max must be a whole number of 1 or more",
    ),
  );
});
