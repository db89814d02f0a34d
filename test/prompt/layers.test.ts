import { definePlugin, defineTool, type Message, type PromptPart, type TurnOptions } from "bowline";
import type { ModelRequest } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, plays, text } from "../kit/models.ts";
import { outline, signalOf, wordsOf } from "../kit/reading.ts";
import { lives } from "../kit/stores.ts";
import { ping, running, twoOn } from "../kit/worlds.ts";

const part = (words: string, more: Partial<PromptPart> = {}): PromptPart => ({
  slot: "guidance",
  text: words,
  ...more,
});
const systems = ({ requests }: { readonly requests: readonly ModelRequest[] }): readonly string[] =>
  requests.map(({ system }) => system);
/** What comes after the messages that stay. */
const tails = ({ requests }: { readonly requests: readonly ModelRequest[] }): readonly (readonly string[])[] =>
  requests.map(({ messages, stable = messages.length }) => messages.slice(stable).map(wordsOf));

// ── Layers ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K9 the layers follow each other: runtime, session, turn, then plugins; instructions come first", async () => {
  const model = scripted(says("Yes."));
  const plugin = definePlugin({ id: "a/a", setup: () => ({ prompt: () => part("plugin") }) });
  await using runtime = await running({
    model,
    plugins: [plugin],
    instructions: "instructions",
    prompt: [part("runtime intro", { slot: "intro" }), part("runtime")],
  });
  const session = await runtime.session("s", { config: { prompt: [part("session")] } });
  await session.turn("Go.", { prompt: [part("turn"), part("turn, first", { priority: -1 })] }).result();
  expect(systems(model)[0]?.split("\n\n")).toEqual([
    "instructions",
    "runtime intro",
    "turn, first",
    "runtime",
    "session",
    "turn",
    "plugin",
  ]);
});

test("K9 the same words in two layers are said once, where they come first", async () => {
  const model = scripted(says("Yes."));
  await using runtime = await running({ model, prompt: [part("Same."), part("Runtime.")] });
  const session = await runtime.session("s", { config: { prompt: [part(" Same.\n"), part("Session.")] } });
  await session.turn("Go.", { prompt: [part("Same.")] }).result();
  expect(systems(model)).toEqual(["Same.\n\nRuntime.\n\nSession."]);
});

test.each<readonly [string, readonly PromptPart[], readonly PromptPart[], string]>([
  ["a session's part that replaces", [part("S", { replaces: true })], [], "other\n\nS"],
  ["a turn's part that replaces", [part("S")], [part("T", { replaces: true })], "other\n\nT"],
  [
    "what follows the one that replaces in its own layer",
    [],
    [part("T", { replaces: true }), part("U")],
    "other\n\nT\n\nU",
  ],
  ["what came before it in its own layer", [], [part("T"), part("U", { replaces: true })], "other\n\nU"],
  ["an empty text that replaces", [part("S")], [part("", { replaces: true })], "other"],
  ["blanks that replace", [part("S")], [part(" \n", { replaces: true })], "other"],
  ["the same words that replace", [part("S")], [part("R", { replaces: true })], "other\n\nR"],
  ["two that replace", [part("S", { replaces: true })], [part("T", { replaces: true })], "other\n\nT"],
  [
    "one that replaces another slot",
    [part("S")],
    [part("other", { slot: "intro", replaces: true })],
    "other\n\nR\n\nS",
  ],
  [
    "a part of lower priority that replaces",
    [part("S", { priority: -5 })],
    [part("T", { replaces: true })],
    "other\n\nT",
  ],
])("K9 %s clears its slot, and no other", async (_, ofSession, ofTurn, system) => {
  const model = scripted(says("Yes."));
  await using runtime = await running({ model, prompt: [part("other", { slot: "intro" }), part("R")] });
  const session = await runtime.session("s", { config: { prompt: ofSession } });
  await session.turn("Go.", { prompt: ofTurn }).result();
  expect(systems(model)).toEqual([system]);
});

