import { createRuntime, definePlugin, type Json, type Plugin, type Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { within } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";

/** A plugin that counts turns, in several versions. */
const tally = (version: string, migrate?: (state: Json, from: string) => Json) =>
  definePlugin({
    id: "acme/tally",
    version,
    state: z.object({ turns: z.number().default(0), note: z.string().default("") }),
    ...(migrate === undefined ? {} : { migrate }),
    setup: ({ query, command }) => ({
      afterTurn: ({ state }) => void state.update((now) => ({ ...now, turns: now.turns + 1 })),
      operations: {
        now: query({ run: ({ state }) => state.get() }),
        note: command({
          input: z.object({ text: z.string() }),
          run: ({ input, state }) => void state.update((now) => ({ ...now, note: input.text })),
        }),
      },
    }),
  });

/** As another process would open it: runtimes share nothing but the store, and none is closed before the store is. */
const opened = async (store: Store, ...plugins: readonly Plugin[]) =>
  (await createRuntime({ store, model: echo(), plugins })).session("s");

const stored = async (store: Store) => (await store.load("s" as never))?.plugins;

test("K14 a state is kept under its plugin's id with version and revision, and found again by another runtime", async () => {
  const store = memory();
  const one = await opened(store, tally("1"));
  await one.turn("Go.").result();
  await one.command(tally("1"), "note", { text: "x" });
  await one.turn("Go.").result();
  const kept = { "acme/tally": { version: "1", revision: 3, state: { turns: 2, note: "x" } } };
  expect(await stored(store)).toEqual(kept);
  const two = await opened(store, tally("1"));
  expect(await two.query(tally("1"), "now")).toEqual({ turns: 2, note: "x" });
  expect(await stored(store)).toEqual(kept);
  await two.turn("Go.").result();
  expect(await stored(store)).toEqual({
    "acme/tally": { version: "1", revision: 4, state: { turns: 3, note: "x" } },
  });
});

test("K14 a state that nobody changed is not written", async () => {
  const store = memory();
  const quiet = definePlugin({
    id: "a/quiet",
    state: z.object({ n: z.number().default(1) }),
    setup: ({ query }) => ({ operations: { n: query({ run: ({ state }) => state.get().n }) } }),
  });
  const session = await opened(store, quiet, tally("1"));
  await session.turn("Go.").result();
  expect(await session.query(quiet, "n")).toBe(1);
  expect(Object.keys((await stored(store)) ?? {})).toEqual(["acme/tally"]);
});

test("K14 a newer version migrates what an older one left, once it is opened, and keeps it in its own", async () => {
  const store = memory();
  await (await opened(store, tally("1"))).turn("Go.").result();
  const asked: unknown[] = [];
  const newer = tally("2", (state, from) => {
    asked.push([state, from]);
    return { ...(state as object), note: `from ${from}` } as Json;
  });
  const session = await opened(store, newer);
  expect(asked).toEqual([[{ turns: 1, note: "" }, "1"]]);
  expect(await session.query(newer, "now")).toEqual({ turns: 1, note: "from 1" });
  expect(await stored(store)).toMatchObject({ "acme/tally": { version: "1", revision: 1 } });
  await session.turn("Go.").result();
  expect(await stored(store)).toEqual({
    "acme/tally": { version: "2", revision: 2, state: { turns: 2, note: "from 1" } },
  });
  asked.length = 0;
  expect(await (await opened(store, newer)).query(newer, "now")).toEqual({ turns: 2, note: "from 1" });
  expect(asked).toEqual([]);
});

test("K14 a version without a migration takes the state as it is, if it fits", async () => {
  const store = memory();
  await (await opened(store, tally("1"))).turn("Go.").result();
  const session = await opened(store, tally("2"));
  expect(await session.query(tally("2"), "now")).toEqual({ turns: 1, note: "" });
});

test.each<readonly [string, (state: Json, from: string) => Json, string]>([
  [
    "throws",
    () => {
      throw new Error("Ouch.");
    },
    "Ouch.",
  ],
  ["gives what does not fit", () => ({ turns: "many" }), "turns"],
  ["gives what is not JSON", () => ({ turns: Number.NaN }), "turns"],
])(
  "K14 a migration that %s is plugin.migrate, names its plugin, and leaves the state as it was",
  async (_, migrate, words) => {
    const store = memory();
    await (await opened(store, tally("1"))).turn("Go.").result();
    const before = await stored(store);
    await expect(opened(store, tally("2", migrate))).rejects.toMatchObject({
      code: "plugin.migrate",
      details: { plugin: "acme/tally", from: "1", to: "2", problem: expect.stringContaining(words) },
    });
    expect(await stored(store)).toEqual(before);
    const again = await opened(store, tally("1"));
    expect(await again.query(tally("1"), "now")).toEqual({ turns: 1, note: "" });
  },
);

test("K14 a migration that fails fails the opening of that session only, and it can be tried again", async () => {
  const store = memory();
  await (await opened(store, tally("1"))).turn("Go.").result();
  let isSick = true;
  const newer = tally("2", (state) => {
    if (isSick) throw new Error("Ouch.");
    return state;
  });
  await using runtime = await running({ store, plugins: [newer] });
  await expect(runtime.session("s")).rejects.toMatchObject({ code: "plugin.migrate" });
  expect((await (await runtime.session("other")).turn("Go.").result()).outcome.kind).toBe("answered");
  isSick = false;
  expect(await (await runtime.session("s")).query(newer, "now")).toMatchObject({ turns: 1 });
});

test("K14 an older version that finds a newer state is asked too, and may refuse", async () => {
  const store = memory();
  await (await opened(store, tally("2"))).turn("Go.").result();
  const older = tally("1", (_, from) => {
    throw new Error(`${from} is newer.`);
  });
  await expect(opened(store, older)).rejects.toMatchObject({
    code: "plugin.migrate",
    details: { from: "2", to: "1", problem: "2 is newer." },
  });
});

test("K14 the state of a plugin that is no longer installed is kept, through turns and commands, and comes back", async () => {
  const store = memory();
  const other = definePlugin({
    id: "a/other",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      afterTurn: ({ state }) => void state.update(({ n }) => ({ n: n + 1 })),
      operations: { add: command({ run: ({ state }) => void state.update(({ n }) => ({ n: n + 1 })) }) },
    }),
  });
  await (await opened(store, tally("1"), other)).turn("Go.").result();
  const without = await opened(store, other);
  await without.turn("Go.").result();
  await without.command(other, "add");
  const bare = await opened(store);
  await bare.turn("Go.").result();
  await bare.configure({ instructions: "x" });
  expect(await stored(store)).toEqual({
    "acme/tally": { version: "1", revision: 1, state: { turns: 1, note: "" } },
    "a/other": { version: "1", revision: 3, state: { n: 3 } },
  });
  const back = await opened(store, tally("1"));
  expect(await back.query(tally("1"), "now")).toEqual({ turns: 1, note: "" });
  await back.turn("Go.").result();
  expect((await stored(store))?.["acme/tally"]).toMatchObject({ revision: 2, state: { turns: 2 } });
});

