import { createRuntime, definePlugin, defineTool, type Json } from "bowline";
import { deny } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { eventsOf, only, outline, ticks } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

const COUNT = z.object({ count: z.number().default(0) });

/** A plugin that lets so many calls run in a session. */
const frugal = definePlugin({
  id: "acme/frugal",
  options: z.object({ max: z.number() }),
  state: COUNT,
  setup: ({ options }) => ({
    beforeToolCall: ({ state }) => {
      if (state.get().count >= options.max) return deny("No calls left.");
      state.update(({ count }) => ({ count: count + 1 }));
    },
  }),
});

function pinging() {
  let pings = 0;
  const ping = defineTool({
    name: "ping",
    description: "Pings.",
    input: z.object({}),
    execute: async () => {
      await ticks(3);
      return ++pings;
    },
  });
  return { ping, count: () => pings };
}

test("K10 of fifty calls at once with a limit of five exactly five run, and the count is right in later turns", async () => {
  const { ping, count } = pinging();
  const fifty = both(...Array.from({ length: 50 }, () => calls("ping")));
  const model = scripted(fifty, says("Five."), calls("ping"), says("None."));
  await using world = await open(model, {
    plugins: [frugal({ max: 5 })],
    tools: [ping],
    limits: { parallelCallsMax: 50 },
  });
  const events = await eventsOf(world.session.turn("Ping fifty times."));
  expect(count()).toBe(5);
  const ended = only(events, "toolEnded").map(({ status }) => status);
  expect(ended).toEqual([...Array(5).fill("ok"), ...Array(45).fill("denied")]);
  await world.session.turn("Once more.").result();
  expect(count()).toBe(5);
  expect(outline(model.requests[3]?.messages ?? []).at(-1)).toMatch(/^ping denied: .*No calls left/);
});

test("K10 each session has its own state, and it survives a reopened session and another runtime", async () => {
  const { ping, count } = pinging();
  const store = memory();
  const turn = () => [calls("ping"), says("So.")] as const;
  const options = { store, plugins: [frugal({ max: 2 })], tools: [ping] };
  const first = await createRuntime({ ...options, model: scripted(...turn(), ...turn()) });
  await (await first.session("one")).turn("Go.").result();
  await (await first.session("two")).turn("Go.").result();
  expect(count()).toBe(2);
  const second = await createRuntime({ ...options, model: scripted(...turn(), ...turn()) });
  const one = await second.session("one");
  await one.turn("Go.").result();
  expect(count()).toBe(3);
  await one.turn("Go.").result();
  expect(count()).toBe(3);
  await Promise.all([first.close(), second.close()]);
});

/** A plugin whose tool writes its state, and one whose tool only says that it does. */
const ledger = definePlugin({
  id: "acme/ledger",
  state: z.object({ entries: z.array(z.string()).default([]) }),
  setup: ({ tool }) => ({
    tools: [
      tool({
        name: "enter",
        description: "Writes an entry.",
        input: z.object({ entry: z.string() }),
        writes: true,
        execute: async ({ entry }, { state }) => {
          const { length } = state.get().entries;
          await ticks(4);
          state.update(({ entries }) => ({ entries: [...entries, entry] }));
          return length;
        },
      }),
      tool({
        name: "peek",
        description: "Reads the entries.",
        input: z.object({}),
        execute: (_, { state }) => state.get().entries,
      }),
      tool({
        name: "sneak",
        description: "Writes without having said so.",
        input: z.object({}),
        execute: (_, { state }) => {
          const cell = state as unknown as { update(change: (state: object) => object): void };
          cell.update(() => ({ entries: ["sneaked"] }));
        },
      }),
    ],
  }),
});

test("K10 a tool that writes changes its plugin's state, one call at a time", async () => {
  const model = scripted(
    both(...["a", "b", "c"].map((entry) => calls("enter", { entry }))),
    calls("peek"),
    says("So."),
  );
  await using world = await open(model, { plugins: [ledger] });
  await world.session.turn("Go.").result();
  const lines = outline((await world.session.read()).messages);
  expect(lines.filter((line) => line.startsWith("enter "))).toEqual(["enter ok: 0", "enter ok: 1", "enter ok: 2"]);
  expect(lines).toContain('peek ok: ["a","b","c"]');
});

test("K10 a tool that writes without `writes` gets an error, and the model sees it", async () => {
  const model = scripted(calls("sneak"), calls("peek"), says("So."));
  await using world = await open(model, { plugins: [ledger] });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  const lines = outline((await world.session.read()).messages);
  expect(lines.find((line) => line.startsWith("sneak "))).toMatch(/^sneak failed: .*state\.parallel.*acme\/ledger/);
  expect(lines).toContain("peek ok: []");
});

test("K10 what a failing call wrote is not kept", async () => {
  const shaky = definePlugin({
    id: "acme/shaky",
    state: COUNT,
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "fall",
          description: "Writes and fails.",
          input: z.object({}),
          writes: true,
          execute: (_, { state }) => {
            state.update(({ count }) => ({ count: count + 1 }));
            throw new Error("Fell.");
          },
        }),
        tool({
          name: "count",
          description: "Counts.",
          input: z.object({}),
          execute: (_, { state }) => state.get().count,
        }),
      ],
    }),
  });
  await using world = await open(scripted(calls("fall"), calls("count"), says("So.")), { plugins: [shaky] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)).toContain("count ok: 0");
});

