import { definePlugin, defineTool, type Json, type Session, type SessionView, type Usage } from "bowline";
import { type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { both, calls, cut, says, scripted } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { end as finish, plays, text } from "../kit/models.ts";
import { eventually, nodesOf, outline, passed, signalOf, ticks, unheard, within } from "../kit/reading.ts";
import { ANSWERING, slowly } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, running, twoOn } from "../kit/worlds.ts";

const submits = (value: Json) => calls("submit_output", { value });
const MOOD = z.object({ mood: z.enum(["good", "bad"]) });

/** The ledger in short: `label model calls input`. */
const booked = ({ ledger }: SessionView) =>
  ledger.map(({ source, model, calls: n, usage }) => `${source} ${model} ${n} ${usage.input}`);

// ── Where ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(ANSWERING)(
  "S9 on the session: text, an object and a whole reply, each booked under its label, on a store that answers %s",
  async (_, store) => {
    const model = scripted(says("Words."), submits({ mood: "good" }), both(says("More."), calls("x", { n: 1 })));
    await using world = await open(model, { store: store() });
    const { session } = world;
    const words = await session.complete.text("Say something.", { label: "words" });
    const mood = await session.complete.object("How is it?", MOOD, { label: "mood" });
    expectTypeOf(mood).toEqualTypeOf<{ mood: "good" | "bad" }>();
    const reply = await session.complete.reply({
      system: "Be brief.",
      messages: [{ role: "user", parts: [{ kind: "text", text: "More." }] }],
      settings: { temperature: 0 },
    });
    expect([words, mood]).toEqual(["Words.", { mood: "good" }]);
    expect(reply).toMatchObject({ finish: "calls", usage: { input: 10, output: 5 }, route: "scripted/test" });
    expect(model.requests[0]).toMatchObject({ system: "", tools: [] });
    expect(outline(model.requests[0]?.messages ?? [])).toEqual(["user: Say something."]);
    expect(model.requests[2]).toMatchObject({ system: "Be brief.", settings: { temperature: 0 } });
    const view = await session.read();
    expect(booked(view)).toEqual(["words scripted/test 1 10", "mood scripted/test 1 10", "direct scripted/test 1 10"]);
    expect(view).toMatchObject({ usage: { input: 30, output: 15 }, turns: 0, messages: [] });
    expect(booked(await world.reread())).toEqual(booked(view));
  },
);

test("S9 in a task: what it spent is kept with what it did", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/sums",
    state: z.object({ summary: z.string().default("") }),
    setup: ({ task, query }) => ({
      operations: {
        sum: task({
          run: async ({ complete, session, state }) => {
            const words = await complete.text(`Sum up ${session.read().messages.length}.`, { label: "sums" });
            const { mood } = await complete.object("How is it?", MOOD, { label: "sums" });
            state.update(() => ({ summary: `${words} ${mood}` }));
          },
        }),
        summary: query({ run: ({ state }) => state.get().summary }),
      },
    }),
  });
  const model = scripted(says("Hello."), says("Short."), submits({ mood: "bad" }));
  await using world = await open(model, { store, plugins: [plugin] });
  await world.session.turn("Hi.").result();
  const before = (await store.load(world.session.id))?.revision ?? 0;
  await world.session.task(plugin, "sum");
  expect(await world.session.query(plugin, "summary")).toBe("Short. bad");
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(["user: Sum up 2."]);
  expect(booked(await world.session.read())).toEqual(["turn scripted/test 1 10", "sums scripted/test 2 20"]);
  expect((await store.load(world.session.id))?.revision).toBe(before + 1);
});

