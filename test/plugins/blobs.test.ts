import { createRuntime, definePlugin, defineTool, type Plugin, type Session, type Store } from "bowline";
import { type StateCell, shortCircuit } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, echo, plays } from "../kit/models.ts";
import { outline, signalOf, ticks, unheard } from "../kit/reading.ts";
import { ANSWERING, lives, over, slowly } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

const bytes = (words: string): Uint8Array => new TextEncoder().encode(words);
const words = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : new TextDecoder().decode(data);

type Cell = StateCell<{ readonly n: number }>;
const State = z.object({ n: z.number().default(0) });

/** What a plugin keeps, by operations; each turn puts `turn <n>` under `last` and under `at/<n>`. */
const keeper = definePlugin({
  id: "acme/keeper",
  state: State,
  setup: ({ query, command }) => ({
    afterTurn: async ({ state }) => {
      const n = state.get().n + 1;
      await state.blobs.put("last", bytes(`turn ${n}`));
      await state.blobs.put(`at/${n}`, bytes(`${n}`));
      state.update(() => ({ n }));
    },
    operations: {
      get: query({
        input: z.object({ name: z.string() }),
        run: async ({ input, state }) => words(await state.blobs.get(input.name)),
      }),
      names: query({ run: ({ state }) => state.blobs.names() }),
      put: command({
        input: z.object({ name: z.string(), text: z.string() }),
        run: ({ input, state }) => state.blobs.put(input.name, bytes(input.text)),
      }),
      remove: command({
        input: z.object({ name: z.string() }),
        run: ({ input, state }) => state.blobs.remove(input.name),
      }),
    },
  }),
});
const names = (session: Session) => session.query(keeper, "names");
const get = (session: Session, name: string) => session.query(keeper, "get", { name });

// ── Where ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const WRITES = [
  "context",
  "beforeTurn",
  "checkpoint",
  "afterTurn",
  "beforeToolCall",
  "afterToolCall",
  "tool",
  "command",
  "task",
] as const;
const READS = [
  "prompt",
  "request",
  "response",
  "projectResult",
  "lifecycle",
  "stream",
  "toolCatalog",
  "query",
  "plain tool",
] as const;

/** A plugin that does `act` with its state in exactly one place, and tells how that went. */
function onceIn(place: (typeof WRITES | typeof READS)[number], act: (state: Cell) => unknown) {
  const heard: unknown[] = [];
  let isDone = false;
  const run = async ({ state }: { readonly state: unknown }): Promise<undefined> => {
    if (isDone) return;
    isDone = true;
    try {
      heard.push(await act(state as Cell));
    } catch (error) {
      heard.push(error);
    }
  };
  const atOnce = (event: { readonly state: unknown }): undefined => void run(event);
  const plugin = definePlugin({
    id: "acme/once",
    state: State,
    setup: ({ tool, query, command, task }) => {
      const hooks: { [hook: string]: unknown } = {};
      if (place === "toolCatalog") hooks.toolCatalog = atOnce;
      else if (place === "projectResult")
        hooks.projectResult = async (event: { state: unknown; parts: unknown }) => {
          await run(event);
          return event.parts;
        };
      else if (!["tool", "plain tool", "command", "task", "query"].includes(place)) hooks[place] = run;
      return {
        ...(hooks as object),
        tools: [
          tool({
            name: "writes",
            description: "-",
            input: z.object({}),
            writes: true,
            execute: async (_, { state }) => {
              if (place === "tool") await run({ state });
              return "ok";
            },
          }),
          tool({
            name: "reads",
            description: "-",
            input: z.object({}),
            execute: async (_, { state }) => {
              if (place === "plain tool") await run({ state });
              return "ok";
            },
          }),
        ],
        operations: {
          names: query({ run: ({ state }) => state.blobs.names() }),
          query: query({ run: ({ state }) => (place === "query" ? run({ state }) : undefined) }),
          command: command({ run: ({ state }) => (place === "command" ? run({ state }) : undefined) }),
          task: task({ run: ({ state }) => (place === "task" ? run({ state }) : undefined) }),
        },
      };
    },
  });
  return { plugin, heard };
}

