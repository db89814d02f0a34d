// What code has around it, through the public door: modules of tools, what was said, values, another task, variables.
import { ask, definePlugin, defineToolProvider, finish, type ModelRequest, type Plugin } from "bowline/plugin";
import { bindings, code } from "bowline/plugins/code";
import { memory } from "bowline/stores/memory";
import { type Scripted, says, scripted } from "bowline/testing";
import { afterAll, describe, expect, test } from "vitest";
import { eventsOf, only, outline, within } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { named, open, runningOn } from "../kit/worlds.ts";
import { cells } from "./cells.ts";

const plugins: readonly Plugin[] = [cells, sharedCode];
afterAll(closeSandbox);
const FILES = [
  named("files_read", ({ path }) => `text of ${path}`),
  named("files_write", ({ path }) => `wrote ${path}`),
];
const REPORT = "A long report. ".repeat(400);

type Options = Parameters<typeof open>[1];
type Extensions = NonNullable<Parameters<Awaited<ReturnType<typeof open>>["session"]["turn"]>[1]>["extensions"];

const script = (codes: readonly string[]): Scripted => scripted(...codes.map((each) => says(each)));

/** The value that a turn ends with which runs these cells. */
async function valueFrom(
  codes: readonly string[],
  options: Options = {},
  extensions: Extensions = [],
): Promise<unknown> {
  await using world = await open(script(codes), { plugins, ...options });
  const { outcome } = await world.session.turn("Go.", { extensions }).result();
  return outcome.kind === "finished" ? outcome.value : outcome;
}

/** What the model is shown of these cells. */
async function shown(codes: readonly string[], options: Options = {}): Promise<readonly string[]> {
  await using world = await open(script([...codes, "say over"]), { plugins, ...options });
  await world.session.turn("Go.").result();
  return outline((await world.session.read()).messages)
    .filter((line) => line.startsWith("user: "))
    .slice(1);
}

/** What the model is told after the conversation, before it writes. */
const told = (request: ModelRequest | undefined): string =>
  (request?.messages.at(-1)?.parts ?? []).map((part) => (part.kind === "text" ? part.text : "")).join("\n");

