import { createRuntime, defineTool, type Model, type RuntimeOptions, type TelemetryEvent } from "bowline";
import { type LanguageModel, type ModelPart, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, cut, says, scripted, thinks } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aiSdk } from "../../src/providers/ai-sdk.ts";
import { aborted, call, end, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, seen, shown, wordsOf } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, runningQuickly } from "../kit/worlds.ts";
import { anthropic } from "../wire/anthropic.ts";
import { fake, finish, VERSIONS } from "../wire/fake.ts";
import { google } from "../wire/google.ts";
import { openai } from "../wire/openai.ts";
import { openaiCompatible } from "../wire/openai-compatible.ts";
import { bytesOf, serveWire } from "../wire/server.ts";

type FailureClass = ProviderFailure["class"];

/** A failure that may be tried again at once. */
const fails = (failure: FailureClass, retryAfterMs = 0) =>
  new ProviderFailure({ class: failure, message: `It failed as ${failure}.`, retryAfterMs });

// ── Attempts ────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S12 a rate limit is waited out, nothing is retracted, and nothing counts as billed", async () => {
  const model = scripted(fails("rate-limit", 5), fails("overloaded", 5), says("Hello."));
  await using runtime = await runningQuickly({ model });
  const turn = (await runtime.session()).turn("Hi.");
  const events = await eventsOf(turn);
  expect(events.map(({ kind }) => kind)).toEqual(["retrying", "retrying", "text", "committed"]);
  expect((await turn.result()).usage).toMatchObject({ input: 10, output: 5, unknownCalls: 0 });
  expect(model.requests).toHaveLength(3);
  expect(model.requests[2]).toEqual(model.requests[0]);
});

test("S12 a cut stream is tried again and retracts exactly what it had shown", async () => {
  const model = scripted(both(says("Let me see."), calls("look")), cut("Ni", "ne li"), says("Nine tigers."));
  const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "Nine." });
  await using world = await open(model, { tools: [look], limits: { throttleMs: 1 } });
  const turn = world.session.turn("How many?");
  const events = await eventsOf(turn);
  const retracted = only(events, "retracted");
  expect(retracted).toHaveLength(1);
  const void_ = only(events, "text").filter(({ key }) => JSON.stringify(key) === JSON.stringify(retracted[0]?.key));
  expect(void_.map(({ delta }) => delta)).toEqual(["Ni", "ne li"]);
  expect(only(events, "text").map(({ key }) => key.attempt)).toEqual([1, 1, 1, 2]);
  expect(shown(events)).toBe("Let me see.Nine tigers.");
  const { outcome, usage } = await turn.result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Nine tigers." });
  expect(usage).toMatchObject({ input: 20, output: 10, unknownCalls: 1 });
  expect(outline((await world.session.read()).messages)).not.toContain("assistant: Nine li");
});

const RETRIED: readonly FailureClass[] = ["rate-limit", "overloaded", "server", "network", "timeout", "stream"];
const FINAL: readonly FailureClass[] = [
  "auth",
  "input",
  "unsupported",
  "context-overflow",
  "setup",
  "request",
  "unknown",
];

test.each(RETRIED)("S12 a failure of class %s is tried again", async (failure) => {
  const model = scripted(fails(failure), says("Hello."));
  await using world = await open(model);
  expect((await world.session.turn("Hi.").result()).outcome).toMatchObject({ kind: "answered", text: "Hello." });
});

test.each(FINAL)("S12 a failure of class %s is final at the first attempt", async (failure) => {
  const model = scripted(fails(failure), says("Never."));
  await using world = await open(model);
  expect((await world.session.turn("Hi.").result()).outcome.kind).toMatch(/failed|stopped/);
  expect(model.requests).toHaveLength(1);
});

test("S12 a provider may say itself whether trying again helps", async () => {
  const hopeless = new ProviderFailure({ class: "rate-limit", message: "No credit.", isRetryable: false });
  const model = scripted(hopeless, says("Never."));
  await using world = await open(model);
  expect((await world.session.turn("Hi.").result()).outcome).toMatchObject({ kind: "failed", by: "provider" });
  expect(model.requests).toHaveLength(1);
});

