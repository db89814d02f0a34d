import { definePlugin, defineTool, type Message, switchFrame, type TelemetryEvent } from "bowline";
import type { Compaction } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { NO_USAGE } from "../../src/model/usage.ts";
import { call, overflow, text } from "../kit/models.ts";
import { eventually, nodesOf, outline, wordsOf } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { lifetimes, named, open, ping } from "../kit/worlds.ts";

const message = (id: string, words: string): Message =>
  ({ id, role: "user", parts: [{ kind: "text", text: words }] }) as unknown as Message;

// ── K7 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K7 context transforms pipe: each is given what the one before made of it", async () => {
  const seen: unknown[] = [];
  const adds = (id: string, words: string, order?: "late") =>
    definePlugin({
      id,
      ...(order === undefined ? {} : { order }),
      setup: () => ({
        context: async ({ context }) => {
          seen.push([id, outline(context.messages), context.prompt.map(({ text }) => text)]);
          return {
            messages: [...context.messages, message(`m-${id}`, words)],
            prompt: [...context.prompt, { slot: "context", text: words }],
          };
        },
      }),
    });
  const silent = definePlugin({ id: "b/silent", setup: () => ({ context: () => undefined }) });
  const model = scripted(says("Done."));
  await using world = await open(model, { plugins: [adds("c/late", "C", "late"), adds("a/one", "A"), silent] });
  await world.session.turn("Go.").result();
  expect(seen).toEqual([
    ["a/one", ["user: Go."], []],
    ["c/late", ["user: Go.", "user: A"], ["A"]],
  ]);
  expect(outline(model.requests[0]?.messages ?? [])).toEqual(["user: Go.", "user: A", "user: C"]);
  expect(model.requests[0]?.system).toBe("A\n\nC");
});

test("K7 context transforms are given what the latest model call used, after a restart and a crash too, within its frame", async () => {
  const lives = lifetimes();
  const seen: (number | undefined)[] = [];
  let dies = false;
  const meter = definePlugin({
    id: "a/meter",
    setup: () => ({
      context: ({ latestUsage }) => void seen.push(latestUsage?.input),
      compact: () => [{ role: "user" as const, parts: [{ kind: "text" as const, text: "Before." }] }],
    }),
  });
  const cut = named("cut", () => {
    if (dies) lives.kill();
    dies = false;
    return "cut";
  });
  let input = 0;
  const model: Provider = {
    id: "counts",
    modelId: "test",
    async *stream({ messages }) {
      const last = messages.at(-1);
      if (last?.role === "user" && wordsOf(last) === "Cut.") yield call("cut", {}, `call_${input}`);
      else yield text("Done.");
      yield { kind: "finish", reason: "stop", usage: { ...NO_USAGE, input: ++input } };
    },
  };
  const options = { model, plugins: [meter], tools: [cut] };
  const first = await lives.next(options);
  const one = await first.runtime.session("s");
  await one.turn("Go.").result();
  await one.turn("Go.").result();
  dies = true;
  void one
    .turn("Cut.")
    .result()
    .catch(() => {});
  await eventually(() => input === 3 && !dies);
  const { runtime } = await lives.next(options);
  await runtime.recover();
  const two = await runtime.session("s");
  await eventually(async () => (await two.read()).turns === 3);
  await two.turn("Go.").result();
  const latest = input;
  expect(seen).toEqual([undefined, 1, 2, latest - 1]);
  await two.compact();
  await two.turn("Go.").result();
  expect(seen.at(-1)).toBe(undefined);
  await runtime.close();
});

test("K7 a session in which no hook reads the latest usage stores nothing of it", async () => {
  const store = memory();
  await using world = await open(scripted(says("One.")), { store, plugins: [] });
  await world.session.turn("Go.").result();
  expect((await store.load(world.session.id))?.plugins).toEqual({});
});

test("K7 what a transform shows is for this turn only: history has what was said, and the next turn all of it", async () => {
  const given: (readonly string[])[] = [];
  const rolling = definePlugin({
    id: "a/rolling",
    setup: () => ({
      context: ({ context }) => {
        given.push(outline(context.messages));
        return { ...context, messages: context.messages.slice(-1) };
      },
    }),
  });
  const model = scripted(says("One."), says("Two."), says("Three."));
  await using world = await open(model, { plugins: [rolling] });
  for (const words of ["1", "2", "3"]) await world.session.turn(words).result();
  expect(model.requests.map(({ messages }) => outline(messages))).toEqual([["user: 1"], ["user: 2"], ["user: 3"]]);
  const history = ["user: 1", "assistant: One.", "user: 2", "assistant: Two.", "user: 3", "assistant: Three."];
  expect(given).toEqual([history.slice(0, 1), history.slice(0, 3), history.slice(0, 5)]);
  expect(outline((await world.session.read()).messages)).toEqual(history);
  expect(outline((await world.reread()).messages)).toEqual(history);
});

