// Stories of what outlasts a reply, on both protocols: frames, forks, agents, jobs, plugins that keep something, and
// processes that die.
import { definePlugin, type Message, type RuntimeOptions } from "bowline";
import { ask, type ModelRequest } from "bowline/plugin";
import { jobs } from "bowline/plugins/jobs";
import { memory as notes } from "bowline/plugins/memory";
import { plan } from "bowline/plugins/plan";
import { rollingHistory } from "bowline/plugins/rolling-history";
import { subagents } from "bowline/plugins/subagents";
import { toolsSearch } from "bowline/plugins/tools-search";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { recited, says, scripted } from "bowline/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { overflow } from "../kit/models.ts";
import { eventsOf, eventually, only, outline, within } from "../kit/reading.ts";
import { file, lives } from "../kit/stores.ts";
import { lifetimes, named, open, runningOn } from "../kit/worlds.ts";
import { compacting, counter } from "../sessions/plugins.ts";
import { after, cast, childEvents, counted, running as household, type Line, silent } from "../subagents/roles.ts";
import { closeSandbox, endsIn, heard, inCode, openSandbox, PROTOCOLS, writes } from "./protocols.ts";

beforeAll(openSandbox, 20_000);
afterAll(closeSandbox);

type Options = Partial<Omit<RuntimeOptions, "model" | "models">>;

