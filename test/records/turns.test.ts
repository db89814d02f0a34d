// Turns as records: lists, one turn, and its timeline, through the public door and from other processes.
import { statSync } from "node:fs";
import { createRuntime, type Runtime, type RuntimeOptions } from "bowline";
import { ask, defer, definePlugin, defineTool, question } from "bowline/plugin";
import { subagents } from "bowline/plugins/subagents";
import { codeMode } from "bowline/protocols/code";
import { type Provider, ProviderFailure } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import type { SqliteStore } from "bowline/stores/sqlite";
import { both, calls, recited, type SimulatedWorld, says, scripted, simulatedWorld } from "bowline/testing";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { aborted, echo, end, overflow, text } from "../kit/models.ts";
import { codeOf, eventually, outline, within, wordsOf } from "../kit/reading.ts";
import { closeSandbox, sharedCode } from "../kit/sandbox.ts";
import { around, mortal } from "../kit/stores.ts";
import { DAY, HOUR, held, named, quickWorld, Stop, stopping } from "../kit/worlds.ts";
import { compacting, delegate } from "../sessions/plugins.ts";
import { cast } from "../subagents/roles.ts";
import { inMemory, onEveryStore, onFile, type Place } from "./places.ts";

afterAll(closeSandbox);

type List = NonNullable<Parameters<Runtime["turns"]["list"]>[0]>;
const listed = async (runtime: Runtime, page?: List) => (await runtime.turns.list(page)).map(({ id }) => id);
const usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 };

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Repeats what it is told, fails when it is told to, and holds its breath until it is cancelled. */
const speaks = (modelId = "test"): Provider => ({
  id: "speaks",
  modelId,
  async *stream({ messages }, { signal }) {
    const words = wordsOf(messages.findLast(({ role }) => role === "user"));
    if (words === "Fail.") throw new ProviderFailure({ class: "auth", message: "No." });
    if (words === "Hold.") await aborted(signal);
    yield text(`re: ${words}`);
    yield end;
  },
});

onEveryStore(
  "E4 turns are listed from the latest with what became of them, by every filter and page by page, in another process",
  async (place) => {
    const world = simulatedWorld({ now: Date.now() });
    const start = world.now();
    const names = (name: string) => (name === "speaks/other" ? speaks("other") : undefined);
    const prices = { "speaks/test": { input: 1_000_000, output: 0 }, "speaks/other": { input: 0, output: 1_000_000 } };
    const runtime = await place.open({ model: speaks(), models: names, world, prices });
    const other = await place.open({ model: speaks(), models: names, world, prices, recover: "manual" });
    const a = await runtime.session("a");
    const b = await runtime.session("b", { config: { model: "speaks/other" } });
    const ids: string[] = [];
    const run = async (session: typeof a, words: string, metadata?: { readonly user: string }) => {
      const turn = session.turn(words, metadata && { metadata });
      ids.push(await turn.id);
      await turn.result();
      await world.advance(1_000);
    };
    await run(a, "One.", { user: "ann" });
    await run(b, "Two.");
    await run(a, "Fail.");
    const held = a.turn("Hold.", { metadata: { user: "ben" } });
    const queued = a.turn("Next.", { metadata: { user: "cleo" } });
    ids.push(await held.id, await queued.id);
    const [one, two, three, four, five] = ids as [string, string, string, string, string];

    const found = await other.turns.list();
    expect(found.map(({ id }) => id)).toEqual([five, four, three, two, one]);
    expect(found[0]).toEqual({
      ...{ id: five, sessionId: "a", state: "queued", acceptedAt: start + 3_000, metadata: { user: "cleo" } },
      ...{ hasJournal: false, cursor: expect.any(String) },
    });
    expect(found[1]).toEqual({
      ...{ id: four, sessionId: "a", state: "running", startedAt: start + 3_000, model: "speaks/test", rounds: 1 },
      ...{ metadata: { user: "ben" }, hasJournal: true, cursor: expect.any(String) },
    });
    expect(found[2]).toMatchObject({ state: "ended", outcome: "failed", code: "provider.failed", rounds: 1 });
    expect(found[3]).toMatchObject({ sessionId: "b", model: "speaks/other", usage, cost: 5 });
    expect(found[4]).toEqual({
      ...{ id: one, sessionId: "a", state: "ended", outcome: "answered", startedAt: start, endedAt: start },
      ...{ model: "speaks/test", rounds: 1, usage, cost: 10, metadata: { user: "ann" }, hasJournal: true },
      cursor: expect.any(String),
    });

    const filters: readonly (readonly [List, readonly string[]])[] = [
      [{ session: "a" }, [five, four, three, one]],
      [{ session: "b" }, [two]],
      [{ session: "nobody" }, []],
      [{ state: "queued" }, [five]],
      [{ state: "running" }, [four]],
      [{ state: "waiting" }, []],
      [{ state: "ended" }, [three, two, one]],
      [{ outcome: "failed" }, [three]],
      [{ outcome: "answered" }, [two, one]],
      [{ model: "speaks/test" }, [four, three, one]],
      [{ model: "speaks/test", state: "running" }, [four]],
      [{ model: "speaks/other" }, [two]],
      [{ since: start + 1_000 }, [four, three, two]],
      [{ since: start + 1_000, until: start + 3_000 }, [three, two]],
      [{ until: start + 1_000 }, [one]],
      [{ session: "a", outcome: "answered", model: "speaks/test", until: start + 1 }, [one]],
    ];
    for (const [page, expected] of filters) {
      expect(await listed(other, page), JSON.stringify(page)).toEqual(expected);
      for (const max of [1, 2]) expect(await paged(other, { ...page, max }), JSON.stringify(page)).toEqual(expected);
    }
    await world.advance(1_000);
    await held.cancel("Enough.");
    await queued.result();
    expect(await listed(other, { outcome: "stopped" })).toEqual([four]);
    expect((await other.turns.list({ max: 1 }))[0]).toMatchObject({
      ...{ id: five, state: "ended", acceptedAt: start + 3_000, startedAt: start + 4_000 },
    });
  },
);

