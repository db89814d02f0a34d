import { definePlugin, type Json, type Plugin, type Session } from "bowline";
import { compactHistory, type ExtensionValue, extension, type HookName } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { echo, listener } from "../kit/models.ts";
import { codeOf, within } from "../kit/reading.ts";
import { durable, KEPT, STORES } from "../kit/stores.ts";
import { held, lifetimes, named, open, ping, running, Stop } from "../kit/worlds.ts";

const urgency = extension("acme/urgency", z.object({ level: z.number().max(5), why: z.string().default("asked") }));
const tenant = extension("acme/tenant", z.string());

/** Declares both, and refuses a level that the schema would take. */
const desk = definePlugin({
  id: "acme/desk",
  setup: () => ({
    extensions: [
      { extension: urgency, validate: ({ level }) => (level === 4 ? "level 4 is for the fire brigade" : undefined) },
      tenant,
    ],
  }),
});
const URGENT = { level: 2, why: "asked" };

// ── Types ───────────────────────────────────────────────────────────────────────────────────────────────────────────

test("P1 an extension is typed by its schema where it is given and where it is read", () => {
  expectTypeOf(urgency.of).parameter(0).toEqualTypeOf<{ level: number; why?: string | undefined }>();
  expectTypeOf(urgency.of({ level: 1 })).toEqualTypeOf<ExtensionValue>();
  // @ts-expect-error a level is a number
  urgency.of({ level: "high" });
  const reads = definePlugin({
    id: "a/reads",
    setup: ({ tool }) => ({
      beforeTurn: (event) => {
        expectTypeOf(event.extension(urgency)).toEqualTypeOf<{ level: number; why: string } | undefined>();
      },
      tools: [
        tool({
          name: "look",
          description: "Looks.",
          input: z.object({}),
          execute: (_, { extension: read }) => {
            expectTypeOf(read(tenant)).toEqualTypeOf<string | undefined>();
          },
        }),
      ],
    }),
  });
  expect(reads.id).toBe("a/reads");
});

// ── Reading ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const INSIDE: readonly HookName[] = [
  "input",
  "context",
  "compact",
  "prompt",
  "toolCatalog",
  "beforeTurn",
  "request",
  "stream",
  "response",
  "streamFinished",
  "beforeToolCall",
  "afterToolCall",
  "projectResult",
  "checkpoint",
  "afterTurn",
];

interface Seen {
  readonly extension: (of: typeof urgency) => unknown;
  readonly event?: { readonly kind: string };
  readonly parts?: unknown;
}

/** Notes what each hook reads; answers what the hook needs an answer to. */
function spy(read: Map<string, unknown[]>): Plugin {
  const note = (name: string) => (seen: Seen) => {
    const place = name === "lifecycle" ? `lifecycle ${seen.event?.kind}` : name;
    read.set(place, [...(read.get(place) ?? []), seen.extension(urgency)]);
    if (name === "projectResult") return seen.parts;
    if (name === "beforeTurn") return compactHistory();
  };
  const names = [...INSIDE, "lifecycle", "config"];
  return definePlugin({
    id: "a/spy",
    setup: () => Object.fromEntries(names.map((name) => [name, note(name)])) as object,
  });
}

test("P1 the extension of a turn is read in every hook of it, frozen, and in no other turn nor between turns", async () => {
  const read = new Map<string, unknown[]>();
  const model = scripted(calls("ping"), says("Done."), calls("ping"), says("Again."));
  await using world = await open(model, { plugins: [desk, spy(read)], tools: [ping] });
  const { session } = world;
  const { outcome } = await session.turn("Go.", { extensions: [urgency.of({ level: 2 })] }).result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
  for (const hook of [...INSIDE, "lifecycle turnFinalized", "lifecycle turnPersisted"]) {
    expect(read.get(hook), hook).not.toHaveLength(0);
    for (const value of read.get(hook) ?? []) expect(value, hook).toEqual(URGENT);
    expect(Object.isFrozen(read.get(hook)?.[0]), hook).toBe(true);
  }
  read.clear();
  await session.turn("Go.").result();
  await session.configure({ label: "x" });
  expect([...read.keys()]).toEqual(expect.arrayContaining([...INSIDE, "config", "lifecycle sessionConfigChanged"]));
  expect([...read.values()].flat().filter((value) => value !== undefined)).toEqual([]);
});

