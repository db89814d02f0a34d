import { definePlugin, defineTool } from "bowline";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { both, calls, cut, says, scripted, thinks } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { end, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, shown, ticks } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

let pings = 0;
const ping = defineTool({
  name: "ping",
  description: "Pings.",
  input: z.object({}),
  execute: () => {
    pings++;
    return "Pong.";
  },
});

type Chunk = { readonly kind: "text" | "reasoning"; readonly delta: string; readonly isEnd?: true };
type Answer = { readonly delta?: string; readonly abort?: true } | undefined | void;

/** Holds all back until the end, then says it in capitals. */
const holds = (id = "a/holds", isAsync = false) => {
  let held = "";
  const run = ({ chunk: { delta, isEnd } }: { readonly chunk: Chunk }): Answer => {
    held += delta;
    if (isEnd !== true) return { delta: "" };
    const all = held.toUpperCase();
    held = "";
    return { delta: all };
  };
  const late = async (event: { readonly chunk: Chunk }) => {
    await ticks(3);
    return run(event);
  };
  return definePlugin({
    id,
    setup: () => ({
      stream: { atEnd: true, run: isAsync ? late : run },
      streamFinished: ({ reason }) => {
        if (reason !== "complete") held = "";
      },
    }),
  });
};
/** Tells what it is shown, and changes nothing. */
const watches = (seen: Chunk[], atEnd?: true, id = "b/watches") =>
  definePlugin({
    id,
    setup: () => ({
      stream: { ...(atEnd === undefined ? {} : { atEnd }), run: ({ chunk }) => void seen.push(chunk) },
    }),
  });

test("K11 a handler with atEnd receives the end once, after the last delta, and can add the text that it held back", async () => {
  const seen: Chunk[] = [];
  const model = scripted(says("Hel", "lo."));
  await using world = await open(model, { plugins: [watches(seen, true, "a/before"), holds()] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect(seen).toEqual([
    { kind: "text", delta: "Hel" },
    { kind: "text", delta: "lo." },
    { kind: "text", delta: "", isEnd: true },
  ]);
  expect(shown(events)).toBe("HELLO.");
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "HELLO." });
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: HELLO."]);
});

test("K11 the end comes before a tool call too: what was held back stands before it, and what follows is a new text", async () => {
  const seen: Chunk[] = [];
  const reply: readonly ModelPart[] = [
    text("before"),
    ...calls("ping").slice(0, 1),
    text("between"),
    ...calls("ping", {}, "again"),
  ];
  const model = scripted(reply, says("after"));
  await using world = await open(model, { tools: [ping], plugins: [holds(), watches(seen, true)] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)).toEqual([
    "user: Go.",
    "assistant: BEFORE",
    "calls ping",
    "assistant: BETWEEN",
    "calls ping",
    "ping ok: Pong.",
    "ping ok: Pong.",
    "assistant: AFTER",
  ]);
  expect(seen.filter(({ isEnd }) => isEnd).map(({ delta }) => delta)).toEqual(["BEFORE", "BETWEEN", "AFTER"]);
});

test("K11 handlers without atEnd are not called for an empty end, and see held back text as a delta like any", async () => {
  const [first, last]: [Chunk[], Chunk[]] = [[], []];
  await using world = await open(scripted(says("a", "b")), {
    plugins: [watches(first, undefined, "a/first"), holds("b/holds"), watches(last, undefined, "c/last")],
  });
  await world.session.turn("Go.").result();
  expect(first).toEqual([
    { kind: "text", delta: "a" },
    { kind: "text", delta: "b" },
  ]);
  expect(last).toEqual([
    { kind: "text", delta: "" },
    { kind: "text", delta: "" },
    { kind: "text", delta: "AB" },
  ]);
});

