import { definePlugin, defineTool } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { nodesOf, outline, passed, signalOf, within } from "../kit/reading.ts";
import { STORES } from "../kit/stores.ts";
import { open, running, twoOn } from "../kit/worlds.ts";

const note = (n: number) => ({ kind: "plugin", type: "note", body: { n } }) as const;
const says1 = (text: string) => ({ kind: "message", role: "user", text }) as const;

test("S6 what is appended follows the head: messages are in the conversation, nodes in the history", async () => {
  const store = memory();
  await using world = await open(echo(), { store });
  const { session } = world;
  await session.turn("Hi.").result();
  const appended = await session.append([says1("By the way."), note(1)]);
  expect(appended).toEqual({
    kind: "appended",
    nodes: [expect.any(String), expect.any(String)],
    head: expect.any(String),
  });
  const view = await session.read();
  expect(appended.kind === "appended" && [appended.nodes.at(-1), appended.head]).toEqual([view.head, view.head]);
  expect(view.turns).toBe(1);
  await session.turn("More.").result();
  expect(await nodesOf(store, session)).toEqual([
    "user: Hi.",
    "assistant: re: Hi.",
    "user: By the way.",
    'app note {"n":1}',
    "user: More.",
    "assistant: re: More.",
  ]);
  expect(outline((await world.reread()).messages)).toHaveLength(5);
});

test("S6 the same operation again is answered as the first time, also later; with other content it is a conflict", async () => {
  const store = memory();
  await using world = await open(echo(), { store });
  const { session } = world;
  const first = await session.append([note(1)], { operationId: "import-1" });
  await passed(5);
  expect(await session.append([note(1)], { operationId: "import-1" })).toEqual(first);
  await session.turn("Hi.").result();
  expect(await session.append([note(1)], { operationId: "import-1" })).toEqual(first);
  await expect(session.append([note(2)], { operationId: "import-1" })).rejects.toMatchObject({
    code: "append.conflict",
    details: { operation: expect.stringContaining("import-1") },
  });
  expect((await nodesOf(store, session)).filter((node) => node.startsWith("app"))).toEqual(['app note {"n":1}']);
  expect((await session.turn("More.").result()).outcome.kind).toBe("answered");
});

test("S6 an operation that is sent twice at once, or by two runtimes, is done once", async () => {
  const store = memory();
  await using world = await twoOn(store);
  const [here, there] = [await world.one.session("s"), await world.two.session("s")];
  const send = (session: typeof here) => session.append([says1("Once.")], { operationId: "op" });
  const answers = await within(Promise.all([send(here), send(there), send(here), send(there)]));
  await passed(3);
  answers.push(await send(there));
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  expect(await nodesOf(store, here)).toEqual(["user: Once."]);
});

test("S6 one operation id in two sessions is two operations, and their nodes have different ids", async () => {
  const store = memory();
  await using runtime = await running({ store });
  const [one, two] = [await runtime.session("one"), await runtime.session("two")];
  const first = await one.append([note(1)], { operationId: "import" });
  await two.append([note(2), note(3)], { operationId: "import" });
  const at = first.kind === "appended" ? first.head : "";
  expect(await nodesOf(store, await one.fork({ at }))).toEqual(['app note {"n":1}']);
  expect(await nodesOf(store, one)).toEqual(['app note {"n":1}']);
  await runtime.sessions.delete("two");
  expect(await nodesOf(store, await one.fork({ at }))).toEqual(['app note {"n":1}']);
});

test("S6 an operation id that is a turn's id is refused, or told apart from it", async () => {
  const store = memory();
  await using world = await open(echo(), { store });
  const { session } = world;
  const { turnId } = await session.turn("Hi.").result();
  const before = (await session.read()).head;
  const answer = await session.append([note(1)], { operationId: turnId }).catch((error) => error.code);
  if (typeof answer === "string") return expect(answer).toMatch(/^(append\.conflict|input\.invalid)$/);
  expect((await session.read()).head).not.toBe(before);
  const fork = await session.fork({ at: (await session.read()).head! });
  expect(await nodesOf(store, fork)).toEqual(["user: Hi.", "assistant: re: Hi.", 'app note {"n":1}']);
});

test("S6 an append may require a node: on the path it is done, whatever came after; off it nothing is written and the answer has the head", async () => {
  const store = memory();
  await using runtime = await running({ store });
  const session = await runtime.session("s");
  await session.turn("1").result();
  const { head } = await session.read();
  const fork = await session.fork({ id: "fork" });
  await session.turn("2").result();
  await fork.turn("fork").result();
  const elsewhere = (await fork.read()).head!;
  expect((await session.append([note(1)], { requiresAncestor: head! })).kind).toBe("appended");
  const before = await nodesOf(store, session);
  const { head: leaf } = await session.read();
  for (const required of [elsewhere, "trn_nothing.0", "rubbish"])
    expect(await within(session.append([note(2)], { requiresAncestor: required }))).toEqual({
      kind: "stale-branch",
      required,
      head: leaf,
    });
  expect(await nodesOf(store, session)).toEqual(before);
  expect((await fork.append([note(2)], { requiresAncestor: head! })).kind).toBe("appended");
});

