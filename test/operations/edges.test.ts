import { definePlugin, defineTool, type Store, type Turn } from "bowline";
import type { NewSessionRequest } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo, end as finish, plays, text } from "../kit/models.ts";
import { codeOf, nodesOf, outline, passed, signalOf, within } from "../kit/reading.ts";
import { ANSWERING, over } from "../kit/stores.ts";
import { held, open, ping, running, twoOn } from "../kit/worlds.ts";

const counter = definePlugin({
  id: "acme/counter",
  state: z.object({ count: z.number().default(0) }),
  setup: ({ query, command, task }) => ({
    operations: {
      count: query({ run: ({ state }) => state.get().count }),
      add: command({
        run: ({ state, emit }) => {
          state.update(({ count }) => ({ count: count + 1 }));
          emit("added");
          return state.get().count;
        },
      }),
      make: command({
        input: z.custom<NewSessionRequest>(),
        run: async ({ input, sessions }) => (await sessions.create(input)).id,
      }),
      anywhere: command({ session: "forbidden", run: ({ sessionId }) => sessionId ?? null }),
      queues: command({ session: "optional", run: ({ queueTurn }) => queueTurn("Queued.") }),
      forever: task({
        run: ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      }),
    },
  }),
});

// ── Workers that died ───────────────────────────────────────────────────────────────────────────────────────────────

/** The same store for a worker whose clock stands still: its leases have lapsed for everyone else. */
function ofTheDead(store: Store): Store {
  const past = (at: number) => at - 3_600_000;
  return over(store, {
    accept: (input, ...rest) => store.accept({ ...input, at: past(input.at) }, ...rest),
    renew: (lease, now) => store.renew(lease, past(now)),
    append: (lease, seq, events, now, waits) => store.append(lease, seq, events, past(now), waits),
    open: (id, owner, now, opening) => store.open(id, owner, past(now), opening),
  });
}

test.each(["command", "configure", "append", "complete", "turn"] as const)(
  "D2 %s on a session whose turn was left by a dead worker takes the turn up first, and does not wait for ever",
  async (what) => {
    const store = memory();
    const began = signalOf();
    const dead = await running({
      store: ofTheDead(store),
      plugins: [counter],
      model: plays(async function* () {
        began.resolve();
        await new Promise(() => {});
        yield text("Never.");
      }),
    });
    void (await dead.session("s"))
      .turn("Left.")
      .result()
      .catch(() => {});
    await began.promise;
    const runtime = await running({ store, plugins: [counter], model: { ...echo(), id: "played" } });
    const session = await runtime.session("s");
    const act = {
      command: () => session.command(counter, "add"),
      configure: () => session.configure({ instructions: "x" }),
      append: () => session.append([{ kind: "plugin", type: "x", body: 1 }]),
      complete: () => session.complete.text("?", { label: "x" }),
      turn: () => session.turn("More.").result(),
    }[what];
    await within<unknown>(act(), 3_000);
    if (what === "complete") return;
    const nodes = await nodesOf(store, session);
    expect(nodes.slice(0, 2)).toEqual(["user: Left.", "assistant: re: Left."]);
  },
);

// ── A store that fails ──────────────────────────────────────────────────────────────────────────────────────────────

test.each(["command", "configure", "append"] as const)(
  "K13 %s that the store cannot keep fails, changes nothing, and the next one works",
  async (what) => {
    const store = memory();
    const { apply } = store;
    let isFull = true;
    store.apply = (change) => {
      if (isFull) throw new Error("The disk is full.");
      return apply.call(store, change);
    };
    await using runtime = await running({ store, plugins: [counter] });
    const session = await runtime.session("s");
    const act = {
      command: () => session.command(counter, "add"),
      configure: () => session.configure({ instructions: "x" }),
      append: () => session.append([{ kind: "plugin", type: "x", body: 1 }]),
    }[what];
    await expect(within<unknown>(act())).rejects.toThrow("The disk is full.");
    expect(await session.query(counter, "count")).toBe(0);
    expect((await session.read()).config.instructions).toBeUndefined();
    expect(await nodesOf(store, session)).toEqual([]);
    isFull = false;
    await within<unknown>(act());
    await session.command(counter, "add");
    expect(await session.query(counter, "count")).toBe(what === "command" ? 2 : 1);
    expect((await within(session.turn("Go.").result())).outcome.kind).toBe("answered");
  },
);

// ── Configs of a wrong shape ────────────────────────────────────────────────────────────────────────────────────────

test.each<readonly [string, object]>([
  ["a prompt that is not a list", { prompt: "Be kind." }],
  ["a part in no slot", { prompt: [{ slot: "nowhere", text: "x" }] }],
  ["a part without text", { prompt: [{ slot: "intro" }] }],
  ["a model that is not a name", { model: 42 }],
  ["instructions that are not a text", { instructions: 42 }],
  ["what is not JSON", { settings: { temperature: Number.NaN } }],
  ["a field that is none", { modle: "echo/test" }],
])("S15 %s is refused by configure and when a session is made, and nothing is changed", async (_, config) => {
  const store = memory();
  await using runtime = await running({ store });
  const session = await runtime.session("s");
  const before = (await session.read()).config;
  await expect(session.configure(config as never)).rejects.toMatchObject({ code: expect.any(String) });
  expect((await session.read()).config).toEqual(before);
  await expect(runtime.session("new", { config: config as never })).rejects.toMatchObject({
    code: expect.any(String),
  });
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["s"]);
  expect((await session.turn("Go.").result()).outcome.kind).toBe("answered");
});