test("S9 in hooks of a turn: it is in the turn's usage and in the ledger under its label, once each", async () => {
  const plugin = definePlugin({
    id: "a/thinks",
    setup: () => ({
      context: async ({ complete, context }) => ({
        ...context,
        prompt: [{ slot: "context", text: await complete.text("Context?", { label: "context" }) }],
      }),
      prompt: async ({ complete }) => ({ slot: "environment", text: await complete.text("Prompt?") }),
      beforeToolCall: async ({ complete }) => void (await complete.text("Safe?", { label: "guard" })),
      afterToolCall: async ({ complete }) => void (await complete.text("Fine?", { label: "guard" })),
      lifecycle: async ({ event, complete }) => {
        if (event.kind === "turnFinalized") await complete.text("Title?", { label: "title" });
      },
    }),
  });
  const model = scripted(
    says("Of the context."),
    says("Of the prompt."),
    calls("ping"),
    says("Safe."),
    says("Fine."),
    says("Done."),
    says("Title."),
  );
  await using world = await open(model, { plugins: [plugin], tools: [ping] });
  const { outcome, usage } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(model.requests[2]?.system).toBe("Of the context.\n\nOf the prompt.");
  expect(usage).toMatchObject({ input: 70, output: 35 });
  const view = await world.session.read();
  expect([...booked(view)].sort()).toEqual([
    "context scripted/test 1 10",
    "direct scripted/test 1 10",
    "guard scripted/test 2 20",
    "title scripted/test 1 10",
    "turn scripted/test 2 20",
  ]);
  expect(view.usage).toMatchObject({ input: 70, output: 35 });
  expect(outline(view.messages)).toHaveLength(4);
});

test("S9 in an observer after the commit: it is booked afterwards, and in no turn", async () => {
  const plugin = definePlugin({
    id: "a/titles",
    setup: () => ({
      lifecycle: async ({ event, complete }) => {
        if (event.kind === "turnPersisted") await complete.text("Title?", { label: "title" });
        if (event.kind === "sessionRestored") await complete.text("Hello?", { label: "hello" });
      },
    }),
  });
  const model = scripted(says("Hello."), says("Done."), says("Title."), says("Hello."));
  await using world = await open(model, { plugins: [plugin] });
  const { usage } = await world.session.turn("Go.").result();
  expect(usage.input).toBe(10);
  await eventually(async () => booked(await world.session.read()).length === 3);
  expect([...booked(await world.session.read())].sort()).toEqual([
    "hello scripted/test 1 10",
    "title scripted/test 1 10",
    "turn scripted/test 1 10",
  ]);
});

test("S9 with another model, which is booked as that", async () => {
  const model = scripted();
  const other = { ...scripted(says("Other."), says("Other.")), id: "second" };
  await using world = await running({ model, models: (name) => (name === "second/test" ? other : undefined) });
  const session = await world.session();
  expect(await session.complete.text({ model: "second/test" }, { label: "x" })).toBe("Other.");
  await session.configure({ model: "second/test" });
  expect(await session.complete.text("Who?", { label: "x" })).toBe("Other.");
  expect(booked(await session.read())).toEqual(["x second/test 2 20"]);
});

// ── Structured ──────────────────────────────────────────────────────────────────────────────────────────────────────

test("S9 an object is asked for with its schema, and taken from a call or from words", async () => {
  const model = scripted(
    submits({ mood: "good" }),
    says('{"mood":"bad"}'),
    says('```json\n{"mood":"good"}\n```'),
    submits([1, 2]),
    submits("text"),
  );
  await using world = await open(model);
  const { complete } = world.session;
  expect(await complete.object("?", MOOD)).toEqual({ mood: "good" });
  expect(await complete.object("?", MOOD)).toEqual({ mood: "bad" });
  expect(await complete.object("?", MOOD)).toEqual({ mood: "good" });
  expect(await complete.object("?", z.array(z.number()))).toEqual([1, 2]);
  expect(await complete.object("?", z.string())).toBe("text");
  expect(model.requests[0]?.tools).toMatchObject([
    { inputSchema: { type: "object", properties: { value: { type: "object" } }, required: ["value"] } },
  ]);
});