test("K7 what is shown stands in every round of the turn, with what the turn adds after it; it is worked out once", async () => {
  let runs = 0;
  const plugin = definePlugin({
    id: "a/shows",
    setup: () => ({
      context: ({ context }) => {
        runs++;
        return {
          messages: [message("m-1", "Shown."), ...context.messages.slice(-1)],
          prompt: [{ slot: "context", text: "For this turn." }],
        };
      },
    }),
  });
  const model = scripted(says("Before."), calls("ping"), calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [plugin], tools: [ping] });
  await world.session.turn("Earlier.").result();
  await world.session.turn("Go.").result();
  const round = ["calls ping", "ping ok: Pong."];
  expect(model.requests.slice(1).map(({ messages }) => outline(messages))).toEqual([
    ["user: Shown.", "user: Go."],
    ["user: Shown.", "user: Go.", ...round],
    ["user: Shown.", "user: Go.", ...round, ...round],
  ]);
  expect(new Set(model.requests.map(({ system }) => system))).toEqual(new Set(["For this turn."]));
  expect(runs).toBe(2);
  const kept = outline((await world.session.read()).messages);
  expect(kept).toEqual(["user: Earlier.", "assistant: Before.", "user: Go.", ...round, ...round, "assistant: Done."]);
});

test("K7 an error of a transform fails the turn before any model call, by its plugin, and the session continues", async () => {
  let isSick = true;
  const sick = definePlugin({
    id: "b/sick",
    setup: () => ({
      context: () => {
        if (isSick) throw new Error("Ouch.");
      },
    }),
  });
  const heard: string[] = [];
  const after = definePlugin({
    id: "c/after",
    setup: () => ({ context: () => void heard.push("context"), beforeTurn: () => void heard.push("beforeTurn") }),
  });
  const model = scripted(says("Better."));
  await using world = await open(model, { plugins: [sick, after] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed" });
  expect(outcome).toMatchObject({ reason: "Plugin b/sick failed in context: Ouch." });
  expect([model.requests.length, heard]).toEqual([0, []]);
  isSick = false;
  expect((await world.session.turn("Again.").result()).outcome).toMatchObject({ text: "Better." });
  expect(outline(model.requests[0]?.messages ?? [])).toEqual(["user: Go.", "user: Again."]);
});

test("K7 what a transform writes into its state is kept with the turn", async () => {
  const counts = definePlugin({
    id: "a/counts",
    state: z.object({ turns: z.number().default(0) }),
    setup: ({ query }) => ({
      context: ({ state }) => void state.update(({ turns }) => ({ turns: turns + 1 })),
      operations: { turns: query({ run: ({ state }) => state.get().turns }) },
    }),
  });
  await using world = await open(scripted(says("1"), says("2")), { plugins: [counts] });
  await world.session.turn("Go.").result();
  await world.session.turn("Go.").result();
  expect(await world.session.query(counts, "turns")).toBe(2);
});

test.each(["compaction", "a tool's task"])(
  "K7 what a transform showed ends with its frame: after %s the model is shown the new frame",
  async (how) => {
    const plugin = definePlugin({
      id: "a/shows",
      setup: () => ({
        context: ({ context }) => ({ ...context, messages: [message("m-1", "Shown."), ...context.messages] }),
        compact: () => [{ role: "user", parts: [{ kind: "text", text: "In short." }] }],
      }),
    });
    const move = defineTool({
      name: "move",
      description: "Moves on.",
      input: z.object({}),
      execute: () => switchFrame("In short."),
    });
    const model = scripted(how === "compaction" ? overflow : calls("move"), says("Done."));
    await using world = await open(model, { plugins: [plugin], tools: [move] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(outline(model.requests[1]?.messages ?? [])).toEqual(["user: In short."]);
    expect(outline((await world.session.read()).messages)).toEqual(["user: In short.", "assistant: Done."]);
  },
);

// ── K8 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const compacts = (id: string, answer: readonly string[] | undefined, heard: string[]) =>
  definePlugin({
    id,
    setup: () => ({
      compact: async ({ messages }) => {
        heard.push(`${id} ${messages.length}`);
        return answer?.map((text) => ({ role: "user" as const, parts: [{ kind: "text" as const, text }] }));
      },
    }),
  });

test("K8 the first compactor that has something wins, and those after it are not asked", async () => {
  const heard: string[] = [];
  const store = memory();
  const plugins = [
    compacts("a/nothing", undefined, heard),
    compacts("b/empty", [], heard),
    compacts("c/first", ["In short.", "And this."], heard),
    compacts("d/never", ["Not this."], heard),
  ];
  const model = scripted(says("One."), overflow, says("Two."));
  await using world = await open(model, { store, plugins });
  await world.session.turn("1").result();
  expect((await world.session.turn("2").result()).outcome).toMatchObject({ kind: "answered", text: "Two." });
  expect(heard).toEqual(["a/nothing 3", "b/empty 3", "c/first 3"]);
  expect(outline(model.requests[2]?.messages ?? [])).toEqual(["user: In short.", "user: And this."]);
  const { messages } = await world.session.read();
  expect(messages.slice(0, 2).map(({ origin }) => origin)).toEqual(
    Array(2).fill({ kind: "plugin", plugin: "c/first" }),
  );
  expect(await nodesOf(store, world.session)).toEqual([
    "user: 1",
    "assistant: One.",
    "user: 2",
    "frame compaction",
    "user: In short.",
    "user: And this.",
    "assistant: Two.",
  ]);
});

test.each<readonly [string, (messages: readonly Message[]) => Compaction]>([
  ["an empty seed", () => ({ seed: [] })],
  ["a seed without words", () => ({ seed: [{ role: "user", parts: [{ kind: "text", text: " " }] }] })],
  ["a seed without parts", () => ({ seed: [{ role: "user", parts: [] }] })],
  ["an empty seed and a tail with nothing that may stand first", (all) => ({ seed: [], tail: all.at(-2)?.id })],
])("K8 a compaction with %s is none: the next compactor is asked", async (_, answer) => {
  const heard: string[] = [];
  const empty = definePlugin({ id: "a/empty", setup: () => ({ compact: ({ messages }) => answer(messages) }) });
  const model = scripted(calls("ping"), overflow, says("Two."));
  await using world = await open(model, { plugins: [empty, compacts("b/next", ["In short."], heard)], tools: [ping] });
  expect((await world.session.turn("Ping it, please.").result()).outcome).toMatchObject({ text: "Two." });
  expect(heard).toEqual(["b/next 3"]);
  expect(outline(model.requests[2]?.messages ?? [])).toEqual(["user: In short."]);
});

test.each(["no compactor", "compactors with nothing to say"])(
  "K8 with %s the limit stands, and nothing of the conversation is touched",
  async (how) => {
    const heard: string[] = [];
    const plugins =
      how === "no compactor" ? [] : [compacts("a/nothing", undefined, heard), compacts("b/empty", [], heard)];
    const model = scripted(says("One."), overflow, says("Three."));
    await using world = await open(model, { plugins });
    await world.session.turn("1").result();
    const { outcome } = await world.session.turn("2").result();
    expect(outcome).toMatchObject({ kind: "stopped", by: "limit", code: "limit.context" });
    expect(heard).toHaveLength(how === "no compactor" ? 0 : 2);
    await world.session.turn("3").result();
    expect(outline(model.requests[2]?.messages ?? [])).toEqual(["user: 1", "assistant: One.", "user: 2", "user: 3"]);
  },
);

test("K8 a compactor that fails leaves the limit standing, is named, and what it wrote is not kept", async () => {
  const traces: TelemetryEvent[] = [];
  const sick = definePlugin({
    id: "b/sick",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ query }) => ({
      compact: ({ state }) => {
        state.update(() => ({ n: 1 }));
        throw new Error("Ouch.");
      },
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await open(scripted(overflow), {
    plugins: [sick],
    telemetry: onEvent((record) => traces.push(record)),
  });
  const { outcome, issues } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "stopped", code: "limit.context" });
  expect(await world.session.query(sick, "n")).toBe(0);
  expect(JSON.stringify([issues, traces, outcome])).toContain("b/sick");
});

test("K8 a compactor may ask a model, which is in the usage of the turn under its label", async () => {
  const summary = definePlugin({
    id: "a/summary",
    setup: () => ({
      compact: async ({ messages, complete }) => {
        const words = await complete.text(`Sum up ${messages.length} messages.`, { label: "summary" });
        return [{ role: "user", parts: [{ kind: "text", text: words }] }];
      },
    }),
  });
  const model = scripted(overflow, says("A summary."), says("Done."));
  await using world = await open(model, { plugins: [summary] });
  const { outcome, usage } = await world.session.turn("Go through all of it.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(["user: Sum up 1 messages."]);
  expect(outline(model.requests[2]?.messages ?? [])).toEqual(["user: A summary."]);
  expect(usage).toMatchObject({ input: 20, output: 10 });
  const { ledger } = await world.session.read();
  expect(ledger.find(({ source }) => source === "summary")).toMatchObject({ calls: 1, usage: { input: 10 } });
});