async function through(plugin: ReturnType<typeof onceIn>["plugin"]): Promise<readonly string[]> {
  const model = scripted(both(calls("writes"), calls("reads")), says("Done."));
  await using runtime = await running({ model, plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  await session.query(plugin, "query");
  await session.command(plugin, "command");
  await session.task(plugin, "task");
  return session.query(plugin, "names");
}

test.each(WRITES)("K14 a blob can be put, read back, listed and removed in %s", async (place) => {
  const { plugin, heard } = onceIn(place, async ({ blobs }) => {
    await blobs.put("a", bytes("A"));
    await blobs.put("b", bytes("B"));
    blobs.remove("b");
    return [words(await blobs.get("a")), await blobs.get("b"), blobs.names()];
  });
  expect(await through(plugin)).toEqual(["a"]);
  expect(heard).toEqual([["A", undefined, ["a"]]]);
});

test.each(READS)("K14 in %s blobs are read only: put and remove are refused and say where", async (place) => {
  const refused: unknown[] = [];
  const { plugin, heard } = onceIn(place, async ({ blobs }) => {
    await blobs.put("a", bytes("A")).catch((error: unknown) => refused.push(error));
    try {
      blobs.remove("a");
    } catch (error) {
      refused.push(error);
    }
    return [blobs.names(), await blobs.get("a")];
  });
  expect(await through(plugin)).toEqual([]);
  expect(heard).toEqual([[[], undefined]]);
  expect(refused).toMatchObject([{ code: "state.parallel" }, { code: "state.parallel" }]);
  expect(refused).toMatchObject(
    Array(2).fill({
      details: { plugin: "acme/once", where: expect.stringContaining(place === "plain tool" ? "reads" : place) },
    }),
  );
});

// ── What is kept ────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(ANSWERING)(
  "K14 blobs are committed with the turn and found by a new runtime, on a store that answers %s",
  async (_, make) => {
    const store = make();
    const one = await (await createRuntime({ store, model: echo(), plugins: [keeper] })).session("s");
    await one.turn("1").result();
    await one.command(keeper, "put", { name: "note", text: "N" });
    await using two = await createRuntime({ store, model: echo(), plugins: [keeper] });
    const session = await two.session("s");
    expect(await names(session)).toEqual(["last", "at/1", "note"]);
    expect([await get(session, "last"), await get(session, "note")]).toEqual(["turn 1", "N"]);
    await session.turn("2").result();
    await session.command(keeper, "remove", { name: "note" });
    expect(await names(one)).toEqual(["last", "at/1", "at/2"]);
    expect([await get(one, "last"), await get(one, "note")]).toEqual(["turn 2", undefined]);
  },
);

test("K14 the state and its blobs are kept together: each change keeps the other", async () => {
  const store = memory();
  await using runtime = await running({ store, plugins: [keeper] });
  const session = await runtime.session("s");
  await session.turn("1").result();
  await session.command(keeper, "put", { name: "note", text: "N" });
  const stored = (await store.load(session.id))?.plugins["acme/keeper"];
  expect(stored).toMatchObject({ version: "1", revision: 2, state: { n: 1 } });
  expect(Object.keys(stored?.blobs ?? {})).toEqual(["last", "at/1", "note"]);
  for (const name of ["last", "at/1", "note"]) await session.command(keeper, "remove", { name });
  expect((await store.load(session.id))?.plugins["acme/keeper"]).toMatchObject({ state: { n: 1 } });
  expect(await names(session)).toEqual([]);
});

test("K14 a fork has the blobs of where it began, and goes its own way", async () => {
  await using runtime = await running({ plugins: [keeper] });
  const session = await runtime.session("s");
  await session.turn("1").result();
  const { head } = await session.read();
  await session.turn("2").result();
  await session.command(keeper, "put", { name: "note", text: "N" });
  const older = await session.fork({ at: head as string });
  const same = await session.fork();
  expect([await names(older), await get(older, "last")]).toEqual([["last", "at/1"], "turn 1"]);
  expect(await names(same)).toEqual(["last", "at/1", "at/2", "note"]);
  await older.command(keeper, "put", { name: "last", text: "Mine." });
  await same.command(keeper, "remove", { name: "last" });
  expect([await get(older, "last"), await get(same, "last"), await get(session, "last")]).toEqual([
    "Mine.",
    undefined,
    "turn 2",
  ]);
});

test("K14 two plugins and two sessions may use one name: each has its own", async () => {
  const other = definePlugin({
    id: "acme/other",
    state: State,
    setup: ({ query }) => ({
      afterTurn: ({ state }) => state.blobs.put("last", bytes("Other.")),
      operations: { last: query({ run: async ({ state }) => words(await state.blobs.get("last")) }) },
    }),
  });
  await using runtime = await running({ plugins: [keeper, other] });
  const [a, b] = [await runtime.session("a"), await runtime.session("b")];
  await a.turn("1").result();
  await a.turn("2").result();
  await b.turn("1").result();
  expect([await get(a, "last"), await get(b, "last"), await a.query(other, "last")]).toEqual([
    "turn 2",
    "turn 1",
    "Other.",
  ]);
});

test.each(["beforeTurn", "command", "a tool", "an attempt that is tried again"])(
  "K14 what %s put is dropped when it fails, and what was there stays",
  async (where) => {
    const fails = async (state: Cell): Promise<never> => {
      await state.blobs.put("a", bytes("new"));
      state.blobs.remove("b");
      throw new Error("Ouch.");
    };
    let isSick = false;
    const plugin = definePlugin({
      id: "acme/fails",
      state: State,
      setup: ({ tool, command, query }) => ({
        beforeTurn: async ({ state }) => {
          if (where === "beforeTurn" && isSick) await fails(state);
        },
        tools: [
          tool({
            name: "writes",
            description: "-",
            input: z.object({}),
            writes: true,
            ...(where === "a tool"
              ? {}
              : { retry: { policy: "idempotent", attempts: 2, baseMs: 1, maxMs: 1 } as const }),
            execute: async (_, { state, attempt }) => {
              if (attempt === 1) await fails(state);
              return state.blobs.names();
            },
          }),
        ],
        operations: {
          begin: command({
            run: async ({ state }) => {
              for (const name of ["a", "b"]) await state.blobs.put(name, bytes("old"));
            },
          }),
          fails: command({ run: ({ state }) => fails(state) }),
          all: query({
            run: async ({ state }) => [state.blobs.names(), words(await state.blobs.get("a"))],
          }),
        },
      }),
    });
    const model = scripted(calls("writes"), says("Done."));
    await using runtime = await running({ model, plugins: [plugin] });
    const session = await runtime.session();
    await session.command(plugin, "begin");
    isSick = true;
    if (where === "command")
      await expect(session.command(plugin, "fails")).rejects.toMatchObject({ code: "operation.failed" });
    else await session.turn("Go.").result();
    expect(await session.query(plugin, "all")).toEqual([["a", "b"], "old"]);
  },
);

test("K14 a second look at a call puts and removes nothing twice, and nothing at all", async () => {
  let looks = 0;
  const plugin = definePlugin({
    id: "acme/looks",
    state: State,
    setup: ({ query }) => ({
      beforeToolCall: async ({ state }) => {
        await state.blobs.put(`look ${++looks}`.replace(" ", "-"), bytes("x"));
      },
      operations: { names: query({ run: ({ state }) => state.blobs.names() }) },
    }),
  });
  const replaces = definePlugin({
    id: "b/replaces",
    setup: () => ({ beforeToolCall: () => ({ kind: "replaceArgs", args: {} }) as const }),
  });
  const ping = defineTool({ name: "ping", description: "-", input: z.object({}), execute: () => "Pong." });
  await using runtime = await running({
    model: scripted(calls("ping"), says("1")),
    tools: [ping],
    plugins: [plugin, replaces],
  });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(looks).toBe(2);
  expect(await session.query(plugin, "names")).toEqual(["look-1"]);
});

// ── Names and bytes ─────────────────────────────────────────────────────────────────────────────────────────────────

test.each<readonly [string, unknown, unknown]>([
  ["an empty name", "", bytes("x")],
  ["a name with a blank", "a b", bytes("x")],
  ["a name of 129 letters", "a".repeat(129), bytes("x")],
  ["a name that is not a text", 7, bytes("x")],
  ["a name with a line break", "a\n", bytes("x")],
  ["text instead of bytes", "a", "x"],
  ["no bytes", "a", undefined],
  ["an ArrayBuffer", "a", new ArrayBuffer(4)],
])("K14 %s is state.invalid, and nothing is put", async (_, name, data) => {
  const { plugin, heard } = onceIn("command", ({ blobs }) => blobs.put(name as string, data as Uint8Array));
  expect(await through(plugin)).toEqual([]);
  expect(heard).toMatchObject([{ code: "state.invalid", details: { plugin: "acme/once" } }]);
});

test.each(["__proto__", "constructor", "toString", "a/b@c.d_e-f", "a".repeat(128)])(
  "K14 %s is a name like any other, or is refused: never lost",
  async (name) => {
    const { plugin, heard } = onceIn("command", async ({ blobs }) => {
      if ((await blobs.get(name)) !== undefined) return "There was something already.";
      await blobs.put(name, bytes("x"));
      return words(await blobs.get(name));
    });
    const kept = await through(plugin);
    if (heard[0] instanceof Error) expect(heard).toMatchObject([{ code: "state.invalid" }]);
    else expect([heard[0], kept]).toEqual(["x", [name]]);
  },
);

test.each(ANSWERING)(
  "K14 ten megabytes are kept as they are, beside a small state, on a store that answers %s",
  async (_, make) => {
    const big = new Uint8Array(10 * 1024 * 1024).fill(7);
    big[5] = 0;
    const { plugin } = onceIn("beforeTurn", ({ blobs }) => blobs.put("big", big));
    const reads = definePlugin({
      id: "acme/once",
      state: State,
      setup: ({ query }) => ({ operations: { big: query({ run: ({ state }) => state.blobs.get("big") }) } }),
    });
    const store = make();
    await (await (await createRuntime({ store, model: echo(), plugins: [plugin] })).session("s")).turn("Go.").result();
    await using runtime = await createRuntime({ store, model: echo(), plugins: [reads] });
    const found = await (await runtime.session("s")).query(reads, "big");
    expect(Buffer.compare(found ?? new Uint8Array(), big)).toBe(0);
  },
);

test("K14 bytes are those of the moment they were put, and what is given out is a copy", async () => {
  const { plugin, heard } = onceIn("command", async ({ blobs }) => {
    const mine = bytes("abc");
    const putting = blobs.put("a", mine);
    await putting;
    mine.fill(120);
    const given = await blobs.get("a");
    given?.fill(121);
    return words(await blobs.get("a"));
  });
  await through(plugin);
  expect(heard).toEqual(["abc"]);
});

test("K14 nothing is kept under a name that was given nothing: an empty blob is one, too", async () => {
  const { plugin, heard } = onceIn("command", async ({ blobs }) => {
    await blobs.put("empty", new Uint8Array());
    blobs.remove("never");
    return [(await blobs.get("empty"))?.length, blobs.names()];
  });
  expect(await through(plugin)).toEqual(["empty"]);
  expect(heard).toEqual([[0, ["empty"]]]);
});

// ── When ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K14 a put that finishes after its effect does not count, and throws for its caller", async () => {
  const { promise: blocked, resolve: release } = signalOf();
  const base = memory();
  let isSlow = false;
  const put: Store["blobs"]["put"] = async (hash, data) => {
    if (isSlow) await blocked;
    return base.blobs.put(hash, data);
  };
  const store = over(base, { blobs: { ...base.blobs, put } });
  let late: Promise<unknown> | undefined;
  const plugin = definePlugin({
    id: "acme/late",
    state: State,
    setup: ({ query }) => ({
      afterTurn: ({ state }) => {
        isSlow = true;
        late = state.blobs.put("late", bytes("x")).catch((error: unknown) => error);
        state.update(({ n }) => ({ n: n + 1 }));
      },
      operations: { all: query({ run: ({ state }) => [state.get().n, state.blobs.names()] }) },
    }),
  });
  await using runtime = await createRuntime({ store, model: echo(), plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  release();
  expect(await late).toMatchObject({ code: "state.parallel", details: { plugin: "acme/late" } });
  expect(await session.query(plugin, "all")).toEqual([1, []]);
});

test("K14 a put that nobody awaits does no harm: it is kept or not, and the process continues", async () => {
  const plugin = definePlugin({
    id: "acme/careless",
    state: State,
    setup: () => ({ afterTurn: ({ state }) => void state.blobs.put("careless", bytes("x")) }),
  });
  const lost = await unheard(async () => {
    await using runtime = await createRuntime({ store: slowly(memory(), 20), model: echo(), plugins: [plugin] });
    expect((await (await runtime.session()).turn("Go.").result()).outcome.kind).toBe("answered");
    await ticks(200);
  });
  expect(lost).toEqual([]);
});

test("K14 a handler that missed its deadline can put nothing any more, though its effect runs on", async () => {
  const { promise: tried, resolve: done } = Promise.withResolvers<unknown>();
  const slow = definePlugin({
    id: "acme/slow",
    state: State,
    setup: ({ query }) => ({
      beforeToolCall: {
        deadlineMs: 5,
        run: ({ state, signal }) =>
          new Promise<undefined>(() =>
            signal.addEventListener("abort", () => void state.blobs.put("late", bytes("x")).then(done, done), {
              once: true,
            }),
          ),
      },
      operations: { names: query({ run: ({ state }) => state.blobs.names() }) },
    }),
  });
  const waits = definePlugin({
    id: "b/waits",
    setup: () => ({ beforeToolCall: () => tried.then(() => shortCircuit("ok")) }),
  });
  const ping = defineTool({ name: "ping", description: "-", input: z.object({}), execute: () => "Pong." });
  await using runtime = await running({
    model: scripted(calls("ping"), says("1")),
    tools: [ping],
    plugins: [slow, waits],
  });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(await tried).toMatchObject({ code: "state.parallel" });
  expect(await session.query(slow, "names")).toEqual([]);
});

test("K14 a query sees what counts: neither the state nor the blobs of an effect that is under way", async () => {
  const [put, go] = [signalOf(), signalOf()];
  const plugin = definePlugin({
    id: "acme/under-way",
    state: State,
    setup: ({ query }) => ({
      beforeTurn: async ({ state }) => {
        state.update(() => ({ n: 1 }));
        await state.blobs.put("a", bytes("x"));
        put.resolve();
        await go.promise;
      },
      operations: {
        all: query({
          run: async ({ state }) => [state.get().n, state.blobs.names(), words(await state.blobs.get("a"))],
        }),
      },
    }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session();
  const turn = session.turn("Go.");
  await put.promise;
  const during = await session.query(plugin, "all");
  go.resolve();
  await turn.result();
  expect([during, await session.query(plugin, "all")]).toEqual([
    [0, [], undefined],
    [1, ["a"], "x"],
  ]);
});

test("K14 calls that write put one at a time, and each sees what those before it put", async () => {
  const plugin = definePlugin({
    id: "acme/parallel",
    state: State,
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "put",
          description: "-",
          input: z.object({ name: z.string() }),
          writes: true,
          execute: async ({ name }, { state }) => {
            await state.blobs.put(name, bytes(name));
            return state.blobs.names();
          },
        }),
      ],
      operations: { names: query({ run: ({ state }) => state.blobs.names() }) },
    }),
  });
  const model = scripted(both(...["a", "b", "c"].map((name) => calls("put", { name }))), says("Done."));
  await using runtime = await createRuntime({ store: slowly(memory()), model, plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(await session.query(plugin, "names")).toEqual(["a", "b", "c"]);
  expect(outline((await session.read()).messages).filter((line) => line.startsWith("put"))).toEqual([
    'put ok: ["a"]',
    'put ok: ["a","b"]',
    'put ok: ["a","b","c"]',
  ]);
});

test("K14 a blob that a call put exists when another process resumes the turn, and the call is not made again", async () => {
  let made = 0;
  const { next, kill } = lives(memory());
  const began = signalOf();
  const plugin = definePlugin({
    id: "acme/lives",
    state: State,
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "put",
          description: "-",
          input: z.object({}),
          writes: true,
          execute: async (_, { state }) => {
            await state.blobs.put("a", bytes(`${++made}`));
            state.update(({ n }) => ({ n: n + 1 }));
            return "ok";
          },
        }),
      ],
      operations: { all: query({ run: async ({ state }) => [state.get().n, words(await state.blobs.get("a"))] }) },
    }),
  });
  const model = plays(
    async function* () {
      yield* calls("put");
    },
    // biome-ignore lint/correctness/useYield: it never says anything
    async function* (_, signal) {
      began.resolve();
      await aborted(signal);
    },
  );
  const first = await (await running({ store: next(), model, plugins: [plugin] })).session("s");
  const before = first.fingerprint;
  first
    .turn("Go.", { key: "k" })
    .result()
    .catch(() => {});
  await began.promise;
  const during = first.fingerprint;
  kill();
  const later = { ...scripted(says("Done.")), id: "played" };
  const second = await running({ store: next(), model: later, plugins: [plugin] });
  const session = await second.session("s");
  expect(session.fingerprint).toBe(before);
  await session.turn("Go.", { key: "k" }).result();
  expect([await session.query(plugin, "all"), made]).toEqual([[1, "1"], 1]);
  expect(session.fingerprint).toBe(during);
});

