import { definePlugin, type TelemetryEvent } from "bowline";
import { point } from "bowline/plugin";
import { calls, says, scripted } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { outline } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open, ping, running } from "../kit/worlds.ts";

// ── K16: options ────────────────────────────────────────────────────────────────────────────────────────────────────

const limited = definePlugin({
  id: "acme/limited",
  options: z.object({ max: z.number().default(7), mode: z.enum(["soft", "hard"]).default("soft") }),
  setup: ({ options, query }) => ({ operations: { options: query({ run: () => options }) } }),
});
const strict = definePlugin({
  id: "acme/strict",
  options: z.object({ token: z.string() }),
  setup: ({ options, query }) => ({ operations: { token: query({ run: () => options.token }) } }),
});

test("K16 options are given at the installation; what is left out has its default", async () => {
  for (const [plugin, expected] of [
    [limited, { max: 7, mode: "soft" }],
    [limited({}), { max: 7, mode: "soft" }],
    [limited({ max: 1 }), { max: 1, mode: "soft" }],
    [limited({ mode: "hard" }), { max: 7, mode: "hard" }],
  ] as const) {
    await using runtime = await running({ plugins: [plugin] });
    const session = await runtime.session();
    expect(await session.query(limited, "options")).toEqual(expected);
  }
});

test("K16 options for one session take the place of the installed ones, whole, and the next opening has them too", async () => {
  await using runtime = await running({ plugins: [limited({ max: 1, mode: "hard" }), strict({ token: "t" })] });
  const own = await runtime.session("s", { plugins: [limited.options({ max: 2 })] });
  expect(await own.query(limited, "options")).toEqual({ max: 2, mode: "soft" });
  expect(await own.query(strict, "token")).toBe("t");
  const other = await runtime.session("other");
  expect(await other.query(limited, "options")).toEqual({ max: 1, mode: "hard" });
  await own.turn("Hi.").result();
  await own.close();
  const again = await runtime.session("s");
  expect(await again.query(limited, "options")).toEqual({ max: 2, mode: "soft" });
  expect((await again.read()).turns).toBe(1);
});

