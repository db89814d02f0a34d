import { protocolLaws } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { asCallId, asTurnId, nodeId } from "../../model/ids.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import { type Draft, type Message, type Part, text, textOf } from "../../model/message.ts";
import type { Reply } from "../../model/request.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { PlacedResult, RoundView } from "../../turn/driver.ts";
import { driver } from "./driver.ts";

const view = (more: Partial<RoundView> = {}): RoundView => ({
  round: 1,
  memo: null,
  log: [],
  limits: DEFAULT_LIMITS,
  ...more,
});
const reply = (words: string, finish: Reply["finish"] = "stop", more: readonly Part[] = []): Reply => ({
  parts: [...(words === "" ? [] : [text(words)]), ...more],
  finish,
  usage: NO_USAGE,
  route: "test/model",
});
const cell = (code: string) => `<typescript>\n${code}\n</typescript>`;
const wordsIn = (drafts: readonly Draft[] = []): string =>
  drafts.flatMap(({ parts }) => parts.map((part) => ("parts" in part ? textOf(part.parts) : ""))).join("\n");

const TYPED: Partial<RoundView> = { output: { type: "object" } };
const FINISHING: Partial<RoundView> = { options: { ending: "finish" } };
const MESSAGE = { role: "user", parts: [{ kind: "codeOutput", status: "done", parts: [] }] } as const;
const WORKED: Partial<RoundView> = {
  log: [{ at: 1, kind: "message", message: { id: nodeId(asTurnId("t"), 1), ...MESSAGE } }],
};

describe("P7 what a reply means", () => {
  test.each<[string, Reply, Partial<RoundView>, object]>([
    ["a cell is run", reply(cell("print(1)")), {}, { kind: "cell", cell: { code: "print(1)", acceptFinish: true } }],
    ["also where the stream was cut after it", reply(cell("a"), "aborted"), {}, { kind: "cell" }],
    ["also where it was cut off after it", reply(`${cell("a")}\nSo`, "length"), {}, { kind: "cell" }],
    ["not where it was cut off in its last line", reply(cell("a"), "length"), {}, { kind: "retry" }],
    ["prose is an answer", reply("It is 4."), {}, { kind: "answer" }],
    ["code in a fence is an answer", reply("```ts\n1\n```"), {}, { kind: "answer" }],
    ["prose is none where a result is wanted", reply("It is 4."), TYPED, { kind: "retry", memo: { repairs: 1 } }],
    ["prose is none where only finish counts", reply("It is 4."), FINISHING, { kind: "retry" }],
    [
      "a turn may say that prose counts",
      reply("It is 4."),
      { ...FINISHING, extensions: { "bowline/code-mode/ending": "prose" } },
      { kind: "answer" },
    ],
    ["a cell that begins in the middle of a line", reply(`I look: ${cell("a")}`), {}, { kind: "retry" }],
    ["an empty cell", reply(cell(" ")), {}, { kind: "retry" }],
    ["a cell without an end", reply("<typescript>\na"), {}, { kind: "retry" }],
    ["a refusal", reply("No.", "refused"), {}, { kind: "end", ending: { code: "reply.refused" } }],
    ["nothing", reply(""), {}, { kind: "end", ending: { code: "provider.empty" } }],
    ["nothing, after work", reply(""), WORKED, { kind: "answer" }],
    ["nothing, after work, where a result is wanted", reply(""), { ...WORKED, ...TYPED }, { kind: "retry" }],
    ["nothing, because a plugin cut it", reply("", "aborted"), {}, { kind: "end", ending: { code: "reply.aborted" } }],
  ])("%s", (_, said, more, decision) => {
    expect(driver.onReply(view(more), said)).toMatchObject(decision);
  });

  test.each<[string, Reply, Partial<RoundView>, RegExp]>([
    ["a cell without an end", reply("<typescript>\na"), {}, /\[ERROR\].*no end.*<\/typescript>/],
    ["a cell that was cut off", reply("<typescript>\na", "length"), {}, /\[POLICY\].*Do less/],
    ["an answer that was cut off", reply("It is", "length"), {}, /\[POLICY\].*more briefly/],
    ["thoughts that were cut off", reply("", "length"), {}, /\[POLICY\].*cut off/],
    ["an empty cell", reply(cell("")), {}, /\[ERROR\].*empty/],
    ["a fence where a cell is wanted", reply("```ts\n1\n```"), FINISHING, /\[ERROR\].*fence/],
    [
      "a tag in the wrong place",
      reply("Run <typescript>1</typescript> now"),
      FINISHING,
      /\[ERROR\].*begins with a line/,
    ],
    ["prose where a cell is wanted", reply("Well."), FINISHING, /\[ERROR\].*finish\(value\)/],
    [
      "a native call",
      reply("", "calls", [{ kind: "toolCall", callId: asCallId("c"), name: "search", input: {} }]),
      {},
      /\[POLICY\].*from code/,
    ],
  ])("%s: the model reads what to do", (_, said, more, words) => {
    expect(wordsIn(driver.onReply(view(more), said).add)).toMatch(words);
  });

  test("P7 a typed result that stays away fails the turn after two reminders, as with native calls", () => {
    expect(driver.onReply(view({ ...TYPED, memo: { repairs: 2 } }), reply("It is 4."))).toMatchObject({
      kind: "end",
      ending: { kind: "failed", code: "output.invalid" },
    });
  });

  test("P7 the value of finish is handed to the caller's schema", () => {
    expect(driver.onReply(view(TYPED), reply(cell("finish(1)")))).toMatchObject({
      cell: { finishBy: { tool: "submit_output" } },
    });
    expect(driver.onReply(view({ ...TYPED, unwraps: true }), reply(cell("finish(1)")))).toMatchObject({
      cell: { finishBy: { tool: "submit_output", field: "value" } },
    });
  });
});

