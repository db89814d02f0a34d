import { type Appended, definePlugin, defineTool, type Services, type SessionReading } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { overflow } from "../kit/models.ts";
import { codeOf, nodesOf, outline, wordsOf } from "../kit/reading.ts";
import { KEPT } from "../kit/stores.ts";
import { open, ping } from "../kit/worlds.ts";

type Graph = Services["graph"];
const mark = (body: string) => ({ kind: "plugin" as const, type: "mark", body });
const note = (text: string) => ({ kind: "message" as const, role: "user" as const, text });

test.each(KEPT)(
  "S4 K18 what hooks and tools append in a turn is in its commit, and nothing stands between a call and its result, %s",
  async (_, make) => {
    const store = make();
    const answers: Record<string, Appended> = {};
    const add = async (where: string, graph: Graph): Promise<void> => {
      answers[where] = await graph.append([mark(where)]);
    };
    const marks = definePlugin({
      id: "a/marks",
      setup: () => ({
        context: ({ graph }) => add("context", graph).then(() => undefined),
        beforeToolCall: ({ graph }) => add("gate", graph).then(() => undefined),
        afterToolCall: ({ graph }) => add("settle", graph).then(() => undefined),
        lifecycle: ({ event, graph }) =>
          event.kind === "turnFinalized" || event.kind === "turnPersisted" ? add(event.kind, graph) : undefined,
      }),
    });
    const tool = defineTool({
      name: "ping",
      description: "Pings.",
      input: z.object({}),
      async execute(_, { graph }) {
        await add("call", graph);
        return "pong";
      },
    });
    await using world = await open(scripted(calls("ping"), says("Done.")), { store, plugins: [marks], tools: [tool] });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome.kind).toBe("answered");
    expect(await nodesOf(store, world.session)).toEqual([
      "user: Go.",
      'a/marks mark "context"',
      "assistant: toolCall",
      "tool: toolResult",
      'a/marks mark "gate"',
      'app mark "call"',
      'a/marks mark "settle"',
      "assistant: Done.",
      'a/marks mark "turnFinalized"',
      'a/marks mark "turnPersisted"',
    ]);
    expect(Object.fromEntries(Object.entries(answers).map(([where, { kind }]) => [where, kind]))).toEqual({
      context: "appended",
      gate: "queued",
      call: "queued",
      settle: "queued",
      turnFinalized: "appended",
      turnPersisted: "appended",
    });
    const ids = (await world.session.history({ max: 100 })).map(({ id }) => id as string);
    for (const answer of Object.values(answers)) if (answer.kind === "appended") expect(ids).toContain(answer.head);
  },
);

test("S4 a message that a hook or a tool appends is in the next reading, and the model is asked with it", async () => {
  const read: Record<string, readonly string[]> = {};
  const look = (where: string, session: { read(): SessionReading }): void => {
    read[where] = outline(session.read().messages);
  };
  const tool = defineTool({
    name: "ping",
    description: "Pings.",
    input: z.object({}),
    async execute(_, { graph, session }) {
      await graph.append([note("From the tool.")]);
      look("the tool", session);
      return "pong";
    },
  });
  const looks = definePlugin({
    id: "a/looks",
    setup: () => ({
      async context({ graph, session }) {
        await graph.append([note("From the context.")]);
        look("context", session);
      },
      afterToolCall: ({ session }) => look("after", session),
      checkpoint: ({ session, at }) => look(at, session),
    }),
  });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [looks], tools: [tool] });
  await world.session.turn("Go.").result();
  const before = ["user: Go.", "user: From the context.", "calls ping"];
  expect(read.context).toEqual(before.slice(0, 2));
  expect(read["the tool"]).toEqual([...before, "user: From the tool."]);
  expect(read.after).toEqual([...before, "user: From the tool."]);
  expect(read["after-work"]).toEqual([...before, "ping ok: pong", "user: From the tool."]);
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(read["after-work"]);
});