test("K14 a plugin that no longer has a state leaves the old one alone", async () => {
  const store = memory();
  await (await opened(store, tally("1"))).turn("Go.").result();
  const stateless = definePlugin({ id: "acme/tally", version: "3", setup: () => ({ afterTurn: () => undefined }) });
  await (await opened(store, stateless)).turn("Go.").result();
  expect(await stored(store)).toMatchObject({ "acme/tally": { version: "1", revision: 1 } });
});

test("K14 several changes in one turn or command count each effect once, and the last value is kept", async () => {
  const store = memory();
  const busy = definePlugin({
    id: "a/busy",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      operations: {
        thrice: command({
          run: ({ state }) => {
            for (let time = 0; time < 3; time++) state.update(({ n }) => ({ n: n + 1 }));
            return state.get().n;
          },
        }),
      },
    }),
  });
  const session = await opened(store, busy);
  expect((await session.command(busy, "thrice")).output).toBe(3);
  expect((await session.command(busy, "thrice")).output).toBe(6);
  expect(await stored(store)).toEqual({ "a/busy": { version: "1", revision: 2, state: { n: 6 } } });
});

test("K14 a cell that a command left behind is closed", async () => {
  let left: { update(change: (state: { n: number }) => { n: number }): void } | undefined;
  const plugin = definePlugin({
    id: "a/leaks",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command, query }) => ({
      operations: {
        leak: command({ run: ({ state }) => void (left = state) }),
        n: query({ run: ({ state }) => state.get().n }),
      },
    }),
  });
  const session = await opened(memory(), plugin);
  await session.command(plugin, "leak");
  expect(() => left?.update(() => ({ n: 1 }))).toThrow(expect.objectContaining({ code: "state.parallel" }));
  await within(session.turn("Go.").result());
  expect(await session.query(plugin, "n")).toBe(0);
});

test("K14 a cell of a command that was worked out again is closed: it writes nothing into the second run", async () => {
  const store = memory();
  const cells: { update(change: (state: { n: number }) => { n: number }): void }[] = [];
  let runs = 0;
  const plugin = definePlugin({
    id: "a/again",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      operations: {
        add: command({
          run: async ({ state }) => {
            runs++;
            cells.push(state);
            state.update(({ n }) => ({ n: n + 1 }));
            // Somebody else moves the session while the first run is under way.
            if (runs === 1) await other.command(plugin, "set");
          },
        }),
        set: command({ run: ({ state }) => void state.update(() => ({ n: 10 })) }),
      },
    }),
  });
  const session = await opened(store, plugin);
  const other = await opened(store, plugin);
  await within(session.command(plugin, "add"));
  expect(runs).toBe(2);
  expect(await stored(store)).toEqual({ "a/again": { version: "1", revision: 2, state: { n: 11 } } });
  for (const cell of cells)
    expect(() => cell.update(() => ({ n: 99 }))).toThrow(expect.objectContaining({ code: "state.parallel" }));
  await within(session.turn("Go.").result());
  expect((await stored(store))?.["a/again"]?.state).toEqual({ n: 11 });
});
