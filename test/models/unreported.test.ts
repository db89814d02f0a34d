import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type Budget, defineTool, type RuntimeOptions, type TurnResult } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { aiSdk } from "bowline/providers/ai-sdk";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { aborted, call, end, text } from "../kit/models.ts";
import { seen, signalOf, within } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { lifetimes, running, work } from "../kit/worlds.ts";
import { serveWire, type WireServer } from "../wire/server.ts";

// ── A server that does not say what a call uses ─────────────────────────────────────────────────────────────────────

const chunk = (delta: object, finish: string | null = null) => ({
  id: "chat_1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const working = (n: number) => ({
  events: [
    chunk({
      tool_calls: [{ index: 0, id: `c${n}`, type: "function", function: { name: "work", arguments: "{}" } }],
    }),
    chunk({}, "tool_calls"),
    "[DONE]",
  ],
});
const done = { events: [chunk({ content: "Done." }), chunk({}, "stop"), "[DONE]"] };

const tireless = (): Promise<WireServer> => serveWire(Array.from({ length: 60 }, (_, n) => working(n)));
/** As an app writes it that does not know of `includeUsage`. */
const modelAt = (url: string): Provider => aiSdk(createOpenAICompatible({ name: "local", baseURL: url })("m"));
const NOTHING_TOLD = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 };
const issuesOf = ({ issues = [] }: TurnResult) => issues.map(({ code }) => code);