/** Reads a list page by page. */
async function paged(runtime: Runtime, page: List & { readonly max: number }): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ; ) {
    const found = await runtime.turns.list({ ...page, after });
    expect(found.length).toBeLessThanOrEqual(page.max);
    if (found.length === 0) return ids;
    ids.push(...found.map(({ id }) => id));
    after = found.at(-1)!.cursor;
  }
}

test("E4 a list finds turns behind thousands that do not fit", async () => {
  const runtime = await inMemory().open({ model: speaks() });
  const rare = await runtime.session("rare");
  await rare.turn("Fail.").result();
  const often = await runtime.session("often");
  for (let nth = 0; nth < 450; nth++) await often.turn("Go.").result();
  expect(await runtime.turns.list({ outcome: "failed" })).toMatchObject([{ sessionId: "rare" }]);
  expect((await paged(runtime, { max: 100 })).length).toBe(451);
});

onEveryStore(
  "E4 unknown turns are `turn.unknown`, and wrong filters and cursors are refused by name",
  async (place) => {
    const runtime = await place.open();
    await (await runtime.session("s")).turn("Hi.").result();
    const { turns } = runtime;
    for (const id of ["nobody", "", "trn_\u0000", 7, null, undefined] as readonly string[])
      for (const call of [turns.get, turns.timeline, turns.journal])
        expect(await codeOf(call(id)), String(id)).toBe("turn.unknown");
    const wrong: readonly (readonly [object, string])[] = [
      ...["x", "", "0", "-1", "1.5", "1e3", "9".repeat(40), "1@s", 7].map(
        (after) => [{ after }, "cursor.unknown"] as const,
      ),
      ...[0, -1, 1.5, 1_001, Number.NaN, "2"].map((max) => [{ max }, "options.invalid"] as const),
      ...[{ state: "open" }, { outcome: "told" }, { session: 7 }, { model: 7 }, { since: "now" }, { until: null }].map(
        (page) => [page, "options.invalid"] as const,
      ),
      [{ since: Number.NaN }, "options.invalid"],
      [{ order: "id" }, "options.unknown"],
    ];
    for (const [page, code] of wrong) expect(await codeOf(turns.list(page)), JSON.stringify(page)).toBe(code);
    expect(await codeOf(turns.list("s" as never))).toBe("options.invalid");
    await runtime.close();
    for (const call of [() => turns.list(), () => turns.get("x"), () => turns.timeline("x")])
      expect(await codeOf(call)).toBe("runtime.closed");
  },
);

// ── A turn and its timeline ─────────────────────────────────────────────────────────────────────────────────────────

const careful = definePlugin({
  id: "bank/careful",
  version: "1",
  state: z.object({ looks: z.number().default(0) }),
  setup: () => ({
    prompt: () => ({ slot: "guidance", text: "Be careful." }),
    beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined),
    afterToolCall: ({ state }) => state.update(({ looks }) => ({ looks: looks + 1 })),
  }),
});
const busy = new ProviderFailure({ class: "overloaded", message: "Busy." });
const PARKS = { parkAfterMs: 20 };

