import { createHash } from "node:crypto";
import {
  attach,
  createRuntime,
  definePlugin,
  defineTool,
  jsonSchema,
  type Message,
  type Plugin,
  type Runtime,
  type Session,
  type Store,
} from "bowline";
import { replaceResult } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { memory } from "bowline/stores/memory";
import { both, calls, type Scripted, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { outputBudget } from "./index.ts";
import { bytesOf, fits, headEnd, linesIn, tailStart, textOf } from "./window.ts";

const NOTHING = jsonSchema<object>({ type: "object" });
const gives = (value: unknown, name = "fetch") =>
  defineTool({ name, description: "Fetches.", input: NOTHING, execute: () => value });

/** The tool results, as the last request shows them. */
function shown(model: Scripted): readonly string[] {
  return (model.requests.at(-1)?.messages ?? []).flatMap(resultsIn);
}
const resultsIn = ({ parts }: Message): readonly string[] =>
  parts.flatMap((part) =>
    part.kind === "toolResult"
      ? part.parts.map((each) => (each.kind === "text" ? each.text : `<${each.mediaType}>`))
      : [],
  );

const idIn = (text: string | undefined): string =>
  /read_output with \{\\?"id\\?":\\?"([\w-]{43})/.exec(text ?? "")?.[1] ?? "";
const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");
const bytes = (text: string): number => Buffer.byteLength(text);

type Reply = Parameters<typeof scripted>[number];

interface World extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
}
async function open(model: Scripted, tools: readonly ReturnType<typeof gives>[], ...plugins: Plugin[]): Promise<World> {
  return on(memory(), model, tools, ...plugins);
}
async function on(
  store: Store,
  model: Scripted,
  tools: readonly ReturnType<typeof gives>[],
  ...plugins: Plugin[]
): Promise<World> {
  const runtime = await createRuntime({
    store,
    model,
    tools,
    plugins: plugins.length === 0 ? [outputBudget] : plugins,
  });
  return { runtime, session: await runtime.session("s"), [Symbol.asyncDispose]: () => runtime.close() };
}

const numbered = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

/** A model that reads on, and joins what it read by the positions that the last lines name. */
class Reader {
  readonly pages: string[] = [];

  /** Reads on as the last line says, until that says that this is the end. */
  readonly reply: Reply = (request) => {
    const text = request.messages.flatMap(resultsIn).at(-1) as string;
    if (/bytes \d+ to \d+, of/.test(text.slice(text.lastIndexOf("[")))) this.pages.push(text);
    const [, json] = /To go on, call read_output with (\{.*\})\.\]$/.exec(text) ?? [];
    if (json !== undefined) return calls("read_output", { id: JSON.parse(json).id as string });
    const [, how = "", where] = /Go on with (offset|byte) (\d+)\.\]$/.exec(text) ?? [];
    return where === undefined ? says("Read.") : calls("read_output", { id: this.id, [how]: Number(where) });
  };
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  /** The line feed before the last line belongs to the text only where the text's line was whole. */
  whole(text: string): string {
    return this.pages
      .map((page) => {
        const footer = page.lastIndexOf("[Lines ");
        const isOwn = page.endsWith("This is the end.]") ? text.endsWith("\n") : /offset \d+\.\]$/.test(page);
        return page.slice(0, isOwn ? footer : footer - 1);
      })
      .join("");
  }
}

const LIMITS = { roundsMax: 500 };

