import { definePlugin, defineToolProvider, type Session } from "bowline";
import { createSession, type NewSessionRequest, type PluginOptions, point } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { calls, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, ticks } from "../kit/reading.ts";
import { around, durable, lives, STORES } from "../kit/stores.ts";
import { BEGINNING, deployed, HOUR, held, named, quickWorld, running, SharedFile } from "../kit/worlds.ts";
import { toolLoop } from "../turn/drivers.ts";

const tones = point<string>("acme/tones");

/** Says by which tone its hooks ran, and in which turn; its commands make sessions. */
function toned(heard: string[] = []) {
  return definePlugin({
    id: "acme/tone",
    options: z.object({ tone: z.string().default("plain") }),
    setup: ({ options: { tone }, query, command }) => {
      const hear = (hook: string) => void heard.push(`${hook} ${tone}`);
      return {
        contributions: [tones.of(tone)],
        prompt: () => {
          hear("prompt");
          return [{ slot: "guidance", text: `Be ${tone}.` }];
        },
        request: () => hear("request"),
        beforeToolCall: () => hear("before"),
        afterToolCall: () => hear("after"),
        afterTurn: () => hear("end"),
        operations: {
          tone: query({ run: () => tone }),
          told: command({ run: () => tone }),
          make: command({
            input: z.custom<NewSessionRequest>(),
            run: async ({ input, sessions }) => (await sessions.create(input)).id,
          }),
        },
      };
    },
  });
}
const tone = toned();
const toneOf = (session: Session) => session.query(tone, "tone");
const grave = { plugins: [tone.options({ tone: "grave" })] };
const merry = { plugins: [tone.options({ tone: "merry" })] };

/** By this clock the leases of those before have lapsed. */
const later = (name: string) => quickWorld({ now: BEGINNING + HOUR, name });

/** The same plugin after an upgrade: what it took before is no longer right. */
const upgraded = definePlugin({
  id: "acme/tone",
  options: z.strictObject({ volume: z.number().default(0) }),
  setup: ({ options, query }) => ({
    contributions: [tones.of(`volume ${options.volume}`)],
    operations: { tone: query({ run: () => `volume ${options.volume}` }) },
  }),
});
/** A version of it that took anything. */
const lax = definePlugin({
  id: "acme/tone",
  options: z.looseObject({}),
  setup: () => ({}),
});
const loud = { plugins: [upgraded.options({ volume: 11 })] };