test("K9 a part that is left out because its tool is not there replaces nothing", async () => {
  const model = scripted(says("Yes."), says("Yes."));
  await using runtime = await running({ model, tools: [ping], prompt: [part("Search by hand.")] });
  const session = await runtime.session();
  const gated = part("Use the tool.", { replaces: true, tools: ["ping"] });
  await session.turn("With it.", { prompt: [gated] }).result();
  await session.turn("Without it.", { prompt: [{ ...gated, tools: ["search"] }] }).result();
  expect(systems(model)).toEqual(["Use the tool.", "Search by hand."]);
});

test("K9 the turn's layer is for that turn: the one before and the one after do without, in all rounds it stands", async () => {
  const model = scripted(says("1"), calls("ping"), says("2"), says("3"));
  await using runtime = await running({ model, tools: [ping], instructions: "Be kind." });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2", { prompt: [part("Briefly.")] }).result();
  await session.turn("3").result();
  expect(systems(model)).toEqual(["Be kind.", "Be kind.\n\nBriefly.", "Be kind.\n\nBriefly.", "Be kind."]);
});

test("K9 a turn that waits keeps its layer, whatever its caller does to the list meanwhile", async () => {
  const { promise: free, resolve: release } = signalOf();
  const model = scripted(says("1"), says("2"), says("3"));
  const plugin = definePlugin({
    id: "a/waits",
    setup: () => ({
      beforeTurn: ({ input }) => (wordsOf(input as Message) === "1" ? free : undefined) as Promise<void>,
    }),
  });
  await using runtime = await running({ model, plugins: [plugin] });
  const session = await runtime.session();
  const own: { slot: "guidance"; text: string }[] = [{ slot: "guidance", text: "Mine." }];
  const turns = [session.turn("1"), session.turn("2", { prompt: own }), session.turn("3")];
  await turns[1]?.id;
  (own[0] as { text: string }).text = "Changed.";
  own.push({ slot: "guidance", text: "Added." });
  release();
  for (const turn of turns) await turn.result();
  expect(systems(model)).toEqual(["", "Mine.", ""]);
});

test("K9 a layer is recorded with its input: another runtime that runs the turn has it", async () => {
  const { promise: free, resolve: release } = signalOf();
  const slow = defineTool({
    name: "slow",
    description: "-",
    input: z.object({}),
    execute: () => free.then(() => "ok"),
  });
  const store = memory();
  const [first, second] = [scripted(calls("slow"), says("1"), says("2")), scripted(says("2"))];
  await using both = await twoOn(store, { model: first, tools: [slow] }, { model: second, tools: [slow] });
  const here = await both.one.session("s");
  const running = here.turn("1");
  await running.id;
  const there = await both.two.session("s");
  const queued = there.turn("2", { prompt: [part("Elsewhere.")] });
  await queued.id;
  expect(await store.inputs.list(here.id)).toHaveLength(1);
  const joined = here.turn("3"); // The first runtime has work of its own, and takes what waits before it.
  await joined.id;
  release();
  expect((await queued.result()).outcome.kind).toBe("answered");
  const asked = [...first.requests, ...second.requests].filter(
    ({ messages }) => wordsOf(messages.findLast(({ role }) => role === "user")) === "2",
  );
  expect(asked.map(({ system }) => system)).toEqual(["Elsewhere."]);
  await joined.result();
});

test("K9 the same key with another layer, or with none, is input.conflict; with the same it joins", async () => {
  const model = scripted(says("Yes."));
  await using runtime = await running({ model });
  const session = await runtime.session();
  const of = (prompt?: readonly PromptPart[]) => session.turn("Go.", { key: "k", prompt }).result();
  const first = await of([part("A")]);
  expect(await of([part("A")])).toMatchObject({ turnId: first.turnId });
  await expect(of([part("B")])).rejects.toMatchObject({ code: "input.conflict" });
  await expect(of([part("A"), part("B")])).rejects.toMatchObject({ code: "input.conflict" });
  await expect(of()).rejects.toMatchObject({ code: "input.conflict" });
  expect(model.requests).toHaveLength(1);
});