describe.each(PROTOCOLS)("$name", ({ plugins, acts, submits }) => {
  const opened = (model: Provider, { plugins: more = [], ...options }: Options = {}) =>
    open(model, { ...options, plugins: [...plugins, ...more] });
  const work = named("work", () => `worked ${"hard ".repeat(400)}`);
  const compactor = compacting(() => ({ seed: ["In short: it works."] }));

  // ── Frames ────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("P7 S8 a conversation that has become too long for the model is compacted, and the turn continues", async () => {
    const model = scripted(acts("work"), overflow, acts("work"), says("Done."));
    await using world = await opened(model, { tools: [work], plugins: [compactor] });
    const turn = world.session.turn("Go.");
    expect(endsIn(await eventsOf(turn))).toEqual(["work ok", "work ok"]);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(heard(model.requests[2])).toMatch(/^In short: it works\./);
    expect(heard(model.requests[2]).split("## Variables")[0]).not.toContain("worked"); // What the code holds stays.
  });

  test("P7 S8 K8 a session that compacts by itself keeps its requests within the window, in the middle of work too", async () => {
    let [rounds, summaries] = [0, 0];
    const sizes: number[] = [];
    const model: Provider = {
      id: "long",
      modelId: "test",
      async *stream(request) {
        if (request.system.startsWith("You write a summary")) {
          summaries++;
          return yield* says(`It has worked ${rounds} times.`);
        }
        sizes.push(JSON.stringify([request.system, request.tools, request.messages]).length / 4);
        yield* ++rounds < 20 ? acts("work") : says("Done.");
      },
    };
    const rolling = rollingHistory({ window: 8_000, reserve: 1_500, tail: 1_000 });
    await using world = await opened(model, { tools: [work], plugins: [rolling] });
    const { outcome } = await world.session.turn("Work until it is done.").result();
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(summaries).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan(8_000);
    expect(outline((await world.session.read()).messages)[0]).toMatch(/It has worked \d+ times\./);
  });

  // ── Forks ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  test("P7 S7 a fork from before a turn and one from after it go their own ways, with the states of then", async () => {
    const model = scripted(...Array.from({ length: 4 }, (_, n) => [acts("work"), says(`Turn ${n + 1}.`)]).flat());
    await using world = await opened(model, { tools: [work], plugins: [counter] });
    const { session } = world;
    await session.turn("One.").result();
    const { head = "" } = await session.read();
    await session.turn("Two.").result();
    const [before, behind] = [await session.fork({ at: head }), await session.fork()];
    for (const fork of [before, behind]) await fork.turn("Mine.").result();
    const counts = await Promise.all([session, before, behind].map((each) => each.query(counter, "count")));
    expect(counts).toEqual([2, 2, 3]);
    expect(heard(model.requests[4])).not.toContain("Two.");
    expect(heard(model.requests[6])).toMatch(/One\..*Two\..*Mine\./s);
    expect(heard({ messages: (await session.read()).messages })).not.toContain("Mine.");
  });

  // ── Plugins that keep something ───────────────────────────────────────────────────────────────────────────────────

  test("P7 T1 a tool that is found by a search can be called in the next reply, and in later turns", async () => {
    const hidden = named("invoice", () => "Sent it.", { availability: "searchable" });
    const search = acts(["tools_search", { query: "invoice" }]);
    const model = scripted(search, acts("invoice"), says("Done."), acts("invoice"), says("Again."));
    await using world = await opened(model, { tools: [hidden], plugins: [toolsSearch] });
    const ended = [
      endsIn(await eventsOf(world.session.turn("Go."))),
      endsIn(await eventsOf(world.session.turn("Once more."))),
    ];
    expect(ended).toEqual([["invoice ok", "tools_search ok"], ["invoice ok"]]);
    expect(heard(model.requests[2])).toContain("Sent it.");
  });

  test("P7 T2 a tool that was not found yet cannot be called", async () => {
    const hidden = named("invoice", () => "Sent it.", { availability: "searchable" });
    const model = scripted(acts("invoice"), says("Done."));
    await using world = await opened(model, { tools: [hidden], plugins: [toolsSearch] });
    expect(endsIn(await eventsOf(world.session.turn("Go.")))).not.toContain("invoice ok");
    expect(heard(model.requests[1])).not.toContain("Sent it.");
  });

  test("P7 E1 E2 notes and plans are made by calls, kept with the turn and shown in later ones, after a restart too", async () => {
    const path = file();
    const STEPS = [{ step: "Build walls", status: "in_progress" }];
    const app = (model: Provider) => ({ model, plugins: [...plugins, notes, plan] });
    const making = acts(["remember", { note: "The roof leaks." }], ["update_plan", { steps: STEPS }]);
    const one = await runningOn(path, app(scripted(making, says("Done."))));
    await (await one.session("s")).turn("Go.").result();
    await one.close();
    const model = scripted(says("I know."));
    const two = await runningOn(path, app(model));
    const session = await two.session("s");
    await session.turn("Well?").result();
    expect(heard(model.requests[0])).toMatch(/The roof leaks\./);
    expect(heard(model.requests[0])).toMatch(/Build walls/);
    expect(await session.query(plan, "current")).toMatchObject({ steps: STEPS });
    await two.close();
  });

  test("P7 J1 J5 a model starts a job and has its result", async () => {
    const reports = definePlugin({
      id: "test/reports",
      setup: ({ task }) => ({
        operations: {
          write: task({ input: z.object({ topic: z.string() }), run: ({ input }) => `All about ${input.topic}.` }),
        },
      }),
    });
    const idIn = (request: ModelRequest) => /job_[\w-]+/.exec(heard(request))?.[0] ?? "none";
    const model = scripted(
      acts(["jobs_start", { task: "test/reports.write", input: { topic: "knots" }, wake: "none" }]),
      (request) => acts(["jobs_wait", { ids: [idIn(request)] }]),
      says("Done."),
    );
    const offered = jobs({ tasks: { "test/reports.write": { description: "Writes." } } });
    await using world = await opened(model, { plugins: [reports, offered] });
    expect(endsIn(await within(eventsOf(world.session.turn("Go.")), 4_000))).toEqual(["jobs_start ok", "jobs_wait ok"]);
    expect(heard(model.requests[2])).toContain("All about knots.");
  });

  // ── Agents ────────────────────────────────────────────────────────────────────────────────────────────────────────

  const agents = (model: Provider, options: Parameters<typeof household>[1] = {}) =>
    household(model, { ...options, plugins: [...plugins, ...(options.plugins ?? [])] });
  const agentIn = ({ messages }: { messages: readonly Message[] }): string =>
    heard({ messages }).match(/agt_[\w-]{16}/)?.[0] ?? "nobody";
  const looks = (at: string): Line => acts(["look", { at }]);

  test("P7 J8 agents work beside each other, and their owner has what they found, what they spent and what they showed", async () => {
    const { tool, calls } = counted();
    const model = cast({
      Go: [acts(["spawn_agent", { task: "One." }], ["spawn_agent", { task: "Two." }]), says("Done.")],
      "One.": [looks("one"), says("The first.")],
      "Two.": [looks("two"), says("The second.")],
    });
    await using runtime = await agents(model, { tools: [tool] });
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    const events = await within(eventsOf(turn), 4_000);
    expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(endsIn(events)).toEqual(["spawn_agent ok", "spawn_agent ok"]);
    expect(endsIn(childEvents(events))).toEqual(["look ok", "look ok"]);
    expect([...calls].sort()).toEqual(["one", "two"]);
    expect(heard(model.of("Go")[1])).toMatch(/The first\..*The second\./s);
    expect((await runtime.sessions.usage("chief")).usage).toMatchObject({ input: 60, output: 30 });
  });

  test("P7 J8 an agent works in the background, is waited for, and receives another message", async () => {
    const gate = Promise.withResolvers<void>();
    const model = cast({
      Go: [
        acts(["spawn_agent", { task: "Slow.", background: true }]),
        (request) => {
          gate.resolve();
          return acts(["wait_agents", { agents: [agentIn(request)] }]);
        },
        (request) => acts(["message_agent", { agent: agentIn(request), message: "And the rest?" }]),
        says("Done."),
      ],
      "Slow.": [after(gate.promise, says("A half.")), says("The other half.")],
    });
    await using runtime = await agents(model);
    const session = await runtime.session("chief");
    const { outcome } = await within(session.turn("Go").result(), 4_000);
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(heard(model.of("Go")[3])).toMatch(/A half\..*The other half\./s);
    expect(await session.query(subagents, "agents")).toMatchObject([{ task: "Slow.", status: "finished" }]);
  });

  test("P7 J8 T5 an agent hands in a typed result, and an agent that cannot do so reports an error", async () => {
    const output = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
    const model = cast({
      Go: [
        acts(["spawn_agent", { task: "Add.", output }], ["spawn_agent", { task: "Divide.", output }]),
        says("Done."),
      ],
      "Add.": [submits({ sum: 4 })],
      "Divide.": [acts(["submit_error", { reason: "By zero?" }])],
    });
    await using runtime = await agents(model);
    const events = await within(eventsOf((await runtime.session("chief")).turn("Go")), 4_000);
    expect(endsIn(events)).toEqual(["spawn_agent failed", "spawn_agent ok"]);
    expect(heard(model.of("Go")[1])).toMatch(/"sum":4.*By zero\?/s);
  });

  test("P7 J8 I10 a cancel stops the agents of the turn, with all below them", async () => {
    const model = cast({
      Go: [acts(["spawn_agent", { task: "Lead." }])],
      "Lead.": [acts(["spawn_agent", { task: "Dig." }])],
      "Dig.": [silent],
    });
    await using runtime = await agents(model);
    const session = await runtime.session("chief");
    const turn = session.turn("Go");
    await eventually(() => model.of("Dig.").length === 1 || undefined, 4_000);
    await turn.cancel("Enough.");
    expect((await within(turn.result(), 4_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
    const [lead] = await runtime.sessions.list({ parent: "chief" });
    const [dig] = await runtime.sessions.list({ parent: lead!.id });
    for (const { id } of [lead!, dig!]) expect((await runtime.sessions.get(id)).openTurn).toBeUndefined();
  });

  test("P7 J8 D1 agents of a killed process continue in the next one, and no call is made twice", async () => {
    let life = 1;
    const { tool, calls } = counted();
    const model = cast({
      Go: [acts(["spawn_agent", { task: "One." }], ["look", { at: "chief" }]), says("Done.")],
      "One.": [looks("one"), (request, signal) => (life === 2 ? says("The first.") : silent(request, signal))],
    });
    const { next, kill } = lives(sqlite(file(), { durability: "process" }));
    const first = await agents(model, { tools: [tool], store: next() });
    void (await first.session("chief")).turn("Go", { key: "go" }).id;
    await eventually(() => (model.of("One.").length === 2 && calls.includes("chief")) || undefined, 4_000);
    kill();
    life++;
    await using runtime = await agents(model, { tools: [tool], store: next() });
    const session = await runtime.session("chief");
    const { outcome } = await within(session.turn("Go", { key: "go" }).result(), 4_000);
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect([...calls].sort()).toEqual(["chief", "one"]);
    expect(heard(model.of("Go").at(-1))).toContain("The first.");
  });

  test("P7 T8 T9 D4 an agent asks, all processes exit, another answers, and both turns end once", async () => {
    const { tool, calls } = counted();
    const careful = definePlugin({
      id: "test/careful",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "look" ? ask("It looks.") : undefined) }),
    });
    const model = cast({
      Go: [acts(["spawn_agent", { task: "Pay." }]), says("Done.")],
      "Pay.": [looks("purse"), says("Paid.")],
    });
    const path = file();
    const app = () =>
      agents(model, {
        tools: [tool],
        plugins: [careful],
        limits: { parkAfterMs: 10 },
        store: sqlite(path, { durability: "process" }),
      });
    const one = await app();
    (await one.session("chief"))
      .turn("Go", { key: "go" })
      .result()
      .catch(() => {});
    await eventually(async () => (await one.waits.list({ tree: "chief" }))[0], 4_000);
    await one.close();

    const two = await runningOn(path, { model: scripted(), recover: "manual" });
    const [wait] = await two.waits.list({ tree: "chief" });
    expect(wait).toMatchObject({ tool: "look", arguments: { at: "purse" } });
    await two.waits.resolve(wait!, { approved: true });
    await two.close();

    await using three = await app();
    const { outcome } = await within((await three.session("chief")).turn("Go", { key: "go" }).result(), 4_000);
    expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect([calls, model.of("Go").length, model.of("Pay.").length]).toEqual([["purse"], 2, 2]);
    expect(heard(model.of("Go")[1])).toContain("Paid.");
  });

  // ── Processes that die ────────────────────────────────────────────────────────────────────────────────────────────

  test.each([
    ["runs again, under the same key", "rerun", 2, "pay ok"],
    ["does not run again, and the model reads that the result is unknown", "fail", 1, "pay unknown"],
  ] as const)(
    "P7 T14 D2 a call that runs when its process dies %s; its neighbour is not repeated",
    async (...given) => {
      const [, onInterrupt, attempts, ended] = given;
      const all = lifetimes();
      const keys: string[] = [];
      const looked: string[] = [];
      const [began, neighbour] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let hangs = true;
      const pay = named(
        "pay",
        (_, { idempotencyKey }) => {
          keys.push(idempotencyKey);
          began.resolve();
          return hangs ? new Promise(() => {}) : "Paid.";
        },
        { onInterrupt },
      );
      const look = named("look", () => looked.push("look"));
      const app = { model: recited(acts("pay", "look"), says("Done.")), tools: [pay, look], plugins };
      const isReturn = (events: unknown) => JSON.stringify(events).includes('"returned"');
      const first = await all.next(app, {
        append: async (append, ...events) => {
          const answer = await append();
          if (isReturn(events)) neighbour.resolve();
          return answer;
        },
      });
      void (await first.runtime.session("s")).turn("Go.", { key: "go" }).id;
      await within(Promise.all([began.promise, neighbour.promise]), 4_000);
      all.kill();
      hangs = false;
      const { runtime } = await all.next(app);
      const turn = (await runtime.session("s")).turn("Go.", { key: "go" });
      const events = await within(eventsOf(turn), 4_000);
      expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
      expect([keys.length, new Set(keys).size, looked]).toEqual([attempts, 1, ["look"]]);
      expect(endsIn(events)).toContain(ended);
      expect(only(events, "committed")).toHaveLength(1);
      await runtime.close();
    },
  );
});