describe.each(STORES)("on %s", (_, make) => {
  const open = (server: WireServer, budget: Budget, more: Partial<RuntimeOptions> = {}) =>
    running({ ...(more as object), tools: [work], store: make(), model: modelAt(server.url), budget });

  test("S14 a budget holds for a provider that reports no usage: its tokens are estimated, and told apart", async () => {
    await using server = await tireless();
    await using runtime = await open(server, { turn: { tokens: 500 } });
    const session = await runtime.session();
    const result = await session.turn("Go.").result();
    expect(result.outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.tokens" });
    const asked = server.requests.length;
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThan(10);
    const { usage } = result;
    expect(usage).toMatchObject({ ...NOTHING_TOLD, unknownCalls: asked });
    expect(usage.estimatedInput).toBeGreaterThan(usage.estimatedOutput ?? 0);
    expect((usage.estimatedInput ?? 0) + (usage.estimatedOutput ?? 0)).toBeGreaterThanOrEqual(500);
    const view = await session.read();
    expect(view.usage).toEqual(usage);
    expect(view.ledger).toEqual([{ source: "turn", model: "local/m", usage, calls: asked }]);
  });

  test("S14 an estimate grows with what is sent and with what is said", async () => {
    const usageOf = async (asked: string, said: string) => {
      await using server = await serveWire([{ events: [chunk({ content: said }), chunk({}, "stop"), "[DONE]"] }]);
      await using runtime = await open(server, {});
      return (await (await runtime.session()).turn(asked).result()).usage;
    };
    const small = await usageOf("a", "b");
    const large = await usageOf("a".repeat(4_001), "b".repeat(801));
    expect((large.estimatedInput ?? 0) - (small.estimatedInput ?? 0)).toBe(1_000);
    expect([small.estimatedOutput, large.estimatedOutput]).toEqual([1, 201]);
  });

  test("S14 one issue in a turn states that usage is estimated, and how to have it reported", async () => {
    await using server = await serveWire([working(1), working(2), done]);
    await using runtime = await open(server, { turn: { tokens: 1_000_000 } });
    const result = await (await runtime.session()).turn("Go.").result();
    expect(result.outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(result.issues).toEqual([
      {
        code: "usage.estimated",
        message: expect.stringContaining("local/m"),
        hint: expect.stringContaining("includeUsage"),
      },
    ]);
  });

  test("S14 money is limited too: estimates cost what input and output cost", async () => {
    await using server = await tireless();
    await using runtime = await open(
      server,
      { turn: { cost: 0.002 } },
      { prices: { "local/m": { input: 1, output: 9 } } },
    );
    const session = await runtime.session();
    const { outcome, usage } = await session.turn("Go.").result();
    expect(outcome).toMatchObject({ by: "limit", code: "limit.money" });
    const { estimatedInput = 0, estimatedOutput = 0 } = usage;
    expect((await session.read()).cost).toBeCloseTo((estimatedInput + 9 * estimatedOutput) / 1_000_000, 12);
  });

  test('S14 with `unknown: "stop"` the turn ends before the second call, and gives the reason', async () => {
    await using server = await tireless();
    await using runtime = await open(server, { unknown: "stop" });
    const { outcome } = await (await runtime.session()).turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.usage-unknown" });
    expect("reason" in outcome && outcome.reason).toContain("includeUsage");
    expect(server.requests).toHaveLength(1);
  });

  test('S14 `unknown: "stop"` holds for completions of tools as well, and each turn counts from zero', async () => {
    const ask = defineTool({
      name: "work",
      description: "Asks a model.",
      input: { type: "object" },
      execute: async (_, { complete }) => {
        await complete.text("One?");
        return complete.text("Two?");
      },
    });
    const silent: readonly ModelPart[] = [text("Hm."), { kind: "finish", reason: "stop" }];
    const model = scripted([call("work"), end], silent, says("Never."), says("Never."), says("Anew."));
    await using runtime = await running({ store: make(), model, tools: [ask], budget: { unknown: "stop" } });
    const session = await runtime.session();
    const first = await session.turn("Go.").result();
    expect(first.outcome).toMatchObject({ code: "limit.usage-unknown" });
    expect(issuesOf(first)).toEqual(["usage.estimated"]);
    expect(model.requests).toHaveLength(2);
    expect(first.usage).toMatchObject({ input: 10, output: 5, unknownCalls: 1, estimatedOutput: 1 });
    expect((await session.turn("Again.").result()).outcome.kind).toBe("answered");
  });

  test("S14 a provider that reports its usage has neither an estimate nor an issue", async () => {
    await using runtime = await running({
      store: make(),
      model: scripted(says("Hello.")),
      budget: { unknown: "stop" },
    });
    const result = await (await runtime.session()).turn("Hi.").result();
    expect(issuesOf(result)).toEqual([]);
    expect(Object.keys(result.usage)).toEqual([...Object.keys(NOTHING_TOLD), "unknownCalls"]);
  });

  test("S14 a call that is cancelled in the middle is estimated, without an issue: no setting would help", async () => {
    const model: Provider = {
      id: "slow",
      modelId: "test",
      async *stream(_request, { signal }) {
        yield text("Half of what I want to say");
        await aborted(signal);
      },
    };
    await using runtime = await running({ store: make(), model });
    const turn = (await runtime.session()).turn("Go.");
    await seen(turn, "text");
    await turn.cancel();
    const result = await turn.result();
    expect(result.usage).toMatchObject({ ...NOTHING_TOLD, unknownCalls: 1, estimatedOutput: 7 });
    expect(result.usage.estimatedInput).toBeGreaterThan(0);
    expect(issuesOf(result)).toEqual([]);
  });
});

test("S14 S9 a direct completion without usage is booked with its estimate, and counts in the tree", async () => {
  const path = file();
  const silent: readonly ModelPart[] = [text("Hm."), { kind: "finish", reason: "stop" }];
  const options = { model: scripted(silent), budget: { tree: { tokens: 10 } } };
  const runtime = await running({ ...options, store: sqlite(path) });
  const session = await runtime.session("s");
  await session.complete.text("What do you think of this?");
  await runtime.close();

  await using second = await running({ ...options, store: sqlite(path) });
  const again = await second.session("s");
  const { ledger } = await again.read();
  expect(ledger).toMatchObject([{ source: "direct", usage: { ...NOTHING_TOLD, unknownCalls: 1, estimatedOutput: 1 } }]);
  await expect(again.complete.text("And now?")).rejects.toMatchObject({ code: "limit.tokens" });
});

test("S14 D2 an estimate is recorded with its reply: the next process counts the same", async () => {
  const silent = (part: ModelPart): Provider => ({
    id: "silent",
    modelId: "test",
    async *stream({ messages }) {
      yield messages.length === 1 ? part : text("Done.");
      yield { kind: "finish", reason: "stop" };
    },
  });
  const began = signalOf();
  let calls = 0;
  const hangs = defineTool({
    name: "work",
    description: "Hangs at first.",
    input: { type: "object" },
    execute: () => {
      began.resolve();
      return ++calls === 1 ? new Promise(() => {}) : "worked";
    },
  });
  const lives = lifetimes();
  const options = { tools: [hangs], model: silent(call("work")) };
  const first = await lives.next(options);
  (await first.runtime.session("s")).turn("Go.", { key: "k" });
  await within(began.promise);
  lives.kill();
  const second = await lives.next(options);
  const result = await within((await second.runtime.session("s")).turn("Go.", { key: "k" }).result());
  const other = await lives.next(options);
  const whole = await (await other.runtime.session("t")).turn("Go.").result();
  expect(calls).toBe(3);
  expect(result.usage).toEqual(whole.usage);
  expect(result.usage).toMatchObject({ unknownCalls: 2, estimatedInput: expect.any(Number) });
  await second.runtime.close();
});

test.each([{ input: Number.NaN, output: Number.NaN }, null, {}])(
  "S14 usage that is not a count (%j) is not counted as zero",
  async (usage) => {
    const model: Provider = {
      id: "odd",
      modelId: "test",
      async *stream() {
        yield text("Done.");
        yield { kind: "finish", reason: "stop", usage } as unknown as ModelPart;
      },
    };
    await using runtime = await running({ model });
    const result = await (await runtime.session()).turn("Go.").result();
    expect(result.outcome.kind).toBe("answered");
    expect(result.usage.unknownCalls).toBe(1);
    expect(issuesOf(result)).toEqual(["usage.estimated"]);
  },
);
