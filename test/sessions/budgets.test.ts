import {
  type Budget,
  definePlugin,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  retryable,
  type Session,
  type Store,
  switchFrame,
  type TurnResult,
  type Usage,
} from "bowline";
import { type ModelPart, type ModelRequest, type Provider, ProviderFailure } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { text } from "../kit/models.ts";
import { outline, signalOf, within, wordsOf } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { lifetimes, running, runningQuickly, work } from "../kit/worlds.ts";

// Every scripted reply costs 10 tokens in and 5 out: 15, or 20 millionths by this table.
const PRICES = { "scripted/test": { input: 1, output: 2 } };
const CALL = 15;
const COST = 0.00002;
const PER_CALL: Usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 };
const times = (n: number): Usage => ({ ...PER_CALL, input: 10 * n, output: 5 * n });

/** Works and works: each round says which one it is, and calls `work`. */
const worker = (rounds = 100): ReturnType<typeof scripted> =>
  scripted(...Array.from({ length: rounds }, (_, n) => both(says(`Round ${n + 1}.`), calls("work", {}, `c${n}`))));

const open = (store: Store, model: Provider, options: Partial<Omit<RuntimeOptions, "model" | "models">> = {}) =>
  running({ tools: [work], ...options, store, model });

const codeOf = ({ outcome }: TurnResult): string => ("code" in outcome ? outcome.code : outcome.kind);