test("S12 attempts are limited; the words of the last one are kept, those of the others retracted", async () => {
  const model = plays(
    ...["One", "Two", "Three"].map(
      (words) =>
        async function* () {
          yield text(words);
          throw fails("network");
        },
    ),
  );
  await using world = await open(model, { limits: { modelAttemptsMax: 3 } });
  const turn = world.session.turn("Hi.");
  const events = await eventsOf(turn);
  const { outcome, usage } = await turn.result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.failed", text: "Three" });
  expect(usage.unknownCalls).toBe(3);
  expect(model.requests).toHaveLength(3);
  expect(only(events, "retracted").map(({ key }) => key.attempt)).toEqual([1, 2]);
  expect(shown(events)).toBe("Three");
});

test("S12 a wait that is longer than the budget is not begun", async () => {
  const model = scripted(fails("rate-limit", 3_600_000), says("Never."));
  await using world = await open(model, { limits: { throttleMs: 60_000 } });
  const { outcome } = await world.session.turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.failed" });
  expect(model.requests).toHaveLength(1);
});

test("S12 whatever breaks off, what a reader folds is what is kept, and every attempt is counted", async () => {
  const delta = fc.record({ kind: fc.constantFrom("text", "reasoning"), delta: fc.constantFrom("", "a", "bc", "d ") });
  const failing = fc.record({ deltas: fc.array(delta, { maxLength: 4 }), failure: fc.constantFrom(...RETRIED) });
  const round = fc.record({ failing: fc.array(failing, { maxLength: 3 }), deltas: fc.array(delta, { maxLength: 4 }) });
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "Nothing." });
  const folds = fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
    const replies = rounds.flatMap(({ failing, deltas }, index) => {
      const broken = failing.map(
        ({ deltas, failure }) =>
          async function* () {
            yield* deltas as readonly ModelPart[];
            throw fails(failure);
          },
      );
      const last = index === rounds.length - 1 ? [text("."), end] : [call("look"), end];
      return [
        ...broken,
        async function* () {
          yield* [...(deltas as readonly ModelPart[]), ...last];
        },
      ];
    });
    const model = plays(...replies);
    await using runtime = await runningQuickly({ model, tools: [look] });
    const session = await runtime.session();
    const turn = session.turn("Go.");
    const events = await eventsOf(turn);
    const { outcome, usage } = await turn.result();
    expect(outcome.kind).toBe("answered");
    expect(model.requests).toHaveLength(replies.length);

    const kept = (await session.read()).messages.filter(({ role }) => role === "assistant");
    expect(shown(events)).toBe(kept.map(wordsOf).join(""));
    const thoughts = kept.flatMap(({ parts }) => parts.map((part) => (part.kind === "reasoning" ? part.text : "")));
    expect(shown(events, "reasoning")).toBe(thoughts.join(""));

    const isShown = ({ deltas }: { deltas: readonly { delta: string }[] }) => deltas.some(({ delta }) => delta !== "");
    const keys = rounds.flatMap(({ failing }, index) =>
      failing.flatMap((attempt, number) => (isShown(attempt) ? [`r${index + 1}.ask ${number + 1}`] : [])),
    );
    expect(only(events, "retracted").map(({ key }) => `${key.effect} ${key.attempt}`)).toEqual(keys);
    const billed = rounds
      .flatMap(({ failing }) => failing)
      .filter(({ deltas, failure }) => deltas.length > 0 || !["rate-limit", "overloaded", "server"].includes(failure));
    expect(usage.unknownCalls).toBe(billed.length);
    expect(usage.output).toBe(5 * rounds.length);
  });
  await fc.assert(folds, { numRuns: sample(50, 150) });
});

// ── Providers that misbehave ────────────────────────────────────────────────────────────────────────────────────────

const thrower = (run: () => unknown): Model => ({ id: "odd", modelId: "test", stream: run as never });