test.each(ANSWERING)(
  "S9 an object that does not fit is sent back with what is wrong, at most twice, and every call is booked, on a store that answers %s",
  async (_, store) => {
    const model = scripted(submits({ mood: "so so" }), says("I am fine."), submits({ mood: "good" }));
    await using world = await open(model, { store: store() });
    expect(await world.session.complete.object("How is it?", MOOD, { label: "mood" })).toEqual({ mood: "good" });
    expect(outline(model.requests[1]?.messages ?? []).at(-1)).toMatch(/^user: The result is not valid: mood: /);
    expect(outline(model.requests[2]?.messages ?? [])).toHaveLength(3);
    expect(booked(await world.session.read())).toEqual(["mood scripted/test 3 30"]);
  },
);

test.each(ANSWERING)(
  "S9 an object that never fits is output.invalid after three calls, which are booked, on a store that answers %s",
  async (_, store) => {
    const model = scripted(...Array.from({ length: 4 }, () => submits({ mood: "so so" })));
    await using world = await open(model, { store: store() });
    await expect(world.session.complete.object("?", MOOD, { label: "mood" })).rejects.toMatchObject({
      code: "output.invalid",
      details: { problem: expect.stringContaining("mood") },
    });
    expect(model.requests).toHaveLength(3);
    expect(booked(await world.session.read())).toEqual(["mood scripted/test 3 30"]);
  },
);

test("S9 null, false, 0 and nothing said are objects like any other", async () => {
  const model = scripted(submits(null), submits(false), submits(0), submits(""));
  await using world = await open(model);
  const { complete } = world.session;
  expect(await complete.object("?", z.null())).toBe(null);
  expect(await complete.object("?", z.boolean())).toBe(false);
  expect(await complete.object("?", z.number())).toBe(0);
  expect(await complete.object("?", z.string())).toBe("");
});

// ── What goes wrong ─────────────────────────────────────────────────────────────────────────────────────────────────

test("S9 a failure is typed: of the provider with its class, and of an unknown model", async () => {
  const model = scripted(new ProviderFailure({ class: "auth", message: "No key." }));
  await using world = await open(model);
  const { session } = world;
  await expect(session.complete.text("?", { label: "x" })).rejects.toMatchObject({
    code: "provider.failed",
    details: { route: "scripted/test", class: "auth", problem: "No key." },
  });
  await expect(session.complete.text({ model: "nobody/knows" })).rejects.toMatchObject({
    code: expect.stringMatching(/^provider\./),
  });
  expect((await session.read()).usage).toMatchObject({ input: 0, output: 0 });
});

test("S9 an attempt that broke off is tried again, and what it may have cost is in the ledger", async () => {
  const model = scripted(cut("Wo"), says("Words."));
  await using world = await open(model);
  expect(await world.session.complete.text("?", { label: "x" })).toBe("Words.");
  expect((await world.session.read()).ledger).toMatchObject([
    { source: "x", usage: { input: 10, unknownCalls: 1 }, calls: 1 },
  ]);
});

test.each(["before", "while it speaks"])("S9 a completion ends with its signal: aborted %s", async (when) => {
  const began = signalOf();
  const model = plays(async function* (_, signal) {
    yield text("Wo");
    began.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    yield finish;
  });
  await using world = await open(model);
  const stop = new AbortController();
  if (when === "before") stop.abort();
  const completion = world.session.complete.text("?", { signal: stop.signal });
  if (when !== "before") await began.promise;
  stop.abort();
  await expect(within(completion)).rejects.toMatchObject({
    code: "provider.failed",
    details: { class: "cancelled" },
  });
  if (when === "before") expect(model.requests).toHaveLength(0);
});

test("S9 a completion in a hook ends when the turn is cancelled, and what it may have cost is counted", async () => {
  const began = signalOf();
  const plugin = definePlugin({
    id: "a/asks",
    setup: () => ({ context: async ({ complete }) => void (await complete.text("?", { label: "x" })) }),
  });
  const model = plays(async function* (_, signal) {
    yield text("Wo");
    began.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  });
  await using world = await open(model, { plugins: [plugin] });
  const turn = world.session.turn("Go.");
  await began.promise;
  await turn.cancel();
  const { outcome, usage } = await within(turn.result());
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(usage.unknownCalls).toBe(1);
});

