import { definePlugin, defineTool, retryable, type SessionEvent } from "bowline";
import { ask, replaceResult } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventsOf, only, seen, signalOf, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { answerWait, deployed, held, open, ping, quickWorld } from "../kit/worlds.ts";

const idle = definePlugin({ id: "acme/idle", setup: () => ({ afterToolCall: () => {} }) });
const printed = (events: readonly SessionEvent[]): string =>
  only(events, "toolOutput")
    .map(({ delta }) => delta)
    .join("");

test("T13 with an after-hook that does nothing, a call is reported as returned while its sibling still works", async () => {
  const slow = held("slow");
  await using world = await open(scripted(both(calls("ping"), calls("slow")), says("Done.")), {
    plugins: [idle],
    tools: [ping, slow.tool],
  });
  const turn = world.session.turn("Go.");
  await slow.began();
  const returned = await within(seen(turn, "toolReturned"));
  expect(returned).toMatchObject({ name: "ping", status: "ok" });
  expect(returned).not.toHaveProperty("output"); // A hook may still take something out of it.
  const told = eventsOf(world.session.follow(await turn.id));
  slow.release();
  const events = await told;
  expect(only(events, "toolReturned").map(({ name }) => name)).toEqual(["ping", "slow"]);
  expect(only(events, "toolEnded").map(({ name }) => name)).toEqual(["ping", "slow"]);
});

test("T13 beside a call that waits for a person, a finished one is reported as returned", async () => {
  const asks = definePlugin({
    id: "acme/asks",
    setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("May it pay?") : undefined) }),
  });
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." });
  await using world = await open(scripted(both(calls("pay"), calls("ping")), says("Done.")), {
    plugins: [asks],
    tools: [ping, pay],
  });
  const turn = world.session.turn("Go.");
  expect(await within(seen(turn, "toolReturned"))).toMatchObject({ name: "ping", status: "ok" });
  const { wait } = await seen(world.session.follow(await turn.id), "waiting");
  const told = eventsOf(world.session.follow(await turn.id));
  await answerWait(world.runtime, wait, { approved: false, reason: "No." });
  expect(only(await told, "toolEnded").map(({ name, status }) => `${name} ${status}`)).toEqual([
    "pay denied",
    "ping ok",
  ]);
});

test("T13 an attempt that is tried again has not returned: the call is reported as returned once, with its last attempt", async () => {
  let tries = 0;
  const flaky = defineTool({
    name: "flaky",
    description: "Fails once.",
    input: z.object({}),
    retry: { policy: "safe", baseMs: 1 },
    execute: () => {
      if (++tries === 1) throw retryable(new Error("Once."));
      return "Fine.";
    },
  });
  await using world = await open(scripted(calls("flaky"), says("Done.")), { tools: [flaky], plugins: [idle] });
  const events = await eventsOf(world.session.turn("Go."));
  expect(only(events, "toolReturned").map(({ status }) => status)).toEqual(["ok"]);
});

test("T13 D1 a resumed turn shows the settled output of a call, not the raw one", async () => {
  const path = file();
  const secret = defineTool({
    name: "secret",
    description: "Tells a secret.",
    input: z.object({}),
    execute: () => "the password is 1234",
  });
  const redacts = definePlugin({
    id: "acme/redacts",
    setup: () => ({ afterToolCall: ({ call }) => (call.name === "secret" ? replaceResult("redacted") : undefined) }),
  });
  const start = (model: ReturnType<typeof scripted>, work: ReturnType<typeof held>) =>
    deployed(sqlite(path), quickWorld({ now: Date.now() }), { model, tools: [secret, work.tool], plugins: [redacts] });
  const [once, again] = [held(), held()];
  const first = await start(scripted(calls("secret"), calls("work")), once);
  const { turnId } = await (await first.runtime.session("a")).send("Go.");
  await once.began();
  await first.runtime.close();
  again.release();
  const { runtime } = await start(scripted(says("Done.")), again);
  const events = await eventsOf((await runtime.session("a")).follow(turnId));
  await runtime.close();
  expect(JSON.stringify(events)).not.toContain("1234");
  expect(only(events, "toolEnded").map(({ name, output }) => [name, output])).toEqual([
    ["secret", { kind: "value", value: "redacted" }],
    ["work", { kind: "value", value: "worked" }],
  ]);
});

test("T9 S3 a reader of a turn that another process left receives a wait once", async () => {
  const path = file();
  const asks = definePlugin({ id: "acme/asks", setup: () => ({ beforeToolCall: () => ask("May it?") }) });
  const start = (model: ReturnType<typeof scripted>) =>
    deployed(sqlite(path), quickWorld({ now: Date.now() }), { model, tools: [ping], plugins: [asks] });
  const first = await start(scripted(calls("ping")));
  const begun = (await first.runtime.session("a")).turn("Go.");
  const turnId = await begun.id;
  const { wait } = await seen(begun, "waiting");
  await first.runtime.close();
  const { runtime } = await start(scripted(says("Done.")));
  const events: SessionEvent[] = [];
  for await (const event of (await runtime.session("a")).follow(turnId)) {
    events.push(event);
    if (event.kind === "waiting") await answerWait(runtime, event.wait, { approved: true });
  }
  expect(only(events, "waiting").map((event) => event.wait)).toEqual([wait]);
  expect(only(events, "resolved")).toMatchObject([{ wait, wants: "approval", how: "answered" }]);
  expect(only(events, "toolEnded")).toMatchObject([{ name: "ping", status: "ok" }]);
  expect(events.at(-1)).toMatchObject({ kind: "committed", outcome: { text: "Done." } });
  await runtime.close();
});