// ── Fingerprint ─────────────────────────────────────────────────────────────────────────────────────────────────────

const counts = (id: string, version = "1") =>
  definePlugin({
    id,
    version,
    state: State,
    setup: ({ command, query }) => ({
      operations: {
        up: command({ run: ({ state }) => void state.update(({ n }) => ({ n: n + 1 })) }),
        put: command({ run: ({ state }) => state.blobs.put("a", bytes("x")) }),
        n: query({ run: ({ state }) => state.get().n }),
      },
    }),
  });
const [one, two] = [counts("a/one"), counts("a/two")];
const stateless = definePlugin({ id: "a/stateless", setup: () => ({}) });

/** Of a session with these plugins, opened on its own. */
async function fingerprint(plugins: readonly Plugin[], store: Store = memory()): Promise<string> {
  const runtime = await createRuntime({ store, model: echo(), plugins });
  return (await runtime.session("s")).fingerprint;
}

test("K14 the fingerprint is another for another plugin, version or order, and for none of them", async () => {
  const all = await Promise.all([
    fingerprint([one, two]),
    fingerprint([two, one]),
    fingerprint([one]),
    fingerprint([one, counts("a/two", "2")]),
    fingerprint([one, counts("a/three")]),
    fingerprint([one, two, stateless]),
    fingerprint([]),
  ]);
  expect(new Set(all).size).toBe(all.length);
  expect(await fingerprint([one, two])).toBe(all[0]);
});

