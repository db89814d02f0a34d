import { abortTurn, answer, definePlugin, enqueueMessages } from "bowline/plugin";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";

import { eventsOf, only, outline } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { held, open, running, runningOn } from "../kit/worlds.ts";

const faq = (id: string, ...said: readonly ReturnType<typeof answer>[]) =>
  definePlugin({ id, setup: () => ({ beforeTurn: () => said }) });

test.each(STORES)(
  "K7 on %s a plugin answers a turn without a model: it is kept, finalized and costs nothing",
  async (_, make) => {
    const heard: string[] = [];
    const watches = definePlugin({
      id: "acme/watches",
      setup: () => ({ afterTurn: ({ report }) => void heard.push(report.outcome.kind) }),
    });
    const model = scripted(says("Never."));
    await using world = await open(model, {
      store: await make(),
      plugins: [faq("acme/faq", answer("At nine.")), watches],
    });
    const turn = world.session.turn("When do you open?");
    const { outcome, usage } = await turn.result();
    expect(outcome).toMatchObject({ kind: "answered", text: "At nine." });
    expect(usage).toMatchObject({ input: 0, output: 0 });
    expect(model.requests).toEqual([]);
    expect(heard).toEqual(["answered"]);
    expect(only(await eventsOf(turn), "text").map(({ delta }) => delta)).toEqual(["At nine."]);
    const { messages } = await world.reread();
    expect(messages.map(({ role, origin }) => [role, origin?.kind])).toEqual([
      ["user", "input"],
      ["assistant", "plugin"],
    ]);
  },
);

test("K7 an answer needs no model that can be found", async () => {
  await using runtime = await running({ plugins: [faq("acme/faq", answer("At nine."))] });
  const session = await runtime.session("a", { config: { model: "no-such-model" } });
  expect((await session.turn("When?").result()).outcome).toMatchObject({ kind: "answered", text: "At nine." });
});

test("K7 of two answers the first counts, and the trace names both plugins", async () => {
  const traced: unknown[] = [];
  const plugins = [faq("acme/one", answer("One.")), faq("acme/two", answer("Two."))];
  await using world = await open(scripted(), { plugins, telemetry: onEvent((record) => traced.push(record)) });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ text: "One." });
  expect(traced).toContainEqual(
    expect.objectContaining({
      name: "hook.conflict",
      about: expect.objectContaining({ winner: "acme/one", loser: "acme/two" }),
    }),
  );
});

test("K7 an abort outranks an answer, and messages stand before it", async () => {
  const stops = definePlugin({ id: "acme/stops", setup: () => ({ beforeTurn: () => abortTurn("closed", "Closed.") }) });
  await using world = await open(scripted(), { plugins: [faq("acme/faq", answer("Open.")), stops] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "stopped", code: "closed" });
  expect(outline((await world.session.read()).messages)).toHaveLength(1);

  const says2 = definePlugin({
    id: "acme/says",
    setup: () => ({ beforeTurn: () => [answer("Open."), enqueueMessages("It is Monday.")] }),
  });
  await using other = await open(scripted(), { plugins: [says2] });
  await other.session.turn("Go.").result();
  expect((await other.session.read()).messages.map(({ parts }) => (parts[0] as { text: string }).text)).toEqual([
    "Go.",
    "It is Monday.",
    "Open.",
  ]);
});

test("K7 a turn that wants a typed result cannot be answered by a plugin: it fails, naming it", async () => {
  await using world = await open(scripted(), { plugins: [faq("acme/faq", answer("Open."))] });
  const { outcome } = await world.session.turn("Go.", { output: z.object({ open: z.boolean() }) }).result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", reason: expect.stringContaining("acme/faq") });
});

test("K7 S3 an answer swallows no other input: a turn that merged several asks the model", async () => {
  const gate = held("slow");
  const help = definePlugin({
    id: "acme/help",
    setup: () => ({
      beforeTurn: ({ input }) =>
        input.parts[0]?.kind === "text" && input.parts[0].text === "/help" ? answer("Usage.") : undefined,
    }),
  });
  const model = scripted(calls("slow"), says("First."), says("Booked."));
  await using runtime = await running({ model, plugins: [help], tools: [gate.tool] });
  const session = await runtime.session("a", { config: { mergesInputs: true } });
  const first = session.turn("first");
  await gate.began();
  const both = [session.turn("/help"), session.turn("Book the flight.")];
  await Promise.all(both.map((turn) => turn.id));
  gate.release();
  await first.result();
  for (const turn of both) expect((await turn.result()).outcome).toMatchObject({ text: "Booked." });
});

