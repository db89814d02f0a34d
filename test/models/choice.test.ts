import {
  createRuntime,
  definePlugin,
  defineTool,
  type RuntimeOptions,
  retryable,
  type Session,
  type Store,
  type Usage,
} from "bowline";
import { type ModelRequest, type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, cut, says, scripted, thinks } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, signalOf, within } from "../kit/reading.ts";
import { lives, over } from "../kit/stores.ts";
import { ping, running, twoOn } from "../kit/worlds.ts";

/** Chooses the model of each call by its number; `undefined` leaves it. */
const chooses = (...names: readonly (string | undefined)[]) => {
  let asked = 0;
  return definePlugin({
    id: "a/chooses",
    setup: () => ({
      request: ({ request }) => {
        const model = names[asked++];
        return model === undefined ? undefined : { ...request, model };
      },
    }),
  });
};
const named = (provider: Provider, id: string): Provider => ({ ...provider, id, modelId: "1" });

type Rows = readonly {
  readonly source: string;
  readonly model: string;
  readonly calls: number;
  readonly usage: Usage;
}[];
/** What was booked, without rows of nothing. */
const booked = async (session: Session): Promise<unknown> =>
  ((await session.read()).ledger as Rows)
    .filter((row) => row.calls > 0)
    .map(({ source, model, calls, usage: { input, output, unknownCalls } }) => [
      source,
      model,
      calls,
      input,
      output,
      unknownCalls,
    ]);

async function world(
  options: Partial<Omit<RuntimeOptions, "model" | "models">> & { readonly main: Provider; readonly small?: Provider },
) {
  const { main, small, ...rest } = options;
  const asked: string[] = [];
  const models = (name: string): Provider | undefined => {
    asked.push(name);
    return name === "small" ? small : undefined;
  };
  const runtime = await createRuntime({ store: memory(), ...rest, model: main, models });
  return { asked, session: await runtime.session(), [Symbol.asyncDispose]: () => runtime.close() };
}

// ── Another model for one call ──────────────────────────────────────────────────────────────────────────────────────

test("a request hook may choose another model for one call: asked there, and the next call is the session's again", async () => {
  const [main, small] = [scripted(says("Main.")), scripted(calls("ping"))];
  await using it = await world({
    main,
    small: named(small, "other"),
    tools: [ping],
    plugins: [chooses("small")],
    instructions: "Be kind.",
  });
  const { outcome } = await it.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Main." });
  expect([small.requests.length, main.requests.length]).toEqual([1, 1]);
  expect(small.requests[0]).toMatchObject({ system: "Be kind.", tools: [{ name: "ping" }] });
  expect(outline(main.requests[0]?.messages ?? [])).toEqual(["user: Go.", "calls ping", "ping ok: Pong."]);
  expect((await it.session.read()).config.model).toBe("scripted/test");
});

test("S10 a call on another model is booked under that model; the total is the turn's", async () => {
  const [main, small] = [scripted(says("Main.")), scripted(calls("ping"), calls("ping"))];
  await using it = await world({
    main,
    small: named(small, "other"),
    tools: [ping],
    plugins: [chooses("small", "small")],
  });
  const { usage } = await it.session.turn("Go.").result();
  expect(usage).toMatchObject({ input: 30, output: 15 });
  expect((await it.session.read()).usage).toMatchObject({ input: 30, output: 15 });
  expect(await booked(it.session)).toEqual([
    ["turn", "scripted/test", 1, 10, 5, 0],
    ["turn", "small", 2, 20, 10, 0],
  ]);
});

test("S10 a turn whose every call is on another model books nothing on the session's: no row of nothing either", async () => {
  const small = scripted(says("Small."));
  await using it = await world({ main: scripted(), small, plugins: [chooses("small")] });
  await it.session.turn("Go.").result();
  const { ledger } = await it.session.read();
  expect(ledger.map(({ model, calls }) => [model, calls])).toEqual([["small", 1]]);
});

test("to choose the session's own model, by its name, changes nothing", async () => {
  const main = scripted(says("Main."));
  await using it = await world({ main, plugins: [chooses("scripted/test")] });
  expect((await it.session.turn("Go.").result()).outcome).toMatchObject({ text: "Main." });
  expect([it.asked, await booked(it.session)]).toEqual([[], [["turn", "scripted/test", 1, 10, 5, 0]]]);
});