/** Settles when the turn only waits and its process has given it up. */
const parked = (runtime: Runtime, id: string) =>
  eventually(async () => ((await runtime.turns.get(id)).state === "waiting" ? true : undefined));

onEveryStore(
  "E4 a timeline has retries, gates, calls, answers and state changes, while the turn is parked and once it has ended, in a process that runs nothing",
  async (place) => {
    const world = quickWorld({ now: Date.now() });
    const start = world.now();
    const model = scripted(
      busy,
      both(says("I look."), calls("look", { at: "sky" }, "l"), calls("pay", { eur: 5 }, "p")),
      says("Done."),
    );
    const tools = [named("look", () => "nine"), named("pay", () => "paid")];
    const instructions = "You shop.";
    const runtime = await place.open({ model, tools, plugins: [careful], instructions, world, limits: PARKS });
    const other = await place.open({ plugins: [careful], world, recover: "never" });
    const session = await runtime.session("s");
    const turn = session.turn("Go.", { metadata: { user: "ann" } });
    const id = await turn.id;
    await parked(other, id);

    const open = await other.turns.timeline(id);
    expect(open).toMatchObject({ turnId: id, sessionId: "s", isOpen: true, isExact: true, startedAt: start });
    const tool = (name: string) => expect.objectContaining({ name, inputSchema: expect.any(Object) });
    const parts = [
      { slot: "intro", text: "You shop." },
      { slot: "guidance", text: "Be careful." },
    ];
    const prompt = "You shop.\n\nBe careful.";
    expect(open.rounds).toEqual([{ round: 1, startedAt: start, prompt, parts, tools: [tool("look"), tool("pay")] }]);
    const pay = { id: expect.any(String), name: "pay", input: { eur: 5 } };
    const asked = {
      ...{ effect: "r1.call.1.w", round: 1, kind: "wait", wants: "approval", reason: "It moves money.", call: pay },
      ...{ id: expect.stringMatching(/^wai_/), startedAt: start + 500, until: expect.any(Number) },
    };
    expect(open.items).toMatchObject([
      { kind: "hooks", stage: "prepare", effect: "r1.prepare" },
      {
        ...{ kind: "model", effect: "r1.ask", round: 1, model: "scripted/test", attempt: 1 },
        ...{ startedAt: start, endedAt: start, failure: "overloaded: Busy.", waitedMs: 500 },
      },
      {
        ...{ kind: "model", effect: "r1.ask", attempt: 2, startedAt: start + 500, finish: "calls", usage },
        parts: [
          { kind: "text", text: "I look." },
          { kind: "toolCall", name: "look" },
          { kind: "toolCall", name: "pay" },
        ],
      },
      {
        ...{ kind: "hooks", stage: "gate" },
        verdicts: [
          { name: "look", verdict: "pass" },
          { name: "pay", verdict: "wait", reason: "It moves money.", plugin: "bank/careful" },
        ],
      },
      asked,
      {
        ...{ kind: "tool", effect: "r1.call.0", attempt: 1, call: { name: "look", input: { at: "sky" } } },
        output: { kind: "value", value: "nine" },
      },
    ]);
    expect(open.items[4]).not.toHaveProperty("endedAt");
    const before = await other.turns.get(id);
    expect(before).toMatchObject({
      ...{ id, sessionId: "s", state: "waiting", model: "scripted/test", rounds: 1, metadata: { user: "ann" } },
      ...{ input: [{ kind: "text", text: "Go." }], startedAt: start, hasJournal: true, children: [], resumed: [] },
    });
    expect(before.waits).toEqual([
      {
        ...{ effect: asked.effect, id: asked.id, wants: "approval", call: pay },
        reason: asked.reason,
        askedAt: asked.startedAt,
        until: asked.until,
      },
    ]);

    world.pass(HOUR);
    const [wait] = await other.waits.list({ session: "s" });
    await other.waits.resolve(wait!, { approved: true }, { by: "ann" });
    await runtime.recover();
    const { outcome } = await within(turn.result());
    expect(await other.sessions.list()).toMatchObject([{ id: "s", state: "idle" }]);

    const ended = await other.turns.timeline(id);
    const answeredAt = expect.any(Number);
    expect(ended).toMatchObject({ isOpen: false, isExact: true, startedAt: start });
    expect(ended.rounds.map(({ round, prompt: shown }) => [round, shown])).toEqual([
      [1, prompt],
      [2, prompt],
    ]);
    expect(ended.items.slice(0, 4)).toEqual(open.items.slice(0, 4));
    const kinds = ended.items.map((item) => (item.effect === "" ? item.kind : item.effect));
    expect(kinds).toEqual([
      ...["r1.prepare", "r1.ask", "r1.ask", "r1.gate", "r1.call.1.w", "r1.call.0", "resumed", "r1.call.1", "r1.settle"],
      ...["r1.after-work", "r2.prepare", "r2.ask", "r2.before-completion"],
    ]);
    expect(ended.items.find(({ kind }) => kind === "wait")).toMatchObject({
      ...asked,
      endedAt: answeredAt,
      how: "answered",
      by: "ann",
    });
    expect(ended.items.find(({ kind }) => kind === "resumed")).toMatchObject({
      by: expect.stringContaining(`/${process.pid}/`),
    });
    expect(ended.items.find(({ effect }) => effect === "r1.call.1")).toMatchObject({
      ...{ kind: "tool", call: { name: "pay", input: { eur: 5 } }, output: { kind: "value", value: "paid" } },
    });
    expect(ended.items.filter(({ changes }) => changes !== undefined).map(({ changes }) => changes)).toEqual([
      { "bank/careful": { looks: 2 } },
    ]);
    expect(ended.items.at(-1)!.startedAt).toBeLessThanOrEqual(ended.endedAt);
    const after = await other.turns.get(id);
    expect(after).toMatchObject({
      ...{ state: "ended", outcome, endedAs: expect.any(String), rounds: 2, resumes: 1, endedAt: ended.endedAt },
      ...{ usage: { ...usage, input: 20, output: 10 }, metadata: { user: "ann" }, input: before.input },
      waits: [{ ...before.waits[0], answeredAt: expect.any(Number), how: "answered", by: "ann" }],
      resumed: [{ at: expect.any(Number), by: expect.stringContaining(`/${process.pid}/`), why: "waited" }],
    });
    const journal = await other.turns.journal(id);
    expect(journal[0]).toMatchObject({ kind: "opened", config: { model: "scripted/test" } });
    expect(JSON.stringify(journal)).not.toContain(wait!.key);
    expect(JSON.stringify(journal)).toContain(wait!.id);
  },
);

