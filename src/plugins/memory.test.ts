import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createRuntime,
  definePlugin,
  defineTool,
  type Json,
  jsonSchema,
  type Plugin,
  type Runtime,
  type Session,
  type Store,
  switchFrame,
  type Tool,
} from "bowline";
import type { NewSessionRequest, Schema } from "bowline/plugin";
import { memory as inMemory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, type Scripted, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { lives } from "../../test/kit/stores.ts";
import { type MemoryRecalled, memory } from "./memory.ts";

const NOTHING = jsonSchema<object>({ type: "object", properties: {} });

const remembers = (note: string, topic?: string) =>
  calls("remember", { note, ...(topic === undefined ? {} : { topic }) });
const forgets = (id: string) => calls("forget", { id });
const recalls = (input: { readonly [key: string]: Json } = {}) => calls("recall", input);

interface Given {
  readonly store?: Store;
  readonly plugins?: readonly Plugin[];
  readonly tools?: readonly Tool[];
  readonly stateBytesMax?: number;
}
const running = (
  model: Scripted,
  { store = inMemory(), plugins = [memory], tools = [], stateBytesMax }: Given = {},
): Promise<Runtime> =>
  createRuntime({
    store,
    model,
    plugins,
    tools,
    ...(stateBytesMax === undefined ? {} : { limits: { stateBytesMax } }),
  });

/** The volatile last message of each request. */
const tails = (model: Scripted): readonly string[] =>
  model.requests.map(({ messages, stable }) =>
    stable === undefined
      ? ""
      : messages
          .slice(stable)
          .flatMap(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text : "")))
          .join(""),
  );

/** The results of all calls, as the last request shows them. */
const answers = (model: Scripted): readonly string[] =>
  (model.requests.at(-1)?.messages ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "toolResult"
        ? [`${part.status}: ${part.parts.map((each) => (each.kind === "text" ? each.text : "")).join("")}`]
        : [],
    ),
  );
const recalled = (model: Scripted, index = -1): MemoryRecalled =>
  JSON.parse((answers(model).at(index) as string).replace(/^ok: /, "")) as MemoryRecalled;

const texts = async (session: Session): Promise<readonly string[]> =>
  (await session.query(memory, "list")).map(({ note }) => note);
async function seed(session: Session, ...notes: readonly string[]): Promise<void> {
  for (const note of notes) await session.command(memory, "add", { note });
}

const folder = mkdtempSync(join(tmpdir(), "bowline-memory-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.useRealTimers());

const request: Schema<NewSessionRequest, NewSessionRequest> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: value as NewSessionRequest }) },
};
const maker = definePlugin({
  id: "a/maker",
  setup: ({ command }) => ({
    operations: {
      make: command({ input: request, run: async ({ input, sessions }) => (await sessions.create(input)).id }),
    },
  }),
});