describe("modules", () => {
  test("P9 a tool is called by its path or by its name, and is the same tool to all others", async () => {
    const cell = `const read = (path) => files.read({ path });
      finish([await read("a"), await files.write({ path: "b" }), await tools.files_read({ path: "c" })])`;
    await using world = await open(script([cell]), { plugins, tools: FILES });
    const going = world.session.turn("Go.");
    const events = await eventsOf(going);
    expect((await going.result()).outcome).toMatchObject({ value: ["text of a", "wrote b", "text of c"] });
    expect(only(events, "toolStarted").map(({ call }) => call.name)).toEqual([
      "files_read",
      "files_write",
      "files_read",
    ]);
  });

  test("P9 one that is not there is refused with the nearest name; reached otherwise, it is unknown", async () => {
    const hidden = defineToolProvider({
      id: "acme/hidden",
      list: () => [{ name: "files_burn", description: "Burns.", availability: "searchable" }],
      load: (name) => named(name),
    });
    const options = { tools: [...FILES, hidden] };
    const [module, tool, searchable, name, dynamic] = await shown(
      [
        "files.raed({})",
        "await tools.files_wirte({})",
        "files.burn({})",
        "print(1);\nlet files = 1;",
        "const op = 'nope'; await files[op]({}).catch((error) => print(error.code)); await files['burn']({}).catch((error) => print(error.code))",
      ],
      options,
    );
    expect(module).toContain("line 1, column 1: There is no files.raed. Did you mean files.read?");
    expect(tool).toContain(
      'line 1, column 7: There is no tools.files_wirte. Did you mean tools.files_write? Search with tools.search("…").',
    );
    expect(searchable).toContain("There is no files.burn.");
    expect(name).toContain("line 2, column 5: `files` is a module of tools here. Choose another name.");
    expect(dynamic).toBe("user: tool.unknown\ntool.unknown");
  });

  test("P9 an operation may be a word of the language", async () => {
    const remove = named("remove_note", ({ id }) => `removed ${id}`, { path: "notes.delete" });
    expect(await valueFrom(["finish(await notes.delete({ id: 7 }))"], { tools: [remove] })).toBe("removed 7");
  });

  test("P9 code that calls a tool as a function gets a message with the correct call", async () => {
    const [alone, inModule, other] = await shown(
      ["print(1);\nawait weather({})", "const read = () => files_read({});\nawait read()", "nowhere()"],
      { tools: [...FILES, named("weather")] },
    );
    expect(alone).toMatch(
      /^user: 1\nReferenceError: weather is not defined .*\nTools are called as tools\.weather\(…\)\.$/s,
    );
    expect(inModule).toMatch(/\nTools are called as files\.read\(…\)\.$/);
    expect(other).not.toContain("Tools are called");
  });

  test("P9 a variable that has the name of a module from before is still meant", async () => {
    const model = script(["var files = [1, 2]; finish(0)", "finish(files.map((n) => n + 1))"]);
    await using world = await open(model, { plugins, tools: [] });
    await world.session.turn("Go.").result();
    for (const tool of FILES)
      await world.runtime
        .session(world.session.id)
        .then((session) =>
          session.tools.add(defineToolProvider({ id: `acme/${tool.name}`, list: () => [tool], load: () => tool })),
        );
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: [2, 3] });
  });

  test("P9 a thousand tools are as many modules as they have, and a cell names what it needs", async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => named(`m${at % 50}_op${at}`, () => at));
    expect(await valueFrom(["finish([await m7.op57({}), await tools.m49_op999({})])"], { tools: many })).toEqual([
      57, 999,
    ]);
  });
});