test.each(KEPT)(
  "P1 P2 a plugin gives a turn of another session its extensions, checked by their owner, %s",
  async (_, make) => {
    const read: unknown[] = [];
    const sends = definePlugin({
      id: "a/sends",
      setup: ({ command }) => ({
        beforeTurn: (event) => void read.push([event.sessionId, event.extension(urgency)]),
        operations: {
          go: command({
            input: z.object({ level: z.number() }),
            run: async ({ input, sessions }) =>
              (await sessions.turn("there", "Hi.", { extensions: [urgency.of(input)] }).result()).outcome.kind,
          }),
        },
      }),
    });
    await using runtime = await running({ store: make(), plugins: [desk, sends] });
    const session = await runtime.session("here");
    await runtime.session("there");
    expect((await session.command(sends, "go", { level: 2 })).output).toBe("answered");
    expect(await codeOf(session.command(sends, "go", { level: 4 }))).toBe("extension.invalid");
    expect(read).toEqual([["there", URGENT]]);
  },
);

test("P1 a second look at a gate reads it too", async () => {
  const read: unknown[] = [];
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({
      beforeToolCall: (event) => {
        read.push(event.extension(urgency));
      },
    }),
  });
  const changes = definePlugin({
    id: "a/changes",
    setup: () => ({ beforeToolCall: () => ({ kind: "replaceArgs", args: {} }) }),
  });
  const model = scripted(calls("ping", { a: 1 }), says("Done."));
  await using world = await open(model, { plugins: [desk, guard, changes], tools: [named("ping")] });
  await world.session.turn("Go.", { extensions: [urgency.of({ level: 2 })] }).result();
  expect(read).toEqual([URGENT, URGENT]);
});

test("P1 a tool reads the extensions of its turn, from every plugin that declared them", async () => {
  const look = named(
    "look",
    (_, { extension: read }) => `${read(urgency)?.level ?? "no"} for ${read(tenant) ?? "none"}`,
  );
  const model = scripted(calls("look"), says("Done."), calls("look"), says("Done."));
  await using world = await open(model, { plugins: [desk], tools: [look] });
  await world.session.turn("Go.", { extensions: [tenant.of("blue"), urgency.of({ level: 3 })] }).result();
  await world.session.turn("Go.").result();
  const shown = model.requests.map(({ messages }) => messages.at(-1)).filter((message) => message?.role === "tool");
  expect(shown.map((message) => JSON.stringify(message))).toEqual([
    expect.stringContaining("3 for blue"),
    expect.stringContaining("no for none"),
  ]);
});

test("P1 a catalog that is edited by an extension is not the next turn's", async () => {
  const hides = definePlugin({
    id: "a/hides",
    setup: () => ({
      toolCatalog: (event) => (event.extension(tenant) === "blue" ? { tool: "ping", hide: true } : undefined),
    }),
  });
  const model = scripted(says("1"), says("2"), says("3"));
  await using world = await open(model, { plugins: [desk, hides], tools: [ping] });
  for (const extensions of [[], [tenant.of("blue")], []]) await world.session.turn("Go.", { extensions }).result();
  expect(model.requests.map(({ tools }) => tools.length)).toEqual([1, 0, 1]);
});

type Extend = (context: {
  readonly extension: { readonly id: string; readonly value: Json };
  readonly options: { get(): Json | undefined; set(value: Json): void };
}) => void;

