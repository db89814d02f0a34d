import { definePlugin, defineTool, type Store, type TelemetryEvent } from "bowline";
import { deny, HOOKS, type HookName, type Services } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo, overflow } from "../kit/models.ts";
import { codeOf, outline, textIn } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, running } from "../kit/worlds.ts";

const SLOTS: ReadonlySet<HookName> = new Set(["protocolSession", "protocolDriver", "codeExecutor", "proseProjector"]);
const HANDLED = (Object.keys(HOOKS) as HookName[]).filter((hook) => !SLOTS.has(hook));
const FROM_TOOLS: readonly (keyof Services)[] = [
  "session",
  "catalog",
  "membership",
  "sessions",
  "graph",
  "complete",
  "blobs",
  "trace",
  "jobs",
  "monitors",
  "triggers",
];
/** Written out: the table must not be compared with itself. */
const SERVICES: { readonly [hook: string]: readonly (keyof Services)[] } = {
  input: ["session", "catalog", "blobs"],
  context: ["session", "sessions", "graph", "jobs", "triggers", "complete"],
  compact: ["session", "sessions", "graph", "jobs", "triggers", "complete"],
  prompt: ["session", "catalog", "sessions", "jobs", "triggers", "complete"],
  toolCatalog: [],
  beforeTurn: ["session", "membership", "sessions", "trace", "jobs", "triggers"],
  checkpoint: ["session", "sessions", "trace", "jobs", "triggers"],
  afterTurn: ["session", "sessions", "trace", "jobs", "triggers"],
  request: ["session", "catalog"],
  stream: [],
  response: ["session", "catalog"],
  streamFinished: [],
  beforeToolCall: FROM_TOOLS,
  afterToolCall: FROM_TOOLS,
  projectResult: ["session", "catalog", "blobs"],
  config: ["session", "catalog"],
  lifecycle: ["session", "catalog", "graph", "complete", "trace", "jobs", "triggers"],
};
const ALL_SERVICES: ReadonlySet<string> = new Set(FROM_TOOLS);
/** What a hook shows besides the services, and what every hook has. */
const SEES: Partial<Record<HookName, readonly string[]>> = {
  input: ["input"],
  context: ["context"],
  compact: ["messages", "reason", "attempt"],
  toolCatalog: ["tools", "contract"],
  beforeTurn: ["input"],
  checkpoint: ["at"],
  afterTurn: ["report"],
  request: ["request"],
  stream: ["chunk"],
  response: ["reply"],
  streamFinished: ["reason"],
  beforeToolCall: ["call"],
  afterToolCall: ["call", "output", "durationMs"],
  projectResult: ["call", "output", "parts", "durationMs"],
  config: ["config"],
  lifecycle: ["event"],
};

/** The keys of every event that a session brings about, by hook; of `lifecycle` also by its kind. */
async function eventsByHook(hasState: boolean): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const keys = new Map<string, Set<string>>();
  const note = (hook: string, event: object) => {
    const known = keys.get(hook);
    const found = Object.keys(event);
    if (known === undefined) keys.set(hook, new Set(found));
    else expect([...known].sort(), hook).toEqual([...found].sort());
  };
  const handlers = () =>
    Object.fromEntries(
      HANDLED.map((hook) => [
        hook,
        (event: { event?: { kind: string } }) => {
          note(hook === "lifecycle" ? `lifecycle ${event.event?.kind}` : hook, event);
          if (hook === "projectResult") return [{ kind: "text", text: "Shown." }];
          if (hook === "compact") return [{ role: "user", parts: [{ kind: "text", text: "In short." }] }];
          return undefined;
        },
      ]),
    ) as object;
  const plugin = hasState
    ? definePlugin({ id: "a/looks", state: z.object({}), setup: handlers })
    : definePlugin({ id: "a/looks", setup: handlers });
  await using world = await open(scripted(calls("ping"), overflow, says("Done.")), {
    plugins: [plugin],
    tools: [ping],
  });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  await world.session.configure({ instructions: "x" });
  return keys;
}