test.each<readonly [string, Model, RegExp]>([
  [
    "throws a custom Error",
    plays(async function* () {
      yield text("Half");
      throw new TypeError("x is not a function");
    }),
    /x is not a function/,
  ],
  [
    "throws a string",
    plays(async function* () {
      yield text("Half");
      throw "out of order";
    }),
    /out of order/,
  ],
  [
    "throws undefined",
    plays(async function* () {
      yield text("Half");
      throw undefined;
    }),
    /thrown/,
  ],
])("E1 a provider that %s fails the call, which is not tried again", async (_, model, reason) => {
  await using world = await open(model);
  const { outcome, usage } = await world.session.turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider", code: "provider.failed", text: "Half" });
  expect(outcome.kind === "failed" && outcome.reason).toMatch(reason);
  expect(outcome.kind === "failed" && outcome.reason).toContain("(unknown)");
  expect(usage.unknownCalls).toBe(1);
});

test.each<readonly [string, Model]>([
  [
    "throws before it streams",
    thrower(() => {
      throw new Error("No stream.");
    }),
  ],
  ["gives a promise instead of a stream", thrower(() => Promise.resolve())],
  ["gives nothing", thrower(() => undefined)],
  [
    "gives parts that are none",
    thrower(async function* () {
      yield null;
    }),
  ],
  [
    "gives a part of no kind",
    thrower(async function* () {
      yield { kind: "video" };
      yield* says("Hi.");
    }),
  ],
])("E1 a provider that %s does not break the session", async (_, model) => {
  await using world = await open(model);
  const { outcome } = await world.session.turn("Hi.").result();
  expect(["failed", "answered"]).toContain(outcome.kind);
  expect((await world.session.read()).turns).toBe(1);
});

test("E1 a stream that ends without a finish was cut, and is tried again", async () => {
  const model = scripted([], cut("Hel"), says("Hello."));
  await using world = await open(model, { limits: { throttleMs: 1 } });
  const { outcome, usage } = await world.session.turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Hello." });
  expect(usage.unknownCalls).toBe(2);
});

test("E1 a model that falls silent is aborted and asked again; a slow model is not", async () => {
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const signals: AbortSignal[] = [];
  const model = plays(
    async function* (_, signal) {
      signals.push(signal);
      yield text("Hm");
      await aborted(signal);
    },
    async function* () {
      for (let word = 0; word < 6; word++) {
        await pause(10);
        yield text(`${word}`);
      }
      yield end;
    },
  );
  await using world = await open(model, { limits: { modelIdleMs: 40, throttleMs: 1 } });
  const turn = world.session.turn("Hi.");
  const events = await eventsOf(turn);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "012345" });
  expect(only(events, "retracted")).toHaveLength(1);
  expect(signals[0]?.aborted, "the silent call is told to stop").toBe(true);
});

test("E1 a provider that ignores its abort is left behind, and its late output is not shown", async () => {
  const told = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const model = plays(
    async function* () {
      try {
        yield text("One ");
        await told.promise;
        yield text("two ");
        yield end;
      } finally {
        over.resolve();
      }
    },
    async function* () {
      yield* says("Next.");
    },
  );
  await using world = await open(model);
  const turn = world.session.turn("Go.");
  await seen(turn, "text");
  await turn.cancel();
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "One " });
  const next = world.session.turn("More.");
  told.resolve();
  await over.promise;
  expect(shown(await eventsOf(next))).toBe("Next.");
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["Go.", "One ", "More.", "Next."]);
});

test.each<readonly [string, readonly ModelPart[]]>([
  ["words", says("x".repeat(60), "y".repeat(60))],
  ["thoughts", thinks("x".repeat(120), says("Hi."))],
  ["arguments", [call("look", { q: "x".repeat(120) }), end]],
  ["arguments as text", [call("look", `{"q":"${"x".repeat(120)}"}`), end]],
])("E1 a reply must not be longer than the limit: %s", async (_, reply) => {
  await using world = await open(scripted(reply, says("Never.")), { limits: { replyBytesMax: 100 } });
  const { outcome } = await world.session.turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider" });
  expect(outcome.kind === "failed" && outcome.reason).toContain("the limit is 100");
});

// ── Calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ terms: z.array(z.object({ value: z.number() })) }),
  execute: ({ terms }) => terms.reduce((sum, { value }) => sum + value, 0),
});

