import { definePlugin, defineTool, type Json } from "bowline";
import { type ModelRequest, replaceResult } from "bowline/plugin";
import { subagents } from "bowline/plugins/subagents";
import { ProviderFailure } from "bowline/provider";
import { both, calls, says } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { eventsOf, only } from "../../../test/kit/reading.ts";
import { STORES } from "../../../test/kit/stores.ts";
import {
  after,
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
  silent,
  within,
} from "../../../test/subagents/roles.ts";
import { shown, taskLine } from "./roster.ts";

const spawns = (task: string, more: { readonly [field: string]: Json } = {}) =>
  calls("spawn_agent", { task, ...more }, `spawn ${task}`);
/** A reply that names an agent from an earlier result. */
const to =
  (tool: string, which: number, more: { readonly [field: string]: Json } = {}): Line =>
  ({ messages }) =>
    calls(tool, { agent: agentsIn(messages)[which] ?? "nobody", ...more }, `${tool} ${messages.length}`);
const waits =
  (which: readonly number[], more: { readonly [field: string]: Json } = {}, before?: () => void) =>
  ({ messages }: ModelRequest) => {
    before?.();
    return calls(
      "wait_agents",
      { agents: which.map((each) => agentsIn(messages)[each] ?? "nobody"), ...more },
      `wait ${messages.length}`,
    );
  };

