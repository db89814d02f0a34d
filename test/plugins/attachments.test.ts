import { attach, definePlugin, defineTool, RuntimeError, type Store } from "bowline";
import type { Appended, Services } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf, nodesOf, passed, within } from "../kit/reading.ts";
import { around, file, KEPT, lives } from "../kit/stores.ts";
import { open, ping, running, runningQuickly } from "../kit/worlds.ts";

type Graph = Services["graph"];
const png = (size = 3) => attach(new Uint8Array(size).fill(7), { mediaType: "image/png", name: "x.png" });
const note = (text: string, ...attachments: readonly unknown[]) =>
  ({ kind: "message", role: "user", text, attachments }) as never;
const bytesIn = (store: Store, session: { readonly id: string }) =>
  Promise.resolve(store.view(session.id as never)).then((segments) =>
    segments.flatMap(({ entries }) =>
      entries.flatMap((entry) =>
        entry.kind === "message" ? entry.message.parts.filter(({ kind }) => kind === "attachment") : [],
      ),
    ),
  );

const adds = definePlugin({
  id: "a/adds",
  setup: ({ command }) => ({
    context: ({ graph }) => graph.append([note("In the context.", png())]).then(() => undefined),
    operations: {
      add: command({
        input: z.object({ session: z.string().optional(), operationId: z.string().optional() }),
        run: async ({ graph, input }) => (await graph.append([note("", png())], input)).kind,
      }),
    },
  }),
});
const adder = defineTool({
  name: "ping",
  description: "Pings.",
  input: z.object({}),
  async execute(_, { graph }) {
    void graph.append([note("Text alone is taken at once.")]);
    await graph.append([note("In a tool.", png())]);
    return "pong";
  },
});

test.each(KEPT)(
  "S6 K18 messages that hooks, tools, commands and the app append have attachments, which the model is sent, %s",
  async (_, make) => {
    const store = make();
    const model = scripted(calls("ping"), says("Done."), says("Yes."));
    await using world = await open(model, { store, plugins: [adds], tools: [adder] });
    const { session, runtime } = world;
    await session.append([note("By the app.", png())]);
    await session.turn("Go.").result();
    expect((await session.command(adds, "add", {})).output).toBe("appended");
    expect(await nodesOf(store, session)).toEqual([
      "user: By the app.attachment",
      "user: Go.",
      "user: In the context.attachment",
      "assistant: toolCall",
      "tool: toolResult",
      "user: Text alone is taken at once.",
      "user: In a tool.attachment",
      "assistant: Done.",
      "user: attachment",
    ]);
    const sent = model.requests[1]?.messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === "attachment"));
    expect(sent).toEqual((await bytesIn(store, session)).slice(0, 3));
    for (const part of sent ?? []) expect(part).toMatchObject({ mediaType: "image/png", bytes: 3, name: "x.png" });
    const other = await runtime.session("other");
    const [known] = await bytesIn(store, session);
    await other.append([note("The same.", { ...known, bytes: 9_999 })]);
    expect(await bytesIn(store, other)).toEqual([known]); // Its size is that of its bytes.
    const to = { session: "other", operationId: "once" };
    for (let times = 0; times < 2; times++) await session.command(adds, "add", to);
    expect(await nodesOf(store, other)).toEqual(["user: The same.attachment", "user: attachment"]);
  },
);

test("S6 D2 bytes are stored before the node that names them, and another process reads both", async () => {
  const path = file();
  const did: string[] = [];
  const noted = (what: string) => (act: () => unknown) => {
    did.push(what);
    return act();
  };
  const store = around(sqlite(path, { durability: "process" }), { "blobs.put": noted("put"), apply: noted("apply") });
  const one = await running({ store });
  const session = await one.session("s");
  await session.append([note("Look.", png())]);
  expect(did).toEqual(["put", "apply"]);
  await one.close();
  const again = sqlite(path, { durability: "process" });
  await using two = await running({ store: again });
  const [part] = await bytesIn(again, await two.session("s"));
  expect(part?.kind === "attachment" && (await again.blobs.get(part.hash))).toEqual(new Uint8Array(3).fill(7));
});