describe.each(STORES)("on %s", (_, make) => {
  // ── What a turn may spend ─────────────────────────────────────────────────────────────────────────────────────────

  test("S14 a turn that has spent its tokens ends before the next call, with what was said and done", async () => {
    const model = worker();
    await using runtime = await open(make(), model, { budget: { turn: { tokens: 40 } } });
    const session = await runtime.session();
    const result = await session.turn("Go.").result();
    expect(result.outcome).toEqual({
      kind: "stopped",
      by: "limit",
      code: "limit.tokens",
      reason: expect.stringContaining("has used 45 tokens, and its budget is 40"),
      text: "Round 1.\n\nRound 2.\n\nRound 3.",
    });
    expect(model.requests).toHaveLength(3);
    expect(result.usage).toEqual(times(3));
    const { messages, usage, ledger } = await session.read();
    expect(usage).toEqual(times(3));
    expect(ledger).toEqual([{ source: "turn", model: "scripted/test", usage: times(3), calls: 3 }]);
    expect(outline(messages).at(-1)).toBe("work ok: worked");
  });

  test.each([
    [1, 1],
    [15, 1],
    [16, 2],
    [30, 2],
    [31, 3],
  ])(
    "S14 with %i tokens the model is called %i times: what is spent is looked at before the call, and reaching it is enough",
    async (tokens, asked) => {
      const model = worker();
      await using runtime = await open(make(), model, { budget: { turn: { tokens } } });
      expect(codeOf(await (await runtime.session()).turn("Go.").result())).toBe("limit.tokens");
      expect(model.requests).toHaveLength(asked);
    },
  );

  test("S14 a turn that ends within one call is not stopped by the cost of that call, and each turn counts from zero", async () => {
    await using runtime = await open(make(), scripted(says("One."), says("Two.")), { budget: { turn: { tokens: 1 } } });
    const session = await runtime.session();
    expect((await session.turn("1").result()).outcome).toMatchObject({ kind: "answered", text: "One." });
    expect((await session.turn("2").result()).outcome).toMatchObject({ kind: "answered", text: "Two." });
  });

  test("S14 all five kinds of tokens count", async () => {
    for (const bucket of ["input", "cacheRead", "cacheWrite", "output", "reasoning"] as const) {
      const usage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0, unknownCalls: 0, [bucket]: 7 };
      const model = scripted(...Array.from({ length: 9 }, () => [call(), finish(usage)]));
      await using runtime = await open(make(), model, { budget: { turn: { tokens: 8 } } });
      const result = await (await runtime.session()).turn("Go.").result();
      expect(codeOf(result), bucket).toBe("limit.tokens");
      expect(result.usage[bucket], bucket).toBe(14);
      expect(model.requests, bucket).toHaveLength(2);
    }
  });

  test("S14 a turn that has spent its money ends before the next call", async () => {
    const model = worker();
    await using runtime = await open(make(), model, { budget: { turn: { cost: 2.5 * COST } }, prices: PRICES });
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.").result();
    expect(outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.money",
      text: "Round 1.\n\nRound 2.\n\nRound 3.",
    });
    expect(model.requests).toHaveLength(3);
    expect((await session.read()).cost).toBeCloseTo(3 * COST, 12);
  });

  test("S14 money without a price is not spent: the turn fails before the first call and names the model", async () => {
    const model = worker();
    await using runtime = await open(make(), model, {
      budget: { turn: { cost: 1 } },
      prices: { other: { input: 1, output: 1 } },
    });
    const session = await runtime.session();
    const { outcome, usage } = await session.turn("Go.").result();
    expect(outcome).toMatchObject({
      kind: "failed",
      by: "runtime",
      code: "price.unknown",
      reason: expect.stringContaining("scripted/test"),
    });
    expect(model.requests).toEqual([]);
    expect(usage).toEqual(times(0));
    expect((await session.read()).ledger).toEqual([]);
    await session.configure({ budget: { turn: { tokens: 20 } } });
    expect(codeOf(await session.turn("Go.").result())).toBe("limit.tokens");
  });

  test("S14 names that every object has are not prices", async () => {
    for (const name of ["constructor", "__proto__", "toString"]) {
      await using runtime = await running({
        store: make(),
        model: name as never,
        models: () => scripted(says("Hi.")),
        budget: { turn: { cost: 1 } },
        prices: {},
      } as never);
      expect(codeOf(await (await runtime.session()).turn("Go.").result()), name).toBe("price.unknown");
    }
  });

  test("S14 what is free costs nothing, however much it is", async () => {
    await using runtime = await open(make(), scripted(calls("work"), calls("work"), says("Done.")), {
      budget: { turn: { cost: 0.000001 } },
      prices: { "scripted/test": { input: 0, output: 0 } },
    });
    expect(codeOf(await (await runtime.session()).turn("Go.").result())).toBe("answered");
  });

  test("S10 each kind of token has its price, or that of its kind", async () => {
    const usage = { input: 1, cacheRead: 10, cacheWrite: 100, output: 1_000, reasoning: 10_000, unknownCalls: 0 };
    for (const [price, cost] of [
      [{ input: 1, output: 2 }, (111 + 22_000) / 1e6],
      [{ input: 1, output: 2, cacheRead: 0.5, cacheWrite: 3, reasoning: 1 }, (1 + 5 + 300 + 2_000 + 10_000) / 1e6],
      [{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0, reasoning: 0 }, (1 + 2_000) / 1e6],
    ] as const) {
      await using runtime = await open(make(), scripted([text("Hi."), finish(usage)]), {
        prices: { "scripted/test": price },
      });
      const session = await runtime.session();
      await session.turn("Go.").result();
      expect((await session.read()).cost).toBeCloseTo(cost, 12);
      expect((await runtime.sessions.usage(session.id)).cost).toBeCloseTo(cost, 12);
    }
  });

  test("S10 without a price for every model there is no cost, and each row with a price has its cost", async () => {
    const redirect = definePlugin({
      id: "a/redirect",
      setup: () => ({
        request: ({ request }) => (request.messages.length === 1 ? undefined : { ...request, model: "other" }),
      }),
    });
    await using runtime = await running({
      store: make(),
      model: "main" as never,
      models: (() => scripted(says("Hi."), says("Ho."))) as never,
      plugins: [redirect],
      prices: { main: { input: 1, output: 2 } },
    } as never);
    const session = await runtime.session();
    await session.turn("1").result();
    expect((await session.read()).cost).toBeCloseTo(COST, 12);
    await session.turn("2").result();
    expect((await session.read()).cost).toBeUndefined();
    const { cost, ledger, usage } = await runtime.sessions.usage(session.id);
    expect(cost).toBeUndefined();
    expect(usage).toEqual(times(2));
    expect(ledger).toEqual([
      {
        sessionId: session.id,
        source: "turn",
        model: "main",
        usage: PER_CALL,
        calls: 1,
        cost: expect.closeTo(COST, 12),
      },
      { sessionId: session.id, source: "turn", model: "other", usage: PER_CALL, calls: 1 },
    ]);
  });

  test("S14 a call that a plugin sends to another model is priced there: the session's own need not have a price", async () => {
    const redirect = definePlugin({
      id: "a/redirect",
      setup: () => ({ request: ({ request }) => ({ ...request, model: "cheap" }) }),
    });
    const model = worker();
    await using runtime = await running({
      store: make(),
      model: "dear" as never,
      models: (() => model) as never,
      tools: [work],
      plugins: [redirect],
      budget: { turn: { cost: 1.5 * COST } },
      prices: { cheap: { input: 1, output: 2 } },
    } as never);
    const session = await runtime.session();
    expect(codeOf(await session.turn("Go.").result())).toBe("limit.money");
    expect(model.requests).toHaveLength(2);
    expect((await session.read()).ledger).toEqual([{ source: "turn", model: "cheap", usage: times(2), calls: 2 }]);
  });

  test("S14 a call that a plugin sends to a model without a price is not made", async () => {
    const redirect = definePlugin({
      id: "a/r",
      setup: () => ({ request: ({ request }) => ({ ...request, model: "secret" }) }),
    });
    const model = worker();
    await using runtime = await running({
      store: make(),
      model: "main" as never,
      models: (() => model) as never,
      plugins: [redirect],
      budget: { turn: { cost: 1 } },
      prices: { main: { input: 1, output: 2 } },
    } as never);
    expect((await (await runtime.session()).turn("Go.").result()).outcome).toMatchObject({
      code: "price.unknown",
      reason: expect.stringContaining("secret"),
    });
    expect(model.requests).toEqual([]);
  });

  test("S14 completions of tools count in their turn's budget", async () => {
    const model = scripted(calls("think"), says("a"), says("b"), says("c"), calls("think"));
    await using runtime = await open(make(), model, { plugins: [thinker(3)], budget: { turn: { tokens: 50 } } });
    const session = await runtime.session();
    const result = await session.turn("Go.").result();
    expect(codeOf(result)).toBe("limit.tokens");
    expect(result.usage).toEqual(times(4));
    expect((await session.read()).ledger).toEqual([
      { source: "turn", model: "scripted/test", usage: times(1), calls: 1 },
      { source: "thinking", model: "scripted/test", usage: times(3), calls: 3 },
    ]);
  });

  test("S14 a completion is a model call too: a tool cannot spend more than its turn may", async () => {
    const model = scripted(calls("think"), ...Array.from({ length: 50 }, () => says("x")));
    await using runtime = await open(make(), model, { plugins: [thinker(20)], budget: { turn: { tokens: 50 } } });
    const result = await (await runtime.session()).turn("Go.").result();
    expect(model.requests.length).toBeLessThanOrEqual(4);
    expect(codeOf(result)).toBe("limit.tokens");
  });

  test("S14 S9 a direct completion is held to the tree's budget, and booked", async () => {
    const model = scripted(says("a"), says("b"), says("c"));
    await using runtime = await open(make(), model, { budget: { tree: { tokens: 16 } } });
    const session = await runtime.session("s");
    expect(await session.complete.text("1?", { label: "aside" })).toBe("a");
    expect(await session.complete.text("2?", { label: "aside" })).toBe("b");
    await expect(session.complete.text("3?", { label: "aside" })).rejects.toMatchObject({ code: "limit.tokens" });
    expect(model.requests).toHaveLength(2);
    expect(codeOf(await session.turn("Go.").result())).toBe("limit.tokens");
    expect((await session.read()).ledger).toEqual([
      { source: "aside", model: "scripted/test", usage: times(2), calls: 2 },
    ]);
  });

  test("S10 a completion of a tool that is tried again is asked for once, and booked once", async () => {
    let attempts = 0;
    const flaky = definePlugin({
      id: "a/flaky",
      version: "1",
      setup: ({ tool }) => ({
        tools: [
          tool({
            name: "think",
            description: "Thinks.",
            input: z.object({}),
            retry: { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 },
            execute: async (_, { complete }) => {
              const said = await complete.text("Well?", { label: "thinking" });
              if (++attempts < 3) throw retryable(new Error("Not yet."));
              return said;
            },
          }),
        ],
      }),
    });
    const model = scripted(calls("think"), says("a"), says("Done."));
    await using runtime = await open(make(), model, { plugins: [flaky] });
    const session = await runtime.session();
    const { outcome, usage } = await within(session.turn("Go.").result());
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(attempts).toBe(3);
    expect(usage).toEqual(times(3));
    expect((await session.read()).ledger).toEqual([
      { source: "turn", model: "scripted/test", usage: times(2), calls: 2 },
      { source: "thinking", model: "scripted/test", usage: times(1), calls: 1 },
    ]);
  });

  test("S14 attempts that failed are in the ledger as calls of unknown cost, once, and the call counts once", async () => {
    const busy = new ProviderFailure({ class: "overloaded", message: "Too much.", retryAfterMs: 1 });
    const cutOff = new ProviderFailure({ class: "network", message: "Gone.", retryAfterMs: 1 });
    const model = scripted(busy, cutOff, both(says("One."), calls("work")), busy, says("Two."));
    const budget = { turn: { tokens: 1_000 } };
    await using runtime = await runningQuickly({ tools: [work], store: make(), model, budget });
    const session = await runtime.session();
    const result = await within(session.turn("Go.").result(), 4_000);
    expect(result.outcome).toMatchObject({ kind: "answered", text: "Two." });
    const unknown = { unknownCalls: 1, estimatedInput: expect.any(Number) };
    expect(result.usage).toEqual({ ...times(2), ...unknown });
    expect((await session.read()).ledger).toEqual([
      { source: "turn", model: "scripted/test", usage: { ...times(2), ...unknown }, calls: 2 },
    ]);
  });

  test.each<[string, Budget, string]>([
    ["the turn's tokens", { turn: { tokens: 5 } }, "limit.tokens"],
    ["the turn's money", { turn: { cost: 0.000_001 } }, "limit.money"],
    ["the tree's tokens", { tree: { tokens: 5 } }, "limit.tokens"],
    ["calls of unknown usage", { unknown: "stop" }, "limit.usage-unknown"],
  ])(
    "S14 the budget is checked before each attempt: a failed attempt that used up %s is not retried",
    async (_what, budget, code) => {
      const gone = new ProviderFailure({ class: "network", message: "Gone.", retryAfterMs: 1 });
      let asked = 0;
      const model: Provider = {
        ...scripted(),
        async *stream() {
          asked++;
          yield text("Half an");
          throw gone;
        },
      };
      await using runtime = await runningQuickly({ store: make(), model, budget, prices: PRICES });
      const session = await runtime.session();
      const { outcome, usage } = await within(session.turn("Go.").result());
      expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code, text: "Half an" });
      expect(asked).toBe(1);
      expect(usage).toMatchObject({ unknownCalls: 1, estimatedInput: expect.any(Number) });
      expect((await session.read()).ledger).toEqual([{ source: "turn", model: "scripted/test", usage, calls: 1 }]);
    },
  );

  test("S14 a completion whose failed attempt used up the budget is not retried, and the attempt is booked", async () => {
    const gone = new ProviderFailure({ class: "network", message: "Gone.", retryAfterMs: 1 });
    const model = scripted(gone, says("Never asked."));
    await using runtime = await runningQuickly({ store: make(), model, budget: { tree: { tokens: 5 } } });
    const session = await runtime.session();
    await expect(session.complete.text("Go.", { label: "aside" })).rejects.toMatchObject({ code: "limit.tokens" });
    expect(model.requests).toHaveLength(1);
    expect((await session.read()).ledger).toMatchObject([{ source: "aside", usage: { unknownCalls: 1 }, calls: 1 }]);
  });

  test("S14 an attempt that was not billed is retried within the smallest budget", async () => {
    const busy = new ProviderFailure({ class: "overloaded", message: "Too much.", retryAfterMs: 1 });
    const model = scripted(busy, says("Done."));
    const budget: Budget = { turn: { tokens: 1 }, unknown: "stop" };
    await using runtime = await runningQuickly({ store: make(), model, budget });
    expect(codeOf(await within((await runtime.session()).turn("Go.").result()))).toBe("answered");
  });

  // ── Whose budget ──────────────────────────────────────────────────────────────────────────────────────────────────

  test("S14 a session's budget replaces the runtime's budget, and can be removed again", async () => {
    const model = worker();
    await using runtime = await open(make(), model, { budget: { turn: { tokens: 1 } } });
    const session = await runtime.session("s", { config: { budget: { turn: { tokens: 31 } } } });
    const asked = async () => {
      const before = model.requests.length;
      await session.turn("Go.").result();
      return model.requests.length - before;
    };
    expect(await asked()).toBe(3);
    expect((await session.read()).config.budget).toEqual({ turn: { tokens: 31 } });
    await session.configure({ budget: { turn: { tokens: 16 } } });
    expect(await asked()).toBe(2);
    await session.configure({ budget: undefined });
    expect((await session.read()).config.budget).toEqual({ turn: { tokens: 1 } });
    expect(await asked()).toBe(1);
  });

  test("S14 a turn keeps the budget that it began with", async () => {
    const [began, go] = [signalOf(), signalOf()];
    const slow = defineTool({
      name: "work",
      description: "Works.",
      input: { type: "object" },
      execute: async () => {
        began.resolve();
        await go.promise;
        return "worked";
      },
    });
    const model = worker();
    await using runtime = await running({ store: make(), model, tools: [slow], budget: { turn: { tokens: 31 } } });
    const session = await runtime.session();
    const turn = session.turn("Go.");
    await within(began.promise);
    const changed = session.configure({ budget: { turn: { tokens: 1 } } });
    go.resolve();
    await turn.result();
    expect(model.requests).toHaveLength(3);
    await changed;
    await session.turn("Again.").result();
    expect(model.requests).toHaveLength(4);
  });

  const WRONG: readonly (readonly [string, unknown])[] = [
    ["text", "much"],
    ["null", null],
    ["a number", 5],
    ["a list", []],
    ["a turn of text", { turn: "5" }],
    ["a turn of null", { turn: null }],
    ["no tokens", { turn: { tokens: 0 } }],
    ["negative tokens", { turn: { tokens: -1 } }],
    ["NaN", { turn: { tokens: NaN } }],
    ["tokens as text", { turn: { tokens: "10" } }],
    ["tokens of null", { turn: { tokens: null } }],
    ["no money", { tree: { cost: 0 } }],
    ["negative money", { tree: { cost: -0.1 } }],
    ["a keepsAnswer that is not a boolean", { keepsAnswer: 1 }],
    ["an unknown that is none", { unknown: "ignore" }],
  ];
  test.each(WRONG)("S14 a wrong budget is refused wherever it is given, with its type: %s", async (_what, budget) => {
    const wrong = budget as Budget;
    await expect(open(make(), worker(), { budget: wrong })).rejects.toMatchObject({ code: "options.invalid" });
    await using runtime = await open(make(), worker());
    await expect(runtime.session("a", { config: { budget: wrong } })).rejects.toMatchObject({
      code: "options.invalid",
    });
    const session = await runtime.session("b");
    await expect(session.configure({ budget: wrong })).rejects.toMatchObject({ code: "options.invalid" });
    expect((await session.read()).config.budget).toBeUndefined();
  });

  test.each([
    ["null", null],
    ["a list", []],
    ["a price of null", { m: null }],
    ["a price without output", { m: { input: 1 } }],
    ["a negative price", { m: { input: -1, output: 1 } }],
    ["NaN", { m: { input: NaN, output: 1 } }],
    ["text", { m: { input: "1", output: 1 } }],
    ["a wrong bucket", { m: { input: 1, output: 1, cacheRead: -1 } }],
    ["infinity", { m: { input: Infinity, output: 1 } }],
  ])("S10 a wrong price table is refused with a type: %s", async (_what, prices) => {
    await expect(open(make(), worker(), { prices: prices as never })).rejects.toMatchObject({
      code: "options.invalid",
      details: { option: expect.stringMatching(/^prices/) },
    });
  });

  // ── The last round ────────────────────────────────────────────────────────────────────────────────────────────────

  /** Works as long as it may, then answers. */
  const obedient = (answer: (request: ModelRequest) => readonly ModelPart[] = () => says("This is what I have.")) =>
    scripted(
      ...Array.from(
        { length: 20 },
        (_, n) => (request: ModelRequest) =>
          request.toolChoice === undefined
            ? both(says(`Round ${n + 1}.`), calls("work", {}, `c${n}`))
            : answer(request),
      ),
    );

  test("S14 the last round is kept for an answer: the model reads it, has no choice of tools, and answers", async () => {
    const model = obedient();
    await using runtime = await open(make(), model, { limits: { roundsMax: 3 }, budget: { keepsAnswer: true } });
    const session = await runtime.session();
    expect((await session.turn("Go.").result()).outcome).toMatchObject({
      kind: "answered",
      text: "This is what I have.",
    });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined, "none"]);
    const last = model.requests[2]!;
    expect(last.tools.map(({ name }) => name)).toEqual(["work"]); // What was cached still fits.
    expect(wordsOf(last.messages.at(-1))).toContain("last round");
    expect(last.messages.slice(0, -1)).toEqual((await session.read()).messages.slice(0, -1));
    expect(outline((await session.read()).messages).filter((line) => line.includes("last round"))).toEqual([]);
  });

  test("S14 without it the limit is reached in the middle of work, and the outcome has what was said", async () => {
    const model = obedient();
    await using runtime = await open(make(), model, { limits: { roundsMax: 3 } });
    expect((await (await runtime.session()).turn("Go.").result()).outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.rounds",
      text: "Round 1.\n\nRound 2.\n\nRound 3.",
    });
  });

  test("S14 with a typed output the last round is for handing it in", async () => {
    const model = obedient(() => calls("submit_output", { kinds: 9 }));
    await using runtime = await open(make(), model, { limits: { roundsMax: 2 }, budget: { keepsAnswer: true } });
    const { outcome } = await (await runtime.session())
      .turn("Go.", { output: z.object({ kinds: z.number() }) })
      .result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { kinds: 9 } });
    expect(model.requests[1]?.toolChoice).toEqual({ name: "submit_output" });
    expect(wordsOf(model.requests[1]?.messages.at(-1))).toContain("submit_output"); // And not only that no tool may be called.
  });

  test("S14 an invalid output that is handed in in the last round is reported as invalid", async () => {
    const model = obedient(() => calls("submit_output", { kinds: "nine" }));
    await using runtime = await open(make(), model, { limits: { roundsMax: 2 }, budget: { keepsAnswer: true } });
    const { outcome } = await (await runtime.session())
      .turn("Go.", { output: z.object({ kinds: z.number() }) })
      .result();
    expect(outcome).toMatchObject({
      text: "Round 1.",
      code: expect.stringMatching(/^(limit\.rounds|output\.invalid)$/),
    });
  });

  test("S14 a model that calls a tool in the last round all the same is not obeyed", async () => {
    let ran = 0;
    const counted = defineTool({
      name: "work",
      description: "Works.",
      input: { type: "object" },
      execute: () => `${++ran}`,
    });
    const model = worker();
    await using runtime = await running({
      store: make(),
      model,
      tools: [counted],
      limits: { roundsMax: 2 },
      budget: { keepsAnswer: true },
    });
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.rounds", text: "Round 1.\n\nRound 2." });
    expect(ran).toBe(1);
    expect(outline((await session.read()).messages).filter((line) => line.startsWith("work "))).toHaveLength(2);
  });

  test("S14 of a reply that hands in the output in the last round nothing else is done", async () => {
    let ran = 0;
    const counted = defineTool({
      name: "work",
      description: "Works.",
      input: { type: "object" },
      execute: () => `${++ran}`,
    });
    const model = scripted(both(calls("work"), calls("submit_output", { kinds: 9 })));
    await using runtime = await running({
      store: make(),
      model,
      tools: [counted],
      limits: { roundsMax: 1 },
      budget: { keepsAnswer: true },
    });
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.", { output: z.object({ kinds: z.number() }) }).result();
    expect(outcome).toEqual({ kind: "finished", by: "model", value: { kinds: 9 } });
    expect(ran).toBe(0);
    const results = outline((await session.read()).messages).filter((line) => /^(work|submit_output) /.test(line));
    expect(results).toHaveLength(2);
  });

  test("S14 a turn of one round has nothing but its answer", async () => {
    const model = obedient();
    await using runtime = await open(make(), model, { limits: { roundsMax: 1 }, budget: { keepsAnswer: true } });
    expect((await (await runtime.session()).turn("Go.").result()).outcome).toMatchObject({
      kind: "answered",
      text: "This is what I have.",
    });
    expect(model.requests).toHaveLength(1);
  });

  test("S14 a turn that answers before its last round is not told of it", async () => {
    const model = scripted(calls("work"), says("Done."));
    await using runtime = await open(make(), model, { limits: { roundsMax: 3 }, budget: { keepsAnswer: true } });
    expect(codeOf(await (await runtime.session()).turn("Go.").result())).toBe("answered");
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, undefined]);
  });

  test("S14 an input that comes in the last round that is kept for the answer is the next turn", async () => {
    let session: Session | undefined;
    let isSent = false;
    const inner = obedient();
    const model: Provider = {
      ...inner,
      async *stream(request, options) {
        if (request.toolChoice === "none" && !isSent) {
          isSent = true;
          await session?.send("One more thing.");
        }
        yield* inner.stream(request, options);
      },
    };
    await using runtime = await open(make(), model, { limits: { roundsMax: 2 }, budget: { keepsAnswer: true } });
    session = await runtime.session();
    expect((await session.turn("Go.").result()).outcome).toMatchObject({
      kind: "answered",
      text: "This is what I have.",
    });
    await session.turn("Last.").result();
    const said = (await session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);
    expect(said).toEqual(["Go.", "One more thing.", "Last."]);
  });

  test("S14 S8 frame switches have a limit, and its outcome has what was said", async () => {
    const next = defineTool({
      name: "next",
      description: "Next.",
      input: { type: "object" },
      execute: () => switchFrame("Go on.") as never,
    });
    const model = scripted(
      ...Array.from({ length: 9 }, (_, n) => both(says(`Frame ${n + 1}.`), calls("next", {}, `c${n}`))),
    );
    await using runtime = await running({ store: make(), model, tools: [next], limits: { framesMax: 2 } });
    expect((await (await runtime.session()).turn("Go.").result()).outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.frames",
      text: "Frame 1.\n\nFrame 2.\n\nFrame 3.",
    });
  });

  test("S14 rounds in which nothing succeeds have a limit, and its outcome has what was said", async () => {
    const failing = defineTool({
      name: "work",
      description: "Fails.",
      input: { type: "object" },
      execute: () => {
        throw new Error("No.");
      },
    });
    await using runtime = await running({
      store: make(),
      model: worker(),
      tools: [failing],
      limits: { noProgressMax: 2 },
    });
    expect((await (await runtime.session()).turn("Go.").result()).outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.no-progress",
      text: "Round 1.\n\nRound 2.",
    });
  });

  // ── Trees ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S14 a tree's tokens are spent by all that descend from its root, before anything of it is committed", async () => {
    const model = tree({ parent: ["delegate", "delegate"], child: 3 });
    await using runtime = await running({
      store: make(),
      model,
      tools: [work],
      plugins: [household()],
      budget: { tree: { tokens: 50 } },
    });
    const session = await runtime.session("root");
    const result = await within(session.turn("Delegate.").result());
    // 15 of the root, 45 of its child: the root may not ask again.
    expect(result.outcome).toMatchObject({
      kind: "stopped",
      by: "limit",
      code: "limit.tokens",
      reason: expect.stringContaining("tree"),
    });
    expect(model.asked).toEqual(["root", "child-1", "child-1", "child-1"]);
    expect(await runtime.sessions.get("child-1")).toMatchObject({ usage: times(3) });
    expect(result.usage).toEqual(times(1));
    const { usage, ledger } = await runtime.sessions.usage("root");
    expect(usage).toEqual(times(4));
    expect(ledger.map(({ sessionId, calls: asked }) => [sessionId, asked]).sort()).toEqual([
      ["child-1", 3],
      ["root", 1],
    ]);
  });

  test("S14 a child is stopped by the spending of its tree, and its parent is notified", async () => {
    const model = tree({ parent: ["delegate"], child: 9 });
    await using runtime = await running({
      store: make(),
      model,
      tools: [work],
      plugins: [household()],
      budget: { tree: { tokens: 40 } },
    });
    const session = await runtime.session("root");
    await within(session.turn("Delegate.").result());
    expect(model.asked).toEqual(["root", "child-1", "child-1"]);
    expect(outline((await session.read()).messages)).toContain("delegate ok: stopped limit.tokens");
  });

  test("S14 what the tree spent in earlier turns counts, also in one of the second runtime's", async () => {
    const store = make();
    const model = tree({ parent: ["delegate"], child: 1 });
    const options = { model, tools: [work], plugins: [household()], budget: { tree: { tokens: 46 } } };
    await using runtime = await running({ store, ...options });
    const session = await runtime.session("root");
    expect(codeOf(await within(session.turn("Delegate.").result()))).toBe("answered"); // 15 + 15 + 15
    const second = await running({ store, ...options });
    const there = await second.session("root");
    expect(codeOf(await within(there.turn("Hi.").result()))).toBe("answered"); // 45 < 46
    const { outcome } = await within(session.turn("Hi again.").result());
    expect(outcome).toMatchObject({
      code: "limit.tokens",
      reason: expect.stringContaining("has used 60 tokens, and its budget is 46"),
    });
  });

  test("S14 a child with a separate budget is still bound by its tree's budget", async () => {
    const model = tree({ parent: ["delegate"], child: 9 });
    const plugins = [household({ config: { budget: { turn: { tokens: 1_000 } } } })];
    await using runtime = await running({ store: make(), model, tools: [work], plugins });
    const session = await runtime.session("root", { config: { budget: { tree: { tokens: 40 } } } });
    await within(session.turn("Delegate.").result());
    expect(model.asked).toEqual(["root", "child-1", "child-1"]);
  });

  test('S14 a child is held to the `unknown: "stop"` of a session above it', async () => {
    const inner = tree({ parent: ["delegate"], child: 9 });
    const model: Provider = {
      ...inner,
      async *stream(...given) {
        for await (const part of inner.stream(...given) as AsyncIterable<ModelPart>)
          yield part.kind === "finish" && inner.asked.at(-1) !== "root"
            ? { kind: "finish", reason: part.reason }
            : part;
      },
    };
    const plugins = [household({ config: { budget: { turn: { tokens: 100_000 } } } })];
    await using runtime = await running({ store: make(), model, tools: [work], plugins });
    const session = await runtime.session("root", { config: { budget: { unknown: "stop" } } });
    await within(session.turn("Delegate.").result());
    expect(inner.asked).toEqual(["root", "child-1", "root"]);
    expect(outline((await session.read()).messages)).toContain("delegate ok: stopped limit.usage-unknown");
  });

  test("S14 a tree's budget that its root is given later, or that is changed, holds for the children that are there", async () => {
    const model = tree({ parent: ["delegate"], child: 1 });
    await using runtime = await running({ store: make(), model, tools: [work], plugins: [household()] });
    const session = await runtime.session("root");
    await within(session.turn("Delegate.").result());
    await session.configure({ budget: { tree: { tokens: 45 } } });
    const child = await runtime.session("child-1");
    expect(codeOf(await within(child.turn("Work 1").result()))).toBe("limit.tokens");
    await session.configure({ budget: { tree: { tokens: 46 } } });
    expect(codeOf(await within(child.turn("Work 1").result()))).toBe("answered");
  });

  test("S14 the allowance of a child's own tree is not touched by what is above or beside it", async () => {
    const model = tree({ parent: ["delegate"], child: 3 });
    const plugins = [household({ config: { budget: { tree: { tokens: 40 } } } })];
    await using runtime = await running({ store: make(), model, tools: [work], plugins });
    const session = await runtime.session("root");
    await within(session.turn("Hello.").result());
    await within(session.turn("Hello.").result());
    await within(session.turn("Hello.").result());
    await within(session.turn("Delegate.").result());
    expect(model.asked.filter((who) => who === "child-1")).toHaveLength(3);
  });

  test("S14 a root with a separate budget is not bound by the runtime's budget, nor are its children", async () => {
    const model = tree({ parent: ["delegate"], child: 3 });
    const budget = { tree: { tokens: 16 } };
    await using runtime = await running({ store: make(), model, tools: [work], plugins: [household()], budget });
    const session = await runtime.session("root", { config: { budget: { turn: { tokens: 1_000 } } } });
    expect(codeOf(await within(session.turn("Delegate.").result()))).toBe("answered");
    expect(model.asked).toEqual(["root", "child-1", "child-1", "child-1", "root"]);
  });

  test("S14 S10 children that work beside each other share the tree's tokens, and each is booked once", async () => {
    const beside = both(...[1, 2, 3].map((n) => calls("delegate", { child: `child-${n}` }, `d${n}`)));
    const inner = tree({ parent: [], child: 9 });
    const model: Provider = {
      ...inner,
      async *stream(...given) {
        const isFirst = wordsOf(given[0].messages[0]) === "Delegate." && given[0].messages.length === 1;
        if (isFirst) yield* beside;
        else yield* inner.stream(...given);
      },
    };
    const budget = { tree: { tokens: 100 } };
    await using runtime = await running({ store: make(), model, tools: [work], plugins: [household()], budget });
    const session = await runtime.session("root");
    expect(codeOf(await within(session.turn("Delegate.").result()))).toBe("limit.tokens");
    const { usage, ledger } = await runtime.sessions.usage("root");
    const spent = usage.input + usage.output;
    expect(spent).toBeGreaterThanOrEqual(100);
    expect(spent).toBeLessThan(100 + 3 * CALL); // Each looks before its call, and those that look at once all make theirs.
    expect(ledger.reduce((sum, row) => sum + row.usage.input + row.usage.output, 0)).toBe(spent);
    const children = await Promise.all([1, 2, 3].map((n) => runtime.sessions.get(`child-${n}`)));
    expect(children.reduce((sum, child) => sum + child.usage.input + child.usage.output, 0)).toBe(spent - CALL);
  });

  test("S14 grandchildren are held to it too", async () => {
    const model = tree({ parent: ["delegate"], child: 0, delegates: true });
    await using runtime = await running({
      store: make(),
      model,
      tools: [work],
      plugins: [household()],
      limits: { roundsMax: 4 },
    });
    const session = await runtime.session("root", { config: { budget: { tree: { tokens: 50 } } } });
    await within(session.turn("Delegate.").result());
    const { usage, ledger } = await runtime.sessions.usage("root");
    expect(usage.input + usage.output).toBe(60);
    expect(new Set(ledger.map(({ sessionId }) => sessionId)).size).toBe(4);
    expect((await runtime.sessions.usage("child-1")).usage).toEqual(times(3)); // Its own and what descends from it.
  });

  test("S14 a child whose commit is known and whose observers are not done is counted once", async () => {
    const [persisted, go] = [signalOf(), signalOf()];
    const slow = definePlugin({
      id: "a/slow",
      setup: ({ session }) => ({
        lifecycle: async ({ event }) => {
          if (event.kind !== "turnPersisted" || session.isRoot) return;
          persisted.resolve();
          await go.promise;
        },
      }),
    });
    const sending = household({ waits: persisted.promise });
    const model = tree({ parent: ["delegate"], child: 1 });
    await using runtime = await running({
      store: make(),
      model,
      tools: [work],
      plugins: [sending, slow],
      budget: { tree: { tokens: 40 } },
    });
    const session = await runtime.session("root");
    const { outcome } = await within(session.turn("Delegate.").result());
    go.resolve();
    expect(outcome).toMatchObject({ kind: "answered" }); // 15 and 15 are spent, not 45.
  });

  test("S14 a tree's money has a limit, and a model without a price anywhere in it is reported", async () => {
    const model = tree({ parent: ["delegate", "delegate"], child: 3 });
    const base = { tools: [work], plugins: [household()], budget: { tree: { cost: 3.5 * COST } } };
    await using runtime = await running({
      store: make(),
      model,
      ...base,
      prices: { "tree/test": { input: 1, output: 2 } },
    });
    expect((await within((await runtime.session("root")).turn("Delegate.").result())).outcome).toMatchObject({
      code: "limit.money",
      reason: expect.stringContaining("tree"),
    });
    expect(model.asked).toHaveLength(4);
    await using other = await running({
      store: make(),
      model: tree({ parent: ["delegate"], child: 1 }),
      ...base,
      prices: {},
    });
    expect(codeOf(await within((await other.session("root")).turn("Delegate.").result()))).toBe("price.unknown");
  });

  test("S14 a wrong budget of a child is refused where it is made", async () => {
    const plugins = [household({ config: { budget: { tree: { tokens: "many" } } } as never })];
    await using runtime = await running({
      store: make(),
      model: tree({ parent: ["delegate"], child: 1 }),
      tools: [work],
      plugins,
    });
    const session = await runtime.session("root");
    await within(session.turn("Delegate.").result());
    expect(outline((await session.read()).messages)[2]).toMatch(/^delegate failed: .*(options\.invalid|budget)/);
  });

  // ── The ledger ────────────────────────────────────────────────────────────────────────────────────────────────────

  test("S10 the ledger has a row for each source and model, and its rows add up to the usage, whatever happened", async () => {
    const model = scripted(
      calls("think"),
      says("a"),
      new ProviderFailure({ class: "overloaded", message: "Busy.", retryAfterMs: 1 }),
      says("b"),
      says("Done."),
      says("Direct."),
      says("Two."),
    );
    await using runtime = await open(make(), model, { plugins: [thinker(2)], prices: PRICES });
    const session = await runtime.session("s");
    const first = await within(session.turn("Go.").result());
    expect(await session.complete.text("Hm?", { label: "aside" })).toBe("Direct.");
    const second = await session.turn("Again.").result();
    expect([first.usage, second.usage]).toEqual([times(4), times(1)]);
    const { usage, ledger, cost } = await session.read();
    expect(ledger).toEqual([
      { source: "turn", model: "scripted/test", usage: times(3), calls: 3 },
      { source: "thinking", model: "scripted/test", usage: times(2), calls: 2 },
      { source: "aside", model: "scripted/test", usage: times(1), calls: 1 },
    ]);
    expect(usage).toEqual(times(6));
    expect(cost).toBeCloseTo(6 * COST, 12);
    const all = await runtime.sessions.usage("s");
    expect(all).toEqual({
      usage,
      cost: expect.closeTo(6 * COST, 12),
      ledger: ledger.map((row) => ({ sessionId: "s", ...row, cost: expect.closeTo(row.calls * COST, 12) })),
    });
  });

  test("S10 a fork begins with nothing spent, and its origin's tree is not charged for it", async () => {
    await using runtime = await open(make(), scripted(says("One."), says("Two.")), { prices: PRICES });
    const session = await runtime.session("s");
    await session.turn("1").result();
    const fork = await session.fork({ id: "f" });
    expect(await fork.read()).toMatchObject({ usage: times(0), ledger: [], cost: 0 });
    await fork.turn("2").result();
    expect((await runtime.sessions.usage("s")).usage).toEqual(times(1));
    expect((await runtime.sessions.usage("f")).usage).toEqual(times(1));
  });

  test("S10 the usage of a session that is not there is a typed error", async () => {
    await using runtime = await open(make(), worker());
    for (const id of ["nobody", "", undefined, null, 7])
      await expect(runtime.sessions.usage(id as never)).rejects.toMatchObject({
        code: expect.stringMatching(/^session\./),
      });
  });

  test("S10 a session that has spent nothing has cost nothing", async () => {
    await using runtime = await open(make(), worker());
    const session = await runtime.session("s");
    expect(await session.read()).toMatchObject({ ledger: [], cost: 0, usage: times(0) });
    expect(await runtime.sessions.usage("s")).toEqual({ usage: times(0), cost: 0, ledger: [] });
  });
});

