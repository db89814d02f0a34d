import { definePlugin, defineTool } from "bowline";
import type { ModelRequest, ProtocolDriver } from "bowline/protocol";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { codeOf, outline, passed, signalOf, within } from "../kit/reading.ts";
import { file, KEPT, lives } from "../kit/stores.ts";
import { open, runningQuickly } from "../kit/worlds.ts";

const search = {
  name: "search",
  description: "Searches.",
  inputSchema: { type: "object", properties: { q: { type: "string" } } },
} as const;
const other = { ...search, name: "other" } as const;
const asks = (words: string) => [{ role: "user" as const, parts: [{ kind: "text" as const, text: words }] }];

test.each(KEPT)(
  "S9 a reply is asked for with tools and a tool choice: its calls are returned, none is run, and it is booked, %s",
  async (_, make) => {
    let runs = 0;
    const own = defineTool({
      name: "search",
      description: "Of the session.",
      input: z.object({}),
      execute: () => void runs++,
    });
    const replies: unknown[] = [];
    const plugin = definePlugin({
      id: "a/asks",
      setup: ({ task }) => ({
        context: async ({ complete }) => {
          const request = { messages: asks("Which?"), tools: [search, other], toolChoice: "required" as const };
          replies.push((await complete.reply(request, { label: "plans" })).parts);
        },
        operations: {
          plan: task({
            run: async ({ complete }) => {
              const request = { messages: asks("Task?"), tools: [search], toolChoice: { name: "search" } };
              return (await complete.reply(request, { label: "plans" })).parts as never;
            },
          }),
        },
      }),
    });
    const model = scripted(
      both(says("Two of them."), calls("search", { q: "a" }), calls("other", { q: "b" })),
      says("Done."),
      calls("search", { q: "c" }),
      calls("search", { q: "d" }),
    );
    await using world = await open(model, { store: make(), plugins: [plugin], tools: [own] });
    const { session } = world;
    const { outcome } = await session.turn("Go.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(replies).toEqual([
      [
        { kind: "text", text: "Two of them." },
        expect.objectContaining({ kind: "toolCall", name: "search", input: { q: "a" } }),
        expect.objectContaining({ kind: "toolCall", name: "other", input: { q: "b" } }),
      ].map((part) => ("text" in part ? expect.objectContaining(part) : part)),
    ]);
    expect(model.requests[0]).toMatchObject({ tools: [search, other], toolChoice: "required" });
    const { output } = await session.task(plugin, "plan");
    expect(output).toMatchObject([{ kind: "toolCall", name: "search", input: { q: "c" } }]);
    expect(model.requests[2]).toMatchObject({ tools: [search], toolChoice: { name: "search" } });
    const reply = await session.complete.reply({ messages: asks("App?"), tools: [search] });
    expect(reply).toMatchObject({ finish: "calls", parts: [{ kind: "toolCall", input: { q: "d" } }] });
    expect(model.requests[3]).not.toHaveProperty("toolChoice");
    expect(runs).toBe(0);
    const view = await session.read();
    expect(outline(view.messages)).toEqual(["user: Go.", "assistant: Done."]);
    expect(Object.fromEntries(view.ledger.map(({ source, calls: n }) => [source, n]))).toEqual({
      turn: 1,
      plans: 2,
      direct: 1,
    });
  },
);

test("S9 D2 the calls of a reply are recorded: another process is given them without asking, and books them once", async () => {
  const life = lives(sqlite(file(), { durability: "process" }));
  const struck = signalOf();
  let isFirst = true;
  const found: unknown[] = [];
  const plugin = definePlugin({
    id: "a/asks",
    setup: () => ({
      context: async ({ complete }) => {
        const { parts } = await complete.reply({ messages: asks("Which?"), tools: [search] }, { label: "plans" });
        found.push(parts);
        if (!isFirst) return;
        isFirst = false;
        life.kill();
        struck.resolve();
        await new Promise(() => {});
      },
    }),
  });
  const models = [scripted(calls("search", { q: "a" })), scripted(says("Done."))] as const;
  const one = await runningQuickly({ store: life.next(), plugins: [plugin], model: models[0] });
  void (await one.session("s")).turn("Go.", { key: "k" });
  await within(struck.promise);
  await passed(5);
  const two = await runningQuickly({ store: life.next(), plugins: [plugin], model: models[1] });
  const session = await two.session("s");
  const { outcome } = await within(session.turn("Go.", { key: "k" }).result());
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(models.map(({ requests }) => requests.length)).toEqual([1, 1]);
  expect(found[0]).toMatchObject([{ kind: "toolCall", name: "search", input: { q: "a" } }]);
  expect(found[1]).toEqual(found[0]);
  const { ledger } = await session.read();
  expect(ledger.find(({ source }) => source === "plans")).toMatchObject({ calls: 1, usage: { input: 10 } });
  await two.close();
});