describe.each(STORES)("on %s", (_, make) => {
  test("J8 a blocking call waits for the agent and is given its answer", async () => {
    const model = cast({ Go: [spawns("Count tigers."), says("Nine, it says.")], "Count tigers.": [says("Nine.")] });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("parent");
    const { outcome } = await within(session.turn("Go").result());
    expect(outcome).toMatchObject({ kind: "answered", text: "Nine, it says." });
    const { messages } = await session.read();
    const [answer] = answersIn(messages);
    const [agent] = agentsIn(messages);
    expect(answer?.status).toBe("ok");
    expect(jsonOf(answer!)).toEqual({ agent, turn: expect.any(String), status: "finished", result: "Nine." });
    const [child] = await runtime.sessions.list({ parent: "parent" });
    expect(child).toMatchObject({ id: agent, parentId: "parent", label: "Count tigers.", turns: 1 });
    expect(await session.query(subagents, "agents")).toMatchObject([
      { name: agent, session: agent, capability: "helper", task: "Count tigers.", status: "finished" },
    ]);
  });

  test("J8 three calls in one reply run at the same time, and their results are in the order of the calls", async () => {
    let atWork = 0;
    const all = Promise.withResolvers<void>();
    const meet =
      (words: string): Line =>
      async () => {
        if (++atWork === 3) all.resolve();
        await all.promise;
        return says(words);
      };
    const model = cast({
      Go: [both(spawns("One."), spawns("Two."), spawns("Three.")), says("Done.")],
      "One.": [meet("1")],
      "Two.": [meet("2")],
      "Three.": [meet("3")],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const { messages } = await session.read();
    expect(answersIn(messages).map((each) => (jsonOf(each) as { result: Json }).result)).toEqual(["1", "2", "3"]);
    expect((await session.query(subagents, "agents")).map(({ task }) => task)).toEqual(["One.", "Two.", "Three."]);
  });

  test("J8 an agent that must give a value of a schema gives one, after a wrong one was sent back to it", async () => {
    const output = { type: "object", properties: { kinds: { type: "integer" } }, required: ["kinds"] };
    const model = cast({
      Go: [spawns("Count tigers.", { output }), says("Done.")],
      "Count tigers.": [calls("submit_output", { kinds: "nine" }), calls("submit_output", { kinds: 9 })],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const [answer] = answersIn((await session.read()).messages);
    expect(jsonOf(answer!)).toMatchObject({ status: "finished", result: { kinds: 9 } });
    expect(model.of("Count tigers.")).toHaveLength(2);
  });

  test("J8 an agent that fails, submits an error or is stopped is a failed call that names it, and the model can continue the agent", async () => {
    const broken = new ProviderFailure({ class: "auth", message: "No key." });
    const model = cast({
      Go: [
        both(spawns("Break."), spawns("Give up."), spawns("Run on.")),
        to("message_agent", 1, { message: "Try again." }),
        says("Done."),
      ],
      "Break.": [broken],
      "Give up.": [calls("submit_error", { reason: "There is no door." }), says("I found one.")],
      "Run on.": Array.from({ length: 3 }, (_, n) => calls("look", { at: `${n}` }, `look ${n}`)),
    });
    const { tool } = counted();
    await using runtime = await running(model, { store: make(), tools: [tool], limits: { roundsMax: 3 } });
    const session = await runtime.session();
    const events = await eventsOf(session.turn("Go"));
    const failures = only(events, "toolEnded").flatMap(({ output }) =>
      output.kind === "failure" ? [output.failure] : [],
    );
    const { messages } = await session.read();
    const [broke, gaveUp, ranOn] = agentsIn(messages);
    expect(failures.map(({ code, class: kind }) => [code, kind])).toEqual([
      ["agent.failed", "failed"],
      ["agent.failed", "failed"],
      ["agent.stopped", "failed"],
    ]);
    expect(failures[0]?.message).toMatch(
      new RegExp(`^Agent ${broke} \\(turn \\S+\\) failed \\(provider.failed\\): .*No key`),
    );
    expect(failures[1]?.message).toContain("failed (agent.gave-up): submit_error: There is no door.");
    expect(failures[2]?.message).toMatch(new RegExp(`^Agent ${ranOn} .* was stopped \\(limit.rounds\\)`));
    expect(jsonOf(answersIn(messages)[3]!)).toMatchObject({
      agent: gaveUp,
      status: "finished",
      result: "I found one.",
    });
    const agents = await session.query(subagents, "agents");
    expect(agents.map(({ status, turn }) => [status, typeof turn])).toEqual([
      ["failed", "string"],
      ["finished", "string"],
      ["stopped", "string"],
    ]);
  });

  test("J8 agents in the background: wait for any, for all, for a time, or only look", async () => {
    const [one, two] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const model = cast({
      Go: [
        both(spawns("One.", { background: true }), spawns("Two.", { background: true })),
        waits([0, 1], { timeoutMs: 0 }),
        waits([0, 1], { timeoutMs: 30 }),
        waits([0, 1], { until: "any" }, two.resolve),
        waits([0, 1], {}, one.resolve),
        waits([1], { timeoutMs: 0 }),
        says("Done."),
      ],
      "One.": [after(one.promise, says("1"))],
      "Two.": [after(two.promise, says("2"))],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session();
    const events = await within(eventsOf(session.turn("Go")));
    const { messages } = await session.read();
    const [first, second] = agentsIn(messages) as [string, string];
    const told = answersIn(messages).map(jsonOf);
    const turn = expect.any(String);
    expect(told[0]).toEqual({ agent: first, turn, status: "running" });
    expect(told[1]).toEqual({ agent: second, turn, status: "running" });
    const running2 = { completed: {}, pending: { [first]: { status: "running" }, [second]: { status: "running" } } };
    expect(told.slice(2, 4)).toEqual([running2, running2]);
    const ended = (result: string) => ({ turn, status: "finished", result });
    expect(told[4]).toEqual({ completed: { [second]: ended("2") }, pending: { [first]: { status: "running" } } });
    expect(told[5]).toEqual({ completed: { [first]: ended("1"), [second]: ended("2") }, pending: {} });
    expect(told[6]).toEqual({ completed: { [second]: ended("2") }, pending: {} });
    expect(only(events, "plugin").filter(({ name }) => name === "unfinished")).toEqual([]);
  });

  test("J8 agents in the background outlive the turn, which names them; the next turn is given their results", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [spawns("Slow.", { background: true }), says("Started."), waits([0]), says("Done.")],
      "Slow.": [after(gate.promise, says("At last."))],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session();
    const events = await within(eventsOf(session.turn("Go")));
    const [agent] = agentsIn((await session.read()).messages);
    expect(only(events, "plugin").map(({ name, payload }) => [name, payload])).toEqual([
      ["unfinished", { agents: [{ agent, session: agent, capability: "helper", task: "Slow." }] }],
    ]);
    gate.resolve();
    await eventually(async () => (await runtime.sessions.get(agent!)).turns === 1 || undefined);
    const next = await within(eventsOf(session.turn("And?")));
    expect(only(next, "plugin")).toEqual([]);
    const tails = model
      .of("Go")
      .map(({ messages, stable }) => JSON.stringify(messages.slice(stable ?? messages.length)));
    expect(tails[0]).not.toContain("agt_");
    expect(tails[1]).toContain(`${agent} (helper, running): Slow.`);
    expect(tails[2]).toContain(`${agent} (helper, finished): Slow.`);
    expect(jsonOf(answersIn((await session.read()).messages)[1]!)).toMatchObject({
      completed: { [agent!]: { status: "finished", result: "At last." } },
    });
  });

  test("J8 a follow-up continues the agent's conversation; a message to a busy agent waits until its work ends", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [
        spawns("First.", { background: true }),
        both(calls("look", { at: "gate" })),
        to("message_agent", 0, { message: "Second." }),
        to("message_agent", 0, { message: "Third.", background: true }),
        waits([0]),
        says("Done."),
      ],
      "First.": [after(gate.promise, says("1")), says("2"), says("3")],
    });
    const tool = defineTool({
      name: "look",
      description: "Opens the gate.",
      input: { type: "object" },
      execute: () => {
        setTimeout(gate.resolve, 20);
        return "opened";
      },
    });
    await using runtime = await running(model, { store: make(), tools: [tool] });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const { messages } = await session.read();
    const [agent] = agentsIn(messages);
    expect(jsonOf(answersIn(messages)[2]!)).toMatchObject({ agent, status: "finished", result: "2" });
    expect(jsonOf(answersIn(messages)[4]!)).toMatchObject({ completed: { [agent!]: { result: "3" } } });
    const said = (await runtime.sessions.get(agent!)).messages.map(({ parts }) => (parts[0] as { text: string }).text);
    expect(said).toEqual(["First.", "1", "Second.", "2", "Third.", "3"]);
  });

  test("J8 closing an agent stops it and all below it, and reports what became of each", async () => {
    const model = cast({
      Go: [
        spawns("Lead.", { background: true }),
        calls("look", { at: "deep" }),
        to("close_agent", 0),
        to("message_agent", 0, { message: "Still there?" }),
        to("close_agent", 0),
        calls("list_agents", {}, "list"),
        says("Done."),
      ],
      "Lead.": [both(spawns("Work.", { background: true }), spawns("Help.")), silent],
      "Work.": [silent],
      "Help.": [silent],
    });
    const deep = defineTool({
      name: "look",
      description: "Waits until three are at work.",
      input: { type: "object" },
      execute: () =>
        eventually(() => (model.asked.filter(({ who }) => who !== "Go").length === 3 ? "deep" : undefined)),
    });
    await using runtime = await running(model, { store: make(), tools: [deep] });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const { messages } = await session.read();
    const [lead] = agentsIn(messages) as [string];
    const below = (await runtime.sessions.list({ parent: lead })).map(({ id }) => id);
    expect(below).toHaveLength(2);
    const answers = answersIn(messages);
    expect(jsonOf(answers[2]!)).toEqual({
      closed: lead,
      agents: Object.fromEntries([lead, ...below].map((id) => [id, "stopped"])),
    });
    for (const id of [lead, ...below]) expect((await runtime.sessions.get(id)).openTurn).toBeUndefined();
    expect(answers[3]).toMatchObject({ status: "failed", text: expect.stringContaining("agent.closed") });
    expect(jsonOf(answers[4]!)).toEqual({ closed: lead, agents: {} });
    expect(jsonOf(answers[5]!)).toEqual({ agents: [], closed: [lead] });
  });

  test("J8 at the greatest depth there is nothing to start agents with, and hidden tools are hidden from all", async () => {
    const model = cast({
      Go: [spawns("Down."), says("Done.")],
      "Down.": [spawns("Deeper."), says("Back.")],
      "Deeper.": [spawns("Too deep."), says("No further.")],
    });
    const { tool } = counted();
    const ask = defineTool({
      name: "ask",
      description: "Asks the user.",
      input: { type: "object" },
      execute: () => "yes",
    });
    await using runtime = await running(model, {
      store: make(),
      tools: [tool, ask],
      agents: {
        capabilities: { helper: { description: "Helps.", hiddenTools: ["look"] } },
        depthMax: 2,
        hiddenTools: ["ask"],
      },
    });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const declared = (who: string): readonly string[] => (model.of(who)[0]?.tools ?? []).map(({ name }) => name).sort();
    const agentTools = ["close_agent", "list_agents", "message_agent", "spawn_agent", "wait_agents"];
    expect(declared("Go")).toEqual(["ask", ...agentTools.slice(0, 2), "look", ...agentTools.slice(2)]);
    expect(declared("Down.")).toEqual([...agentTools.slice(0, 4), "submit_error", "wait_agents"]);
    expect(declared("Deeper.")).toEqual(["submit_error"]);
    expect(answersIn(model.of("Deeper.").at(-1)?.messages ?? [])).toMatchObject([
      { name: "spawn_agent", status: "failed", text: expect.stringContaining("tool.unknown") },
    ]);
    expect(model.of("Down.")[0]?.system).toContain("an agent with the capability helper, at depth 1 of 2");
    expect(model.of("Deeper.")[0]?.system).toContain("at depth 2 of 2");
    expect(model.of("Go")[0]?.system).not.toContain("an agent of the capability");
  });

  test("J8 a capability has its own model, instructions, settings and tools", async () => {
    const scout = { ...cast({ "Look around.": [calls("look", { at: "hill" }), says("A hill.")] }), modelId: "scout" };
    const model = cast({ Go: [spawns("Look around.", { capability: "scout" }), says("Done.")] });
    const { tool, calls: seen } = counted();
    const other = defineTool({
      name: "other",
      description: "Other.",
      input: { type: "object" },
      execute: () => "other",
    });
    await using runtime = await running(model, {
      store: make(),
      instructions: "You are the chief.",
      tools: [tool, other],
      models: (name: string) => (name === "cast/scout" ? scout : model),
      agents: {
        capabilities: {
          scout: {
            description: "Looks around.",
            model: "cast/scout",
            instructions: "You are a scout.",
            settings: { temperature: 0 },
            tools: ["look"],
          },
          clerk: { description: "Writes." },
        },
      },
    });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [request] = scout.of("Look around.");
    expect(request?.system).toContain("You are a scout.");
    expect(request?.system).not.toContain("You are the chief.");
    expect(request?.settings).toMatchObject({ temperature: 0 });
    expect(request?.tools.map(({ name }) => name).sort()).toEqual(["look", "submit_error"]);
    expect(seen).toEqual(["hill"]);
    const spawn = model.of("Go")[0]?.tools.find(({ name }) => name === "spawn_agent");
    expect(spawn?.description).toContain("- scout: Looks around.\n- clerk: Writes.");
    expect(spawn?.inputSchema).toMatchObject({ required: ["task", "capability"] });
  });

  test("J8 an agent begins with its seed and its task and nothing else; siblings share nothing", async () => {
    const model = cast({
      Go: [
        both(spawns("One.", { seed: ["Rome has hills.", "Seven."] }), spawns("Two.", { seed: "Oslo." })),
        says("Done."),
      ],
      "One.": [calls("look", { at: "one" }), says("1")],
      "Two.": [calls("look", { at: "two" }), says("2")],
    });
    const { tool } = counted();
    await using runtime = await running(model, { store: make(), tools: [tool] });
    const session = await runtime.session();
    await session.append([{ kind: "message", role: "user", text: "The secret is marzipan." }]);
    await within(session.turn("Go").result());
    const words = (who: string, at: number) =>
      model
        .of(who)
        [at]?.messages.flatMap(({ role, parts }) =>
          parts.map((part) => `${role}: ${part.kind === "text" ? part.text : part.kind}`),
        );
    expect(words("One.", 0)).toEqual(["user: Rome has hills.", "user: Seven.", "user: One."]);
    expect(words("Two.", 1)).toEqual(["user: Oslo.", "user: Two.", "assistant: toolCall", "tool: toolResult"]);
    const told = JSON.stringify([...model.of("One."), ...model.of("Two.")].map(({ messages }) => messages));
    expect(told).not.toContain("marzipan");
  });

  test("J8 S10 what agents cost is booked once, by capability, in the tree of the session", async () => {
    const model = cast({
      Go: [both(spawns("One.", { capability: "scout" }), spawns("Two.", { capability: "clerk" })), says("Done.")],
      "One.": [spawns("Three.", { capability: "clerk" }), says("1")],
      "Two.": [says("2")],
      "Three.": [says("3")],
    });
    await using runtime = await running(model, {
      store: make(),
      agents: { capabilities: { scout: { description: "Looks." }, clerk: { description: "Writes." } } },
    });
    const session = await runtime.session("chief");
    const { usage } = await within(session.turn("Go").result());
    expect(usage).toMatchObject({ input: 20, output: 10 }); // The session's own two model calls, without those of its agent.
    const { usage: total, ledger } = await runtime.sessions.usage("chief");
    expect(total).toMatchObject({ input: 60, output: 30 });
    const bySource = new Map<string, number>();
    for (const row of ledger) bySource.set(row.source, (bySource.get(row.source) ?? 0) + row.calls);
    expect(Object.fromEntries(bySource)).toEqual({ turn: 2, "subagent/scout": 2, "subagent/clerk": 2 });
  });

  test("J8 I10 the output of agents is in the turn's stream, and observers of the tree receive all of it", async () => {
    const model = cast({
      Go: [spawns("One."), says("Done.")],
      "One.": [spawns("Two."), says("1")],
      "Two.": [calls("look", { at: "two" }), says("2")],
    });
    const { tool } = counted();
    await using runtime = await running(model, { store: make(), tools: [tool] });
    const session = await runtime.session("chief");
    const stop = new AbortController();
    const committed: string[] = [];
    const watching = (async () => {
      for await (const event of session.observe({ tree: true, signal: stop.signal }))
        if (event.kind === "committed" && event.by === "turn") committed.push(event.sessionId);
    })();
    const events = await within(eventsOf(session.turn("Go")));
    const [one] = (await runtime.sessions.list({ parent: "chief" })).map(({ id }) => id);
    const [two] = (await runtime.sessions.list({ parent: one! })).map(({ id }) => id);
    const ofOne = childEvents(events).filter(({ sessionId }) => sessionId === one);
    expect(only(ofOne, "text").map(({ delta }) => delta)).toEqual(["1"]);
    const ofTwo = childEvents(ofOne);
    expect(ofTwo.every(({ sessionId }) => sessionId === two)).toBe(true);
    expect(only(ofTwo, "toolEnded").map(({ name }) => name)).toEqual(["look"]);
    expect(only(ofTwo, "text").map(({ delta }) => delta)).toEqual(["2"]);
    await eventually(() => (committed.length === 3 ? true : undefined));
    stop.abort();
    await watching;
    expect(committed).toEqual([two, one, "chief"]);
  });

  test("J8 I10 a cancel of the turn reaches every agent below it, and every call has its result", async () => {
    const model = cast({
      Go: [both(spawns("Lead."), spawns("Alone.", { background: true })), says("Never.")],
      "Lead.": [both(spawns("Work."), calls("look", { at: "lead" })), says("Never.")],
      "Work.": [silent],
      "Alone.": [silent],
    });
    const { tool } = counted();
    await using runtime = await running(model, { store: make(), tools: [tool] });
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await eventually(() => (model.of("Work.").length + model.of("Alone.").length === 2 ? true : undefined));
    const started = Date.now();
    await turn.cancel("Enough.");
    const { outcome } = await within(turn.result());
    expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    expect(Date.now() - started).toBeLessThan(3_000);
    const tree: string[] = [];
    const walk = async (id: string): Promise<void> => {
      tree.push(id);
      for (const child of await runtime.sessions.list({ parent: id })) await walk(child.id);
    };
    await walk("chief");
    expect(tree).toHaveLength(4);
    for (const id of tree) {
      const { openTurn, messages } = await runtime.sessions.get(id);
      expect(openTurn).toBeUndefined();
      const parts = messages.flatMap((message) => message.parts);
      const made = parts.filter(({ kind }) => kind === "toolCall").length;
      expect(parts.filter(({ kind }) => kind === "toolResult")).toHaveLength(made);
    }
    const agents = await session.query(subagents, "agents");
    expect(agents.map(({ task, status }) => [task, status])).toEqual([
      ["Lead.", "stopped"],
      ["Alone.", "stopped"],
    ]);
  });

  test("J8 I10 a cancel reaches those that an agent has left in the background, though the agent is done", async () => {
    const model = cast({
      Go: [spawns("Lead."), silent],
      "Lead.": [spawns("Work.", { background: true }), says("It is being done.")],
      "Work.": [silent],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await eventually(() => (model.of("Go").length === 2 && model.of("Work.").length === 1 ? true : undefined));
    await turn.cancel();
    await within(turn.result());
    const [lead] = await runtime.sessions.list({ parent: "chief" });
    const [work] = await runtime.sessions.list({ parent: lead!.id });
    const { openTurn, turns } = await runtime.sessions.get(work!.id);
    expect([openTurn, turns]).toEqual([undefined, 1]);
    expect(await session.query(subagents, "agents")).toMatchObject([{ task: "Lead.", status: "finished" }]);
  });

  test("J8 a cancel stops what the turn has asked of an older agent, and only that", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [
        spawns("Old.", { background: true }),
        says("Started."),
        to("message_agent", 0, { message: "More." }),
        says("Never."),
      ],
      "Old.": [after(gate.promise, says("1")), silent],
    });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session("chief");
    await within(session.turn("Go").result());
    const [agent] = agentsIn((await session.read()).messages) as [string];
    const turn = session.turn("And on.");
    await eventually(() => (model.of("Go").length === 3 ? true : undefined));
    await eventually(async () =>
      (await (await runtime.session(agent)).inputs.list()).length === 1 ? true : undefined,
    );
    void turn.cancel();
    await within(turn.result());
    gate.resolve(); // What the agent had to do before is not waited for.
    await eventually(async () => (await runtime.sessions.get(agent)).turns === 2 || undefined);
    const said = (await runtime.sessions.get(agent)).messages.map(({ parts }) => (parts[0] as { text: string }).text);
    expect(said.slice(0, 2)).toEqual(["Old.", "1"]);
    expect(model.of("Old.")).toHaveLength(1);
    expect((await runtime.sessions.get(agent)).openTurn).toBeUndefined();
    expect(await session.query(subagents, "agents")).toMatchObject([{ task: "Old.", status: "stopped" }]);
  });

  test("J8 a turn that fails stops the agents that it has in the background", async () => {
    const broken = new ProviderFailure({ class: "auth", message: "No key." });
    const model = cast({ Go: [spawns("Alone.", { background: true }), broken], "Alone.": [silent] });
    await using runtime = await running(model, { store: make() });
    const session = await runtime.session();
    const events = await within(eventsOf(session.turn("Go")));
    expect(only(events, "plugin")).toEqual([]);
    expect(await session.query(subagents, "agents")).toMatchObject([{ task: "Alone.", status: "stopped" }]);
  });

  test("J8 an agent that takes too long is stopped, and the result of the call states it", async () => {
    const model = cast({
      Go: [spawns("Dawdle."), to("message_agent", 0, { message: "Hurry." }), says("Done.")],
      "Dawdle.": [(request, signal) => (request.messages.length > 1 ? says("Hurried.") : silent(request, signal))],
    });
    await using runtime = await running(model, { store: make(), agents: { ...HELPER, timeoutMs: 100 } });
    const session = await runtime.session();
    await within(session.turn("Go").result());
    const [late, hurried] = answersIn((await session.read()).messages);
    expect(late).toMatchObject({ status: "failed", text: expect.stringMatching(/agent.timeout.*within 100 ms/) });
    expect(late?.status).toBe("failed");
    expect(hurried?.text).toContain("Hurried.");
  });

  test("J8 a fork of the session continues with its agents as they were, and the original's are unchanged", async () => {
    const model = cast({
      Go: [spawns("Learn."), says("Learned."), to("message_agent", 0, { message: "In the original." }), says("Asked.")],
      "Learn.": [says("Known."), ({ messages }) => says(`Heard ${messages.length} messages.`), says("Again.")],
    });
    await using runtime = await running(model, { store: make() });
    const original = await runtime.session("original");
    await within(original.turn("Go").result());
    const fork = await original.fork({ id: "fork" });
    await within(original.turn("Ask it.").result());
    const [agent] = agentsIn((await original.read()).messages) as [string];
    const before = await runtime.sessions.get(agent);
    expect(before.turns).toBe(2);
    expect(await fork.query(subagents, "agents")).toMatchObject([{ name: agent, session: agent, status: "finished" }]);
    await within(fork.turn("Ask it here.").result());
    const [copy] = (await runtime.sessions.list({ parent: "fork" })).map(({ id }) => id);
    expect(copy).not.toBe(agent);
    expect(agentsIn((await fork.read()).messages)).toEqual([agent]); // The model's name for the agent stays.
    const words = async (id: string) =>
      (await runtime.sessions.get(id)).messages.map(({ parts }) => (parts[0] as { text: string }).text);
    // The copy is as it was at the fork, without what the original said to it since.
    expect(await words(copy!)).toEqual(["Learn.", "Known.", "In the original.", "Heard 3 messages."]);
    expect(await words(agent)).toEqual(["Learn.", "Known.", "In the original.", "Heard 3 messages."]);
    expect((await runtime.sessions.get(agent)).head).toBe(before.head);
    expect((await runtime.sessions.get(copy!)).parentId).toBe("fork");
    expect(await fork.query(subagents, "agents")).toMatchObject([{ name: agent, session: copy, status: "finished" }]);
    expect(await original.query(subagents, "agents")).toMatchObject([{ name: agent, session: agent }]);
  });

  test("J8 a fork closes its copy of an agent for good, and its fork has that too", async () => {
    const model = cast({
      Go: [
        spawns("Learn."),
        says("Learned."),
        to("message_agent", 0, { message: "In the fork." }),
        says("Asked."),
        to("message_agent", 0, { message: "In its fork." }),
        to("close_agent", 0),
        calls("list_agents"),
        says("Closed."),
      ],
      "Learn.": [says("1"), says("2"), says("3")],
    });
    await using runtime = await running(model, { store: make() });
    const original = await runtime.session("original");
    await within(original.turn("Go").result());
    const fork = await original.fork({ id: "fork" });
    await within(fork.turn("Ask.").result());
    const second = await fork.fork({ id: "second" });
    await within(second.turn("Close.").result());
    const [agent] = agentsIn((await original.read()).messages) as [string];
    const answers = answersIn((await second.read()).messages);
    expect(jsonOf(answers[2]!)).toMatchObject({ agent, status: "finished", result: "3" });
    const [copy] = (await runtime.sessions.list({ parent: "second" })).map(({ id }) => id);
    expect(jsonOf(answers[3]!)).toEqual({ closed: agent, agents: { [copy!]: "idle" } });
    expect(jsonOf(answers[4]!)).toEqual({ agents: [], closed: [agent] });
    expect((await runtime.sessions.get(agent)).turns).toBe(1);
    const [first] = await runtime.sessions.list({ parent: "fork" });
    expect((await runtime.sessions.get(first!.id)).messages).toHaveLength(4);
  });

  test("J8 an agent that a fork closes continues in the original", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [spawns("Slow.", { background: true }), says("Started."), waits([0]), says("Done.")],
      "Slow.": [after(gate.promise, says("At last."))],
    });
    const closing = cast({ Go: [spawns("x"), says("x"), to("close_agent", 0), calls("list_agents"), says("Closed.")] });
    await using runtime = await running(model, {
      store: make(),
      models: (name: string) => (name === "closing" ? closing : model),
    });
    const original = await runtime.session("original");
    await within(original.turn("Go").result());
    const fork = await original.fork({ id: "fork" });
    await fork.configure({ model: "closing" });
    await within(fork.turn("Close it.").result());
    const answers = answersIn((await fork.read()).messages);
    const [agent] = agentsIn((await original.read()).messages) as [string];
    expect(jsonOf(answers[1]!)).toEqual({ closed: agent, agents: {} });
    expect(jsonOf(answers[2]!)).toEqual({ agents: [], closed: [agent] });
    expect((await runtime.sessions.get(agent)).openTurn).toBeDefined();
    gate.resolve();
    await within(original.turn("Wait.").result());
    expect(jsonOf(answersIn((await original.read()).messages)[1]!)).toMatchObject({
      completed: { [agent]: { result: "At last." } },
    });
  });
});

