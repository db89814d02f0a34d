import { expect, test } from "vitest";
import { ask } from "../../../test/wire/ask.ts";
import { fake, finish, VERSIONS, type Version } from "../../../test/wire/fake.ts";
import { aiSdk } from "./adapter.ts";

const partsOf = async (version: Version, ...parts: readonly unknown[]) =>
  (await ask(aiSdk(fake(version, [...parts, finish(version)]).model))).parts.slice(0, -1);

test.each(VERSIONS)("E1 %s: what the start, the deltas and the end of a block say is merged", async (version) => {
  const meta = (fields: object) => ({ providerMetadata: { acme: fields } });
  expect(
    await partsOf(
      version,
      { type: "reasoning-start", id: "r", ...meta({ itemId: 1, signature: undefined }) },
      { type: "reasoning-delta", id: "r", delta: "Hm." },
      { type: "reasoning-delta", id: "r", delta: "", ...meta({ signature: "half" }) },
      { type: "reasoning-end", id: "r", ...meta({ signature: "whole" }) },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "Yes." },
      { type: "text-delta", id: "t", delta: "", ...meta({ late: true }) },
    ),
  ).toEqual([
    { kind: "reasoning", delta: "Hm.", id: "r" },
    { kind: "made", of: "reasoning", id: "r", data: { acme: { itemId: 1, signature: "whole" } } },
    { kind: "text", delta: "Yes.", id: "t" },
    { kind: "made", of: "text", id: "t", data: { acme: { late: true } } },
  ]);
});

test("an id that a stream uses again is a new block", async () => {
  const said = (delta: string) => [
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta },
    { type: "text-end", id: "0" },
  ];
  expect(await partsOf("v3", ...said("A"), ...said("B"))).toEqual([
    { kind: "text", delta: "A", id: "0" },
    { kind: "text", delta: "B", id: "0#2" },
  ]);
});

test("calls come with their input unread; what the provider runs itself is not ours to run", async () => {
  const call = { type: "tool-call", toolCallId: "c1", toolName: "clock", input: '{"half' };
  expect(
    await partsOf(
      "v4",
      { type: "tool-input-start", id: "c1", toolName: "clock" },
      { type: "tool-input-delta", id: "c1", delta: "{" },
      call,
      { ...call, toolCallId: "c2", providerExecuted: true },
      { type: "tool-result", toolCallId: "c2", toolName: "clock", result: {} },
      { ...call, toolCallId: "c3", input: { plain: 1 }, providerMetadata: { acme: { at: "x" } } },
    ),
  ).toEqual([
    { kind: "call", callId: "c1", name: "clock", input: '{"half' },
    { kind: "call", callId: "c3", name: "clock", input: { plain: 1 }, data: { acme: { at: "x" } } },
  ]);
});

test("unknown parts are ignored", async () => {
  const unknown = [
    "custom",
    "raw",
    "source",
    "file",
    "response-metadata",
    "stream-start",
    "ping",
    "tool-approval-request",
    7,
  ];
  expect(
    await partsOf("v4", ...unknown.map((type) => ({ type })), null, "?", { type: "text-end", id: "none" }),
  ).toEqual([]);
});

test.each([
  ["stop", "stop"],
  ["tool-calls", "calls"],
  ["length", "length"],
  ["content-filter", "refused"],
  ["other", "other"],
  ["unheard-of", "other"],
] as const)("a finish for %s is %s", async (said, reason) => {
  for (const version of VERSIONS) {
    const usage = version === "v2" ? { inputTokens: 1 } : undefined;
    const { parts } = await ask(aiSdk(fake(version, [finish(version, said, usage)]).model));
    expect(parts).toMatchObject([{ kind: "finish", reason }]);
  }
});

test.each([
  ["v2", "unknown"],
  ["v3", { unified: "other", raw: undefined }],
  ["v4", { unified: "interrupted", raw: undefined }],
] as const)("E1 %s: the finish a package makes up for a cut stream is none", async (version, finishReason) => {
  const usage = { inputTokens: undefined, outputTokens: undefined };
  expect(await ask(aiSdk(fake(version, [{ type: "finish", finishReason, usage }]).model))).toEqual({ parts: [] });
});

