// Code mode through the public door: replies, what people see of them, how turns end.
import { definePlugin, defineTool, type Plugin, type SessionEvent } from "bowline";
import { codeMode, ending } from "bowline/protocols/code";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { eventsOf, only, textIn } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { file } from "../kit/stores.ts";
import { open, runningOn } from "../kit/worlds.ts";

const plugins: readonly Plugin[] = [codeMode, sharedCode];
afterAll(closeSandbox);
const cell = (source: string) => `<typescript>\n${source}\n</typescript>`;
const writes = (source: string, before = "") => says(before + cell(source));

const weather = defineTool({
  name: "weather",
  description: "Weather now in a city.",
  input: z.object({ city: z.string() }),
  output: z.object({ celsius: z.number() }),
  execute: ({ city }) => ({ celsius: city.length }),
});

const seen = (events: readonly SessionEvent[]): string =>
  only(events, "text")
    .map(({ delta }) => delta)
    .join("");

describe("a turn", () => {
  test("P7 P9 one cell makes many calls, and prose ends the turn", async () => {
    const source =
      'const found = await Promise.all(["Oslo", "Rome"].map((city) => tools.weather({ city })));\nprint(found);';
    const model = scripted(writes(source), says("4 and 4."));
    await using world = await open(model, { plugins, tools: [weather] });
    const { outcome, usage } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "4 and 4." });
    expect(usage).toBeDefined();
    const [first, second] = model.requests;
    expect(first?.tools).toEqual([]);
    expect(first?.system).toContain("weather");
    expect(second?.messages.map(({ parts }) => textIn(parts)).slice(0, 3)).toEqual([
      "Go.",
      cell(source),
      expect.stringContaining("celsius: 4"),
    ]);
  });

  test("P7 finish ends the turn with the first value", async () => {
    await using world = await open(scripted(writes("finish({ a: 1 }); finish(2);")), { plugins });
    expect((await world.session.turn("Go.").result()).outcome).toEqual({
      kind: "finished",
      by: "model",
      value: { a: 1 },
    });
  });

  test("P7 T5 a typed result is checked; a wrong result is reported, and corrected", async () => {
    const model = scripted(writes('finish({ sum: "four" })'), says("It is four."), writes("finish({ sum: 4 })"));
    await using world = await open(model, { plugins });
    const output = z.object({ sum: z.number() });
    const { outcome } = await world.session.turn("Go.", { output }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { sum: 4 } });
    expect(textIn(model.requests[0]?.messages.at(-1)?.parts ?? [])).toContain('"sum":{"type":"number"}');
    const told = model.requests.map(({ messages }) => messages.map(({ parts }) => textIn(parts)).join("\n"));
    expect(told[1]).toMatch(/\[ERROR\] The value of finish\(\) does not fit: .*sum/);
    expect(told[1]).not.toContain("submit_output"); // Code has no tool of that name.
    expect(told[2]).toMatch(/\[ERROR\] Prose does not end this work/);
    expect((await world.session.read()).messages.at(-1)?.parts).toMatchObject([
      { kind: "codeOutput", status: "done", parts: [{ text: 'Finished with {"sum":4}' }] },
    ]);
  });

  test("P7 the output of a cell comes before the label that shows how the cell ended", async () => {
    const model = scripted(
      writes('print("one"); print("two");\nnull.x'),
      writes('print("three"); await tools.weather({ city: 7 })'),
      writes("void 0;"),
      says("Done."),
    );
    await using world = await open(model, { plugins, tools: [weather] });
    await world.session.turn("Go.").result();
    const heard = (round: number) => textIn(model.requests[round]?.messages.at(-2)?.parts ?? []);
    expect(heard(1)).toMatch(/^one\ntwo\n\[ERROR\] TypeError: .*\nCorrect the code\.$/s);
    expect(heard(2)).toMatch(/^three\n\[ERROR\] ToolError \[tool\.arguments\]: .*\nCatch the error where /s);
    expect(heard(3)).toBe("The code ran to its end. It printed nothing and has no value.");
  });

  test("P7 a typed result that is not an object is the value of finish itself", async () => {
    const model = scripted(writes("finish([1, 2])"));
    await using world = await open(model, { plugins });
    const { outcome } = await world.session.turn("Go.", { output: z.array(z.number()) }).result();
    expect(outcome).toMatchObject({ kind: "finished", value: [1, 2] });
  });

  test("P7 P1 the session and the turn say whether prose is an answer", async () => {
    const model = scripted(says("Four."), writes("finish(4)"), says("Five."), says("Six."), writes("finish(6)"));
    await using world = await open(model, { plugins });
    const { session } = world;
    const turn = async (...extensions: Parameters<typeof session.extend>[0][]) =>
      (await session.turn("Go.", { extensions }).result()).outcome;
    expect(await turn(ending.of("finish"))).toMatchObject({ value: 4 });
    expect(await turn()).toMatchObject({ text: "Five." });
    await session.extend(ending.of("finish"));
    expect(await turn()).toMatchObject({ value: 6 });
  });

  test("P7 P1 what session.extend said stays after a restart", async () => {
    const path = file();
    const one = await runningOn(path, { plugins, model: scripted() });
    await (await one.session("s")).extend(ending.of("finish"));
    await one.close();
    const model = scripted(says("Four."), writes("finish(4)"));
    const two = await runningOn(path, { plugins, model });
    expect((await (await two.session("s")).turn("Go.").result()).outcome).toMatchObject({ value: 4 });
    await two.close();
  });

  test("P7 D3 a model that never writes a cell that runs is stopped by the no-progress budget", async () => {
    const model = scripted(...Array.from({ length: 12 }, () => writes("nope(")));
    await using world = await open(model, { plugins });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
      kind: "stopped",
      code: "limit.no-progress",
    });
  });

  test("P7 P2 continueAs continues in a fresh frame with the task alone", async () => {
    const model = scripted(
      writes('let n = 1; continueAs("Count.", { from: 3 })'),
      writes("finish([typeof n, (await seed).from])"),
    );
    await using world = await open(model, { plugins });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: ["undefined", 3] });
    expect(model.requests[1]?.messages.map(({ parts }) => textIn(parts))[0]).toMatch(/^Count\.\n\n.*seed.*from/s);
  });

  test("P7 a session keeps its variables over turns, and the model sees them in the tail", async () => {
    const path = file();
    const one = await runningOn(path, { plugins, model: scripted(writes("let rows = [1, 2, 3];"), says("Done.")) });
    await (await one.session("s")).turn("Go.").result();
    await one.close();
    const model = scripted(writes("finish(rows.length)"));
    const two = await runningOn(path, { plugins, model });
    expect((await (await two.session("s")).turn("How many?").result()).outcome).toMatchObject({ value: 3 });
    const { messages, stable } = model.requests[0] ?? { messages: [] };
    const tail = messages
      .slice(stable)
      .map(({ parts }) => textIn(parts))
      .join("\n");
    expect(tail).toMatch(/rows.*\[ ?1, 2, 3/);
    await two.close();
  });
});

