import { createRuntime, definePlugin, defineTool, type Plugin, RuntimeError, type TelemetryEvent } from "bowline";
import { abortTurn, deny, emitEvent, emitTrace, enqueueMessages, HOOKS, type HookName } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aborted, echo } from "../kit/models.ts";
import { eventsOf, only, outline, wordsOf } from "../kit/reading.ts";
import { type HookPhase, onEvent, onHook } from "../kit/telemetry.ts";
import { open, ping } from "../kit/worlds.ts";

/** A plugin as a caller without types may write it. */
const loose = (id: string, parts: object | (() => object)): Plugin =>
  definePlugin({ id, setup: () => (typeof parts === "function" ? parts() : parts) });

const opening = (...plugins: readonly Plugin[]) =>
  createRuntime({ store: memory(), model: echo(), plugins }).then(async (runtime) => {
    try {
      await runtime.session();
    } finally {
      await runtime.close();
    }
  });

// ── Order and owners ────────────────────────────────────────────────────────────────────────────────────────────────

/** For each of these hooks, a handler that notes its name and answers nothing. */
const ORDERED: readonly HookName[] = [
  "context",
  "beforeTurn",
  "prompt",
  "request",
  "stream",
  "streamFinished",
  "response",
  "beforeToolCall",
  "afterToolCall",
  "checkpoint",
  "afterTurn",
];

test("K1 handlers of one hook run early, normal, late; then as installed; a handler's own order wins", async () => {
  const heard = new Map<HookName, string[]>();
  const note = (hook: HookName, name: string) => () => {
    heard.set(hook, [...(heard.get(hook) ?? []), name]);
  };
  const plugin = (id: string, order: "early" | "normal" | "late" | undefined, handlers: (hook: HookName) => unknown) =>
    definePlugin({
      id,
      ...(order === undefined ? {} : { order }),
      setup: () => Object.fromEntries(ORDERED.map((hook) => [hook, handlers(hook)])) as object,
    });
  const plugins = [
    plugin("late", "late", (hook) => note(hook, "late")),
    plugin("many", undefined, (hook) => [
      note(hook, "many 1"),
      { order: "late", run: note(hook, "many late") },
      { order: "early", run: note(hook, "many early") },
      note(hook, "many 2"),
    ]),
    plugin("early", "early", (hook) => [note(hook, "early"), { order: "normal", run: note(hook, "early normal") }]),
    plugin("plain", "normal", (hook) => ({ run: note(hook, "plain") })),
  ];
  await using world = await open(scripted(both(says("Hm."), calls("ping")), says("Done.")), { plugins, tools: [ping] });
  await world.session.turn("Go.").result();
  const order = ["many early", "early", "many 1", "many 2", "early normal", "plain", "late", "many late"];
  for (const hook of ORDERED) expect(heard.get(hook)?.slice(0, order.length), hook).toEqual(order);
});

test("K1 every answer carries the id of its owner", async () => {
  const speaker = (id: string) =>
    definePlugin({
      id,
      setup: () => ({
        beforeTurn: () => [emitEvent("began", { by: id }), enqueueMessages(`${id} begins.`)],
        afterToolCall: () => [emitEvent("saw"), enqueueMessages(`${id} saw it.`)],
        checkpoint: ({ at }) =>
          at === "after-work" ? [emitEvent("passed"), enqueueMessages(`${id} goes on.`)] : undefined,
        afterTurn: () => [emitEvent("ended"), enqueueMessages(`${id} ends.`)],
      }),
    });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [speaker("a/one"), speaker("b/two")], tools: [ping] });
  const events = only(await eventsOf(world.session.turn("Go.")), "plugin");
  expect(events.map(({ plugin, name }) => `${plugin} ${name}`)).toEqual(
    ["began", "saw", "passed", "ended"].flatMap((name) => [`a/one ${name}`, `b/two ${name}`]),
  );
  expect(events[0]).toMatchObject({ fact: false, payload: { by: "a/one" } });
  const { messages } = await world.session.read();
  const origins = messages.flatMap(({ origin, parts }) =>
    origin?.kind === "plugin" ? [[origin.plugin, wordsOf({ parts } as never)]] : [],
  );
  expect(origins).toEqual([
    ["a/one", "a/one begins."],
    ["b/two", "b/two begins."],
    ["a/one", "a/one saw it."],
    ["b/two", "b/two saw it."],
    ["a/one", "a/one goes on."],
    ["b/two", "b/two goes on."],
    ["a/one", "a/one ends."],
    ["b/two", "b/two ends."],
  ]);
});

test("K1 a plugin receives its session, its turn and the input, and nothing that its row does not list", async () => {
  const seen: object[] = [];
  const plugin = definePlugin({
    id: "a/looks",
    setup: ({ session }) => ({
      beforeTurn: (event) => {
        expect(event.sessionId).toBe(session.id);
        expect(event.session.read().messages.map(wordsOf)).toEqual(["Go."]);
        expect(wordsOf(event.input)).toBe("Go.");
        seen.push(event);
      },
      prompt: ({ catalog }) => {
        expect(catalog.list()).toEqual([{ name: "ping", description: "Pings." }]);
        return [];
      },
      stream: (event) => void seen.push(event),
    }),
  });
  await using world = await open(scripted(says("Done.")), { plugins: [plugin], tools: [ping] });
  const turn = world.session.turn("Go.");
  expect((await turn.result()).outcome.kind).toBe("answered");
  expect(seen[0]).toMatchObject({ turnId: await turn.id });
  expect(Object.keys(seen[0] ?? {}).sort()).toEqual([
    "extension",
    "input",
    "jobs",
    "membership",
    "once",
    "read",
    "session",
    "sessionId",
    "sessions",
    "signal",
    "trace",
    "triggers",
    "turnId",
  ]);
  expect(Object.keys(seen[1] ?? {}).sort()).toEqual([
    "chunk",
    "extension",
    "once",
    "read",
    "sessionId",
    "signal",
    "turnId",
  ]);
});