describe("what is shown", () => {
  test("T10 a small result is shown as it is, whatever it is", async () => {
    const model = scripted(
      both(calls("text"), calls("json"), calls("lines"), calls("picture"), calls("fails")),
      says("Done."),
    );
    const picture = attach(new Uint8Array(100_000), { mediaType: "image/png" });
    const lines = numbered(400);
    const fails = defineTool({
      name: "fails",
      description: "Fails.",
      input: NOTHING,
      execute: () => {
        throw new Error("No.");
      },
    });
    const tools = [gives("x".repeat(16_384), "text"), gives({ a: [1] }, "json"), gives(lines, "lines")];
    await using world = await open(model, [...tools, gives(picture, "picture"), fails]);
    await world.session.turn("Go.").result();
    const [text, json, many, ref, image, failure] = shown(model);
    expect([text, json, many]).toEqual(["x".repeat(16_384), '{"a":[1]}', lines]);
    expect([ref?.startsWith('{"attachment"'), image]).toEqual([true, "<image/png>"]);
    expect(failure).toContain("No.");
  });

  test("T10 of a result with too many lines the model sees the head, and a last line states what was left out", async () => {
    const text = numbered(1_000);
    const model = scripted(calls("fetch"), says("Done."));
    await using world = await open(model, [gives(text)]);
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    const lines = view.split("\n");
    expect(lines).toHaveLength(400);
    expect(lines.slice(0, 399)).toEqual(text.split("\n").slice(0, 399));
    const rest = text.split("\n").slice(399).join("\n");
    expect(lines.at(-1)).toBe(
      `[Left out: the last ${bytes(rest)} bytes (601 lines) of ${bytes(text)} bytes (1000 lines). ` +
        `To go on, call read_output with {"id":"${hashOf(text)}","offset":400}.]`,
    );
  });

  test("T10 of a result with too many bytes whole lines are shown, and all of it fits the budget", async () => {
    const text = `${"é".repeat(99)}\n`.repeat(300);
    const model = scripted(calls("fetch"), says("Done."));
    await using world = await open(model, [gives(text)]);
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    expect(bytes(view)).toBeLessThanOrEqual(16_384);
    expect(bytes(view)).toBeGreaterThan(15_000);
    for (const line of view.split("\n").slice(0, -1)) expect(line).toBe("é".repeat(99));
  });

  test.each([
    ["tail", "shell", {}],
    ["tail", "logs", { keep: { logs: "tail" } }],
    ["tail", "fetch", { keep: "tail" }],
    ["head", "shell", { keep: { shell: "head" } }],
    ["head", "shell", { keep: "head" }],
    ["head", "fetch", { keep: { logs: "tail" } }],
  ] as const)("T10 the %s of %s is shown with the options %j", async (end, name, options) => {
    const text = numbered(5_000);
    const model = scripted(calls(name), says("Done."));
    await using world = await open(model, [gives(text, name)], outputBudget(options));
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    expect([view.split("\n").length <= 401, bytes(view) <= 16_384]).toEqual([true, true]);
    if (end === "head") {
      expect(view.startsWith("line 1\nline 2\n")).toBe(true);
      return;
    }
    expect(view.endsWith("line 4999\nline 5000\n")).toBe(true);
    expect(view.split("\n")[0]).toMatch(
      /^\[Left out: the first \d+ bytes \(4601 lines\) of \d+ bytes \(5000 lines\)\. To read from the start, call read_output with \{"id":"[\w-]{43}"\}\.\]$/,
    );
  });

  test.each(["head", "tail"] as const)(
    "T10 a single line without end is cut at its %s, never inside a character",
    async (keep) => {
      const text = `a${"🧶".repeat(30_000)}`;
      const model = scripted(calls("fetch"), says("Done."));
      await using world = await open(model, [gives(text)], outputBudget({ keep }));
      await world.session.turn("Go.").result();
      const [view = ""] = shown(model);
      expect(bytes(view)).toBeLessThanOrEqual(16_384);
      expect(view.isWellFormed() && !view.includes("\ufffd")).toBe(true);
      const [first = "", second = ""] = view.split("\n");
      expect(keep === "head" ? /^a(🧶)+$/u.test(first) : /^(🧶)+$/u.test(second)).toBe(true);
      expect(keep === "head" ? second : first).toContain("(1 lines)");
    },
  );

  test("T10 a long line after short ones is cut too, so that the room is used", async () => {
    const model = scripted(calls("fetch"), says("Done."));
    await using world = await open(model, [gives(`short\n${"x".repeat(1_000_000)}`)]);
    await world.session.turn("Go.").result();
    expect(bytes(shown(model)[0] ?? "")).toBeGreaterThan(16_000);
    expect(shown(model)[0]).toContain('"byte":');
  });

  test("T10 a long text in JSON is cut where it is, so that what is beside it stays", async () => {
    const [stdout, stderr] = [numbered(9_000), `${"é".repeat(20_000)}"`];
    const model = scripted(
      calls("shell"),
      calls("read_output", { id: hashOf(stdout), offset: 2, lines: 1 }),
      says("."),
    );
    await using world = await open(model, [gives({ exitCode: 3, stdout, stderr, more: ["ok", null] }, "shell")]);
    await world.session.turn("Go.").result();
    const [json = "", page] = shown(model);
    expect(bytes(json)).toBeLessThanOrEqual(16_384);
    const view = JSON.parse(json) as { exitCode: number; stdout: string; stderr: string; more: unknown };
    expect([view.exitCode, view.more]).toEqual([3, ["ok", null]]);
    expect(view.stdout.endsWith("line 8999\nline 9000\n")).toBe(true);
    expect(view.stdout).toContain(hashOf(stdout));
    expect(view.stderr.endsWith('éé"')).toBe(true);
    expect(page).toBe(
      `line 2\n[Lines 2 to 2, bytes 7 to 14, of ${bytes(stdout)} bytes (9000 lines). Go on with offset 3.]`,
    );
  });

  test("T10 JSON that is long without a long text is cut as text", async () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `n${id}` }));
    const model = scripted(calls("fetch"), says("Done."));
    await using world = await open(model, [gives(rows)]);
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    expect(bytes(view)).toBeLessThanOrEqual(16_384);
    expect([view.startsWith('[{"id":0,"name":"n0"},'), idIn(view)]).toEqual([true, hashOf(JSON.stringify(rows))]);
  });

  test("T10 a long failure is cut as well", async () => {
    const model = scripted(calls("fetch"), says("Done."));
    const tool = defineTool({
      name: "fetch",
      description: "Fails.",
      input: NOTHING,
      execute: () => {
        throw new Error("no ".repeat(2_000));
      },
    });
    await using world = await open(model, [tool], outputBudget({ bytesMax: 1_024 }));
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    expect([bytes(view) <= 1_024, view.startsWith("Error (tool.failed)"), idIn(view)]).toEqual([
      true,
      true,
      expect.stringMatching(/^[\w-]{43}$/),
    ]);
  });

  test("T10 a text that a tool attached is shown as far as it fits, under the hash it has already", async () => {
    const log = numbered(3_000);
    const model = scripted(calls("fetch"), calls("read_output", { id: hashOf(log), offset: 3_000 }), says("Done."));
    const value = { ok: true, log: attach(bytesOf(log), { mediaType: "text/plain", name: "log.txt" }) };
    await using world = await open(model, [gives(value)]);
    await world.session.turn("Go.").result();
    const [ref = "", view = "", page = ""] = shown(model);
    expect(JSON.parse(ref)).toMatchObject({ ok: true, log: { attachment: hashOf(log), bytes: bytes(log) } });
    expect([view.startsWith("line 1\n"), idIn(view)]).toEqual([true, hashOf(log)]);
    expect(page.startsWith("line 3000\n[Lines 3000 to 3000,")).toBe(true);
  });

  test("T10 a result of many parts is bounded as a whole: the rest is named", async () => {
    const pictures = Array.from({ length: 100 }, (_, index) =>
      attach(new Uint8Array([index]), { mediaType: "image/png" }),
    );
    const texts = Array.from({ length: 20 }, (_, index) =>
      attach(bytesOf(`${index}: ${"x".repeat(20_000)}`), { mediaType: "text/plain" }),
    );
    const model = scripted(both(calls("pictures"), calls("texts")), says("Done."));
    await using world = await open(model, [gives(pictures, "pictures"), gives(texts, "texts")]);
    await world.session.turn("Go.").result();
    const results = model.requests
      .at(-1)
      ?.messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === "toolResult"));
    const [first, second] = (results ?? []).map((part) => (part.kind === "toolResult" ? part.parts : []));
    expect(first).toHaveLength(32);
    expect(first?.at(-1)).toMatchObject({
      kind: "text",
      text: expect.stringMatching(/^\[Left out: 70 more parts .*and 54 others/),
    });
    const total = second?.reduce((sum, part) => sum + (part.kind === "text" ? bytes(part.text) : 0), 0) ?? 0;
    expect(total).toBeLessThan(4 * 16_384 + 4_096);
    const last = second?.at(-1);
    expect(last).toMatchObject({
      kind: "text",
      text: expect.stringContaining("To read a text, call read_output with its id."),
    });
  });

  test("T10 the calls of a batch have a budget each", async () => {
    const batch = { calls: [1, 2, 3].map(() => ({ tool: "fetch", input: {} })) };
    const model = scripted(calls("batch", batch), says("Done."));
    await using world = await open(model, [gives(numbered(2_000))], toolCalls({ batch: true }), outputBudget);
    await world.session.turn("Go.").result();
    const texts = shown(model);
    expect(texts.filter((text) => text.startsWith("line 1\n"))).toHaveLength(3);
    for (const text of texts) expect(bytes(text)).toBeLessThanOrEqual(16_384);
  });

  test("T10 what another plugin makes of a result is what is cut and kept", async () => {
    const secret = definePlugin({
      id: "acme/redact",
      setup: () => ({
        afterToolCall: ({ output }) =>
          output.kind === "value" ? replaceResult(String(output.value).replaceAll("secret", "------")) : undefined,
      }),
    });
    const text = "secret\n".repeat(1_000);
    for (const plugins of [
      [outputBudget, secret],
      [secret, outputBudget],
    ]) {
      const model = scripted(calls("fetch"), calls("read_output", { id: hashOf("------\n".repeat(1_000)) }), says("."));
      await using world = await open(model, [gives(text)], ...plugins);
      await world.session.turn("Go.").result();
      const [view = "", page = ""] = shown(model);
      expect(idIn(view)).toBe(hashOf("------\n".repeat(1_000)));
      expect([page.startsWith("------\n"), page.includes("secret")]).toEqual([true, false]);
    }
  });

  test("T10 what could not be kept is said not to be, and the head is shown all the same", async () => {
    const late = definePlugin({
      id: "acme/late",
      order: "late",
      setup: () => ({
        afterToolCall: ({ output }) => (output.kind === "value" ? replaceResult(`${output.value}!`) : undefined),
      }),
    });
    const model = scripted(calls("fetch"), says("Done."));
    await using world = await open(model, [gives(numbered(1_000))], outputBudget, late);
    await world.session.turn("Go.").result();
    const [view = ""] = shown(model);
    expect([view.startsWith("line 1\n"), view.endsWith("The rest is not kept.]")]).toEqual([true, true]);
  });

  test.each([
    [{ bytesMax: 10 }, "bytesMax must be a whole number from 1024"],
    [{ linesMax: 1 }, "linesMax"],
    [{ keep: "middle" }, "keep must be head or tail"],
    [{ keep: { shell: 1 } }, "keep must be head or tail"],
    [{ bytes: 1 }, "there is no field bytes"],
  ])("E3 the options %j are refused", (options, problem) => {
    expect(() => outputBudget(options as never)).toThrow(problem);
  });
});

