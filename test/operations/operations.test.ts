import { definePlugin, type Json, jsonSchema, type Plugin, type Receipt, type Session } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { eventually, nodesOf, outline, passed, signalOf, within } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, running, twoOn } from "../kit/worlds.ts";

/** A plugin with something of everything. */
const counter = definePlugin({
  id: "acme/counter",
  state: z.object({ count: z.number().default(0) }),
  setup: ({ query, command, task }) => ({
    prompt: ({ state }) => [{ slot: "context", text: `Count: ${state.get().count}` }],
    operations: {
      count: query({ description: "How many.", run: ({ state }) => state.get().count }),
      times: query({
        input: z.object({ factor: z.number() }),
        run: ({ input, state }) => input.factor * state.get().count,
      }),
      add: command({
        description: "Adds.",
        input: z.object({ by: z.number().default(1) }),
        output: z.number(),
        run: ({ input, state, emit }) => {
          state.update(({ count }) => ({ count: count + input.by }));
          emit("added", { by: input.by });
          return state.get().count;
        },
      }),
      reset: command({ run: ({ state }) => void state.update(() => ({ count: 0 })) }),
      slowly: task({
        input: z.object({ by: z.number() }),
        run: async ({ input, state, signal }) => {
          await passed(1);
          signal.throwIfAborted();
          state.update(({ count }) => ({ count: count + input.by }));
          return `now ${state.get().count}`;
        },
      }),
    },
  }),
});

const opened = () => open(echo(), { plugins: [counter] });

// ── Calling ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 operations are called by the plugin, typed: a query, a command and a task", async () => {
  await using world = await opened();
  const { session } = world;
  const count = await session.query(counter, "count");
  expectTypeOf(count).toEqualTypeOf<number>();
  const added = await session.command(counter, "add", { by: 3 });
  expectTypeOf(added).toEqualTypeOf<Receipt<number>>();
  const slow = await session.task(counter, "slowly", { by: 2 });
  expectTypeOf(slow.output).toEqualTypeOf<string>();
  expect([count, added.output, slow.output]).toEqual([0, 3, "now 5"]);
  expect(await session.query(counter, "times", { factor: 10 })).toBe(50);
  expect((await session.command(counter, "add")).output).toBe(6);
  expect((await session.command(counter, "reset")).output).toBeUndefined();
  expect(await session.query(counter, "count")).toBe(0);
});

test("K13 what does not fit an operation does not compile", () => {
  const never = async (session: Session) => {
    // @ts-expect-error a command is no query
    await session.query(counter, "add", { by: 1 });
    // @ts-expect-error there is no such operation
    await session.command(counter, "subtract");
    // @ts-expect-error its input is a number
    await session.command(counter, "add", { by: "1" });
    // @ts-expect-error it needs an input
    await session.query(counter, "times");
    // @ts-expect-error it takes none
    await session.command(counter, "reset", { by: 1 });
  };
  expect(never).toBeTypeOf("function");
});

test("K13 operations are called by their wire name, whatever the kind", async () => {
  await using world = await opened();
  const { session } = world;
  const base = { plugin: "acme/counter", events: [], queued: [] };
  expect(await session.invoke("query", "acme/counter.count")).toEqual({ ...base, output: 0 });
  expect(await session.invoke("command", "acme/counter.add", { by: 4 })).toEqual({
    ...base,
    output: 4,
    events: [{ name: "added", payload: { by: 4 } }],
  });
  expect(await session.invoke("task", "acme/counter.slowly", { by: 1 })).toEqual({ ...base, output: "now 5" });
});

test("K13 what is unknown, and what is of another kind, is operation.unknown and lists those of the kind", async () => {
  await using world = await opened();
  const { session } = world;
  const known = {
    query: ["acme/counter.count", "acme/counter.times"],
    command: ["acme/counter.add", "acme/counter.reset"],
    task: ["acme/counter.slowly"],
  };
  for (const kind of ["query", "command", "task"] as const) {
    for (const name of ["acme/counter.nothing", "count", "", "__proto__", "acme/other.count"])
      await expect(session.invoke(kind, name)).rejects.toMatchObject({
        code: "operation.unknown",
        details: { name, known: known[kind] },
      });
    for (const other of ["query", "command", "task"] as const) {
      if (other === kind) continue;
      for (const name of known[other])
        await expect(session.invoke(kind, name, { by: 1 }), `${kind} ${name}`).rejects.toMatchObject({
          code: "operation.unknown",
          details: { name, known: known[kind], kind: other },
          hint: expect.stringContaining(`session.${other}(`),
        });
    }
  }
  expect(await session.query(counter, "count")).toBe(0);
});