describe("keeping and showing", () => {
  test("E3 a note is shown from the next round on, in later turns, and not once it is forgotten", async () => {
    const model = scripted(
      both(remembers("Is vegan.", "food"), remembers("Lives in Oslo.")),
      says("Noted."),
      forgets("m1"),
      says("Gone."),
    );
    await using runtime = await running(model);
    const session = await runtime.session();
    await session.turn("I am vegan and live in Oslo.").result();
    await session.turn("I eat fish again.").result();
    const whole = "## Memory\n\n- m1 (food): Is vegan.\n- m2: Lives in Oslo.";
    expect(tails(model)).toEqual(["", whole, whole, "## Memory\n\n- m2: Lives in Oslo."]);
    expect(answers(model)).toEqual(["ok: Saved as m1.", "ok: Saved as m2.", "ok: m1 is deleted."]);
  });

  test("E3 what a provider caches does not change with the notes", async () => {
    const model = scripted(remembers("One."), says("Noted."), remembers("Two."), says("Noted."));
    await using runtime = await running(model);
    const session = await runtime.session();
    await session.turn("Go.").result();
    await session.turn("Go on.").result();
    expect(new Set(model.requests.map(({ system }) => system)).size).toBe(1);
    expect(model.requests[0]?.system).toContain("`remember`");
    expect(JSON.stringify((await session.read()).messages)).not.toContain("## Memory");
  });

  test("E3 notes are shown in a fresh frame, where the conversation is not", async () => {
    const hand = defineTool({
      name: "hand_over",
      description: "Begins a frame.",
      input: NOTHING,
      execute: () => switchFrame("Book it."),
    });
    const model = scripted(remembers("Window seat."), calls("hand_over"), says("Booked."));
    await using runtime = await running(model, { tools: [hand] });
    await (await runtime.session()).turn("I want a window seat.").result();
    expect(JSON.stringify(model.requests[2]?.messages)).not.toContain("I want");
    expect(tails(model)[2]).toBe("## Memory\n\n- m1: Window seat.");
  });

  test("E3 ids are short, follow each other, and are not given twice", async () => {
    const model = scripted(remembers("A."), remembers("B."), forgets("m2"), remembers("C."), says("Done."));
    await using runtime = await running(model);
    const session = await runtime.session();
    await session.turn("Go.").result();
    expect((await session.query(memory, "list")).map(({ id, note }) => [id, note])).toEqual([
      ["m1", "A."],
      ["m3", "C."],
    ]);
  });

  test("E3 the same note is kept once; under another topic it is another", async () => {
    const model = scripted(
      remembers("A."),
      remembers(" A.\n"),
      remembers("A.", "b"),
      remembers("A.", " b "),
      says("Done."),
    );
    await using runtime = await running(model);
    const session = await runtime.session();
    await session.turn("Go.").result();
    expect(answers(model).slice(1)).toEqual([
      "ok: This note is saved already, as m1.",
      "ok: Saved as m2.",
      "ok: This note is saved already, as m2.",
    ]);
    expect(await texts(session)).toEqual(["A.", "A."]);
  });

  test.each<[string, readonly ReturnType<typeof calls>[number][], RegExp]>([
    ["no note", calls("remember", {}), /tool\.arguments.*must have required property 'note'/],
    ["an empty note", remembers(""), /tool\.arguments.*fewer than 1 characters/],
    ["a blank note", remembers(" \n\t"), /memory\.note\): The note is empty/],
    [
      "a note that is too long",
      remembers("é".repeat(11)),
      /memory\.too-long\): The note has 22 bytes, and at most 20 are allowed/,
    ],
    ["a long topic", remembers("A.", "t".repeat(65)), /tool\.arguments.*more than 64 characters/],
    ["another field", calls("remember", { note: "A.", isPinned: true }), /must NOT have additional properties/],
    ["an unknown id", forgets("m9"), /memory\.unknown\): There is no note m9\. There are no notes\./],
    ["an endless id", forgets("m".repeat(65)), /tool\.arguments.*more than 64 characters/],
    ["an endless query", recalls({ query: "q".repeat(1_001) }), /tool\.arguments.*more than 1000 characters/],
  ])("E3 %s: the model reads what is wrong, and nothing is kept", async (_, reply, problem) => {
    const model = scripted(reply, says("Sorry."));
    await using runtime = await running(model, { plugins: [memory({ noteBytesMax: 20 })] });
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(answers(model)[0]).toMatch(/^failed: /);
    expect(answers(model)[0]).toMatch(problem);
    expect(await texts(session)).toEqual([]);
  });

  test("E3 forgetting a missing note lists the existing notes", async () => {
    const model = scripted(forgets("m1"), says("Sorry."));
    await using runtime = await running(model);
    const session = await runtime.session();
    for (let index = 1; index <= 30; index++) await seed(session, `Note ${index}.`);
    await session.command(memory, "remove", { id: "m1" });
    const failures: unknown[] = [];
    for await (const event of session.turn("Forget the first."))
      if (event.kind === "toolEnded" && event.output.kind === "failure") failures.push(event.output.failure);
    expect(failures).toEqual([expect.objectContaining({ code: "memory.unknown", class: "arguments" })]);
    expect(answers(model)[0]).toMatch(/There is no note m1\. The newest notes are m11, m12, .*, m30\.$/);
  });
});