test("K11 two that hold back: the second is given the first's words with the end, and has the last one", async () => {
  const plugins = [holds("a/holds"), holds("b/holds")];
  const wraps = definePlugin({
    id: "c/wraps",
    setup: () => ({ stream: ({ chunk: { delta } }) => (delta === "" ? undefined : { delta: `<${delta}>` }) }),
  });
  await using world = await open(scripted(says("a", "b")), { plugins: [...plugins, wraps] });
  const turn = world.session.turn("Go.");
  expect(shown(await eventsOf(turn))).toBe("<AB>");
});

test("K11 the end of a reply that calls without text is not reported", async () => {
  const seen: Chunk[] = [];
  await using world = await open(scripted(calls("ping"), says("Done.")), {
    tools: [ping],
    plugins: [watches(seen, true)],
  });
  await world.session.turn("Go.").result();
  expect(seen).toEqual([
    { kind: "text", delta: "Done." },
    { kind: "text", delta: "", isEnd: true },
  ]);
});

test("K11 one plugin may have handlers with and without atEnd, in their own order", async () => {
  const heard: string[] = [];
  const plugin = definePlugin({
    id: "a/two",
    setup: () => ({
      stream: [
        {
          order: "late",
          atEnd: true,
          run: ({ chunk }) => void heard.push(`late ${chunk.delta}${chunk.isEnd ? "|" : ""}`),
        },
        ({ chunk }) => void heard.push(`plain ${chunk.delta}`),
      ],
    }),
  });
  await using world = await open(scripted(says("x")), { plugins: [plugin] });
  await world.session.turn("Go.").result();
  expect(heard).toEqual(["plain x", "late x", "late |"]);
});

test.each(["at once", "later"])("K11 handlers that answer %s keep the order of what is said", async (how) => {
  const seen: Chunk[] = [];
  const model = scripted([text("a"), text("b"), ...calls("ping")], says("c"));
  await using world = await open(model, {
    tools: [ping],
    plugins: [holds("a/holds", how === "later"), watches(seen, true)],
  });
  const turn = world.session.turn("Go.");
  expect(shown(await eventsOf(turn))).toBe("ABC");
  expect(outline((await world.session.read()).messages)).toEqual([
    "user: Go.",
    "assistant: AB",
    "calls ping",
    "ping ok: Pong.",
    "assistant: C",
  ]);
});

test("K11 an end with reasoning and events: both are shown, before the words", async () => {
  const plugin = definePlugin({
    id: "a/adds",
    setup: () => ({
      stream: {
        atEnd: true,
        run: ({ chunk }) =>
          chunk.isEnd ? { delta: "!", reasoning: "Enough.", events: [{ name: "ended", payload: 1 }] } : undefined,
      },
    }),
  });
  await using world = await open(scripted(says("Hi")), { plugins: [plugin] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect([shown(events), shown(events, "reasoning")]).toEqual(["Hi!", "Enough."]);
  expect(only(events, "plugin")).toMatchObject([{ plugin: "a/adds", name: "ended", payload: 1 }]);
});

// ── Reasoning ───────────────────────────────────────────────────────────────────────────────────────────────────────

test("K11 reasoning that ends in a call has its end, with the same kind", async () => {
  const seen: Chunk[] = [];
  const model = scripted(thinks("Hm.", calls("ping")), says("Done."));
  await using world = await open(model, { tools: [ping], plugins: [watches(seen, true)] });
  await world.session.turn("Go.").result();
  expect(seen.slice(0, 2)).toEqual([
    { kind: "reasoning", delta: "Hm." },
    { kind: "reasoning", delta: "", isEnd: true },
  ]);
});

test("K11 reasoning that is followed by text has its end before it: a filter by kind loses nothing", async () => {
  const held = { text: "", reasoning: "" };
  const plugin = definePlugin({
    id: "a/by-kind",
    setup: () => ({
      stream: {
        atEnd: true,
        run: ({ chunk: { kind, delta, isEnd } }) => {
          held[kind] += delta;
          if (isEnd !== true) return { delta: "" };
          const all = held[kind];
          held[kind] = "";
          return { delta: all };
        },
      },
    }),
  });
  await using world = await open(scripted(thinks("Hm.", says("Yes."))), { plugins: [plugin] });
  const events = await eventsOf(world.session.turn("Go."));
  expect([shown(events, "reasoning"), shown(events)]).toEqual(["Hm.", "Yes."]);
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "thinks: Hm.", "assistant: Yes."]);
});