test("J8 agents run on the model of the session that starts them, unless their capability has one", async () => {
  const own = cast({ Go: [spawns("Below."), says("Done.")], "Below.": [says("Ok.")] });
  const other = cast({});
  await using runtime = await running(other, { models: (name: string) => (name === "own" ? own : other) });
  const session = await runtime.session("chief", { config: { model: "own" } });
  await within(session.turn("Go").result());
  expect(own.of("Below.")).toHaveLength(1);
  expect(other.asked).toEqual([]);
});

test("J8 closing a runtime that keeps nothing ends agents and turn as stopped", async () => {
  const model = cast({ Go: [spawns("Slow."), says("Never.")], "Slow.": [silent] });
  const runtime = await running(model);
  const turn = (await runtime.session("chief")).turn("Go");
  await eventually(() => (model.of("Slow.").length === 1 ? true : undefined));
  const [{ outcome }] = await Promise.all([turn.result(), runtime.close({ graceMs: 0 })]);
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
});

test("J8 another plugin's change to a result does not change the agents that the session has on record", async () => {
  const shorter = definePlugin({
    id: "test/shorter",
    order: "early",
    setup: () => ({
      afterToolCall: ({ call }) => (call.name === "spawn_agent" ? replaceResult("It went well.") : undefined),
    }),
  });
  const model = cast({ Go: [spawns("Work."), calls("list_agents"), says("Done.")], "Work.": [says("Worked.")] });
  await using runtime = await running(model, { plugins: [shorter] });
  const session = await runtime.session();
  await within(session.turn("Go").result());
  const [spawned, listed] = answersIn((await session.read()).messages);
  expect(spawned?.text).toBe("It went well.");
  expect(jsonOf(listed!)).toMatchObject({ agents: [{ task: "Work.", status: "finished" }] });
});

