import { expect, test } from "vitest";
import { asCallId, nodeId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import { type Message, type Part, type ToolStatus, text } from "../model/message.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { TEXTS } from "../model/texts.ts";
import { demo } from "./demo.ts";

const TOOLS = ["calculator", "clock", "wait", "notes_add", "notes_list", "notes_remove"];

const message = (role: Message["role"], ...parts: readonly Part[]): Message => ({
  id: nodeId("trn_1", 0),
  role,
  parts,
});
const user = (words: string): Message => message("user", text(words));
const called = (name: string, input: Json): Message =>
  message("assistant", { kind: "toolCall", callId: asCallId("demo_1_0"), name, input });
const returned = (name: string, words: string, status: ToolStatus = "ok"): Message =>
  message("tool", { kind: "toolResult", callId: asCallId("demo_1_0"), name, status, parts: [text(words)] });

const request = (messages: readonly Message[], tools = TOOLS): ModelRequest => ({
  system: "Be brief.",
  messages,
  tools: tools.map((name) => ({ name, description: name, inputSchema: { type: "object" } })),
});

async function stream(asked: ModelRequest, signal = new AbortController().signal): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = [];
  for await (const part of demo().stream(asked, { signal, load: () => new Uint8Array() }))
    parts.push(part as ModelPart);
  return parts;
}

/** The demo's reply to a request: the calls it makes, or its text. */
async function reply(asked: ModelRequest): Promise<string | readonly (readonly [string, Json])[]> {
  const parts = await stream(asked);
  const calls = parts.flatMap((part) => (part.kind === "call" ? [[part.name, part.input as Json] as const] : []));
  return calls.length > 0 ? calls : parts.map((part) => (part.kind === "text" ? part.delta : "")).join("");
}
const replyTo = (words: string, tools = TOOLS) => reply(request([user(words)], tools));

test.each([
  ["What is 21*2?", "21*2"],
  ["21 times 2", "21 * 2"],
  ["(3+4)^2/7", "(3+4)^2/7"],
  ["how much is 1,000 divided by 8?", "1000 / 8"],
  ["What is 15% of 80?", "15 / 100 * 80"],
  ["80 + 15%", "80 * (1 + 15 / 100)"],
  ["calculate 10 percent of 250 please", "10 / 100 * 250"],
  ["what's twenty-one plus two?", "21 + 2"],
  ["the sum of 2 and 3", "2 + 3"],
  ["Can you tell me what 12*12 is?", "12*12"],
  ["2 × 3 − 4 ÷ 5", "2 * 3 - 4 / 5"],
  ["2 squared", "2^2"],
  ["subtract 3 from 10", "10 - 3"],
  ["the square root of 16", "16 ^ 0.5"],
  ["17 mod 5", "17 % 5"],
])("E1 demo: %s goes to the calculator", async (words, expression) => {
  expect(await replyTo(words)).toEqual([["calculator", { expression }]]);
});

test.each([
  ["What time is it?", {}],
  ["what's the date today", {}],
  ["What day is it?", {}],
  ["what is the current time in Tokyo?", { timeZone: "Asia/Tokyo" }],
  ["what time is it in New York right now?", { timeZone: "America/New_York" }],
  ["time in India", { timeZone: "Asia/Kolkata" }],
  ["what time is it in europe/paris", { timeZone: "Europe/Paris" }],
  ["Tell me the time in UTC", { timeZone: "UTC" }],
  ["what time is it in Atlantis?", { timeZone: "Atlantis" }],
])("E1 demo: %s goes to the clock", async (words, input) => {
  expect(await replyTo(words)).toEqual([["clock", input]]);
});

test.each([
  ["Remember to buy milk and eggs, and bread.", "notes_add", { text: "buy milk and eggs, and bread" }],
  ["please note that 2+2 is 4", "notes_add", { text: "2+2 is 4" }],
  ["Note: the code is 4711", "notes_add", { text: "the code is 4711" }],
  ["what do you remember?", "notes_list", {}],
  ["list my notes", "notes_list", {}],
  ["What did I ask you to remember?", "notes_list", {}],
  ["forget note 2", "notes_remove", { number: 2 }],
  ["Delete note number three, please", "notes_remove", { number: 3 }],
])("E1 demo: %s goes to the notes", async (words, tool, input) => {
  expect(await replyTo(words)).toEqual([[tool, input]]);
});