/** A protocol that says in the request, and in the turn's value, what its view has of extensions. */
const telling = (extend?: Extend): Plugin =>
  definePlugin({
    id: "test/telling",
    setup: () => ({
      extensions: [urgency],
      protocolSession: extend === undefined ? {} : { extend },
      protocolDriver: {
        preamble: ({ tools }) => ({ tools, prompt: [] }),
        driver: {
          id: "test/telling",
          version: 1,
          request: ({ messages, tools, extensions }) => ({ system: JSON.stringify(extensions) ?? "", messages, tools }),
          onReply: ({ extensions, options }) => ({ kind: "finish", value: extensions ?? options ?? "none" }),
          onResults: () => ({ kind: "ask" }),
          onExec: () => ({ kind: "ask" }),
        },
      },
    }),
  });

test("P1 a protocol's driver sees the extensions of the turn, in its request and when it decides", async () => {
  const model = scripted(says("1"), says("2"));
  await using world = await open(model, { plugins: [telling()] });
  const { outcome } = await world.session.turn("Go.", { extensions: [urgency.of({ level: 1, why: "x" })] }).result();
  expect(outcome).toMatchObject({ kind: "finished", value: { "acme/urgency": { level: 1, why: "x" } } });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ value: "none" });
  expect(model.requests.map(({ system }) => system)).toEqual(['{"acme/urgency":{"level":1,"why":"x"}}', ""]);
});

// ── Refused ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const cyclic: { level: number; self?: unknown } = { level: 1 };
cyclic.self = cyclic;
const strange = extension("acme/strange", z.any());
const dated = extension("acme/dated", z.coerce.date());
const late = extension(
  "acme/late",
  z.string().refine(async () => true),
);
const oddities = definePlugin({
  id: "acme/oddities",
  setup: () => ({
    extensions: [
      strange,
      dated,
      late,
      {
        extension: extension("acme/throws", z.any()),
        validate: () => {
          throw new Error("Cannot look.");
        },
      },
      {
        extension: extension("acme/waits", z.any()),
        validate: (async () => Promise.reject(new Error("Too late."))) as never,
      },
    ],
  }),
});

test.each<readonly [string, unknown, object]>([
  ["no list", urgency.of({ level: 1 }), { code: "options.invalid", details: { option: "extensions" } }],
  ["what `of` did not make", [{ level: 1 }], { code: "options.invalid", details: { option: "extensions" } }],
  ["nothing at all", [null], { code: "options.invalid" }],
  [
    "an extension that nobody declares",
    [{ id: "acme/other", value: 1 }],
    { code: "extension.unknown", hint: expect.stringContaining("acme/urgency, acme/tenant, acme/strange") },
  ],
  ["the name of a method", [{ id: "constructor", value: 1 }], { code: "extension.unknown" }],
  [
    "what its schema refuses",
    [{ id: urgency.id, value: { level: "high" } }],
    {
      code: "extension.invalid",
      details: { extension: urgency.id, plugin: "acme/desk", problem: expect.stringContaining("level: ") },
    },
  ],
  [
    "what its owner refuses",
    [urgency.of({ level: 4 })],
    {
      code: "extension.invalid",
      message: "Invalid extension acme/urgency of plugin acme/desk: level 4 is for the fire brigade.",
    },
  ],
  [
    "the same twice",
    [tenant.of("a"), tenant.of("a")],
    { code: "extension.invalid", details: { plugin: "acme/desk", problem: "it is given twice" } },
  ],
  ["a circle", [strange.of(cyclic)], { code: "extension.invalid", details: { plugin: "acme/oddities" } }],
  ["a function", [strange.of({ f: () => 1 })], { code: "extension.invalid" }],
  ["a big number", [strange.of(1n)], { code: "extension.invalid" }],
  ["nothing in it", [strange.of(undefined)], { code: "extension.invalid" }],
  ["a schema that makes a Date", [dated.of("2026-01-01")], { code: "extension.invalid" }],
  ["a schema that answers later", [late.of("x")], { code: "schema.invalid" }],
  [
    "an owner that throws",
    [{ id: "acme/throws", value: 1 }],
    { code: "extension.invalid", details: { plugin: "acme/oddities", problem: "Cannot look." } },
  ],
  [
    "an owner that answers later",
    [{ id: "acme/waits", value: 1 }],
    { code: "extension.invalid", details: { problem: "its `validate` returned something else than a text" } },
  ],
  ["too much", [tenant.of("x".repeat(2_000))], { code: "limit.bytes" }],
  ["too much together", [tenant.of("x".repeat(800)), strange.of("y".repeat(800))], { code: "limit.bytes" }],
])("P1 a turn refuses %s as its extensions, and nothing is kept", async (_, given, error) => {
  await using runtime = await running({ plugins: [desk, oddities], limits: { inputBytesMax: 1_000 } });
  const session = await runtime.session("s");
  await expect(session.turn("Go.", { extensions: given as never }).result()).rejects.toMatchObject(error);
  expect(await session.read()).toMatchObject({ turns: 0, messages: [] });
  expect(await session.inputs.list()).toEqual([]);
});