describe("what is read", () => {
  test("P8 short messages are available at once, long ones are awaited, and the model sees their roles", async () => {
    const codes = [
      `print("x".repeat(2_000))`,
      "const all = []; for (const each of history) { const { role, text } = await each; all.push([role, text.length]); } let early; try { history[2].length } catch (error) { early = error.message } finish([history.length, history[0].text, all, early])",
    ];
    const value = (await valueFrom(codes)) as [number, string, [string, number][], string];
    expect(value.slice(0, 2)).toEqual([4, "Go."]);
    expect(value[2].slice(0, 3)).toEqual([
      ["user", 3],
      ["assistant", codes[0]!.length],
      ["user", 2_000],
    ]);
    expect(value[3]).toBe("history[2] is not read yet: await it first");
  });

  test("P8 values of a turn stand over those of the session; small ones are at hand, large ones awaited; all go again", async () => {
    const model = script([
      "var limit = 'mine'; finish(limit)",
      "finish([limit, name, (await report).length, report.length])",
      "finish([limit, typeof report, (await name).length])",
      "finish([limit, typeof name])",
    ]);
    await using world = await open(model, { plugins });
    const { session } = world;
    await session.turn("Go.").result();
    await session.command(code, "bind", { values: { limit: 1, name: "n".repeat(5_000) } });
    const given = [bindings.of({ limit: 2, name: "Ada", report: REPORT })];
    const first = await session.turn("Go.", { extensions: given }).result();
    expect(first.outcome).toMatchObject({ value: [2, "Ada", REPORT.length, REPORT.length] });
    expect((await session.turn("On.").result()).outcome).toMatchObject({ value: [1, "undefined", 5_000] });
    await session.command(code, "unbind", { names: ["limit", "name"] });
    expect((await session.turn("On.").result()).outcome).toMatchObject({ value: ["mine", "undefined"] });
  });

  test("P8 awaited texts and lists have a length, and the model sees all lengths", async () => {
    const long = "x".repeat(100);
    const list = Array.from({ length: 60 }, () => long);
    const cell = `let early; try { facts.length } catch (error) { early = error.message }
      finish([report.length, list.length, early, (await list).length, (await facts).a.length])`;
    const model = script([cell]);
    await using world = await open(model, { plugins });
    const given = [bindings.of({ report: REPORT, list, facts: { a: list } })];
    expect((await world.session.turn("Go.", { extensions: given }).result()).outcome).toMatchObject({
      value: [REPORT.length, 60, "facts is not read yet: await it first", 60, 60],
    });
    expect(told(model.requests[0])).toContain("`list` (read-only): a list of 60, 6,181 characters: `await list`");
  });

  test("P8 invalid names for values are refused where they are given", async () => {
    await using world = await open(script(["say Hi."]), { plugins });
    const { session } = world;
    for (const name of ["print", "seed", "a-b", "class", "_own", "__proto__"]) {
      const values = JSON.parse(`{ "${name}": 1 }`);
      const going = session.turn("Go.", { extensions: [bindings.of(values)] }).result();
      await expect(going, name).rejects.toMatchObject({ code: "extension.invalid" });
      await expect(session.command(code, "bind", { values }), name).rejects.toMatchObject({ code: "operation.input" });
    }
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`n${at}`, at]));
    await session.command(code, "bind", { values: many });
    const more = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`m${at}`, at]));
    await expect(session.command(code, "bind", { values: more })).rejects.toMatchObject({ code: "operation.failed" });
  });

  test("P9 a search finds tools by words, opens closed tools for the next cell, and shows how to call them", async () => {
    const closed = defineToolProvider({
      id: "acme/mail",
      list: () => [
        { name: "mail_send", description: "Sends a mail to somebody.", availability: "searchable" },
        { name: "mail_list", description: "Lists mails.", availability: "searchable" },
      ],
      load: (name) => ({
        ...named(name, () => `${name} was called`),
        inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      }),
    });
    const codes = [
      "const found = await tools.search('send mail'); print(found.map((each) => JSON.stringify(each)).join('\\n'));",
      "finish([await mail.send({ to: 'Ada' }), (await tools.search({ query: 'mail' })).map(({ call, note }) => [call, note])])",
    ];
    await using world = await open(script(codes), { plugins, tools: [closed, ...FILES] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({
      value: [
        "mail_send was called",
        [
          ["mail.send", null],
          ["mail.list", null],
        ],
      ],
    });
    const [, , printed] = outline((await world.session.read()).messages);
    expect(printed).toContain(
      '{"call":"mail.send","description":"Sends a mail to somebody.","signature":"mail.send(input: { to: string }): Promise<unknown>","note":"callable from the next cell on"}',
    );
    const search = named("search", () => "mine");
    const both = "finish([await tools.search({ query: 'x' }), (await tools.search('search'))[0].call])";
    expect(await valueFrom([both], { tools: [search] })).toEqual(["mine", "tools.search"]);
  });
});