test("J8 of many agents the model sees the newest and the running ones, in short", () => {
  const agents = Array.from({ length: 30 }, (_, n) => ({
    name: `agt_${n}`,
    session: `agt_${n}`,
    capability: "helper",
    task: taskLine(`Task ${n}:\n${"long ".repeat(50)}`),
    status: n === 0 ? ("running" as const) : ("finished" as const),
  }));
  const closed = Array.from({ length: 9 }, (_, n) => `gone_${n}`);
  const lines = shown({ depth: 0, agents, closed }).split("\n");
  expect(lines).toHaveLength(18);
  expect(lines[0]).toMatch(/^- agt_0 \(helper, running\): Task 0: long .*…$/);
  expect(lines[1]).toMatch(/^- agt_29 \(helper, finished\): Task 29: /);
  expect(lines.slice(16)).toEqual([
    "- 14 more: call list_agents",
    "Closed: gone_8, gone_7, gone_6, gone_5 and 5 more.",
  ]);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(100);
});

// ── What is refused ─────────────────────────────────────────────────────────────────────────────────────────────────

test("J8 an impossible call returns a code that the model can act on, and starts nothing", async () => {
  const two = { capabilities: { scout: { description: "Looks." }, clerk: { description: "Writes." } } };
  const given: readonly (readonly [string, { readonly [field: string]: Json }])[] = [
    ["spawn_agent", { task: "Go.", capability: "cook" }],
    ["spawn_agent", { task: "Go." }],
    ["spawn_agent", { task: " \n", capability: "scout" }],
    ["spawn_agent", { task: "Go.", capability: "scout", output: { type: "thing" } }],
    ["spawn_agent", { task: "Go.", capability: "scout", output: { $ref: "https://example.com/schema" } }],
    ["spawn_agent", { task: "Go.", capability: "scout", seed: 7 }],
    ["message_agent", { agent: "agt_nobody", message: "Hello." }],
    ["message_agent", { agent: "stranger", message: "Hello." }],
    ["wait_agents", { agents: ["agt_nobody"] }],
    ["wait_agents", { agents: [] }],
    ["close_agent", { agent: "stranger" }],
  ];
  const model = cast({
    Go: [both(...given.map(([tool, input]) => calls(tool, input))), says("Sorry.")],
    Hello: [says("Hi.")],
  });
  await using runtime = await running(model, { agents: two });
  await (await runtime.session("stranger")).turn("Hello").result();
  const session = await runtime.session("chief");
  const ended = only(await within(eventsOf(session.turn("Go"))), "toolEnded");
  const failures = ended.flatMap(({ output }) => (output.kind === "failure" ? [output.failure] : []));
  expect(failures.map(({ code }) => code)).toEqual([
    "agent.capability",
    "agent.capability",
    "agent.task",
    "agent.output",
    "agent.output",
    "tool.arguments",
    "agent.unknown",
    "agent.unknown",
    "agent.unknown",
    "tool.arguments",
    "agent.unknown",
  ]);
  expect(failures[0]?.message).toBe('There is no capability "cook". Choose one of: scout, clerk.');
  expect(failures[1]?.message).toBe("Set `capability`: there is more than one. Choose one of: scout, clerk.");
  expect(await runtime.sessions.list({ parent: "chief" })).toEqual([]);
  expect((await runtime.sessions.get("stranger")).turns).toBe(1);
});

