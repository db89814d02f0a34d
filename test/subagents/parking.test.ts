import { definePlugin, type Json, type Runtime, type Store } from "bowline";
import { ask } from "bowline/plugin";
import { subagents } from "bowline/plugins/subagents";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { asSessionId } from "../../src/model/ids.ts";
import { eventsOf, only, textIn } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import {
  agentsIn,
  answersIn,
  cast,
  childEvents,
  counted,
  eventually,
  HELPER,
  jsonOf,
  type Line,
  running,
  within,
} from "./roles.ts";

const spawns = (task: string, more: { readonly [field: string]: Json } = {}) =>
  calls("spawn_agent", { task, ...more }, `spawn ${task}`);
const looks = (at: string) => calls("look", { at }, `look ${at}`);
const tells =
  (message: string, more: { readonly [field: string]: Json } = {}): Line =>
  ({ messages }) =>
    calls("message_agent", { agent: agentsIn(messages)[0] ?? "nobody", message, ...more }, `tell ${message}`);
const awaits =
  (more: { readonly [field: string]: Json } = {}): Line =>
  ({ messages }) =>
    calls("wait_agents", { agents: [...agentsIn(messages)], ...more }, `wait ${messages.length}`);

/** Somebody is asked before anything is looked at. */
const careful = definePlugin({
  id: "test/careful",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "look" ? ask("It looks.") : undefined) }),
});

/** What a test needs: parking soon, a person to be asked, a tool that counts. */
const setting = (store: Store, tool: ReturnType<typeof counted>["tool"]) =>
  ({ store, tools: [tool], plugins: [careful], limits: { parkAfterMs: 20 } }) as const;

/** Whoever is asked in the tree, as soon as this many are. */
const asked = (runtime: Runtime, count = 1) =>
  eventually(async () => {
    const waits = await runtime.waits.list({ tree: "chief" });
    return waits.length === count ? waits : undefined;
  });
const answer = async (runtime: Runtime, at: string): Promise<void> => {
  const waits = await runtime.waits.list({ tree: "chief" });
  const wait = waits.find((each) => (each.arguments as { readonly at: string }).at === at);
  await runtime.waits.resolve(wait!.key, { approved: true });
};

const OTHER = { id: "other", process: "elsewhere" };
const nobody = () => {
  throw new Error("Nothing is to be begun.");
};
/** Waits until the open turns of these sessions hold no lease, and have nothing to do. */
const allParked = (store: Store, ids: readonly string[]) =>
  eventually(async () => {
    const { sessions } = await store.agenda(Date.now(), 100);
    if (sessions.length > 0) return undefined;
    for (const id of ids)
      if ((await store.open(asSessionId(id), OTHER, Date.now(), nobody)).kind !== "parked") return undefined;
    return true;
  });

const agentOf = async (runtime: Runtime, parent = "chief"): Promise<string> =>
  (await runtime.sessions.list({ parent }))[0]!.id;
const saidIn = async (runtime: Runtime, id: string): Promise<readonly string[]> =>
  (await runtime.sessions.get(id)).messages
    .filter(({ role }) => role !== "tool")
    .map(({ parts }) => textIn(parts))
    .filter((words) => words !== "");

const KEPT = [
  ["in memory", memory, false],
  ["in SQLite, where they are parked", () => sqlite(file(), { durability: "process" }), true],
] as const;