describe.each(STORES)("on %s", (_, make) => {
  test("K16 S6 options of an opening hold for its neighbours, later openings and other processes, until they are replaced", async () => {
    const store = durable(make());
    await using runtime = await running({ store, plugins: [tone], recover: "manual" });
    const first = await runtime.session("s", grave);
    const neighbour = await runtime.session("s");
    expect([await toneOf(first), await toneOf(neighbour)]).toEqual(["grave", "grave"]);
    await first.turn("Hi.").result();
    await first.close();
    await neighbour.close();
    const later = await runtime.session("s");
    expect(await toneOf(later)).toBe("grave");

    await using other = await running({ store, plugins: [tone], recover: "manual" });
    const elsewhere = await other.session("s", { plugins: [] });
    expect(await toneOf(elsewhere)).toBe("grave");
    await other.session("s", merry);
    expect([await toneOf(elsewhere), elsewhere.contributed(tones)]).toEqual(["merry", ["merry"]]);
    await later.turn("Hi.").result(); // It was open here all the time.
    await ticks(20); // The turn has let the session go.
    expect(later.contributed(tones)).toEqual(["merry"]);
    await other.session("s", { plugins: [tone.options({ tone: "brisk" })] });
    expect((await later.command(tone, "told")).output).toBe("brisk");
    expect(later.contributed(tones)).toEqual(["brisk"]);
    expect(await toneOf(await runtime.session("other"))).toBe("plain");
  });

  test("K15 K16 a child, a grandchild and a fork begin with the options of the session they come from, or with their own", async () => {
    const store = durable(make());
    await using runtime = await running({ store, plugins: [tone], recover: "manual" });
    const origin = await runtime.session("origin", grave);
    const made = async (by: Session, request: NewSessionRequest): Promise<Session> =>
      runtime.session((await by.command(tone, "make", request)).output as string);
    const child = await made(origin, { kind: "child", id: "child" });
    const grandchild = await made(child, { kind: "child", id: "grandchild" });
    const own = await made(origin, { kind: "child", id: "own", options: merry.plugins });
    const ownFork = await made(origin, { kind: "fork", id: "own-fork", options: merry.plugins });
    const fresh = await made(origin, { kind: "fresh", id: "fresh" });
    const told = await made(origin, { kind: "fresh", id: "told", options: merry.plugins });
    expect(await Promise.all([child, grandchild, own, ownFork, fresh, told].map(toneOf))).toEqual([
      "grave",
      "grave",
      "merry",
      "merry",
      "plain",
      "merry",
    ]);
    await origin.turn("Hi.").result();
    const [first] = await origin.history({ max: 10 });
    const forks = [
      await origin.fork(),
      await origin.fork(merry),
      await runtime.sessions.fork("origin", merry),
      await origin.fork({ before: (await origin.history()).at(-1)!.id }),
      await origin.fork({ at: first!.id }),
    ];
    expect(await Promise.all(forks.map(toneOf))).toEqual(["grave", "merry", "merry", "grave", "grave"]);
    await runtime.session("origin", merry);
    expect(await Promise.all([child, forks[0]!].map(toneOf))).toEqual(["grave", "grave"]);

    await using other = await running({ store, plugins: [tone], recover: "manual" });
    expect(await toneOf(await other.session("grandchild"))).toBe("grave");
    expect(await toneOf(await other.session(forks[1]!.id))).toBe("merry");
  });

  test("K16 a session that a hook asks for has the options that were given with it", async () => {
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({
        beforeToolCall: () => createSession({ kind: "child", id: "asked", options: merry.plugins }),
      }),
    });
    const model = scripted(calls("ping"), says("Done."));
    await using runtime = await running({ store: make(), model, tools: [named("ping")], plugins: [tone, asks] });
    await (await runtime.session("s", grave)).turn("Go.").result();
    expect(await toneOf(await runtime.session("asked"))).toBe("merry");
  });

  test("K16 options that are replaced while a turn runs count from the next turn on; the turn keeps its own in all its hooks", async () => {
    const heard: string[] = [];
    const asks = definePlugin({
      id: "acme/asks",
      setup: () => ({ afterTurn: ({ turnId }) => createSession({ kind: "child", id: `by-${turnId}` }) }),
    });
    const plugins = [toned(heard), asks];
    const work = held();
    await using runtime = await running({ store: make(), model: listener(), tools: [work.tool], plugins });
    const session = await runtime.session("s", grave);
    const turn = session.turn("Work.");
    await work.began();
    const queued = session.turn("Next.");
    await queued.id;
    const replaced = await runtime.session("s", merry);
    expect(replaced.contributed(tones)).toEqual(["grave"]);
    work.release();
    await turn.result();
    expect(heard).toEqual(["prompt", "request", "before", "after", "request", "end"].map((hook) => `${hook} grave`));
    heard.length = 0;
    await queued.result();
    expect(heard).toEqual(["prompt merry", "request merry", "end merry"]);
    expect(replaced.contributed(tones)).toEqual(["merry"]);
    const children = [turn, queued].map(async ({ id }) => toneOf(await runtime.session(`by-${await id}`)));
    expect(await Promise.all(children)).toEqual(["grave", "merry"]);
  });

  test("K16 D3 a killed turn resumes with the options it began with, though others are stored; the next turn has the stored options", async () => {
    const process = lives(make());
    const work = held();
    const options = { model: listener(), tools: [work.tool] };
    const first = await deployed(process.next(), quickWorld({ name: "1" }), { ...options, plugins: [tone] });
    const { turnId } = await (await first.runtime.session("s", grave)).send("Work.");
    await work.began();
    const neighbour = await deployed(process.next(), quickWorld({ name: "2" }), { ...options, plugins: [tone] });
    await neighbour.runtime.session("s", merry);
    process.kill();

    const heard: string[] = [];
    work.release();
    const plugins = [toned(heard)];
    const third = await deployed(process.next(), later("3"), { ...options, plugins });
    await third.runtime.recover();
    const session = await third.runtime.session("s");
    expect((await session.follow(turnId).result()).outcome).toMatchObject({ kind: "answered" });
    expect(heard).toEqual(["after grave", "request grave", "end grave"]);
    heard.length = 0;
    await session.turn("Next.").result();
    expect(heard).toEqual(["prompt merry", "request merry", "end merry"]);
  });

  test("K16 options that no longer parse after an upgrade are typed at the opening, which can replace them", async () => {
    const store = durable(make());
    await using old = await running({ store, plugins: [tone], recover: "manual" });
    await old.session("s", grave);
    await using runtime = await running({ store, plugins: [upgraded({ volume: 1 })], recover: "manual" });
    await expect(runtime.session("s")).rejects.toMatchObject({
      code: "plugin.options",
      details: { plugin: "acme/tone", of: "stored" },
      message: expect.stringContaining("acme/tone"),
      hint: expect.stringContaining("runtime.session(id, { plugins: [plugin.options("),
    });
    const session = await runtime.session("s", loud);
    expect(await toneOf(session)).toBe("volume 11");
    expect((await session.turn("Hi.").result()).outcome.kind).toBe("answered");
    expect(await toneOf(await runtime.session("s"))).toBe("volume 11");
  });

  test("K16 D8 recovery ends a turn whose options no longer parse, names the plugin, and leaves waiting inputs until the options are replaced", async () => {
    const process = lives(make());
    const work = held();
    const options = { model: listener(), tools: [work.tool] };
    const first = await deployed(process.next(), quickWorld({ name: "1" }), { ...options, plugins: [tone] });
    const session = await first.runtime.session("s", grave);
    const { turnId } = await session.send("Work.");
    await work.began();
    const next = await session.send("Next.", { at: "next-turn" });
    process.kill();

    const { runtime, traces } = await deployed(process.next(), later("2"), {
      ...options,
      plugins: [upgraded],
    });
    await runtime.recover();
    expect(traces.filter(({ name }) => name === "turn.salvaged")).toHaveLength(1);
    expect(traces.filter(({ name }) => name === "turn.elsewhere").map(({ about }) => about.problem)).toEqual([
      expect.stringContaining("acme/tone"),
    ]);
    expect(await codeOf(runtime.session("s"))).toBe("plugin.options");
    const opened = await runtime.session("s", loud);
    expect((await opened.follow(turnId).result()).outcome).toMatchObject({
      kind: "failed",
      by: "runtime",
      code: "plugin.options",
      reason: expect.stringContaining("acme/tone"),
    });
    expect((await opened.follow(next.turnId).result()).outcome.kind).toBe("answered");
    expect(await toneOf(opened)).toBe("volume 11");
  });

  test("K16 D8 a turn whose own options no longer parse is ended, though those that are stored do", async () => {
    const process = lives(make());
    const work = held();
    const options = { model: listener(), tools: [work.tool] };
    const first = await deployed(process.next(), quickWorld({ name: "1" }), { ...options, plugins: [tone] });
    const { turnId } = await (await first.runtime.session("s", grave)).send("Work.");
    await work.began();
    const newer = await deployed(process.next(), quickWorld({ name: "2" }), { ...options, plugins: [upgraded] });
    await newer.runtime.session("s", loud);
    process.kill();
    const { runtime } = await deployed(process.next(), later("3"), { ...options, plugins: [upgraded] });
    const session = await runtime.session("s");
    const { outcome } = await session.follow(turnId).result();
    expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "plugin.options" });
    expect((await session.turn("Next.").result()).outcome.kind).toBe("answered");
    expect(session.contributed(tones)).toEqual(["volume 11"]);
  });

  test("K16 P1 recovery ends such a turn under a protocol that configures sessions too; it configures when they are replaced", async () => {
    const process = lives(make());
    const work = held();
    const told: object[] = [];
    const protocol = definePlugin({
      id: "acme/loop",
      setup: () => ({
        protocolSession: { configure: ({ plugins }) => void told.push(plugins) },
        protocolDriver: { driver: toolLoop, preamble: ({ tools }) => ({ tools, prompt: [] }) },
      }),
    });
    const options = { model: listener(), tools: [work.tool] };
    const first = await deployed(process.next(), quickWorld({ name: "1" }), { ...options, plugins: [tone, protocol] });
    const { turnId } = await (await first.runtime.session("s", grave)).send("Work.");
    await work.began();
    process.kill();
    told.length = 0;
    const { runtime } = await deployed(process.next(), later("2"), { ...options, plugins: [upgraded, protocol] });
    expect(await runtime.recover()).toEqual({ sessions: 1 });
    expect((await runtime.sessions.get("s")).openTurn).toBeUndefined();
    expect(told).toEqual([]);
    const session = await runtime.session("s", loud);
    expect((await session.follow(turnId).result()).outcome).toMatchObject({ kind: "failed", code: "plugin.options" });
    expect(told).toEqual([{ "acme/tone": { volume: 11 } }]);
  });

  test("K16 D3 recovery resumes a turn whose options are valid, though the stored options no longer parse", async () => {
    const process = lives(make());
    const work = held();
    const options = { model: listener(), tools: [work.tool], plugins: [upgraded] };
    const first = await deployed(process.next(), quickWorld({ name: "1" }), options);
    const { turnId } = await (await first.runtime.session("s", loud)).send("Work.");
    await work.began();
    const older = await deployed(process.next(), quickWorld({ name: "2" }), { ...options, plugins: [lax] });
    await older.runtime.session("s", { plugins: [lax.options({ tone: "grave" })] });
    process.kill();
    const { runtime } = await deployed(process.next(), later("3"), options);
    const recovered = runtime.recover();
    await work.began(2);
    expect(await codeOf(runtime.session("s"))).toBe("plugin.options");
    work.release();
    await recovered;
    const session = await runtime.session("s", loud);
    expect((await session.follow(turnId).result()).outcome.kind).toBe("answered");
  });

  test("K16 K5 a hook that options bring is asked in the next turn, though tools and prompt are the same", async () => {
    const asked: string[] = [];
    const guard = definePlugin({
      id: "acme/guard",
      options: z.object({ guards: z.boolean().default(false) }),
      setup: ({ options }) =>
        options.guards ? { beforeToolCall: ({ call }) => void asked.push(call.name) } : { beforeToolCall: undefined },
    });
    const model = scripted(calls("ping"), says("1"), calls("ping"), says("2"));
    await using runtime = await running({ store: make(), model, tools: [named("ping")], plugins: [guard] });
    const session = await runtime.session("s");
    await session.turn("1").result();
    await runtime.session("s", { plugins: [guard.options({ guards: true })] });
    await session.turn("2").result();
    expect(asked).toEqual(["ping"]);
  });

  test("K16 P1 options can change the protocol: a killed turn resumes with the protocol of its options", async () => {
    const process = lives(make());
    const work = held();
    const options = { model: listener(), tools: [work.tool], plugins: [toolCalls()] };
    const batch = (isThere: boolean) => ({ plugins: [{ plugin: "bowline/tool-calls", options: { batch: isThere } }] });
    const first = await deployed(process.next(), quickWorld({ name: "1" }), options);
    const session = await first.runtime.session("s");
    const neighbour = await deployed(process.next(), quickWorld({ name: "2" }), options);
    await neighbour.runtime.session("s", batch(true));
    const { turnId } = await session.send("Work."); // Opened by one that has not read the new options.
    await work.began();
    await neighbour.runtime.session("s", batch(false));
    process.kill();
    work.release();
    const { runtime } = await deployed(process.next(), later("3"), options);
    await runtime.recover();
    const resumed = await runtime.session("s");
    expect((await resumed.follow(turnId).result()).outcome).toMatchObject({ kind: "answered" });
    await resumed.turn("Hi.").result();
    const offered = options.model.requests.map(({ tools }) => (tools ?? []).length);
    expect(offered).toEqual([2, 2, 1]);
  });

  test("K16 options of a plugin that is not installed are kept, and count where it is", async () => {
    const store = durable(make());
    await using runtime = await running({ store, plugins: [tone], recover: "manual" });
    await (await runtime.session("s", grave)).close();
    for (const plugins of [[], [nameTag]] as const) {
      await using without = await running({ store, plugins, recover: "manual" });
      const session = await without.session("s");
      expect((await session.turn("Hi.").result()).outcome.kind).toBe("answered");
      if (plugins.length > 0) await without.session("s", { plugins: [nameTag.options({ name: "Bob" })] });
    }
    expect(await toneOf(await runtime.session("s"))).toBe("grave");
  });

  test("K16 an opening replaces the options that it gives, plugin by plugin, and writes only what changes", async () => {
    let writes = 0;
    const store = around(make(), {
      setOptions: (act) => {
        writes++;
        return act();
      },
    });
    await using runtime = await running({ store, plugins: [tone, nameTag] });
    const session = await runtime.session("s", { plugins: [tone.options({ tone: "grave" }), bob] });
    const both = async () => [await toneOf(session), await session.query(nameTag, "name")];
    expect(await both()).toEqual(["grave", "Bob"]);
    await runtime.session("s", { plugins: [bob] });
    await runtime.session("s", { plugins: [] });
    await runtime.session("s", {});
    expect([await both(), writes]).toEqual([["grave", "Bob"], 0]);
    await runtime.session("s", merry);
    expect([await both(), writes]).toEqual([["merry", "Bob"], 1]);
    await runtime.session("s", { plugins: [tone.options({})] });
    expect([await both(), writes]).toEqual([["plain", "Bob"], 2]);
  });

  test("K16 openings that replace options of different plugins at once all count, in one process and in two", async () => {
    const store = durable(make());
    const plugins = [tone, nameTag];
    await using one = await running({ store, plugins, recover: "manual" });
    await using two = await running({ store, plugins, recover: "manual" });
    for (const other of [one, two]) {
      await one.session("s");
      await two.session("s");
      const bob = { plugins: [nameTag.options({ name: `Bob ${other === one}` })] };
      const mood = other === one ? grave : merry;
      await Promise.all([one.session("s", mood), other.session("s", bob)]);
      await using third = await running({ store, plugins, recover: "manual" });
      const session = await third.session("s");
      expect([await toneOf(session), await session.query(nameTag, "name")]).toEqual([
        other === one ? "grave" : "merry",
        `Bob ${other === one}`,
      ]);
    }
  });

  test("K16 T2 options change a session's tools with the next turn; a source that was added to the session stays", async () => {
    const supplies = definePlugin({
      id: "acme/supplies",
      options: z.object({ tool: z.string().default("none") }),
      setup: ({ options, tool }) => ({
        tools: [
          tool({ name: options.tool, description: "Does it.", input: z.object({}), execute: () => "Done." }),
          offering(`acme/${options.tool}`, `${options.tool}_more`),
        ],
      }),
    });
    const model = scripted(says("1"), says("2"), says("3"));
    await using runtime = await running({ store: make(), model, plugins: [supplies] });
    const session = await runtime.session("s", { plugins: [supplies.options({ tool: "dig" })] });
    await session.tools.add(offering("mine", "mine"));
    const listed = async () => (await session.tools.list()).map(({ name }) => name).sort();
    await session.turn("1").result();
    expect(await listed()).toEqual(["dig", "dig_more", "mine"]);
    await runtime.session("s", { plugins: [supplies.options({ tool: "sow" })] });
    expect(await listed()).toEqual(["mine", "sow", "sow_more"]);
    await session.turn("2").result();
    await runtime.session("s", { plugins: [supplies.options({ tool: "dig" })] });
    await session.turn("3").result();
    expect(model.requests.map(({ tools }) => (tools ?? []).map(({ name }) => name).sort())).toEqual([
      ["dig", "dig_more", "mine"],
      ["mine", "sow", "sow_more"],
      ["dig", "dig_more", "mine"],
    ]);
  });
});