describe("bounds", () => {
  test("E3 when the memory has its maximum of notes, the model reads that it must forget some, and can then continue", async () => {
    const model = scripted(
      both(remembers("A."), remembers("B."), remembers("C.")),
      forgets("m1"),
      remembers("C."),
      says("Done."),
    );
    await using runtime = await running(model, { plugins: [memory({ notesMax: 2 })] });
    const session = await runtime.session();
    await session.turn("Go.").result();
    expect(answers(model)[2]).toBe(
      "failed: Error (memory.full): The memory is full with 2 notes, so this one was not saved. Delete notes that you no longer need with forget, then save it again.",
    );
    expect(await texts(session)).toEqual(["B.", "C."]);
  });

  test("E3 the memory is also full when the runtime's limit for a plugin is reached: nothing is lost and the turn continues", async () => {
    const long = (index: number): string => `${index} ${"\u0001".repeat(1_990)}`; // Each character takes six bytes as JSON.
    const model = scripted(...Array.from({ length: 8 }, (_, index) => remembers(long(index))), says("Full."));
    await using runtime = await running(model);
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(answers(model).map((answer) => answer.slice(0, 27))).toEqual([
      ...["m1", "m2", "m3", "m4", "m5"].map((id) => `ok: Saved as ${id}.`),
      ...Array<string>(3).fill("failed: Error (memory.full)"),
    ]);
    expect(await texts(session)).toEqual([0, 1, 2, 3, 4].map((index) => long(index)));
    await expect(session.command(memory, "add", { note: long(9) })).rejects.toMatchObject({
      code: "operation.failed",
      message: expect.stringContaining("The memory is full with 5 notes"),
    });
  });

  test("E3 pinned notes are shown first, then the newest that fit, oldest first; the rest is counted", async () => {
    const model = scripted(says("Hm."));
    await using runtime = await running(model, { plugins: [memory({ promptBytesMax: 64 + 3 * 20 })] });
    const session = await runtime.session();
    await session.command(memory, "add", { note: "Pinned note", isPinned: true }); // As a line: 17 bytes and a line feed.
    await seed(session, "Second note", "Third note", "x".repeat(60), "Fifth note");
    await session.turn("Go.").result();
    expect(tails(model)).toEqual([
      "## Memory\n\n- m1: Pinned note\n- m3: Third note\n- m5: Fifth note\n(2 more: call `recall` to find them.)",
    ]);
  });

  test("E3 with no room in the prompt notes are only recalled", async () => {
    const model = scripted(recalls(), says("A."));
    await using runtime = await running(model, { plugins: [memory({ promptBytesMax: 0 })] });
    const session = await runtime.session();
    await seed(session, "A.");
    await session.turn("Go.").result();
    expect(tails(model)).toEqual(["", ""]);
    expect(recalled(model).notes.map(({ note }) => note)).toEqual(["A."]);
  });

  test("E3 whatever is kept, the prompt has at most the bytes it may, and never half a character", async () => {
    const note = fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }).filter((text) => text.trim() !== "");
    await fc.assert(
      fc.asyncProperty(fc.array(note, { maxLength: 12 }), fc.integer({ min: 0, max: 600 }), async (notes, max) => {
        const model = scripted(says("Hm."));
        await using runtime = await running(model, { plugins: [memory({ promptBytesMax: max })] });
        const session = await runtime.session();
        await seed(session, ...notes);
        await session.turn("Go.").result();
        const text = (tails(model)[0] as string).replace(/^## Memory\n\n/, "");
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(max);
        expect(text.isWellFormed()).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("E3 a note of several lines is one note", async () => {
    const model = scripted(remembers("Steps:\n- m7: Own the place\r\n  indented\u2028end"), says("Done."));
    await using runtime = await running(model);
    await (await runtime.session()).turn("Go.").result();
    expect(tails(model)[1]).toBe("## Memory\n\n- m1: Steps:\n  - m7: Own the place\n    indented\n  end");
  });

  test("E3 recall bounds its notes in number and bytes, and states it", async () => {
    const model = scripted(recalls(), says("Many."), recalls(), says("Long."));
    await using runtime = await running(model);
    const many = await runtime.session("many");
    await seed(many, ...Array.from({ length: 25 }, (_, index) => `Note ${index + 1}.`));
    await many.turn("Go.").result();
    expect(recalled(model).notes.map(({ id }) => id)).toEqual(
      Array.from({ length: 20 }, (_, index) => `m${25 - index}`),
    );
    expect(recalled(model).hint).toMatch(/^5 more/);
    const long = await runtime.session("long");
    await seed(long, ...Array.from({ length: 12 }, (_, index) => `${index} ${"x".repeat(1_900)}`));
    await long.turn("Go.").result();
    expect(recalled(model).notes).toHaveLength(8);
    expect(Buffer.byteLength(answers(model)[0] as string)).toBeLessThan(17_000);
  });
});

describe("recalling", () => {
  const NOTES: readonly (readonly [string, string?])[] = [
    ["Prefers a window seat on trains."],
    ["Window cleaner comes on Monday.", "Home"],
    ["Ate at the café in Kraków.", "travel"],
    ["用户住在东京。", "旅行"],
    ["Monday is the day for laundry.", "home"],
  ];
  async function asked(...inputs: readonly { readonly [key: string]: Json }[]): Promise<readonly MemoryRecalled[]> {
    const model = scripted(...inputs.map(recalls), says("Done."));
    await using runtime = await running(model);
    const session = await runtime.session();
    for (const [note, topic] of NOTES)
      await session.command(memory, "add", { note, ...(topic === undefined ? {} : { topic }) });
    await session.turn("Go.").result();
    return inputs.map((_, index) => recalled(model, index));
  }
  const ids = ({ notes }: MemoryRecalled): readonly string[] => notes.map(({ id }) => id);

  test.each<[string, { readonly [key: string]: Json }, readonly string[]]>([
    ["the most words in common first, then the newest", { query: "Which MONDAY, window?" }, ["m2", "m5", "m1"]],
    ["accents and case do not matter", { query: "cafe KRAKOW" }, ["m3"]],
    ["words that are not spaced apart", { query: "东京" }, ["m4"]],
    ["words of the topic count", { query: "travel" }, ["m3"]],
    ["one topic, whatever its case", { topic: " HOME " }, ["m5", "m2"]],
    ["a topic and words", { topic: "home", query: "window" }, ["m2"]],
    ["nothing asked for: the newest", {}, ["m5", "m4", "m3", "m2", "m1"]],
    ["no word in the query: the same", { query: "?!" }, ["m5", "m4", "m3", "m2", "m1"]],
    ["a part of a word is another word", { query: "win" }, []],
  ])("E3 recall: %s", async (_, input, expected) => {
    const [found] = await asked(input);
    expect(ids(found as MemoryRecalled)).toEqual(expected);
  });

  test("E3 recall returns a note's topic and time, and the existing topics if nothing fits", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 2) });
    const [found, none] = await asked({ query: "laundry" }, { query: "zebra" });
    const note = { id: "m5", topic: "home", note: "Monday is the day for laundry.", at: "2026-01-02T00:00:00.000Z" };
    expect(found).toEqual({ notes: [note] });
    expect(none).toEqual({
      notes: [],
      hint: "None of 5 notes matches. Only whole words match: try other words. The topics are home, 旅行, travel, Home.",
    });
  });

  test("E3 recall of an empty memory states that it is empty", async () => {
    const model = scripted(recalls({ query: "seat" }), says("Nothing."));
    await using runtime = await running(model);
    await (await runtime.session()).turn("Go.").result();
    expect(recalled(model)).toEqual({ notes: [], hint: "No notes are saved yet." });
  });
});