test.each<readonly [string, object]>([
  ["a prompt that is not a list", { prompt: "Be kind." }],
  ["a part in no slot", { prompt: [{ slot: "nowhere", text: "x" }] }],
  ["a template that is not a list", { template: "intro" }],
  ["a template with a slot that is none", { template: [{ slots: ["nowhere"] }] }],
  ["a section without slots", { template: [{ title: "x" }] }],
  ["instructions that are not a text", { instructions: 42 }],
])("K9 %s is refused when the runtime is created", async (_, options) => {
  await expect(running(options as never)).rejects.toMatchObject({ code: "options.invalid" });
});

// ── Permissions ─────────────────────────────────────────────────────────────────────────────────────────────────────

test("K15 a child without any tool can still be asked for a typed result", async () => {
  const model = scripted(calls("submit_output", { n: 1 }));
  await using runtime = await running({ model, plugins: [counter] });
  const parent = await runtime.session("parent");
  await parent.command(counter, "make", { id: "child", kind: "child", permissions: { toolAccess: [] } });
  const child = await runtime.session("child");
  const { outcome } = await child.turn("Go.", { output: z.object({ n: z.number() }) }).result();
  expect(outcome).toEqual({ kind: "finished", by: "model", value: { n: 1 } });
});

test("K15 a plugin that edits the catalog works in a child that does not have the tool it edits", async () => {
  const edits = definePlugin({
    id: "a/edits",
    setup: () => ({
      toolCatalog: () => [
        { tool: "ping", description: "Edited." },
        { tool: "nobody", hide: true },
      ],
    }),
  });
  const model = scripted(says("Parent."), calls("ping"), says("Child."));
  await using runtime = await running({ model, plugins: [counter, edits], tools: [ping] });
  const parent = await runtime.session("parent");
  await parent.turn("Go.").result();
  await parent.command(counter, "make", { id: "child", kind: "child", permissions: { hiddenTools: ["ping"] } });
  const { outcome } = await (await runtime.session("child")).turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Child." });
  expect(model.requests.map(({ tools }) => tools.map(({ description }) => description))).toEqual([["Edited."], [], []]);
});

test("K15 the permissions of a child survive its commands, its turns and what others take from it", async () => {
  const model = scripted(...Array.from({ length: 4 }, () => says("Yes.")));
  const store = memory();
  await using world = await twoOn(store, { model, plugins: [counter], tools: [ping] });
  const parent = await world.one.session("parent");
  await parent.command(counter, "make", { id: "c", kind: "child", firstInput: "x", permissions: { toolAccess: [] } });
  const [here, there] = [await world.one.session("c"), await world.two.session("c")];
  await here.turn("1").result();
  await there.command(counter, "add");
  await here.configure({ instructions: "x" });
  await there.turn("2").result();
  await here.append([{ kind: "message", role: "user", text: "y" }]);
  await here.turn("3").result();
  const fork = await there.fork({ at: (await here.read()).messages[0]!.id });
  await fork.turn("4").result();
  expect(model.requests.map(({ tools }) => tools)).toEqual([[], [], [], []]);
});

// ── Operations without a session ────────────────────────────────────────────────────────────────────────────────────

test("K13 an operation that forbids a session may be called from inside a turn: it has nothing to wait for", async () => {
  const codes: unknown[] = [];
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({}),
    execute: async () => {
      codes.push(
        await session.command(counter, "anywhere").then(
          ({ output }) => output,
          (error) => error.code,
        ),
      );
      return "Done.";
    },
  });
  const runtime = await running({ model: scripted(calls("nest"), says("Done.")), plugins: [counter], tools: [nest] });
  await using _ = runtime;
  const session = await runtime.session();
  await within(session.turn("Go.").result());
  expect(codes[0]).toBeOneOf([null, "operation.reentrant"]);
});

test("K13 a turn that an operation without a session queues is refused, and does not run on the session", async () => {
  await using world = await open(echo(), { plugins: [counter] });
  await expect(world.session.command(counter, "queues", undefined, { session: null })).rejects.toMatchObject({
    code: expect.stringMatching(/^operation\./),
  });
  await passed(10);
  expect((await world.session.read()).turns).toBe(0);
});

// ── Closing ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each(ANSWERING)(
  "S9 what was paid before the runtime closes is booked, on a store that answers %s",
  async (_, makeStore) => {
    const store = makeStore();
    const { close } = store;
    store.close = () => {};
    const runtime = await running({ store, model: scripted(says("Words.")) });
    const session = await runtime.session("s");
    await session.complete.text("?", { label: "x" });
    await runtime.close();
    expect((await store.load(session.id))?.ledger).toMatchObject([{ source: "x", calls: 1 }]);
    await close.call(store);
  },
);

