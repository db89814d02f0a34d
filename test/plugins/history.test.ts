import { definePlugin, defineTool, type Node } from "bowline";
import { type Appended, ask, type Services } from "bowline/plugin";
import type { ProtocolDriver } from "bowline/protocol";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf, seen } from "../kit/reading.ts";
import { file, KEPT } from "../kit/stores.ts";
import { answerWait, open, ping, running } from "../kit/worlds.ts";

type Reading = Services["session"];
const mark = (body: string) => ({ kind: "plugin" as const, type: "mark", body });

/** `plugin mark "x"`, `user`, `frame`: oldest first. */
const inShort = (nodes: readonly Node[]): readonly string[] =>
  nodes
    .map((node) => {
      if (node.kind === "plugin") return `${node.plugin} ${node.type} ${JSON.stringify(node.body)}`;
      return node.kind === "frame" ? "frame" : node.message.role;
    })
    .toReversed();

const reads = definePlugin({
  id: "a/reads",
  setup: ({ query, command }) => ({
    operations: {
      history: query({
        input: z.object({ page: z.any().optional(), id: z.any().optional() }),
        run: async ({ input, session }) => ({ nodes: await session.history(input.page, input.id) }) as never,
      }),
      reading: query({ run: ({ session }) => session.read() as never }),
      add: command({
        input: z.string(),
        run: async ({ input, graph, session }) => {
          const answer = await graph.append([mark(input), mark("more")]);
          return { answer, nodes: await session.history({ max: 3 }) } as never;
        },
      }),
    },
  }),
});
type Found = { readonly nodes: readonly Node[] };

test.each(KEPT)(
  "S15 S8 a plugin reads messages, plugin nodes and frames of its session, with what its turn has added so far, %s",
  async (_, make) => {
    const found: Record<string, readonly Node[]> = {};
    const answers: Appended[] = [];
    let later: Reading | undefined;
    const look = async (where: string, session: Reading): Promise<void> => {
      found[where] = await session.history();
    };
    const looks = definePlugin({
      id: "b/looks",
      setup: () => ({
        async context({ graph, session }) {
          later = session;
          answers.push(await graph.append([mark("context"), mark("more")]));
          await look("context", session);
        },
        checkpoint: ({ at, session }) => look(at, session),
        afterTurn: ({ session }) => look("afterTurn", session),
        lifecycle: ({ event, session }) =>
          event.kind === "turnPersisted" ? look("turnPersisted", session) : undefined,
        compact: () => [{ role: "user", parts: [{ kind: "text", text: "In short." }] }],
      }),
    });
    const tool = defineTool({
      name: "ping",
      description: "Pings.",
      input: z.object({}),
      async execute(_input, { graph, session }) {
        await graph.append([mark("call")]);
        await look("call", session);
        return "pong";
      },
    });
    const model = scripted(calls("ping"), says("Done."));
    await using world = await open(model, { store: make(), plugins: [looks, reads], tools: [tool] });
    await world.session.append([mark("before")]);
    await world.session.compact();
    await world.session.append([{ kind: "message", role: "user", text: "By the way." }]);
    await world.session.compact();
    await world.session.turn("Go.").result();
    const before = ['app mark "before"', "user", "frame", "user"];
    const context = [...before, "user", 'b/looks mark "context"', 'b/looks mark "more"'];
    const work = [...context, "assistant", "tool", 'app mark "call"'];
    expect(Object.fromEntries(Object.entries(found).map(([where, nodes]) => [where, inShort(nodes)]))).toEqual({
      context,
      call: [...context, "assistant"], // Its own node waits for the result.
      "after-work": work,
      "before-completion": [...work, "assistant"],
      afterTurn: [...work, "assistant"],
      turnPersisted: [...work, "assistant"],
    });
    const [last, nextToLast] = found.context ?? [];
    expect(answers).toEqual([{ kind: "appended", nodes: [nextToLast?.id, last?.id], head: last?.id }]);
    const kept = await world.session.history();
    expect(await later?.history()).toEqual(kept); // With the service of a turn that is over.
    const ids = (nodes: readonly Node[] = []) => nodes.map(({ id, parent }) => [id, parent]);
    for (const nodes of Object.values(found)) expect(ids(nodes)).toEqual(ids(kept.slice(kept.length - nodes.length)));
    const { output } = await world.session.command(reads, "add", "x");
    const added = output as unknown as { answer: Appended; nodes: readonly Node[] };
    const [head, first, before1] = ids(added.nodes);
    expect([first?.[1], before1]).toEqual([kept[0]?.id, ids(kept)[0]]);
    expect(added.answer).toEqual({ kind: "appended", nodes: [first?.[0], head?.[0]], head: head?.[0] });
    const { nodes } = (await world.session.query(reads, "history", {})) as unknown as Found;
    expect(nodes).toEqual(await world.session.history());
    expect(Object.isFrozen(nodes[0])).toBe(true);
  },
);