test("a model is resolved when it is first chosen, and then known", async () => {
  const small = scripted(says("1"), says("2"));
  await using it = await world({ main: scripted(), small, plugins: [chooses("small", "small")] });
  await it.session.turn("1").result();
  await it.session.turn("2").result();
  expect(it.asked).toEqual(["small"]);
});

test("P4 what a route made is marked as its own, so that no other is sent it: reasoning and calls name their model", async () => {
  const [main, small] = [scripted(says("Main.")), scripted(thinks("Hm.", calls("ping")))];
  await using it = await world({ main, small: named(small, "other"), tools: [ping], plugins: [chooses("small")] });
  await it.session.turn("Go.").result();
  const made = main.requests[0]?.messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === "reasoning"));
  expect(made).toMatchObject([{ text: "Hm.", made: { route: "other/1" } }]);
});

test("a later handler sees the choice of the one before, and may take it back", async () => {
  const main = scripted(says("Main."));
  const back = definePlugin({
    id: "b/back",
    setup: () => ({
      request: ({ request: { model, ...request } }) => {
        expect(model).toBe("small");
        return request;
      },
    }),
  });
  await using it = await world({ main, plugins: [chooses("small"), back] });
  expect((await it.session.turn("Go.").result()).outcome).toMatchObject({ text: "Main." });
});

test.each<readonly [string, string, "with" | "without", string]>([
  ["a name that the resolver does not know", "large", "with", "provider.unconfigured"],
  ["a name where there is no resolver", "large", "without", "provider.unconfigured"],
  ["a name whose resolver throws", "broken", "with", "provider.unavailable"],
])("%s fails the turn, typed, with nothing booked; the session continues", async (_, name, how, code) => {
  const main = scripted(says("Main."));
  const models = (asked: string): undefined => {
    if (asked === "broken") throw new Error("Ouch.");
  };
  await using runtime = await running({ model: main, plugins: [chooses(name)], ...(how === "with" ? { models } : {}) });
  const session = await runtime.session();
  const { outcome, usage } = await session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", code });
  expect(outcome).toMatchObject({ reason: expect.stringContaining(name) });
  expect(usage).toMatchObject({ input: 0, output: 0, unknownCalls: 0 });
  expect((await session.turn("Again.").result()).outcome).toMatchObject({ text: "Main." });
});

test("S10 a model that could not be asked was not called: nothing counts it", async () => {
  const main = scripted(says("Main."));
  await using it = await world({ main, plugins: [chooses("large")] });
  await it.session.turn("Go.").result();
  expect(await booked(it.session)).toEqual([]);
});

test.each<readonly [string, unknown]>([
  ["a number", 7],
  ["an empty name", ""],
  ["an object", { id: "small" }],
])("a choice that is %s is hook.answer of its plugin", async (_, model) => {
  await using it = await world({ main: scripted(says("Main.")), plugins: [chooses(model as string)] });
  expect((await it.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "plugin",
    code: "hook.answer",
  });
});

test("S10 a call that fails on another model is booked there as one that may have been billed", async () => {
  const small = plays(async function* () {
    yield text("Half");
    throw new ProviderFailure({ class: "auth", message: "No key." });
  });
  await using it = await world({ main: scripted(), small, plugins: [chooses("small")] });
  const { outcome } = await it.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "provider", text: "Half" });
  expect(outcome).toMatchObject({ reason: expect.stringContaining("small") });
  expect(await booked(it.session)).toEqual([["turn", "small", 1, 0, 0, 1]]);
});

test("S10 retried attempts are booked with the call, on the model that was asked", async () => {
  const small = scripted(cut("half"), says("whole"));
  await using it = await world({ main: scripted(), small, plugins: [chooses("small")], limits: { throttleMs: 1 } });
  await it.session.turn("Go.").result();
  expect(await booked(it.session)).toEqual([["turn", "small", 1, 10, 5, 1]]);
});