/** What the model is shown of one call, and how it went. */
async function resultOf(reply: readonly ModelPart[], options: Partial<Omit<RuntimeOptions, "model">>): Promise<string> {
  const model = scripted(reply, says("So."));
  await using world = await open(model, options);
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "So." });
  const calls = reply.filter(({ kind }) => kind === "call").length;
  expect([only(events, "toolStarted").length, only(events, "toolEnded").length]).toEqual([calls, calls]);
  return outline(model.requests[1]?.messages ?? []).at(-1) ?? "";
}

test("P4 calls of one reply run beside each other and are answered in call order", async () => {
  const met = Promise.withResolvers<void>();
  let here = 0;
  const finished: string[] = [];
  const meet = defineTool({
    name: "meet",
    description: "Waits for the other.",
    input: z.object({ name: z.string(), ticks: z.number() }),
    execute: async ({ name, ticks }) => {
      if (++here === 3) met.resolve();
      await met.promise;
      for (let tick = 0; tick < ticks; tick++) await undefined;
      finished.push(name);
      return `${name} was here.`;
    },
  });
  const names = [
    ["ann", 60],
    ["bob", 30],
    ["cid", 0],
  ] as const;
  const model = scripted(both(...names.map(([name, ticks]) => calls("meet", { name, ticks }))), says("All."));
  await using world = await open(model, { tools: [meet] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect(finished).toEqual(["cid", "bob", "ann"]);
  expect(outline(model.requests[1]?.messages ?? []).slice(-3)).toEqual([
    "meet ok: ann was here.",
    "meet ok: bob was here.",
    "meet ok: cid was here.",
  ]);
  // Readers are told of an end when it comes.
  expect(only(events, "toolEnded").map(({ output }) => output)).toEqual(
    finished.map((name) => ({ kind: "value", value: `${name} was here.` })),
  );
});

test("P4 a provider may use one call id twice: each call keeps its own result", async () => {
  const reply = [call("add", { terms: [{ value: 1 }] }, "same"), call("add", { terms: [{ value: 2 }] }, "same"), end];
  const model = scripted(reply, says("So."));
  await using world = await open(model, { tools: [add] });
  await world.session.turn("Go.").result();
  expect(outline(model.requests[1]?.messages ?? []).slice(-2)).toEqual(["add ok: 1", "add ok: 2"]);
});

test("P4 a tool that does not exist is a result that names the tools there are", async () => {
  expect(await resultOf(calls("divide"), { tools: [add] })).toMatch(/^divide failed: .*tool\.unknown.* add/);
});

test("P4 arguments that are not JSON are a result, and the tool does not run", async () => {
  expect(await resultOf([call("add", '{"terms": [', "c1"), end], { tools: [add] })).toMatch(
    /^add failed: .*not valid JSON/,
  );
  expect(await resultOf([call("nope", "{", "c1"), end], { tools: [add] })).toMatch(/^nope failed: .*tool\.unknown/);
});

test("P4 no arguments at all are an empty object", async () => {
  expect(await resultOf([call("ping", "", "c1"), end], { tools: [ping] })).toBe("ping ok: Pong.");
});

test.each([
  ["zod", z.object({ terms: z.array(z.object({ value: z.number() })) }), /terms\.1\.value/],
  [
    "JSON Schema",
    {
      type: "object",
      properties: { terms: { type: "array", items: { type: "object", properties: { value: { type: "number" } } } } },
    },
    /\/terms\/1\/value/,
  ],
] as const)(
  "P4 arguments that do not fit a %s schema are a result with the path of what is wrong",
  async (_, input, path) => {
    let runs = 0;
    const sum = defineTool({ name: "sum", description: "Adds.", input, execute: () => ++runs });
    const result = await resultOf(calls("sum", { terms: [{ value: 1 }, { value: "two" }] }), { tools: [sum] });
    expect(result).toMatch(/^sum failed: .*tool\.arguments/);
    expect(result).toMatch(path);
    expect(runs).toBe(0);
  },
);

class Money {
  readonly amount = 3;
}
const cycle: { self?: unknown } = {};
cycle.self = cycle;

test.each<readonly [string, (signal: AbortSignal) => unknown, RegExp]>([
  [
    "throws an Error",
    () => {
      throw new Error("No paper.");
    },
    /^odd failed: .*tool\.failed.*No paper/,
  ],
  ["rejects with a string", () => Promise.reject("no ink"), /^odd failed: .*no ink/],
  [
    "throws undefined",
    () => {
      throw undefined;
    },
    /^odd failed: .*thrown/,
  ],
  [
    "throws something that cannot be shown",
    () => {
      throw cycle;
    },
    /^odd failed: /,
  ],
  ["returns a cycle", () => cycle, /^odd failed: .*tool\.result.*contains itself/],
  ["returns a BigInt", () => ({ big: 1n }), /^odd failed: .*tool\.result.*big: a bigint/],
  ["returns a function", () => () => 1, /^odd failed: .*tool\.result.*a function is not JSON/],
  ["returns NaN", () => [Number.NaN], /^odd failed: .*tool\.result.*NaN/],
  ["returns a Map", () => new Map([[1, 2]]), /^odd failed: .*tool\.result.*Map/],
  ["returns an object of a class", () => new Money(), /^odd failed: .*tool\.result.*Money/],
  ["returns undefined", () => undefined, /^odd ok: null$/],
  ["returns a field that is undefined", () => ({ a: undefined, b: 1 }), /^odd ok: \{"b":1\}$/],
  ["returns a date", () => ({ at: new Date(0) }), /^odd ok: \{"at":"1970-01-01T00:00:00.000Z"\}$/],
  ["returns text", () => "as it is", /^odd ok: as it is$/],
  ["returns too much text", () => "x".repeat(2_000), /^odd failed: .*limit\.bytes.*at most 1000 can be shown/],
  ["returns too much JSON", () => Array.from({ length: 600 }, () => 1), /^odd failed: .*limit\.bytes/],
  ["returns text of few characters and many bytes", () => "🌍".repeat(300), /^odd failed: .*limit\.bytes/],
  ["never settles", () => new Promise(() => {}), /^odd failed: .*tool\.timeout.*30 ms/],
  [
    "settles twice",
    () => ({
      // biome-ignore lint/suspicious/noThenProperty: a thenable that breaks its promise is what is tested
      then: (resolve: (value: string) => void, reject: (error: Error) => void) => {
        resolve("first");
        reject(new Error("second"));
        resolve("third");
      },
    }),
    /^odd ok: first$/,
  ],
])("P4 a tool that %s gives the model a result, and the turn continues", async (_, execute, expected) => {
  const odd = defineTool({
    name: "odd",
    description: "Is odd.",
    input: z.object({}),
    timeoutMs: 30,
    execute: (_input, { signal }) => execute(signal),
  });
  expect(await resultOf(calls("odd"), { tools: [odd], limits: { resultBytesMax: 1_000 } })).toMatch(expected);
});

test("P4 a tool that runs out of time is notified by its signal", async () => {
  const told = Promise.withResolvers<unknown>();
  const slow = defineTool({
    name: "slow",
    description: "Waits for its signal.",
    input: z.object({}),
    timeoutMs: 20,
    execute: async (_, { signal }) => {
      await aborted(signal);
      told.resolve(signal.reason);
      return "Too late.";
    },
  });
  expect(await resultOf(calls("slow"), { tools: [slow] })).toMatch(/^slow failed: .*tool\.timeout/);
  expect(await told.promise).toMatchObject({ code: "tool.timeout" });
});

// ── Reasoning ───────────────────────────────────────────────────────────────────────────────────────────────────────

const WIRES = [anthropic, openai, openaiCompatible, google];
const weather = defineTool({
  name: "weather",
  description: "Tells the weather.",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}.`,
});
const clock = defineTool({
  name: "clock",
  description: "Tells the time.",
  input: z.object({}),
  execute: () => "Noon.",
});

for (const wire of WIRES) {
  const base = {
    tools: [weather, clock],
    limits: { throttleMs: 20 },
    ...(wire.settings === undefined ? {} : { settings: wire.settings }),
  } satisfies Partial<RuntimeOptions>;

  describe(wire.name, () => {
    test("P4 reasoning is kept, and goes back to its own route in later turns and to no other", async () => {
      await using server = await serveWire([wire.reasoning, wire.text, wire.text, wire.text, wire.text]);
      const store = memory();
      const here = await createRuntime({ ...base, store, model: wire.model(server.url) });
      const session = await here.session("talk");
      const turn = session.turn("What is the capital?");
      const events = await eventsOf(turn);
      expect(shown(events, "reasoning")).toBe("The capital is old.");
      expect((await turn.result()).outcome.kind).toBe("answered");
      expect(outline((await session.read()).messages)).toContain("thinks: The capital is old.");
      await session.turn("Sure?").result();
      const same = JSON.stringify(server.requests.at(-1)?.body);
      for (const secret of wire.secrets) expect(same).toContain(secret);

      const models = () => wire.model(server.url, "another-model");
      await using elsewhere = await createRuntime({ ...base, store, model: models(), models });
      const { outcome } = await (await elsewhere.session("talk")).turn("Really?").result();
      expect(outcome.kind).toBe("answered");
      const other = JSON.stringify(server.requests.at(-1)?.body);
      expect(other).toContain("another-model".slice(0, wire === google ? 0 : undefined));
      for (const secret of wire.secrets) expect(other).not.toContain(secret);
      expect(other).toContain("What is the capital?");
      expect(outline((await session.read()).messages)).toContain("thinks: The capital is old.");
    });

    test("E1 text, from the wire to the outcome", async () => {
      await using server = await serveWire([wire.text]);
      await using world = await open(wire.model(server.url), base);
      const turn = world.session.turn("Hello.");
      expect(shown(await eventsOf(turn))).toBe("Grüße, Welt 🌍.");
      const { outcome, usage } = await turn.result();
      expect(outcome).toMatchObject({ kind: "answered", text: "Grüße, Welt 🌍." });
      expect(usage).toMatchObject({ input: 12, cacheRead: 30, output: 9, unknownCalls: 0 });
    });

    test("E1 parallel calls are answered, and the next request carries a result for each", async () => {
      await using server = await serveWire([wire.calls, wire.text]);
      await using world = await open(wire.model(server.url), base);
      const { outcome } = await world.session.turn("Coat?").result();
      expect(outcome).toMatchObject({ kind: "answered", text: "Grüße, Welt 🌍." });
      const sent = JSON.stringify(server.requests[1]?.body);
      const places = ["Coat?", "Oslo", "Rain in Oslo.", "Noon."].map((words) => sent.indexOf(words));
      expect(places).not.toContain(-1);
      expect([...places].sort((a, b) => a - b)).toEqual(places);
      const ids = wire.calls.parts.flatMap((part) => (part.kind === "call" ? [part.callId] : []));
      if (wire !== google)
        for (const id of ids) expect(sent.split(`"${id}"`).length - 1, "the call and its result").toBe(2);
    });

    test("E1 a 429 is waited out, and nothing was shown that must be retracted", async () => {
      const limited = { ...wire.limited, headers: { "retry-after-ms": "2" } };
      await using server = await serveWire([limited, wire.text]);
      await using runtime = await runningQuickly({ ...base, limits: {}, model: aiSdk(wire.model(server.url)) });
      const turn = (await runtime.session()).turn("Hello.");
      const events = await eventsOf(turn);
      expect(events.map(({ kind }) => kind)).toEqual(["retrying", "text", "text", "committed"]);
      expect((await turn.result()).usage.unknownCalls).toBe(0);
      expect(server.requests).toHaveLength(2);
    });

    test("E1 a stream that is cut is asked for again, and the half that was shown is retracted", async () => {
      await using server = await serveWire([{ ...wire.text, cutAfterBytes: bytesOf(wire.text) - 3 }, wire.text]);
      await using world = await open(wire.model(server.url), base);
      const turn = world.session.turn("Hello.");
      const events = await eventsOf(turn);
      expect(shown(events)).toBe("Grüße, Welt 🌍.");
      expect(only(events, "retracted").map(({ key }) => key.attempt)).toEqual([1]);
      const { outcome, usage } = await turn.result();
      expect(outcome).toMatchObject({ kind: "answered", text: "Grüße, Welt 🌍." });
      expect(usage.unknownCalls).toBe(1);
    });

    test("E1 a cancel in the middle closes the connection", async () => {
      await using server = await serveWire([{ events: wire.text.events.slice(0, -1), hangs: true }]);
      await using world = await open(wire.model(server.url), base);
      const turn = world.session.turn("Hello.");
      await seen(turn, "text");
      await turn.cancel();
      await server.requests[0]?.hungUp;
      const { outcome } = await turn.result();
      expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
      expect(outcome.kind === "stopped" && outcome.text).toMatch(/^Grüße, /);
    });

    test("E1 a connection that falls silent is closed before the next attempt", async () => {
      await using server = await serveWire([{ events: wire.text.events.slice(0, -1), hangs: true }, wire.text]);
      await using world = await open(wire.model(server.url), { ...base, limits: { modelIdleMs: 250, throttleMs: 1 } });
      const turn = world.session.turn("Hello.");
      expect(shown(await eventsOf(turn))).toBe("Grüße, Welt 🌍.");
      const late = new Promise((resolve) => setTimeout(resolve, 1_000, "still open"));
      expect(await Promise.race([server.requests[0]?.hungUp.then(() => "closed"), late])).toBe("closed");
    });
  });
}

test("E1 an overload in the middle of a stream is waited out like one before it, and what was shown is retracted", async () => {
  await using server = await serveWire([anthropic.broken, anthropic.text]);
  await using world = await open(anthropic.model(server.url));
  const turn = world.session.turn("Hello.");
  const events = await eventsOf(turn);
  expect(only(events, "retracted")).toHaveLength(1);
  expect(shown(events)).toBe("Grüße, Welt 🌍.");
});

test.each(VERSIONS)("E1 an AI SDK model of specification %s is taken as it is", async (version) => {
  const { model, calls: asked } = fake(version, [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "Hello." },
    { type: "text-end", id: "1" },
    finish(version),
  ]);
  await using world = await open(model, { instructions: "Be brief." });
  expect((await world.session.turn("Hi.").result()).outcome).toMatchObject({ kind: "answered", text: "Hello." });
  expect(asked[0].prompt[0]).toEqual({ role: "system", content: "Be brief." });
  expect((await world.session.read()).config).toEqual({ model: "acme/m-1", instructions: "Be brief." });
});

// ── Names of models ─────────────────────────────────────────────────────────────────────────────────────────────────

const v1 = { ...fake("v2", []).model, specificationVersion: "v1" } as unknown as LanguageModel;

test("S13 a model's name without a resolver is refused at once, and the error has the missing part", async () => {
  const options = { store: memory(), model: "acme/large" } as unknown as RuntimeOptions;
  await expect(createRuntime(options)).rejects.toMatchObject({
    code: "options.invalid",
    details: { option: "models" },
  });
});

test("S13 a session without a configured model runs on the runtime's current model", async () => {
  const store = memory();
  const first = await createRuntime({ store, model: scripted(says("One.")) });
  await (await first.session("s")).turn("Go.").result();
  const other = { ...scripted(says("Two.")), id: "other" };
  const second = await createRuntime({ store, model: other });
  const session = await second.session("s");
  expect((await session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Two." });
  expect((await session.read()).config.model).toBe("other/test");
});

test("S13 a session whose turns used another default model is reported at each opening, in a trace and in what is read, until a turn uses the new one", async () => {
  const store = memory();
  const traces: unknown[] = [];
  const trace = ({ name, at: _, ...about }: TelemetryEvent) => void (name === "model.changed" && traces.push(about));
  const first = await createRuntime({ store, telemetry: onEvent(trace), model: scripted(says("One."), says("Own.")) });
  await (await first.session("old")).turn("Go.").result();
  await (await first.session("own", { config: { model: "scripted/test" } })).turn("Go.").result();
  await first.session("new");
  expect(traces).toEqual([]);

  const other = { ...scripted(says("Two.")), id: "other" };
  const options = { store, telemetry: onEvent(trace), model: other, models: () => scripted() };
  const second = await createRuntime(options);
  const mismatch = { expected: "scripted/test", actual: "other/test" };
  const old = await second.session("old");
  for (const id of ["old", "own", "new"]) await second.session(id);
  expect(traces).toEqual([
    {
      sessionId: "old",
      about: { ...mismatch, problem: expect.stringContaining("other/test"), hint: expect.any(String) },
    },
  ]);
  expect((await old.read()).modelMismatch).toEqual(mismatch);
  expect((await second.sessions.get("old")).modelMismatch).toEqual(mismatch);
  for (const id of ["own", "new"]) expect(await second.sessions.get(id)).not.toHaveProperty("modelMismatch");

  expect((await old.turn("Go.").result()).outcome).toMatchObject({ text: "Two." });
  expect(await old.read()).not.toHaveProperty("modelMismatch");
  const third = await createRuntime(options);
  await third.session("old");
  expect(traces).toHaveLength(1);
});

test("S13 a session that chooses a model after a change of the default is not reported any more", async () => {
  const store = memory();
  const first = await createRuntime({ store, model: scripted(says("One.")) });
  await (await first.session("s")).turn("Go.").result();
  const other = { ...scripted(), id: "other" };
  const second = await createRuntime({ store, model: other, models: () => scripted() });
  const session = await second.session("s");
  expect((await session.read()).modelMismatch).toMatchObject({ actual: "other/test" });
  await session.configure({ model: "scripted/test" });
  expect(await session.read()).not.toHaveProperty("modelMismatch");
});

test("S13 a session that names an unknown model fails its turns, and the outcome names the model", async () => {
  await using runtime = await createRuntime({ store: memory(), model: scripted(says("Hi.")) });
  const session = await runtime.session("odd", { config: { model: "acme/large" } });
  const { outcome } = await session.turn("Hi.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "provider.mismatch" });
  expect(outcome.kind === "failed" && outcome.reason).toContain("acme/large");
  expect((await (await runtime.session()).turn("Hi.").result()).outcome.kind).toBe("answered");
});

test.each<readonly [string, () => unknown, string, RegExp]>([
  ["has no such name", () => undefined, "provider.unconfigured", /acme\/large/],
  ["answers later without a model", async () => undefined, "provider.unconfigured", /acme\/large/],
  [
    "throws",
    () => {
      throw new Error("No network.");
    },
    "provider.unavailable",
    /No network/,
  ],
  ["rejects", () => Promise.reject(new Error("No network.")), "provider.unavailable", /No network/],
  ["gives a model of an unsupported specification", () => v1, "provider.unavailable", /v1/],
  ["gives something that is not a model", () => ({ name: "large" }), "provider.unavailable", /doStream/],
  ["gives text", () => "large", "provider.unavailable", /not an AI SDK language model/],
  ["gives null", () => null, "provider.unconfigured", /acme\/large/],
])(
  "S13 a resolver that %s makes createRuntime throw; for a session's model it fails the turn, and is asked again in the next",
  async (_, resolve, code, reason) => {
    const model = scripted(says("Hello."));
    let asked = 0;
    const models = (name: string) => {
      expect(name).toBe("acme/large");
      return (++asked <= 2 ? resolve() : model) as Model;
    };
    const refused = createRuntime({ store: memory(), model: "acme/large", models });
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringMatching(reason) });
    await using runtime = await createRuntime({ store: memory(), model, models });
    const session = await runtime.session("own", { config: { model: "acme/large" } });
    const { outcome } = await session.turn("Hi.").result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code });
    expect(outcome.kind === "failed" && outcome.reason).toMatch(reason);
    expect((await session.turn("Hi.").result()).outcome).toMatchObject({ kind: "answered", text: "Hello." });
  },
);

test("S13 a model of an unsupported specification is refused by createRuntime", async () => {
  await expect(createRuntime({ store: memory(), model: v1 })).rejects.toMatchObject({ code: "provider.unavailable" });
});