test("K13 a plugin that is not installed, and a kind that is none, are operation.unknown", async () => {
  await using world = await open(echo());
  const { session } = world;
  await expect(session.query(counter, "count")).rejects.toMatchObject({
    code: "operation.unknown",
    details: { name: "acme/counter.count", known: [], plugin: "acme/counter" },
    hint: expect.stringContaining("Add the plugin to `plugins`"),
  });
  await expect(session.command(counter, "add")).rejects.toMatchObject({ code: "operation.unknown" });
  await expect(session.invoke("mutation" as never, "acme/counter.add")).rejects.toMatchObject({
    code: "operation.unknown",
  });
});

test("K13 definitions are listed with kind, description, session rule and schemas", async () => {
  const plugin = definePlugin({
    id: "a/rules",
    setup: ({ query, command }) => ({
      operations: {
        anywhere: query({ session: "optional", run: () => null }),
        nowhere: command({ session: "forbidden", run: () => null }),
        odd: command({
          input: z.object({ at: z.date() }), // It cannot describe itself, and is listed all the same.
          run: () => null,
        }),
      },
    }),
  });
  await using world = await open(echo(), { plugins: [counter, plugin] });
  const list = world.session.operations();
  expect(list.map(({ name, plugin: owner, kind, session }) => [name, owner, kind, session])).toEqual([
    ["acme/counter.count", "acme/counter", "query", "required"],
    ["acme/counter.times", "acme/counter", "query", "required"],
    ["acme/counter.add", "acme/counter", "command", "required"],
    ["acme/counter.reset", "acme/counter", "command", "required"],
    ["acme/counter.slowly", "acme/counter", "task", "required"],
    ["a/rules.anywhere", "a/rules", "query", "optional"],
    ["a/rules.nowhere", "a/rules", "command", "forbidden"],
    ["a/rules.odd", "a/rules", "command", "required"],
  ]);
  const add = list.find(({ name }) => name === "acme/counter.add");
  expect(add).toMatchObject({
    description: "Adds.",
    input: { type: "object", properties: { by: { type: "number", default: 1 } } },
    output: { type: "number" },
  });
  expect(list.find(({ name }) => name === "acme/counter.reset")).toEqual({
    name: "acme/counter.reset",
    plugin: "acme/counter",
    kind: "command",
    description: "",
    session: "required",
  });
  expect(JSON.parse(JSON.stringify(list))).toEqual(list);
});

test.each<readonly [string, object]>([
  ["not made with a maker", { go: { run: () => 1 } }],
  ["a list", [1]],
  ["a name that cannot be one", { "a.b": { kind: "query", spec: { run: () => 1 } } }],
  ["a kind that is none", { go: { kind: "mutation", spec: { run: () => 1 } } }],
  ["nothing", { go: undefined }],
  ["an input that is a JSON Schema", { go: { kind: "task", spec: { input: {}, run: () => 1 } } }],
  ["an output that is no schema", { go: { kind: "query", spec: { output: "text", run: () => 1 } } }],
])("K13 operations that are wrong are refused when the session opens: %s", async (_, operations) => {
  const plugin = definePlugin({ id: "a/wrong", setup: () => ({ operations: operations as never }) });
  await using runtime = await running({ plugins: [plugin] });
  await expect(runtime.session()).rejects.toMatchObject({ code: "plugin.invalid", details: { plugin: "a/wrong" } });
});

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

const rules = definePlugin({
  id: "a/rules",
  setup: ({ query, command, task }) => ({
    operations: {
      required: query({ run: ({ sessionId }) => sessionId ?? null }),
      optional: query({ session: "optional", run: ({ sessionId }) => sessionId ?? null }),
      forbidden: query({ session: "forbidden", run: ({ sessionId }) => sessionId ?? null }),
      requiredCommand: command({ run: ({ sessionId }) => sessionId ?? null }),
      optionalCommand: command({ session: "optional", run: ({ sessionId }) => sessionId ?? null }),
      forbiddenTask: task({ session: "forbidden", run: ({ sessionId }) => sessionId ?? null }),
    },
  }),
});