test.each(KEPT)(
  "S15 S8 pages of a plugin lead through what its turn has added and on through what is stored, %s",
  async (_, make) => {
    const pages = new Map<number, readonly Node[]>();
    const found: { all?: readonly Node[]; from?: readonly Node[]; none?: readonly Node[] } = {};
    const looks = definePlugin({
      id: "b/looks",
      setup: () => ({
        async afterTurn({ session, report }) {
          if (report.outcome.kind !== "answered" || session.read().turns === 0) return;
          found.all = await session.history({ max: Infinity });
          for (const max of [1, 2, 5]) {
            const nodes: Node[] = [];
            for (let page = await session.history({ max }); page.length > 0; ) {
              nodes.push(...page);
              page = await session.history({ max, before: page.at(-1)?.id });
            }
            pages.set(max, nodes);
          }
          found.from = await session.history({ from: found.all[1]?.id, max: 2 });
          found.none = await session.history({ before: found.all.at(-1)?.id });
        },
      }),
    });
    const model = scripted(says("One."), calls("none"), says("Two."));
    await using world = await open(model, { store: make(), plugins: [looks] });
    await world.session.turn("Go.").result();
    await world.session.append([1, 2, 3].map((n) => mark(`${n}`)));
    await world.session.turn("Go on.").result();
    expect(found.all).toEqual(await world.session.history());
    for (const [max, nodes] of pages) expect(nodes, `${max}`).toEqual(found.all);
    expect(pages.size).toBe(3);
    expect(found.from).toEqual(found.all?.slice(1, 3));
    expect(found.none).toEqual([]);
  },
);

test("S15 D2 a plugin reads its nodes back in another process, and those of any other session", async () => {
  const path = file();
  const opened = () => running({ store: sqlite(path, { durability: "process" }), plugins: [reads] });
  const one = await opened();
  const here = await one.session("here");
  await here.turn("Hi.").result();
  await here.command(reads, "add", "mine");
  await one.close();
  await using two = await opened();
  const [again, other] = [await two.session("here"), await two.session("other")];
  for (const [session, id] of [
    [again, undefined],
    [again, "here"],
    [other, "here"],
  ] as const) {
    const { nodes } = (await session.query(reads, "history", { id })) as unknown as Found;
    expect(inShort(nodes)).toEqual(["user", "assistant", 'a/reads mark "mine"', 'a/reads mark "more"']);
  }
  expect((await other.query(reads, "history", {})) as unknown).toEqual({ nodes: [] });
});

test("S15 S8 a wrong page and an unknown session are typed, and nothing is written", async () => {
  await using runtime = await running({ plugins: [reads] });
  const [session, other] = [await runtime.session("s"), await runtime.session("other")];
  await session.turn("Hi.").result();
  await other.turn("My secret.").result();
  const { head, cursor } = await session.read();
  const foreign = (await other.read()).head as string;
  const wrong: readonly (readonly [code: string, page: unknown, id?: unknown])[] = [
    ["options.invalid", { max: 0 }],
    ["options.invalid", { max: -1 }],
    ["options.invalid", { max: "5" }],
    ["options.invalid", { from: head, before: head }],
    ["options.invalid", "newest"],
    ["options.unknown", { maxi: 5 }],
    ["fork.unknown", { from: "nowhere.0" }],
    ["fork.unknown", { from: 5 }],
    ["fork.unknown", { before: `${String(head).replace(/\d+$/, "")}99` }],
    ["fork.unknown", { from: foreign }],
    ["session.unknown", {}, "nobody"],
    ["session.unknown", {}, 7],
  ];
  for (const [code, page, id] of wrong)
    expect(await codeOf(session.query(reads, "history", { page, id })), JSON.stringify([page, id])).toBe(code);
  expect(await codeOf(session.history({ max: "5" } as unknown as { max: number }))).toBe("options.invalid");
  expect((await session.read()).cursor).toBe(cursor);
});

test("S15 a plugin reads the ledger of a session and the options of its protocol", async () => {
  const answer = () => ({ kind: "answer" as const });
  const driver: ProtocolDriver = {
    id: "b/keeps",
    version: 1,
    request: ({ system, messages }) => ({ system, messages, tools: [] }),
    onReply: answer,
    onResults: answer,
    onExec: answer,
  };
  const keeps = definePlugin({
    id: "b/keeps",
    setup: () => ({
      protocolSession: { configure: ({ options }) => options.set({ verb: "CALL" }) },
      protocolDriver: { driver, preamble: () => ({ tools: [], prompt: [] }) },
    }),
  });
  await using runtime = await running({ plugins: [reads, keeps] });
  const session = await runtime.session("s");
  expect(await session.query(reads, "reading")).toMatchObject({ ledger: [] });
  await session.turn("Hi.").result();
  await session.complete.text("Hm?", { label: "notes" });
  const { ledger } = await session.read();
  expect(ledger.map(({ source }) => source)).toEqual(["turn", "notes"]);
  const reading = { ledger, protocolOptions: { verb: "CALL" } };
  expect(await session.query(reads, "reading")).toMatchObject(reading);
  expect(await runtime.sessions.get("s")).toMatchObject(reading);
});

test("S15 S8 a command in a turn that waits reads what that turn has added, and a stale append there answers its head", async () => {
  const asks = definePlugin({ id: "b/asks", setup: () => ({ beforeToolCall: () => ask("It moves money.") }) });
  const stale = definePlugin({
    id: "b/stale",
    setup: ({ command }) => ({
      operations: {
        try: command({
          run: async ({ graph, session }) => {
            const answer = await graph.append([mark("x")], { requiresAncestor: "nowhere.0" });
            return { answer, nodes: await session.history() } as never;
          },
        }),
      },
    }),
  });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [asks, stale], tools: [ping], limits: { parkAfterMs: 1 } });
  const turn = world.session.turn("Go.");
  const waiting = await seen(turn, "waiting");
  const { output } = await world.session.command(stale, "try");
  const { answer, nodes } = output as unknown as { answer: Appended; nodes: readonly Node[] };
  expect(inShort(nodes)).toEqual(["user", "assistant"]);
  expect(answer).toEqual({ kind: "stale-branch", required: "nowhere.0", head: nodes[0]?.id });
  await answerWait(world.runtime, waiting.wait, { approved: true });
  await turn.result();
  expect((await world.session.history()).slice(-2)).toEqual(nodes);
});