test("K16 S6 two processes on one file see the same options, each with a session that it had open before", async () => {
  await using shared = new SharedFile();
  const [one, two] = [await shared.open({ plugins: [tone] }), await shared.open({ plugins: [tone] })];
  const [here, there] = [await one.session("s", grave), await two.session("s")];
  expect(await toneOf(there)).toBe("grave");
  await two.session("s", merry);
  expect([await toneOf(here), await toneOf(there)]).toEqual(["merry", "merry"]);
  await here.turn("Hi.").result();
  expect(await toneOf(await (await shared.open({ plugins: [tone] })).session("s"))).toBe("merry");
});

const offering = (id: string, tool: string) =>
  defineToolProvider({ id, list: () => [{ name: tool, description: "Does it." }], load: () => named(tool) });

const nameTag = definePlugin({
  id: "acme/name",
  options: z.object({ name: z.string().default("Ann"), more: z.unknown().optional() }),
  setup: ({ options, query }) => ({ operations: { name: query({ run: () => options.name }) } }),
});
const bob = nameTag.options({ name: "Bob" });

const cyclic: { [key: string]: unknown } = {};
cyclic.again = cyclic;

test.each([
  ["a function", () => "no"],
  ["a cycle", cyclic],
  ["a Map", new Map()],
  ["a BigInt", 1n],
  ["not a number", Number.NaN],
])("K16 options that hold %s are refused where they are given, and say what to give", async (_, more) => {
  const refused = { code: "plugin.options", details: { plugin: "acme/name" }, hint: expect.stringContaining("JSON") };
  expect(() => nameTag.options({ more })).toThrow(expect.objectContaining({ code: "plugin.options" }));
  await using runtime = await running({ plugins: [nameTag] });
  const plugins = [{ plugin: "acme/name", options: { more } }];
  await expect(runtime.session("s", { plugins })).rejects.toMatchObject(refused);
  expect(await runtime.sessions.list()).toEqual([]);
});