const call = (): ModelPart => ({ kind: "call", callId: "call_work" as never, name: "work", input: {} });
const finish = (usage: Usage): ModelPart => ({ kind: "finish", reason: "stop", usage });

/** A tool that thinks so many times, each time with a completion of its own. */
const thinker = (thoughts: number) =>
  definePlugin({
    id: "a/thinker",
    version: "1",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "think",
          description: "Thinks.",
          input: z.object({}),
          execute: async (_, { complete }) => {
            const said = [];
            for (let n = 0; n < thoughts; n++) said.push(await complete.text(`Thought ${n}?`, { label: "thinking" }));
            return said.join("");
          },
        }),
      ],
    }),
  });

/** Makes a child for each call, lets it work, and waits for it. */
const household = ({ config, waits }: { readonly config?: object; readonly waits?: Promise<void> } = {}) =>
  definePlugin({
    id: "a/household",
    version: "1",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "delegate",
          description: "Lets a child do it.",
          input: z.object({ child: z.string() }),
          execute: async ({ child }, { sessions, idempotencyKey }) => {
            await sessions.create({
              kind: "child",
              id: child,
              ifExists: "take",
              ...(config === undefined ? {} : { config }),
            });
            const { turnId } = await sessions.send(child, "Work.", { key: idempotencyKey });
            if (waits !== undefined) {
              await waits;
              return "under way";
            }
            const { outcome } = await sessions.result(child, turnId);
            return "code" in outcome ? `${outcome.kind} ${outcome.code}` : outcome.kind;
          },
        }),
      ],
    }),
  });