// ── When it goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────

const quickly = { limits: { throttleMs: 1 } };

test("K11 an attempt that breaks off has no end: held-back text is neither shown nor kept, and the next attempt begins from nothing", async () => {
  const seen: Chunk[] = [];
  const reasons: string[] = [];
  const tells = definePlugin({
    id: "c/tells",
    setup: () => ({ streamFinished: ({ reason }) => void reasons.push(reason) }),
  });
  const model = scripted(cut("half"), says("whole"));
  await using world = await open(model, { ...quickly, plugins: [watches(seen, true, "a/a"), holds("b/holds"), tells] });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect(shown(events)).toBe("WHOLE");
  expect(only(events, "text").map(({ delta }) => delta)).toEqual(["WHOLE"]);
  expect(only(events, "retracted")).toEqual([]); // Nothing had been shown.
  expect(seen.map(({ delta, isEnd }) => (isEnd ? "|" : delta))).toEqual(["half", "whole", "|"]);
  expect(reasons).toEqual(["attempt-reset", "complete"]);
});

test("K11 an attempt that had ended a text before a call and then breaks off retracts what it said then", async () => {
  const model = scripted([text("first"), ...calls("ping").slice(0, 1)], says("second"));
  await using world = await open(model, { ...quickly, tools: [ping], plugins: [holds()] });
  pings = 0;
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect(only(events, "text").map(({ delta }) => delta)).toEqual(["FIRST", "SECOND"]);
  expect(only(events, "retracted")).toHaveLength(1);
  expect([shown(events), pings]).toEqual(["SECOND", 0]);
  expect(outline((await world.session.read()).messages)).toEqual(["user: Go.", "assistant: SECOND"]);
});

test("K11 a call that fails for good keeps what was shown, and not what was held back", async () => {
  const auth = new ProviderFailure({ class: "auth", message: "No key." });
  const model = plays(async function* () {
    yield text("shown ");
    yield text("held");
    throw auth;
  });
  const plugin = definePlugin({
    id: "a/holds-some",
    setup: () => ({
      stream: { atEnd: true, run: ({ chunk }) => (chunk.delta === "held" ? { delta: "" } : undefined) },
    }),
  });
  await using world = await open(model, { plugins: [plugin] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "provider",
    text: "shown ",
  });
});

const abortsAtEnd = (words: string) =>
  definePlugin({
    id: "a/aborts",
    setup: () => ({
      stream: { atEnd: true, run: ({ chunk }) => (chunk.isEnd ? { delta: words, abort: true } : undefined) },
    }),
  });

test("K11 an abort at the end ends the reply with the text so far, and what it cost is known", async () => {
  await using world = await open(scripted(says("Said.")), { plugins: [abortsAtEnd(" Enough.")] });
  const { outcome, usage } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Said. Enough." });
  expect(usage).toMatchObject({ input: 10, output: 5, unknownCalls: 0 });
});

test("K11 an abort at the end of the text before a call: the reply ends there, and the call is not made", async () => {
  pings = 0;
  const model = scripted([text("Let me see."), ...calls("ping")], says("Never."));
  await using world = await open(model, { tools: [ping], plugins: [abortsAtEnd("")] });
  const { outcome } = await world.session.turn("Go.").result();
  expect([outcome, pings, model.requests.length]).toMatchObject([{ kind: "answered", text: "Let me see." }, 0, 1]);
});

