import { type Appended, definePlugin, defineTool, type Services } from "bowline/plugin";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { nodesOf, outline, unheard, within } from "../kit/reading.ts";
import { KEPT } from "../kit/stores.ts";
import { open } from "../kit/worlds.ts";

type Graph = Services["graph"];
const mark = (body: string) => ({ kind: "plugin" as const, type: "mark", body });
const named = (graph: Graph, id: string): Promise<Appended> => graph.append([mark(id)], { operationId: id });

const tool = (name: string, execute: (graph: Graph) => unknown) =>
  defineTool({
    name,
    description: name,
    input: z.object({}),
    execute: async (_, { graph }) => {
      await execute(graph);
      return name;
    },
  });

/** A tool that waits until it is told to go on. */
const waiting = () => {
  const [asked, said] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const wait = tool("wait", () => {
    asked.resolve();
    return said.promise;
  });
  return { asked: asked.promise, goOn: said.resolve, wait };
};

const TO = z.object({ session: z.string().optional() });
/** Appends `x` under its name by a command, here or elsewhere, and in the hooks that are given. */
const marks = (hooks: { readonly [where: string]: (graph: Graph) => Promise<unknown> }) =>
  definePlugin({
    id: "a/marks",
    setup: ({ command }) => ({
      context: async ({ graph, sessionId }) => void (sessionId === "other" || (await hooks.context?.(graph))),
      afterToolCall: async ({ graph }) => void (await hooks.afterToolCall?.(graph)),
      afterTurn: async ({ sessionId }) => void (sessionId === "other" || (await hooks.afterTurn?.(undefined as never))),
      lifecycle: async ({ event, graph }) => void (event.kind === "turnFinalized" && (await hooks.finalized?.(graph))),
      operations: {
        x: command({
          input: TO,
          run: async ({ graph, input: { session } }) =>
            (await graph.append([mark("x")], { operationId: "x", ...(session === undefined ? {} : { session }) })).kind,
        }),
      },
    }),
  });

test.each(KEPT)("S4 an operation id that is used twice at the same time counts once, %s", async (_, make) => {
  const store = make();
  const twice = (graph: Graph, id: string) => Promise.all([named(graph, id), named(graph, id)]);
  const plugin = definePlugin({
    id: "a/twice",
    setup: ({ command }) => ({
      context: ({ graph }) => twice(graph, "hook").then(() => undefined),
      operations: { go: command({ run: ({ graph }) => twice(graph, "command").then(() => {}) }) },
    }),
  });
  const ping = tool("ping", (graph) => named(graph, "tool"));
  const model = scripted(both(calls("ping"), calls("ping")), says("Done."));
  await using world = await open(model, { store, plugins: [plugin], tools: [ping] });
  await world.session.turn("Go.").result();
  await world.session.command(plugin, "go");
  expect((await nodesOf(store, world.session)).filter((node) => node.includes("mark"))).toEqual([
    'a/twice mark "hook"',
    'app mark "tool"',
    'a/twice mark "command"',
  ]);
});

test.each(KEPT)("S4 what two tools append under one id is kept though one of them fails, %s", async (_, make) => {
  const store = make();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fails = tool("fails", async (graph) => {
    await named(graph, "x");
    first.resolve();
    await second.promise;
    throw new Error("No.");
  });
  const works = tool("works", async (graph) => {
    await first.promise;
    await named(graph, "x");
    second.resolve();
  });
  const model = scripted(both(calls("fails"), calls("works")), says("Done."));
  await using world = await open(model, { store, tools: [fails, works] });
  await world.session.turn("Go.").result();
  expect((await nodesOf(store, world.session)).filter((node) => node.includes("mark"))).toEqual(['app mark "x"']);
});

test.each(KEPT)(
  "S4 an id whose nodes waited for a turn counts once: in that turn, in later ones and in commands, %s",
  async (_, make) => {
    const store = make();
    const { asked, goOn, wait } = waiting();
    const answers: Appended[] = [];
    const x = async (graph: Graph) => answers.push(await named(graph, "x"));
    const plugin = marks({ afterToolCall: x, finalized: x });
    const model = scripted(calls("wait"), says("Done."), says("Again."));
    await using world = await open(model, { store, plugins: [plugin], tools: [wait] });
    const other = await world.runtime.session("other");
    const turn = world.session.turn("Go.");
    await asked;
    expect((await other.command(plugin, "x", { session: world.session.id })).output).toBe("queued");
    goOn();
    await turn.result();
    await world.session.turn("Go on.").result();
    expect((await world.session.command(plugin, "x", {})).output).toBe("queued");
    expect(answers.map(({ kind }) => kind)).toEqual(["queued", "queued", "queued"]);
    expect((await nodesOf(store, world.session)).filter((node) => node.includes("mark"))).toEqual(['a/marks mark "x"']);
  },
);