onEveryStore("E4 a timeline has deferred results, questions, cells and sleeps", async (place) => {
  const world = quickWorld({ now: Date.now() });
  const later = defineTool({
    name: "later",
    description: "Comes later.",
    input: z.object({}),
    execute: () => defer({ schema: z.object({ at: z.string() }), until: new Date(world.now() + DAY) }),
  });
  const size = defineTool({
    name: "size",
    description: "Asks for a size.",
    input: z.object({}),
    execute: () => question(z.enum(["S", "M"]), { text: "Which size?" }),
  });
  const cell = "const here = await tools.later({});\nawait sleep(7_200_000);\nprint(await tools.size({}));";
  const model = scripted(says(`<typescript>\n${cell}\n</typescript>`), says("Done."));
  const options = { plugins: [codeMode, sharedCode], tools: [later, size], world };
  const runtime = await place.open({ ...options, model, limits: PARKS, recover: "manual" });
  const other = await place.open({ ...options, recover: "never" });
  const turn = (await runtime.session("s")).turn("Go.");
  const id = await turn.id;
  await parked(other, id);
  const [first] = await other.waits.list({});
  await other.waits.resolve(first!, { value: { at: "noon" } }, { by: "the post" });
  await runtime.recover();
  await parked(other, id);
  expect((await other.turns.timeline(id)).items.at(-1)).toMatchObject({ kind: "sleep" });
  world.pass(2 * HOUR);
  await runtime.recover();
  await parked(other, id);
  const [second] = await other.waits.list({});
  await other.waits.resolve(second!, { value: "M" }, { by: "ann" });
  await runtime.recover();
  await within(turn.result());

  const { items, isExact } = await other.turns.timeline(id);
  expect(isExact).toBe(true);
  const shown = items.filter(({ kind }) => kind !== "hooks" && kind !== "resumed");
  expect(shown).toMatchObject([
    { kind: "model", effect: "r1.ask" },
    { kind: "cell", effect: "r1.exec", code: cell },
    { kind: "tool", call: { name: "later" }, isDeferred: true },
    { kind: "wait", wants: "result", call: { name: "later" }, how: "answered", by: "the post" },
    { kind: "cell", isDelivery: true },
    { kind: "sleep" },
    { kind: "cell", isDelivery: true },
    { kind: "tool", call: { name: "size" }, isDeferred: true },
    { kind: "wait", wants: "question", reason: "Which size?", how: "answered", by: "ann" },
    { kind: "cell", isDelivery: true, state: "done" },
    { kind: "model", effect: "r2.ask" },
  ]);
  const slept = shown[5]!;
  if (slept.kind !== "sleep") throw new Error("It is no sleep.");
  expect(slept.until - slept.startedAt).toBe(2 * HOUR);
  expect(slept.endedAt).toBeGreaterThanOrEqual(slept.until);
  const { waits, resumed } = await other.turns.get(id);
  expect(waits.map(({ wants, by }) => [wants, by])).toEqual([
    ["result", "the post"],
    ["question", "ann"],
  ]);
  expect(resumed?.map(({ why }) => why)).toEqual(["waited", "waited", "waited"]);
});