test.each<readonly [string, unknown]>([
  ["no list", { slot: "guidance", text: "x" }],
  ["a slot that is not there", [{ slot: "end", text: "x" }]],
  ["no text", [{ slot: "guidance" }]],
  ["replaces: false", [{ slot: "guidance", text: "x", replaces: false }]],
  ["isVolatile: 1", [{ slot: "guidance", text: "x", isVolatile: 1 }]],
  ["a priority that is not a number", [{ slot: "guidance", text: "x", priority: Number.NaN }]],
])("K9 a layer with %s is options.invalid in every layer, and nothing is begun", async (_, prompt) => {
  const wrong = prompt as readonly PromptPart[];
  const model = scripted(says("Yes."));
  await expect(running({ model, prompt: wrong })).rejects.toMatchObject({ code: "options.invalid" });
  await using runtime = await running({ model });
  await expect(runtime.session("new", { config: { prompt: wrong } })).rejects.toMatchObject({
    code: "options.invalid",
  });
  const session = await runtime.session("s");
  await expect(session.configure({ prompt: wrong })).rejects.toMatchObject({ code: "options.invalid" });
  const turn = session.turn("Go.", { prompt: wrong } as TurnOptions);
  await expect(turn.result()).rejects.toMatchObject({ code: "options.invalid" });
  await expect(turn.result()).rejects.toThrow("prompt");
  expect([model.requests.length, (await session.read()).turns]).toEqual([0, 0]);
});

// ── Volatile parts ──────────────────────────────────────────────────────────────────────────────────────────────────

/** Counts the prompts it gave: a stable part, and a volatile one that is another every time. */
const clock = (more: Partial<PromptPart> = {}) => {
  const asked = { times: 0 };
  const plugin = definePlugin({
    id: "a/clock",
    setup: () => ({
      prompt: () => {
        asked.times++;
        return [
          part(`Asked ${asked.times}.`),
          part(`It is ${asked.times}.`, { slot: "environment", isVolatile: true, ...more }),
        ];
      },
    }),
  });
  return { asked, plugin };
};

test("K9 what is volatile is never in the system prompt: it is the last message, after those that stay", async () => {
  const { plugin, asked } = clock();
  const model = scripted(calls("ping"), calls("ping"), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin], instructions: "Be kind." });
  const session = await runtime.session();
  await session.turn("Go.").result();
  const round = ["calls ping", "ping ok: Pong."];
  expect(model.requests.map(({ messages }) => outline(messages))).toEqual([
    ["user: Go.", "user: It is 1."],
    ["user: Go.", ...round, "user: It is 2."],
    ["user: Go.", ...round, ...round, "user: It is 3."],
  ]);
  expect(model.requests.map(({ stable, messages }) => [stable, messages.length])).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
  ]);
  expect(model.requests.map(({ messages }) => messages.at(-1)?.origin)).toEqual(Array(3).fill({ kind: "runtime" }));
  expect(asked.times).toBe(3);
});

test("K9 the system prompt is the same to the byte in every round while volatile parts change: only those count again", async () => {
  const { plugin } = clock();
  const model = scripted(calls("ping"), calls("ping"), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin], instructions: "Be kind." });
  await (await runtime.session()).turn("Go.").result();
  expect(systems(model)).toEqual(Array(3).fill("Be kind.\n\nAsked 1."));
});