// ── Inputs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const shout = (heard: string[] = []) =>
  definePlugin({
    id: "acme/shout",
    state: z.object({ mark: z.string().default("!") }),
    setup: ({ command }) => ({
      input: ({ input, state }) => {
        const words = input.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
        heard.push(`${input.at}: ${words}`);
        if (words === "bad") throw new Error("No such words here.");
        return `${words}${state.get().mark}`;
      },
      operations: { later: command({ run: ({ queueTurn }) => queueTurn("queued") }) },
    }),
  });

test.each(STORES)(
  "S1 K7 on %s an input hook changes an input before it is kept: of a turn, of send, of a queued turn",
  async (_, make) => {
    const plugin = shout();
    await using world = await open(scripted(says("1"), says("2"), says("3")), {
      store: await make(),
      plugins: [plugin],
    });
    const { session } = world;
    await session.turn("one").result();
    await session.follow((await session.send("two")).turnId).result();
    const { queued } = await session.command(plugin, "later");
    await session.follow(queued[0] as string).result();
    const said = (await world.reread()).messages.filter(({ role }) => role === "user");
    expect(outline(said)).toEqual(["user: one!", "user: two!", "user: queued!"]);
  },
);

test("S1 D2 a known key skips the hook and is answered by the first receipt, also in another process", async () => {
  const path = file();
  const heard: string[] = [];
  const plugins = [shout(heard)];
  const first = await runningOn(path, { model: scripted(says("1")), plugins });
  const session = await first.session("a");
  const turnId = await session.turn("one", { key: "k" }).id;
  await session.turn("one", { key: "k" }).result();
  expect(await session.turn("one", { key: "k" }).id).toBe(turnId);
  await expect(session.turn("other", { key: "k" }).id).rejects.toMatchObject({ code: "input.conflict" });
  await first.close();
  await using second = await runningOn(path, { model: scripted(), plugins });
  expect(await (await second.session("a")).turn("one", { key: "k" }).id).toBe(turnId);
  expect(heard).toEqual(["next-turn: one"]);
});

test("S1 D2 calls with one key at the same time run the input hook once, and inputs keep their order", async () => {
  const heard: string[] = [];
  await using world = await open(scripted(says("1"), says("2"), says("3")), { plugins: [shout(heard)] });
  const { session } = world;
  const turns = ["one", "one", "two", "one"].map((words) => session.turn(words, { key: words }));
  const send = () => session.send("three", { key: "3", at: "next-turn" });
  const sent = await Promise.all([send(), send()]);
  const ids = await Promise.all(turns.map((turn) => turn.id));
  expect([ids[1], ids[3], sent[1].turnId]).toEqual([ids[0], ids[0], sent[0].turnId]);
  await Promise.all([...turns, session.follow(sent[0].turnId)].map((turn) => turn.result()));
  expect(heard).toEqual(["next-turn: one", "next-turn: two", "next-turn: three"]);
  const said = (await session.read()).messages.filter(({ role }) => role === "user");
  expect(outline(said)).toEqual(["user: one!", "user: two!", "user: three!"]);
});

test("S1 an input that a hook refuses does not use up its key: the next call with the key runs the hook", async () => {
  const heard: string[] = [];
  await using world = await open(scripted(says("1")), { plugins: [shout(heard)] });
  const refused = [world.session.turn("bad", { key: "k" }), world.session.turn("bad", { key: "k" })];
  for (const turn of refused) await expect(turn.result()).rejects.toMatchObject({ code: "hook.failed" });
  await world.session.turn("good", { key: "k" }).result();
  expect(heard).toEqual(["next-turn: bad", "next-turn: bad", "next-turn: good"]);
});

test("S1 D2 sendAt with one key runs the input hook once, also when it is repeated later", async () => {
  const heard: string[] = [];
  await using world = await open(scripted(), { plugins: [shout(heard)] });
  const { session } = world;
  const send = () => session.sendAt(Date.now() + 3_600_000, "later", { key: "k" });
  const [first, second] = await Promise.all([send(), send()]);
  expect([second, await send()]).toEqual([first, first]);
  expect(heard).toEqual(["boundary: later"]);
});