describe.each(KEPT)("%s", (_, make, parks) => {
  test("T8 J8 D4 an agent that asks and its owner wait for the answer, and end once", async () => {
    const model = cast({ Go: [spawns("Pay."), says("Done.")], "Pay.": [looks("purse"), says("Paid.")] });
    const { tool, calls: seen } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    const events = eventsOf(turn);
    const [wait] = await asked(runtime);
    const agent = await agentOf(runtime);
    expect(wait).toMatchObject({ kind: "approval", sessionId: agent, path: ["chief", agent], tool: "look" });
    if (parks) await allParked(store, ["chief", agent]);
    expect(seen).toEqual([]);
    await answer(runtime, "purse");
    const told = await within(events);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(seen).toEqual(["purse"]);
    expect(jsonOf(answersIn((await session.read()).messages)[0]!)).toMatchObject({ agent, result: "Paid." });
    expect((await runtime.sessions.get(agent)).turns).toBe(1);
    expect([model.of("Go").length, model.of("Pay.").length]).toEqual([2, 2]);
    // T13: made again, the call is still one call.
    expect(only(told, "toolStarted").map(({ call }) => call.name)).toEqual(["spawn_agent"]);
    expect(only(told, "toolEnded").map(({ name, status }) => [name, status])).toEqual([["spawn_agent", "ok"]]);
    // The owner was given up meanwhile, and shows all the same what its agent did then.
    expect(only(childEvents(told), "text").map(({ delta }) => delta)).toEqual(["Paid."]);
    expect(only(childEvents(told), "toolEnded").map(({ name }) => name)).toEqual(["look"]);
    expect(await session.query(subagents, "agents")).toMatchObject([{ name: agent, status: "finished" }]);
    expect((await runtime.sessions.usage("chief")).usage).toMatchObject({ input: 40, output: 20 });
  });

  test("T8 J8 I10 a cancel of the owner ends the agent that waits, and what it waits for", async () => {
    const model = cast({
      Go: [spawns("Lead."), says("Never."), says("Later.")],
      "Lead.": [spawns("Pay."), says("Never.")],
      "Pay.": [looks("purse"), says("Never.")],
    });
    const { tool, calls: seen } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await asked(runtime);
    const lead = await agentOf(runtime);
    const pay = await agentOf(runtime, lead);
    if (parks) await allParked(store, ["chief", lead, pay]);
    await turn.cancel("Enough.");
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(await runtime.waits.list()).toEqual([]);
    for (const id of [lead, pay]) {
      const { openTurn, turns } = await runtime.sessions.get(id);
      expect([openTurn, turns]).toEqual([undefined, 1]);
    }
    expect(seen).toEqual([]);
    const [spawned] = answersIn((await session.read()).messages);
    expect(spawned).toMatchObject({ status: "failed" });
    expect(spawned?.text).toMatch(
      new RegExp(`^Error \\(agent.stopped\\): Agent ${lead} .*was stopped \\(turn.cancelled\\)`),
    );
    expect(await session.query(subagents, "agents")).toMatchObject([{ name: lead, status: "stopped" }]);
    expect((await within(session.turn("And now?").result())).outcome).toMatchObject({ text: "Never." });
  });

  test("T8 J8 an owner that reaches its timeout ends the agent that waits, and continues", async () => {
    const model = cast({ Go: [spawns("Pay."), says("Too late.")], "Pay.": [looks("purse"), says("Never.")] });
    const { tool } = counted();
    const store = make();
    await using runtime = await running(model, { ...setting(store, tool), agents: { ...HELPER, timeoutMs: 1_000 } });
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await asked(runtime);
    const agent = await agentOf(runtime);
    if (parks) await allParked(store, ["chief", agent]);
    expect((await within(turn.result(), 8_000)).outcome).toMatchObject({ text: "Too late." });
    const [late] = answersIn((await session.read()).messages);
    expect(late).toMatchObject({ status: "failed", text: expect.stringMatching(/agent.timeout.*within 1000 ms/) });
    expect(await runtime.waits.list()).toEqual([]);
    expect(await runtime.sessions.get(agent)).toMatchObject({ turns: 1 });
    expect((await runtime.sessions.get(agent)).openTurn).toBeUndefined();
    expect(await session.query(subagents, "agents")).toMatchObject([{ name: agent, status: "stopped" }]);
  }, 15_000);

  test("T8 J8 a wait for an agent in the background ends at its timeout, and the turn continues", async () => {
    const model = cast({
      Go: [spawns("Pay.", { background: true }), awaits({ timeoutMs: 300 }), says("It is still asked.")],
      "Pay.": [looks("purse"), says("Paid.")],
    });
    const { tool } = counted();
    await using runtime = await running(model, setting(make(), tool));
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const agent = await agentOf(runtime);
    const [, waited] = answersIn((await session.read()).messages);
    expect(jsonOf(waited!)).toEqual({ completed: {}, pending: { [agent]: { status: "running" } } });
    await asked(runtime);
    await answer(runtime, "purse");
    await eventually(async () => (await runtime.sessions.get(agent)).turns === 1 || undefined);
  });

  test("T8 J8 of two agents that ask, the one that is answered ends the wait for any", async () => {
    const model = cast({
      Go: [
        both(spawns("One.", { background: true }), spawns("Two.", { background: true })),
        awaits({ until: "any" }),
        awaits(),
        says("Done."),
      ],
      "One.": [looks("one"), says("1")],
      "Two.": [looks("two"), says("2")],
    });
    const { tool } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    const waits = await asked(runtime, 2);
    const ids = waits.map(({ sessionId }) => sessionId);
    await eventually(() => (model.of("Go").length === 2 ? true : undefined));
    if (parks) await allParked(store, ["chief", ...ids]);
    await answer(runtime, "two");
    await eventually(() => (model.of("Go").length === 3 ? true : undefined));
    if (parks) await allParked(store, ["chief"]);
    await answer(runtime, "one");
    await within(turn.result());
    const { messages } = await session.read();
    const [one, two] = agentsIn(messages) as [string, string];
    const [first, all] = answersIn(messages).slice(2).map(jsonOf);
    const ended = (result: string) => ({ turn: expect.any(String), status: "finished", result });
    expect(first).toEqual({ completed: { [two]: ended("2") }, pending: { [one]: { status: "running" } } });
    expect(all).toEqual({ completed: { [one]: ended("1"), [two]: ended("2") }, pending: {} });
  });

  test("T8 J8 a cancel of the wait for an agent of an earlier turn lets the agent wait on", async () => {
    const model = cast({
      Go: [spawns("Pay.", { background: true }), says("Started."), awaits(), says("Never.")],
      "Pay.": [looks("purse"), says("Paid.")],
    });
    const { tool, calls: seen } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    await asked(runtime);
    const agent = await agentOf(runtime);
    const turn = session.turn("And?");
    await eventually(() => (model.of("Go").length === 3 ? true : undefined));
    if (parks) await allParked(store, ["chief", agent]);
    await turn.cancel();
    expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    await answer(runtime, "purse");
    await eventually(async () => (await runtime.sessions.get(agent)).turns === 1 || undefined);
    expect(await saidIn(runtime, agent)).toEqual(["Pay.", "Paid."]);
    expect(seen).toEqual(["purse"]);
  });

  test("T8 J8 a message to an agent that waits comes after that, and its sender waits, too", async () => {
    const model = cast({
      Go: [spawns("Pay.", { background: true }), tells("Then rest."), says("Done.")],
      "Pay.": [looks("purse"), says("Paid."), says("Rested.")],
    });
    const { tool, calls: seen } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await asked(runtime);
    const agent = await agentOf(runtime);
    await eventually(async () => ((await store.inputs.list(asSessionId(agent))).length === 1 ? true : undefined));
    if (parks) await allParked(store, ["chief", agent]);
    await answer(runtime, "purse");
    await within(turn.result());
    expect(await saidIn(runtime, agent)).toEqual(["Pay.", "Paid.", "Then rest.", "Rested."]);
    expect(jsonOf(answersIn((await session.read()).messages)[1]!)).toMatchObject({ agent, result: "Rested." });
    expect(seen).toEqual(["purse"]);
  });

  test("T8 J8 a cancel takes back a message that an agent has not come to, and lets the agent wait on", async () => {
    const model = cast({
      Go: [spawns("Pay.", { background: true }), says("Started."), tells("Then rest."), says("Never.")],
      "Pay.": [looks("purse"), says("Paid."), says("Never.")],
    });
    const { tool } = counted();
    const store = make();
    await using runtime = await running(model, setting(store, tool));
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    await asked(runtime);
    const agent = await agentOf(runtime);
    const turn = session.turn("And then?");
    await eventually(async () => ((await store.inputs.list(asSessionId(agent))).length === 1 ? true : undefined));
    if (parks) await allParked(store, ["chief", agent]);
    await turn.cancel();
    await within(turn.result());
    await answer(runtime, "purse");
    await eventually(async () => (await runtime.sessions.get(agent)).turns === 2 || undefined);
    expect(await saidIn(runtime, agent)).toEqual(["Pay.", "Paid.", "Then rest."]);
    expect(model.of("Pay.")).toHaveLength(2);
  });

  test("J8 no more agents are at work for the calls of a reply than may run at once", async () => {
    let [atWork, most] = [0, 0];
    const work =
      (words: string): Line =>
      async () => {
        most = Math.max(most, ++atWork);
        await new Promise((resolve) => setTimeout(resolve, 150)); // Longer than a call stays inside.
        atWork--;
        return says(words);
      };
    const tasks = ["1", "2", "3", "4", "5"];
    const model = cast({
      Go: [both(...tasks.map((task) => spawns(task))), says("Done.")],
      ...Object.fromEntries(tasks.map((task) => [task, [work(task)]])),
    });
    await using runtime = await running(model, { store: make(), limits: { parallelCallsMax: 2 } });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const results = answersIn((await session.read()).messages).map((each) => (jsonOf(each) as { result: Json }).result);
    expect(results).toEqual(tasks);
    expect(most).toBe(2);
  });
});