test("K13 an operation runs on the session it is called on; its rule or the caller can change that", async () => {
  await using world = await open(echo(), { plugins: [rules] });
  const { session } = world;
  const none = { session: null };
  expect(await session.query(rules, "required")).toBe(session.id);
  expect(await session.query(rules, "optional")).toBe(session.id);
  expect(await session.query(rules, "forbidden")).toBe(null);
  expect(await session.query(rules, "optional", undefined, none)).toBe(null);
  expect(await session.query(rules, "forbidden", undefined, none)).toBe(null);
  expect((await session.command(rules, "optionalCommand", undefined, none)).output).toBe(null);
  expect((await session.task(rules, "forbiddenTask")).output).toBe(null);
  for (const act of [
    () => session.query(rules, "required", undefined, none),
    () => session.invoke("query", "a/rules.required", undefined, none),
  ])
    await expect(act()).rejects.toMatchObject({
      code: "operation.missing-session",
      details: { name: "a/rules.required" },
    });
  await expect(session.command(rules, "requiredCommand", undefined, none)).rejects.toMatchObject({
    code: "operation.missing-session",
    details: { name: "a/rules.requiredCommand" },
  });
});

test("K13 an operation that runs without a session changes nothing of the session it was called through", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/loose",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ query, command }) => ({
      operations: {
        n: query({ run: ({ state }) => state.get().n }),
        bump: command({
          session: "optional",
          run: ({ state, emit }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            emit("bumped");
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { store, plugins: [plugin] });
  const receipt = await world.session.command(plugin, "bump", undefined, { session: null }).catch(() => undefined);
  expect(await world.session.query(plugin, "n")).toBe(0);
  expect(await nodesOf(store, world.session)).toEqual([]);
  expect(receipt?.plugin ?? "a/loose").toBe("a/loose");
});

test("K13 an operation that forbids a session refuses one that is given", async () => {
  await using world = await open(echo(), { plugins: [rules] });
  const given = { session: world.session.id } as never;
  await expect(world.session.query(rules, "forbidden", undefined, given)).rejects.toMatchObject({
    code: "operation.unexpected-session",
    details: { name: "a/rules.forbidden" },
  });
});

// ── What goes wrong ─────────────────────────────────────────────────────────────────────────────────────────────────

const sick = definePlugin({
  id: "b/sick",
  state: z.object({ n: z.number().default(0) }),
  setup: ({ query, command, task }) => {
    const fails = ({
      state,
      emit,
      queueTurn,
    }: { state: { update(f: () => { n: number }): void } } & {
      emit(name: string): void;
      queueTurn(words: string): void;
    }): never => {
      state.update(() => ({ n: 99 }));
      emit("happened");
      queueTurn("Go on.");
      throw new Error("Ouch.");
    };
    return {
      operations: {
        n: query({ run: ({ state }) => state.get().n }),
        fails: command({ run: fails }),
        rejects: task({ run: async (context) => fails(context) }),
        asks: query({
          run: async (): Promise<number> => {
            throw new Error("Ouch.");
          },
        }),
        lies: query({ output: z.number(), run: () => "text" as never }),
        liesLater: command({
          output: z.number(),
          run: ({ state }) => {
            state.update(() => ({ n: 99 }));
            return "text" as never;
          },
        }),
        breaksState: command({ run: ({ state }) => void state.update(() => ({ n: "text" }) as never) }),
        emitsRubbish: command({ run: ({ emit }) => emit("x", (() => {}) as never) }),
        queuesRubbish: command({
          run: ({ queueTurn, state }) => {
            state.update(() => ({ n: 99 }));
            queueTurn(42 as never);
          },
        }),
        fine: command({ run: ({ state }) => void state.update(({ n }) => ({ n: n + 1 })) }),
      },
    };
  },
});

test.each<readonly ["query" | "command" | "task", string, Json | undefined, string]>([
  ["command", "fails", undefined, "Ouch."],
  ["task", "rejects", undefined, "Ouch."],
  ["query", "asks", undefined, "Ouch."],
  ["query", "lies", undefined, "its output is invalid"],
  ["command", "liesLater", undefined, "its output is invalid"],
  ["command", "emitsRubbish", undefined, "JSON"],
])(
  "K13 a %s that goes wrong (%s) is operation.failed by its name, and nothing is changed",
  async (kind, name, input, words) => {
    const store = memory();
    await using world = await open(echo(), { store, plugins: [sick] });
    const { session } = world;
    const wire = `b/sick.${name}`;
    await expect(session.invoke(kind, wire, input)).rejects.toMatchObject({
      code: "operation.failed",
      details: { name: wire, problem: expect.stringContaining(words) },
    });
    expect(await session.query(sick, "n")).toBe(0);
    expect(await nodesOf(store, session)).toEqual([]);
    expect((await store.load(session.id))?.revision).toBe(0);
    await session.command(sick, "fine");
    expect(await session.query(sick, "n")).toBe(1);
    expect((await session.read()).turns).toBe(0);
  },
);

test("K13 an input that does not fit is operation.input with the path of what is wrong", async () => {
  await using world = await opened();
  const { session } = world;
  for (const [kind, name, input] of [
    ["query", "acme/counter.times", {}],
    ["query", "acme/counter.times", { factor: "2" }],
    ["command", "acme/counter.add", { by: null }],
    ["task", "acme/counter.slowly", { by: [] }],
  ] as const)
    await expect(session.invoke(kind, name, input)).rejects.toMatchObject({
      code: "operation.input",
      details: { name, problem: expect.stringMatching(/^(factor|by): /) },
    });
});

test("K13 options, state and input may be plain JSON Schema", async () => {
  const counter = definePlugin({
    id: "a/counter",
    options: jsonSchema<{ readonly step?: number }>({ type: "object", properties: { step: { type: "integer" } } }),
    state: jsonSchema<{ readonly count?: number }>({ type: "object", properties: { count: { type: "integer" } } }),
    setup: ({ options: { step = 1 }, command }) => ({
      operations: {
        add: command({
          input: jsonSchema<{ readonly times: number }>({
            type: "object",
            properties: { times: { type: "integer", minimum: 1 } },
            required: ["times"],
          }),
          run: ({ input, state }) => {
            state.update(({ count = 0 }) => ({ count: count + step * input.times }));
            return state.get().count;
          },
        }),
      },
    }),
  });
  await using world = await open(scripted(), { plugins: [counter({ step: 2 })] });
  expect(await world.session.command(counter, "add", { times: 3 })).toMatchObject({ output: 6 });
  await expect(world.session.command(counter, "add", { times: 0 })).rejects.toMatchObject({ code: "operation.input" });
});

test("K13 a state that does not fit fails the command, and the state stays", async () => {
  await using world = await open(echo(), { plugins: [sick] });
  await expect(world.session.command(sick, "breaksState")).rejects.toMatchObject({
    code: "state.invalid",
    details: { plugin: "b/sick" },
  });
  expect(await world.session.query(sick, "n")).toBe(0);
});

test("K13 a command whose turn cannot be queued fails whole: its state is not kept", async () => {
  await using world = await open(echo(), { plugins: [sick] });
  await expect(world.session.command(sick, "queuesRubbish")).rejects.toMatchObject({
    code: expect.stringMatching(/operation\.failed|input\.invalid/),
  });
  expect(await world.session.query(sick, "n")).toBe(0);
});

test("K13 a query cannot write, and cannot change what it reads", async () => {
  const plugin = definePlugin({
    id: "a/reads",
    state: z.object({ list: z.array(z.number()).default([1]) }),
    setup: ({ query }) => ({
      operations: {
        write: query({
          run: ({ state }) => (state as unknown as { update(f: (s: unknown) => unknown): void }).update((s) => s),
        }),
        mutate: query({ run: ({ state }) => void state.get().list.push(2) }),
        list: query({ run: ({ state }) => state.get().list }),
        keys: query({ run: (context) => Object.keys(context).sort() }),
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  await expect(world.session.query(plugin, "write")).rejects.toMatchObject({ code: "state.parallel" });
  await expect(world.session.query(plugin, "mutate")).rejects.toMatchObject({ code: "operation.failed" });
  expect(await world.session.query(plugin, "list")).toEqual([1]);
  expect(await world.session.query(plugin, "keys")).not.toContain("emit");
});

// ── What is kept ────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 the receipt has plugin, output, events and queued turns; the events are plugin nodes of the history", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/busy",
    setup: ({ command }) => ({
      operations: {
        go: command({
          run: ({ emit, queueTurn }) => {
            emit("first", { n: 1 });
            queueTurn("Said by a plugin.");
            emit("second");
            return { done: true };
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { store, plugins: [plugin] });
  await world.session.turn("Hi.").result();
  const receipt = await world.session.command(plugin, "go");
  expect(receipt).toEqual({
    plugin: "a/busy",
    output: { done: true },
    events: [
      { name: "first", payload: { n: 1 } },
      { name: "second", payload: null },
    ],
    queued: [expect.any(String)],
  });
  await eventually(async () => (await world.session.read()).turns === 2);
  expect(await store.terminal(receipt.queued[0]!)).toMatchObject({ outcome: { text: "re: Said by a plugin." } });
  expect(await nodesOf(store, world.session)).toEqual([
    "user: Hi.",
    "assistant: re: Hi.",
    'a/busy event {"name":"first","payload":{"n":1}}',
    'a/busy event {"name":"second","payload":null}',
    "user: Said by a plugin.",
    "assistant: re: Said by a plugin.",
  ]);
  expect(outline((await world.session.read()).messages)).toHaveLength(4);
});

const queues = definePlugin({
  id: "a/queues",
  state: z.object({ runs: z.number().default(0) }),
  setup: ({ command, query }) => ({
    operations: {
      go: command({
        input: z.object({ words: z.string(), key: z.string().optional() }),
        run: ({ input: { words, key }, queueTurn, state }) => {
          state.update(({ runs }) => ({ runs: runs + 1 }));
          queueTurn(words, key === undefined ? {} : { key });
        },
      }),
      runs: query({ run: ({ state }) => state.get().runs }),
    },
  }),
});

test("K13 a turn that is queued under a key runs once, however often and from wherever it is queued", async () => {
  const store = memory();
  await using world = await twoOn(store, { plugins: [queues] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const input = { words: "Once.", key: "k" };
  const first = await here.command(queues, "go", input);
  const receipts = await within(
    Promise.all([here.command(queues, "go", input), there.command(queues, "go", input)]),
    3_000,
  );
  for (const { queued } of receipts) expect(queued).toEqual(first.queued);
  const joined = await here.turn("Once.", { key: "k" }).result();
  expect(joined.turnId).toBe(first.queued[0]);
  await passed(20);
  expect(outline((await here.read()).messages)).toEqual(["user: Once.", "assistant: re: Once."]);
  expect(await here.query(queues, "runs")).toBe(3);
});

test("K13 turns that are queued without a key all run, in order", async () => {
  await using world = await open(echo(), { plugins: [queues] });
  const { session } = world;
  for (const words of ["1", "2", "3"]) await session.command(queues, "go", { words });
  await eventually(async () => (await session.read()).turns === 3);
  expect(outline((await session.read()).messages).filter((line) => line.startsWith("user"))).toEqual([
    "user: 1",
    "user: 2",
    "user: 3",
  ]);
});

test("K13 a key that was used for other words fails the command whole", async () => {
  await using world = await open(echo(), { plugins: [queues] });
  const { session } = world;
  await session.command(queues, "go", { words: "One.", key: "k" });
  await expect(session.command(queues, "go", { words: "Two.", key: "k" })).rejects.toMatchObject({
    code: expect.stringMatching(/input\.conflict|operation\.failed/),
  });
  expect(await session.query(queues, "runs")).toBe(1);
});

test("K13 what a command wrote is seen by the next turn and survives reopening, here and in another runtime", async () => {
  const store = memory();
  const model = scripted(says("Yes."), says("Yes."));
  const runtime = await running({ store, model, plugins: [counter] });
  const session = await runtime.session("s");
  await session.command(counter, "add", { by: 2 });
  await session.turn("Go.").result();
  await session.command(counter, "add", { by: 3 });
  await session.close();
  const again = await runtime.session("s");
  expect(await again.query(counter, "count")).toBe(5);
  await using other = await running({ store, model, plugins: [counter] });
  const elsewhere = await other.session("s");
  expect(await elsewhere.query(counter, "count")).toBe(5);
  await elsewhere.turn("Go.").result();
  expect(model.requests.map(({ system }) => system)).toEqual(["Count: 2", "Count: 5"]);
});

test("K13 a query sees what another runtime has committed", async () => {
  await using world = await twoOn(memory(), { plugins: [counter] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  await here.command(counter, "add", { by: 1 });
  await there.command(counter, "add", { by: 1 });
  expect(await here.query(counter, "count")).toBe(2);
  expect((await here.invoke("query", "acme/counter.count")).output).toBe(2);
});

test("K13 commands of two runtimes on one store all count", async () => {
  const store = memory();
  await using world = await twoOn(store, { plugins: [counter] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const adding = [here, there].flatMap((session) =>
    Array.from({ length: 20 }, () => session.command(counter, "add", { by: 1 })),
  );
  const outputs = (await within(Promise.all(adding), 4_000)).map(({ output }) => output);
  expect([...outputs].sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  expect((await nodesOf(store, here)).length).toBe(40);
  expect((await store.load(here.id))?.plugins).toEqual({
    "acme/counter": { version: "1", revision: 40, state: { count: 40 } },
  });
});

test("K13 commands of two plugins keep out of each other's state", async () => {
  const store = memory();
  await using world = await twoOn(store, { plugins: [counter, queues] }, { plugins: [counter] });
  const [both, one] = [await world.one.session("s"), await world.two.session("s")];
  await both.command(queues, "go", { words: "Hi.", key: "k" });
  await one.command(counter, "add");
  await both.command(queues, "go", { words: "Hi.", key: "k" });
  expect(await both.query(queues, "runs")).toBe(2);
  expect((await one.command(counter, "add")).output).toBe(2);
});

// ── Tasks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 a task is given the caller's signal, and when it stops nothing is changed", async () => {
  const began = signalOf();
  const plugin = definePlugin({
    id: "a/long",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ task, query }) => ({
      operations: {
        n: query({ run: ({ state }) => state.get().n }),
        wait: task({
          run: async ({ signal, state }) => {
            state.update(() => ({ n: 1 }));
            began.resolve();
            await new Promise<void>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  const stop = new AbortController();
  const task = world.session.task(plugin, "wait", undefined, { signal: stop.signal });
  await began.promise;
  stop.abort(new Error("Enough."));
  await expect(within(task)).rejects.toMatchObject({
    code: "operation.failed",
    details: { name: "a/long.wait", problem: expect.stringContaining("Enough.") },
  });
  expect(await world.session.query(plugin, "n")).toBe(0);
  expect((await within(world.session.turn("Go.").result())).outcome.kind).toBe("answered");
});

test("K13 each kind is given its services: queries read, commands change, tasks may ask a model too", async () => {
  const keys = (context: object) => Object.keys(context).sort();
  const plugin = definePlugin({
    id: "a/keys",
    state: z.object({}),
    setup: ({ query, command, task }) => ({
      operations: {
        query: query({ run: keys }),
        command: command({ run: keys }),
        task: task({ run: keys }),
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  const common = ["input", "read", "sessionId", "signal", "state"];
  const reads = ["blobs", "catalog", "jobs", "monitors", "session", "triggers"];
  const changes = ["configure", "emit", "graph", "membership", "queueTurn", "sessions", "trace"];
  const { session } = world;
  expect(await session.query(plugin, "query")).toEqual([...common, ...reads].sort());
  expect((await session.command(plugin, "command")).output).toEqual([...common, ...reads, ...changes].sort());
  expect((await session.task(plugin, "task")).output).toEqual(
    [...common, ...reads, ...changes, "complete", "once"].sort(),
  );
});

test("K13 operations use their services: blobs, traces, the conversation, the tools", async () => {
  const traces: string[] = [];
  const plugin = definePlugin({
    id: "a/uses",
    setup: ({ command, query }) => ({
      operations: {
        keep: command({
          run: async ({ blobs, trace, session, catalog }) => {
            trace.emit("kept", { n: 1 });
            return {
              hash: await blobs.put(new TextEncoder().encode("bytes")),
              said: session.read().messages.length,
              tools: catalog.list(),
            };
          },
        }),
        get: query({
          input: z.object({ hash: z.string() }),
          run: async ({ input, blobs }) => new TextDecoder().decode(await blobs.get(input.hash as never)),
        }),
      },
    }),
  });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, {
    plugins: [plugin],
    tools: [ping],
    telemetry: onEvent(({ name }) => traces.push(name)),
  });
  await world.session.turn("Go.").result();
  const { output } = await world.session.command(plugin, "keep");
  expect(output).toMatchObject({ said: 4, tools: [{ name: "ping", description: "Pings." }] });
  expect(await world.session.query(plugin, "get", { hash: output.hash })).toBe("bytes");
  expect(traces).toContain("a/uses.kept");
});

test("K13 any list of plugins is a list of plugins, and a session is a plain session", async () => {
  const plugins: readonly Plugin[] = [counter, rules, sick];
  await using runtime = await running({ plugins });
  const session: Session = await runtime.session();
  expect(session.operations()).toHaveLength(21);
});
