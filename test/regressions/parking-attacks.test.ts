// What attacks on waiting turns brought to light.
import { createRuntime, defer, definePlugin, defineTool, question, type Runtime, RuntimeError } from "bowline";
import { ask } from "bowline/plugin";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf, eventually, outline, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";

const on = (path: string, model: Provider, more: object): Promise<Runtime> =>
  createRuntime({ store: sqlite(path, { durability: "process" }), model, limits: { parkAfterMs: 20 }, ...more });
const waiting = (runtime: Runtime, count: number) =>
  eventually(async () => {
    const found = await runtime.waits.list();
    return found.length === count ? found : undefined;
  }, 5_000);

test("T8 one deferral that two calls return is two waits, each with a unique key", async () => {
  const later = defer({ schema: z.number() });
  const keys: string[] = [];
  const hand = defineTool({
    name: "hand",
    description: "Hands a key out.",
    input: z.object({}),
    execute: async (_, { waitKey }) => {
      keys.push(await waitKey(later));
      return later;
    },
  });
  const model = recited(both(calls("hand", {}, "a"), calls("hand", {}, "b")), says("Done."));
  await using runtime = await on(file(), model, { tools: [hand] });
  const session = await runtime.session("s");
  const result = session.turn("Go.").result();
  expect((await waiting(runtime, 2)).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
  for (const [value, key] of keys.entries()) expect(await runtime.waits.resolve(key, { value })).toBe("accepted");
  expect((await within(result)).outcome).toMatchObject({ kind: "answered" });
  expect(outline((await session.read()).messages)).toEqual(expect.arrayContaining(["hand ok: 0", "hand ok: 1"]));
});

test("T8 a call that asks for the keys of two results fails: it can wait for one", async () => {
  const hand = defineTool({
    name: "hand",
    description: "Hands keys out.",
    input: z.object({}),
    execute: async (_, { waitKey }) => {
      await waitKey(defer({ schema: z.number() }));
      const asks = question(z.string(), { text: "Who?" });
      await waitKey(asks);
      return asks;
    },
  });
  await using runtime = await on(file(), recited(calls("hand", {}, "a"), says("Done.")), { tools: [hand] });
  const session = await runtime.session("s");
  await within(session.turn("Go.").result());
  expect(outline((await session.read()).messages).join("\n")).toMatch(/hand failed: .*two results/);
});

test.each([
  ["an unknown type", { type: "nonsense" }],
  ["a pattern that is none", { type: "string", pattern: "(" }],
  ["a reference to nothing", { $ref: "#/nowhere" }],
])(
  "T8 a call that would wait for a value by a schema with %s fails at once: nobody could answer it",
  async (_, schema) => {
    const tools = (["returned", "handed"] as const).map((name) =>
      defineTool({
        name,
        description: "Waits.",
        input: z.object({}),
        execute: async (_, { waitKey }) => {
          const later = defer({ schema });
          if (name === "handed") await waitKey(later);
          return later;
        },
      }),
    );
    const model = recited(both(calls("returned", {}, "a"), calls("handed", {}, "b")), says("Done."));
    await using runtime = await on(file(), model, { tools });
    const session = await runtime.session("s");
    expect((await within(session.turn("Go.").result())).outcome).toMatchObject({ kind: "answered" });
    const said = outline((await session.read()).messages).join("\n");
    expect(said).toMatch(/returned failed: .*schema/);
    expect(said).toMatch(/handed failed: .*schema/);
  },
);

test("T9 a question that would wait for ever is refused: its deadline could not be kept", async () => {
  const asks = definePlugin({
    id: "bank/asks",
    setup: () => ({ beforeToolCall: () => ask("Forever.", { waitMs: Infinity }) }),
  });
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." });
  const model = recited(calls("pay", {}, "p"), says("Done."));
  await using runtime = await on(file(), model, { tools: [pay], plugins: [asks] });
  const session = await runtime.session("s");
  await within(session.turn("Go.").result());
  expect(outline((await session.read()).messages).join("\n")).toMatch(/pay denied: .*waitMs/);
});

test("D4 a page of waits is a whole number: others are refused, typed", async () => {
  await using runtime = await on(file(), recited(says("Hi.")), {});
  for (const max of [1.5, 0, Number.NaN, 1e300, "2"])
    expect(await codeOf(() => runtime.waits.list({ max: max as never }))).toBe("options.invalid");
  expect(await runtime.waits.list({ max: Infinity })).toEqual([]);
});

test("T8 a call that would wait for its own turn fails at once: neither could end", async () => {
  const own = defineTool({
    name: "own",
    description: "Waits for its own turn.",
    input: z.object({}),
    execute: (_, { sessionId, turnId }) => defer({ turns: [{ session: sessionId, turn: turnId }] }),
  });
  await using runtime = await on(file(), recited(calls("own", {}, "o"), says("Done.")), { tools: [own] });
  const session = await runtime.session("s");
  expect((await within(session.turn("Go.").result())).outcome).toMatchObject({ kind: "answered" });
  expect(outline((await session.read()).messages).join("\n")).toMatch(/own failed: .*cannot end before/);
});

test("D4 K13 a named operation in a turn that waits here is worked out once more when the store fails, and holds nobody up", async () => {
  const path = file();
  let faults = 0;
  const store = around(sqlite(path, { durability: "process" }), {
    append: (act, _lease, _seq, events) => {
      const isOperation = (events as readonly { readonly kind: string }[]).some(({ kind }) => kind === "applied");
      if (isOperation && faults++ === 0) throw new RuntimeError("store.locked", { path, ms: 1 });
      return act();
    },
  });
  let runs = 0;
  const counts = definePlugin({
    id: "bank/counts",
    version: "1",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command, query }) => ({
      beforeToolCall: () => ask("It moves money."),
      operations: {
        add: command({
          run: ({ state }) => {
            if (++runs > 10) throw new Error("It is run for ever.");
            state.update(({ n }) => ({ n: n + 1 }));
          },
        }),
        count: query({ run: ({ state }) => state.get().n }),
      },
    }),
  });
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." });
  const model = recited(calls("pay", {}, "p"), says("Done."));
  const more = { store, tools: [pay], plugins: [counts], limits: { parkAfterMs: 60_000 } };
  await using runtime = await on(path, model, more);
  const session = await runtime.session("s");
  const result = session.turn("Go.").result();
  const [wait] = await waiting(runtime, 1);
  await within(session.command(counts, "add", undefined, { operationId: "a" }));
  expect(runs).toBe(2);
  expect(await session.query(counts, "count")).toBe(1);
  await runtime.waits.resolve(wait!.key, { approved: true });
  expect((await within(result)).outcome).toMatchObject({ kind: "answered" });
  expect(await session.query(counts, "count")).toBe(1);
});

test("D4 a turn that is never parked by itself is parked by close and by delete, at once", async () => {
  const path = file();
  const traced: string[] = [];
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." });
  const careful = definePlugin({ id: "bank/careful", setup: () => ({ beforeToolCall: () => ask("It moves money.") }) });
  const trace = ({ name }: { readonly name: string }): void => void traced.push(name);
  const more = { tools: [pay], plugins: [careful], limits: { parkAfterMs: Infinity }, telemetry: onEvent(trace) };
  const runtime = await on(path, recited(calls("pay", {}, "p"), calls("pay", {}, "p")), more);
  const [kept, dropped] = ["kept", "dropped"].map((id) =>
    codeOf(async () => (await runtime.session(id)).turn("Go.").result()),
  );
  await waiting(runtime, 2);
  await within(runtime.sessions.delete("dropped"));
  expect(await dropped).toBe("session.deleted");
  await within(runtime.close());
  expect(await kept).toBe("turn.left");
  expect(traced.filter((name) => name === "turn.parked")).toHaveLength(2);
});
