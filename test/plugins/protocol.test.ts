import { definePlugin } from "bowline";
import { extension, type Protocol, type ProtocolDriver, type RoundView } from "bowline/protocol";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { NO_USAGE } from "../../src/model/usage.ts";
import { text } from "../kit/models.ts";
import { codeOf, nodesOf, outline, textIn, within } from "../kit/reading.ts";
import { durable, file, KEPT, STORES } from "../kit/stores.ts";
import { type HookPhase, onEvent, onHook } from "../kit/telemetry.ts";
import { open, running, runningOn, Stop } from "../kit/worlds.ts";
import { made, maker } from "../tools/maker.ts";

type Half = Protocol["protocolSession"];

/** Every reply is an answer. What it is shown is written down. */
function driverOf(id: string, views: RoundView[]): ProtocolDriver {
  const answer: ProtocolDriver["onReply"] = (view) => {
    views.push(view);
    return { kind: "answer" };
  };
  return {
    id,
    version: 1,
    request: ({ system, messages }) => ({ system, messages, tools: [] }),
    onReply: answer,
    onResults: answer as never,
    onExec: answer as never,
  };
}

/** A protocol whose replies are answers; what its driver is shown is written down. */
function talks(half: Half, views: RoundView[] = [], id = "acme/talks") {
  const driver = driverOf(id, views);
  return definePlugin({
    id,
    setup: () => ({
      protocolSession: half,
      protocolDriver: { driver, preamble: () => ({ tools: [], prompt: [] }) },
    }),
  });
}

/** Writes down what the protocol is told of. */
function told(log: string[]): Half {
  return {
    initialize: ({ sessionId, isRoot }) => void log.push(`initialize ${sessionId} ${isRoot}`),
    restore: ({ sessionId, state }) => void log.push(`restore ${sessionId} ${outline(state.messages).join(", ")}`),
    configure: ({ sessionId, isNew, isFork }) =>
      void log.push(`configure ${sessionId}${isNew ? " new" : ""}${isFork ? " fork" : ""}`),
    appended: ({ sessionId, nodes }) => void log.push(`appended ${sessionId} ${nodes.map(({ kind }) => kind).join()}`),
  };
}