describe("tools", () => {
  const read = defineTool({
    name: "read_file",
    path: "files.read",
    description: "Reads a file.",
    input: z.object({ path: z.string() }),
    output: z.string(),
    execute: ({ path }) => `text of ${path}`,
  });

  test("P7 T1 are modules with types, and a call of one that is not there fails before anything runs", async () => {
    let paid = 0;
    const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => ++paid });
    const model = scripted(
      writes('await tools.pay({});\nprint(await files.raed({ path: "a" }));'),
      writes('finish(await files.read({ path: "a" }));'),
    );
    await using world = await open(model, { plugins, tools: [read, pay] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: "text of a" });
    expect(model.requests[0]?.system).toContain("read(input: { path: string }): Promise<string>;");
    expect(textIn(model.requests[1]?.messages.at(-2)?.parts ?? [])).toMatch(
      /\[ERROR\].*line 2, column 13: There is no files\.raed\. Did you mean files\.read\?/s,
    );
    expect(paid).toBe(0);
  });

  test("P7 T12 one that was granted can be called, though it is not shown", async () => {
    const opener = definePlugin({
      id: "acme/opener",
      setup: () => ({
        beforeTurn: ({ membership }) => void membership.grant("door", { source: "app", tool: "inner" }),
      }),
    });
    const inner = defineTool({
      name: "inner",
      audience: "runtime",
      description: "Inside.",
      input: z.object({}),
      execute: () => "in",
    });
    const model = scripted(writes("finish(await tools.door({}))"));
    await using world = await open(model, { plugins: [...plugins, opener], tools: [inner] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: "in" });
  });

  test("P7 T6 of a thousand, some are declared, all can be found, and all can be called", async () => {
    const many = Array.from({ length: 1_000 }, (_, n) =>
      defineTool({
        name: `area${n % 20}_op${n}`,
        description: `Does the work number ${n} for ${n === 987 ? "giraffes" : "cows"}.`,
        input: z.object({ amount: z.number().describe("How much of it.") }),
        execute: ({ amount }) => amount + n,
      }),
    );
    const model = scripted(
      writes('const [{ call, signature }] = await tools.search("giraffes"); print(call, signature);'),
      writes("finish(await area7.op987({ amount: 1 }))"),
    );
    await using world = await open(model, { plugins, tools: many });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 988 });
    const system = model.requests[0]?.system ?? "";
    expect(system.length).toBeLessThan(30_000);
    expect(system).toContain("tools.search(");
    expect(textIn(model.requests[1]?.messages[2]?.parts ?? [])).toMatch(/area7\.op987 .*amount: number/);
  });
});