test("K11 after an abort no more text is shown, also no held-back text: streamFinished notifies the handler that holds it", async () => {
  const reasons: string[] = [];
  const aborts = definePlugin({
    id: "b/aborts",
    setup: () => ({
      stream: ({ chunk }) => (chunk.delta === "" ? { delta: "Stop.", abort: true } : undefined),
      streamFinished: ({ reason }) => void reasons.push(reason),
    }),
  });
  const seen: Chunk[] = [];
  const model = scripted(says("held", "never"), says("again"));
  await using world = await open(model, { plugins: [watches(seen, true, "a/first"), holds("a/holds"), aborts] });
  expect((await world.session.turn("1").result()).outcome).toMatchObject({ kind: "answered", text: "Stop." });
  expect(seen).toEqual([{ kind: "text", delta: "held" }]);
  expect((await world.session.turn("2").result()).outcome).toMatchObject({ text: "Stop." });
  expect(reasons).toEqual(["aborted", "aborted"]);
});

test.each(["throws", "rejects", "answers nonsense"])(
  "K11 a handler that %s at the end fails the call, which is not tried again",
  async (how) => {
    const plugin = definePlugin({
      id: "b/sick",
      setup: () => ({
        stream: {
          atEnd: true,
          run: ({ chunk }): Answer | Promise<Answer> => {
            if (chunk.isEnd !== true) return;
            if (how === "rejects") return Promise.reject(new Error("Ouch."));
            if (how === "throws") throw new Error("Ouch.");
            return { delta: 7 } as unknown as Answer;
          },
        },
      }),
    });
    const model = scripted(says("Said."), says("Never."));
    await using world = await open(model, { plugins: [plugin] });
    const { outcome } = await world.session.turn("Go.").result();
    const code = how === "answers nonsense" ? "hook.answer" : "hook.failed";
    expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code, text: "Said." });
    expect(model.requests).toHaveLength(1);
  },
);

test("K11 a turn that is cancelled while a handler waits at the end ends stopped, and shows no more text", async () => {
  const waiting = Promise.withResolvers<void>();
  const plugin = definePlugin({
    id: "a/waits",
    setup: () => ({
      stream: {
        atEnd: true,
        run: ({ chunk, signal }): Answer | Promise<Answer> => {
          if (chunk.isEnd !== true) return;
          waiting.resolve();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ delta: "Late." })));
        },
      },
    }),
  });
  await using world = await open(scripted(says("Said.")), { plugins: [plugin] });
  const turn = world.session.turn("Go.");
  await waiting.promise;
  await turn.cancel("Enough.");
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "Said." });
});

test.each(["response", "prompt", "beforeToolCall", "lifecycle", "streamFinished"] as const)(
  "K11 atEnd on %s is plugin.invalid when the session opens, and names the hook",
  async (hook) => {
    const setup = (): { readonly [H in typeof hook]?: { readonly atEnd: true; run(): void } } => ({
      [hook]: { atEnd: true, run: () => {} },
    });
    const plugin = definePlugin({ id: "b/wrong", setup });
    await expect(open(scripted(), { plugins: [plugin] })).rejects.toMatchObject({
      code: "plugin.invalid",
      details: { plugin: "b/wrong", problem: expect.stringContaining(hook) },
    });
  },
);

test("K11 atEnd: false is as if it was not there", async () => {
  const seen: Chunk[] = [];
  const setup = () => ({
    stream: { atEnd: false as unknown as true, run: ({ chunk }: { chunk: Chunk }) => void seen.push(chunk) },
  });
  await using world = await open(scripted(says("x")), { plugins: [definePlugin({ id: "a/a", setup })] });
  await world.session.turn("Go.").result();
  expect(seen).toEqual([{ kind: "text", delta: "x" }]);
});

test("K11 parts that a provider gives in one piece are taken one by one, the end among them", async () => {
  const model = plays(
    async function* () {
      yield [
        text("a"),
        text("b"),
        ...both(calls("ping")).slice(0, 1),
        text("c"),
        { ...end, reason: "calls" } as ModelPart,
      ];
    },
    async function* () {
      yield* says("Done.");
    },
  );
  await using world = await open(model, { tools: [ping], plugins: [holds()] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages).slice(0, 4)).toEqual([
    "user: Go.",
    "assistant: AB",
    "calls ping",
    "assistant: C",
  ]);
});