const result = (name: string, output: PlacedResult["output"]): PlacedResult => ({
  at: "0",
  call: { id: asCallId(`call_${name}`), name, input: {} },
  output,
  parts: [],
});
const OK = { kind: "value", value: 1 } as const;
const DENIED = { kind: "failure", failure: { class: "denied", code: "tool.denied", message: "No." } } as const;

describe("P7 what the end of a cell means", () => {
  const onExec = (output: Parameters<typeof driver.onExec>[2], results: readonly PlacedResult[] = [], more = {}) =>
    driver.onExec(view(more), reply(cell("x")), output, results);
  const done = (words: string) => ({ state: "done", parts: [text(words)] }) as const;

  test("the output is shown, and only calls that failed", () => {
    const { add, kind } = onExec(done("4"), [result("a", OK), result("b", DENIED), result("b", DENIED)]);
    expect([kind, wordsIn(add)]).toEqual(["ask", "4\nCalls: b denied (tool.denied) 2 times."]);
    expect(add?.[0]?.parts[0]).toMatchObject({ kind: "codeOutput", status: "done", calls: 3 });
  });

  test.each([
    ["threw", "[ERROR] Oh.\nCorrect the code.\nCalls: a ok."],
    ["refused", "[ERROR] Oh.\nCorrect the code.\nCalls: a ok."],
    ["stopped", "[POLICY] Oh.\nCalls: a ok."],
  ] as const)("a cell that %s is reported as such, with all its calls", (state, words) => {
    expect(wordsIn(onExec({ state, parts: [text("Oh.")] }, [result("a", OK)]).add)).toBe(words);
  });

  test("what it printed stands before how it ended, and the label between them", () => {
    const end = (state: "threw" | "stopped", words: string) =>
      wordsIn(onExec({ state, parts: [text("1\n2"), text(words)] }).add);
    expect(end("threw", "Oh.")).toBe("1\n2\n[ERROR] Oh.\nCorrect the code.");
    expect(end("threw", "ToolError [tool.failed]: No.")).toBe(
      "1\n2\n[ERROR] ToolError [tool.failed]: No.\nCatch the error where you can go on without the call, or do it in another way.",
    );
    expect(end("stopped", "Oh.")).toBe("1\n2\n[POLICY] Oh.");
  });

  test("a cell without a result is shown as such", () => {
    expect(wordsIn(onExec({ state: "done", parts: [] }).add)).toBe(
      "The code ran to its end. It printed nothing and has no value.",
    );
  });

  test("finish ends the turn, and later turns see its value", () => {
    const decision = onExec({ ...done("hm"), finish: { sum: 4 } });
    expect(decision).toMatchObject({ kind: "finish", value: { sum: 4 } });
    expect(wordsIn(decision.add)).toBe('hm\nFinished with {"sum":4}');
  });

  test("a typed result is shown in the caller's form", () => {
    const submitted = {
      kind: "value",
      value: null,
      control: { kind: "finish", by: "model", value: { sum: 4 } },
    } as const;
    const { kind, add } = onExec(done("hm"), [result("submit_output", submitted)], TYPED);
    expect([kind, wordsIn(add)]).toEqual(["ask", 'hm\nFinished with {"sum":4}']);
  });

  test("continueAs opens a frame with the task and a note about the seed", () => {
    expect(onExec({ ...done(""), continues: { task: "Write it up.", seed: { a: 1 } } })).toMatchObject({
      kind: "switchFrame",
      task: 'Write it up.\n\nWhat was handed over is in the code as `seed`: {"a":1}',
    });
  });

  test("a value that does not fit is reported twice; then the turn fails", () => {
    const wrong = result("submit_output", {
      kind: "failure",
      failure: { class: "arguments", code: "tool.arguments", message: "/sum must be number" },
    });
    const first = onExec(done(""), [wrong], TYPED);
    expect([first.kind, first.memo]).toEqual(["retry", { repairs: 1 }]);
    expect(wordsIn(first.add)).toContain("/sum must be number");
    expect(onExec(done(""), [wrong], { ...TYPED, memo: { repairs: 2 } })).toMatchObject({
      kind: "end",
      ending: { code: "output.invalid" },
    });
  });
});