test("J8 an agent of another session is nobody's business", async () => {
  const stolen: string[] = [];
  const model = cast({
    Go: [spawns("Work."), says("Done.")],
    Steal: [
      () =>
        both(calls("message_agent", { agent: stolen[0]!, message: "Tell." }), calls("wait_agents", { agents: stolen })),
      says("No luck."),
    ],
    "Work.": [says("Worked.")],
  });
  await using runtime = await running(model);
  const owner = await runtime.session("owner");
  await within(owner.turn("Go").result());
  stolen.push(...agentsIn((await owner.read()).messages));
  const thief = await runtime.session("thief");
  await within(thief.turn("Steal").result());
  expect(answersIn((await thief.read()).messages).map(({ text }) => text.slice(0, 21))).toEqual([
    "Error (agent.unknown)",
    "Error (agent.unknown)",
  ]);
  expect((await runtime.sessions.get(stolen[0]!)).turns).toBe(1);
});

test("J8 there are as many agents as may be, also when they are started at once; closing one makes room", async () => {
  const model = cast({
    Go: [
      both(...["One.", "Two.", "Three.", "Four."].map((task) => spawns(task))),
      to("close_agent", 0),
      spawns("Five."),
      says("Done."),
    ],
    ...Object.fromEntries(["One.", "Two.", "Three.", "Four.", "Five."].map((task) => [task, [says("Ok.")]])),
  });
  await using runtime = await running(model, { agents: { ...HELPER, childrenMax: 2 } });
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  const answers = answersIn((await session.read()).messages);
  expect(answers.map(({ status }) => status)).toEqual(["ok", "ok", "failed", "failed", "ok", "ok"]);
  expect(answers[2]?.text).toMatch(/^Error \(agent.limit\): No agent was started: there are 2,.*close_agent/);
  expect(await runtime.sessions.list({ parent: "chief" })).toHaveLength(3);
});