describe("how a cell ends", () => {
  test("P9 its value is handed to a tool, which decides about the turn; what still slept is forgotten", async () => {
    const inputs: unknown[] = [];
    const done = named("done", (input) => {
      inputs.push(input);
      return finish({ done: true });
    });
    const cell =
      "// by done.value\nsleep(5_000); tools.search('done'); setTimeout(() => {}, 0); let n = 7; finish([1, 2]);";
    const model = script([cell, "finish(n)"]);
    await using world = await open(model, { plugins, tools: [done] });
    expect((await within(world.session.turn("Go.").result(), 3_000)).outcome).toMatchObject({
      kind: "finished",
      value: { done: true },
    });
    expect(inputs).toEqual([{ value: [1, 2] }]);
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: 7 });
  });

  test("P9 a tool that refuses the value leaves the turn to the model, and code continues with its variables", async () => {
    const strict = named("strict", ({ n }) => {
      if (n !== 2) throw new Error("Not that.");
      return finish("taken");
    });
    expect(
      await valueFrom(["// by strict\nlet n = 1; finish({ n })", "// by strict\nfinish({ n: n + 1 })"], {
        tools: [strict],
      }),
    ).toBe("taken");
  });

  test("P8 what a cell prints is shortened unless the protocol wants it whole, and watchers get a part of it", async () => {
    const prints = "print('x'.repeat(50_000)); print('y')";
    const [short, whole] = await shown([prints, `${prints} // whole`]);
    expect([short!.length < 33_000, whole!.length > 50_000]).toEqual([true, true]);
    await using world = await open(script([prints, "say over"]), { plugins });
    const [, event] = only(await eventsOf(world.session.turn("Go.")), "plugin");
    const { text } = event!.payload as { text: string };
    expect([text.length < 8_100, text.endsWith("y\n")]).toEqual([true, true]);
  });

  test("P8 code continues with another task: an empty heap, the seed, and no seed in the task after that", async () => {
    const value = await valueFrom([
      "let n = 1; continueAs('Count.', { facts: [1, 2] });",
      "seed.facts.push(3)",
      "continueAs('Sum.', { big: 'b'.repeat(3_000), before: [typeof n, seed.facts] })",
      "const { big, before } = await seed; continueAs('End.', [before, big.length])",
      "print(1)",
      "const last = seed; continueAs('Alone.', last)",
      "finish",
      "task Another.",
      "finish(typeof seed)",
    ]);
    expect(value).toBe("undefined");
    const kept = await valueFrom(["continueAs('Count.', 5)", "for (;;) {}", "let n = seed + 1", "finish([n, seed])"], {
      plugins: [cells, code({ stepsMax: 50 })],
    });
    expect(kept).toEqual([6, 5]);
  });

  test("P8 a seed waits for the first cell of its task, in whatever turn, and for no other task", async () => {
    const model = script([
      "let n = 1; continueAs('Talk.', 5)",
      "say Done.",
      "finish([seed, typeof n])",
      "finish(seed)",
    ]);
    await using world = await open(model, { plugins });
    await world.session.turn("Go.").result();
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: [5, "undefined"] });
    await world.session.command(code, "reset");
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: 5 });
  });

  test("P8 a seed stays over turns and a compaction, as the heap does", async () => {
    const compactor = definePlugin({
      id: "test/compactor",
      setup: () => ({ compact: () => ({ seed: [{ role: "user", parts: [{ kind: "text", text: "So far: 1." }] }] }) }),
    });
    const model = script(["continueAs('Count.', { n: 5 })", "finish(seed.n)", "finish(seed.n)", "finish(seed.n)"]);
    await using world = await open(model, { plugins: [...plugins, compactor] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: 5 });
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: 5 });
    await world.session.compact();
    expect((await world.session.turn("On.").result()).outcome).toMatchObject({ value: 5 });
  });
});