test("S10 a turn that is cancelled while another model speaks books it there", async () => {
  const began = signalOf();
  const small = plays(async function* (_, signal) {
    yield text("Half");
    began.resolve();
    await aborted(signal);
  });
  await using it = await world({ main: scripted(), small, plugins: [chooses("small")] });
  const turn = it.session.turn("Go.");
  await began.promise;
  await turn.cancel("Enough.");
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "Half" });
  expect(await booked(it.session)).toEqual([["turn", "small", 1, 0, 0, 1]]);
});

test("a hook that takes messages out of a request leaves `stable` no larger than what is there", async () => {
  const plugin = definePlugin({
    id: "a/short",
    setup: () => ({
      prompt: () => ({ slot: "environment", text: "Now.", isVolatile: true }),
      request: ({ request }) => ({ ...request, messages: request.messages.slice(-2) }),
    }),
  });
  const main = scripted(says("1"), says("2"));
  await using it = await world({ main, plugins: [plugin] });
  await it.session.turn("1").result();
  await it.session.turn("2").result();
  expect(main.requests.map(({ stable, messages }: ModelRequest) => (stable ?? 0) <= messages.length)).toEqual([
    true,
    true,
  ]);
});

// ── What a tool may do beside its work ──────────────────────────────────────────────────────────────────────────────

const retry = { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 } as const;

test("`once` in a tool runs once a call: the attempt that follows is given the value of the first", async () => {
  let runs = 0;
  const seen: unknown[] = [];
  const tool = defineTool({
    name: "tool",
    description: "-",
    input: z.object({}),
    retry,
    execute: async (_, { once, attempt, callId }) => {
      seen.push([attempt, callId.slice(0, 6), await once("id", () => ++runs)]);
      if (attempt < 3) throw retryable(new Error("Ouch."));
      return "ok";
    },
  });
  const model = scripted(both(calls("tool", {}, "a"), calls("tool", {}, "b")), says("Done."));
  await using runtime = await running({ model, tools: [{ ...tool, policy: { ...tool.policy, isSerial: true } }] });
  await (await runtime.session()).turn("Go.").result();
  const byCall = Map.groupBy(seen as [number, string, number][], ([, call]) => call);
  expect([...byCall.values()].map((all) => new Set(all.map(([, , value]) => value)).size)).toEqual([1, 1]);
  expect([runs, seen.length]).toEqual([2, 6]);
});