test("P1 an input that can join a running turn takes no extensions, and the error names where to give them", async () => {
  await using runtime = await running({ plugins: [desk] });
  const session = await runtime.session("s");
  const options = { extensions: [tenant.of("blue")] } as object;
  for (const at of ["boundary", "next-turn"] as const)
    await expect(session.send("Go.", { ...options, at })).rejects.toMatchObject({
      code: "extension.refused",
      message: expect.stringContaining("may join a running turn"),
      hint: expect.stringContaining("session.turn(input, { extensions })"),
    });
  expect((await session.read()).turns).toBe(0);
});

const declares = (id: string, extensions: unknown): Plugin =>
  definePlugin({ id, setup: () => ({ extensions }) as object });

test.each<readonly [string, readonly Plugin[], RegExp]>([
  ["two plugins", [desk, declares("acme/rival", [tenant])], /acme\/rival.*acme\/tenant is also declared by acme\/desk/],
  [
    "one plugin twice",
    [declares("acme/twice", [tenant, { extension: tenant }])],
    /acme\/twice.*also declared by acme\/twice/,
  ],
  ["no list", [declares("acme/bad", tenant)], /acme\/bad.*must be a list/],
  ["a value", [declares("acme/bad", [tenant.of("x")])], /made with `extension`/],
  ["a `validate` that is none", [declares("acme/bad", [{ extension: tenant, validate: 1 }])], /made with `extension`/],
])("K6 an extension has one owner, and is made with `extension`: %s", async (_, plugins, words) => {
  const opening = running({ plugins }).then((runtime) => runtime.session());
  await expect(opening).rejects.toMatchObject({ code: "plugin.invalid", message: expect.stringMatching(words) });
});

test("P1 an extension needs an id like a plugin's, and a schema; a declaration has no other fields", async () => {
  for (const id of ["", "has space", "__proto__", "x".repeat(129), undefined])
    expect(await codeOf(() => extension(id as string, z.any()))).toBe("options.invalid");
  expect(await codeOf(() => extension("a", { type: "object" } as never))).toBe("schema.invalid");
  const opening = running({ plugins: [declares("a/b", [{ extension: tenant, validates: () => {} }])] });
  await expect(opening.then((runtime) => runtime.session())).rejects.toMatchObject({ code: "options.unknown" });
});

// ── Kept ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Says what it reads in the prompt, so that requests show which turn had what. */
const prompts = definePlugin({
  id: "a/prompts",
  setup: () => ({
    prompt: (event) => ({ slot: "context", text: `urgency: ${JSON.stringify(event.extension(urgency)) ?? "none"}` }),
  }),
});