describe("variables", () => {
  test("P8 the model sees what its code keeps and was given, with the current state before each reply", async () => {
    const model = script([
      "let n = 41; const rows = [{ id: 1 }];",
      "n++; class Point {}",
      "continueAs('Count.', [1])",
      "say Done.",
    ]);
    await using world = await open(model, { plugins });
    await world.session.turn("Go.", { extensions: [bindings.of({ limit: 5, report: REPORT })] }).result();
    const given = ["`limit` (read-only): 5", "`report` (read-only): text, 6,000 characters: `await report`"];
    expect(
      model.requests.map((request) =>
        told(request)
          .split("\n")
          .filter((line) => /^[`\w]+( \(|: )/.test(line)),
      ),
    ).toEqual([
      given,
      [...given, "n: 41", "rows: [{ id: 1 }]"],
      [...given, "n: 42", "rows: [{ id: 1 }]", "Point: [Function Point]"],
      [...given, "`seed` (read-only): [1]"],
    ]);
  });

  test("P8 a new task, from code or from the protocol, has no earlier variables; a turn without variables adds no message", async () => {
    const model = script(["let n = 41;", "task Another.", "say Done.", "say Hi."]);
    await using world = await open(model, { plugins });
    await world.session.turn("Go.").result();
    await world.session.turn("On.").result();
    expect(model.requests.map((request) => told(request).includes("n: 41"))).toEqual([false, true, false, false]);
    expect(told(model.requests[3])).toBe("On.");
  });
});

describe("another process", () => {
  const careful = definePlugin({
    id: "test/careful",
    setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
  });
  const cell = `
    const past = await Promise.all([0, 1].map((at) => history[at]));
    const text = await files.read({ path: "a" });
    const [words, facts, found] = [await report, await notes, await tools.search("write")];
    const paid = await tools.pay({ sum: words.length });
    const late = await files.write({ path: "b" }).catch((error) => error.code);
    finish([past.map(({ role }) => role), text, facts.length, found.map(({ call }) => call), paid, late, limit, (await report).length, typeof notes]) // by done.value`;

  test("P9 S2 resumes in the middle of a cell that has used all of it, though tools and values have changed since", async () => {
    const path = file();
    const inputs: unknown[] = [];
    const pay = named("pay", ({ sum }) => sum as number);
    const done = named("done", (input) => {
      inputs.push(input);
      return finish("over");
    });
    const options = { plugins: [...plugins, careful], limits: { parkAfterMs: 1 } };
    const isParked = Promise.withResolvers<void>();
    const trace = ({ name }: { readonly name: string }): void => {
      if (name === "turn.parked") isParked.resolve();
    };
    const first = await runningOn(path, {
      ...options,
      telemetry: onEvent(trace),
      tools: [...FILES, pay, done],
      model: script(["var before = 1;", cell]),
    });
    const session = await first.session("s");
    const notes = "note ".repeat(1_000);
    await session.command(code, "bind", { values: { limit: 3, notes } });
    const extensions = [bindings.of({ report: REPORT })];
    for await (const event of session.turn("Pay.", { key: "k", extensions })) if (event.kind === "waiting") break;
    await within(isParked.promise, 5_000);
    await first.close();

    // The tools of the module are gone or others, and so are the values of the session.
    const second = await runningOn(path, {
      ...options,
      tools: [pay, done, named("files_send")],
      model: script(["finish([before, limit, typeof notes])"]),
    });
    const resumed = await second.session("s");
    await resumed.command(code, "bind", { values: { limit: 4 } });
    await resumed.command(code, "unbind", { names: ["notes"] });
    const [wait] = await second.waits.list();
    await second.waits.resolve(wait!.key, { approved: true });
    const { outcome } = await resumed.turn("Pay.", { key: "k", extensions }).result();
    expect(outcome).toMatchObject({ kind: "finished", value: "over" });
    expect(inputs).toEqual([
      {
        value: [
          ["user", "assistant"],
          "text of a",
          notes.length,
          ["files.write"],
          REPORT.length,
          "tool.unknown",
          3,
          REPORT.length,
          "object",
        ],
      },
    ]);
    expect((await resumed.turn("And now?").result()).outcome).toMatchObject({ value: [1, 4, "undefined"] });
    await second.close();
  });

  test("P8 what was given is in the heap of a fork, and a reset gives it again", async () => {
    const model = script([
      "var own = () => limit; finish(limit)",
      "finish([own(), limit])",
      "finish([typeof own, limit])",
    ]);
    await using world = await open(model, { plugins, store: memory() });
    const { session, runtime } = world;
    await session.command(code, "bind", { values: { limit: 3 } });
    await session.turn("Go.").result();
    const fork = await session.fork();
    expect((await (await runtime.session(fork.id)).turn("On.").result()).outcome).toMatchObject({ value: [3, 3] });
    await session.command(code, "reset");
    expect((await session.turn("On.").result()).outcome).toMatchObject({ value: ["undefined", 3] });
  });
});
