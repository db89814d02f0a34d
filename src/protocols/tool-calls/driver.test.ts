import { describe, expect, test } from "vitest";
import { cellLoop, toolLoop } from "../../../test/turn/drivers.ts";
import { asBlobHash, asCallId, asTurnId, nodeId } from "../../model/ids.ts";
import type { Json, JsonObject } from "../../model/json.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import { type Attachment, callsOf, type Draft, type Part, type ToolCallPart, text } from "../../model/message.ts";
import type { Reply } from "../../model/request.ts";
import { OUTPUT_TOOL, projectOutput, type ToolOutput } from "../../model/tool.ts";
import { NO_USAGE } from "../../model/usage.ts";
import { protocolLaws } from "../../testing/protocol-laws.ts";
import type { Decision, PlacedResult, ProtocolDriver, RequestView, RoundView } from "../../turn/driver.ts";
import { driverFor } from "./driver.ts";

const driver = driverFor(false);

for (const { law, check } of protocolLaws) {
  test(`P4 tool-calls: ${law}`, () => check(driver));
  test(`P4 tool-calls with batch: ${law}`, () => check(driverFor(true)));
  test(`P4 other drivers keep the laws too: ${law}`, () => [toolLoop, cellLoop].forEach(check));
}

const SCHEMA: JsonObject = { type: "object", properties: { kinds: { type: "number" } } };
const asked: Draft = { role: "user", parts: [text("How many kinds of tiger?")] };
const results: Draft = { role: "tool", parts: [] };

const said = (finish: Reply["finish"], ...parts: readonly Part[]): Reply => ({
  parts,
  finish,
  usage: NO_USAGE,
  route: "house/model",
});

const call = (name: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  kind: "toolCall",
  callId: asCallId(`call_${name}`),
  name,
  input: { q: "tigers" },
  ...more,
});

function view(more: Partial<RoundView> = {}, ...added: readonly Draft[]): RoundView {
  const log = [asked, ...added].map((draft, index) => {
    const message = { id: nodeId(asTurnId("trn_1"), index), ...draft };
    return { at: 1, kind: "message", message } as const;
  });
  return { round: 1, memo: null, log, limits: DEFAULT_LIMITS, ...more };
}

/** The calls of a reply, each with its output. */
const became = (reply: Reply, ...outputs: readonly ToolOutput[]): readonly PlacedResult[] =>
  callsOf(reply.parts).map(({ callId: id, name, input }, index) => {
    const output = outputs[index]!;
    return { at: String(index), call: { id, name, input }, output, parts: projectOutput(output) };
  });

const failure = (message: string, kind: "arguments" | "denied" = "arguments"): ToolOutput => ({
  kind: "failure",
  failure: { class: kind, code: `tool.${kind}`, message },
});

const repair = (words: string): Draft => ({ role: "user", parts: [text(words)], origin: { kind: "runtime" } });

describe("P4 what the model said", () => {
  test("P4 words are the answer, with or without thoughts", () => {
    expect(driver.onReply(view(), said("stop", text("Nine.")))).toEqual({ kind: "answer" });
    const thought: Part = { kind: "reasoning", text: "Hm." };
    expect(driver.onReply(view(), said("other", thought, text("Nine.")))).toEqual({ kind: "answer" });
  });

  test("P4 words that a plugin cut short are the answer", () => {
    expect(driver.onReply(view(), said("aborted", text("Nine")))).toEqual({ kind: "answer" });
  });

  test.each([
    ["nothing", []],
    ["white space", [text(" \n")]],
    ["only a thought", [{ kind: "reasoning", text: "Hm." } as const]],
  ])("P4 %s is a failure of the provider, and after work an answer", (_, parts) => {
    const ending = {
      kind: "failed",
      by: "provider",
      code: "provider.empty",
      reason: "house/model returned an empty reply.",
    };
    expect(driver.onReply(view(), said("stop", ...parts))).toEqual({ kind: "end", ending });
    expect(driver.onReply(view({ round: 2 }, results), said("stop", ...parts))).toEqual({ kind: "answer" });
  });

  test("P4 a reply that reached the output limit is incomplete", () => {
    const ending = { kind: "stopped", by: "incomplete", code: "reply.truncated" };
    expect(driver.onReply(view(), said("length", text("Nine ki")))).toMatchObject({ kind: "end", ending });
    expect(driver.onReply(view({}, results), said("length"))).toMatchObject({ kind: "end", ending });
    expect(driver.onReply(view({ output: SCHEMA }), said("length"))).toMatchObject({ kind: "end", ending });
  });

  test("P4 a refusal is incomplete, and what it calls is not called", () => {
    const ending = { kind: "stopped", by: "incomplete", code: "reply.refused" };
    for (const reply of [said("refused"), said("refused", text("No.")), said("refused", call("search"))]) {
      expect(driver.onReply(view(), reply)).toMatchObject({ kind: "end", ending });
      expect(driver.onReply(view({ output: SCHEMA }, results), reply)).toMatchObject({ kind: "end", ending });
    }
  });

  test.each(["calls", "stop", "length", "aborted"] as const)(
    "P4 calls are made in their order, also when the reply ends with %s",
    (finish) => {
      const cut = call("fetch", { input: {}, malformed: '{"url": "ht' });
      expect(driver.onReply(view(), said(finish, text("Let me look."), call("search"), cut))).toEqual({
        kind: "calls",
        calls: [
          { at: "0", call: { id: "call_search", name: "search", input: { q: "tigers" } } },
          { at: "1", call: { id: "call_fetch", name: "fetch", input: {}, malformed: '{"url": "ht' } },
        ],
      });
    },
  );

  test("P4 code is not run", () => {
    const reply = said("stop", text("1 + 1"));
    expect(driver.onExec(view(), reply, { state: "done", parts: [] }, [])).toMatchObject({
      kind: "end",
      ending: { kind: "failed", by: "runtime", code: "code.unavailable" },
    });
  });
});