describe.each(STORES)("on %s", (_, make) => {
  test("P1 a protocol receives a new session once, and every later opening with the record of the session", async () => {
    const store = make();
    const log: string[] = [];
    const protocol = talks(told(log));
    const one = await running({ store, plugins: [protocol] });
    const session = await one.session("s");
    await session.close();
    await (await one.session("s")).close();
    const again = await one.session("s");
    await again.turn("Hi.").result();
    await again.close();
    await (await one.session("s")).append([{ kind: "message", role: "user", text: "By the way." }]);
    expect(log).toEqual([
      "initialize s true",
      "configure s new",
      "restore s ",
      "configure s",
      "restore s ",
      "configure s",
      "restore s user: Hi., assistant: re: Hi.",
      "configure s",
      "appended s message",
    ]);
    await one.close();
  });

  test("P1 a protocol receives the appends of the session's own commands, once they are done", async () => {
    const log: string[] = [];
    const notes = definePlugin({
      id: "acme/notes",
      setup: ({ command }) => ({
        operations: {
          note: command({
            run: async ({ graph }) => {
              await graph.append([{ kind: "message", role: "user", text: "Noted." }]);
              await graph.append([{ kind: "plugin", type: "note", body: 1 }]);
              log.push("noted");
            },
          }),
          fail: command({
            run: async ({ graph }) => {
              await graph.append([{ kind: "plugin", type: "note", body: 2 }]);
              throw new Error("No.");
            },
          }),
        },
      }),
    });
    await using runtime = await running({ store: make(), plugins: [talks(told(log)), notes] });
    const session = await runtime.session("s");
    log.length = 0;
    await session.command(notes, "note", undefined, { operationId: "one" });
    await session.command(notes, "note", undefined, { operationId: "one" });
    expect(await codeOf(session.command(notes, "fail"))).toBe("operation.failed");
    expect(log).toEqual(["noted", "appended s message,plugin"]);
  });

  test("P1 a child that begins with a copy of the states is new to the protocol all the same", async () => {
    const log: string[] = [];
    const half: Half = { ...told(log), configure: ({ options }) => options.set(options.get() ?? "set") };
    const makes = definePlugin({
      id: "acme/makes",
      setup: ({ command }) => ({
        operations: {
          child: command({ run: ({ sessions }) => sessions.create({ id: "c", kind: "child", copiesState: true }) }),
        },
      }),
    });
    await using runtime = await running({ store: make(), plugins: [talks(half), makes] });
    await (await runtime.session("s")).command(makes, "child");
    log.length = 0;
    await runtime.session("c");
    expect(log).toEqual(["initialize c false"]);
  });

  test("P1 forks are restored with what they share, and children are new and no root", async () => {
    const log: string[] = [];
    await using runtime = await running({ store: make(), plugins: [talks(told(log)), maker] });
    const session = await runtime.session("s");
    await session.turn("Hi.").result();
    log.length = 0;
    await session.fork({ id: "f" });
    expect(log.splice(0)).toEqual(["restore f user: Hi., assistant: re: Hi.", "configure f fork"]);
    await made(runtime, session, { id: "c", kind: "child" });
    expect(log).toEqual(["initialize c false", "configure c new"]);
  });

  test("P1 a protocol is configured with the options that plugins have in a root, a child, a fork, and at every later opening", async () => {
    const log: unknown[] = [];
    const half: Half = { configure: ({ sessionId, isRoot, plugins }) => void log.push([sessionId, isRoot, plugins]) };
    const tone = definePlugin({ id: "acme/tone", options: z.object({ tone: z.string() }), setup: () => ({}) });
    const [grave, merry] = [tone.options({ tone: "grave" }), tone.options({ tone: "merry" })];
    await using runtime = await running({
      store: make(),
      plugins: [talks(half), maker, tone({ tone: "plain" })],
    });
    await runtime.session("plain");
    const root = await runtime.session("root", { plugins: [grave] });
    await made(runtime, root, { id: "child", kind: "child" });
    await made(runtime, root, { id: "own", kind: "child", options: [merry] });
    await root.fork({ id: "fork" });
    const again = await runtime.session("root", { plugins: [merry] });
    await Promise.all([root, again].map((handle) => handle.close()));
    await runtime.session("root");
    const [ofGrave, ofMerry] = [{ "acme/tone": { tone: "grave" } }, { "acme/tone": { tone: "merry" } }];
    expect(log).toEqual([
      ["plain", true, {}],
      ["root", true, ofGrave],
      ["child", false, ofGrave],
      ["own", false, ofMerry],
      ["fork", true, ofGrave],
      ["root", true, ofMerry],
      ["root", true, ofMerry],
    ]);
  });
});

test.each(KEPT)("P1 options of a protocol are durable, and its driver is given them as data, %s", async (_, make) => {
  const store = make();
  const views: RoundView[] = [];
  let wanted: string | undefined = "brief";
  const half: Half = {
    configure({ options }) {
      if (wanted !== undefined) options.set({ style: wanted, before: options.get() ?? null });
    },
  };
  const one = await running({ store, plugins: [talks(half, views)] });
  const session = await one.session("s");
  await session.turn("One.").result();
  await session.close();
  wanted = undefined;
  const same = await one.session("s");
  await same.turn("Two.").result();
  const fork = await same.fork({ id: "f" });
  await fork.turn("Three.").result();
  const brief = { style: "brief", before: null };
  expect(views.map(({ options }) => options)).toEqual([brief, brief, brief]);
  await same.close();
  wanted = "long";
  await (await one.session("s")).turn("Four.").result();
  expect(views.at(-1)?.options).toEqual({ style: "long", before: brief });
  await one.close();
});

test("P1 what is set for all frames holds in a fork at an older node too; what is set for one does not", async () => {
  const store = memory();
  const views: RoundView[] = [];
  let way: ["set" | "setAll", string] = ["set", "a"];
  const half: Half = {
    configure({ options, isFork }) {
      if (!isFork) options[way[0]](way[1]);
    },
  };
  await using runtime = await running({ store, plugins: [talks(half, views)] });
  const reopened = async () => {
    const session = await runtime.session("s");
    await session.turn("Go.").result();
    const head = (await session.read()).head as string;
    await session.turn("On.").result();
    await session.close();
    return { head };
  };
  const first = await reopened();
  way = ["set", "b"];
  const second = await reopened();
  const optionsOf = async (at: string, id: string) => {
    const session = await runtime.session("s");
    const fork = await session.fork({ at, id });
    await fork.turn("Here.").result();
    await session.close();
    return views.at(-1)?.options;
  };
  expect(await optionsOf(first.head, "f1")).toBe("a");
  way = ["setAll", "c"];
  await reopened();
  expect(await optionsOf(first.head, "f2")).toBe("c");
  way = ["set", "d"];
  await reopened();
  expect(await optionsOf(second.head, "f3")).toBe("c");
});