test.each(KEPT)(
  "S4 tools that run side by side append in the order in which they return; what a failing one appended is dropped, %s",
  async (_, make) => {
    const store = make();
    const second = Promise.withResolvers<void>();
    const tool = (name: string, run: () => Promise<unknown>) =>
      defineTool({
        name,
        description: name,
        input: z.object({}),
        async execute(_, { graph }) {
          await graph.append([mark(name)]);
          await run();
          return name;
        },
      });
    const tools = [
      tool("first", () => second.promise),
      tool("second", async () => setImmediate(() => second.resolve())),
      tool("third", () => Promise.reject(new Error("No."))),
    ];
    const model = scripted(both(calls("first"), calls("second"), calls("third")), says("Done."));
    await using world = await open(model, { store, tools });
    await world.session.turn("Go.").result();
    expect((await nodesOf(store, world.session)).filter((node) => node.startsWith("app"))).toEqual([
      'app mark "second"',
      'app mark "first"',
    ]);
  },
);

test.each(KEPT)(
  "S4 what a compactor appends stands before the new frame, in a turn and between turns, %s",
  async (_, make) => {
    const store = make();
    const compacts = definePlugin({
      id: "a/compacts",
      setup: () => ({
        async compact({ graph, reason }) {
          await graph.append([mark(reason)]);
          return [{ role: "user", parts: [{ kind: "text", text: "In short." }] }];
        },
      }),
    });
    await using world = await open(scripted(overflow, says("Done.")), { store, plugins: [compacts] });
    await world.session.turn(`Go. ${"x".repeat(500)}`).result();
    const answer = await world.session.compact();
    const nodes = await nodesOf(store, world.session);
    expect(nodes.slice(1)).toEqual([
      'a/compacts mark "overflow"',
      "frame compaction",
      "user: In short.",
      "assistant: Done.",
      'a/compacts mark "asked"',
      "frame compaction",
      "user: In short.",
    ]);
    const [, frame] = await world.session.history({ max: 2 });
    expect(answer).toEqual({ kind: "compacted", frame: frame?.id });
  },
);

test.each(KEPT)(
  "S4 with an ancestor that is not on the path nothing is written, wherever it is asked for, %s",
  async (_, make) => {
    const store = make();
    const answers: Appended[] = [];
    const elsewhere: { id?: string; head?: string } = {};
    const try2 = async (graph: Graph): Promise<void> => {
      for (const requiresAncestor of ["nowhere.0", "trn_x.1", "nothing"])
        answers.push(await graph.append([mark("stale")], { requiresAncestor }));
      answers.push(
        await graph.append([mark("stale")], { session: elsewhere.id as string, requiresAncestor: "nowhere.0" }),
      );
      answers.push(
        await graph.append([mark("there")], {
          session: elsewhere.id as string,
          requiresAncestor: elsewhere.head as string,
        }),
      );
    };
    const tries = definePlugin({
      id: "a/tries",
      setup: ({ command }) => ({
        context: ({ graph }) => try2(graph).then(() => undefined),
        operations: { go: command({ run: ({ graph }) => try2(graph) }) },
      }),
    });
    await using world = await open(scripted(says("One."), says("Two.")), { store, plugins: [tries] });
    const other = await world.runtime.session("other");
    const first = await other.append([mark("first")]);
    Object.assign(elsewhere, { id: other.id, head: first.kind === "appended" ? first.head : "" });
    await world.session.turn("Go.").result();
    await world.session.command(tries, "go");
    expect(answers.map(({ kind }) => kind)).toEqual([
      ...["stale-branch", "stale-branch", "stale-branch", "stale-branch", "appended"],
      ...["stale-branch", "stale-branch", "stale-branch", "stale-branch", "appended"],
    ]);
    const heads = answers.flatMap((answer) => (answer.kind === "stale-branch" ? [answer.head] : []));
    expect(heads.map((head) => typeof head)).toEqual(Array.from({ length: 8 }, () => "string"));
    expect(await nodesOf(store, world.session)).toEqual(["user: Go.", "assistant: One."]);
    expect(await nodesOf(store, other)).toEqual(['app mark "first"', 'a/tries mark "there"', 'a/tries mark "there"']);
  },
);