const message = (nth: number, draft: Draft): Message => ({ id: nodeId(asTurnId("t"), nth), ...draft });
const said = (words: string): Draft => ({
  role: "user",
  parts: [text(words)],
  origin: { kind: "input", inputId: "i" },
});
const wrote = (code: string): Draft => ({ role: "assistant", parts: [text(cell(code))] });
const came = (status: "done" | "threw" | "refused", words: string, calls?: number): Draft => ({
  role: "user",
  parts: [{ kind: "codeOutput", status, parts: [text(words)], ...(calls === undefined ? {} : { calls }) }],
  origin: { kind: "runtime" },
});
const request = (drafts: readonly Draft[], more: Partial<RoundView> = {}) =>
  driver.request({ ...view(more), system: "S", messages: drafts.map((draft, nth) => message(nth, draft)), tools: [] });
const shownIn = (drafts: readonly Draft[], more: Partial<RoundView> = {}): readonly string[] =>
  request(drafts, more)
    .messages.slice(0, -1)
    .map(({ parts }) => textOf(parts));

describe("P7 what the model is sent", () => {
  test("its own replies as it wrote them, and no tools by the provider's means", () => {
    expect(shownIn([said("Go."), wrote("print(1)"), came("done", "1")])).toEqual(["Go.", cell("print(1)"), "1"]);
    expect(request([said("Go.")]).tools).toEqual([]);
  });

  test("what changes from round to round comes last, after all that a provider may cache", () => {
    const { messages, stable } = request([said("Go.")], { round: 3 });
    expect(stable).toBe(1);
    expect(textOf(messages[1]?.parts ?? [])).toBe("Round 3 of 50.\nAnswer in prose, or write one cell.");
  });

  test("a schema and how to hand the result in", () => {
    const wrapped = { type: "object", properties: { value: { type: "number" } }, required: ["value"] };
    const tail = textOf(request([said("Go.")], { output: wrapped, unwraps: true }).messages.at(-1)?.parts ?? []);
    expect(tail).toContain('must fit: {"type":"number"}');
  });

  test("failed steps that were followed by one that went well are left out; those that acted stay", () => {
    const failed = [wrote("a"), came("refused", "no a"), wrote("b"), came("threw", "no b")];
    expect(shownIn([said("Go."), ...failed])).toHaveLength(5);
    expect(shownIn([said("Go."), ...failed, wrote("c"), came("done", "c")])).toEqual(["Go.", cell("c"), "c"]);
    const acted = [wrote("d"), came("threw", "no d", 1)];
    expect(shownIn([said("Go."), ...acted, wrote("c"), came("done", "c")])).toHaveLength(5);
    // What was said in between begins anew.
    expect(shownIn([said("Go."), ...failed, said("And?"), wrote("c"), came("done", "c")])).toHaveLength(8);
  });

  test("a cell without a result, with a note", () => {
    const lost = expect.stringContaining("not known");
    expect(shownIn([said("Go."), wrote("a"), said("And?")])).toEqual(["Go.", cell("a"), lost, "And?"]);
    expect(shownIn([said("Go."), wrote("a"), said("Mind this."), came("threw", "no a")])).toHaveLength(4);
    const prose: Draft = { role: "assistant", parts: [text("Write <typescript> on a line.")] };
    expect(shownIn([said("How?"), prose, said("Thanks.")])).toHaveLength(3);
  });

  test("failed steps are left out of what a compaction carried, too", () => {
    const steps = [wrote("a"), came("threw", "no a"), wrote("c"), came("done", "c")];
    const carried = steps.map((draft): Draft => ({ ...draft, origin: { kind: "carried", from: "n" } }));
    expect(shownIn([said("In short."), ...carried])).toEqual(["In short.", cell("c"), "c"]);
  });

  test("a failed step in which a plugin said something stays whole, and an empty reply is left out alone", () => {
    const note: Draft = { ...said("Mind this."), origin: { kind: "plugin", plugin: "a/a" } };
    const went = [wrote("c"), came("done", "c")];
    expect(shownIn([said("Go."), wrote("a"), note, came("threw", "no a"), ...went])).toHaveLength(6);
    expect(shownIn([said("Go."), came("refused", "nothing"), ...went])).toEqual(["Go.", cell("c"), "c"]);
  });

  test("long texts with where to read them, counted as the session has them", () => {
    const failed = [wrote("a"), came("refused", "no a")];
    const [, , output] = shownIn([said("Go."), ...failed, wrote("c"), came("done", "x".repeat(50_000))]);
    expect(output?.length).toBeLessThan(21_000);
    expect(output).toContain("30,000 characters left out; in code, all of it: (await history[4]).text");
    const [input] = shownIn([said("y".repeat(30_000))]);
    expect(input).toContain("(await history[0]).text");
  });

  test("calls of a session that made them natively, as code", () => {
    const call: Part = { kind: "toolCall", callId: asCallId("c"), name: "get-weather", input: { city: "Oslo" } };
    const answer: Part = {
      kind: "toolResult",
      callId: asCallId("c"),
      name: "get-weather",
      status: "ok",
      parts: [text("4")],
    };
    expect(
      shownIn([said("Go."), { role: "assistant", parts: [text("I look."), call] }, { role: "tool", parts: [answer] }]),
    ).toEqual([
      "Go.",
      'I look.\n<typescript>\nawait tools["get-weather"]({"city":"Oslo"});\n</typescript>',
      "get-weather (ok): 4",
    ]);
  });

  test.each([
    [0.5, ""],
    [0.7, "Look for a good place"],
    [0.95, "Finish the step"],
    [1.2, "Hand over now"],
  ])("how full the context is, at %f of it", (share, words) => {
    const long = said("z".repeat(4_000));
    const drafts = Array.from({ length: share * 10 }, () => long);
    const tail = textOf(request(drafts, { options: { contextTokens: 10_000 } }).messages.at(-1)?.parts ?? []);
    expect(tail.includes("tokens")).toBe(words !== "");
    expect(tail).toContain(words);
  });
});

describe("P7 the laws of protocols", () => {
  for (const { law, check } of protocolLaws) test(law, () => check(driver));
});