describe("P4 what the calls came to", () => {
  const attachment: Attachment = { kind: "attachment", hash: asBlobHash("h"), mediaType: "image/png", bytes: 3 };

  test("P4 the model is shown one message with a result for each call, in call order", () => {
    const reply = said("calls", ...["a", "b", "c", "d", "e"].map((name) => call(name)));
    const decision = driver.onResults(
      view(),
      reply,
      became(
        reply,
        { kind: "value", value: { kinds: 9 }, attachments: [attachment] },
        failure("q is missing"),
        failure("Not allowed.", "denied"),
        { kind: "cancelled", reason: "Enough." },
        { kind: "unknown", reason: "It was interrupted." },
      ),
    );
    const shown = (name: string, status: string, ...parts: readonly Part[]) => ({
      kind: "toolResult",
      callId: `call_${name}`,
      name,
      status,
      parts,
    });
    expect(decision).toEqual({
      kind: "ask",
      add: [
        {
          role: "tool",
          parts: [
            shown("a", "ok", text('{"kinds":9}'), attachment),
            shown("b", "failed", text("Error (tool.arguments): q is missing")),
            shown("c", "denied", text("Error (tool.denied): Not allowed.")),
            shown("d", "cancelled", text("Cancelled: Enough.")),
            shown("e", "unknown", text("Unknown: It was interrupted.")),
          ],
        },
      ],
    });
  });

  test("P4 the model is shown what a plugin made of a result, not the result", () => {
    const reply = said("calls", call("search"));
    const [result] = became(reply, { kind: "value", value: "a secret" });
    const { add } = driver.onResults(view(), reply, [{ ...result!, parts: [text("[redacted]")] }]);
    expect(add).toMatchObject([{ parts: [{ status: "ok", parts: [text("[redacted]")] }] }]);
  });
});

describe("P4 a typed result", () => {
  const request = (more: Partial<RequestView> = {}): RequestView => ({
    ...view(),
    system: "Be brief.",
    messages: [],
    tools: [],
    ...more,
  });
  const typed = (memo: Json = null): RoundView => view({ memo, output: SCHEMA });
  const handIn = said("calls", call(OUTPUT_TOOL));

  test("P4 is handed in by a tool that only this request offers", () => {
    const search = { name: "search", description: "Looks things up.", inputSchema: {} };
    const plain = request({ tools: [search], settings: { temperature: 0 } });
    expect(driver.request(plain)).toEqual({
      system: "Be brief.",
      messages: [],
      tools: [search],
      settings: { temperature: 0 },
    });
    const { tools, settings } = driver.request(request({ tools: [search], output: SCHEMA }));
    expect(tools).toEqual([search, { name: OUTPUT_TOOL, description: expect.any(String), inputSchema: SCHEMA }]);
    expect(settings).toBeUndefined();
  });

  test("P4 is not given in words: the model is asked twice, then the turn fails", () => {
    const words = expect.stringContaining(OUTPUT_TOOL);
    let memo: Json = null;
    for (const reply of [said("stop", text("Nine.")), said("stop")]) {
      const decision = driver.onReply(typed(memo), reply);
      expect(decision).toMatchObject({ kind: "retry", add: [repair(words)] });
      memo = decision.memo ?? null;
    }
    expect(driver.onReply(typed(memo), said("stop", text("Nine, I said.")))).toMatchObject({
      kind: "end",
      ending: { kind: "failed", by: "provider", code: "output.invalid", reason: words },
    });
  });

  test("P4 that does not fit is shown as a failed call twice, then the turn fails, and the call keeps its result", () => {
    const decide = (memo: Json): Decision =>
      driver.onResults(typed(memo), handIn, became(handIn, failure("kinds is no number")));
    const shown = [{ role: "tool", parts: [{ name: OUTPUT_TOOL, status: "failed", callId: `call_${OUTPUT_TOOL}` }] }];
    const first = decide(null);
    const second = decide(first.memo ?? null);
    const third = decide(second.memo ?? null);
    for (const decision of [first, second, third]) {
      expect(decision).toMatchObject({ add: shown });
      expect(decision.add).toHaveLength(1); // The tool result tells the model; no message is added.
    }
    expect([first.kind, second.kind]).toEqual(["retry", "retry"]);
    expect(third).toMatchObject({
      kind: "end",
      ending: { by: "provider", code: "output.invalid", reason: expect.stringContaining("kinds is no number") },
    });
  });

  test("P4 has two repairs in all, of whatever kind", () => {
    const inWords = driver.onReply(typed(), said("stop", text("Nine.")));
    const misfit = driver.onResults(typed(inWords.memo ?? null), handIn, became(handIn, failure("no")));
    expect([inWords.kind, misfit.kind]).toEqual(["retry", "retry"]);
    expect(driver.onReply(typed(misfit.memo ?? null), said("stop")).kind).toBe("end");
  });

  test("P4 is not what other calls are measured by", () => {
    const reply = said("calls", call("search"));
    expect(driver.onResults(typed(), reply, became(reply, failure("no")))).toMatchObject({ kind: "ask" });
    expect(driver.onResults(view(), handIn, became(handIn, failure("There is no such tool.")))).toMatchObject({
      kind: "ask",
    });
    expect(driver.onResults(typed(), handIn, became(handIn, { kind: "value", value: "kept" }))).toMatchObject({
      kind: "ask",
    });
    expect(driver.onResults(typed(), handIn, became(handIn, { kind: "cancelled", reason: "Enough." }))).toMatchObject({
      kind: "ask",
    });
  });
});