test("K9 messages of one round stand in the next word for word, up to `stable`, over turns too", async () => {
  const { plugin } = clock();
  const model = scripted(calls("ping"), says("One."), calls("ping"), says("Two."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2").result();
  const kept = model.requests.map(({ messages, stable }) => messages.slice(0, stable));
  for (const [index, before] of kept.slice(0, -1).entries())
    expect(kept[index + 1]?.slice(0, before.length)).toEqual(before);
});

test("K9 what is volatile is never kept: neither read nor seen by plugins, nor by another runtime", async () => {
  const { plugin } = clock();
  const seen: (readonly string[])[] = [];
  const reads = definePlugin({
    id: "b/reads",
    setup: () => ({
      context: ({ context }) => void seen.push(outline(context.messages)),
      response: ({ session }) => void seen.push(outline(session.read().messages)),
      afterTurn: ({ report, session }) => void seen.push(outline(report.messages), outline(session.read().messages)),
    }),
  });
  const store = memory();
  const model = scripted(calls("ping"), says("Done."));
  const runtime = await running({ store, model, tools: [ping], plugins: [plugin, reads] });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  await turn.result();
  const whole = ["user: Go.", "calls ping", "ping ok: Pong.", "assistant: Done."];
  expect(outline((await session.read()).messages)).toEqual(whole);
  expect(JSON.stringify(seen)).not.toContain("It is");
  await using other = await running({ store });
  expect(outline((await (await other.session("s")).read()).messages)).toEqual(whole);
});

test("K9 without volatile parts the prompt hook runs once a turn, and no request marks the stable part", async () => {
  let asked = 0;
  const plugin = definePlugin({ id: "a/a", setup: () => ({ prompt: () => part(`Asked ${++asked}.`) }) });
  const model = scripted(calls("ping"), calls("ping"), says("Done."), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  await session.turn("Go.").result();
  expect(asked).toBe(2);
  expect(model.requests.map(({ stable }) => stable)).toEqual(Array(4).fill(undefined));
});

test("K9 a volatile part follows the state that a tool of this turn has written", async () => {
  const plugin = definePlugin({
    id: "a/todo",
    state: z.object({ open: z.number().default(3) }),
    setup: ({ tool }) => ({
      prompt: ({ state }) => part(`Open: ${state.get().open}`, { isVolatile: true }),
      tools: [
        tool({
          name: "done",
          description: "Ticks one off.",
          input: z.object({}),
          writes: true,
          execute: (_, { state }) => {
            state.update(({ open }) => ({ open: open - 1 }));
            return "ok";
          },
        }),
      ],
    }),
  });
  const model = scripted(calls("done"), calls("done"), says("One left."));
  await using runtime = await running({ model, plugins: [plugin] });
  await (await runtime.session()).turn("Go.").result();
  expect(tails(model)).toEqual([["Open: 3"], ["Open: 2"], ["Open: 1"]]);
});

test("K9 any layer may be volatile: it is said at the end of every round, merged like the rest", async () => {
  const { plugin } = clock({ slot: "guidance" });
  const volatile = { isVolatile: true } as const;
  const model = scripted(calls("ping"), says("Done."));
  await using runtime = await running({
    model,
    tools: [ping],
    plugins: [plugin],
    prompt: [part("Runtime.", { ...volatile, title: "Now" }), part("Stays.")],
  });
  const session = await runtime.session("s", { config: { prompt: [part("Session.", volatile)] } });
  await session
    .turn("Go.", { prompt: [part("Turn.", { ...volatile, priority: -1 }), part("Session.", volatile)] })
    .result();
  expect(systems(model)).toEqual(Array(2).fill("Stays.\n\nAsked 1."));
  expect(tails(model)).toEqual([
    ["Turn.\n\n## Now\n\nRuntime.\n\nSession.\n\nIt is 1."],
    ["Turn.\n\n## Now\n\nRuntime.\n\nSession.\n\nIt is 2."],
  ]);
});

test("K9 a volatile part that comes and goes is there in the rounds for which it is given", async () => {
  const said = ["First.", "", "Third.", undefined, "Fifth."];
  let round = 0;
  const plugin = definePlugin({
    id: "a/now-and-then",
    setup: () => ({
      prompt: () => {
        const words = said[round++];
        return words === undefined ? [] : [part(words, { isVolatile: true })];
      },
    }),
  });
  const model = scripted(calls("ping"), calls("ping"), calls("ping"), calls("ping"), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin] });
  await (await runtime.session()).turn("Go.").result();
  expect(tails(model)).toEqual([["First."], [], ["Third."], [], ["Fifth."]]);
});

test("K9 a volatile part whose text is empty at first is asked for again", async () => {
  let round = 0;
  const plugin = definePlugin({
    id: "a/later",
    setup: () => ({ prompt: () => part(round++ === 0 ? "" : `Round ${round}.`, { isVolatile: true }) }),
  });
  const model = scripted(calls("ping"), calls("ping"), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin] });
  await (await runtime.session()).turn("Go.").result();
  expect(tails(model)).toEqual([[], ["Round 2."], ["Round 3."]]);
});

