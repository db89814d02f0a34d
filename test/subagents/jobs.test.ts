import type { Json } from "bowline";
import { subagents } from "bowline/plugins/subagents";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { codeOf } from "../kit/reading.ts";
import { file, lives, over } from "../kit/stores.ts";
import { after, agentsIn, answersIn, cast, eventually, jsonOf, type Line, running, silent, within } from "./roles.ts";

const spawns = (task: string, more: { readonly [field: string]: Json } = {}) =>
  calls("spawn_agent", { task, ...more }, `spawn ${task}`);
const behind = (task: string) => spawns(task, { background: true });
const to =
  (tool: string, more: { readonly [field: string]: Json } = {}): Line =>
  ({ messages }) =>
    calls(tool, { agent: agentsIn(messages)[0] ?? "nobody", ...more }, `${tool} ${messages.length}`);
const lists: Line = ({ messages }) => calls("list_agents", {}, `list ${messages.length}`);

const KEPT = [
  ["in memory", memory],
  ["in SQLite", () => sqlite(file(), { durability: "process" })],
] as const;

describe.each(KEPT)("%s", (_, make) => {
  test("J8 J2 every agent is a job of its owner, and runs or is idle as the agent does", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [behind("Think hard."), says("Started."), to("message_agent", { message: "More." }), says("Done.")],
      "Think hard.": [after(gate.promise, says("I thought.")), says("That is all.")],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [agent] = agentsIn((await session.read()).messages) as [string];
    expect(await session.jobs.list()).toMatchObject([
      {
        id: agent,
        childId: agent,
        sessionId: "chief",
        kind: "subagent",
        label: "Think hard.",
        state: "running",
        visibility: "managed",
        recovery: "external",
      },
    ]);
    gate.resolve();
    expect(await session.jobs.await([agent])).toMatchObject([{ id: agent, state: "idle" }]);
    await within(session.turn("And?").result());
    expect(await session.jobs.list({ isLive: true, kind: "subagent" })).toMatchObject([{ id: agent, state: "idle" }]);
    expect(await runtime.jobs.list({ kind: "subagent" })).toHaveLength(1);
    expect(await runtime.jobs.of(agent).list()).toEqual([]);
  });

  test("J8 J2 an agent that a call waits for is listed while it works, and one whose call has failed stays a job", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [spawns("Fail."), spawns("Wait."), says("Done.")],
      "Fail.": [calls("submit_error", { reason: "No." })],
      "Wait.": [after(gate.promise, says("Here."))],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    const jobs = await eventually(async () => {
      const found = await session.jobs.list();
      return found.length === 2 ? found : undefined;
    });
    expect(jobs.map(({ label, state }) => [label, state])).toEqual([
      ["Fail.", "idle"],
      ["Wait.", "running"],
    ]);
    gate.resolve();
    await within(turn.result());
    expect((await session.jobs.list()).map(({ state }) => state)).toEqual(["idle", "idle"]);
  });

  test("J8 J2 an agent that is closed is a completed job; a second close changes nothing", async () => {
    const model = cast({
      Go: [spawns("Think."), to("close_agent"), to("close_agent"), says("Done.")],
      "Think.": [says("I thought.")],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [job, ...more] = await session.jobs.list();
    expect([job?.state, more.length]).toEqual(["completed", 0]);
    expect(await session.query(subagents, "agents")).toEqual([]);
  });

  test("J8 J2 a cancel of the job stops the agent and those below it, and closes it for the model", async () => {
    const model = cast({
      Go: [
        behind("Lead."),
        says("Started."),
        lists,
        to("message_agent", { message: "Are you there?" }),
        says("It is closed."),
      ],
      "Lead.": [spawns("Work."), says("Never.")],
      "Work.": [silent],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    await eventually(() => model.of("Work.").length === 1 || undefined);
    const [lead] = agentsIn((await session.read()).messages) as [string];
    const [work] = (await runtime.sessions.list({ parent: lead })).map(({ id }) => `${id}`) as [string];
    expect(await session.jobs.cancel(lead, "Too dear.")).toMatchObject({
      state: "cancelled",
      cancel: { reason: "Too dear." },
    });
    for (const id of [lead, work])
      await eventually(async () => (await runtime.sessions.get(id)).openTurn === undefined || undefined);
    expect(await session.query(subagents, "agents")).toEqual([]);
    await within(session.turn("And?").result());
    const [, list, refused] = answersIn((await session.read()).messages);
    expect(jsonOf(list!)).toEqual({ agents: [], closed: [lead] });
    expect(refused).toMatchObject({ status: "failed", text: expect.stringContaining("(agent.closed)") });
    expect((await runtime.sessions.get(lead)).turns).toBe(1);
    expect(await session.jobs.list({ isLive: true })).toEqual([]);
  });

  test("J8 J2 an agent that is idle is closed by a cancel of its job, and makes room for another", async () => {
    const model = cast({
      Go: [spawns("One."), says("Done."), spawns("Two."), says("Done.")],
      "One.": [says("1")],
      "Two.": [says("2")],
    });
    await using runtime = await running(model, {
      store: make(),
      agents: { capabilities: { helper: { description: "Helps." } }, childrenMax: 1 },
    });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [one] = agentsIn((await session.read()).messages) as [string];
    await session.jobs.cancel(one);
    await within(session.turn("Next").result());
    expect(answersIn((await session.read()).messages).map(({ status }) => status)).toEqual(["ok", "ok"]);
    expect((await session.query(subagents, "agents")).map(({ task }) => task)).toEqual(["Two."]);
  });

  test("J8 J2 cancelUnreferenced closes the agents that nobody names, and keeps the others", async () => {
    const model = cast({
      Go: [behind("One."), behind("Two."), says("Started.")],
      "One.": [silent],
      "Two.": [silent],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [one, two] = agentsIn((await session.read()).messages) as [string, string];
    await eventually(() => model.asked.length === 5 || undefined);
    expect(await session.jobs.cancelUnreferenced([two])).toMatchObject([{ id: one, state: "cancelled" }]);
    await eventually(async () => (await runtime.sessions.get(one)).openTurn === undefined || undefined);
    expect((await runtime.sessions.get(two)).openTurn).toBeDefined();
    expect((await session.query(subagents, "agents")).map(({ name }) => name)).toEqual([two]);
    await session.jobs.cancelAll();
  });

  test("J8 J2 an agent whose job is handed over is another session's: that one can stop it, its owner has it no longer", async () => {
    const model = cast({
      Go: [behind("One."), says("Started."), to("message_agent", { message: "Hello?" }), says("Gone.")],
      "One.": [silent],
    });
    await using runtime = await running(model, { store: make() });
    const [session, other] = [await runtime.session("chief"), await runtime.session("other")];
    await within(session.turn("Go").result());
    const [one] = agentsIn((await session.read()).messages) as [string];
    await eventually(() => model.of("One.").length === 1 || undefined);
    await session.jobs.transfer("chief", "other", [one]);
    expect(await session.query(subagents, "agents")).toEqual([]);
    expect(await codeOf(session.jobs.cancel(one))).toBe("job.foreign");
    await within(session.turn("And?").result());
    expect(answersIn((await session.read()).messages)[1]?.text).toContain("(agent.closed)");
    expect((await runtime.sessions.get(one)).openTurn).toBeDefined();
    expect(await other.jobs.list()).toMatchObject([{ id: one, state: "running" }]);
    expect(await other.jobs.cancel(one)).toMatchObject({ state: "cancelled" });
    await eventually(async () => (await runtime.sessions.get(one)).openTurn === undefined || undefined);
  });

  test("J8 J2 the job of an agent whose session is deleted ends with the owner's next turn", async () => {
    const model = cast({ Go: [spawns("One."), says("Done."), says("Well.")], "One.": [says("1")] });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [one] = agentsIn((await session.read()).messages) as [string];
    await runtime.sessions.delete(one);
    await within(session.turn("And?").result());
    expect(await session.jobs.list()).toMatchObject([
      { id: one, state: "cancelled", error: { code: "agent.unknown", message: "The agent's session was deleted." } },
    ]);
  });

  test("J8 J2 a fork has jobs for its own copies of agents, and touches none of the original's", async () => {
    const model = cast({
      Go: [
        spawns("One."),
        says("Done."),
        to("message_agent", { message: "More." }),
        to("close_agent"),
        says("Closed."),
      ],
      "One.": [says("1"), says("2")],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [one] = agentsIn((await session.read()).messages) as [string];
    const fork = await session.fork();
    expect(await fork.jobs.list()).toEqual([]);
    expect((await fork.query(subagents, "agents")).map(({ name }) => name)).toEqual([one]);
    await within(fork.turn("Go on").result());
    expect(await fork.jobs.list()).toMatchObject([{ label: "One.", state: "completed" }]);
    expect((await fork.jobs.list())[0]?.id).not.toBe(one);
    expect(await session.jobs.list()).toMatchObject([{ id: one, state: "idle" }]);
    expect((await session.query(subagents, "agents")).map(({ name }) => name)).toEqual([one]);
  });
});

test("J8 J2 after a restart the jobs of agents are there, and a cancel in the next process closes the agent", async () => {
  const model = cast({
    Go: [behind("Slow."), spawns("Quick."), says("Started."), lists, says("Done.")],
    "Slow.": [silent],
    "Quick.": [says("Here.")],
  });
  const { next, kill } = lives(sqlite(file(), { durability: "process" }));
  const first = await running(model, { store: next() });
  await within((await first.session("chief")).turn("Go").result());
  await eventually(() => model.of("Slow.").length === 1 || undefined);
  kill();
  await using runtime = await running(model, { store: next() });
  const session = await runtime.session("chief");
  const jobs = await session.jobs.list();
  expect(jobs.map(({ label, state, starts }) => [label, state, starts])).toEqual([
    ["Slow.", "running", 0],
    ["Quick.", "idle", 0],
  ]);
  const [slow, quick] = jobs.map(({ id }) => `${id}`) as [string, string];
  expect(await session.jobs.cancel(slow)).toMatchObject({ state: "cancelled" });
  await eventually(async () => (await runtime.sessions.get(slow)).openTurn === undefined || undefined);
  await within(session.turn("And?").result());
  const list = answersIn((await session.read()).messages).at(-1);
  expect(jsonOf(list!)).toMatchObject({ agents: [{ agent: quick }], closed: [slow] });
}, 20_000);

test("J8 agents of a store without jobs work as before", async () => {
  const model = cast({
    Go: [spawns("One."), lists, to("close_agent"), says("Done.")],
    "One.": [says("1")],
  });
  const store = over(memory(), { jobs: undefined as never });
  await using runtime = await running(model, { store });
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  expect(answersIn((await session.read()).messages).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
});