test("J8 deeper than allowed is refused also where the tool is not hidden", async () => {
  const maker = definePlugin({
    id: "test/maker",
    setup: ({ command }) => ({
      operations: {
        make: command({
          run: async ({ sessions }) => {
            const subagent = { capability: "helper", depth: 3, depthMax: 3 };
            await sessions.create({ id: "deep", kind: "child", permissions: { subagent } });
          },
        }),
      },
    }),
  });
  const model = cast({ Go: [spawns("Deeper."), says("Alone, then.")] });
  await using runtime = await running(model, { plugins: [maker] });
  await (await runtime.session("chief")).command(maker, "make");
  const session = await runtime.session("deep");
  await within(session.turn("Go").result());
  const [answer] = answersIn((await session.read()).messages);
  expect(answer?.text).toBe(
    "Error (agent.depth): You cannot start agents: they may be at most 3 deep. Do this work yourself.",
  );
});

test("J8 a child that begins with its parent's states does not take its parent's agents for its own", async () => {
  const model = cast({
    Go: [
      spawns("Old.", { capability: "helper" }),
      says("Done."),
      spawns("Look.", { capability: "copier" }),
      says("Done."),
    ],
    "Old.": [says("Old.")],
    "Look.": [
      calls("list_agents"),
      spawns("New.", { capability: "helper" }),
      calls("list_agents", {}, "again"),
      says("Looked."),
    ],
    "New.": [says("New.")],
  });
  await using runtime = await running(model, {
    agents: {
      capabilities: { helper: { description: "Helps." }, copier: { description: "Copies.", copiesState: true } },
    },
  });
  const session = await runtime.session("chief");
  await within(session.turn("Go").result());
  await within(session.turn("And on.").result());
  const answers = answersIn(model.of("Look.").at(-1)?.messages ?? []);
  expect(jsonOf(answers[0]!)).toEqual({ agents: [], closed: [] });
  expect(jsonOf(answers[2]!)).toMatchObject({ agents: [{ task: "New." }], closed: [] });
  expect((await session.query(subagents, "agents")).map(({ task }) => task)).toEqual(["Old.", "Look."]);
});

test.each([
  [{}, "capabilities must be an object"],
  [{ capabilities: {} }, "at least one capability"],
  [{ capabilities: { a: {} } }, "capabilities.a.description must be a text"],
  [{ capabilities: { "a b": { description: "x" } } }, "capabilities.a b must be named with"],
  [
    { capabilities: { a: { description: "x", tool: [] } } },
    "there is no field capabilities.a.tool; there are description, model",
  ],
  [{ capabilities: { a: { description: "x", tools: "look" } } }, "capabilities.a.tools must be a list of texts"],
  [{ ...HELPER, depthMax: 0 }, "depthMax must be a whole number from 1 to 32"],
  [{ ...HELPER, childrenMax: 101 }, "childrenMax must be a whole number from 1 to 100"],
  [{ ...HELPER, timeoutMs: "1h" }, "timeoutMs must be a whole number"],
  [{ ...HELPER, depth: 3 }, "there is no field depth"],
])("J8 wrong options are reported where they are given: %j", (given, problem) => {
  expect(() => subagents(given as never)).toThrow(problem);
});