test.each(["before", "after"])(
  "S6 D2 a process that is killed %s the bytes of an append are stored leaves a turn that appends them once",
  async (when) => {
    const life = lives(sqlite(file(), { durability: "process" }));
    const struck = Promise.withResolvers<void>();
    const killing = around(life.next(), {
      "blobs.put": async (act, ...given) => {
        if ((given[1] as Uint8Array).byteLength !== 3) return act();
        if (when === "after") await act();
        life.kill();
        struck.resolve();
        return new Promise(() => {});
      },
    });
    const [plugins, model] = [[adds], () => scripted(says("Done."))];
    const one = await runningQuickly({ store: killing, plugins, model: model() });
    void (await one.session("s")).turn("Go.", { key: "k" });
    await within(struck.promise);
    await passed(5);
    const store = life.next();
    const two = await runningQuickly({ store, plugins, model: model() });
    const session = await two.session("s");
    const { outcome } = await within(session.turn("Go.", { key: "k" }).result());
    expect(outcome.kind).toBe("answered");
    expect(await nodesOf(store, session)).toEqual(["user: Go.", "user: In the context.attachment", "assistant: Done."]);
    const [part] = await bytesIn(store, session);
    expect(part?.kind === "attachment" && (await store.blobs.get(part.hash))?.byteLength).toBe(3);
    await two.close();
  },
);

test("S6 bytes that a sweep removed before the node was written are stored again", async () => {
  let [puts, sweeps] = [0, 0];
  const store = around(memory(), {
    "blobs.put": (act) => {
      puts++;
      return act();
    },
    apply: (act) => {
      if (sweeps++ === 0) throw new RuntimeError("store.swept", { hash: "x" });
      return act();
    },
  });
  await using runtime = await running({ store, plugins: [adds] });
  const [session, other] = [await runtime.session("s"), await runtime.session("other")];
  await session.append([note("Look.", png())]);
  expect([puts, sweeps]).toEqual([2, 2]);
  [puts, sweeps] = [0, 0];
  await session.command(adds, "add", { session: other.id });
  expect([puts, await nodesOf(store, other)]).toEqual([2, ["user: attachment"]]);
});

test("S6 wrong attachments and those over the bound are refused by code, and nothing is written", async () => {
  let puts = 0;
  const store = around(memory(), {
    "blobs.put": (act) => {
      puts++;
      return act();
    },
  });
  const bad: readonly (readonly [code: string, ...nodes: readonly unknown[]])[] = [
    ["limit.bytes", note("x", png(1_001))],
    ["limit.bytes", note("x", png(500), png(500))],
    ["limit.bytes", note("x", png(500)), note("y", png(500))],
    ["limit.bytes", note("x".repeat(500), png(600))],
    ["limit.bytes", note("x", ...Array.from({ length: 40 }, () => png(0)))],
    ["input.invalid", note("")],
    ["input.invalid", { kind: "message", role: "user", text: "x", attachments: png() }],
    ["input.invalid", note("x", "bytes")],
    ["input.invalid", note("x", png(), { kind: "attachment", hash: "nothing", mediaType: "image/png", bytes: 1 })],
    ["input.invalid", note("x", { kind: "attachment", hash: 7, mediaType: "image/png" })],
    ["options.unknown", { kind: "message", role: "user", text: "x", attachment: [] }],
  ];
  const codes: string[] = [];
  const answers: Appended[] = [];
  const append = async (graph: Graph) => {
    for (const [, ...nodes] of bad) codes.push(await codeOf(graph.append(nodes as never)));
    for (const requiresAncestor of [7, ""])
      codes.push(await codeOf(graph.append([note("x")], { requiresAncestor: requiresAncestor as string })));
    answers.push(await graph.append([note("x", png())], { requiresAncestor: "nowhere.0" }));
  };
  const tries = definePlugin({
    id: "a/tries",
    setup: () => ({ context: ({ graph }) => append(graph).then(() => undefined) }),
  });
  const limits = { inputBytesMax: 1_000 };
  await using world = await open(scripted(says("One.")), { store, plugins: [tries], tools: [ping], limits });
  await world.session.turn("Go.").result();
  const expected = [...bad.map(([code]) => code), "options.invalid", "options.invalid"];
  expect(codes).toEqual(expected);
  expect(await nodesOf(store, world.session)).toEqual(["user: Go.", "assistant: One."]);
  const [own] = (await world.session.history({ max: 2 })).toReversed();
  expect(answers).toEqual([{ kind: "stale-branch", required: "nowhere.0", head: own?.id }]);
  [codes.length, puts] = [0, 0];
  await append(world.session);
  expect(codes).toEqual(expected);
  expect(puts).toBe(1); // Of the stale one, whose bytes nothing names.
  expect(await nodesOf(store, world.session)).toHaveLength(2);
});

test("S6 K13 nodes that a command appends and does not wait for are part of its change", async () => {
  const store = memory();
  const plugin = definePlugin({
    id: "a/adds",
    setup: ({ command }) => ({
      operations: { add: command({ run: ({ graph }) => void graph.append([note("Nobody waits.")]) }) },
    }),
  });
  await using runtime = await running({ store, plugins: [plugin] });
  const session = await runtime.session("s");
  await session.command(plugin, "add");
  expect(await nodesOf(store, session)).toEqual(["user: Nobody waits."]);
});