test("S9 a task that fails after it asked a model has paid: the ledger has it, and nothing else is kept", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/pays",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ task, query }) => ({
      operations: {
        go: task({
          run: async ({ complete, state, emit }) => {
            state.update(() => ({ n: 1 }));
            emit("began");
            await complete.text("?", { label: "paid" });
            throw new Error("Ouch.");
          },
        }),
        n: query({ run: ({ state }) => state.get().n }),
      },
    }),
  });
  await using world = await open(scripted(says("Words.")), { store, plugins: [plugin] });
  await expect(world.session.task(plugin, "go")).rejects.toMatchObject({ code: "operation.failed" });
  expect(booked(await world.session.read())).toEqual(["paid scripted/test 1 10"]);
  expect(await world.session.query(plugin, "n")).toBe(0);
  expect(await nodesOf(store, world.session)).toEqual([]);
});

test("S9 what a hook that fails has spent is in the turn and in the ledger", async () => {
  const plugin = definePlugin({
    id: "a/pays",
    setup: () => ({
      context: async ({ complete }) => {
        await complete.text("?", { label: "paid" });
        throw new Error("Ouch.");
      },
    }),
  });
  await using world = await open(scripted(says("Words.")), { plugins: [plugin] });
  const { outcome, usage } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin" });
  expect(usage.input).toBe(10);
  expect(booked(await world.session.read())).toContain("paid scripted/test 1 10");
});

test("S9 each call at a gate is judged by its own completion, also when one reply makes several", async () => {
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({
      beforeToolCall: async ({ call, complete }) => {
        const verdict = await complete.text(`May ${JSON.stringify(call.input)} run?`, { label: "guard" });
        return verdict === "No." ? { kind: "deny" as const, reason: "The guard said no." } : undefined;
      },
      afterToolCall: async ({ call, complete }) => ({
        kind: "replaceResult" as const,
        value: await complete.text(`Shorten ${JSON.stringify(call.input)}.`, { label: "after" }),
      }),
    }),
  });
  const ran: number[] = [];
  const act = defineTool({
    name: "act",
    description: "Acts.",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => ran.push(n),
  });
  const model = scripted(
    both(calls("act", { n: 1 }), calls("act", { n: 2 }), calls("act", { n: 3 })),
    says("Yes."),
    says("No."),
    says("Yes."),
    says("First."),
    says("Second."),
    says("Third."),
    says("Done."),
  );
  await using world = await open(model, { plugins: [guard], tools: [act] });
  const { outcome, usage } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(ran).toEqual([1, 3]);
  const asked = model.requests.slice(1, 4).map(({ messages }) => outline(messages)[0]);
  expect(asked).toEqual([1, 2, 3].map((n) => `user: May {"n":${n}} run?`));
  expect(outline((await world.session.read()).messages).filter((line) => line.startsWith("act"))).toEqual([
    "act ok: First.",
    "act ok: Second.",
    "act ok: Third.",
  ]);
  expect(usage.input).toBe(80);
});

test("S9 plugins that complete beside each other are each given their own reply", async () => {
  const plugin = (id: string, wait: number) =>
    definePlugin({
      id,
      setup: () => ({
        lifecycle: async ({ event, complete, trace }) => {
          if (event.kind !== "turnFinalized") return;
          await passed(wait);
          const both = await Promise.all([complete.text(`${id} 1`), complete.text(`${id} 2`)]);
          trace.emit("heard", both);
        },
      }),
    });
  const heard: unknown[] = [];
  const model = {
    ...scripted(),
    async *stream({ messages }: { messages: Parameters<typeof outline>[0] }) {
      await passed(3);
      yield text(`re: ${outline(messages).at(-1)}`);
      yield finish;
    },
  };
  await using world = await open(model, {
    plugins: [plugin("a/a", 2), plugin("b/b", 0)],
    telemetry: onEvent(({ name, about }) => name.endsWith(".heard") && heard.push(about.payload)),
  });
  await world.session.turn("Go.").result();
  expect(heard.sort()).toEqual([
    ["re: user: a/a 1", "re: user: a/a 2"],
    ["re: user: b/b 1", "re: user: b/b 2"],
  ]);
});