describe.each(KEPT)("kept %s", (_, make) => {
  test("P1 S4 an input that waits keeps its extensions, and has its own turn where others are merged", async () => {
    const model = listener();
    const work = held();
    await using runtime = await running({ store: make(), model, plugins: [desk, prompts], tools: [work.tool] });
    const session = await runtime.session("s", { config: { mergesInputs: true } });
    const first = session.turn("Work.");
    await within(work.began());
    for (const words of ["A.", "B."]) await session.send(words, { at: "next-turn" });
    const urgent = session.turn("Urgent.", { extensions: [urgency.of({ level: 2 })] });
    await urgent.id;
    const last = session.turn("C.", { extensions: [] });
    work.release();
    await within(Promise.all([first.result(), urgent.result(), last.result()]));
    expect(model.told).toEqual([["Work."], [], ["A.", "B."], ["Urgent."], ["C."]]);
    expect(model.requests.map(({ system }) => system.includes(JSON.stringify(URGENT)))).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
  });

  test("P1 a key stands for the extensions too, in any order", async () => {
    await using runtime = await running({ store: make(), plugins: [desk] });
    const session = await runtime.session("s");
    const turn = (...extensions: readonly ExtensionValue[]) => session.turn("Go.", { key: "k", extensions });
    const { turnId } = await turn(urgency.of({ level: 2 }), tenant.of("blue")).result();
    const again = await turn(tenant.of("blue"), urgency.of({ why: "asked", level: 2 })).result();
    expect(again.turnId).toBe(turnId);
    for (const other of [turn(urgency.of({ level: 3 }), tenant.of("blue")), turn(tenant.of("blue")), turn()])
      expect(await codeOf(other.result())).toBe("input.conflict");
  });
});

test.each(STORES)("P1 what the caller changes after it gave it changes nothing, on %s", async (_, make) => {
  const seen: unknown[] = [];
  const reads = definePlugin({
    id: "a/reads",
    setup: () => ({
      extensions: [strange],
      afterTurn: (event) => {
        seen.push(event.extension(strange));
      },
    }),
  });
  await using runtime = await running({ store: make(), plugins: [reads] });
  const given = { list: [1], none: undefined, zero: -0 };
  const turn = (await runtime.session("s")).turn("Go.", { extensions: [strange.of(given)] });
  given.list.push(2);
  await turn.result();
  expect(seen).toEqual([{ list: [1], zero: 0 }]);
});

describe("after a crash", () => {
  const reader = (read: string[]): Plugin =>
    definePlugin({
      id: "a/reader",
      setup: () => ({
        checkpoint: (event) => {
          const found = event.extension(urgency);
          read.push(`checkpoint ${found?.level} ${Object.isFrozen(found) ? "frozen" : "loose"}`);
        },
      }),
    });

  test("P1 D2 a turn that was killed resumes with its extensions, also if no plugin declares them any more", async () => {
    const lives = lifetimes();
    const read: string[] = [];
    const look = (hangs: boolean, began = () => {}) =>
      named("look", async (_, { extension: of }) => {
        read.push(`tool ${of(urgency)?.level}`);
        began();
        if (hangs) await new Promise(() => {});
        return "ok";
      });
    const model = () => scripted(calls("look"), says("Done."));
    const began = Promise.withResolvers<void>();
    const first = await lives.next({ model: model(), plugins: [desk], tools: [look(true, began.resolve)] });
    const there = await first.runtime.session("s");
    there.turn("Go.", { key: "k", extensions: [urgency.of({ level: 2 })] });
    await within(began.promise);
    await there.turn("Next.", { extensions: [urgency.of({ level: 3 })] }).id;
    lives.kill();
    const after = scripted(says("Done."), says("Next done."));
    const second = await lives.next({ model: after, plugins: [reader(read)], tools: [look(false)] });
    const session = await second.runtime.session("s");
    await within(second.runtime.recover());
    expect(read).toEqual(["tool 2", "tool 2", ...[2, 2, 3].map((level) => `checkpoint ${level} frozen`)]);
    expect((await session.read()).turns).toBe(2);
    await second.runtime.close();
  });

  test("P1 D2 a driver folds the journal with the extensions that were recorded", async () => {
    const lives = lifetimes();
    const began = Promise.withResolvers<void>();
    const first = await lives.next({
      model: {
        ...echo(),
        async *stream() {
          began.resolve();
          await new Promise(() => {});
        },
      },
      plugins: [telling()],
    });
    const turn = (session: Session) => session.turn("Go.", { key: "k", extensions: [urgency.of({ level: 1 })] });
    turn(await first.runtime.session("s"));
    await within(began.promise);
    lives.kill();
    const second = await lives.next({ model: echo(), plugins: [telling()] });
    const { outcome } = await within(turn(await second.runtime.session("s")).result());
    expect(outcome).toMatchObject({ kind: "finished", value: { "acme/urgency": { level: 1, why: "asked" } } });
    await second.runtime.close();
  });
});