test.each(KEPT)("P1 P3 a fork that begins empty is restored, with what is set for all frames, %s", async (_, make) => {
  const log: string[] = [];
  const views: RoundView[] = [];
  const half: Half = {
    ...told(log),
    configure({ options, sessionId }) {
      if (sessionId === "s") options.setAll("all");
    },
  };
  await using runtime = await running({ store: make(), plugins: [talks(half, views)] });
  const session = await runtime.session("s");
  await session.turn("Go.").result();
  const first = (await session.history()).at(-1)?.id;
  const fork = await session.fork({ id: "f", before: first });
  await fork.turn("Here.").result();
  expect(log).toEqual(["initialize s true", "restore f "]);
  expect(views.at(-1)?.options).toBe("all");
});

test("P1 an open turn keeps the options that it began with", async () => {
  const store = memory();
  const views: RoundView[] = [];
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let wanted = "a";
  const half: Half = {
    configure: ({ options }) => options.set(wanted),
    async beforeAsk({ round }) {
      if (round > 1 || views.length > 0) return undefined;
      asked.resolve();
      await go.promise;
      return { task: "Go on." };
    },
  };
  await using runtime = await running({ store, plugins: [talks(half, views)] });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  await asked.promise;
  wanted = "b";
  await using other = await running({ store, plugins: [talks(half, views)] });
  await other.session("s");
  go.resolve();
  await turn.result();
  expect(views.map(({ options }) => options)).toEqual(["a"]);
  const next = async () => {
    await session.turn("Again.").result();
    return views.at(-1)?.options;
  };
  await expect.poll(next).toBe("b");
});

/** Sets its options to what the session's options of plugins say. */
function styled(views: RoundView[], more: () => object = () => ({})) {
  return definePlugin({
    id: "acme/styled",
    options: z.object({ style: z.string().default("plain") }),
    setup: ({ options: { style } }) => ({
      protocolSession: { configure: ({ options }) => options.set(style) },
      protocolDriver: { driver: driverOf("acme/styled", views), preamble: () => ({ tools: [], prompt: [] }) },
      ...more(),
    }),
  });
}

describe.each(STORES)("on %s", (_, make) => {
  test("P3 an opening that replaces options does not wait for the turn of another process, and they count after it", async () => {
    const store = durable(make());
    const views: RoundView[] = [];
    const stop = new Stop();
    const plugin = styled(views, () => ({ beforeTurn: () => stop.here() }));
    await using one = await running({ store, plugins: [plugin], recover: "manual" });
    await using two = await running({ store, plugins: [plugin], recover: "manual" });
    const session = await one.session("s");
    const neighbour = await two.session("s");
    const turn = session.turn("Go.");
    await stop.reached;
    await within(two.session("s", { plugins: [plugin.options({ style: "brief" })] }), 3_000);
    stop.go();
    await turn.result();
    await neighbour.append([{ kind: "message", role: "user", text: "Behind what was set." }]);
    await session.turn("Again.").result();
    expect(views.map(({ options }) => options)).toEqual(["plain", "brief"]);
  });

  test("P3 an opening inside a hook of the session replaces options of the protocol when the turn has ended", async () => {
    const views: RoundView[] = [];
    let open = async (): Promise<unknown> => undefined;
    const plugin = styled(views, () => ({ beforeTurn: async () => void (await open()) }));
    await using runtime = await running({ store: make(), plugins: [plugin] });
    const session = await runtime.session("s");
    open = () => runtime.session("s", { plugins: [plugin.options({ style: "brief" })] });
    await session.turn("Go.").result();
    await session.append([{ kind: "message", role: "user", text: "Behind what was set." }]);
    await session.turn("Again.").result();
    expect(views.map(({ options }) => options)).toEqual(["plain", "brief"]);
  });

  test("P3 what one sets while another waits to set is not undone", async () => {
    const store = durable(make());
    const views: RoundView[] = [];
    const stop = new Stop();
    let name = "a";
    const half: Half = {
      configure: ({ options }) => options.set({ ...(options.get() as object), [name]: 1 }),
      beforeAsk: () => stop.here(),
    };
    await using one = await running({ store, plugins: [talks(half, views)], recover: "manual" });
    await using two = await running({ store, plugins: [talks(half, views)], recover: "manual" });
    await using three = await running({ store, plugins: [talks(half, views)], recover: "manual" });
    const session = await one.session("s");
    const turn = session.turn("Go.");
    await stop.reached;
    name = "b";
    const second = await two.session("s");
    name = "c";
    const third = await three.session("s");
    stop.go();
    await turn.result();
    for (const each of [second, third]) await each.append([{ kind: "message", role: "user", text: "Behind." }]);
    await session.turn("Again.").result();
    expect(views.at(-1)?.options).toEqual({ a: 1, b: 1, c: 1 });
  });
});