// ── Booking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S9 completions on a session whose turn runs do not wait for it, and are booked once", async () => {
  const hold = signalOf();
  const began = signalOf();
  const model = plays(
    async function* () {
      yield text("Long");
      began.resolve();
      await hold.promise;
      yield finish;
    },
    async function* () {
      yield text("Aside.");
      yield finish;
    },
  );
  await using world = await open(model);
  const turn = world.session.turn("Go.");
  await began.promise;
  expect(await within(world.session.complete.text("?", { label: "aside" }))).toBe("Aside.");
  hold.resolve();
  await turn.result();
  await eventually(async () => booked(await world.session.read()).length === 2);
  expect(booked(await world.session.read())).toEqual(["turn played/test 1 10", "aside played/test 1 10"]);
});

test("S9 what a completion cost is booked when its words are given, on a store that answers later too", async () => {
  const model = scripted(says("One."), says("Two."));
  await using runtime = await running({ model, store: slowly(memory()) });
  const session = await runtime.session("s");
  for (const calls of [1, 2]) {
    await session.complete.text("?", { label: "x" });
    expect(booked(await session.read())).toEqual([`x scripted/test ${calls} ${calls * 10}`]);
  }
});

test.each(["at once", "later"])(
  "S9 whenever a completion ends during a turn, it is booked once, on a store that answers %s",
  async (when) => {
    for (let wait = 0; wait < 90; wait += 3) {
      const model = {
        ...scripted(),
        async *stream({ messages }: { messages: Parameters<typeof outline>[0] }) {
          if (outline(messages).at(-1) === "user: Aside?") await ticks(wait);
          yield text("Words.");
          yield finish;
        },
      };
      const store = when === "at once" ? memory() : slowly(memory());
      const runtime = await running({ store, model });
      const session = await runtime.session("s");
      const aside = session.complete.text("Aside?", { label: "aside" });
      await Promise.all([session.turn("Go.").result(), aside]);
      await passed(1);
      const view = await session.read();
      expect([...booked(view)].sort(), `${wait} ticks`).toEqual([
        "aside scripted/test 1 10",
        "turn scripted/test 1 10",
      ]);
      expect(view.usage.input, `${wait} ticks`).toBe(20);
      await runtime.close();
    }
  },
);

test("S9 a completion does not wait for another runtime's turn either, and is booked when that turn has ended", async () => {
  const hold = signalOf();
  const began = signalOf();
  const long = plays(async function* () {
    began.resolve();
    await hold.promise;
    yield text("Long.");
    yield finish;
  });
  await using world = await twoOn(memory(), { model: scripted(says("Aside.")) }, { model: long });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const turn = there.turn("Go.").result();
  await began.promise;
  const words = await within(here.complete.text("?", { label: "aside" })).catch(String);
  hold.resolve();
  await turn;
  expect(words).toBe("Aside.");
  await eventually(async () => booked(await here.read()).some((row) => row.startsWith("aside")));
});

test("S9 completions of two runtimes on one store are all booked", async () => {
  const model = scripted(...Array.from({ length: 6 }, () => says("Words.")));
  await using world = await twoOn(memory(), { model });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  for (const session of [here, there, here, there, there, here]) await session.complete.text("?", { label: "x" });
  await passed(20);
  expect(booked(await here.read())).toEqual(["x scripted/test 6 60"]);
});

test("S9 a tool may ask a model through its session: the words come, and what they cost is booked", async () => {
  const model = scripted(calls("think"), says("Thought."), says("Done."));
  const think = defineTool({
    name: "think",
    description: "Thinks.",
    input: z.object({}),
    execute: () => session.complete.text("?", { label: "tool" }),
  });
  const plugin = definePlugin({ id: "a/a", setup: ({ query }) => ({ operations: { x: query({ run: () => 1 }) } }) });
  const runtime = await running({ model, plugins: [plugin], tools: [think] });
  await using _ = runtime;
  const session: Session = await runtime.session();
  const failures = await unheard(async () => {
    await within(session.turn("Go.").result());
    await passed(20);
  });
  expect(failures).toEqual([]);
  expect(outline((await session.read()).messages)).toContain("think ok: Thought.");
  expect([...booked(await session.read())].sort()).toEqual(["tool scripted/test 1 10", "turn scripted/test 2 20"]);
});