describe("P4 the laws notice", () => {
  let count = 0;
  const show = (decision: Decision, change: (parts: readonly Part[]) => readonly Part[]): Decision => ({
    ...decision,
    add: (decision.add ?? []).map((draft) => ({ ...draft, parts: change(draft.parts) })),
  });
  const onResults = (change: (parts: readonly Part[]) => readonly Part[]): Partial<ProtocolDriver> => ({
    onResults: (...about) => show(driver.onResults(...about), change),
  });
  const BROKEN: readonly (readonly [what: string, broken: Partial<ProtocolDriver>])[] = [
    ["has no id", { id: "" }],
    ["has no version", { version: 0.5 }],
    ["counts", { onReply: (...about) => ({ ...driver.onReply(...about), memo: count++ }) }],
    [
      "reads the clock",
      { request: (about) => ({ ...driver.request(about), system: String(process.hrtime.bigint()) }) },
    ],
    [
      "remembers beside its memo",
      { onReply: (about, reply) => (count++ < 400 ? driver.onReply(about, reply) : { kind: "ask" }) },
    ],
    [
      "changes what it is given",
      { onReply: (about, reply) => driver.onReply(about, Object.assign(reply, { finish: "stop" })) },
    ],
    [
      "throws at an empty reply",
      { onReply: (about, reply) => (reply.parts.length === 0 ? boom() : driver.onReply(about, reply)) },
    ],
    ["makes up a decision", { onReply: () => ({ kind: "think" }) as unknown as Decision }],
    [
      "keeps a value that is not JSON",
      { onReply: (...about) => ({ ...driver.onReply(...about), memo: new Map() as unknown as Json }) },
    ],
    ["puts two calls in one place", { onReply: (...about) => inOnePlace(driver.onReply(...about)) }],
    ["forgets a result", onResults((parts) => parts.slice(0, -1))],
    ["shows a result twice", onResults((parts) => [...parts, ...parts])],
    ["turns results around", onResults((parts) => parts.toReversed())],
    ["calls every result good", onResults((parts) => parts.map((part) => ({ ...part, status: "ok" }) as Part))],
    [
      "shows nothing when all was cancelled",
      {
        onResults: (...about) =>
          about[2].every(({ output }) => output.kind === "cancelled") ? { kind: "ask" } : driver.onResults(...about),
      },
    ],
    [
      "wants calls again",
      { onResults: (about, reply, done) => ({ ...driver.onResults(about, reply, done), kind: "calls", calls: done }) },
    ],
  ];

  test.each(BROKEN)("P4 a driver that %s", (_, broken) => {
    const isNoticed = protocolLaws.some(({ check }) => {
      count = 0;
      try {
        check({ ...driver, ...broken });
        return false;
      } catch {
        return true;
      }
    });
    expect(isNoticed).toBe(true);
  });
});

function boom(): never {
  throw new Error("I cannot read this.");
}

const inOnePlace = (decision: Decision): Decision =>
  decision.kind === "calls" ? { ...decision, calls: decision.calls.map((each) => ({ ...each, at: "0" })) } : decision;
