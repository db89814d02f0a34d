import { definePlugin, defineTool, type SessionConfig, type TelemetryEvent } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { asSessionId } from "../../src/model/ids.ts";
import { echo, end as finish, plays, text } from "../kit/models.ts";
import { outline, passed, signalOf, within } from "../kit/reading.ts";
import { ANSWERING } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, running, twoOn } from "../kit/worlds.ts";

/** A mutator that adds a word to the instructions. */
const adds = (id: string, word: string) =>
  definePlugin({
    id,
    setup: () => ({
      config: ({ config }) => ({ ...config, instructions: `${config.instructions ?? ""} ${word}`.trim() }),
    }),
  });

/** Two models by name, and who was asked what. */
function twoModels() {
  const one = scripted(...Array.from({ length: 4 }, () => says("One.")));
  const two = { ...scripted(...Array.from({ length: 4 }, () => says("Two."))), id: "second" };
  return { one, two, models: (name: string) => (name === "second/test" ? two : undefined) };
}

// ── K4 ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K4 config mutators chain: each is given what the one before made, and the last is kept and used", async () => {
  const model = scripted(says("Yes."));
  const late = definePlugin({
    id: "c/late",
    order: "late",
    setup: () => ({ config: async ({ config }) => ({ ...config, settings: { temperature: 0.5 } }) }),
  });
  await using world = await open(model, { plugins: [late, adds("a/one", "one"), adds("b/two", "two")] });
  const config = await world.session.configure({ instructions: "zero" });
  expect(config).toEqual({ model: "scripted/test", instructions: "zero one two", settings: { temperature: 0.5 } });
  expect((await world.session.read()).config).toEqual(config);
  await world.session.turn("Go.").result();
  expect(model.requests[0]).toMatchObject({ system: "zero one two", settings: { temperature: 0.5 } });
});

test("K4 a mutator that answers nothing has no opinion", async () => {
  const silent = definePlugin({ id: "a/silent", setup: () => ({ config: () => undefined }) });
  await using world = await open(echo(), { plugins: [silent, adds("b/two", "two")] });
  expect((await world.session.configure({ instructions: "zero" })).instructions).toBe("zero two");
});

const FAILING: readonly (readonly [string, () => unknown, string])[] = [
  [
    "throws",
    () => {
      throw new Error("Ouch.");
    },
    "Ouch.",
  ],
  ["rejects", async () => Promise.reject(new Error("Ouch.")), "Ouch."],
  ["gives no config", () => ({ instructions: "Only this." }), "b/sick"],
  ["gives text", () => "scripted/test", "b/sick"],
  ["takes too long", () => new Promise(() => {}), "b/sick"],
];
test.each(FAILING)("K4 a mutator that %s is skipped with a trace, and the config survives", async (_, run, words) => {
  const traces: TelemetryEvent[] = [];
  const sick = definePlugin({ id: "b/sick", setup: () => ({ config: { deadlineMs: 30, run: run as never } }) });
  await using world = await open(echo(), {
    plugins: [adds("a/one", "one"), sick, adds("c/three", "three")],
    telemetry: onEvent((record) => traces.push(record)),
  });
  const config = await within(world.session.configure({ instructions: "zero" }));
  expect(config.instructions).toBe("zero one three");
  expect((await world.session.read()).config.instructions).toBe("zero one three");
  const told = traces.map((record) => JSON.stringify(record.about));
  expect(told.some((about) => about.includes("b/sick") && about.includes(words))).toBe(true);
});

test("K4 nothing fires when nothing changed", async () => {
  const heard: string[] = [];
  const watcher = definePlugin({
    id: "a/watcher",
    setup: () => ({
      config: () => void heard.push("config"),
      lifecycle: ({ event }) => {
        if (event.kind === "sessionConfigChanged") heard.push("changed");
      },
    }),
  });
  const store = memory();
  await using world = await open(echo(), { store, plugins: [watcher], instructions: "Be kind." });
  const before = await store.load(world.session.id);
  for (const patch of [
    {},
    { instructions: "Be kind." },
    { instructions: undefined },
    { settings: undefined },
    { model: "echo/test" },
  ])
    expect(await world.session.configure(patch)).toEqual({ model: "echo/test", instructions: "Be kind." });
  expect(heard).toEqual([]);
  expect((await store.load(world.session.id))?.revision).toBe(before?.revision);
  await world.session.configure({ instructions: "Be brief." });
  await world.session.configure({ instructions: "Be brief." });
  expect(heard).toEqual(["config", "changed"]);
});