test("S9 a completion of a closed session or runtime is refused", async () => {
  const runtime = await running();
  const session = await runtime.session("s");
  const { complete } = session;
  await session.close();
  expect(() => session.complete).toThrow(expect.objectContaining({ code: "session.closed" }));
  await runtime.close();
  const failures = await unheard(async () => {
    await complete.text("?").catch(() => {});
  });
  expect(failures).toEqual([]);
});

// ── Once ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A plugin that does something once under a name, in several hooks. */
function onceIn(hooks: readonly string[], names: (hook: string) => string) {
  const ran: string[] = [];
  const given: unknown[] = [];
  const plugin = (id: string) =>
    definePlugin({
      id,
      setup: () =>
        Object.fromEntries(
          hooks.map((hook) => [
            hook,
            async ({ once }: { once(name: string, run: () => Json): Promise<Json> }) => {
              given.push(
                await once(names(hook), () => {
                  ran.push(`${id} ${names(hook)}`);
                  return ran.length;
                }),
              );
            },
          ]),
        ) as object,
    });
  return { ran, given, plugin };
}

test("S9 once runs once in a turn under one name, whichever hooks ask, and again in the next turn", async () => {
  const { ran, given, plugin } = onceIn(["context", "beforeTurn", "request", "checkpoint", "afterTurn"], () => "same");
  const model = scripted(calls("ping"), says("Done."), says("Again."));
  await using world = await open(model, { plugins: [plugin("a/a")], tools: [ping] });
  await world.session.turn("Go.").result();
  expect(ran).toEqual(["a/a same"]);
  expect(new Set(given)).toEqual(new Set([1]));
  await world.session.turn("Go.").result();
  expect(ran).toHaveLength(2);
});

test("S9 once belongs to a plugin: names and plugins are distinguished", async () => {
  const { ran, plugin } = onceIn(["beforeTurn"], () => "same");
  const other = onceIn(["beforeTurn"], () => "other");
  await using world = await open(scripted(says("Done.")), {
    plugins: [plugin("a/a"), plugin("b/b"), other.plugin("c/c")],
  });
  await world.session.turn("Go.").result();
  expect([...ran, ...other.ran]).toEqual(["a/a same", "b/b same", "c/c other"]);
});

test("S9 once that is asked for twice at the same time runs once", async () => {
  let runs = 0;
  const plugin = definePlugin({
    id: "a/a",
    setup: () => ({
      beforeTurn: async ({ once }) => {
        const both = await Promise.all(
          [1, 2].map(() =>
            once("pay", async () => {
              await passed(2);
              return ++runs;
            }),
          ),
        );
        expect(both).toEqual([1, 1]);
      },
    }),
  });
  await using world = await open(scripted(says("Done.")), { plugins: [plugin] });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  expect(runs).toBe(1);
});

test("S9 once that failed runs again, and what is not JSON is refused", async () => {
  const answers: unknown[] = [];
  let tries = 0;
  const plugin = definePlugin({
    id: "a/a",
    setup: () => ({
      beforeTurn: async ({ once }) => {
        const attempt = () =>
          once("flaky", () => {
            if (++tries === 1) throw new Error("Ouch.");
            return tries;
          }).then(
            (value) => value,
            (error: Error) => error.message,
          );
        answers.push(await attempt(), await attempt(), await attempt());
        answers.push(await once("odd", () => (() => {}) as never).catch((error: { code: string }) => error.code));
        answers.push(await once("null", () => null), await once("null", () => 1));
      },
    }),
  });
  await using world = await open(scripted(says("Done.")), { plugins: [plugin] });
  await world.session.turn("Go.").result();
  expect(answers).toEqual(["Ouch.", 2, 2, "hook.answer", null, null]);
});