test.each(VERSIONS)("a finish for an error is a failure in %s", async (version) => {
  const { failure } = await ask(aiSdk(fake(version, [finish(version, "error")]).model));
  expect(failure).toMatchObject({ class: "stream", isRetryable: true });
});

test.each([
  [
    "v2, with the parts in the wholes",
    "v2",
    { inputTokens: 100, cachedInputTokens: 30, outputTokens: 50, reasoningTokens: 20, totalTokens: 150 },
    [70, 30, 0, 30, 20],
  ],
  [
    "v2, with reasoning apart from output",
    "v2",
    { inputTokens: 100, outputTokens: 30, reasoningTokens: 20, totalTokens: 150 },
    [100, 0, 0, 30, 20],
  ],
  [
    "v2, incomplete",
    "v2",
    { inputTokens: 100, outputTokens: Number.NaN, reasoningTokens: undefined },
    [100, 0, 0, 0, 0],
  ],
  [
    "v3",
    "v3",
    {
      inputTokens: { total: 100, noCache: 60, cacheRead: 30, cacheWrite: 10 },
      outputTokens: { total: 50, text: 30, reasoning: 20 },
    },
    [60, 30, 10, 30, 20],
  ],
  [
    "v4, without totals",
    "v4",
    { inputTokens: { noCache: 60, cacheRead: 30 }, outputTokens: { text: 30, reasoning: 20 } },
    [60, 30, 0, 30, 20],
  ],
  [
    "v4, with reasoning larger than its total",
    "v4",
    { inputTokens: { total: 1 }, outputTokens: { total: 26, reasoning: 227 } },
    [1, 0, 0, 26, 227],
  ],
  [
    "v4, with totals only",
    "v4",
    { inputTokens: { total: 5, noCache: undefined }, outputTokens: { total: 6, reasoning: Number.NaN } },
    [5, 0, 0, 6, 0],
  ],
] as const)(
  "E1 usage falls into disjoint buckets: %s",
  async (_, version, usage, [input, cacheRead, cacheWrite, output, reasoning]) => {
    const { parts } = await ask(aiSdk(fake(version, [finish(version, "stop", usage)]).model));
    expect(parts).toEqual([
      { kind: "finish", reason: "stop", usage: { input, cacheRead, cacheWrite, output, reasoning, unknownCalls: 0 } },
    ]);
  },
);

test("E1 usage of Anthropic's v2 package has cached tokens beside the input", async () => {
  const end = {
    ...finish("v2", "stop", { inputTokens: 12, cachedInputTokens: 300, outputTokens: 9, totalTokens: 21 }),
    providerMetadata: { anthropic: { cacheCreationInputTokens: 40 } },
  };
  const { parts } = await ask(aiSdk(fake("v2", [end]).model));
  expect(parts).toMatchObject([{ usage: { input: 12, cacheRead: 300, cacheWrite: 40, output: 9 } }]);
});

test("K9 usage of Bedrock's v2 package has cached tokens beside the input", async () => {
  const end = {
    ...finish("v2", "stop", { inputTokens: 312, cachedInputTokens: 300, outputTokens: 9, totalTokens: 321 }),
    providerMetadata: { bedrock: { usage: { cacheWriteInputTokens: 40 } } },
  };
  const { parts } = await ask(aiSdk(fake("v2", [end]).model));
  expect(parts).toMatchObject([{ usage: { input: 312, cacheRead: 300, cacheWrite: 40, output: 9 } }]);
});

test("no usage is not the same as none used", async () => {
  const { parts } = await ask(aiSdk(fake("v4", [finish("v4", "stop", { inputTokens: {}, outputTokens: {} })]).model));
  expect(parts).toEqual([{ kind: "finish", reason: "stop" }]);
});

test("a connection that breaks after the finish has lost nothing", async () => {
  const { model } = fake("v4", []);
  const stream = new ReadableStream(
    {
      pull: (controller) => {
        controller.enqueue(finish("v4"));
        controller.error(new TypeError("terminated"));
      },
    },
    { highWaterMark: 0 },
  );
  const asked = await ask(aiSdk({ ...model, doStream: async () => ({ stream }) }));
  expect(asked).toEqual({ parts: [{ kind: "finish", reason: "stop" }] });
});