test.each(KEPT)(
  "S4 an operation id counts once in a session: in a turn, in later turns, in commands and by the app, %s",
  async (_, make) => {
    const store = make();
    const answers: Appended[] = [];
    const once = definePlugin({
      id: "a/once",
      setup: ({ command }) => ({
        async context({ graph }) {
          for (let n = 0; n < 2; n++) answers.push(await graph.append([mark("x")], { operationId: "in-turn" }));
        },
        operations: {
          go: command({
            run: async ({ graph }) => {
              for (let n = 0; n < 2; n++) answers.push(await graph.append([mark("y")], { operationId: "in-command" }));
              answers.push(await graph.append([mark("x")], { operationId: "in-turn" }));
              await expect(graph.append([mark("z")], { operationId: "in-turn" })).rejects.toThrow(/other content/);
            },
          }),
        },
      }),
    });
    await using world = await open(scripted(says("One."), says("Two.")), { store, plugins: [once] });
    await world.session.turn("Go.").result();
    await world.session.turn("Again.").result();
    await world.session.command(once, "go");
    await world.session.command(once, "go");
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(2);
    expect((await nodesOf(store, world.session)).filter((node) => node.startsWith("a/once"))).toEqual([
      'a/once mark "x"',
      'a/once mark "y"',
    ]);
    expect(await codeOf(world.session.append([mark("x")], { operationId: "in-command" }))).toBe("append.conflict");
  },
);

test.each(KEPT)(
  "S4 nodes for a session that is at a turn wait for it: it takes them in at its next boundary, and a last one at its end, %s",
  async (_, make) => {
    const store = make();
    const [asked, said] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const answers: Appended[] = [];
    const send = definePlugin({
      id: "a/sends",
      setup: ({ command }) => ({
        operations: {
          to: command({
            input: z.object({ session: z.string(), words: z.string(), id: z.string().optional() }),
            run: async ({ graph, input }) => {
              const { session, words, id: operationId } = input;
              const answer = await graph.append([note(words), mark(words)], { session, operationId });
              answers.push(answer);
              return answer.kind;
            },
          }),
        },
      }),
    });
    const wait = defineTool({
      name: "wait",
      description: "Waits.",
      input: z.object({}),
      async execute() {
        asked.resolve();
        await said.promise;
        return "over";
      },
    });
    const model = scripted(calls("wait"), says("Done."), says("Other."));
    await using world = await open(model, { store, plugins: [send], tools: [wait] });
    const other = await world.runtime.session("other");
    const turn = world.session.turn("Go.");
    await asked.promise;
    const { id: session } = world.session;
    const to = async (words: string, id?: string) => (await other.command(send, "to", { session, words, id })).output;
    expect(await to("One.")).toBe("queued");
    expect(await to("Two.", "two")).toBe("queued");
    expect(await to("Two.", "two")).toBe("queued");
    await expect(to("Not two.", "two")).rejects.toMatchObject({
      code: "append.conflict",
      details: { operation: "two" },
    });
    said.resolve();
    await turn.result();
    const nodes = ["user: One.", 'a/sends mark "One."', "user: Two.", 'a/sends mark "Two."'];
    expect((await nodesOf(store, world.session)).slice(3)).toEqual([...nodes, "assistant: Done."]);
    expect(outline(model.requests[1]?.messages ?? []).slice(3)).toEqual(["user: One.", "user: Two."]);
    expect(await to("Two.", "two")).toBe("queued");
    expect(await to("Three.")).toBe("appended");
    expect((await nodesOf(store, world.session)).slice(7)).toEqual([
      "assistant: Done.",
      "user: Three.",
      'a/sends mark "Three."',
    ]);
  },
);