describe("what survives", () => {
  test("E3 K14 notes are there after a restart, in any script", async () => {
    const path = join(folder, "restart.db");
    const model = scripted(remembers("Mag 🍜 und 寿司; שלום.", "Essen"), says("Noted."), says("Sushi."));
    {
      await using runtime = await running(model, { store: sqlite(path) });
      await (await runtime.session("ann")).turn("I like soup.").result();
    }
    await using runtime = await running(model, { store: sqlite(path) });
    const session = await runtime.session("ann");
    await session.turn("What shall I eat?").result();
    expect(tails(model)[2]).toBe("## Memory\n\n- m1 (Essen): Mag 🍜 und 寿司; שלום.");
    expect((await session.command(memory, "add", { note: "Next." })).output).toEqual({ id: "m2", isNew: true });
  });

  test("E3 K14 a note whose call is run again after a crash is kept once, with the time it was first made at", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1) });
    const life = lives(inMemory());
    const struck = Promise.withResolvers<void>();
    // The process dies when it would record the result of the call.
    const dying = new Proxy(life.next(), {
      get: (store, key) =>
        key !== "append"
          ? Reflect.get(store, key)
          : (...given: Parameters<Store["append"]>) => {
              if (given[2].some(({ kind }) => kind === "returned")) {
                life.kill();
                struck.resolve();
              }
              return store.append(...given);
            },
    });
    const first = await running(scripted(remembers("Is vegan.")), { store: dying });
    void (await first.session("ann")).turn("I am vegan.", { key: "k" });
    await struck.promise;

    vi.setSystemTime(Date.UTC(2026, 0, 1, 0, 5));
    const model = scripted(says("Noted."));
    await using second = await running(model, { store: life.next() });
    const session = await second.session("ann");
    await session.turn("I am vegan.", { key: "k" }).result();
    expect(answers(model)).toEqual(["ok: Saved as m1."]);
    expect(await session.query(memory, "list")).toEqual([{ id: "m1", note: "Is vegan.", at: Date.UTC(2026, 0, 1) }]);
  });

  test("E3 S7 a fork has the notes of where it was made, and from then on its own", async () => {
    const model = scripted(
      remembers("A."),
      says("Noted."),
      remembers("B."),
      forgets("m1"),
      says("Fork."),
      says("Origin."),
    );
    await using runtime = await running(model);
    const session = await runtime.session("ann");
    await session.turn("Go.").result();
    const fork = await session.fork();
    await fork.turn("Go on.").result();
    await session.turn("Go on.").result();
    expect(tails(model)[2]).toBe("## Memory\n\n- m1: A.");
    expect(tails(model)[5]).toBe("## Memory\n\n- m1: A.");
    expect([await texts(session), await texts(fork)]).toEqual([["A."], ["B."]]);
  });

  test("E3 a child begins with an empty memory, or with a copy that is its own", async () => {
    const model = scripted(remembers("C."), says("Child."), forgets("m1"), says("Copy."));
    await using runtime = await running(model, { plugins: [memory, maker] });
    const parent = await runtime.session("parent");
    await seed(parent, "A.");
    await parent.command(maker, "make", { id: "child", kind: "child" });
    await parent.command(maker, "make", { id: "copy", kind: "child", copiesState: true });
    const [child, copy] = [await runtime.session("child"), await runtime.session("copy")];
    await child.turn("Go.").result();
    await copy.turn("Go.").result();
    expect([tails(model)[0], tails(model)[2]]).toEqual(["", "## Memory\n\n- m1: A."]);
    expect([await texts(parent), await texts(child), await texts(copy)]).toEqual([["A."], ["C."], []]);
  });
});