test.each([
  ["wait 20 seconds", 20],
  ["Please wait for twenty seconds.", 20],
  ["Could you pause for 1.5 minutes?", 90],
  ["sleep 5s", 5],
  ["Wait a minute", 60],
])("E1 demo: %s goes to the tool that waits", async (words, seconds) => {
  expect(await replyTo(words)).toEqual([["wait", { seconds }]]);
});

test("E1 demo: what is asked for after a wait is done after it", async () => {
  const words = "What is 1+1? Wait 20 seconds, then tell me what 2+2 is.";
  const asked = [user(words)];
  const sums = (expression: string, result: string) => [
    called("calculator", { expression }),
    returned("calculator", result),
  ];
  const waited = [called("wait", { seconds: 20 }), returned("wait", "20 seconds have passed.")];
  expect(await reply(request(asked))).toEqual([["calculator", { expression: "1+1" }]]);
  const first = [...asked, ...sums("1+1", "2")];
  expect(await reply(request(first))).toEqual([["wait", { seconds: 20 }]]);
  expect(await reply(request([...first, ...waited]))).toEqual([["calculator", { expression: "2+2" }]]);
  const all = [...first, ...waited, ...sums("2+2", "4")];
  expect(await reply(request(all))).toBe("1+1 = 2. I waited 20 seconds. 2+2 = 4.");
});

test.each([
  [
    "what is 2+2 and what time is it?",
    [
      ["calculator", { expression: "2+2" }],
      ["clock", {}],
    ],
  ],
  [
    "What is 1+1, 2+2 and 3+3?",
    [
      ["calculator", { expression: "1+1" }],
      ["calculator", { expression: "2+2" }],
      ["calculator", { expression: "3+3" }],
    ],
  ],
  [
    "What time is it in Tokyo and London?",
    [
      ["clock", { timeZone: "Asia/Tokyo" }],
      ["clock", { timeZone: "Europe/London" }],
    ],
  ],
  [
    "forget notes 1 and 2",
    [
      ["notes_remove", { number: 1 }],
      ["notes_remove", { number: 2 }],
    ],
  ],
  [
    "Remember the milk. What is 3*3?",
    [
      ["notes_add", { text: "the milk" }],
      ["calculator", { expression: "3*3" }],
    ],
  ],
])("E1 demo: %s is several calls at once", async (words, calls) => {
  expect(await replyTo(words)).toEqual(calls);
});

test("E1 demo: calls of one reply have unique ids", async () => {
  const parts = await stream(request([user("2+2 and 3+3")]));
  const ids = parts.flatMap((part) => (part.kind === "call" ? [part.callId] : []));
  expect(new Set(ids).size).toBe(2);
});

test.each([
  ["hello", /^Hello! I can do sums/],
  ["Thanks!", /^You are welcome\.$/],
  ["help", /BOWLINE_MODEL/],
  ["Who are you?", /offline demonstration: a handful of rules, not a language model/],
  ["what is my name?", /^You have not told me your name\.$/],
])("E1 demo: %s is answered without a tool", async (words, said) => {
  expect(await replyTo(words)).toMatch(said);
});

test.each([
  "Write me a poem about knots.",
  "What is the time complexity of quicksort?",
  "Are you available 24/7?",
  "Wait for me.",
  "How long is the wait at 5 minutes past noon?",
  "What is the weather on 2026-05-01?",
  "",
])("E1 demo: it describes itself when it does not understand: %j", async (words) => {
  const said = await replyTo(words);
  expect(said).toMatch(/not a language model.*did not understand.*I can do sums.*BOWLINE_MODEL.*ANTHROPIC_API_KEY/);
});

test("E1 demo: what is left of a question is named, not ignored", async () => {
  const words = "what is 2+2 and who won the world cup?";
  expect(await replyTo(words)).toEqual([["calculator", { expression: "2+2" }]]);
  const said = await reply(
    request([user(words), called("calculator", { expression: "2+2" }), returned("calculator", "4")]),
  );
  expect(said).toBe("2+2 = 4. The rest (“who won the world cup”) is beyond this offline demonstration.");
});

test("E1 demo: it remembers the conversation it is shown, and nothing else", async () => {
  const name = [user("My name is Ada."), message("assistant", text("Nice to meet you, Ada.")), user("What's my name?")];
  expect(await reply(request(name))).toBe("You are Ada.");
});