test("S6 an append during a turn waits for it", async () => {
  const hold = signalOf();
  const began = signalOf();
  const slow = defineTool({
    name: "slow",
    description: "Takes long.",
    input: z.object({}),
    execute: async () => {
      began.resolve();
      await hold.promise;
      return "Done.";
    },
  });
  const store = memory();
  await using world = await open(scripted(calls("slow"), says("Done.")), { store, tools: [slow] });
  const turn = world.session.turn("Go.").result();
  await began.promise;
  const append = world.session.append([note(1)]);
  await passed(5);
  expect(await nodesOf(store, world.session)).toEqual([]);
  hold.resolve();
  await turn;
  expect((await within(append)).kind).toBe("appended");
  expect((await nodesOf(store, world.session)).at(-1)).toBe('app note {"n":1}');
});

test.each<readonly [string, unknown]>([
  ["nothing", []],
  ["no list", note(1)],
  ["words of the model", [{ kind: "message", role: "assistant", text: "x" }]],
  ["a message without text", [{ kind: "message", role: "user" }]],
  ["a body that is not JSON", [{ kind: "plugin", type: "x", body: () => {} }]],
  ["a node without a type", [{ kind: "plugin", body: 1 }]],
  ["a node of no kind", [{ kind: "frame", reason: "x" }]],
  ["nothing where a node should be", [null]],
])("S6 an append of %s is input.invalid, and nothing is written", async (_, nodes) => {
  const store = memory();
  await using world = await open(echo(), { store });
  await expect(world.session.append(nodes as never)).rejects.toMatchObject({ code: "input.invalid" });
  expect((await store.load(world.session.id))?.revision).toBe(0);
  expect((await within(world.session.turn("Go.").result())).outcome.kind).toBe("answered");
});

test("S6 what a command appends is its plugin's, with its state and events in one step, in order", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/notes",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ command }) => ({
      operations: {
        two: command({
          run: async ({ graph, state, emit }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            const first = await graph.append([note(1), says1("Said.")]);
            emit("between");
            const second = await graph.append([note(2)]);
            return [first, second].flatMap((each) => (each.kind === "appended" ? each.nodes : []));
          },
        }),
      },
    }),
  });
  await using world = await open(echo(), { store, plugins: [plugin] });
  const { output } = await within(world.session.command(plugin, "two"));
  expect((await store.load(world.session.id))?.revision).toBe(1);
  const nodes = await nodesOf(store, world.session);
  expect([...nodes].sort()).toEqual([
    'a/notes event {"name":"between","payload":null}',
    'a/notes note {"n":1}',
    'a/notes note {"n":2}',
    "user: Said.",
  ]);
  for (const [index, kept] of ['a/notes note {"n":1}', "user: Said.", 'a/notes note {"n":2}'].entries()) {
    const fork = await world.session.fork({ at: output[index]! });
    expect((await nodesOf(store, fork)).at(-1)).toBe(kept);
  }
  expect((await world.session.read()).messages.map(({ id, origin }) => [id, origin])).toEqual([
    [output[1], { kind: "plugin", plugin: "a/notes" }],
  ]);
});

const sows = definePlugin({
  id: "a/sows",
  setup: ({ command }) => ({
    operations: {
      sow: command({
        run: ({ sessions }) =>
          sessions.create({
            kind: "child",
            id: "kid",
            seed: [{ role: "user", parts: [{ kind: "text", text: "Sown." }] }],
          }),
      }),
    },
  }),
});

test.each(STORES)(
  "S6 operation ids of one session are never those of another, whatever the ids, on %s",
  async (_, make) => {
    await using runtime = await running({ store: make(), plugins: [sows] });
    const places = [
      ["a", "b/c"],
      ["a/b", "c"],
      ["a%2Fb", "c"],
      ["seed", "kid"],
      ["/seed", "kid"],
    ] as const;
    const made: string[] = [];
    for (const [id, operationId] of places) {
      const appended = await (await runtime.session(id)).append([says1(id)], { operationId });
      if (appended.kind === "appended") made.push(...appended.nodes);
    }
    await (await runtime.session("a")).command(sows, "sow");
    expect(outline((await (await runtime.session("kid")).read()).messages)).toEqual(["user: Sown."]);
    expect(new Set(made).size).toBe(places.length);
  },
);