test("K4 a change that a mutator takes back is not a change: nobody is notified and nothing is written", async () => {
  const heard: string[] = [];
  const keeper = definePlugin({
    id: "a/keeper",
    setup: () => ({
      config: ({ config: { instructions: _, ...rest } }) => rest,
      lifecycle: ({ event }) => {
        if (event.kind === "sessionConfigChanged") heard.push("changed");
      },
    }),
  });
  const store = memory();
  await using world = await open(echo(), { store, plugins: [keeper] });
  expect(await world.session.configure({ instructions: "Be brief." })).toEqual({ model: "echo/test" });
  expect(heard).toEqual([]);
  expect((await store.load(world.session.id))?.revision).toBe(0);
});

test("K4 observers receive a stored change with the old and the new configuration; an observer that fails is traced", async () => {
  const heard: { previous: SessionConfig; current: SessionConfig; read: SessionConfig }[] = [];
  const traces: TelemetryEvent[] = [];
  const watcher = definePlugin({
    id: "a/watcher",
    setup: () => ({
      lifecycle: ({ event, session }) => {
        if (event.kind !== "sessionConfigChanged") return;
        heard.push({ previous: event.previous, current: event.current, read: session.read().config });
      },
    }),
  });
  const sick = definePlugin({
    id: "b/sick",
    setup: () => ({
      lifecycle: ({ event }) => {
        if (event.kind === "sessionConfigChanged") throw new Error("Ouch.");
      },
    }),
  });
  const plugins = [sick, watcher, adds("c/one", "one")];
  await using world = await open(echo(), { plugins, telemetry: onEvent((record) => traces.push(record)) });
  const previous = (await world.session.read()).config;
  const current = await world.session.configure({ instructions: "zero" });
  expect(current.instructions).toBe("zero one");
  expect(heard).toEqual([{ previous, current, read: current }]);
  expect(traces.filter(({ name }) => name === "hook.issue").map(({ about }) => about.plugin)).toEqual(["b/sick"]);
});