describe("what people see", () => {
  test("P6 previews, outcomes and kept texts show the prose, never the cell", async () => {
    const model = scripted(writes("print(4)", "I look.\n\n"), says("It is <typescript> 4."));
    await using world = await open(model, { plugins });
    const events = await eventsOf(world.session.turn("Go."));
    expect(seen(events)).toBe("I look.It is <typescript> 4.");
    const { messages } = await world.session.read();
    expect(messages[1]?.parts[0]).toEqual({ kind: "text", text: `I look.\n\n${cell("print(4)")}`, shown: "I look." });
    expect(messages.at(-1)?.parts[0]).toEqual({ kind: "text", text: "It is <typescript> 4." });
  });

  test("P6 D4 a turn that is stopped returns its prose, without code", async () => {
    const model = scripted(writes("print(4)", "I look.\n"), writes("nope("));
    await using world = await open(model, { plugins, limits: { roundsMax: 2 } });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "stopped", text: "I look." });
  });

  test("P7 the stream is cut at the end of the cell: what follows is neither kept nor waited for", async () => {
    const pieces = [
      "I look.\n<type",
      "script>\nprint(",
      "1)\n</typescript>",
      "\nSo it",
      " is 1. <typescript>\nrm()\n</typescript>",
    ];
    const model = scripted(says(...pieces), says("1."));
    await using world = await open(model, { plugins });
    const events = await eventsOf(world.session.turn("Go."));
    expect(seen(events)).toBe("I look.1.");
    expect(textIn((await world.session.read()).messages[1]?.parts ?? [])).toBe(`I look.\n${cell("print(1)")}`);
    expect(
      only(events, "plugin").find(({ plugin, name }) => plugin === "bowline/code" && name === "cell")?.payload,
    ).toEqual({ code: "print(1)" });
  });

  test("P6 S4 a late reader in another process sees the same", async () => {
    const store = memory();
    const model = scripted(writes("print(4)", "I look.\n"), says("4."));
    await using world = await open(model, { store, plugins });
    await world.session.turn("Go.").result();
    const { messages } = await world.reread();
    expect(
      messages.flatMap(({ parts }) => parts.map((part) => (part.kind === "text" ? (part.shown ?? part.text) : ""))),
    ).toEqual(["Go.", "I look.", "", "4."]);
  });
});

describe("bad replies", () => {
  test("P7 T2 a native call in code mode is answered, and the model is asked to write code", async () => {
    const model = scripted(calls("weather", { city: "Oslo" }), says("Sorry."));
    await using world = await open(model, { plugins, tools: [weather] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered" });
    expect(textIn(model.requests[1]?.messages.at(-2)?.parts ?? [])).toMatch(/weather \(failed\): \[POLICY\]/);
  });

  test("P7 a cell of more than a megabyte is refused, and the session continues", async () => {
    const model = scripted(writes(`const s = "${"x".repeat(1_100_000)}";`), writes("finish(1)"));
    await using world = await open(model, { plugins });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 1 });
  });

  test("P7 without the plugin that runs code the turn fails and names the plugin", async () => {
    await using world = await open(scripted(writes("1")), { plugins: [codeMode] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
      kind: "failed",
      code: "code.unavailable",
    });
  });
});