// ── Another model, other settings ───────────────────────────────────────────────────────────────────────────────────

test("S9 text and object take a model and settings, on the session, in a tool and in a hook, each booked under its model", async () => {
  const other = scripted(says("Session."), submits({ mood: "good" }), says("Hook."), says("Tool."));
  const options = { model: "other/test", settings: { temperature: 0.5 }, label: "side" };
  const plugin = definePlugin({
    id: "a/b",
    setup: () => ({
      context: async ({ complete, context }) => {
        await complete.text("In a hook.", options);
        return context;
      },
    }),
  });
  const tool = defineTool({
    name: "asks",
    description: "Asks.",
    input: z.object({}),
    execute: (_, { complete }) => complete.text("In a tool.", options),
  });
  const model = scripted(calls("asks"), says("Done."));
  const models = (name: string) => (name === "other/test" ? { ...other, id: "other" } : undefined);
  await using world = await open(model, { plugins: [plugin], tools: [tool], models });
  const { session } = world;
  expect(await session.complete.text("On the session.", options)).toBe("Session.");
  expect(await session.complete.object("How is it?", MOOD, options)).toEqual({ mood: "good" });
  await session.turn("Go.").result();
  expect(other.requests.map(({ settings }) => settings)).toEqual(Array(4).fill({ temperature: 0.5 }));
  expect(other.requests.flatMap(({ messages }) => outline(messages))).toEqual([
    "user: On the session.",
    "user: How is it?",
    "user: In a hook.",
    "user: In a tool.",
  ]);
  expect(booked(await session.read())).toEqual(["side other/test 4 40", "turn scripted/test 2 20"]);
});

test("S9 the model and settings of the options go before those of the request", async () => {
  const [one, two] = [scripted(says("One.")), scripted(says("Two."))];
  const models = (name: string) => ({ "x/one": one, "x/two": two })[name];
  await using world = await open(scripted(), { models });
  const request = { model: "x/one", settings: { seed: 1 }, messages: [{ role: "user" as const, parts: [] }] };
  expect(await world.session.complete.text(request)).toBe("One.");
  expect(await world.session.complete.text(request, { model: "x/two", settings: { seed: 2 } })).toBe("Two.");
  expect([one.requests[0]?.settings, two.requests[0]?.settings]).toEqual([{ seed: 1 }, { seed: 2 }]);
});

test("S9 a completion on a model that nothing resolves is refused by code, and is not booked", async () => {
  await using world = await open(scripted());
  const { complete } = world.session;
  await expect(complete.text("Hi.", { model: "no/such" })).rejects.toMatchObject({
    code: "provider.unconfigured",
    details: { name: "no/such" },
  });
  await expect(complete.text("Hi.", { model: 5 as never })).rejects.toMatchObject({ code: "options.invalid" });
  await expect(complete.text("Hi.", { settings: "hot" as never })).rejects.toMatchObject({ code: "options.invalid" });
  expect((await world.session.read()).ledger).toEqual([]);
});

test("S9 a completion on another model is recorded: a second run of the call asks nobody again", async () => {
  let runs = 0;
  const other = scripted(says("Once."));
  const tool = defineTool({
    name: "asks",
    description: "Asks.",
    input: z.object({}),
    retry: { policy: "idempotent", attempts: 2, baseMs: 0 },
    execute: async (_, { complete }) => {
      const said = await complete.text("Say.", { model: "other/test" });
      if (++runs === 1) throw new Error("Again.");
      return said;
    },
  });
  await using world = await open(scripted(calls("asks"), says("Done.")), { tools: [tool], models: () => other });
  await world.session.turn("Go.").result();
  expect([runs, other.requests.length]).toEqual([2, 1]);
  expect(outline((await world.session.read()).messages).join()).toContain("Once.");
});