test("K4 a mutator sees the session, its tools and its state, and cannot write there", async () => {
  const seen: unknown[] = [];
  const plugin = definePlugin({
    id: "a/looks",
    state: z.object({ n: z.number().default(7) }),
    setup: () => ({
      config: ({ session, catalog, state }) => {
        seen.push(
          session.read().messages.length,
          catalog.list().map(({ name }) => name),
          state.get().n,
        );
        expect(() => (state as unknown as { update(change: (s: unknown) => unknown): void }).update((s) => s)).toThrow(
          expect.objectContaining({ code: "state.parallel" }),
        );
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin], tools: [ping] });
  await world.session.turn("Hi.").result();
  await world.session.configure({ instructions: "x" });
  expect(seen).toEqual([2, ["ping"], 7]);
});

// ── S15: configure ──────────────────────────────────────────────────────────────────────────────────────────────────

test("S15 configure patches: what is not named stays, and undefined gives a field back to the runtime", async () => {
  await using runtime = await running({ instructions: "Of the runtime.", settings: { temperature: 1 } });
  const session = await runtime.session("s");
  await session.configure({ instructions: "Of the session." });
  expect(await session.configure({ settings: { topP: 0.5 } })).toEqual({
    model: "echo/test",
    instructions: "Of the session.",
    settings: { topP: 0.5 },
  });
  expect(await session.configure({ instructions: undefined })).toEqual({
    model: "echo/test",
    instructions: "Of the runtime.",
    settings: { topP: 0.5 },
  });
  expect(await session.configure({ settings: undefined })).toEqual({
    model: "echo/test",
    instructions: "Of the runtime.",
    settings: { temperature: 1 },
  });
});

test("S15 what is given back follows the runtime, what was set does not, also when both were equal", async () => {
  const store = memory();
  const first = await running({ store, instructions: "Old." });
  const [own, given] = [await first.session("own"), await first.session("given")];
  await own.configure({ instructions: "Mine." });
  await own.configure({ instructions: "Old." });
  await given.configure({ instructions: "Mine." });
  await given.configure({ instructions: undefined });
  await using second = await running({ store, instructions: "New." });
  expect((await (await second.session("own")).read()).config.instructions).toBe("Old.");
  expect((await (await second.session("given")).read()).config.instructions).toBe("New.");
});

test("S15 a config survives: another runtime on the same store runs on it, mutated or not", async () => {
  const store = memory();
  const one = await running({ store, plugins: [adds("a/one", "one")] });
  await (await one.session("s")).configure({ instructions: "zero", settings: { maxOutputTokens: 9 } });
  const model = scripted(says("Yes."));
  await using two = await running({ store, model: { ...model, id: "echo" } });
  const session = await two.session("s");
  expect((await session.read()).config).toMatchObject({ instructions: "zero one", settings: { maxOutputTokens: 9 } });
  await session.turn("Go.").result();
  expect(model.requests[0]).toMatchObject({ system: "zero one", settings: { maxOutputTokens: 9 } });
});

test.each(ANSWERING)(
  "S15 another model takes effect with the next turn, and the turn that runs keeps the one it began with, on a store that answers %s",
  async (_, store) => {
    const { two, models } = twoModels();
    const hold = signalOf();
    const one = plays(
      async function* () {
        yield text("One");
        await hold.promise;
        yield text(".");
        yield finish;
      },
      async function* () {
        yield text("Again.");
        yield finish;
      },
    );
    await using runtime = await running({ store: store(), model: one, models });
    const session = await runtime.session();
    const turn = session.turn("Go.");
    const configured = session.configure({ model: "second/test" });
    await passed(5);
    hold.resolve();
    expect((await turn.result()).outcome).toMatchObject({ text: "One." });
    expect((await configured).model).toBe("second/test");
    expect((await session.turn("Go.").result()).outcome).toMatchObject({ text: "Two." });
    expect(two.requests[0]?.messages).toHaveLength(3);
    await session.configure({ model: undefined });
    expect((await session.turn("Go.").result()).outcome).toMatchObject({ text: "Again." });
    const { ledger } = await session.read();
    expect(ledger.map(({ source, model, calls: n }) => [source, model, n])).toEqual([
      ["turn", "played/test", 2],
      ["turn", "second/test", 1],
    ]);
  },
);

test("S15 a model that nobody can find is kept and fails the next turn by its name; the session can be put right", async () => {
  await using world = await open(echo());
  await world.session.configure({ model: "nobody/knows" });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime" });
  expect(JSON.stringify(outcome)).toContain("nobody/knows");
  await world.session.configure({ model: undefined });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
});

test("S15 a config given at the opening counts when the session is made, and only then", async () => {
  await using runtime = await running();
  const first = await runtime.session("s", { config: { instructions: "Made with it." } });
  expect((await first.read()).config.instructions).toBe("Made with it.");
  await first.close();
  const again = await runtime.session("s", { config: { instructions: "Too late." } });
  expect((await again.read()).config.instructions).toBe("Made with it.");
});

test("S15 patches at the same time all count, on one handle, on two, and on two runtimes", async () => {
  const store = memory();
  await using world = await twoOn(store);
  const [a, b, c] = [await world.one.session("s"), await world.one.session("s"), await world.two.session("s")];
  await within(
    Promise.all([
      a.configure({ instructions: "Brief." }),
      a.configure({ settings: { temperature: 0 } }),
      b.configure({ prompt: [{ slot: "project", text: "P" }] }),
      c.configure({ model: "echo/other" }),
    ]),
  );
  expect((await a.read()).config).toEqual({
    model: "echo/other",
    instructions: "Brief.",
    settings: { temperature: 0 },
    prompt: [{ slot: "project", text: "P" }],
  });
});

test("S15 a config that another runtime changed counts for the next turn here", async () => {
  const { one, two: second, models } = twoModels();
  await using world = await twoOn(memory(), { model: one, models });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  await here.turn("Go.").result();
  await there.configure({ model: "second/test", instructions: "New." });
  expect((await here.turn("Go.").result()).outcome).toMatchObject({ text: "Two." });
  expect(second.requests[0]?.system).toBe("New.");
});

test("S15 configure and append from inside a turn of the session are refused and do not wait for themselves", async () => {
  const codes: unknown[] = [];
  const store = memory();
  const model = scripted(calls("change"), says("Done."));
  const runtime = await running({
    store,
    model,
    limits: { toolMs: 1_000 },
    tools: [
      defineTool({
        name: "change",
        description: "Changes.",
        input: z.object({}),
        execute: async () => {
          const code = (error: { code?: string }) => error.code;
          codes.push(await session.configure({ instructions: "x" }).then(() => "done", code));
          codes.push(await session.append([{ kind: "message", role: "user", text: "x" }]).then(() => "done", code));
          return "Tried.";
        },
      }),
    ],
  });
  await using _ = runtime;
  const session = await runtime.session();
  const { outcome } = await within(session.turn("Go.").result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(codes).toEqual(["operation.reentrant", "operation.reentrant"]);
  expect(outline((await session.read()).messages)).toContain("change ok: Tried.");
});

// ── S15: snapshots ──────────────────────────────────────────────────────────────────────────────────────────────────

test("S15 a plugin reads its session as it is now, and any session as it is committed", async () => {
  const seen: unknown[] = [];
  const looks = definePlugin({
    id: "a/looks",
    setup: ({ query }) => ({
      beforeTurn: async ({ session, sessionId }) => {
        if (sessionId !== "mine") return;
        seen.push(outline(session.read().messages), session.read().turns);
        const own = await session.snapshot("mine");
        seen.push(outline(own.messages), own.turns);
        const other = await session.snapshot("other");
        seen.push(outline(other.messages), other.config.instructions, other.usage.input);
      },
      operations: {
        of: query({
          input: z.object({ id: z.string() }),
          run: async ({ input, session }) => {
            const { id, turns, parentId } = await session.snapshot(input.id);
            return { id, turns, parentId };
          },
        }),
      },
    }),
  });
  await using runtime = await running({ plugins: [looks] });
  const other = await runtime.session("other", { config: { instructions: "Of the other." } });
  await other.turn("Hi.").result();
  const mine = await runtime.session("mine");
  await mine.turn("One.").result();
  expect(seen).toEqual([["user: One."], 0, [], 0, ["user: Hi.", "assistant: re: Hi."], "Of the other.", 10]);
  seen.length = 0;
  await mine.turn("Two.").result();
  expect(seen.slice(0, 4)).toEqual([
    ["user: One.", "assistant: re: One.", "user: Two."],
    1,
    ["user: One.", "assistant: re: One."],
    1,
  ]);
  expect(await mine.query(looks, "of", { id: "other" })).toEqual({ id: "other", turns: 1, parentId: undefined });
});

test("S15 a snapshot of a session that is not there is typed, in a hook, in an operation and at the door", async () => {
  const plugin = definePlugin({
    id: "a/looks",
    setup: ({ query }) => ({
      beforeTurn: async ({ session, input }) => {
        if (input.parts.some((part) => part.kind === "text" && part.text === "Look.")) await session.snapshot("nobody");
      },
      operations: { look: query({ run: ({ session }) => session.snapshot("nobody") }) },
    }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  await expect(runtime.sessions.get("nobody")).rejects.toMatchObject({
    code: "session.unknown",
    details: { id: "nobody" },
  });
  await expect(session.query(plugin, "look")).rejects.toMatchObject({ code: "session.unknown" });
  const { outcome } = await session.turn("Look.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", reason: expect.stringContaining("nobody") });
  expect((await session.turn("Go on.").result()).outcome.kind).toBe("answered");
});

test("S15 sessions.get answers what is committed, also of a session that this runtime never opened", async () => {
  const store = memory();
  await using world = await twoOn(store, { instructions: "Of the runtime." });
  const session = await world.two.session("s");
  await session.turn("Hi.").result();
  await session.configure({ settings: { topP: 1 } });
  const reading = await world.one.sessions.get("s");
  const { messages, head, cursor, usage, ledger, turns } = await session.read();
  expect(outline(messages)).toEqual(["user: Hi.", expect.stringContaining("assistant: ")]);
  expect(turns).toBe(1);
  expect(reading).toEqual({
    id: "s",
    createdAt: (await store.load(asSessionId("s")))?.createdAt,
    cursor,
    messages,
    head,
    usage,
    ledger,
    turns,
    inputs: [],
    waits: [],
    config: { model: "echo/test", instructions: "Of the runtime.", settings: { topP: 1 } },
  });
  await world.two.sessions.delete("s");
  await expect(world.one.sessions.get("s")).rejects.toMatchObject({ code: "session.unknown" });
});

test("S15 sessions.get of a closed runtime rejects; it does not throw where nobody awaits", async () => {
  const runtime = await running();
  await runtime.close();
  let answer: Promise<unknown> | undefined;
  expect(() => {
    answer = runtime.sessions.get("s");
    answer.catch(() => {});
  }).not.toThrow();
  await expect(answer).rejects.toMatchObject({ code: "runtime.closed" });
});

test("S15 a reading has the head that the session stands on", async () => {
  const heads: unknown[] = [];
  const plugin = definePlugin({
    id: "a/looks",
    setup: ({ query }) => ({
      beforeTurn: ({ session }) => void heads.push(session.read().head),
      operations: { head: query({ run: ({ session }) => session.read().head }) },
    }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("One.").result();
  const { head } = await session.read();
  expect(await session.query(plugin, "head")).toBe(head);
  await session.turn("Two.").result();
  expect(heads).toEqual([undefined, head]);
});