onEveryStore("E4 a timeline has the compaction of a turn, and the prompt of each round", async (place) => {
  const plugin = compacting(() => ({ seed: ["In short: nothing."] }));
  const model = scripted(says("Hello."), overflow, says("Done."));
  const runtime = await place.open({ model, plugins: [plugin], instructions: "You talk." });
  const other = await place.open({ plugins: [plugin], recover: "never" });
  const session = await runtime.session("s");
  await session.turn("Hi.").result();
  const { turnId } = await session.turn("Go on.").result();
  const { items, rounds } = await other.turns.timeline(turnId);
  const effects = items.map(({ kind, effect }) => `${kind} ${effect}`);
  expect(
    items.find((item) => item.kind === "hooks" && item.stage === "compact"),
    effects.join(),
  ).toMatchObject({
    isFrame: true,
  });
  expect(items.filter(({ kind }) => kind === "model")).toMatchObject([
    { error: { code: expect.any(String) } },
    { finish: "stop", parts: [{ text: "Done." }] },
  ]);
  expect(rounds.map(({ prompt }) => prompt)).toEqual(rounds.map(() => "You talk."));
});

/** A process that can be killed: what it asks the store afterwards is never answered. */
async function mortalOn(place: Place, options: Pick<RuntimeOptions, "tools" | "world"> & { readonly model: Provider }) {
  let isAlive = true;
  const store = place.store();
  onTestFinished(() => store.close());
  const runtime = await createRuntime({ ...options, store: mortal(store, () => isAlive), recover: "manual" });
  return { runtime, kill: () => void (isAlive = false) };
}

onEveryStore(
  "E4 a turn whose process died is interrupted, and its record names who resumed it, when and why",
  async (place) => {
    const world = simulatedWorld({ now: Date.now() });
    const start = world.now();
    const stop = new Stop();
    const model = () => recited(both(calls("look", {}, "l"), calls("slow", {}, "s")), says("Done."));
    const tools = [named("look", () => "nine"), stopping(stop)];
    const { runtime: one, kill } = await mortalOn(place, { model: model(), tools, world });
    const other = await place.open({ recover: "never", world });
    const id = await (await one.session("s")).turn("Go.").id;
    await stop.reached;
    await eventually(async () =>
      (await other.turns.timeline(id)).items.some((item) => item.kind === "tool" && item.output !== undefined),
    );
    kill();
    expect(await other.turns.get(id)).toMatchObject({ state: "running", resumed: [] });
    await world.jump(HOUR);
    expect(await other.turns.get(id)).toMatchObject({ state: "interrupted", resumed: [] });
    expect(await listed(other, { state: "interrupted" })).toEqual([id]);
    expect(await listed(other, { state: "running" })).toEqual([]);
    expect((await other.sessions.list({ state: "interrupted" })).map((each) => each.openTurn)).toEqual([id]);

    const two = await place.open({
      model: model(),
      tools: [tools[0]!, named("slow", () => "at last")],
      world,
      recover: "manual",
    });
    const { outcome } = await within((await two.session("s")).follow(id).result());
    expect(outcome).toMatchObject({ text: "Done." });
    const { items } = await other.turns.timeline(id);
    const at = start + HOUR;
    expect(items.filter(({ kind }) => kind === "tool" || kind === "resumed")).toMatchObject([
      { effect: "r1.call.0", startedAt: start, endedAt: start, output: { value: "nine" } },
      { effect: "r1.call.1", startedAt: start, endedAt: at, output: { value: "at last" } },
      { kind: "resumed", startedAt: at, by: expect.stringContaining(`/${process.pid}/`) },
    ]);
    expect(await other.turns.get(id)).toMatchObject({ state: "ended", resumes: 1, resumed: [{ at, why: "crash" }] });
    expect((await other.turns.list())[0]).toMatchObject({ id, resumes: 1, startedAt: start, endedAt: at });
  },
);