test("K16 bad options for a session, a child or a fork are typed; nothing is made and nothing changes", async () => {
  await using runtime = await running({ plugins: [tone, nameTag], limits: { stateBytesMax: 1_000 } });
  const session = await runtime.session("s", grave);
  const unknown = { plugin: "acme/unknown", options: {} };
  const wrong = { plugin: "acme/tone", options: { tone: 5 } };
  const large = tone.options({ tone: "long".repeat(1_000) });
  for (const bad of [unknown, wrong, large])
    for (const act of [
      () => runtime.session("s", { plugins: [bob, bad] }),
      () => runtime.session("new", { plugins: [bad] }),
      () => session.fork({ plugins: [bad] }),
      () => runtime.sessions.fork("s", { plugins: [bad] }),
      () => session.command(tone, "make", { kind: "child", options: [bad] }),
      () => session.command(tone, "make", { kind: "fork", options: [bad] }),
    ])
      expect(await codeOf(act)).toBe("plugin.options");
  const none = { plugins: "grave" as unknown as PluginOptions[] };
  for (const act of [() => runtime.session("s", none), () => session.fork(none)])
    expect(await codeOf(act)).toBe("options.invalid");
  expect(await codeOf(runtime.session("s", { plugins: [{ plugin: "acme/tone", option: 1 } as never] }))).toBe(
    "options.unknown",
  );
  expect((await runtime.sessions.list()).map(({ id }) => id)).toEqual(["s"]);
  expect([await toneOf(session), await session.query(nameTag, "name")]).toEqual(["grave", "Ann"]);
});

test("K16 what is given is copied: to change it later changes no session", async () => {
  const options = { tone: "grave" };
  const given = tone.options(options);
  options.tone = "merry";
  await using runtime = await running({ plugins: [tone] });
  const session = await runtime.session("s", { plugins: [given] });
  expect(await toneOf(session)).toBe("grave");
});
