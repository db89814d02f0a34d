import { definePlugin, defineTool, point, type ToolContext } from "bowline/plugin";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { outline } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { named, open } from "../kit/worlds.ts";
import { did, opened } from "./obedient.ts";

test("T5 a tool receives its call, session, turn and attempt, and its key differs for each call and is equal for its attempts", async () => {
  const seen: Pick<ToolContext, "callId" | "sessionId" | "turnId" | "attempt" | "idempotencyKey">[] = [];
  const tool = named(
    "look",
    (_, { callId, sessionId, turnId, attempt, idempotencyKey }) => {
      seen.push({ callId, sessionId, turnId, attempt, idempotencyKey });
      if (seen.length === 1) throw new Error("Again.");
      return "seen";
    },
    { retry: { policy: "idempotent", attempts: 2, baseMs: 1 }, isSerial: true },
  );
  await using world = await opened({ tools: [tool] });
  await did(world.session, "look", "look");
  await did(world.session, "look");
  const told = seen.map(({ callId, attempt }) => `${callId} ${attempt}`);
  expect(told.toSorted()).toEqual(["c0 1", "c0 1", "c0 2", "c1 1"]);
  expect(new Set(seen.map(({ sessionId }) => sessionId))).toEqual(new Set(["one"]));
  const keys = seen.map(({ idempotencyKey }) => idempotencyKey);
  expect(keys[told.indexOf("c0 2")]).toBe(keys[0]);
  expect(new Set(keys).size).toBe(3);
  expect(new Set(seen.map(({ turnId }) => turnId)).size).toBe(2);
});

test("T5 a tool reads what plugins contributed, and the default where none did", async () => {
  const greetings = point<string, string>("greetings", (inputs) => inputs.map(({ value }) => value).join(", "));
  const greets = definePlugin({
    id: "acme/greets",
    setup: () => ({ contributions: [greetings.of("Hei"), greetings.of("Hello")] }),
  });
  const tool = named("read", (_, { read }) => read(greetings));
  await using world = await opened({ tools: [tool], plugins: [greets] });
  expect((await did(world.session, "read")).shown).toEqual(["read ok: Hei, Hello"]);
  await using bare = await opened({ tools: [tool] });
  expect((await did(bare.session, "read")).shown).toEqual(["read ok: "]);
});

test("T5 what a tool does once is done once in all its attempts, under each name; another call does its own", async () => {
  const done: string[] = [];
  let tries = 0;
  const tool = named(
    "pay",
    async (_, { once }) => {
      const noted = (what: string, answer = () => what) => {
        done.push(what);
        return answer();
      };
      const a = await once("a", () => noted("a", () => `receipt ${done.length}`));
      const [b, again] = await Promise.all([once("b", async () => noted("b")), once("b", () => noted("b again"))]);
      if (++tries === 1) throw new Error("After it was paid.");
      return [a, b, again];
    },
    { retry: { policy: "idempotent", attempts: 2, baseMs: 1 }, isSerial: true },
  );
  await using world = await opened({ tools: [tool] });
  const { shown } = await did(world.session, "pay", "pay");
  expect(shown).toEqual(['pay ok: ["receipt 1","b","b"]', 'pay ok: ["receipt 3","b","b"]']);
  expect(done).toEqual(["a", "b", "a", "b"]);
});

test("T5 what failed once is done again, and what is not JSON cannot be noted", async () => {
  let tries = 0;
  const tool = named("pay", async (_, { once }) => {
    const failing = () => once("a", () => (++tries === 1 ? Promise.reject(new Error("No.")) : tries));
    await failing().catch(() => {});
    return failing();
  });
  const odd = named("odd", (_, { once }) => once("a", () => 5n as never));
  await using world = await opened({ tools: [tool, odd] });
  const { shown } = await did(world.session, "pay", "odd");
  expect(shown[0]).toBe("pay ok: 2");
  expect(shown[1]).toMatch(/^odd failed: Error \(hook\.answer\)/);
});

test("T5 a tool sees the conversation up to its own call, its session's config, and other sessions by id", async () => {
  const tool = named("look", async (_, { session }) => {
    const { id, messages, turns } = session.read();
    const other = await session.snapshot("other");
    return [id, turns, outline(messages).slice(-2), outline(other.messages)];
  });
  await using world = await opened({ tools: [tool] });
  await did(await world.runtime.session("other"));
  const { shown } = await did(world.session, "look");
  expect(JSON.parse(shown[0]?.slice("look ok: ".length) ?? "")).toEqual([
    "one",
    0,
    ['user: [["look",{}]]', "calls look"],
    ["user: Hello.", "assistant: Done."],
  ]);
});