test("K18 each hook is given exactly the services of its row, and nothing else that it was not promised", async () => {
  const without = await eventsByHook(false);
  const withState = await eventsByHook(true);
  const heard = new Set([...without.keys()].map((key) => key.split(" ")[0]));
  expect([...heard].sort()).toEqual(Object.keys(SERVICES).sort());
  for (const [key, found] of without) {
    const [hook, moment] = key.split(" ") as [HookName, string | undefined];
    const services = [...found].filter((name) => ALL_SERVICES.has(name));
    expect(services.sort(), key).toEqual([...(SERVICES[hook] ?? [])].sort());
    const isInTurn = hook !== "config" && hook !== "input" && (moment === undefined || moment === "turnFinalized");
    const rest = [...found].filter((name) => !ALL_SERVICES.has(name));
    const common = ["sessionId", "signal", "read", "extension", "once", ...(isInTurn ? ["turnId"] : [])];
    expect(rest.sort(), key).toEqual([...common, ...(SEES[hook] ?? [])].sort());
    expect([...(withState.get(key) ?? [])].sort(), key).toEqual([...found, "state"].sort());
  }
});

test("K18 the table of services holds for state: `write` updates, `read` refuses", async () => {
  const seen = new Map<string, string>();
  const handlers = () =>
    Object.fromEntries(
      HANDLED.map((hook) => [
        hook,
        ({ state }: { state: { update(change: (now: object) => object): void } }) => {
          try {
            state.update((now) => ({ ...now }));
            seen.set(hook, "write");
          } catch (error) {
            seen.set(hook, (error as { code: string }).code === "state.parallel" ? "read" : String(error));
          }
          if (hook === "projectResult") return [{ kind: "text", text: "Shown." }];
          if (hook === "compact") return [{ role: "user", parts: [{ kind: "text", text: "In short." }] }];
          return undefined;
        },
      ]),
    ) as object;
  const plugin = definePlugin({ id: "a/writes", state: z.object({}), setup: handlers });
  await using world = await open(scripted(calls("ping"), overflow, says("Done.")), {
    plugins: [plugin],
    tools: [ping],
  });
  await world.session.turn("Go.").result();
  await world.session.configure({ instructions: "x" });
  expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(HANDLED.map((hook) => [hook, HOOKS[hook].state])));
});

const OFFERED_NOT = ["jobs"] as const;