test("T13 observers receive a tool's output and progress while it runs; the model sees only the result", async () => {
  const went = signalOf();
  const build = defineTool({
    name: "build",
    description: "Builds.",
    input: z.object({}),
    execute: async (_, { output, progress }) => {
      output("compiling\n");
      progress({ done: 1, of: 2 });
      await went.promise;
      output("linking\n");
      progress({ done: 2, of: 2 });
      return "Built.";
    },
  });
  const model = scripted(calls("build"), says("Done."));
  await using world = await open(model, { tools: [build] });
  const turn = world.session.turn("Go.");
  expect(await within(seen(turn, "toolOutput"))).toMatchObject({ delta: "compiling\n" });
  const told = eventsOf(world.session.follow(await turn.id));
  went.resolve();
  const events = await told;
  expect(printed(events)).toBe("compiling\nlinking\n");
  expect(only(events, "toolProgress").at(-1)).toMatchObject({ value: { done: 2, of: 2 } });
  const order = events.map(({ kind }) => kind);
  expect(order.lastIndexOf("toolOutput")).toBeLessThan(order.indexOf("toolEnded"));
  expect(JSON.stringify(model.requests.at(-1)?.messages)).not.toContain("linking");
  for (const { key } of only(events, "toolOutput")) expect(key.effect).toBe(only(events, "toolStarted")[0]?.key.effect);
});

test("T13 a tool that prints without end becomes few events and bounded text", async () => {
  const chatty = defineTool({
    name: "chatty",
    description: "Prints.",
    input: z.object({}),
    execute: (_, { output }) => {
      for (let line = 0; line < 200_000; line++) output(`${line} ${"x".repeat(10)}\n`);
      return "Done.";
    },
  });
  await using world = await open(scripted(calls("chatty"), says("Done.")), { tools: [chatty] });
  const events = await eventsOf(world.session.turn("Go."));
  expect(only(events, "toolOutput").length).toBeLessThan(50);
  expect(printed(events).length).toBeLessThan(300_000);
  expect(printed(events)).toContain("more was printed");
});

test("T13 output of a tool after the end of its attempt is shown to nobody, and does no harm", async () => {
  let late: (() => void) | undefined;
  const leaks = defineTool({
    name: "leaks",
    description: "Leaks.",
    input: z.object({}),
    execute: async (_, { output, progress }) => {
      late = () => {
        output("late");
        progress("late");
      };
      progress(Number.NaN); // No JSON: traced, not shown, and the call goes on.
      return "Done.";
    },
  });
  await using world = await open(scripted(calls("leaks"), says("Done.")), { tools: [leaks] });
  const events = await eventsOf(world.session.turn("Go."));
  late?.();
  expect(only(events, "toolProgress")).toEqual([]);
  expect(printed(events)).toBe("");
});

test("T13 a tool that returned at once and prints later is not heard, and what a failed attempt prints late is not mixed in", async () => {
  const late: (() => void)[] = [];
  let tries = 0;
  const tool = defineTool({
    name: "late",
    description: "Prints late.",
    input: z.object({}),
    retry: { policy: "safe", baseMs: 1 },
    execute: (_, { output, attempt }) => {
      late.push(() => output(`late ${attempt};`));
      output(`${attempt};`);
      late[0]?.();
      if (++tries === 1) throw retryable(new Error("Once."));
      return "Done.";
    },
  });
  await using world = await open(scripted(calls("late"), says("Done.")), { tools: [tool] });
  const { session } = world;
  const events: SessionEvent[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of session.observe({ signal: stop.signal })) events.push(event);
  })();
  await session.turn("Go.").result();
  for (const print of late) print();
  stop.abort();
  await watching;
  const second = only(events, "toolOutput").filter(({ key }) => key.attempt === 2);
  expect(second.map(({ delta }) => delta).join("")).toBe("2;");
  expect(events.findLastIndex(({ kind }) => kind === "toolOutput")).toBeLessThan(
    events.findIndex(({ kind }) => kind === "toolEnded"),
  );
});

test("T13 D1 a call of an unfinished round is reported again without its output, because a plugin of today can take something out", async () => {
  const path = file();
  const secret = defineTool({ name: "secret", description: "Tells.", input: z.object({}), execute: () => "RAW" });
  const redacts = definePlugin({
    id: "acme/redacts",
    setup: () => ({ afterToolCall: ({ call }) => (call.name === "secret" ? replaceResult("redacted") : undefined) }),
  });
  const [once, again] = [held(), held()];
  const first = await deployed(sqlite(path), quickWorld({ now: Date.now() }), {
    model: scripted(both(calls("secret"), calls("work"))),
    tools: [secret, once.tool],
  });
  const { turnId } = await (await first.runtime.session("a")).send("Go.");
  await once.began();
  await first.runtime.close();
  again.release();
  const { runtime } = await deployed(sqlite(path), quickWorld({ now: Date.now() }), {
    model: scripted(says("Done.")),
    tools: [secret, again.tool],
    plugins: [redacts],
  });
  const events = await eventsOf((await runtime.session("a")).follow(turnId));
  await runtime.close();
  expect(JSON.stringify(events)).not.toContain("RAW");
  expect(only(events, "toolEnded").map(({ name }) => name)).toEqual(["secret", "work"]);
});