test("T8 J8 an agent whose session is deleted while it waits is a stopped one, and is not made again", async () => {
  const model = cast({ Go: [spawns("Pay."), says("It is gone.")], "Pay.": [looks("purse"), says("Never.")] });
  const { tool } = counted();
  const store = sqlite(file(), { durability: "process" });
  await using runtime = await running(model, setting(store, tool));
  const session = await runtime.session("chief");
  const turn = session.turn("Go");
  await asked(runtime);
  const agent = await agentOf(runtime);
  await allParked(store, ["chief", agent]);
  await runtime.sessions.delete(agent);
  expect((await within(turn.result())).outcome).toMatchObject({ text: "It is gone." });
  const [gone] = answersIn((await session.read()).messages);
  expect(gone?.text).toMatch(/^Error \(agent.stopped\): .*The agent's session was deleted\./);
  expect(await runtime.sessions.list({ parent: "chief" })).toEqual([]);
  expect(await runtime.waits.list()).toEqual([]);
  expect(model.of("Pay.")).toHaveLength(1);
});

test("T8 J8 D4 an agent in the background asks; what waits for it outlives two processes", async () => {
  const model = cast({
    Go: [spawns("Pay.", { background: true }), says("Started."), awaits(), says("Done.")],
    "Pay.": [looks("purse"), says("Paid.")],
  });
  const { tool, calls: seen } = counted();
  const path = file();
  const open = () => running(model, setting(sqlite(path, { durability: "process" }), tool));
  const first = await open();
  await within((await first.session("chief")).turn("Go", { key: "go" }).result());
  await asked(first);
  await first.close();

  const second = await open();
  const waiting = (await second.session("chief")).turn("And?", { key: "and" });
  waiting.result().catch(() => {});
  await eventually(() => (model.of("Go").length === 3 ? true : undefined));
  const closing = performance.now();
  await second.close(); // A turn that only waits is not waited for.
  expect(performance.now() - closing).toBeLessThan(2_000);

  await using third = await open();
  await answer(third, "purse");
  const session = await third.session("chief");
  await within(session.turn("And?", { key: "and" }).result());
  const { messages } = await session.read();
  const [agent] = agentsIn(messages) as [string];
  expect(jsonOf(answersIn(messages)[1]!)).toMatchObject({ completed: { [agent]: { result: "Paid." } } });
  expect(seen).toEqual(["purse"]);
  expect(model.of("Go")).toHaveLength(4);
}, 20_000);