/** A store as one was before there were jobs. */
const jobless = (): Store => {
  const store = memory();
  return new Proxy(store, {
    get: (target, key) => {
      const found: unknown = key === "jobs" ? undefined : Reflect.get(target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
};

test.each(OFFERED_NOT)(
  "K18 %s, on a store that has none, is service.unavailable and names the service and the plugin",
  async (service) => {
    const found = new Map<string, unknown>();
    const use = async (where: string, event: object) => {
      const used = (event as Record<string, Record<string, (...given: unknown[]) => unknown>>)[service]!;
      try {
        found.set(where, await used.list?.());
      } catch (error) {
        const { code, details } = error as { code: string; details: unknown };
        found.set(where, { code, details });
      }
    };
    const hooks = HANDLED.filter((hook) => (HOOKS[hook].services as readonly string[]).includes(service));
    const plugin = definePlugin({
      id: "a/uses",
      setup: ({ query, command, task }) => ({
        ...(Object.fromEntries(hooks.map((hook) => [hook, (event: object) => use(hook, event)])) as object),
        operations: {
          query: query({ run: (context) => (service in context ? use("query", context) : undefined) }),
          command: command({ run: (context) => use("command", context) }),
          task: task({ run: (context) => use("task", context) }),
        },
      }),
    });
    const store = jobless();
    await using world = await open(scripted(calls("ping"), overflow), { store, plugins: [plugin], tools: [ping] });
    await world.session.turn("Go.").result();
    await world.session.query(plugin, "query");
    await world.session.command(plugin, "command");
    await world.session.task(plugin, "task");
    const expected = [...hooks, ...(service === "jobs" ? ["query"] : []), "command", "task"];
    expect([...found.keys()].sort()).toEqual([...expected].sort());
    for (const [where, answer] of found)
      expect(answer, where).toEqual({ code: "service.unavailable", details: { service, plugin: "a/uses" } });
  },
);

test("K18 a hook that uses a service that is not offered fails by its row, by its plugin", async () => {
  const plugin = definePlugin({
    id: "a/uses",
    setup: () => ({ context: async ({ jobs }) => void (await jobs.list()) }),
  });
  await using world = await open(echo(), { store: jobless(), plugins: [plugin] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "plugin",
    code: "service.unavailable",
    reason: expect.stringMatching(/a\/uses .*jobs/),
  });
});

test("K18 an event with a service that is not offered can still be looked at, spread and returned from", async () => {
  const kept: object[] = [];
  const plugin = definePlugin({
    id: "a/logs",
    setup: () => ({
      context: async (event) => {
        kept.push({ ...event }, Object.entries(event));
        const { jobs } = event;
        await Promise.resolve(jobs); // A promise looks for `then`.
        expect(`${typeof jobs}`).toBe("object");
      },
    }),
  });
  await using world = await open(echo(), { plugins: [plugin] });
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
  expect(kept).toHaveLength(2);
});

test("K18 blobs, traces and sessions work in the hooks that have them", async () => {
  const store = memory();
  const traces: unknown[] = [];
  const plugin = definePlugin({
    id: "a/uses",
    setup: () => ({
      beforeToolCall: async ({ blobs, trace, sessions, catalog, session }) => {
        const hash = await blobs.put(new TextEncoder().encode("bytes"));
        trace.emit("put", { hash });
        const { id } = await sessions.create({ id: "side", kind: "child", firstInput: "Go." });
        trace.emit("made", { id, again: (await blobs.get(hash))?.length ?? 0 });
        trace.emit("saw", { tools: catalog.list().length, said: session.read().messages.length });
      },
      afterToolCall: async ({ sessions, trace }) =>
        trace.emit("took", { words: textIn((await sessions.takeFirstInput("side"))?.parts ?? []) }),
    }),
  });
  await using runtime = await running({
    store,
    model: scripted(calls("ping"), says("Done.")),
    plugins: [plugin],
    tools: [ping],
    telemetry: onEvent(({ name, about }) => name.startsWith("a/uses") && traces.push([name, about.payload])),
  });
  const session = await runtime.session("s");
  const { outcome } = await session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered" });
  expect(outline((await session.read()).messages)).toContain("ping ok: Pong.");
  expect(traces).toEqual([
    ["a/uses.put", { hash: expect.any(String) }],
    ["a/uses.made", { id: "side", again: 5 }],
    ["a/uses.saw", { tools: 1, said: 2 }],
    ["a/uses.took", { words: "Go." }],
  ]);
});

test("K18 what a plugin emits as a trace has its session, its turn and its own context, in hooks, tools and operations", async () => {
  const records: TelemetryEvent[] = [];
  const refused: unknown[] = [];
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const plugin = definePlugin({
    id: "a/emits",
    setup: ({ command }) => ({
      beforeToolCall: ({ trace, call }) => trace.emit("gate", { name: call.name }, { callId: call.id, effect: "r1" }),
      operations: {
        emit: command({
          run: async ({ trace }) => {
            trace.emit("plain");
            for (const context of [7, "x", null, [1], circle, { run: () => {} }, { long: "x".repeat(5_000) }])
              refused.push(await codeOf(() => trace.emit("wrong", 1, context as never)));
          },
        }),
      },
    }),
  });
  const emitting = defineTool({
    name: "ping",
    description: "Pings.",
    input: z.object({}),
    execute: (_, { trace }) => trace.emit("tool", [1], { jobId: "job_1" }),
  });
  const trace = (record: TelemetryEvent): void => void (/^(a\/emits|app)\./.test(record.name) && records.push(record));
  await using runtime = await running({
    model: scripted(calls("ping"), says("Done.")),
    plugins: [plugin],
    tools: [emitting],
    telemetry: onEvent(trace),
  });
  const session = await runtime.session("s");
  const { turnId } = await session.turn("Go.").result();
  await session.command(plugin, "emit");
  const [at, sessionId] = [expect.any(Number), "s"];
  const context = { callId: expect.any(String), effect: "r1" };
  expect(records).toEqual([
    { at, sessionId, turnId, name: "a/emits.gate", about: { payload: { name: "ping" } }, context },
    { at, sessionId, turnId, name: "app.tool", about: { payload: [1] }, context: { jobId: "job_1" } },
    { at, sessionId, name: "a/emits.plain", about: { payload: null } },
  ]);
  expect(refused).toEqual([...Array.from({ length: 6 }, () => "options.invalid"), "limit.bytes"]);
});

test("K18 J2 every hook and operation that has jobs can list them; a query can only read", async () => {
  const found = new Map<string, readonly string[]>();
  const use = async (where: string, { jobs }: { readonly jobs: Services["jobs"] }) => {
    found.set(
      where,
      (await jobs.list()).map(({ label }) => label),
    );
  };
  const hooks = HANDLED.filter((hook) => (HOOKS[hook].services as readonly string[]).includes("jobs"));
  const plugin = definePlugin({
    id: "a/lists",
    setup: ({ query, command, task }) => ({
      ...(Object.fromEntries(hooks.map((hook) => [hook, (event: never) => use(hook, event)])) as object),
      operations: {
        query: query({
          run: async ({ jobs }) => {
            found.set("query", Object.keys(jobs));
            return (await jobs.list()).length;
          },
        }),
        command: command({ run: (context) => use("command", context) }),
        task: task({ run: (context) => use("task", context) }),
      },
    }),
  });
  await using world = await open(scripted(calls("ping"), overflow), { plugins: [plugin], tools: [ping] });
  await world.session.jobs.register({ label: "Far away" });
  await world.session.turn("Go.").result();
  expect(await world.session.query(plugin, "query")).toBe(1);
  await world.session.command(plugin, "command");
  await world.session.task(plugin, "task");
  expect(found.get("query")).toEqual(["list", "get", "of"]);
  found.delete("query");
  const all = [...hooks, "command", "task"].map((where) => [where, ["Far away"]]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(all));
  for (const hook of ["lifecycle", "beforeTurn", "checkpoint", "afterTurn"]) expect(hooks).toContain(hook);
});

test("K10 result hooks receive the duration of a call, all attempts together; for a call that was not made, nothing", async () => {
  const took: (readonly [string, number | undefined])[] = [];
  let tries = 0;
  const slow = defineTool({
    name: "slow",
    description: "Is slow.",
    input: z.object({}),
    retry: { policy: "idempotent", attempts: 2, baseMs: 30 },
    async execute() {
      if (tries++ === 0) throw new Error("Once more.");
      await new Promise((resolve) => setTimeout(resolve, 20));
      return "slow";
    },
  });
  const looks = definePlugin({
    id: "a/looks",
    setup: () => ({
      beforeToolCall: ({ call }) => (call.name === "ping" ? deny("No.") : undefined),
      afterToolCall: ({ call, durationMs }) => void took.push([`after ${call.name}`, durationMs]),
      projectResult: ({ call, durationMs, parts }) => {
        took.push([`shown ${call.name}`, durationMs]);
        return parts;
      },
    }),
  });
  const model = scripted(both(calls("slow"), calls("ping")), says("Done."));
  await using world = await open(model, { plugins: [looks], tools: [slow, ping] });
  await world.session.turn("Go.").result();
  const found = Object.fromEntries(took);
  expect(found["after slow"]).toBeGreaterThanOrEqual(45);
  expect(found["shown slow"]).toBe(found["after slow"]);
  expect([found["after ping"], found["shown ping"]]).toEqual([undefined, undefined]);
});