describe("what can be read later", () => {
  const TEXTS: readonly (readonly [string, string])[] = [
    ["many lines", numbered(3_000)],
    ["no feed at the end", numbered(3_000).slice(0, -1)],
    ["one line", "🧶é-".repeat(9_000)],
    ["lines of all lengths", Array.from({ length: 60 }, (_, n) => `${n}${"ü".repeat(n * n)}\r\n`).join("")],
    ["empty lines", "\n".repeat(2_000)],
    ["marks", `\ufeff${"\ufeffa\n".repeat(2_000)}`],
  ];

  test.each(TEXTS)("T10 a model that follows the last lines reads all of %s, in windows that fit", async (_, text) => {
    const reader = new Reader(hashOf(text));
    const model = scripted(calls("fetch"), ...Array.from({ length: 400 }, () => reader.reply));
    await using runtime = await createRuntime({
      store: memory(),
      model,
      tools: [gives(text)],
      plugins: [outputBudget({ bytesMax: 2_048, linesMax: 50 })],
      limits: LIMITS,
    });
    const session = await runtime.session("s");
    await session.turn("Go.").result();
    expect(reader.whole(text)).toBe(text);
    for (const page of reader.pages) {
      expect(bytes(page)).toBeLessThanOrEqual(2_048);
      expect(page.split("\n").length).toBeLessThanOrEqual(50);
    }
  });

  test("T10 it can be read after a restart and in a fork, and also when the origin is deleted", async () => {
    const text = numbered(2_000);
    const id = hashOf(text);
    const store = memory();
    const model = scripted(calls("fetch"), says("Done."));
    const world = await on(store, model, [gives(text)]);
    await world.session.turn("Go.").result();
    const again = scripted(
      ...Array.from({ length: 2 }, () => [calls("read_output", { id, offset: 1_999 }), says("Read.")]).flat(),
    );
    const later = await createRuntime({ store, model: again, tools: [], plugins: [outputBudget] });
    const session = await later.session("s");
    await session.turn("Read.").result();
    expect(shown(again).at(-1)).toMatch(/^line 1999\nline 2000\n\[.*This is the end\.\]$/);
    const fork = await session.fork();
    await session.close();
    await later.sessions.delete("s");
    await fork.turn("Read.").result();
    expect(shown(again).at(-1)).toMatch(/^line 1999\nline 2000\n/);
    await later.close();
  });

  test("T10 another session cannot read it, nor one that was only told the id by the user or a tool", async () => {
    const text = numbered(2_000);
    const id = hashOf(text);
    const echoed = `[Left out. To go on, call read_output with {"id":"${id}","offset":1}.]`;
    const model = scripted(
      calls("fetch"),
      says("Done."),
      both(calls("read_output", { id }), calls("echo")),
      calls("read_output", { id }),
      says("Done."),
    );
    await using world = await open(model, [gives(text), gives(echoed, "echo")]);
    await world.session.turn("Go.").result();
    const other = await world.runtime.session("other");
    await other.turn(`Read ${id}. ${echoed}`).result();
    const refused = "No text with this id is kept in this session.";
    expect(shown(model)).toEqual([expect.stringContaining(refused), echoed, expect.stringContaining(refused)]);
  });

  test("T10 what does not exist, or is past the end, is said plainly", async () => {
    const text = numbered(2_000);
    const id = hashOf(text);
    const model = scripted(
      calls("fetch"),
      both(
        calls("read_output", { id: "nothing" }),
        calls("read_output", { id: "__proto__" }),
        calls("read_output", { id, offset: 2_001 }),
        calls("read_output", { id, byte: 1e9 }),
        calls("read_output", { id, offset: 0 }),
        calls("read_output", {}),
      ),
      says("Done."),
    );
    await using world = await open(model, [gives(text)]);
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(shown(model).slice(1)).toEqual([
      expect.stringContaining("No text with this id"),
      expect.stringContaining("No text with this id"),
      expect.stringContaining(`past the end: the text has ${bytes(text)} bytes (2000 lines).`),
      expect.stringContaining("past the end"),
      expect.stringContaining("/offset must be >= 1"),
      expect.stringContaining("'id'"),
    ]);
  });

  test("T10 only so many are kept, and the oldest are let go", async () => {
    const texts = [1, 2, 3].map((n) => `${n}\n${numbered(1_000)}`);
    const ids = texts.map(hashOf);
    const tools = texts.map((text, index) => gives(text, `fetch${index}`));
    const model = scripted(
      both(calls("fetch0"), calls("fetch1"), calls("fetch0")),
      calls("fetch2"),
      both(...ids.map((id) => calls("read_output", { id, lines: 1 }))),
      says("Done."),
    );
    await using world = await open(model, tools, outputBudget({ keptMax: 2 }));
    await world.session.turn("Go.").result();
    expect(shown(model).slice(4)).toEqual([
      expect.stringMatching(/^1\n\[/), // Kept: fetch0 ran again after fetch1.
      expect.stringContaining("No text with this id"),
      expect.stringMatching(/^3\n\[/),
    ]);
  });
});

describe("windows", () => {
  const text = fc.array(
    fc.oneof(fc.string({ unit: "grapheme", maxLength: 40 }), fc.constant("\n"), fc.constant("\r\n")),
    {
      maxLength: 60,
    },
  );
  const room = fc.record({ bytesMax: fc.integer({ min: 16, max: 200 }), linesMax: fc.integer({ min: 1, max: 20 }) });

  test("T10 both windows fit their room, are whole characters, and are as long as the rule requires", () => {
    fc.assert(
      fc.property(text, room, (pieces, { bytesMax, linesMax }) => {
        const whole = pieces.join("");
        const data = bytesOf(whole);
        const end = headEnd(data, 0, { bytesMax, linesMax });
        const start = tailStart(data, { bytesMax, linesMax });
        for (const [from, to] of [
          [0, end],
          [start, data.length],
        ] as const) {
          expect(to - from).toBeLessThanOrEqual(bytesMax);
          expect(linesIn(data, from, to)).toBeLessThanOrEqual(linesMax);
        }
        expect(textOf(data, 0, end) + textOf(data, end)).toBe(whole);
        expect(textOf(data, 0, start) + textOf(data, start)).toBe(whole);
        const isAll = fits(whole, { bytesMax, linesMax });
        expect([end === data.length, start === 0]).toEqual([isAll, isAll]);
        if (data.length > 0) expect([end > 0, start < data.length]).toEqual([true, true]);
      }),
      { numRuns: 500 },
    );
  });
});