test("K9 a volatile part of a context hook stands in all rounds, beside a prompt hook that has volatile ones too", async () => {
  const { plugin } = clock();
  const found = definePlugin({
    id: "b/found",
    setup: () => ({
      context: ({ context }) => ({ ...context, prompt: [part("Found.", { isVolatile: true, slot: "context" })] }),
    }),
  });
  const model = scripted(calls("ping"), says("Done."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin, found] });
  await (await runtime.session()).turn("Go.").result();
  expect(tails(model)).toEqual([["Found.\n\nIt is 1."], ["Found.\n\nIt is 2."]]);
});

test("K9 a prompt hook that fails in a later round fails the turn by its plugin, with what was said so far", async () => {
  let round = 0;
  const plugin = definePlugin({
    id: "b/sick",
    setup: () => ({
      prompt: () => {
        if (++round === 2) throw new Error("Ouch.");
        return part("Now.", { isVolatile: true });
      },
    }),
  });
  const model = scripted([text("Let me see."), ...calls("ping")], says("Never."));
  await using runtime = await running({ model, tools: [ping], plugins: [plugin] });
  const session = await runtime.session();
  const { outcome } = await session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed", text: "Let me see." });
  expect(outline((await session.read()).messages).at(-1)).toBe("ping ok: Pong.");
});

test("K9 request hooks are shown the volatile message, and may take it away", async () => {
  const { plugin } = clock();
  const seen: unknown[] = [];
  const drops = definePlugin({
    id: "b/drops",
    setup: () => ({
      request: ({ request }) => {
        seen.push([request.stable, request.messages.length]);
        return { ...request, messages: request.messages.slice(0, request.stable) };
      },
    }),
  });
  const model = scripted(says("Done."));
  await using runtime = await running({ model, plugins: [plugin, drops] });
  await (await runtime.session()).turn("Go.").result();
  expect(seen).toEqual([[1, 2]]);
  expect(outline(model.requests[0]?.messages ?? [])).toEqual(["user: Go."]);
});

// ── Parts that need a tool ──────────────────────────────────────────────────────────────────────────────────────────

const hidden = { ...ping, availability: "searchable" } as const;
const opens = definePlugin({
  id: "z/opens",
  setup: ({ tool }) => ({
    tools: [
      tool({
        name: "open",
        description: "Opens ping, or shuts it.",
        input: z.object({ to: z.enum(["callable", "off"]) }),
        writes: true,
        execute: ({ to }, { membership }) => {
          membership.set("ping", to);
          return "ok";
        },
      }),
    ],
  }),
});

test("K9 parts that need a tool come and go with it in the middle of a turn, stable and volatile ones alike", async () => {
  const model = scripted(
    calls("open", { to: "callable" }),
    calls("open", { to: "off" }, "again"),
    says("Done."),
    says("Done."),
  );
  await using runtime = await running({
    model,
    tools: [hidden],
    plugins: [opens],
    prompt: [
      part("Always."),
      part("How to ping.", { tools: ["ping"] }),
      part("Ping is there.", { tools: ["ping"], isVolatile: true }),
    ],
  });
  const session = await runtime.session();
  await session.turn("Go.").result();
  await session.turn("Go.").result();
  expect(systems(model)).toEqual(["Always.", "Always.\n\nHow to ping.", "Always.", "Always."]);
  expect(tails(model)).toEqual([[], ["Ping is there."], [], []]);
});

test("K9 when the tools change, the stable parts of plugins are those of the turn's beginning", async () => {
  let asked = 0;
  const plugin = definePlugin({
    id: "a/a",
    setup: () => ({ prompt: () => [part(`Asked ${++asked}.`), part("How to ping.", { tools: ["ping"] })] }),
  });
  const model = scripted(calls("open", { to: "callable" }), says("Done."));
  await using runtime = await running({ model, tools: [hidden], plugins: [plugin, opens] });
  await (await runtime.session()).turn("Go.").result();
  expect(systems(model)).toEqual(["Asked 1.", "Asked 1.\n\nHow to ping."]);
  expect(asked).toBe(1);
});