/** A plugin that changes its state in `beforeTurn` by this change, and shows what it has. */
const changing = (change: (state: { count: number }) => unknown, more: object = {}) =>
  definePlugin({
    id: "acme/changing",
    state: COUNT.loose(),
    setup: () => ({
      beforeTurn: ({ input, state }) => {
        const words = input.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
        if (words === "Change.") state.update(change as never);
      },
      prompt: ({ state }) => ({ slot: "context", text: `State: ${JSON.stringify(state.get())}` }),
      ...more,
    }),
  });

test.each<readonly [string, (state: { count: number }) => unknown, string]>([
  ["does not fit the schema", () => ({ count: "many" }), "state.invalid"],
  ["is too large", () => ({ count: 1, notes: "x".repeat(70_000) }), "state.too-large"],
  ["is not JSON", () => ({ count: 1, when: new Map() }), "state.invalid"],
  ["is nothing", () => undefined, "state.invalid"],
  [
    "is changed in place",
    (state) => {
      state.count = 9;
      return state;
    },
    "hook.failed",
  ],
])("K10 a state that %s is refused, in its owner's name, and the old one stays", async (_, change, code) => {
  const model = scripted(says("Fine."));
  await using world = await open(model, { plugins: [changing(change)] });
  const { outcome } = await world.session.turn("Change.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code });
  expect(outcome.kind === "failed" && outcome.reason).toContain("acme/changing");
  await world.session.turn("Look.").result();
  expect(model.requests[0]?.system).toBe('State: {"count":0}');
});

test("K10 a change belongs to the turn's effect: what a later hook's error undoes is undone for all", async () => {
  const sick = definePlugin({
    id: "acme/sick",
    setup: () => ({
      beforeTurn: ({ input }) => {
        if (JSON.stringify(input.parts).includes("Change.")) throw new Error("Ouch.");
      },
    }),
  });
  const model = scripted(says("Fine."));
  await using world = await open(model, { plugins: [changing(() => ({ count: 5 })), sick] });
  expect((await world.session.turn("Change.").result()).outcome).toMatchObject({ kind: "failed", by: "plugin" });
  await world.session.turn("Look.").result();
  expect(model.requests[0]?.system).toBe('State: {"count":0}');
});

test("K10 a change made before a turn was stopped is kept with it", async () => {
  const { ping } = pinging();
  const model = scripted(calls("ping"), calls("ping"));
  await using world = await open(model, { plugins: [frugal({ max: 1 })], tools: [ping], limits: { roundsMax: 1 } });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "stopped", by: "limit" });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages).at(-1)).toMatch(/^ping denied: .*No calls left/);
});

test("K10 if the table allows only reading, an update is refused, also if the compiler does not report it", async () => {
  type Cell = { readonly state: { update(change: () => Json): void } };
  const hooks = ["prompt", "request", "response"] as const;
  for (const hook of hooks) {
    const plugin = definePlugin({
      id: "acme/reader",
      state: COUNT,
      setup: () => ({ [hook]: ({ state }: Cell) => state.update(() => ({ count: 1 })) }) as object,
    });
    await using world = await open(echo(), { plugins: [plugin] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome, hook).toMatchObject({ kind: "failed", by: "plugin", code: "state.parallel" });
    expect(outcome.kind === "failed" && outcome.reason).toContain(`acme/reader changed its state in ${hook}`);
  }
});

test("K10 a handler that comes back after its hook has ended finds its cell closed", async () => {
  const [told, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<unknown>()];
  const plugin = changing(() => ({ count: 1 }), {
    checkpoint: ({ state }: { readonly state: { update(change: () => object): void } }) => {
      void told.promise.then(() => {
        try {
          heard.resolve(state.update(() => ({ count: 99 })));
        } catch (error) {
          heard.resolve(error);
        }
      });
    },
  });
  const model = scripted(says("One."), says("Two."));
  await using world = await open(model, { plugins: [plugin] });
  await world.session.turn("Go.").result();
  told.resolve();
  expect(await heard.promise).toMatchObject({ code: "state.parallel" });
  await world.session.turn("Look.").result();
  expect(model.requests[1]?.system).toBe('State: {"count":0}');
});

test("K10 two plugins do not see each other's state", async () => {
  const named = (id: string) =>
    definePlugin({
      id,
      state: z.object({ name: z.string().default("") }),
      setup: () => ({
        beforeTurn: ({ state }) => state.update(() => ({ name: id })),
        prompt: ({ state }) => ({ slot: "context", text: state.get().name }),
      }),
    });
  const model = scripted(says("Fine."));
  await using world = await open(model, { plugins: [named("a/one"), named("b/two")] });
  await world.session.turn("Go.").result();
  expect(model.requests[0]?.system).toBe("a/one\n\nb/two");
});