test("K14 the fingerprint changes with every revision, of state and of blobs, and is found again after a restart", async () => {
  const store = memory();
  const runtime = await createRuntime({ store, model: echo(), plugins: [one, two] });
  const session = await runtime.session("s");
  const seen = [session.fingerprint];
  await session.command(one, "up");
  seen.push(session.fingerprint);
  await session.command(two, "up");
  seen.push(session.fingerprint);
  await session.command(one, "put");
  seen.push(session.fingerprint);
  expect(new Set(seen).size).toBe(4);
  expect(await fingerprint([one, two], store)).toBe(seen.at(-1));
  expect((await session.fork()).fingerprint).toBe(seen.at(-1));
});

test("K14 the fingerprint does not change with messages, config, tools, appended nodes or other sessions", async () => {
  const hidden = defineTool({ name: "ping", description: "-", input: z.object({}), execute: () => "Pong." });
  await using runtime = await running({ plugins: [one, two], tools: [hidden] });
  const [session, other] = [await runtime.session("s"), await runtime.session("other")];
  await session.command(one, "up");
  const before = session.fingerprint;
  await session.turn("Go.").result();
  await session.configure({ instructions: "Be kind." });
  await session.tools.set("ping", "off");
  await session.append([{ kind: "message", role: "user", text: "Hello." }]);
  await session.complete.text("Hello.");
  await session.query(one, "n");
  await other.command(one, "up");
  await other.command(two, "up");
  expect(session.fingerprint).toBe(before);
  expect(other.fingerprint).not.toBe(before);
});

test("K14 a change that failed leaves the fingerprint as it was", async () => {
  const sick = definePlugin({
    id: "a/sick",
    state: State,
    setup: ({ command }) => ({
      beforeTurn: ({ state }) => {
        state.update(() => ({ n: 5 }));
        throw new Error("Ouch.");
      },
      operations: {
        fails: command({
          run: async ({ state }) => {
            await state.blobs.put("a", bytes("x"));
            throw new Error("Ouch.");
          },
        }),
      },
    }),
  });
  await using runtime = await running({ plugins: [sick] });
  const session = await runtime.session();
  const before = session.fingerprint;
  await session.turn("Go.").result();
  await session.command(sick, "fails").catch(() => {});
  expect(session.fingerprint).toBe(before);
});