test.each([
  ["What is 21*2?", "calculator", { expression: "21*2" }, "42", "21*2 = 42."],
  [
    "What time is it?",
    "clock",
    {},
    '{"time":"15:04:05","weekday":"Monday","date":"2 March 2026","timeZone":"UTC"}',
    "It is 15:04:05 on Monday, 2 March 2026 (UTC).",
  ],
  ["What time is it?", "clock", {}, "noon", "The clock says noon."],
  ["Wait a second", "wait", { seconds: 1 }, "1 seconds have passed.", "I waited 1 second."],
  [
    "remember the milk",
    "notes_add",
    { text: "the milk" },
    '{"number":3,"text":"the milk"}',
    "I noted that as number 3: the milk.",
  ],
  ["list my notes", "notes_list", {}, "[]", "I have no notes."],
  ["list my notes", "notes_list", {}, '[{"number":3,"text":"the milk"}]', "I remember:\n3. the milk"],
  ["forget note 3", "notes_remove", { number: 3 }, '{"number":3,"text":"the milk"}', "I forgot note 3: the milk."],
])("E1 demo: %s is answered from the result of %s", async (words, tool, input, result, said) => {
  expect(await reply(request([user(words), called(tool, input), returned(tool, result)]))).toBe(said);
});

test.each([
  ["failed", "Error (tool.failed): calculator failed: A division by zero.", "That did not work: A division by zero."],
  [
    "denied",
    `Error (tool.denied): ${TEXTS.denied("calculator", "No sums today.")}`,
    "I was not allowed to use calculator: No sums today.",
  ],
  ["cancelled", "Cancelled: Ctrl-C", "The call of calculator was cancelled."],
  ["unknown", "Unknown: crash", "The call of calculator was interrupted; whether it took effect is not known."],
] as const)("E1 demo: a result that is %s is reported as such", async (status, words, said) => {
  const messages = [user("1/0"), called("calculator", { expression: "1/0" }), returned("calculator", words, status)];
  expect(await reply(request(messages))).toBe(said);
});

test("E1 demo: a tool that is not offered is named, not called", async () => {
  expect(await replyTo("What is 2+2?", [])).toBe("For that I need the tool calculator, and it is not offered here.");
  expect(await replyTo("What is 2+2 and what time is it?", ["clock"])).toEqual([["clock", {}]]);
  expect(await reply({ ...request([user("2+2")]), toolChoice: "none" })).toContain("not offered");
});

test("E1 demo: words that a plugin put in are not taken for the user's", async () => {
  const reminder: Message = { ...user("Be polite."), origin: { kind: "plugin", plugin: "acme/polite" } };
  const messages = [
    user("What is 21*2?"),
    called("calculator", { expression: "21*2" }),
    returned("calculator", "42"),
    reminder,
  ];
  expect(await reply(request(messages))).toBe("21*2 = 42.");
});

test("E1 demo: it streams word by word, counts what it was sent, and ends once", async () => {
  const parts = await stream(request([user("hello")]));
  expect(parts.slice(0, 3)).toEqual(["Hello!", " I", " can"].map((delta) => ({ kind: "text", delta })));
  expect(parts.filter(({ kind }) => kind === "finish")).toHaveLength(1);
  const end = parts.at(-1);
  expect(end).toMatchObject({ kind: "finish", reason: "stop", usage: { unknownCalls: 0 } });
  const more = (await stream(request([user("hello"), message("assistant", text("Hello!")), user("hello")]))).at(-1);
  const input = (part: ModelPart | undefined) => (part?.kind === "finish" ? part.usage?.input : undefined) ?? 0;
  expect(input(more)).toBeGreaterThan(input(end));
});

test("E1 demo: the same request gives the same reply, from any instance", async () => {
  const asked = request([user("what is 2+2 and what time is it?")]);
  expect(await stream(asked)).toEqual(await stream(structuredClone(asked)));
});

test("E1 demo: it stops when it is aborted, also while it waits", async () => {
  const aborted = stream(request([user("hello")]), AbortSignal.abort());
  await expect(aborted).rejects.toMatchObject(
    new ProviderFailure({ class: "cancelled", message: "The call was cancelled." }),
  );
  const controller = new AbortController();
  const slow = demo({ delayMs: 60_000 }).stream(request([user("hello")]), {
    signal: controller.signal,
    load: () => new Uint8Array(),
  });
  const first = slow[Symbol.asyncIterator]().next();
  controller.abort();
  await expect(first).rejects.toMatchObject({ class: "cancelled" });
});

test("E1 demo: a long text costs no long time", async () => {
  const before = performance.now();
  await replyTo("what you ".repeat(220));
  await replyTo(" ".repeat(1_000_000));
  await replyTo("what ".repeat(1_000_000));
  expect(performance.now() - before).toBeLessThan(2_000);
});