/** Plays a family: the root delegates as told, a child works for so many rounds. Who is asked is known by what it was told first. */
function tree({
  parent,
  child,
  delegates = false,
}: {
  readonly parent: readonly string[];
  readonly child: number;
  readonly delegates?: boolean;
}): Provider & { readonly asked: readonly string[] } {
  const who: string[] = [];
  let children = 0;
  const names = new Map<string, string>();
  return {
    id: "tree",
    modelId: "test",
    asked: who,
    async *stream({ messages }) {
      const isChild = wordsOf(messages[0]).startsWith("Work");
      const started = messages.findLastIndex(({ role, origin }) => role === "user" && origin?.kind === "input");
      const rounds = messages.slice(started).filter(({ role }) => role === "assistant").length;
      const key = messages[0]?.id ?? "";
      if (isChild && !names.has(key)) names.set(key, `child-${names.size + 1}`);
      who.push(isChild ? (names.get(key) ?? "") : "root");
      const wants = wordsOf(messages[started]);
      if (!isChild && wants.startsWith("Delegate") && rounds < parent.length)
        yield* calls("delegate", { child: `child-${++children}` }, `d${rounds}`);
      else if (isChild && delegates && rounds === 0)
        yield* calls("delegate", { child: `child-${++children}` }, `d${rounds}`);
      else if (isChild && rounds < child - 1) yield* calls("work", {}, `w${rounds}`);
      else yield* says("Done.");
    },
  };
}