test("K16 options of a bad shape are refused where they are given, and name the plugin", async () => {
  for (const [give, words] of [
    [() => limited({ max: "many" } as never), "max"],
    [() => limited.options({ mode: "loud" } as never), "mode"],
    [() => strict({} as never), "token"],
    [() => strict.options(undefined as never), "token"],
  ] as const)
    expect(give).toThrow(
      expect.objectContaining({
        code: "plugin.options",
        details: { plugin: expect.stringMatching(/^acme\//), problem: expect.stringContaining(words) },
      }),
    );
  await expect(running({ plugins: [strict] })).rejects.toMatchObject({
    code: "plugin.options",
    details: { plugin: "acme/strict" },
  });
});

test("K16 options for a plugin that is not installed, and for one that takes none, are typed; no session is made", async () => {
  const none = definePlugin({ id: "a/none", setup: () => ({}) });
  await using runtime = await running({ plugins: [none] });
  await expect(runtime.session("s", { plugins: [limited.options({})] })).rejects.toMatchObject({
    code: "plugin.options",
    details: { plugin: "acme/limited", problem: "the plugin is not installed" },
  });
  expect(() => none.options({ x: 1 } as never)).toThrow(expect.objectContaining({ code: "plugin.options" }));
  expect(await runtime.sessions.list()).toEqual([]);
});

test("K16 options that came from elsewhere (a file, the wire) are checked when the session opens", async () => {
  await using runtime = await running({ plugins: [limited] });
  await expect(
    runtime.session("s", { plugins: [{ plugin: "acme/limited", options: { max: "many" } }] }),
  ).rejects.toMatchObject({ code: "plugin.options", details: { plugin: "acme/limited" } });
  const session = await runtime.session("t", { plugins: [{ plugin: "acme/limited", options: { max: 3 } }] });
  expect(await session.query(limited, "options")).toEqual({ max: 3, mode: "soft" });
});

test("K16 options for an opening are not dropped because the session is open already", async () => {
  await using runtime = await running({ plugins: [limited] });
  await runtime.session("s");
  const second = runtime.session("s", { plugins: [limited.options({ max: 2 })] });
  expect(await (await second).query(limited, "options")).toEqual({ max: 2, mode: "soft" });
});

test("K16 open is given the installed options once, and setup those of the session at every opening", async () => {
  const heard: unknown[] = [];
  const plugin = definePlugin({
    id: "a/heard",
    options: z.object({ n: z.number().default(0) }),
    open: ({ options }) => {
      heard.push(["open", options.n]);
      return `shared ${options.n}`;
    },
    setup: ({ options, shared, session }) => {
      heard.push(["setup", session.id, options.n, shared]);
      return {};
    },
  });
  await using runtime = await running({ plugins: [plugin({ n: 1 })] });
  await (await runtime.session("a")).close();
  await runtime.session("a", { plugins: [plugin.options({ n: 2 })] });
  await runtime.session("b");
  expect(heard).toEqual([
    ["open", 1],
    ["setup", "a", 1, "shared 1"],
    ["setup", "a", 2, "shared 1"],
    ["setup", "b", 1, "shared 1"],
  ]);
});

test("K16 options that a schema transforms are transformed once", async () => {
  const plugin = definePlugin({
    id: "a/transforms",
    options: z.object({ csv: z.string().transform((text) => text.split(",")) }),
    setup: ({ options, query }) => ({ operations: { list: query({ run: () => options.csv }) } }),
  });
  await using runtime = await running({ plugins: [plugin({ csv: "a,b" })] });
  expect(await (await runtime.session()).query(plugin, "list")).toEqual(["a", "b"]);
  const own = await runtime.session("own", { plugins: [plugin.options({ csv: "c" })] });
  expect(await own.query(plugin, "list")).toEqual(["c"]);
});

// ── K17: points ─────────────────────────────────────────────────────────────────────────────────────────────────────

const prices = point<{ tool: string; cost: number }, ReadonlyMap<string, number>>(
  "acme/prices",
  (given) => new Map(given.map(({ value }) => [value.tool, value.cost])),
);
const owners = point<string, string>("acme/owners", (given) =>
  given.map(({ plugin, value }) => `${plugin}=${value}`).join(" "),
);
const plain = point<number>("acme/plain");

const gives = (id: string, contributions: Parameters<typeof points>[0], order?: "early") =>
  points(contributions, id, order);
function points(contributions: readonly ReturnType<typeof prices.of>[], id = "a/gives", order?: "early") {
  return definePlugin({ id, ...(order === undefined ? {} : { order }), setup: () => ({ contributions }) });
}

test("K17 what plugins contribute to a point is combined in order of installation, each with its owner", async () => {
  const plugins = [
    gives("b/b", [owners.of("1"), plain.of(1), owners.of("2")]),
    gives("a/a", [owners.of("3"), plain.of(2)], "early"),
    gives("c/c", []),
  ];
  await using world = await open(echo(), { plugins });
  expect(world.session.contributed(owners)).toBe("b/b=1 b/b=2 a/a=3");
  const list = world.session.contributed(plain);
  expectTypeOf(list).toEqualTypeOf<readonly number[]>();
  expect(list).toEqual([1, 2]);
});

test("K17 a point to which nobody contributed has the value of nothing", async () => {
  await using world = await open(echo());
  expect(world.session.contributed(plain)).toEqual([]);
  expect(world.session.contributed(owners)).toBe("");
  expect(world.session.contributed(prices).size).toBe(0);
});

test("K17 a point is known by identity, not by its id", async () => {
  const twin = point<number>("acme/plain");
  await using world = await open(echo(), { plugins: [gives("a/a", [plain.of(1)]), gives("b/b", [twin.of(2)])] });
  expect(world.session.contributed(plain)).toEqual([1]);
  expect(world.session.contributed(twin)).toEqual([2]);
});

test("K17 points are read in every hook and operation, and combined once a session", async () => {
  let combined = 0;
  const counted = point<number, { readonly sum: number }>("acme/counted", (given) => {
    combined++;
    return { sum: given.reduce((sum, { value }) => sum + value, 0) };
  });
  const seen = new Map<string, unknown>();
  const note = (name: string, read: (from: typeof counted) => unknown) => void seen.set(name, read(counted));
  const reads = definePlugin({
    id: "a/reads",
    setup: ({ query, command, task }) => ({
      context: ({ read }) => note("context", read as never),
      beforeTurn: ({ read }) => note("beforeTurn", read as never),
      prompt: ({ read }) => note("prompt", read as never),
      toolCatalog: ({ read }) => note("toolCatalog", read as never),
      request: ({ read }) => note("request", read as never),
      stream: ({ read }) => note("stream", read as never),
      streamFinished: ({ read }) => note("streamFinished", read as never),
      response: ({ read }) => note("response", read as never),
      beforeToolCall: ({ read }) => note("beforeToolCall", read as never),
      afterToolCall: ({ read }) => note("afterToolCall", read as never),
      checkpoint: ({ read }) => note("checkpoint", read as never),
      afterTurn: ({ read }) => note("afterTurn", read as never),
      config: ({ read }) => note("config", read as never),
      lifecycle: ({ event, read }) => note(event.kind, read as never),
      operations: {
        query: query({ run: ({ read }) => note("query", read as never) }),
        command: command({ run: ({ read }) => note("command", read as never) }),
        task: task({ run: ({ read }) => note("task", read as never) }),
      },
    }),
  });
  const model = scripted(calls("ping"), says("Done."));
  const plugins = [reads, gives("b/b", [counted.of(2)]), gives("c/c", [counted.of(3)])];
  await using world = await open(model, { plugins, tools: [ping] });
  await world.session.turn("Go.").result();
  await world.session.configure({ instructions: "x" });
  await world.session.query(reads, "query");
  await world.session.command(reads, "command");
  await world.session.task(reads, "task");
  expect(seen.size).toBe(20);
  for (const [where, value] of seen) expect(value, where).toEqual({ sum: 5 });
  expect(world.session.contributed(counted)).toEqual({ sum: 5 });
  expect(combined).toBe(1);
});

test("K17 a contribution may differ from session to session", async () => {
  const plugin = definePlugin({
    id: "a/own",
    setup: ({ session }) => ({ contributions: [owners.of(session.id)] }),
  });
  await using runtime = await running({ plugins: [plugin] });
  expect((await runtime.session("one")).contributed(owners)).toBe("a/own=one");
  expect((await runtime.session("two")).contributed(owners)).toBe("a/own=two");
});

test("K17 a plugin is priced by others: points carry what a plugin cannot know", async () => {
  const model = scripted(calls("ping"), says("Done."));
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({
      beforeToolCall: ({ call, read }) =>
        (read(prices).get(call.name) ?? 1) > 2 ? { kind: "deny" as const, reason: "Too dear." } : undefined,
    }),
  });
  await using world = await open(model, {
    plugins: [guard, gives("b/b", [prices.of({ tool: "ping", cost: 3 })])],
    tools: [ping],
  });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)[2]).toContain("Too dear.");
});