test("E4 the timeline of a running turn has what it has done so far, also on a host that stores nothing of it", async () => {
  const work = held();
  const model = scripted(both(calls("look", {}, "l"), calls("work", {}, "w")), says("Done."));
  await using runtime = await createRuntime({
    store: memory(),
    model,
    tools: [named("look", () => "nine"), work.tool],
  });
  const turn = (await runtime.session("s")).turn("Go.");
  await work.began();
  const { isOpen, items } = await runtime.turns.timeline(await turn.id);
  expect(isOpen).toBe(true);
  expect(items.filter(({ kind }) => kind === "tool")).toMatchObject([
    { call: { name: "look" }, output: { value: "nine" } },
    { call: { name: "work" } },
  ]);
  expect(await runtime.turns.list({ state: "running", model: "scripted/test" })).toMatchObject([{ rounds: 1 }]);
  work.release();
  await turn.result();
  expect((await runtime.turns.timeline(await turn.id)).isOpen).toBe(false);
});

onEveryStore(
  "E4 a turn names the turn or job that sent its input, and the sessions that were created in it",
  async (place) => {
    const model = cast({
      "Hi.": [says("Hello."), both(calls("delegate", { id: "child", task: "Count." })), says("Two."), says("Bye.")],
      "Count.": [says("Two.")],
    });
    const world = simulatedWorld({ now: Date.now() });
    const runtime = await place.open({ model, tools: [delegate], world });
    const other = await place.open({ model, recover: "never", world });
    const session = await runtime.session("s");
    const run = async (words: string) => {
      const { turnId } = await within(session.turn(words).result());
      await world.advance(1_000);
      return turnId;
    };
    const [first, second, third] = [await run("Hi."), await run("Delegate."), await run("Bye.")];
    expect((await other.turns.get(second)).children).toEqual(["child"]);
    for (const id of [first, third]) expect((await other.turns.get(id)).children).toEqual([]);
    const [inner] = await other.turns.list({ session: "child" });
    const record = await other.turns.get(inner!.id);
    expect(record).toMatchObject({ parentId: "s", sentBy: { turnId: second } });
    expect(await other.turns.get(second)).not.toHaveProperty("sentBy");
  },
);

test("E4 the turn of a subagent names its job", async () => {
  const plugins = [subagents({ capabilities: { helper: { description: "Helps." } } })];
  const model = cast({
    Go: [calls("spawn_agent", { task: "Count." }, "c"), says("Done.")],
    "Count.": [says("Two.")],
  });
  const place = onFile();
  const runtime = await place.open({ model, plugins });
  const { turnId } = await within((await runtime.session("s")).turn("Go").result());
  const [job] = await runtime.jobs.list({ session: "s" });
  expect(job).toMatchObject({ kind: "subagent", parent: { turnId } });
  const [child] = (await runtime.turns.get(turnId)).children;
  const [inner] = await runtime.turns.list({ session: child! });
  expect(await runtime.turns.get(inner!.id)).toMatchObject({ parentId: "s", sentBy: { jobId: job!.id } });
});

// ── What is kept ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Time passes until this process has looked for expired journals. */
const sweeps = async (world: SimulatedWorld): Promise<void> => world.advance(61_000);

onEveryStore("E4 journals beyond `perSession` are removed by a sweep, and the turns stay", async (place) => {
  const world = simulatedWorld({ now: Date.now() });
  const runtime = await place.open({ keepJournals: { perSession: 2 }, world });
  const ids: string[] = [];
  for (const words of ["One.", "Two.", "Three.", "Four."])
    for (const name of ["a", "b"]) ids.push((await (await runtime.session(name)).turn(words).result()).turnId);
  expect(await withJournal(runtime)).toEqual(ids);
  await sweeps(world);
  await eventually(async () => (await withJournal(runtime)).length === 4);
  expect(await withJournal(runtime)).toEqual(ids.slice(4));
  expect(await runtime.turns.get(ids[0]!)).toMatchObject({ state: "ended", outcome: { text: "re: One." }, waits: [] });
  expect(await runtime.turns.get(ids[0]!)).not.toHaveProperty("resumed");
  for (const call of [runtime.turns.timeline, runtime.turns.journal])
    expect(await codeOf(call(ids[0]!))).toBe("turn.no-journal");
  expect((await runtime.turns.timeline(ids[4]!)).isExact).toBe(true);
});