test("P2 S9 a protocol sends a variant of the request that it was shown: another tail, other tools, other settings", async () => {
  const shown: ModelRequest[] = [];
  const replies: unknown[] = [];
  const answer = () => ({ kind: "answer" as const });
  const driver: ProtocolDriver = {
    id: "a/plans",
    version: 1,
    request: ({ system, messages, tools }) => ({ system, messages, tools, stable: messages.length }),
    onReply: answer,
    onResults: answer,
    onExec: answer,
  };
  const plans = definePlugin({
    id: "a/plans",
    setup: () => ({
      protocolSession: {
        async beforeAsk({ request, complete }) {
          shown.push(request);
          const messages = [...request.messages, ...asks("Which tool?")];
          const reply = await complete.reply(
            { ...request, messages, tools: [search], toolChoice: "required", settings: { temperature: 0 } },
            { label: "plan" },
          );
          expectTypeOf(complete.reply).toBeCallableWith(request);
          replies.push(reply.parts);
        },
      },
      protocolDriver: { driver, preamble: ({ tools }) => ({ tools, prompt: [] }) },
    }),
  });
  const own = defineTool({ name: "own", description: "Own.", input: z.object({}), execute: () => "x" });
  const model = scripted(calls("search", { q: "a" }), says("Done."));
  await using world = await open(model, { plugins: [plans], tools: [own], instructions: "Be kind." });
  await world.session.turn("Go.").result();
  const [variant, asked] = model.requests;
  expect(variant).toMatchObject({
    system: "Be kind.",
    tools: [search],
    toolChoice: "required",
    settings: { temperature: 0 },
    stable: 1,
  });
  expect(outline(variant?.messages ?? [])).toEqual(["user: Go.", "user: Which tool?"]);
  expect(variant?.messages[0]).toEqual(shown[0]?.messages[0]);
  expect(asked).toMatchObject({ system: "Be kind.", tools: [{ name: "own" }] });
  expect(outline(asked?.messages ?? [])).toEqual(["user: Go."]);
  expect(asked).not.toHaveProperty("toolChoice");
  expect(replies).toMatchObject([[{ kind: "toolCall", name: "search", input: { q: "a" } }]]);
  expect((await world.session.read()).ledger.map(({ source }) => source).toSorted()).toEqual(["plan", "turn"]);
});

test("S9 a wrong request for a reply is refused by code; nobody is asked and nothing is booked", async () => {
  const model = scripted();
  await using world = await open(model);
  const { complete } = world.session;
  const wrong: readonly object[] = [
    { tools: search },
    { tools: ["search"] },
    { tools: [{ ...search, name: "" }] },
    { tools: [{ ...search, inputSchema: "none" }] },
    { tools: [{ name: "x", inputSchema: {} }] },
    { tools: [search, search] },
    { tools: [search], toolChoice: "search" },
    { tools: [search], toolChoice: { name: "nothing" } },
    { tools: [search], toolChoice: null },
    { toolChoice: { name: "search" } },
    { messages: "Hm?" },
    { messages: [{ role: "nobody", parts: [] }] },
    { messages: [{ role: "user" }] },
    { messages: asks("Hm?"), stable: 2 },
    { messages: asks("Hm?"), stable: -1 },
    { system: 7 },
  ];
  for (const request of wrong)
    expect(await codeOf(complete.reply(request)), JSON.stringify(request)).toBe("options.invalid");
  // Words and objects have no place for calls.
  const withTools = { messages: asks("Hm?"), tools: [search] };
  expect(await codeOf(complete.text(withTools))).toBe("options.unknown");
  expect(await codeOf(complete.object(withTools, z.string()))).toBe("options.unknown");
  expect(await codeOf(complete.reply(null as never))).toBe("options.invalid");
  expect([model.requests, (await world.session.read()).ledger]).toEqual([[], []]);
});