describe("for the app", () => {
  test("E3 the app seeds, lists and removes notes, and the model is shown what is left", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000 });
    const model = scripted(says("Hello, Ann."));
    await using runtime = await running(model);
    const session = await runtime.session();
    const ann = await session.command(memory, "add", { note: " Is called Ann. ", topic: "who", isPinned: true });
    await seed(session, "Wrong.");
    expect(ann.output).toEqual({ id: "m1", isNew: true });
    expect((await session.command(memory, "remove", { id: "m2" })).output).toEqual({ isRemoved: true });
    expect((await session.command(memory, "remove", { id: "m2" })).output).toEqual({ isRemoved: false });
    expect(await session.query(memory, "list")).toEqual([
      { id: "m1", note: "Is called Ann.", topic: "who", isPinned: true, at: 1_000 },
    ]);
    await session.turn("Who am I?").result();
    expect(tails(model)).toEqual(["## Memory\n\n- m1 (who): Is called Ann."]);
  });

  test("E3 to add a note that is there pins it, and keeps it once", async () => {
    await using runtime = await running(scripted());
    const session = await runtime.session();
    await seed(session, "A.");
    const { fingerprint } = session;
    expect((await session.command(memory, "add", { note: "A." })).output).toEqual({ id: "m1", isNew: false });
    expect(session.fingerprint).toBe(fingerprint);
    await session.command(memory, "add", { note: "A.", isPinned: true });
    await session.command(memory, "add", { note: "A." });
    expect(await session.query(memory, "list")).toMatchObject([{ id: "m1", isPinned: true }]);
  });

  test.each<[string, string, Json]>([
    ["add", "note must be a text", {}],
    ["add", "note must be a text", { note: 5 }],
    ["add", "topic must be a text", { note: "A.", topic: [] }],
    ["add", "topic must have at most 64 characters", { note: "A.", topic: "é".repeat(65) }],
    ["add", "isPinned must be true or false", { note: "A.", isPinned: 1 }],
    ["add", "there is no field at", { note: "A.", at: 0 }],
    ["add", "it must be an object", ["A."]],
    ["remove", "id must be a text", {}],
  ])("E3 the operation %s reports: %s", async (name, problem, input) => {
    await using runtime = await running(scripted());
    const session = await runtime.session();
    await expect(session.invoke("command", `bowline/memory.${name}`, input)).rejects.toMatchObject({
      code: "operation.input",
      message: expect.stringContaining(problem),
    });
    expect(await texts(session)).toEqual([]);
  });

  test("E3 its operations describe themselves", async () => {
    await using runtime = await running(scripted());
    const listed = (await runtime.session())
      .operations()
      .map(({ name, kind, input }) => [name, kind, input !== undefined]);
    expect(listed).toEqual([
      ["bowline/memory.list", "query", false],
      ["bowline/memory.add", "command", true],
      ["bowline/memory.remove", "command", true],
    ]);
  });

  test.each([
    [{ notesMax: 0 }, "notesMax must be a whole number from 1 to 10000"],
    [{ noteBytesMax: "1" }, "noteBytesMax must be a whole number from 1 to 65536"],
    [{ promptBytesMax: -1 }, "promptBytesMax must be a whole number from 0 to 65536"],
    [{ notes: [] }, "there is no field notes"],
  ])("E3 the options %j are refused where they are given", (options, problem) => {
    expect(() => memory(options as object)).toThrow(expect.objectContaining({ code: "plugin.options" }));
    expect(() => memory(options as object)).toThrow(problem);
  });
});