test("`once` that failed runs again in the next attempt, and one name is one value in a call", async () => {
  let runs = 0;
  const tool = defineTool({
    name: "tool",
    description: "-",
    input: z.object({}),
    retry,
    execute: async (_, { once }) => {
      const get = () =>
        once("id", () => {
          if (++runs === 1) throw retryable(new Error("Ouch."));
          return runs;
        });
      return [await get(), ...(await Promise.all([get(), get(), once("other", () => 0)]))];
    },
  });
  await using runtime = await running({ model: scripted(calls("tool"), says("Done.")), tools: [tool] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(outline((await session.read()).messages)).toContain("tool ok: [2,2,2,0]");
});

test("S9 what a tool asks a model is booked once under its label, with the turn, whatever the attempts", async () => {
  const tool = defineTool({
    name: "tool",
    description: "-",
    input: z.object({}),
    retry,
    execute: async (_, { complete, attempt }) => {
      const words = await complete.text("Sum up.", { label: "summary" });
      if (attempt === 1) throw retryable(new Error("Ouch."));
      return words;
    },
  });
  const model = scripted(calls("tool"), says("In short."), says("Done."));
  await using runtime = await running({ model, tools: [tool] });
  const session = await runtime.session();
  const { usage, outcome } = await session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(model.requests).toHaveLength(3);
  expect(await booked(session)).toEqual([
    ["turn", "scripted/test", 2, 20, 10, 0],
    ["summary", "scripted/test", 1, 10, 5, 0],
  ]);
  expect(usage).toMatchObject({ input: 30, output: 15 });
});

test.each([1, 2])(
  "S9 a process that dies in attempt %i after the model was asked: it is booked once all the same",
  async (dies) => {
    const { next, kill } = lives(memory());
    const asked = signalOf();
    let isFirst = true;
    const tool = defineTool({
      name: "tool",
      description: "-",
      input: z.object({}),
      retry,
      execute: async (_, { complete, attempt }) => {
        const words = await complete.text("Sum up.", { label: "summary" });
        if (isFirst && attempt === dies) {
          asked.resolve();
          await new Promise(() => {}); // Never: it died here.
        }
        if (attempt === 1) throw retryable(new Error("Ouch."));
        return words;
      },
    });
    const model = scripted(calls("tool"), says("In short."), says("Done."));
    const first = await running({ store: next(), model, tools: [tool] });
    (await first.session("s"))
      .turn("Go.", { key: "k" })
      .result()
      .catch(() => {});
    await asked.promise;
    kill();
    isFirst = false;
    const second = await running({ store: next(), model, tools: [tool] });
    const session = await second.session("s");
    await session.turn("Go.", { key: "k" }).result();
    expect(model.requests).toHaveLength(3);
    expect(await booked(session)).toEqual([
      ["turn", "scripted/test", 2, 20, 10, 0],
      ["summary", "scripted/test", 1, 10, 5, 0],
    ]);
  },
);

test("S9 what a call asked is booked with that call: a call beside it that ends first, and a crash, do not book it twice", async () => {
  const base = memory();
  const [asked, recorded] = [signalOf(), signalOf()];
  const append: Store["append"] = (lease, seq, events, ...more) => {
    const mail = base.append(lease, seq, events, ...more);
    if (events.some(({ kind }) => kind === "returned")) recorded.resolve();
    return mail;
  };
  const { next, kill } = lives(over(base, { append }));
  let isFirst = true;
  const asks = defineTool({
    name: "asks",
    description: "-",
    input: z.object({}),
    execute: async (_, { complete }) => {
      const words = await complete.text("Sum up.", { label: "summary" });
      asked.resolve();
      if (isFirst) await new Promise(() => {});
      return words;
    },
  });
  const ends = defineTool({
    name: "ends",
    description: "-",
    input: z.object({}),
    execute: () => asked.promise.then(() => "ok"),
  });
  const tools = [asks, ends];
  const model = scripted(both(calls("asks"), calls("ends")), says("In short."), says("Done."));
  const first = await running({ store: next(), model, tools });
  (await first.session("s"))
    .turn("Go.", { key: "k" })
    .result()
    .catch(() => {});
  await recorded.promise;
  kill();
  isFirst = false;
  const second = await running({ store: next(), model, tools });
  const session = await second.session("s");
  await session.turn("Go.", { key: "k" }).result();
  expect(model.requests).toHaveLength(3);
  expect(await booked(session)).toEqual([
    ["turn", "scripted/test", 2, 20, 10, 0],
    ["summary", "scripted/test", 1, 10, 5, 0],
  ]);
});

test("S9 without a label it is booked as direct, also of calls side by side", async () => {
  const tool = defineTool({
    name: "tool",
    description: "-",
    input: z.object({ n: z.number() }),
    execute: ({ n }, { complete }) => complete.text(`Say ${n}.`),
  });
  const model = scripted(both(calls("tool", { n: 1 }), calls("tool", { n: 2 })), says("a"), says("b"), says("Done."));
  await using runtime = await running({ model, tools: [tool] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(await booked(session)).toEqual([
    ["turn", "scripted/test", 2, 20, 10, 0],
    ["direct", "scripted/test", 2, 20, 10, 0],
  ]);
});

test("S9 a tool whose model call fails gets an error, and its possible cost is booked under the label", async () => {
  const tool = defineTool({
    name: "tool",
    description: "-",
    input: z.object({}),
    execute: (_, { complete }) => complete.text("Sum up.", { label: "summary" }),
  });
  const unknown = new ProviderFailure({ class: "unknown", message: "Ouch." });
  const model = scripted(calls("tool"), unknown, says("Done."));
  await using runtime = await running({ model, tools: [tool] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(outline((await session.read()).messages)[2]).toContain("tool failed");
  expect(await booked(session)).toEqual([
    ["turn", "scripted/test", 2, 20, 10, 0],
    ["summary", "scripted/test", 1, 0, 0, 1],
  ]);
});

// ── The typed output of a turn that waits ───────────────────────────────────────────────────────────────────────────

interface Tree extends ReadonlyArray<Tree> {}
const Tree: z.ZodType<Tree> = z.lazy(() => z.array(Tree));
const SCHEMAS: readonly (readonly [string, z.ZodType, unknown, unknown])[] = [
  ["an object", z.object({ n: z.number() }), { n: 1 }, { n: 1 }],
  ["a number", z.number().int(), { value: 7 }, 7],
  ["text", z.enum(["yes", "no"]), { value: "yes" }, "yes"],
  ["a list", z.array(z.string()), { value: ["a"] }, ["a"]],
  ["one of two", z.union([z.object({ a: z.number() }), z.null()]), { value: null }, null],
  ["a list of lists", Tree, { value: [[], [[]]] }, [[], [[]]]],
];

/** Behind a turn that waits, in this runtime or for another one. */
const waitsFor = (free: Promise<void>) =>
  definePlugin({
    id: "a/waits",
    setup: () => ({
      beforeTurn: async ({ input: { parts } }) => {
        if (parts[0]?.kind === "text" && parts[0].text === "First.") await free;
      },
    }),
  });

test.each(SCHEMAS)(
  "a turn that waits behind another ends with %s, checked, as one that runs at once",
  async (_, schema, input, value) => {
    const { promise: free, resolve: release } = signalOf();
    const model = scripted(
      says("1"),
      calls("submit_output", { value: false, wrong: true }),
      calls("submit_output", input as never),
    );
    await using runtime = await running({ model, plugins: [waitsFor(free)] });
    const session = await runtime.session();
    const first = session.turn("First.");
    await first.id;
    const second = session.turn("Then.", { output: schema as never });
    await second.id;
    release();
    await first.result();
    expect((await second.result()).outcome).toEqual({ kind: "finished", by: "model", value });
  },
);

test.each(SCHEMAS)(
  "another runtime that runs it hands %s in too: from the recorded document",
  async (_, schema, input, value) => {
    const { promise: free, resolve: release } = signalOf();
    const store = memory();
    const one = scripted(says("1"), calls("submit_output", input as never), says("3"));
    const two = scripted();
    await using pair = await twoOn(store, { model: one, plugins: [waitsFor(free)] }, { model: two });
    const here = await pair.one.session("s");
    const first = here.turn("First.");
    await first.id;
    const queued = (await pair.two.session("s")).turn("Then.", { output: schema as never });
    await queued.id;
    const third = here.turn("Third."); // So that the first runtime looks for more, and takes what waits before it.
    await third.id;
    release();
    await third.result();
    expect((await within(queued.result())).outcome).toEqual({ kind: "finished", by: "model", value });
    expect(two.requests).toHaveLength(0);
  },
);

test("a schema that does more than its document is the caller's own, also when the turn waits", async () => {
  const { promise: free, resolve: release } = signalOf();
  const model = scripted(says("1"), calls("submit_output", { value: 3 }), calls("submit_output", { value: 4 }));
  await using runtime = await running({ model, plugins: [waitsFor(free)] });
  const session = await runtime.session();
  session.turn("First.");
  const even = z.number().refine((n) => n % 2 === 0, "It must be even.");
  const second = session.turn("Then.", { output: even });
  await second.id;
  release();
  const events = await eventsOf(second);
  expect((await second.result()).outcome).toMatchObject({ kind: "finished", value: 4 });
  expect(only(events, "committed")).toHaveLength(1);
  expect(JSON.stringify((await session.read()).messages)).toContain("It must be even.");
});

test("the model sees one schema, whether the turn ran at once or waited", async () => {
  const { promise: free, resolve: release } = signalOf();
  const hand = calls("submit_output", { value: [] });
  const model = scripted(hand, says("1"), hand);
  await using runtime = await running({ model, plugins: [waitsFor(free)] });
  const session = await runtime.session();
  await session.turn("Now.", { output: Tree as never }).result();
  session.turn("First.");
  const waits = session.turn("Then.", { output: Tree as never });
  await waits.id;
  release();
  await waits.result();
  const [now, , then] = model.requests.map(({ tools }) => tools.at(-1)?.inputSchema);
  expect(then).toEqual(now);
  expect(JSON.stringify(now)).not.toContain('"$ref":"#"'); // That would be the wrapper, not the list.
});