describe("in code alone", () => {
  const { plugins } = inCode;

  test("P7 P8 S7 forks begin with the variables of then, and each has its own", async () => {
    const model = scripted(
      writes("let n = 1;"),
      says("One."),
      writes("n = 10;"),
      says("Ten."),
      ...[2, 20, 11].map((by) => writes(`n += ${by}; finish(n);`)),
    );
    await using world = await open(model, { plugins });
    const { session } = world;
    await session.turn("One.").result();
    const { head = "" } = await session.read();
    await session.turn("Ten.").result();
    const values: unknown[] = [];
    for (const each of [await session.fork({ at: head }), await session.fork(), session])
      values.push((await each.turn("And?").result()).outcome);
    expect(values).toMatchObject([{ value: 3 }, { value: 30 }, { value: 21 }]);
  });

  test("P7 P8 S8 a compaction in the middle of a turn leaves the variables where they are", async () => {
    const model = scripted(writes("const rows = [1, 2, 3];"), overflow, writes("finish(rows.length);"));
    const compactor = compacting(() => ({ seed: ["In short: rows are kept."] }));
    await using world = await open(model, { plugins: [...plugins, compactor] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "finished", value: 3 });
  });

  test("P7 P9 S4 an input that comes between two cells is heard with what the first one printed", async () => {
    let send = async (): Promise<unknown> => undefined;
    const look = named("look", () => send());
    const model = scripted(writes("await tools.look({}); print('Looked.');"), writes("finish('Stopped.');"));
    await using world = await open(model, { plugins, tools: [look] });
    send = () => world.session.send("Stop, please.");
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: "Stopped." });
    expect(heard(model.requests[1])).toMatch(/Looked\..*Stop, please\./s);
  });
});