test("K17 a combination that fails is an error of the reader, and the session lives", async () => {
  const sick = point<number, number>("acme/sick", () => {
    throw new Error("Ouch.");
  });
  const reads = definePlugin({
    id: "a/reads",
    setup: ({ query }) => ({
      prompt: ({ read, session }) => (session.read().turns === 0 ? void read(sick) : undefined),
      operations: { read: query({ run: ({ read }) => read(sick) }) },
    }),
  });
  await using world = await open(echo(), { plugins: [reads] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({
    kind: "failed",
    by: "plugin",
    code: "hook.failed",
  });
  await expect(world.session.query(reads, "read")).rejects.toMatchObject({ code: "operation.failed" });
  expect(() => world.session.contributed(sick)).toThrow("Ouch.");
  expect((await world.session.turn("Go.").result()).outcome.kind).toBe("answered");
});

test.each<readonly [string, unknown]>([
  ["no list", { a: 1 }],
  ["a bare value", [1]],
  ["nothing", [undefined]],
  ["an object of another kind", [{ point: "acme/plain", value: 1 }]],
])("K17 contributions that are %s are refused when the session opens", async (_, contributions) => {
  const plugin = definePlugin({ id: "a/wrong", setup: () => ({ contributions: contributions as never }) });
  await using runtime = await running({ plugins: [plugin] });
  await expect(runtime.session()).rejects.toMatchObject({ code: "plugin.invalid", details: { plugin: "a/wrong" } });
});

// ── K17: triggers ───────────────────────────────────────────────────────────────────────────────────────────────────

test("K17 the triggers that plugins declare are listed, in order", async () => {
  const declares = (id: string, ...triggers: readonly object[]) =>
    definePlugin({ id, setup: () => ({ triggers: triggers as never }) });
  const traces: TelemetryEvent[] = [];
  await using world = await open(echo(), {
    plugins: [
      declares("a/git", { name: "repo.pushed", description: "Somebody pushed.", payload: { type: "object" } }),
      declares("b/mail", { name: "mail.came" }, { name: "mail.went" }),
    ],
    telemetry: onEvent((record) => traces.push(record)),
  });
  expect(world.session.triggers.declared()).toEqual([
    { name: "repo.pushed", description: "Somebody pushed.", payload: { type: "object" } },
    { name: "mail.came" },
    { name: "mail.went" },
  ]);
  await using bare = await open(echo());
  expect(bare.session.triggers.declared()).toEqual([]);
});

test.each<readonly [string, readonly object[], readonly object[], string]>([
  ["by two plugins", [{ name: "mail.came" }], [{ name: "mail.came" }], "a/one"],
  ["twice by one", [], [{ name: "mail.came" }, { name: "mail.came" }], "b/two"],
])("K17 a trigger that is declared %s is refused, and both are named", async (_, first, second, before) => {
  const declares = (id: string, triggers: readonly object[]) =>
    definePlugin({ id, setup: () => ({ triggers: triggers as never }) });
  await using runtime = await running({ plugins: [declares("a/one", first), declares("b/two", second)] });
  await expect(runtime.session()).rejects.toMatchObject({
    code: "plugin.invalid",
    details: { plugin: "b/two", problem: expect.stringMatching(new RegExp(`mail\\.came.*${before}`)) },
  });
});

test.each<readonly [string, unknown]>([
  ["no list", { name: "a.b" }],
  ["without a name", [{ description: "x" }]],
  ["with an empty name", [{ name: "" }]],
])("K17 triggers that are %s are refused", async (_, triggers) => {
  const plugin = definePlugin({ id: "a/wrong", setup: () => ({ triggers: triggers as never }) });
  await using runtime = await running({ plugins: [plugin] });
  await expect(runtime.session()).rejects.toMatchObject({ code: "plugin.invalid", details: { plugin: "a/wrong" } });
});