// ── Errors in hooks ─────────────────────────────────────────────────────────────────────────────────────────────────

for (const hook of ["context", "beforeTurn", "prompt", "request", "checkpoint", "afterTurn"] as const) {
  test(`K2 the first error in ${hook} stops its chain, fails the turn and is its owner's`, async () => {
    const heard: string[] = [];
    const plugins = ["a/fine", "b/sick", "c/never"].map((id) =>
      loose(id, {
        [hook]: async () => {
          heard.push(id);
          if (id === "b/sick") throw new Error("Ouch.");
        },
      }),
    );
    await using world = await open(scripted(says("Said.")), { plugins });
    const { outcome } = await world.session.turn("Go.").result();
    expect(outcome).toMatchObject({
      kind: "failed",
      by: "plugin",
      code: "hook.failed",
      reason: `Plugin b/sick failed in ${hook}: Ouch.`,
    });
    expect(heard).toEqual(["a/fine", "b/sick"]);
    expect((await world.session.read()).turns).toBe(1);
  });
}

test("K2 a gate that throws denies that call and nothing else", async () => {
  const heard: string[] = [];
  const guard = loose("b/sick", {
    beforeToolCall: ({ call }: { call: { input: { n: number } } }) => {
      if (call.input.n === 1) throw new Error("Ouch.");
    },
  });
  const other = loose("c/other", {
    beforeToolCall: ({ call }: { call: { input: { n: number } } }) => void heard.push(`${call.input.n}`),
  });
  const ran: number[] = [];
  const count = defineTool({
    name: "count",
    description: "Counts.",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => ran.push(n),
  });
  const model = scripted(
    both(calls("count", { n: 0 }), calls("count", { n: 1 }), calls("count", { n: 2 })),
    says("Done."),
  );
  await using world = await open(model, { plugins: [guard, other], tools: [count] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(ran).toEqual([0, 2]);
  expect(heard).toEqual(["0", "1", "2"]);
  const results = outline(model.requests[1]?.messages ?? []).slice(-3);
  expect(results[1]).toMatch(/^count denied: .*b\/sick failed in beforeToolCall: Ouch\./);
});

test("K2 a hook that throws after a call withholds that result, and the turn continues", async () => {
  const sick = loose("b/sick", {
    afterToolCall: () => {
      throw new Error("Ouch.");
    },
  });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [sick], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  const result = outline(model.requests[1]?.messages ?? []).at(-1);
  expect(result).toContain("b/sick failed in afterToolCall: Ouch.");
  expect(result).not.toContain("Pong");
});

test("K2 an error of the result projector is what the model is shown", async () => {
  const sick = loose("b/sick", {
    projectResult: () => {
      throw new Error("Ouch.");
    },
  });
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [sick], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  expect(outline(model.requests[1]?.messages ?? []).at(-1)).toMatch(/^ping ok: Error: .*Ouch\./);
});

test("K2 a catalog hook that throws, or that cannot wait, fails the build of the catalog and so the turn", async () => {
  const sick = loose("b/sick", {
    toolCatalog: () => {
      throw new Error("Ouch.");
    },
  });
  await using world = await open(scripted(says("Never.")), { plugins: [sick], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "plugin",
    code: "hook.failed",
  });
  await using slow = await open(scripted(says("Never.")), {
    plugins: [loose("b/slow", { toolCatalog: async () => [] })],
  });
  expect((await slow.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "plugin",
    code: "hook.answer",
  });
});

// ── Observers ───────────────────────────────────────────────────────────────────────────────────────────────────────

type Seen = { readonly event: { readonly kind: string; readonly isNew?: boolean; readonly revision?: number } };

for (const moment of ["turnFinalized", "turnPersisted"] as const) {
  test(`K3 observers of ${moment} run at the same time, are all awaited, and fail alone`, async () => {
    const [left, right, slow] = [
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
      Promise.withResolvers<void>(),
    ];
    const on = (run: () => unknown) => ({
      lifecycle: ({ event }: Seen) => (event.kind === moment ? run() : undefined),
    });
    let isDone = false;
    const plugins = [
      loose(
        "a/left",
        on(() => {
          left.resolve();
          return right.promise;
        }),
      ),
      loose(
        "b/throws",
        on(() => {
          throw new Error("At once.");
        }),
      ),
      loose(
        "c/rejects",
        on(() => Promise.reject("later")),
      ),
      loose(
        "d/right",
        on(() => {
          right.resolve();
          return left.promise;
        }),
      ),
      loose(
        "e/slow",
        on(() =>
          slow.promise.then(() => {
            isDone = true;
          }),
        ),
      ),
    ];
    await using world = await open(echo(), { plugins });
    const turn = world.session.turn("Go.");
    await Promise.all([left.promise, right.promise]);
    let isOver = false;
    const result = turn.result().finally(() => {
      isOver = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    slow.resolve();
    const { outcome, issues } = await result;
    expect(isDone).toBe(true);
    expect(outcome).toMatchObject({ kind: "answered", text: "re: Go." });
    expect(issues).toEqual([
      { plugin: "b/throws", code: "hook.failed", message: "Plugin b/throws failed in lifecycle: At once." },
      { plugin: "c/rejects", code: "hook.failed", message: "Plugin c/rejects failed in lifecycle: later" },
    ]);
    expect((await world.session.read()).turns).toBe(1);
  });
}

test("K3 observers receive the end before the commit, and the commit after it", async () => {
  const told: string[] = [];
  const plugin = definePlugin({
    id: "a/observer",
    setup: () => ({
      lifecycle: ({ event, session }) => {
        const { turns } = session.read();
        if (event.kind === "turnFinalized") told.push(`finalized ${event.report.outcome.kind} ${turns}`);
        if (event.kind === "turnPersisted") told.push(`persisted ${event.revision} ${turns}`);
        if (event.kind === "sessionRestored") told.push(`opened ${event.isNew}`);
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  await world.session.turn("One.").result();
  await world.session.turn("Two.").result();
  await world.session.close();
  await world.runtime.session(world.session.id);
  expect(told).toEqual([
    "opened true",
    "finalized answered 0",
    "persisted 1 1",
    "finalized answered 1",
    "persisted 2 2",
    "opened false",
  ]);
});

test("K3 an observer of the session's opening that fails is traced, and the session opens", async () => {
  const traces: TelemetryEvent[] = [];
  const plugin = loose("a/sick", { lifecycle: () => Promise.reject(new Error("Ouch.")) });
  await using world = await open(echo(), {
    plugins: [plugin],
    telemetry: onEvent((record) => void traces.push(record)),
  });
  expect(traces).toMatchObject([
    { name: "hook.issue", sessionId: world.session.id, about: { plugin: "a/sick", code: "hook.failed" } },
  ]);
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
});

test("K3 a turn that fails is observed too", async () => {
  const outcomes: string[] = [];
  const plugin = definePlugin({
    id: "a/observer",
    setup: () => ({
      beforeTurn: () => abortTurn("a.no", "No."),
      lifecycle: ({ event }) => {
        if ("report" in event) outcomes.push(`${event.kind} ${event.report.outcome.kind}`);
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  await world.session.turn("Go.").result();
  expect(outcomes).toEqual(["turnFinalized stopped", "turnPersisted stopped"]);
});

// ── Telemetry of hooks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("K5 telemetry has the beginning and the end of every hook call, also of those that fail", async () => {
  const phases: string[] = [];
  const wait = Promise.withResolvers<void>();
  const plugins = [
    loose("a/waits", { beforeTurn: () => wait.promise }),
    loose("b/throws", {
      beforeToolCall: () => {
        phases.push("b runs");
        throw new Error("Ouch.");
      },
    }),
    loose("c/rejects", { afterToolCall: () => Promise.reject(new Error("Ouch.")) }),
  ];
  const probe = ({ kind, hook, plugin }: HookPhase) => phases.push(`${kind} ${hook} ${plugin}`);
  await using world = await open(scripted(calls("ping"), says("Done.")), {
    plugins,
    tools: [ping],
    telemetry: onHook(probe),
  });
  const turn = world.session.turn("Go.");
  await new Promise((resolve) => setImmediate(resolve));
  expect(phases).toEqual(["begin beforeTurn a/waits"]);
  wait.resolve();
  await turn.result();
  expect(phases).toEqual([
    "begin beforeTurn a/waits",
    "end beforeTurn a/waits",
    "begin beforeToolCall b/throws",
    "b runs",
    "end beforeToolCall b/throws",
    "begin afterToolCall c/rejects",
    "end afterToolCall c/rejects",
  ]);
});

test("K5 telemetry has each plugin's part in a lifecycle event, also of those that run at once and of one that fails", async () => {
  const go = Promise.withResolvers<void>();
  const phases: string[] = [];
  const at = (kind: string, run: () => unknown) => ({
    lifecycle: ({ event }: { event: { kind: string } }) => (event.kind === kind ? run() : undefined),
  });
  const plugins = [
    loose(
      "a/slow",
      at("turnPersisted", () => go.promise),
    ),
    loose(
      "b/fails",
      at("turnPersisted", () => Promise.reject(new Error("Ouch."))),
    ),
    loose(
      "c/ends",
      at("turnPersisted", () => go.resolve()),
    ),
  ];
  const probe = ({ kind, hook, plugin }: HookPhase) => void (hook === "lifecycle" && phases.push(`${kind} ${plugin}`));
  await using world = await open(echo(), { plugins, telemetry: onHook(probe) });
  phases.length = 0;
  const { issues } = await world.session.turn("Go.").result();
  const pairs = plugins.flatMap(({ id }) => [`begin ${id}`, `end ${id}`]);
  expect(phases.slice(0, 6), "turnFinalized: each returns at once").toEqual(pairs);
  const persisted = phases.slice(6);
  expect([...persisted].sort()).toEqual([...pairs].sort());
  expect(persisted.indexOf("end a/slow"), "they overlap").toBeGreaterThan(persisted.indexOf("begin c/ends"));
  expect(issues.map(({ plugin }) => plugin)).toEqual(["b/fails"]);
});

test("K5 stages that nobody hooks are skipped: telemetry has a span of each hook that a plugin has, but for `stream`, and of no other", async () => {
  const choices: readonly (readonly HookName[])[] = [[], ["stream"], ["streamFinished"], ["lifecycle"], ORDERED];
  for (const hooks of choices) {
    const probed = new Set<string>();
    await using world = await open(scripted(calls("ping"), says("Done.")), {
      plugins: [loose("a/few", Object.fromEntries(hooks.map((hook) => [hook, () => {}])))],
      tools: [ping],
      telemetry: onHook(({ hook }) => probed.add(hook)),
    });
    expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
    expect([...probed].sort()).toEqual(hooks.filter((hook) => hook !== "stream").sort());
  }
});

test("K5 E4 a listener that throws changes nothing, and its failure is reported once", async () => {
  const plugins = [loose("a/fine", { beforeTurn: () => emitTrace("x"), beforeToolCall: async () => {} })];
  const reported: unknown[] = [];
  const fails = (): never => {
    throw new Error("The disk is full.");
  };
  const broken = { start: fails, end: fails, event: fails };
  const listens = onEvent(({ name, about }) => name.startsWith("telemetry.") && reported.push({ name, ...about }));
  await using world = await open(scripted(calls("ping"), says("Done.")), {
    plugins,
    tools: [ping],
    telemetry: [broken, listens],
  });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline((await world.session.read()).messages)).toContain("ping ok: Pong.");
  expect(reported).toEqual([{ name: "telemetry.failed", listener: 0, problem: "The disk is full." }]);
});

// ── Which are installed ─────────────────────────────────────────────────────────────────────────────────────────────

test.each<HookName>(["stream", "streamFinished", "lifecycle"])(
  "K5 the list of hooks has the plugins that handle %s, in the order in which they run, and no others",
  async (hook) => {
    const ran: string[] = [];
    const handler = (id: string) => () => void ran.push(id);
    const plugins = [
      loose("a/late", { [hook]: { order: "late", run: handler("a/late") } }),
      loose("b/other", { beforeTurn: handler("b/other"), checkpoint: handler("b/other") }),
      loose("c/twice", { [hook]: [handler("c/twice"), { order: "early", run: handler("c/twice") }] }),
    ];
    await using world = await open(scripted(says("Done.")), { plugins });
    await using bare = await open(scripted(says("Done.")), { plugins: plugins.slice(1, 2) });
    const installed = world.session.hooks();
    expect(installed[hook]).toEqual(["c/twice", "c/twice", "a/late"]);
    expect(bare.session.hooks()[hook]).toEqual([]);
    expect(bare.session.hooks().beforeTurn).toEqual(["b/other"]);
    ran.length = 0;
    await world.session.turn("Go.").result();
    expect(ran.filter((id) => id !== "b/other").slice(0, 3)).toEqual(installed[hook]);
    expect(JSON.parse(JSON.stringify(installed))).toEqual(installed);
  },
);

test("K5 the list of hooks names who fills each slot, has every hook, and is refused on a closed session", async () => {
  await using world = await open(echo(), {});
  const installed = world.session.hooks();
  expect(Object.keys(installed).sort()).toEqual(Object.keys(HOOKS).sort());
  const filled = Object.entries(installed).filter(([, plugins]) => plugins.length > 0);
  expect(filled.sort()).toEqual([
    ["protocolDriver", ["bowline/tool-calls"]],
    ["protocolSession", ["bowline/tool-calls"]],
  ]);
  await world.session.close();
  expect(() => world.session.hooks()).toThrow(expect.objectContaining({ code: "session.closed" }));
});

// ── Slots and protocols ─────────────────────────────────────────────────────────────────────────────────────────────

/** A protocol in a few lines: whatever the model says is the value of the turn, in capitals. */
const shouting = definePlugin({
  id: "test/shouting",
  version: "3",
  setup: () => ({
    protocolSession: {},
    protocolDriver: {
      preamble: () => ({ tools: [], prompt: [{ slot: "execution", text: "Shout." }] }),
      driver: {
        id: "test/shouting",
        version: 1,
        request: ({ system, messages, tools }) => ({ system, messages, tools }),
        onReply: (view, reply) => {
          const words = reply.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
          if (words === "again" && view.round === 1) return { kind: "ask" };
          if (words === "break") throw new Error("Hoarse.");
          return { kind: "finish", value: words.toUpperCase() };
        },
        onResults: () => ({ kind: "ask" }),
        onExec: () => ({ kind: "ask" }),
      },
    },
  }),
});

test("K6 a plugin may bring its own protocol", async () => {
  const model = scripted(says("again"), says("hello"));
  await using world = await open(model, { plugins: [shouting], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome).toEqual({ kind: "finished", by: "model", value: "HELLO" });
  expect(model.requests).toHaveLength(2);
  expect(model.requests[0]).toMatchObject({ system: "Shout.", tools: [] });
});

test("K6 a protocol that breaks fails the turn, by the runtime, and names itself", async () => {
  await using world = await open(scripted(says("break"), says("fine")), { plugins: [shouting] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "runtime", code: "protocol.failed", text: "break" });
  expect(outcome.kind === "failed" && outcome.reason).toContain("test/shouting failed: Hoarse.");
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "finished", value: "FINE" });
});

/** A protocol of which one function answers this. */
const nonsense = (part: "request" | "onReply" | "onResults", answer: unknown): Plugin =>
  loose("test/nonsense", {
    protocolSession: {},
    protocolDriver: {
      preamble: ({ tools }: { tools: unknown }) => ({ tools, prompt: [] }),
      driver: {
        id: "test/nonsense",
        version: 1,
        request: ({ system, messages, tools }: Record<string, unknown>) => ({ system, messages, tools }),
        onReply: () => ({ kind: "calls", calls: [{ at: "0", call: { id: "call_ping", name: "ping", input: {} } }] }),
        onResults: () => ({ kind: "answer" }),
        onExec: () => ({ kind: "answer" }),
        [part]: () => answer,
      },
    },
  });

test.each<readonly [string, "request" | "onReply" | "onResults", unknown]>([
  ["nothing to a reply", "onReply", undefined],
  ["a decision of no kind to a reply", "onReply", { kind: "dance" }],
  ["calls that are none", "onReply", { kind: "calls", calls: [null] }],
  ["no calls at all", "onReply", { kind: "calls" }],
  ["messages that are none", "onReply", { kind: "ask", add: [null] }],
  ["nothing to results", "onResults", undefined],
  ["results that are paired with nothing", "onResults", { kind: "ask", add: [{ role: "tool", parts: [] }] }],
  ["no request", "request", undefined],
])(
  "K6 a protocol with an invalid decision fails the turn, by the runtime, and the session continues: %s",
  async (_, part, answer) => {
    const model = scripted(...Array.from({ length: 4 }, () => calls("ping")));
    await using world = await open(model, {
      plugins: [nonsense(part, answer)],
      tools: [ping],
      limits: { roundsMax: 2 },
    });
    for (const turns of [1, 2]) {
      const { outcome } = await world.session.turn("Go.").result();
      expect(outcome).toMatchObject({ kind: "failed", code: "protocol.failed" });
      expect((await world.session.read()).turns).toBe(turns);
      expect(await world.reread()).toEqual(await world.session.read());
    }
  },
);

test("K6 a second owner of a slot is refused, and both are named", async () => {
  const other = loose("b/other", { protocolSession: {} });
  await expect(opening(shouting, other)).rejects.toMatchObject({
    code: "hook.exclusive",
    details: { hook: "protocolSession", plugins: ["test/shouting", "b/other"] },
  });
  const projector = (id: string) => loose(id, { projectResult: () => [] });
  await expect(opening(projector("a/one"), projector("b/two"))).rejects.toMatchObject({
    code: "hook.exclusive",
    details: { hook: "projectResult", plugins: ["a/one", "b/two"] },
  });
});

const driver = {
  id: "a/half",
  version: 1,
  request: ({ system, messages, tools }: Record<string, unknown>) => ({ system, messages, tools }),
  onReply: () => ({ kind: "answer" }),
  onResults: () => ({ kind: "ask" }),
  onExec: () => ({ kind: "ask" }),
};

test.each<readonly [string, object, string]>([
  ["protocolSession", {}, "protocolDriver"],
  [
    "protocolDriver",
    { driver, preamble: ({ tools }: { tools: unknown }) => ({ tools, prompt: [] }) },
    "protocolSession",
  ],
])("K6 a protocol that fills only %s is refused, and the missing slot is named", async (slot, value, missing) => {
  await expect(opening(loose("a/half", { [slot]: value }))).rejects.toMatchObject({
    code: "hook.missing",
    details: { hook: missing },
  });
});

test.each<readonly [string, object]>([
  ["a driver that is not an object", { protocolSession: {}, protocolDriver: 42 }],
  [
    "a driver without its functions",
    { protocolSession: {}, protocolDriver: { driver: { id: "x" }, preamble: () => ({}) } },
  ],
  ["no preamble", { protocolSession: {}, protocolDriver: { driver: {} } }],
  ["a session that is not an object", { protocolSession: "yes", protocolDriver: { driver: {}, preamble: () => ({}) } }],
])("K6 a slot that is filled with %s is refused when the session opens", async (_, parts) => {
  await expect(opening(loose("a/wrong", parts))).rejects.toMatchObject({
    code: "plugin.invalid",
    details: { plugin: "a/wrong" },
  });
});

// ── Directives ──────────────────────────────────────────────────────────────────────────────────────────────────────

test("K10 messages that hooks put in reach the model and are in the history once", async () => {
  let hasAsked = false;
  const plugin = definePlugin({
    id: "a/speaker",
    setup: () => ({
      beforeTurn: () => enqueueMessages("Before.", { role: "system", parts: [{ kind: "text", text: "Be kind." }] }),
      checkpoint: ({ at }) => {
        if (at === "after-work") return enqueueMessages("After work.");
        if (hasAsked) return undefined;
        hasAsked = true;
        return enqueueMessages("One more thing.");
      },
      afterTurn: () => enqueueMessages("After."),
    }),
  });
  const model = scripted(calls("ping"), says("First."), says("Second."), says("Third."));
  await using world = await open(model, { plugins: [plugin], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Second." });
  const first = [
    "user: Go.",
    "user: Before.",
    "system: Be kind.",
    "calls ping",
    "ping ok: Pong.",
    "user: After work.",
    "assistant: First.",
    "user: One more thing.",
    "assistant: Second.",
    "user: After.",
  ];
  expect(outline(model.requests[0]?.messages ?? [])).toEqual(first.slice(0, 3));
  expect(outline(model.requests[1]?.messages ?? [])).toEqual(first.slice(0, 6));
  expect(outline(model.requests[2]?.messages ?? [])).toEqual(first.slice(0, 8));
  expect(outline((await world.session.read()).messages)).toEqual(first);
  await world.session.turn("And?").result();
  expect(outline(model.requests[3]?.messages ?? [])).toEqual([
    ...first,
    "user: And?",
    "user: Before.",
    "system: Be kind.",
  ]);
});

test("K10 a checkpoint that always has something more to say is stopped by the limit of rounds", async () => {
  const plugin = definePlugin({ id: "a/nag", setup: () => ({ checkpoint: () => enqueueMessages("More!") }) });
  await using world = await open(echo(), { plugins: [plugin], limits: { roundsMax: 4 } });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "stopped",
    by: "limit",
    code: "limit.rounds",
  });
});

test("K10 an abort keeps what the other plugins put in, and events and traces go out", async () => {
  const traces: TelemetryEvent[] = [];
  const plugins = [
    definePlugin({
      id: "a/one",
      setup: () => ({ beforeTurn: () => [enqueueMessages("Kept."), emitTrace("why", { a: 1 })] }),
    }),
    definePlugin({
      id: "b/two",
      setup: () => ({ beforeTurn: () => [abortTurn("b.stop", "Stop."), emitEvent("stopped", [1])] }),
    }),
  ];
  const model = scripted();
  await using world = await open(model, { plugins, telemetry: onEvent((record) => void traces.push(record)) });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "plugin", code: "b.stop" });
  expect(only(events, "plugin")).toMatchObject([{ plugin: "b/two", name: "stopped", payload: [1] }]);
  expect(traces).toMatchObject([{ name: "a/one.why", about: { payload: { a: 1 } }, turnId: await turn.id }]);
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["Go.", "Kept."]);
  expect(model.requests).toEqual([]);
});

test.each<readonly [HookName, object, string]>([
  ["beforeTurn", deny("No."), "deny"],
  ["beforeTurn", { kind: "explode" }, "explode"],
  ["beforeTurn", {}, "undefined"],
  ["checkpoint", { kind: "replaceArgs", args: {} }, "replaceArgs"],
  ["afterTurn", abortTurn("a.b", "No."), "abortTurn"],
])("K10 %s must not answer %o, also if the compiler does not report it", async (hook, answer, directive) => {
  await using world = await open(scripted(says("Said.")), { plugins: [loose("a/wrong", { [hook]: () => [answer] })] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.directive" });
  expect(outcome.kind === "failed" && outcome.reason).toContain(
    `a/wrong returned the directive ${directive} from ${hook}`,
  );
});

test.each<readonly [HookName, object]>([
  ["beforeToolCall", abortTurn("a.b", "No.")],
  ["beforeToolCall", enqueueMessages("Hi.")],
  ["afterToolCall", { kind: "ask", reason: "Sure?" }],
])("K10 a call whose %s answers a forbidden directive is denied", async (hook, answer) => {
  const model = scripted(calls("ping"), says("Done."));
  await using world = await open(model, { plugins: [loose("a/wrong", { [hook]: () => answer })], tools: [ping] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(outline(model.requests[1]?.messages ?? []).at(-1)).toMatch(
    /^ping denied: .*a\/wrong returned .* which does not allow it/,
  );
});

const draft = (role: string, parts: unknown) => ({ kind: "enqueueMessages", messages: [{ role, parts }] });

test.each<readonly [string, HookName, unknown]>([
  ["a number", "beforeTurn", 42],
  ["text", "beforeTurn", "stop"],
  ["an abort without a code", "beforeTurn", { kind: "abortTurn" }],
  ["an event without a name", "beforeTurn", { kind: "emitEvent", payload: 1 }],
  ["messages that are not a list", "beforeTurn", { kind: "enqueueMessages", messages: "Hi." }],
  ["words of the model", "beforeTurn", draft("assistant", [{ kind: "text", text: "I said so." }])],
  ["a result of a tool", "afterTurn", draft("tool", [{ kind: "text", text: "Done." }])],
  ["a message without parts", "checkpoint", draft("user", undefined)],
  ["a message with a part that is null", "checkpoint", draft("user", [null])],
  ["a text that is not a text", "checkpoint", draft("user", [{ kind: "text", text: 42 }])],
  [
    "a call in a user's message",
    "checkpoint",
    draft("user", [{ kind: "toolCall", callId: "c", name: "ping", input: {} }]),
  ],
  ["a prompt part without text", "prompt", { slot: "guidance" }],
  ["a prompt part of no slot", "prompt", { slot: "nowhere", text: "Hi." }],
  ["a prompt part that is text", "prompt", "Be kind."],
  ["a context without messages", "context", { prompt: [] }],
  ["a context without a prompt", "context", { messages: [] }],
  ["a request without messages", "request", { system: "" }],
  ["a request that is text", "request", "Hi."],
  ["a chunk whose delta is a number", "stream", { delta: 42 }],
  ["a reply without parts", "response", { text: "Hi." }],
  ["a reply with parts that are none", "response", { parts: ["Hi."] }],
  ["an edit that is text", "toolCatalog", "ping"],
])("K10 an answer that cannot be used is an error of its owner: %s to %s", async (what, hook, answer) => {
  let isSick = true;
  const plugin = loose("a/wrong", { [hook]: () => (isSick ? answer : undefined) });
  await using world = await open(echo(), { plugins: [plugin], tools: [ping] });
  const { outcome } = await world.session.turn("Go.").result();
  expect(outcome, what).toMatchObject({ kind: "failed", by: "plugin", code: "hook.answer" });
  expect(outcome.kind === "failed" && outcome.reason).toContain("a/wrong");
  isSick = false;
  expect((await world.session.turn("Again.").result()).outcome).toMatchObject({ kind: "answered", text: "re: Again." });
});

// ── Deadlines ───────────────────────────────────────────────────────────────────────────────────────────────────────

const forever = (): Promise<never> => new Promise(() => {});

test.each(["beforeTurn", "prompt", "checkpoint", "afterTurn", "request", "context"] as const)(
  "K19 a handler of %s that does not answer in time fails the turn, by its name",
  async (hook) => {
    const plugin = loose("a/slow", { [hook]: { deadlineMs: 20, run: forever } });
    await using world = await open(echo(), { plugins: [plugin] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
      kind: "failed",
      by: "plugin",
      code: "hook.deadline",
      reason: `Plugin a/slow did not answer ${hook} within 20 ms.`,
    });
  },
);

test.each(["beforeToolCall", "afterToolCall"] as const)(
  "K19 a gate %s that does not answer in time denies",
  async (hook) => {
    const plugin = loose("a/slow", { [hook]: [{ deadlineMs: 20, run: forever }] });
    const model = scripted(calls("ping"), says("Done."));
    await using world = await open(model, { plugins: [plugin], tools: [ping] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(outline(model.requests[1]?.messages ?? []).at(-1)).toMatch(
      new RegExp(`^ping denied: .*a/slow did not answer ${hook} within 20 ms`),
    );
  },
);

test("K19 an observer that does not answer in time is an issue, and the turn is done", async () => {
  const lifecycle = {
    deadlineMs: 20,
    run: ({ event }: Seen) => (event.kind === "turnPersisted" ? forever() : undefined),
  };
  await using world = await open(echo(), { plugins: [loose("a/slow", { lifecycle })] });
  const { outcome, issues } = await world.session.turn("Go.").result();
  expect(outcome.kind).toBe("answered");
  expect(issues).toMatchObject([{ plugin: "a/slow", code: "hook.deadline" }]);
});

test("K19 a handler that reaches its deadline is notified by its signal", async () => {
  const told = Promise.withResolvers<string>();
  const run = async ({ signal }: { readonly signal: AbortSignal }) => {
    await aborted(signal);
    told.resolve("told");
  };
  await using world = await open(echo(), { plugins: [loose("a/slow", { beforeTurn: { deadlineMs: 20, run } })] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "failed", code: "hook.deadline" });
  const silence = new Promise((resolve) => setTimeout(resolve, 20, "not told"));
  expect(await Promise.race([told.promise, silence])).toBe("told");
});

test("K19 a handler that blocks past its deadline is reported afterwards", async () => {
  const traces: TelemetryEvent[] = [];
  const run = () => {
    for (const until = performance.now() + 20; performance.now() < until; );
  };
  await using world = await open(echo(), {
    plugins: [loose("a/busy", { beforeTurn: { deadlineMs: 5, run } })],
    telemetry: onEvent((record) => void traces.push(record)),
  });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  expect(JSON.stringify(traces)).toContain("hook.deadline");
  expect(JSON.stringify(traces)).toContain("a/busy");
});

test("K19 a late answer of a handler changes nothing", async () => {
  const late = Promise.withResolvers<object>();
  await using world = await open(scripted(says("Next.")), {
    plugins: [loose("a/slow", { beforeTurn: { deadlineMs: 20, run: () => late.promise } })],
  });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "failed", code: "hook.deadline" });
  late.resolve(enqueueMessages("Too late."));
  await new Promise((resolve) => setImmediate(resolve));
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["Go."]);
});

// ── Plugins that are not right ──────────────────────────────────────────────────────────────────────────────────────

describe("K2 an invalid plugin is refused, with its name", () => {
  const wrong = (code: string, plugin: string) =>
    expect.objectContaining({ code, details: expect.objectContaining({ plugin }) });

  test("installed twice", () =>
    expect(opening(loose("a/a", {}), loose("a/a", {}))).rejects.toEqual(wrong("plugin.duplicate", "a/a")));

  test("an id that cannot be one", () => {
    for (const id of ["", "a b", "x".repeat(200), undefined as never]) {
      expect(() => loose(id, {})).toThrow(expect.objectContaining({ code: "plugin.invalid" }));
    }
  });

  test("no setup", () => {
    expect(() => definePlugin({ id: "a/a" } as never)).toThrow(wrong("plugin.invalid", "a/a"));
  });

  test("an invalid order", () => {
    const make = () => definePlugin({ id: "a/a", order: "first" as never, setup: () => ({}) });
    expect(make).toThrow(wrong("plugin.invalid", "a/a"));
  });

  test("not made with definePlugin", () =>
    expect(opening({ id: "a/a", version: "1" } as never)).rejects.toEqual(wrong("plugin.invalid", "a/a")));

  test("nothing where a plugin should be", () =>
    expect(opening(undefined as never)).rejects.toMatchObject({ code: "plugin.invalid" }));

  test.each<readonly [string, () => object, string]>([
    [
      "throws",
      () => {
        throw new Error("Ouch.");
      },
      "plugin.setup",
    ],
    ["returns a promise", async () => ({}), "plugin.setup"],
    ["returns nothing", () => undefined as never, "plugin.setup"],
    ["returns a list", () => [], "plugin.setup"],
    ["returns an unknown hook", () => ({ beforeToolcall: () => {} }), "hook.unknown"],
    ["returns a hook that is not a function", () => ({ beforeTurn: "now" }), "plugin.invalid"],
    ["returns a list with a hole", () => ({ beforeTurn: [undefined] }), "plugin.invalid"],
    [
      "returns a handler with an invalid order",
      () => ({ beforeTurn: { order: "first", run: () => {} } }),
      "plugin.invalid",
    ],
    [
      "returns a handler with a deadline that is none",
      () => ({ beforeTurn: { deadlineMs: -1, run: () => {} } }),
      "plugin.invalid",
    ],
    ["returns tools that are not a list", () => ({ tools: ping }), "plugin.invalid"],
    ["returns a tool that is none", () => ({ tools: [{ name: "x" }] }), "plugin.invalid"],
  ])("setup %s", (_, setup, code) => expect(opening(loose("a/a", setup))).rejects.toEqual(wrong(code, "a/a")));

  test("an unknown hook, with the hooks there are", async () => {
    const error = await opening(loose("a/a", { beforeToolcall: () => {} })).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(RuntimeError);
    expect((error as RuntimeError).hint).toContain("beforeToolCall");
  });

  test("a state that does not accept {}", () => {
    const plugin = definePlugin({ id: "a/a", state: z.object({ n: z.number() }) as never, setup: () => ({}) });
    return expect(opening(plugin)).rejects.toEqual(wrong("state.invalid", "a/a"));
  });
});

test("K2 options are parsed where they are given; what is left out may have defaults", async () => {
  const seen: number[] = [];
  const plugin = definePlugin({
    id: "a/options",
    options: z.object({ max: z.number().default(7) }),
    setup: ({ options }) => {
      seen.push(options.max);
      return {};
    },
  });
  expect(() => plugin({ max: "many" as never })).toThrow(
    expect.objectContaining({
      code: "plugin.options",
      details: { plugin: "a/options", problem: expect.stringContaining("max") },
    }),
  );
  await opening(plugin);
  await opening(plugin({}));
  await opening(plugin({ max: 3 }));
  expect(seen).toEqual([7, 7, 3]);
  const strict = definePlugin({ id: "a/strict", options: z.object({ url: z.string() }), setup: () => ({}) });
  await expect(opening(strict as never)).rejects.toMatchObject({
    code: "plugin.options",
    details: { plugin: "a/strict" },
  });
  expect(() => (loose("a/none", {}) as never as (options: unknown) => Plugin)({ max: 1 })).toThrow(
    expect.objectContaining({ code: "plugin.options" }),
  );
});

/** Notes when it is opened and closed. */
const noted = (id: string, notes: string[], open?: () => unknown) =>
  definePlugin({
    id,
    open: async () => {
      await open?.();
      notes.push(`open ${id}`);
      return id;
    },
    close: (shared) => {
      notes.push(`close ${shared}`);
      if (id === "b") throw new Error("It jams.");
    },
    setup: () => ({}),
  });

test("K2 plugins open in order, once per runtime, and close in reverse, whatever fails", async () => {
  const notes: string[] = [];
  const traces: TelemetryEvent[] = [];
  const plugins = ["a", "b", "c"].map((id) => noted(id, notes));
  const runtime = await createRuntime({
    store: memory(),
    model: echo(),
    plugins,
    telemetry: onEvent((record) => void traces.push(record)),
  });
  await runtime.session();
  await runtime.session();
  await runtime.close();
  await runtime.close();
  expect(notes).toEqual(["open a", "open b", "open c", "close c", "close b", "close a"]);
  expect(traces).toMatchObject([{ name: "plugin.close", about: { plugin: "b" } }]);
});

test("K2 a plugin that cannot open fails the runtime by its name, and those already open are closed", async () => {
  const notes: string[] = [];
  const sick = noted("sick", notes, () => Promise.reject(new Error("No network.")));
  const plugins = [noted("a", notes), noted("b", notes), sick, noted("d", notes)];
  await expect(createRuntime({ store: memory(), model: echo(), plugins })).rejects.toMatchObject({
    code: "plugin.open",
    details: { plugin: "sick", problem: "No network." },
  });
  expect(notes).toEqual(["open a", "open b", "close b", "close a"]);
});

test("K2 a runtime closes its plugins also when a session could not be opened", async () => {
  const notes: string[] = [];
  const begun = Promise.withResolvers<void>();
  const failing = Promise.withResolvers<void>();
  const initialize = () => {
    begun.resolve();
    return failing.promise;
  };
  const protocol = loose("a/protocol", {
    protocolSession: { initialize },
    protocolDriver: { driver, preamble: ({ tools }: { tools: unknown }) => ({ tools, prompt: [] }) },
  });
  const runtime = await createRuntime({ store: memory(), model: echo(), plugins: [noted("a", notes), protocol] });
  const opening = runtime.session().catch((error: unknown) => error);
  await begun.promise;
  const closed = runtime.close();
  failing.reject(new Error("No room."));
  await closed;
  expect(await opening).toBeInstanceOf(Error);
  expect(notes).toEqual(["open a", "close a"]);
});

test.each<readonly [string, object]>([
  ["a limit that does not exist", { limits: { roundMax: 3 } }],
  ["a limit that is not a number", { limits: { roundsMax: 0 } }],
  ["two tools of one name", { tools: [ping, ping] }],
  [
    "a model of an unknown version",
    { model: { specificationVersion: "v1", provider: "a", modelId: "b", doStream() {} } },
  ],
])("K2 a runtime that is refused for %s leaves no plugin open", async (_, options) => {
  const notes: string[] = [];
  await expect(
    createRuntime({ store: memory(), model: echo(), plugins: [noted("a", notes)], ...options } as never),
  ).rejects.toBeInstanceOf(RuntimeError);
  expect(["", "open a,close a"]).toContain(notes.join());
});