test("P1 an extension that waits behind a turn is refused if the protocol takes none by then", async () => {
  const pace = extension("acme/pace", z.number());
  const stop = new Stop();
  const taken: unknown[] = [];
  const plugin = definePlugin({
    id: "acme/picky",
    options: z.object({ takes: z.boolean().default(true) }),
    setup: ({ options: { takes } }) => ({
      extensions: [pace],
      beforeTurn: () => stop.here(),
      protocolSession: takes ? { extend: ({ extension: { value } }) => void taken.push(value) } : {},
      protocolDriver: { driver: driverOf("acme/picky", []), preamble: () => ({ tools: [], prompt: [] }) },
    }),
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  await stop.reached;
  const extended = codeOf(session.extend(pace.of(3)));
  await runtime.session("s", { plugins: [plugin.options({ takes: false })] });
  stop.go();
  await turn.result();
  expect(await within(extended)).toBe("protocol.extension");
  expect(taken).toEqual([]);
});

test("P2 before each model call a protocol sees the request, the session and the latest usage, and may name a fresh frame", async () => {
  const seen: object[] = [];
  const half: Half = {
    async beforeAsk({ round, request, state, latestUsage, graph, complete, session, jobs, turnId, isRoot, signal }) {
      seen.push({
        round,
        asked: outline(request.messages),
        read: outline(state.messages),
        usage: latestUsage?.output,
        rest: [typeof turnId, isRoot, signal.aborted, session.read().turns],
      });
      await jobs.awaitHidden();
      if (round > 1) return undefined;
      const { parts } = await complete.reply({ system: "Why?" }, { label: "cut" });
      await graph.append([{ kind: "plugin", type: "cut", body: textIn(parts) }]);
      return { task: "Start over.", seed: { left: 1 }, name: "second" };
    },
  };
  const model = scripted(says("Because."), says("Done."), says("Once more."));
  const store = memory();
  await using world = await open(model, { store, plugins: [talks(half)] });
  await world.session.turn("Go.").result();
  expect(model.requests).toHaveLength(2);
  expect(seen).toEqual([
    { round: 1, asked: ["user: Go."], read: ["user: Go."], usage: undefined, rest: ["string", true, false, 0] },
    {
      round: 2,
      asked: ['user: Start over.\n\n{"left":1}'],
      read: ['user: Start over.\n\n{"left":1}'],
      usage: undefined,
      rest: ["string", true, false, 0],
    },
  ]);
  expect(await nodesOf(store, world.session)).toEqual([
    "user: Go.",
    'acme/talks cut "Because."',
    "frame task",
    'user: Start over.\n\n{"left":1}',
    "assistant: Done.",
  ]);
  const frame = (await world.session.history({ max: 10 })).find((node) => node.kind === "frame");
  expect(frame).toMatchObject({ task: "Start over.", name: "second" });
  expect((await world.session.read()).ledger.map(({ source }) => source)).toContain("cut");
  await world.session.turn("And?").result();
  expect((seen[2] as { usage?: number }).usage).toBeGreaterThan(0);
});

test("P2 the latest usage is that of the frame: a fresh one has none until its model was asked", async () => {
  const seen: (number | undefined)[] = [];
  const half: Half = {
    beforeAsk: ({ latestUsage }) => {
      seen.push(latestUsage?.input);
      return latestUsage === undefined ? undefined : { task: "Start over." };
    },
  };
  await using world = await open(scripted(says("One."), says("Two.")), { plugins: [talks(half)] });
  await world.session.turn("Go.").result();
  const { outcome } = await world.session.turn("Go on.").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Two." });
  expect(seen).toEqual([undefined, expect.any(Number), undefined]);
});

test("P2 the latest usage is found again by another process, in a fork, and in no child", async () => {
  const path = file();
  const seen: (number | undefined)[] = [];
  const half: Half = { beforeAsk: ({ latestUsage }) => void seen.push(latestUsage?.input) };
  const make = definePlugin({
    id: "acme/make",
    setup: ({ command }) => ({
      operations: {
        make: command({
          run: ({ sessions }) => sessions.create({ id: "child", kind: "child", copiesState: true }).then(() => {}),
        }),
      },
    }),
  });
  const used = (input: number): Provider => ({
    id: "counts",
    modelId: "test",
    async *stream() {
      yield text("Done.");
      yield { kind: "finish", reason: "stop", usage: { ...NO_USAGE, input } };
    },
  });
  {
    await using runtime = await runningOn(path, { model: used(11), plugins: [talks(half), make] });
    const session = await runtime.session("s");
    await session.turn("Go.").result();
    await session.command(make, "make");
    await session.fork({ id: "fork" });
  }
  await using runtime = await runningOn(path, { model: used(22), plugins: [talks(half), make] });
  for (const id of ["s", "s", "fork", "child"]) await (await runtime.session(id)).turn("Go.").result();
  expect(seen).toEqual([undefined, 11, 22, 11, undefined]);
});

test("P2 what a protocol throws is named after its plugin, at every place, and telemetry has a span of it", async () => {
  const phases: string[] = [];
  const probe = ({ kind, hook, plugin }: HookPhase) =>
    void (hook === "protocolSession" && phases.push(`${kind} ${plugin}`));
  const fails = () => {
    throw new Error("No.");
  };
  for (const name of ["initialize", "configure"] as const) {
    await using runtime = await running({ store: memory(), plugins: [talks({ [name]: fails })] });
    await expect(runtime.session("s")).rejects.toMatchObject({
      code: "hook.failed",
      details: { plugin: "acme/talks", hook: "protocolSession" },
    });
  }
  await using world = await open(scripted(), { plugins: [talks({ beforeAsk: fails })], telemetry: onHook(probe) });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.failed" });
  expect(phases).toEqual(["begin acme/talks", "end acme/talks"]);
  for (const answer of ["x", { task: 7 }, { task: "x", name: 1 }, { task: "x", seed: () => {} }]) {
    await using odd = await open(scripted(), { plugins: [talks({ beforeAsk: () => answer as never })] });
    expect((await odd.session.turn("Go.").result()).outcome).toMatchObject({ code: "hook.answer" });
  }
});

test.each(KEPT)(
  "P1 I7 a protocol that fails when it receives appended nodes does not fail the append, %s",
  async (_, make) => {
    const issues: unknown[] = [];
    const fails = (): void => {
      throw new Error("No.");
    };
    await using world = await open(scripted(), {
      store: make(),
      plugins: [talks({ appended: fails })],
      telemetry: onEvent(({ name, about }) => void (name === "hook.issue" && issues.push(about))),
    });
    const appended = await world.session.append([{ kind: "message", role: "user", text: "By the way." }]);
    expect(appended).toMatchObject({ kind: "appended" });
    expect(issues).toMatchObject([{ plugin: "acme/talks", code: "hook.failed" }]);
  },
);

test("P1 a protocol receives the nodes that an operation appended, once it is stored", async () => {
  const log: string[] = [];
  const notes = definePlugin({
    id: "acme/notes",
    setup: ({ command }) => ({
      operations: {
        note: command({
          input: z.object({ fails: z.boolean() }),
          run: async ({ graph, input }) => {
            await graph.append([{ kind: "plugin", type: "note", body: 1 }]);
            if (input.fails) throw new Error("No.");
          },
        }),
      },
    }),
  });
  await using world = await open(scripted(), { plugins: [talks(told(log)), notes] });
  log.length = 0;
  await codeOf(world.session.command(notes, "note", { fails: true }));
  expect(log).toEqual([]);
  await world.session.command(notes, "note", { fails: false });
  expect(log).toEqual([`appended ${world.session.id} plugin`]);
});

test("P1 options that are not JSON are refused, and the session does not open", async () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  for (const value of [circle, () => {}, 1n]) {
    await using runtime = await running({
      plugins: [talks({ configure: ({ options }) => options.set(value as never) })],
    });
    expect(await codeOf(runtime.session("s"))).toBe("hook.answer");
  }
});