test.each(KEPT)("S4 the app repeats an append that a turn has taken in, %s", async (_, make) => {
  const store = make();
  const { asked, goOn, wait } = waiting();
  let session = "";
  const send = tool("send", (graph) => graph.append([mark("x")], { session, operationId: "x" }));
  const model = scripted(calls("wait"), calls("send"), says("Sent."), says("Done."));
  await using world = await open(model, { store, tools: [wait, send] });
  session = world.session.id;
  const other = await world.runtime.session("other");
  const turn = world.session.turn("Go.");
  await asked;
  await other.turn("Send.").result();
  goOn();
  await turn.result();
  expect(await within(world.session.append([mark("x")], { operationId: "x" }))).toEqual({
    kind: "queued",
    operationId: "x",
  });
  expect((await nodesOf(store, world.session)).filter((node) => node.includes("mark"))).toEqual(['app mark "x"']);
});

test.each(KEPT)("S4 an id that the turn has used counts once for those who append to it, %s", async (_, make) => {
  for (const isLate of [false, true]) {
    const store = make();
    const { asked, goOn, wait } = waiting();
    const [ending, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const afterTurn = async () => {
      ending.resolve();
      await end.promise;
    };
    const plugin = marks({ context: (graph) => named(graph, "x"), ...(isLate ? { afterTurn } : {}) });
    const model = isLate ? scripted(says("Done.")) : scripted(calls("wait"), says("Done."));
    await using world = await open(model, { store, plugins: [plugin], tools: [wait] });
    const other = await world.runtime.session("other");
    const turn = world.session.turn("Go.");
    await (isLate ? ending.promise : asked);
    expect((await other.command(plugin, "x", { session: world.session.id })).output).toBe("queued");
    goOn();
    end.resolve();
    await turn.result();
    await other.command(plugin, "x", { session: world.session.id });
    await world.session.command(plugin, "x", {});
    expect((await nodesOf(store, world.session)).filter((node) => node.includes("mark"))).toEqual(['a/marks mark "x"']);
  }
});

test.each(KEPT)("K18 an append that is not awaited and comes too late is refused, %s", async (_, make) => {
  const store = make();
  const found: string[] = [];
  const unawaited = (graph: Graph, id: string): void =>
    void named(graph, id).then(
      () => found.push(id),
      (error: { code: string }) => found.push(error.code),
    );
  const ping = tool("ping", (graph) => unawaited(graph, "tool"));
  const plugin = definePlugin({ id: "a/p", setup: () => ({ afterToolCall: ({ graph }) => unawaited(graph, "hook") }) });
  await using world = await open(scripted(calls("ping"), says("Done.")), { store, plugins: [plugin], tools: [ping] });
  await world.session.turn("Go.").result();
  await expect.poll(() => found.length).toBe(2);
  const kept = (await nodesOf(store, world.session)).filter((node) => node.includes("mark"));
  expect(kept.map((node) => JSON.parse(node.slice(node.indexOf('"'))))).toEqual(
    found.filter((code) => code !== "state.parallel"),
  );
});

test("K18 an append that is refused and not awaited ends no process", async () => {
  const plugin = definePlugin({ id: "a/p", setup: () => ({ context: ({ graph }) => void graph.append([]) }) });
  const ping = tool("ping", (graph) => void graph.append([]));
  const lost = await unheard(async () => {
    await using world = await open(scripted(calls("ping"), says("Done.")), { plugins: [plugin], tools: [ping] });
    await world.session.turn("Go.").result();
  });
  expect(lost).toEqual([]);
});

test.each(KEPT)(
  "K18 what is appended when a session is closed is kept, though the runtime closes too, %s",
  async (_, make) => {
    const answers: string[] = [];
    const plugin = definePlugin({
      id: "a/closes",
      setup: () => ({
        async lifecycle({ event, graph }) {
          if (event.kind === "sessionClosed") answers.push((await graph.append([mark("closed")])).kind);
        },
      }),
    });
    const world = await open(scripted(), { store: make(), plugins: [plugin] });
    await world.session.close();
    await world.runtime.close();
    expect(answers).toEqual(["appended"]);
  },
);

test("S4 hooks do not read the appends of an abandoned tool call", async () => {
  const asked = Promise.withResolvers<void>();
  let read: readonly string[] = [];
  const hangs = tool("hangs", async (graph) => {
    await graph.append([{ kind: "message", role: "user", text: "From the tool." }]);
    asked.resolve();
    await new Promise(() => {});
  });
  const plugin = definePlugin({
    id: "a/reads",
    setup: () => ({ afterTurn: ({ session }) => void (read = outline(session.read().messages)) }),
  });
  const limits = { cancelGraceMs: 5 };
  await using world = await open(scripted(calls("hangs")), { plugins: [plugin], tools: [hangs], limits });
  const turn = world.session.turn("Go.");
  await asked.promise;
  await turn.cancel("Enough.");
  await turn.result();
  expect(read).toEqual(outline((await world.session.read()).messages));
});
