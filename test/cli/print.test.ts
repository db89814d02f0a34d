import { EventEmitter, once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { livePrinter, plainPrinter, questionOf } from "../../src/cli/print.ts";
import { editable } from "../../src/cli/text.ts";
import {
  createRuntime,
  definePlugin,
  defineTool,
  type Json,
  type JsonSchema,
  type PendingWait,
  type Plugin,
  type SessionEvent,
  type TurnResult,
} from "../../src/index.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import { replaceResult } from "../../src/plugin.ts";
import { ProviderFailure } from "../../src/provider.ts";
import { both, calls, cut, type Reply, says, scripted, thinks } from "../../src/providers/scripted.ts";
import { memory } from "../../src/stores/memory.ts";
import { runningQuickly } from "../kit/worlds.ts";

const ping = defineTool({
  name: "ping",
  description: "Pings.",
  input: { type: "object" },
  execute: () => new Promise<string>((resolve) => setTimeout(resolve, 5, "pong")),
});

/** Tells when what a tool has printed was shown. */
const screen = new EventEmitter<{ shown: [] }>();
/** Prints, tells how far it is, and prints what would drive a terminal. */
const build = defineTool({
  name: "build",
  description: "Builds.",
  input: { type: "object" },
  execute: async (_, { output, progress }) => {
    output("one\ntw");
    await once(screen, "shown");
    output("o\x1b[2J\r\nthree");
    await once(screen, "shown");
    progress({ percent: 50 });
    await once(screen, "shown");
    progress("nearly\nthere");
    await once(screen, "shown");
    return "built";
  },
});
const fails = defineTool({
  name: "fails",
  description: "Fails.",
  input: { type: "object" },
  execute: () => {
    throw new Error("No.");
  },
});
const lenient = definePlugin({
  id: "test/lenient",
  setup: () => ({ afterToolCall: ({ call }) => (call.name === "fails" ? replaceResult("Never mind.") : undefined) }),
});

/** What each printer makes of a turn with this model. */
const shown = (...replies: readonly Reply[]) => shownWith([], ...replies);
async function shownWith(plugins: readonly Plugin[], ...replies: readonly Reply[]) {
  const io = { env: {}, stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = new PassThrough();
  const printers = [plainPrinter(io), livePrinter({ ...io, stdout: terminal })];
  const runtime = await createRuntime({
    store: memory(),
    model: scripted(...replies),
    tools: [ping, build, fails],
    plugins,
  });
  const turn = (await runtime.session()).turn("Hello");
  for await (const event of turn) {
    for (const printer of printers) printer.event(event);
    if (event.kind === "toolOutput" || event.kind === "toolProgress") screen.emit("shown");
  }
  const result = await turn.result();
  for (const printer of printers) printer.ended(result);
  await runtime.close();
  const words = (stream: PassThrough): string => String(stream.read() ?? "").replace(/\d+ ms/g, "0 ms");
  return { live: words(terminal), stdout: words(io.stdout), stderr: words(io.stderr) };
}

test("E6 an attempt that is tried again is withdrawn in sight, and never reaches a pipe", async () => {
  const { live, stdout } = await shown(cut("The answer ", "is 41"), says("The answer is 42."));
  const [said, withdrawn, retried, answer, end] = live.split("\n");
  expect([said, answer]).toEqual(["The answer is 41", "The answer is 42."]);
  expect(withdrawn).toMatch(/^… interrupted: .* does not count/);
  expect(retried).toBe("… attempt 1 at the model call failed (stream). Next try in 0 ms");
  expect(end).toMatch(/^answered · 10 tokens in, 5 out \(and 1 call not counted, about \d+ tokens\)/);
  expect(stdout).toBe("The answer is 42.\n");
});

test("E6 a wait for a busy provider is shown on the terminal, and in a pipe with --verbose", async () => {
  const io = { env: {}, stdout: new PassThrough(), stderr: new PassThrough() };
  const screen = new PassThrough();
  const printers = [plainPrinter(io, { verbose: true }), livePrinter({ ...io, stdout: screen })];
  const busy = new ProviderFailure({ class: "rate-limit", message: "Slow down." });
  await using runtime = await runningQuickly({ model: scripted(busy, says("Hello.")) });
  const turn = (await runtime.session()).turn("Hi.");
  for await (const event of turn) for (const printer of printers) printer.event(event);
  const words = "attempt 1 at the model call failed (rate-limit). Next try in 500 ms\n";
  expect(String(screen.read())).toMatch(`… ${words}Hello.`);
  expect(String(io.stderr.read())).toBe(words);
});

test("E6 calls of one reply are listed with their ends; one alone takes one line", async () => {
  const { live } = await shown(both(calls("ping", { n: 1 }), calls("ping", { n: 2 })), calls("ping"), says("Done."));
  expect(live.split("\n").slice(0, -1)).toEqual([
    '  ping {"n":1}',
    '  ping {"n":2}',
    "  ping → ok, 0 ms",
    "  ping → ok, 0 ms",
    "  ping {} → ok, 0 ms",
    "Done.",
    "answered · 30 tokens in, 15 out · 3 tool calls · 0 ms",
  ]);
});

test("E6 words before a call, and thoughts, have separate lines; a pipe has the answer alone", async () => {
  const { live, stdout } = await shown(thinks("Hm.", both(says("Let me see."), calls("ping"))), says("Pong."));
  expect(live).toMatch(/^Hm\.\nLet me see\.\n {2}ping \{\} → ok, 0 ms\nPong\.\nanswered · /);
  expect(stdout).toBe("Pong.\n");
});

test("E6 text of a model cannot drive a terminal or reorder its characters; a pipe has the same text", async () => {
  const { live, stdout } = await shown(
    says("a\x1b[2J\x07b\u009b1mc\r\n\td\re", "\u202ef\u2066g\u200fh\u061c\r", "\n👨‍👩‍👧 שלום"),
  );
  const safe = "a\\u{1b}[2J\\u{7}b\\u{9b}1mc\n\td\\u{d}e\\u{202e}f\\u{2066}g\\u{200f}h\\u{61c}\n👨‍👩‍👧 שלום\n";
  expect(live.slice(0, safe.length)).toBe(safe);
  expect(stdout).toBe(safe);
});

test("E6 a failed turn is reported on stderr, and stdout stays empty", async () => {
  const { live, stdout, stderr } = await shown(new ProviderFailure({ class: "auth", message: "No key." }));
  expect(live).toMatch(/^Failed: .*No key\. Check the API key.* \[provider\.failed\]\nfailed · /);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: expect.stringMatching(/^bowline: Failed: .*\n$/) });
});