// ── The next process ──────────────────────────────────────────────────────────────────────────────────────────────────

describe("S14 S10 D2 in the next process", () => {
  /** Without a memory of its own: it works until it is told that it cannot. */
  const tireless = (
    hangs: (round: number) => Promise<void> | undefined = () => undefined,
  ): Provider & { asks: number } => {
    const model = {
      id: "tireless",
      modelId: "test",
      asks: 0,
      async *stream({ messages, toolChoice }: ModelRequest): AsyncIterable<ModelPart> {
        model.asks++;
        const round = messages.filter(({ role }) => role === "assistant").length + 1;
        await hangs(round);
        yield text(toolChoice === "none" ? "Answer." : `Round ${round}.`);
        if (toolChoice !== "none") yield { kind: "call", callId: `c${round}` as never, name: "work", input: {} };
        yield finish(PER_CALL);
      },
    };
    return model;
  };
  const hanging = (at: number) => {
    const reached = signalOf();
    return {
      reached: reached.promise,
      at: (round: number) => {
        if (round !== at) return undefined;
        reached.resolve();
        return new Promise<void>(() => {});
      },
    };
  };

  test.each(["turn", "tree"] as const)(
    "S14 what was spent of the %s before the crash is spent after it, and the call that was killed is estimated",
    async (of) => {
      const lives = lifetimes();
      const options = { tools: [work], budget: { [of]: { tokens: 60 } } };
      const stop = hanging(3);
      const first = await lives.next({ ...options, model: tireless(stop.at) });
      (await first.runtime.session("s")).turn("Go.", { key: "k" });
      await within(stop.reached);
      lives.kill();
      const model = tireless();
      const second = await lives.next({ ...options, model });
      const session = await second.runtime.session("s");
      const { outcome, usage } = await within(session.turn("Go.", { key: "k" }).result());
      expect(outcome).toMatchObject({ code: "limit.tokens", text: "Round 1.\n\nRound 2.\n\nRound 3." });
      expect(model.asks).toBe(1); // The one that was under way: what it may have cost is more than what was left.
      expect(usage).toEqual({ ...times(3), unknownCalls: 1, estimatedInput: expect.any(Number) });
      expect((await session.read()).ledger).toEqual([{ source: "turn", model: "tireless/test", usage, calls: 3 }]);
      await second.runtime.close();
    },
  );

  test("S14 a resumed turn has the budget that it began with, not the budget of the next process", async () => {
    const lives = lifetimes();
    const stop = hanging(2);
    const first = await lives.next({ tools: [work], budget: { turn: { tokens: 40 } }, model: tireless(stop.at) });
    (await first.runtime.session("s")).turn("Go.", { key: "k" });
    await within(stop.reached);
    lives.kill();
    const model = tireless();
    const second = await lives.next({ tools: [work], budget: { turn: { tokens: 1 } }, model });
    const session = await second.runtime.session("s");
    expect((await within(session.turn("Go.", { key: "k" }).result())).outcome).toMatchObject({
      reason: expect.stringContaining("tokens, and its budget is 40"),
    });
    expect(model.asks).toBe(1);
    await second.runtime.close();
  });

  test("S14 the round that is kept for the answer is so for the next process too", async () => {
    const lives = lifetimes();
    const options = { tools: [work], budget: { keepsAnswer: true }, limits: { roundsMax: 3 } };
    const stop = hanging(3);
    const first = await lives.next({ ...options, model: tireless(stop.at) });
    (await first.runtime.session("s")).turn("Go.", { key: "k" });
    await within(stop.reached);
    lives.kill();
    const second = await lives.next({ ...options, model: tireless() });
    const session = await second.runtime.session("s");
    expect((await within(session.turn("Go.", { key: "k" }).result())).outcome).toMatchObject({
      kind: "answered",
      text: "Answer.",
    });
    await second.runtime.close();
  });

  test("S10 a completion that was noted before the crash is booked once, and counts once", async () => {
    const lives = lifetimes();
    const asked: string[] = [];
    const hangs = signalOf();
    let isFirst = true;
    const model = (): Provider => ({
      id: "thinking",
      modelId: "test",
      async *stream({ messages }) {
        const said = wordsOf(messages.at(-1));
        asked.push(said);
        if (said === "Thought 2?" && isFirst) {
          isFirst = false;
          hangs.resolve();
          await new Promise(() => {});
        }
        if (said === "Go.") yield* calls("think");
        else yield* says(said === "" ? "Done." : "x");
      },
    });
    const options = { plugins: [thinker(3)], budget: { turn: { tokens: 1_000 }, tree: { tokens: 1_000 } } };
    const first = await lives.next({ ...options, model: model() });
    (await first.runtime.session("s")).turn("Go.", { key: "k" });
    await within(hangs.promise);
    lives.kill();
    const second = await lives.next({ ...options, model: model() });
    const session = await second.runtime.session("s");
    const { outcome, usage } = await within(session.turn("Go.", { key: "k" }).result());
    expect(outcome.kind).toBe("answered");
    expect(asked.filter((said) => said.startsWith("Thought"))).toEqual([
      "Thought 0?",
      "Thought 1?",
      "Thought 2?",
      "Thought 2?",
    ]);
    expect(usage).toMatchObject({ input: 50, output: 25 });
    const { ledger } = await session.read();
    expect(ledger.map(({ source, calls: made, usage: spent }) => [source, made, spent.input])).toEqual([
      ["turn", 2, 20],
      ["thinking", 3, 30],
    ]);
    await second.runtime.close();
  });

  test("S14 a child that was under way at the crash is counted once in its tree", async () => {
    const lives = lifetimes();
    const options = { tools: [work], plugins: [household()], budget: { tree: { tokens: 10_000 } } };
    const stop = signalOf();
    const inner = tree({ parent: ["delegate"], child: 2 });
    let asks = 0;
    const hangingTree: Provider = {
      ...inner,
      async *stream(...given) {
        if (++asks === 3) {
          stop.resolve();
          await new Promise(() => {});
        }
        yield* inner.stream(...given);
      },
    };
    const first = await lives.next({ ...options, model: hangingTree });
    (await first.runtime.session("root")).turn("Delegate.", { key: "k" });
    await within(stop.promise);
    lives.kill();
    const second = await lives.next({ ...options, model: tree({ parent: ["delegate"], child: 2 }) });
    const session = await second.runtime.session("root");
    const { outcome } = await within(session.turn("Delegate.", { key: "k" }).result(), 4_000);
    expect(outcome.kind).toBe("answered");
    const { usage } = await second.runtime.sessions.usage("root");
    expect(usage).toMatchObject({ input: 40, output: 20 });
    await second.runtime.close();
  });
});

test("S14 S10 a second runtime on the same file is held to what the first has spent, and reads the same ledger", async () => {
  const path = file();
  const options = { tools: [work], budget: { tree: { tokens: 2 * CALL + 1 } }, prices: PRICES };
  const at = (): Promise<Runtime> =>
    running({
      ...options,
      store: sqlite(path, { durability: "process" }),
      model: scripted(says("One."), says("Two.")),
    });
  await using one = await at();
  await using two = await at();
  const [here, there] = [await one.session("s"), await two.session("s")];
  expect(codeOf(await here.turn("1").result())).toBe("answered");
  expect(codeOf(await there.turn("2").result())).toBe("answered");
  expect(codeOf(await here.turn("3").result())).toBe("answered");
  expect(codeOf(await there.turn("4").result())).toBe("limit.tokens");
  expect(await one.sessions.usage("s")).toEqual(await two.sessions.usage("s"));
  expect((await there.read()).cost).toBeCloseTo(3 * COST, 12);
});