test("S9 a completion reports its cost: text, a reply, and an object with its repairs, when it is booked", async () => {
  const model = scripted(says("Words."), submits({ mood: "odd" }), submits({ mood: "good" }), says("More."));
  await using world = await open(model);
  const { complete } = world.session;
  const told: (readonly [number, string])[] = [];
  const onUsage = ({ input }: Usage) => void told.push([input, "told"]);
  await complete.text("Say.", { onUsage });
  expect(await complete.object("How is it?", MOOD, { onUsage })).toEqual({ mood: "good" });
  await complete.reply({ messages: [] }, { onUsage });
  expect(told).toEqual([
    [10, "told"],
    [20, "told"],
    [10, "told"],
  ]);
  expect(await world.session.read()).toMatchObject({ usage: { input: 40 } });
});

test("S9 a completion that fails reports its possible cost; a completion that asked no model reports nothing", async () => {
  const told: Usage[] = [];
  const onUsage = (usage: Usage) => void told.push(usage);
  const wrong = scripted(...Array(3).fill(submits({ mood: "odd" })));
  await using world = await open(wrong);
  const asked = world.session.complete.object("How is it?", MOOD, { onUsage });
  await expect(asked).rejects.toMatchObject({ code: "output.invalid" });
  expect(told).toMatchObject([{ input: 30 }]);
  await using down = await open(scripted(new ProviderFailure({ class: "auth", message: "No." })));
  await expect(down.session.complete.text("Say.", { onUsage })).rejects.toMatchObject({ code: "provider.failed" });
  expect(told[1]).toEqual((await down.session.read()).usage);
  const { complete } = world.session;
  await expect(complete.text("Say.", { model: "no/such", onUsage })).rejects.toMatchObject({ details: {} });
  await expect(complete.text("Say.", { onUsage: 5 as never })).rejects.toMatchObject({ code: "options.invalid" });
  expect(told).toHaveLength(2);
});

test.each([
  [
    "throws",
    () => {
      throw new Error("Too much.");
    },
  ],
  [
    "rejects",
    async () => {
      throw new Error("Too much.");
    },
  ],
])("S9 an onUsage that %s fails the completion with its error, and what was paid stays booked", async (_, onUsage) => {
  await using world = await open(scripted(says("Words.")));
  await expect(world.session.complete.text("Say.", { onUsage })).rejects.toThrow("Too much.");
  expect(booked(await world.session.read())).toEqual(["direct scripted/test 1 10"]);
});

test("S9 a recorded completion reports its cost again in a second run of the call, and is booked once", async () => {
  const told: number[] = [];
  const tool = defineTool({
    name: "asks",
    description: "Asks.",
    input: z.object({}),
    retry: { policy: "idempotent", attempts: 2, baseMs: 0 },
    execute: async (_, { complete }) => {
      await complete.text("Say.", { label: "asks", onUsage: ({ input }) => void told.push(input) });
      if (told.length === 1) throw new Error("Again.");
    },
  });
  const model = scripted(calls("asks"), says("Once."), says("Done."));
  await using world = await open(model, { tools: [tool] });
  await world.session.turn("Go.").result();
  expect(told).toEqual([10, 10]);
  expect(booked(await world.session.read())).toContain("asks scripted/test 1 10");
});

test("S9 an attachment whose bytes are gone is store.corrupt with its name, and nobody is asked", async () => {
  const store = memory();
  const asked: unknown[] = [];
  const reads: Provider = {
    id: "reads",
    modelId: "test",
    async *stream({ messages }, { load }) {
      for (const { parts } of messages)
        for (const part of parts) if (part.kind === "attachment") asked.push((await load(part.hash)).byteLength);
      yield* says("Read.");
    },
  };
  await using world = await open(reads, { store });
  const attachment = { kind: "attachment" as const, hash: "f".repeat(64) as never, mediaType: "image/png", bytes: 4 };
  const request = { messages: [{ role: "user" as const, parts: [attachment] }] };
  await expect(world.session.complete.text(request)).rejects.toMatchObject({
    code: "store.corrupt",
    details: { item: `the attachment ${attachment.hash}` },
  });
  expect([asked, (await world.session.read()).ledger]).toEqual([[], []]);
});