test("E6 T13 what a tool prints stands under its call, unable to drive the terminal; progress is replaced by what comes next", async () => {
  const { live, stdout, stderr } = await shown(calls("build", { n: 1 }), says("Built."));
  const [seen, ...rest] = live.split("answered · ");
  expect(rest).toHaveLength(1);
  expect(seen).toBe(
    [
      '  build {"n":1}\n',
      "    one\n    two\\u{1b}[2J\n    three\n",
      '    build: {"percent":50}',
      `\r${" ".repeat(25)}\r    build: nearly there`,
      `\r${" ".repeat(23)}\r  build → ok, 0 ms\n`,
      "Built.\n",
    ].join(""),
  );
  expect({ stdout, stderr }).toEqual({ stdout: "Built.\n", stderr: "" });
});

test("E6 T13 the output lines of parallel calls are distinguished", async () => {
  const { live } = await shown(both(calls("build", { n: 1 }), calls("build", { n: 2 })), says("Built."));
  expect(live).toMatch(
    /^ {2}build \{"n":1\}\n {4}one\n {4}tw\n {2}build \{"n":2\}\n {4}one\n {4}tw\n {2}build:\n {4}o/,
  );
});

test("E6 T13 a call is shown when its work has ended; again only if a hook has changed its status", async () => {
  const { live } = await shownWith([lenient], both(calls("fails"), calls("ping")), says("So be it."));
  expect(live.split("\n").slice(0, 5)).toEqual([
    "  fails {} → failed, 0 ms",
    "  ping {} → ok, 0 ms",
    "  fails → ok, 0 ms",
    "So be it.",
    "answered · 20 tokens in, 10 out · 2 tool calls · 0 ms",
  ]);
});