// ── Two runtimes ────────────────────────────────────────────────────────────────────────────────────────────────────

test("K13 two runtimes that both change everything of one session lose nothing", async () => {
  const store = memory();
  await using world = await twoOn(store, { plugins: [counter] });
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const done: Promise<unknown>[] = [];
  for (let n = 0; n < 6; n++) {
    const [a, b] = n % 2 === 0 ? [here, there] : [there, here];
    done.push(a.command(counter, "add"), b.append([{ kind: "plugin", type: "note", body: n }]));
    done.push(b.configure({ instructions: `${n}` }), a.complete.text("?", { label: "x" }));
    if (n % 3 === 0) done.push(b.turn(`${n}`).result());
    await passed(n);
  }
  await within(Promise.all(done), 4_500);
  await passed(300);
  const view = await here.read();
  const nodes = await nodesOf(store, here);
  expect(await here.query(counter, "count")).toBe(6);
  expect(await there.query(counter, "count")).toBe(6);
  expect(nodes.filter((node) => node.startsWith("app note"))).toHaveLength(6);
  expect(nodes.filter((node) => node.startsWith("acme/counter event"))).toHaveLength(6);
  expect(view.turns).toBe(2);
  expect(view.ledger.map(({ source, calls: n }) => [source, n]).sort()).toEqual([
    ["turn", 2],
    ["x", 6],
  ]);
  expect(outline(view.messages)).toHaveLength(4);
}, 8_000);

test.each(ANSWERING)(
  "S3 a turn that was cancelled before it began ends without a model call, on a store that answers %s",
  async (_, makeStore) => {
    const hold = signalOf();
    const began = signalOf();
    const model = plays(async function* () {
      began.resolve();
      await hold.promise;
      yield text("Long.");
      yield finish;
    });
    await using runtime = await running({ store: makeStore(), model });
    const session = await runtime.session("s");
    const first = session.turn("One.");
    await began.promise;
    const second = session.turn("Two.");
    await second.cancel("Not any more.");
    hold.resolve();
    await first.result();
    expect((await second.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "" });
    const third = session.turn("Three.", { signal: AbortSignal.abort() });
    expect((await third.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "" });
    expect(model.requests).toHaveLength(1);
  },
);

// ── Withdrawn by a signal, and waited for from inside ───────────────────────────────────────────────────────────────

test("K13 an operation whose signal aborts while it waits behind a turn is withdrawn at once, and never runs", async () => {
  const slow = held("slow");
  let ran = 0;
  const plugin = definePlugin({
    id: "a/counts",
    setup: ({ command, task, query }) => ({
      operations: {
        add: command({ run: () => void ran++ }),
        work: task({ run: () => void ran++ }),
        look: query({ run: () => void ran++ }),
      },
    }),
  });
  await using world = await open(scripted(calls("slow"), says("Done.")), { tools: [slow.tool], plugins: [plugin] });
  const { session } = world;
  const turn = session.turn("Go.");
  await slow.began();
  const stop = new AbortController();
  const waiting = [
    session.command(plugin, "add", undefined, { signal: stop.signal }),
    session.task(plugin, "work", undefined, { signal: stop.signal }),
  ];
  stop.abort(new Error("Never mind."));
  for (const each of waiting)
    await expect(within(each)).rejects.toMatchObject({
      code: "operation.cancelled",
      cause: { message: "Never mind." },
    });
  slow.release();
  await turn.result();
  await session.command(plugin, "add"); // Behind the withdrawn ones.
  expect(ran).toBe(1);
  for (const call of [
    () => session.command(plugin, "add", undefined, { signal: stop.signal }),
    () => session.query(plugin, "look", undefined, { signal: stop.signal }),
  ])
    await expect(call()).rejects.toMatchObject({ code: "operation.cancelled" });
  expect(ran).toBe(1);
});

test("S2 K13 the result and the events of another turn cannot be waited for inside a tool of the same session", async () => {
  const codes: string[] = [];
  const nests = defineTool({
    name: "nests",
    description: "Nests.",
    input: { type: "object" },
    execute: async () => {
      const next = world.session.turn("Later.");
      codes.push(await codeOf(next.result()));
      codes.push(
        await codeOf(async () => {
          for await (const _ of next) break;
        }),
      );
      for await (const { kind } of world.session.current() ?? []) {
        codes.push(kind); // The turn that runs may be listened to.
        break;
      }
      later = next;
      return "ok";
    },
  });
  let later: Turn | undefined;
  const world = await open(scripted(calls("nests"), says("Done."), says("Later, too.")), { tools: [nests] });
  await using _ = world;
  expect((await within(world.session.turn("Go.").result())).outcome).toMatchObject({ text: "Done." });
  expect(codes).toEqual(["operation.reentrant", "operation.reentrant", "toolStarted"]);
  expect((await later?.result())?.outcome).toMatchObject({ text: "Later, too." });
});