/** The turns whose journals are kept, in the order in which they were accepted. */
const withJournal = async (runtime: Runtime, session?: string): Promise<readonly string[]> =>
  (await runtime.turns.list({ session }))
    .filter(({ hasJournal }) => hasJournal)
    .map(({ id }) => id)
    .reverse();

onEveryStore(
  "E4 journals older than `days` are removed by a sweep, also behind a thousand turns without one",
  async (place) => {
    const world = simulatedWorld({ now: Date.now() });
    const early = await place.open({ world });
    const { turnId: first } = await (await early.session("old")).turn("One.").result();
    await early.close();
    const forgetful = await place.open({ world, keepJournals: false });
    const session = await forgetful.session("new");
    await world.jump(8 * DAY);
    for (let nth = 0; nth < (place.name === "Postgres" ? 20 : 1_100); nth++) await session.turn("Go.").result();
    expect(await withJournal(forgetful, "old")).toEqual([first]);
    const later = await place.open({ world });
    const { turnId: second } = await (await later.session("old")).turn("Two.").result();
    await sweeps(world);
    await eventually(async () => {
      await world.advance(1_000); // The pauses of the sweep.
      return (await withJournal(later, "old")).length < 2;
    });
    expect(await withJournal(later, "old")).toEqual([second]);
  },
);

onEveryStore("E4 journals beyond `bytes` are removed by a sweep, the oldest first", async (place) => {
  if (place.name === "memory") return; // It does not count bytes.
  const world = simulatedWorld({ now: Date.now() });
  const model = (): Provider => recited(calls("look", { at: "x".repeat(100) }, "l"), says("Done."));
  const tools = [named("look", () => "nine")];
  const runtime = await place.open({ keepJournals: { bytes: 3_000 }, world, model: model(), tools });
  const ids: string[] = [];
  for (let nth = 0; nth < 12; nth++) ids.push((await (await runtime.session(`s${nth}`)).turn("Go.").result()).turnId);
  const sizes = (await place.store().turns.list({ max: 100 })).map(({ end }) => end!.journalBytes!);
  let sum = 0;
  const fitting = sizes.findIndex((size) => (sum += size) > 3_000);
  expect(fitting).toBeGreaterThan(1);
  expect(fitting).toBeLessThan(12);
  await sweeps(world);
  await eventually(async () => (await withJournal(runtime)).length < 12);
  expect(await withJournal(runtime)).toEqual(ids.slice(-fitting));
});

onEveryStore("E4 with `keepJournals: false` no journal is kept, and turns are records all the same", async (place) => {
  const runtime = await place.open({ keepJournals: false });
  const session = await runtime.session("s");
  const { turnId, outcome } = await session.turn("One.", { metadata: { user: "ann" } }).result();
  const known = { id: turnId, state: "ended", hasJournal: false, rounds: 1, model: "echo/test", usage };
  expect(await runtime.turns.list()).toMatchObject([{ ...known, outcome: "answered", metadata: { user: "ann" } }]);
  expect(await runtime.turns.get(turnId)).toMatchObject({ ...known, outcome });
  expect(await codeOf(runtime.turns.timeline(turnId))).toBe("turn.no-journal");
  expect((await session.read()).turns).toBe(1);
});

test("E4 wrong bounds of kept journals are refused by name", async () => {
  const given = [true, 7, "7", { days: -1 }, { days: Number.NaN }, { perSession: "2" }, { bytes: null }];
  for (const keepJournals of given)
    expect(await codeOf(inMemory().open({ keepJournals: keepJournals as never }))).toBe("options.invalid");
  expect(await codeOf(inMemory().open({ keepJournals: { weeks: 1 } as never }))).toBe("options.unknown");
  await inMemory().open({ keepJournals: { days: Infinity, perSession: Infinity, bytes: 0 } });
});

onEveryStore("E4 a running turn does not wait for a sweep, which goes in small steps", async (place) => {
  const world = simulatedWorld({ now: Date.now() });
  const [reading, removing] = [new Stop(), new Stop()];
  const steps: number[] = [];
  const store = around(place.store(), {
    "turns.list": async (act, page) => {
      steps.push((page as { readonly max: number }).max);
      if (steps.length === 1) await reading.here();
      return act();
    },
    "turns.forget": async (act, turns) => {
      steps.push((turns as readonly string[]).length);
      await removing.here();
      return act();
    },
  });
  const runtime = await place.open({ store, keepJournals: { perSession: 0 }, world });
  const session = await runtime.session("s");
  const turns = async () => {
    for (const words of ["One.", "Two."])
      expect((await within(session.turn(words).result())).outcome.kind).toBe("answered");
  };
  await turns();
  const sweep = sweeps(world);
  await reading.reached;
  await turns();
  reading.go();
  await removing.reached;
  await turns();
  removing.go();
  await sweep;
  const other = await place.open({ world });
  await eventually(async () => (await withJournal(other)).length === 2);
  expect(Math.max(...steps)).toBeLessThanOrEqual(200);
});