test("T5 a tool sees the catalog of its turn, also what can only be found, and may ask for a schema", async () => {
  const tool = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async (_, { catalog }) => [
      catalog.list().map(({ name, availability = "callable" }) => `${name} ${availability}`),
      (await catalog.describe("found"))?.inputSchema.type ?? null,
      (await catalog.describe("shut")) ?? null,
    ],
  });
  const tools = [
    tool,
    named("told", undefined, { availability: "documented" }),
    named("found", undefined, { availability: "searchable" }),
    named("shut", undefined, { availability: "off" }),
  ];
  await using world = await opened({ tools });
  expect((await did(world.session, "look")).outputs[0]).toEqual({
    kind: "value",
    value: [["look callable", "told documented", "found searchable"], "object", null],
  });
});

test("T5 a tool asks a model, keeps bytes and traces, and what that cost is the session's", async () => {
  const tool = named("work", async (_, { complete, blobs, trace }) => {
    const words = await complete.text("Say it.");
    const hash = await blobs.put(new TextEncoder().encode(words));
    trace.emit("worked", { hash });
    return new TextDecoder().decode(await blobs.get(hash));
  });
  const records: string[] = [];
  const model = scripted(calls("work"), says("From another call."), says("Done."));
  await using world = await open(model, { tools: [tool], telemetry: onEvent(({ name }) => void records.push(name)) });
  await world.session.turn("Go.").result();
  const { messages, usage } = await world.session.read();
  expect(outline(messages)).toContain("work ok: From another call.");
  expect(usage).toMatchObject({ input: 30, output: 15 });
  expect(records).toContain("app.worked");
});

test("T5 what is taken off the context works by itself", async () => {
  const tool = named("free", async (_, context) => {
    const { once, read, progress, session, catalog } = context;
    progress();
    const noted = await once("a", () => 1);
    return [noted, read(point<number, number>("none", () => 7)), session.read().id, catalog.list().length];
  });
  await using world = await opened({ tools: [tool] });
  expect((await did(world.session, "free")).shown).toEqual(['free ok: [1,7,"one",1]']);
});

test("T5 a plugin's tool has its plugin's state to read, and an app's tool has none", async () => {
  const plugin = definePlugin({
    id: "acme/keeps",
    state: z.object({ n: z.number().default(7) }),
    setup: ({ tool }) => ({
      tools: [
        tool({ name: "mine", description: "Reads.", input: z.object({}), execute: (_, { state }) => state.get().n }),
        tool({
          name: "wrong",
          description: "Writes without saying so.",
          input: z.object({}),
          execute: (_, { state }) => (state as unknown as { update(change: unknown): void }).update(() => ({ n: 8 })),
        }),
      ],
    }),
  });
  const theirs = named("theirs", (_, context) => "state" in context && context.state !== undefined);
  await using world = await opened({ tools: [theirs], plugins: [plugin] });
  const { shown } = await did(world.session, "mine", "wrong", "theirs");
  expect(shown[0]).toBe("mine ok: 7");
  expect(shown[1]).toMatch(/^wrong failed: Error \(state\.parallel\)/);
  expect(shown[2]).toBe("theirs ok: false");
});

test("T5 a tool that has timed out can no longer write its plugin's state, nor grant", async () => {
  const late = Promise.withResolvers<unknown>();
  const plugin = definePlugin({
    id: "acme/late",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "late",
          description: "Comes late.",
          input: z.object({}),
          writes: true,
          timeoutMs: 20,
          execute: async (_, { state, membership, signal }) => {
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            await new Promise((resolve) => setTimeout(resolve, 30));
            const codes = [() => state.update(() => ({ n: 1 })), () => membership.set("late", "off")].map((act) => {
              try {
                act();
                return "written";
              } catch (error) {
                return (error as { code: string }).code;
              }
            });
            late.resolve(codes);
          },
        }),
      ],
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await opened({ plugins: [plugin] });
  expect((await did(world.session, "late")).shown[0]).toMatch(/tool\.timeout/);
  expect(await late.promise).toEqual(["state.parallel", "state.parallel"]);
  expect(await world.session.query(plugin, "n")).toBe(0);
  await did(world.session);
  expect(world.offered()).toEqual(["late"]);
});