test("E6 an answer that was not shown as it came is shown at the end", async () => {
  const stdout = new PassThrough();
  const printer = livePrinter({ env: {}, stdout });
  const runtime = await createRuntime({ store: memory(), model: scripted(says("Here I am.")) });
  const session = await runtime.session();
  const { turnId } = await session.turn("Where are you?").result();
  const turn = session.follow(turnId);
  for await (const event of turn) printer.event(event);
  printer.ended(await turn.result());
  expect(String(stdout.read())).toMatch(/^Here I am\.\nanswered · /);
  await runtime.close();
});

test("E6 a question shows the whole call: nothing hides in its arguments, and what is left out is counted", () => {
  const question = (input: Json, reason = "Sure?"): string => questionOf(waiting({ arguments: input, reason }), "s");
  expect(question({ to: "\u202eecila\u202c\u200b", for: "a\nb\x1b[2J\x9b" }, "Sure,\n\x1b[2Jor not?")).toBe(
    'Allow pay {"to":"\\u202eecila\\u202c\\u200b","for":"a\\nb\\u001b[2J\\u009b"}? Sure, \\u{1b}[2Jor not?',
  );
  expect(question("x".repeat(5_000))).toMatch(/^Allow pay "x{1999}… \(3002 more characters\)\? Sure\?$/);
});

/** An approval of a payment by the session `s`, unless told otherwise. */
const waiting = (about: Partial<PendingWait>) =>
  ({
    kind: "approval",
    tool: "pay",
    arguments: {},
    reason: "Sure?",
    sessionId: "s",
    path: ["s"],
    ...about,
  }) as PendingWait;

test("E6 T9 a question shows the request, and which agent asks", () => {
  const question = (about: Partial<PendingWait>): string => questionOf(waiting(about), "s");
  const below = { sessionId: "c", path: ["root", "s", "b\u202e", "c"] } as unknown as Partial<PendingWait>;
  expect(question(below)).toBe("b\\u{202e} › c: Allow pay {}? Sure?");
  expect(question({ kind: "interrupted" })).toBe("Make the call pay {} again? Sure?");
  expect(question({ kind: "result" })).toBe("pay {} waits for its result from elsewhere.");
  const asks = (schema: JsonSchema, reason = "What?"): string =>
    question({ kind: "question", reason, schema: schema as never });
  expect(asks({ type: "string" }, "Which one?\n1. red\n2. \x1b[2Jblue\n")).toBe(
    "pay asks: Which one?\n1. red\n2. \\u{1b}[2Jblue",
  );
  expect(asks({ type: "string", minLength: 2 })).toBe('pay asks: What? ({"minLength":2})');
  expect(asks({ enum: ["red", 2] })).toBe('pay asks: What? (one of "red", 2)');
  expect(asks({ type: "boolean" })).toBe("pay asks: What? (true or false)");
  expect(asks({ type: "integer", minimum: 1 })).toBe("pay asks: What? (a number)");
  expect(asks({ type: "array", items: {} })).toBe('pay asks: What? (JSON: {"type":"array","items":{}})');
});

test("E6 T9 arguments to be edited hide nothing, and are the same JSON", () => {
  const value = { to: "\u202eecila \u{e0041}\x9b", for: "a\nb 🌍" };
  expect(editable(value)).toBe('{"to":"\\u202eecila \\udb40\\udc41\\u009b","for":"a\\nb 🌍"}');
  expect(JSON.parse(editable(value))).toEqual(value);
});

/** What is shown of these events of a turn that ended with this value. */
function shownOf(value: Json, events: readonly object[], verbose = false, raw = false) {
  const io = { env: {}, stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = new PassThrough();
  const outcome = { kind: "finished", by: "model", value };
  for (const printer of [
    plainPrinter(io, { verbose, raw }),
    livePrinter({ ...io, stdout: terminal }, { verbose, raw }),
  ]) {
    for (const event of events) printer.event(event as SessionEvent);
    printer.ended({ outcome, usage: NO_USAGE } as unknown as TurnResult);
  }
  const [stdout, stderr, live] = [io.stdout, io.stderr, terminal].map((stream) => String(stream.read() ?? ""));
  return { stdout, stderr, live: live?.split("\n").slice(0, -2) };
}
const key = (effect: string) => ({ key: { effect } });
const plugin = (effect: string, plugin: string, name: string, payload: Json) => ({
  kind: "plugin",
  plugin,
  name,
  payload,
  ...key(effect),
});
const writes = (effect: string, code: string) => plugin(effect, "bowline/code", "cell", { code });
const prints = (effect: string, text: string) => plugin(effect, "bowline/code", "printed", { text });
const callIn = (effect: string, input: Json) => ({
  kind: "toolStarted",
  call: { name: "ping", input },
  ...key(`${effect}.call.0`),
});

test("E6 N2 code is shown once for each cell, before its calls and its output", () => {
  const events = [
    { kind: "text", delta: "I look.", ...key("r1.ask") },
    writes("r1.ask", "a;\nb;"),
    callIn("r1.exec", { n: 1 }),
    prints("r1.exec", "one\x1b[2J\ntwo\n"),
    callIn("r2.exec", { n: 2 }), // Of a turn that goes on here: what was written is not told again.
    prints("r2.exec", "three"),
    prints("r3.exec", "four"),
    writes("r4.ask", "c;"),
    { kind: "retracted", ...key("r4.ask") },
    writes("r4.ask", "d;"),
    plugin("r4.exec", "bowline/code", "tidied", null),
    plugin("r4.exec", "acme/noise", "printed", { text: "Not of code." }),
  ];
  const { live, stdout, stderr } = shownOf({ sum: 4 }, events);
  expect(live).toEqual([
    "I look.",
    "· runs code (2 lines)",
    '  ping {"n":1}',
    "    one\\u{1b}[2J",
    "    two",
    "· runs code",
    '  ping {"n":2}',
    "    three",
    "· runs code",
    "    four",
    "· runs code (1 line)",
    expect.stringContaining("interrupted: the text"),
    "· runs code (1 line)",
    '{"sum":4}',
  ]);
  expect({ stdout, stderr }).toEqual({ stdout: '{"sum":4}\n', stderr: "" });
});

test("E6 N2 of what a cell prints a few short lines are shown; --verbose shows all of it and the code, beside a pipe too", () => {
  const numbers = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `${from + index}\n`).join("");
  const events = [
    prints("r1.exec", "x".repeat(200)),
    prints("r1.exec", numbers(1, 4)),
    prints("r1.exec", numbers(4, 9)),
  ];
  const { live } = shownOf("Done.", [...events, prints("r2.exec", "again")]);
  expect(live).toEqual([
    "· runs code",
    `    ${"x".repeat(80)}…`,
    ..."1234".split("").map((digit) => `    ${digit}`),
    "    … more, see --verbose",
    "· runs code",
    "    again",
    "Done.",
  ]);
  const all = shownOf("Done.", [writes("r1.ask", "a;\n  b\x1b[2J;"), ...events], true);
  expect(all.live?.slice(0, 3)).toEqual(["· runs code (2 lines)", "    a;", "      b\\u{1b}[2J;"]);
  expect(all.live?.slice(3, -1).map((line) => line.trim())).toEqual(["x".repeat(200), ..."12345678".split("")]);
  expect(all.stderr).toMatch(/^a;\n {2}b\\u\{1b\}\[2J;\nx{200}\n1\n2\n3\n4\n5\n6\n7\n8\nfinished · /);
  expect(all.stdout).toBe("Done.\n");
});

test("E6 arguments and results in JSON have the escapes of JSON, and with --raw the characters as they came", () => {
  const value = { to: "\u202eecila\x9b\x1b" };
  const at = (raw: boolean) => shownOf(value, [callIn("r1.work", value)], true, raw);
  const escaped = '{"to":"\\u202eecila\\u009b\\u001b"}';
  expect(at(false)).toMatchObject({ stdout: `${escaped}\n`, live: [`  ping ${escaped}`, escaped] });
  expect(at(false).stderr).toContain(`ping ${escaped}\n`);
  expect(JSON.parse(escaped)).toEqual(value);
  const came = JSON.stringify(value);
  expect(at(true)).toMatchObject({ stdout: `${came}\n`, live: [`  ping ${came}`, came] });
  expect(at(true).stderr).toContain(`ping ${came}\n`);
});