test("E4 a file is at most three times the content of its turns, besides the journals that are kept", async () => {
  const words = (nth: number): string =>
    Array.from({ length: 400 }, (_, at) => (nth * 7_919 + at * 104_729) % 99_991).join(" ");
  const place = onFile();
  let asked = 0;
  const model: Provider = {
    ...echo(),
    async *stream({ messages }) {
      asked += 1;
      if (messages.at(-1)?.role === "tool") yield* says(words(asked));
      else yield* calls("look", { about: words(asked).slice(0, 500) }, `l${asked}`);
    },
  };
  let looks = 0;
  const runtime = await place.open({ model, tools: [named("look", () => words(1_000 + looks++))] });
  const session = await runtime.session("s");
  const TURNS = 150;
  for (let nth = 0; nth < TURNS; nth++) await session.turn(words(2_000 + nth)).result();
  const nodes = await runtime.sessions.history("s", { max: 10_000 });
  const content = JSON.stringify(nodes.map((node) => ("message" in node ? node.message.parts : []))).length;
  const store = place.store() as SqliteStore;
  const kept = (await store.turns.list({ max: TURNS })).reduce((sum, { end }) => sum + end!.journalBytes!, 0);
  await runtime.close();
  await store.vacuum();
  const bytes = statSync(place.path!).size;
  await store.close();
  expect(kept).toBeGreaterThan(0);
  expect(kept).toBeLessThan(content / 4); // The texts are in the nodes.
  expect(bytes).toBeLessThanOrEqual(3 * content + kept);
});

// ── Damage ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What the doctor finds. */
async function checked(place: Place): Promise<readonly { readonly item: string; readonly problem: string }[]> {
  const store = place.store() as SqliteStore;
  try {
    return await store.check({ deep: true });
  } finally {
    await store.close();
  }
}

type Harm = (place: Place, turn: string) => Promise<void>;
const HARMS: readonly (readonly [string, Harm])[] = [
  [
    "half of it is lost",
    (place, turn) => place.sql!("UPDATE turn SET input = substr(input, 1, length(input) / 2) WHERE id = $1", turn),
  ],
  ["it is another text", (place, turn) => place.sql!("UPDATE turn SET input = 'nothing' WHERE id = $1", turn)],
  ["it is gone", (place, turn) => place.sql!("UPDATE turn SET input = NULL WHERE id = $1", turn)],
  ["what it was prepared with is gone", (place) => place.sql!("DELETE FROM blob")],
];

for (const [what, harm] of HARMS)
  onEveryStore(`E4 a kept journal is told as damaged when ${what}, and the session works`, async (place) => {
    if (place.sql === undefined) return; // Memory is not damaged.
    const options = { tools: [named("look", () => "nine")], plugins: [careful] };
    const first = await place.open({ ...options, model: scripted(calls("look"), says("One.")) });
    const { turnId } = await (await first.session("s")).turn("Go.").result();
    await first.close();
    expect(await checked(place)).toEqual([]);
    await harm(place, turnId);

    const findings = await checked(place);
    expect(findings.length).toBeGreaterThan(0);
    for (const { item } of findings) expect(item).toContain(turnId);
    const runtime = await place.open({ ...options, model: scripted(says("Two."), says("Three.")) });
    expect(await codeOf(runtime.turns.timeline(turnId))).toBe("store.corrupt");
    expect(await runtime.turns.list()).toMatchObject([{ id: turnId, outcome: "answered", hasJournal: true }]);
    expect(await runtime.turns.get(turnId)).toMatchObject({ id: turnId, outcome: { text: "One." } });
    const session = await runtime.session("s");
    expect(await session.turn("And now?").text()).toBe("Two.");
    expect(outline((await session.read()).messages)).toContain("look ok: nine");
    expect((await runtime.sessions.history("s")).length).toBeGreaterThan(4);
    expect(await runtime.sessions.fork("s").then((fork) => fork.turn("More.").text())).toBe("Three.");
    const facts = runtime.observe();
    expect(await facts.next()).toMatchObject({ value: { kind: "accepted", text: "Go." } });
    await facts.return?.();
  });