test.each(KEPT)(
  "S4 nodes that came after the last boundary are in the conversation with the turn's end, %s",
  async (_, make) => {
    const store = make();
    const late = definePlugin({
      id: "a/late",
      setup: () => ({
        async afterTurn({ report, sessions, sessionId }) {
          if (report.outcome.kind === "answered" && sessionId === "here")
            await sessions.create({ id: "child", kind: "child", firstInput: "x" });
        },
        async lifecycle({ event, sessionId, graph }) {
          if (event.kind === "turnFinalized" && sessionId === "there")
            await graph.append([mark("late")], { session: "here" });
        },
      }),
    });
    const finishing = Promise.withResolvers<void>();
    const hold = definePlugin({ id: "b/hold", setup: () => ({ afterTurn: () => finishing.promise }) });
    const model = scripted(says("One."), says("Two."));
    await using world = await open(model, { store, plugins: [late] });
    await using holding = await open(model, { store, plugins: [hold] });
    const here = await holding.runtime.session("here");
    const turn = here.turn("Go.");
    await turn.id;
    await expect.poll(() => model.requests.length).toBe(1);
    const there = await world.runtime.session("there");
    await there.turn("Go there.").result();
    finishing.resolve();
    await turn.result();
    expect(await nodesOf(store, here)).toEqual(["user: Go.", "assistant: One.", 'a/late mark "late"']);
    expect(wordsOf((await here.read()).messages.at(-1))).toBe("One.");
  },
);

test("S4 K18 bad nodes, sessions and options are refused by name, and nothing is kept of them", async () => {
  const store = memory();
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const bad: readonly (readonly [code: string, nodes: unknown, options?: unknown])[] = [
    ["input.invalid", []],
    ["input.invalid", "text"],
    ["input.invalid", [{ kind: "message", role: "assistant", text: "x" }]],
    ["input.invalid", [{ kind: "message", role: "user", text: " " }]],
    ["limit.bytes", [{ kind: "message", role: "user", text: "x".repeat(1_000) }]],
    ["limit.bytes", [mark("x".repeat(500)), mark("y".repeat(500))]],
    ["input.invalid", [{ kind: "plugin", type: "x", body: circle }]],
    ["input.invalid", [{ kind: "plugin", type: "x", body: () => {} }]],
    ["options.unknown", [mark("x")], { operation: "x" }],
    ["session.unknown", [mark("x")], { session: "nobody" }],
    ["session.unknown", [mark("x")], { session: 7 }],
  ];
  const codes: string[] = [];
  const tries = definePlugin({
    id: "a/tries",
    setup: () => ({
      async context({ graph }) {
        for (const [, nodes, options] of bad)
          await graph.append(nodes as never, options as never).then(
            () => codes.push("none"),
            (error: { code: string }) => codes.push(error.code),
          );
      },
    }),
  });
  const limits = { inputBytesMax: 1_000 };
  await using world = await open(scripted(says("One.")), { store, plugins: [tries], tools: [ping], limits });
  await world.session.turn("Go.").result();
  expect(codes).toEqual(bad.map(([code]) => code));
  expect(await codeOf(world.session.append([mark("x".repeat(1_000))]))).toBe("limit.bytes");
  expect(await nodesOf(store, world.session)).toEqual(["user: Go.", "assistant: One."]);
});

test("K18 what a hook or a tool appends after its time is refused", async () => {
  const refused: string[] = [];
  const taken: Graph[] = [];
  const keeps = definePlugin({ id: "a/keeps", setup: () => ({ context: ({ graph }) => void taken.push(graph) }) });
  const tool = defineTool({
    name: "ping",
    description: "Pings.",
    input: z.object({}),
    execute: (_, { graph }) => void taken.push(graph),
  });
  await using world = await open(scripted(calls("ping"), says("Done.")), { plugins: [keeps], tools: [tool] });
  await world.session.turn("Go.").result();
  for (const graph of taken)
    await graph.append([mark("late")]).catch((error: { code: string }) => refused.push(error.code));
  expect(refused).toEqual(["state.parallel", "state.parallel"]);
});