test("S1 K7 a throw refuses the input and keeps nothing; the next one is accepted", async () => {
  await using world = await open(scripted(says("1")), { plugins: [shout()] });
  await expect(world.session.turn("bad").result()).rejects.toMatchObject({
    code: "hook.failed",
    details: { plugin: "acme/shout", hook: "input" },
  });
  await expect(world.session.send("bad")).rejects.toMatchObject({ code: "hook.failed" });
  expect(await world.session.inputs.list()).toEqual([]);
  await world.session.turn("good").result();
  expect((await world.session.read()).messages).toHaveLength(2);
});

test("S1 inputs keep the order they came in, however long a hook takes for each", async () => {
  const slowFirst = definePlugin({
    id: "acme/slow",
    setup: () => ({
      input: async ({ input }) => {
        const [part] = input.parts;
        if (part?.kind === "text" && part.text === "one") await new Promise((resolve) => setTimeout(resolve, 20));
      },
    }),
  });
  await using world = await open(scripted(says("1"), says("2")), { plugins: [slowFirst] });
  const turns = [world.session.turn("one"), world.session.turn("two")];
  await Promise.all(turns.map((turn) => turn.result()));
  const said = (await world.session.read()).messages.filter(({ role }) => role === "user");
  expect(outline(said)).toEqual(["user: one", "user: two"]);
});

test("S1 an input hook that empties an input, or names bytes that are not there, has it refused", async () => {
  const empties = (answered: unknown) =>
    definePlugin({ id: "acme/empties", setup: () => ({ input: () => answered as string }) });
  for (const [answered, code] of [
    ["", "input.invalid"],
    [[{ kind: "attachment", hash: "nowhere", mediaType: "text/plain" }], "input.invalid"],
    [42, "hook.answer"],
  ] as const) {
    await using world = await open(scripted(), { plugins: [empties(answered)] });
    await expect(world.session.turn("Go.").result()).rejects.toMatchObject({ code });
    expect(await world.session.inputs.list()).toEqual([]);
  }
});

// ── What plugins hear of a session, and change of it ────────────────────────────────────────────────────────────────

test("K7 K15 a plugin is notified of a fork of its session and of its close", async () => {
  const heard: { readonly kind: string; readonly sessionId: string }[] = [];
  const hears = definePlugin({
    id: "acme/hears",
    setup: () => ({ lifecycle: ({ event, sessionId }) => void heard.push({ ...event, sessionId }) }),
  });
  const runtime = await running({ plugins: [hears] });
  const session = await runtime.session("a");
  await session.turn("Go.").result();
  const fork = await session.fork({ id: "b" });
  expect(heard).toContainEqual(expect.objectContaining({ kind: "sessionForked", fork: "b", sessionId: "a" }));
  await fork.close();
  await runtime.close();
  const closed = heard.flatMap((event) => (event.kind === "sessionClosed" ? [event.sessionId] : []));
  expect(closed.toSorted()).toEqual(["a", "b"]);
});

test.each(STORES)(
  "K13 S13 on %s a command configures its session, together with what else it changes, or not at all",
  async (_, make) => {
    const changed: string[] = [];
    const plugin = definePlugin({
      id: "acme/tone",
      state: z.object({ tone: z.string().default("plain") }),
      setup: ({ command }) => ({
        lifecycle: ({ event }) => {
          if (event.kind === "sessionConfigChanged") changed.push(event.current.instructions ?? "");
        },
        operations: {
          set: command({
            input: z.object({ tone: z.string(), fails: z.boolean().default(false) }),
            run: ({ input, state, configure }) => {
              state.update(() => ({ tone: input.tone }));
              configure({ instructions: `Be ${input.tone}.` });
              if (input.fails) throw new Error("Not now.");
            },
          }),
          wrong: command({ run: ({ configure }) => configure({ instruction: "typo" } as never) }),
        },
      }),
    });
    const model = scripted(says("1"));
    await using world = await open(model, { store: await make(), plugins: [plugin] });
    const { session } = world;
    await expect(session.command(plugin, "set", { tone: "rude", fails: true })).rejects.toMatchObject({
      code: "operation.failed",
    });
    expect((await session.read()).config.instructions).toBeUndefined();
    await session.command(plugin, "set", { tone: "kind" });
    await expect(session.command(plugin, "wrong")).rejects.toMatchObject({ code: expect.stringMatching(/^options\./) });
    expect((await world.reread()).config.instructions).toBe("Be kind.");
    await session.turn("Go.").result();
    expect(model.requests[0]?.system).toContain("Be kind.");
    expect(changed).toEqual(["Be kind."]);
  },
);