test("K9 a later turn whose tools change keeps the words of the runtime and of the session", async () => {
  const model = scripted(says("1"), says("2"), calls("open", { to: "callable" }), says("3"));
  const prompt = [part("Runtime."), part("How to ping.", { tools: ["ping"] })];
  await using runtime = await running({ model, tools: [hidden], plugins: [opens], instructions: "Be kind.", prompt });
  const session = await runtime.session();
  for (const words of ["1", "2", "3"]) await session.turn(words).result();
  const plain = "Be kind.\n\nRuntime.";
  expect(systems(model)).toEqual([plain, plain, plain, `${plain}\n\nHow to ping.`]);
});

test("K9 a volatile layer whose tool comes in the middle of a later turn is said from then on", async () => {
  const model = scripted(says("1"), calls("open", { to: "callable" }), says("2"), says("3"));
  const prompt = [part("Ping is there.", { tools: ["ping"], isVolatile: true })];
  await using runtime = await running({ model, tools: [hidden], plugins: [opens], prompt });
  const session = await runtime.session();
  for (const words of ["1", "2", "3"]) await session.turn(words).result();
  expect(tails(model)).toEqual([[], [], ["Ping is there."], ["Ping is there."]]);
});

// ── After a crash ───────────────────────────────────────────────────────────────────────────────────────────────────

test("K9 a resumed turn has the prompt it began with in all rounds that follow, and asks for volatile parts once a round", async () => {
  const { asked, plugin } = clock();
  const { next, kill } = lives(memory());
  const began = signalOf();
  const model = plays(
    async function* () {
      yield* calls("ping");
    },
    // biome-ignore lint/correctness/useYield: it never says anything
    async function* (_, signal) {
      began.resolve();
      await aborted(signal);
    },
  );
  const options = { tools: [ping], plugins: [plugin], instructions: "Be kind." };
  const first = await running({ ...options, store: next(), model });
  (await first.session("s"))
    .turn("Go.", { key: "k", prompt: [part("Turn.")] })
    .result()
    .catch(() => {});
  await began.promise;
  kill();
  asked.times = 100; // Another process: what its plugins say now need not be what they said then.
  const again = scripted(calls("ping"), calls("ping"), says("Done."));
  const second = await running({ ...options, store: next(), model: { ...again, id: "played" } });
  const { outcome } = await (await second.session("s")).turn("Go.", { key: "k", prompt: [part("Turn.")] }).result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(systems({ requests: [...model.requests, ...again.requests] })).toEqual(
    Array(5).fill("Be kind.\n\nTurn.\n\nAsked 1."),
  );
  expect(tails(model)).toEqual([["It is 1."], ["It is 2."]]);
  expect(tails(again)).toEqual([["It is 2."], ["It is 101."], ["It is 102."]]);
});

test("K9 a resumed turn whose tools change keeps the words that its context hook gave", async () => {
  const { next, kill } = lives(memory());
  const began = signalOf();
  const finds = definePlugin({
    id: "a/finds",
    setup: () => ({
      context: ({ context }) => ({ ...context, prompt: [part("Found.")] }),
      prompt: () => part("How to ping.", { tools: ["ping"] }),
    }),
  });
  const options = { tools: [hidden], plugins: [finds, opens] };
  // biome-ignore lint/correctness/useYield: it never says anything
  const model = plays(async function* (_, signal) {
    began.resolve();
    await aborted(signal);
  });
  const first = await running({ ...options, store: next(), model });
  (await first.session("s"))
    .turn("Go.", { key: "k" })
    .result()
    .catch(() => {});
  await began.promise;
  kill();
  const again = scripted(calls("open", { to: "callable" }), says("Done."));
  const second = await running({ ...options, store: next(), model: { ...again, id: "played" } });
  await (await second.session("s")).turn("Go.", { key: "k" }).result();
  expect(systems(again)).toEqual(["Found.", "Found.\n\nHow to ping."]);
});