test("P1 K15 neither children nor forks have the extensions of a turn", async () => {
  const read: [string, unknown][] = [];
  const maker = definePlugin({
    id: "a/maker",
    setup: () => ({
      beforeTurn: async (event) => {
        read.push([event.sessionId, event.extension(urgency)]);
        if (event.sessionId !== "s" || event.extension(urgency) === undefined) return;
        await event.sessions.create({ id: "child", kind: "child" });
        const { turnId } = await event.sessions.send("child", "Go.");
        await event.sessions.result("child", turnId);
      },
    }),
  });
  await using runtime = await running({ plugins: [desk, maker] });
  const session = await runtime.session("s");
  await session.turn("Go.", { extensions: [urgency.of({ level: 2 })] }).result();
  const fork = await session.fork();
  await fork.turn("Go.").result();
  expect(read).toEqual([
    ["s", URGENT],
    ["child", undefined],
    [fork.id, undefined],
  ]);
});

// ── For a session ───────────────────────────────────────────────────────────────────────────────────────────────────

test("P1 the default protocol takes no extension for a session, and the error has the alternative", async () => {
  await using runtime = await running({ plugins: [desk] });
  const session = await runtime.session("s");
  await expect(session.extend(tenant.of("blue"))).rejects.toMatchObject({
    code: "protocol.extension",
    message: "Protocol bowline/tool-calls does not take the extension acme/tenant for a session.",
    hint: expect.stringContaining("session.turn(input, { extensions })"),
  });
});

test("P1 a protocol that takes extensions for a session is given them between turns, as its schema made them", async () => {
  const given: object[] = [];
  const stop = new Stop();
  const taking = telling((context) => void given.push(context));
  await using runtime = await running({ model: listener(() => stop.here()), plugins: [taking] });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  await stop.reached;
  const extending = session.extend(urgency.of({ level: 5 }));
  expect(given).toEqual([]);
  stop.go();
  await turn.result();
  await within(extending);
  expect(given).toMatchObject([
    { sessionId: "s", isRoot: true, extension: { id: "acme/urgency", value: { level: 5, why: "asked" } } },
  ]);
  expect(await codeOf(session.extend(urgency.of({ level: 9 })))).toBe("extension.invalid");
  expect(await codeOf(session.extend(tenant.of("x")))).toBe("extension.unknown");
  expect(await codeOf(session.extend(undefined as never))).toBe("options.invalid");
  expect(given).toHaveLength(1);
});

test("P1 what a protocol keeps of extensions in its options is there in later turns, and none is lost to another", async () => {
  const adding = telling(({ extension: { value }, options }) =>
    options.set([...((options.get() ?? []) as readonly Json[]), (value as { level: number }).level]),
  );
  const store = durable(memory());
  const runtime = await running({ store, plugins: [adding] });
  const session = await runtime.session("s");
  await Promise.all([1, 2, 3].map((level) => session.extend(urgency.of({ level }))));
  expect((await session.turn("Go.").result()).outcome).toMatchObject({ value: [1, 2, 3] });
  await using later = await running({ store, plugins: [adding] });
  const again = await later.session("s");
  await again.extend(urgency.of({ level: 5 }));
  expect((await again.turn("Go.").result()).outcome).toMatchObject({ value: [1, 2, 3, 5] });
  await runtime.close();
});

test("P1 a protocol that throws on an extension is named, and the session continues", async () => {
  const broken = telling(() => {
    throw new Error("Hoarse.");
  });
  await using world = await open(echo(), { plugins: [broken] });
  await expect(world.session.extend(urgency.of({ level: 1 }))).rejects.toMatchObject({
    code: "hook.failed",
    details: { plugin: "test/telling", hook: "protocolSession", problem: "Hoarse." },
  });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "finished" });
});
