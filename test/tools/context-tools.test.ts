import {
  definePlugin,
  defineTool,
  defineToolProvider,
  type Message,
  type TelemetryEvent,
  type Tool,
  type ToolProvider,
} from "bowline";
import type { ModelRequest } from "bowline/plugin";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { outline } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";
import { running } from "../kit/worlds.ts";

const made = (name: string, words: string, more: { readonly description?: string } = {}): Tool =>
  defineTool({ name, description: more.description ?? words, input: z.object({}), execute: () => words });
const base = made("ping", "Pong.");

type Adds = (turn: number) => {
  readonly tools?: readonly (Tool | ToolProvider)[];
  readonly includeBaseTools?: boolean;
};

/** Adds to the context of each turn what it is told. */
const adds = (adding: Adds, id = "a/adds") => {
  let turn = 0;
  return definePlugin({ id, setup: () => ({ context: ({ context }) => ({ ...context, ...adding(++turn) }) }) });
};
const told = ({ requests }: { readonly requests: readonly ModelRequest[] }): readonly (readonly string[])[] =>
  requests.map(({ tools }) => tools.map(({ name, description }) => `${name}: ${description}`));
const answersOf = (messages: readonly Message[]): readonly string[] =>
  outline(messages).filter((line) => / (ok|failed|denied): /.test(line));

test("K7 a turn can have separate tools: declared, called, and gone in the next turn", async () => {
  const extra = made("extra", "More.");
  const model = scripted(calls("extra"), says("1"), calls("extra"), says("2"));
  const plugin = adds((turn) => (turn === 1 ? { tools: [extra] } : {}));
  await using runtime = await running({ model, tools: [base], plugins: [plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2").result();
  const both = ["ping: Pong.", "extra: More."];
  expect(told(model)).toEqual([both, both, ["ping: Pong."], ["ping: Pong."]]);
  const [first, second] = answersOf((await session.read()).messages);
  expect(first).toBe("extra ok: More.");
  expect(second).toContain("extra failed: Error (tool.unknown)");
});

test("K7 a turn's tool replaces the app's and a plugin's tool with the same name", async () => {
  const owner = definePlugin({ id: "b/owner", setup: () => ({ tools: [made("theirs", "Old.")] }) });
  const model = scripted(calls("ping"), calls("theirs"), says("1"), calls("ping"), says("2"));
  const plugin = adds((turn) => (turn === 1 ? { tools: [made("ping", "New ping."), made("theirs", "New.")] } : {}));
  await using runtime = await running({ model, tools: [base], plugins: [owner, plugin] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2").result();
  expect(told(model)[0]).toEqual(["ping: New ping.", "theirs: New."]);
  expect(answersOf((await session.read()).messages)).toEqual([
    "ping ok: New ping.",
    "theirs ok: New.",
    "ping ok: Pong.",
  ]);
});

/** Adds a tool to those of the plugins before it. */
const lends = (id: string, tool: Tool | ToolProvider) =>
  definePlugin({
    id,
    setup: () => ({ context: ({ context }) => ({ ...context, tools: [...(context.tools ?? []), tool] }) }),
  });

test.each([
  ["two plugins", ["a/one", "b/two"]],
  ["one plugin twice", ["a/one", "a/one"]],
])(
  "K7 a tool that %s give to one turn is refused before the model is asked, naming who gives it",
  async (_, givers) => {
    const [one, two] = [made("extra", "One."), made("extra", "Two.")];
    const plugins =
      givers[0] === givers[1]
        ? [adds(() => ({ tools: [one, two] }), "a/one")]
        : [lends("a/one", one), lends("b/two", two)];
    const model = scripted(says("1"));
    await using runtime = await running({ model, tools: [made("extra", "Base.")], plugins });
    const { outcome } = await (await runtime.session()).turn("1").result();
    expect(outcome).toMatchObject({ kind: "failed", code: "tool.duplicate" });
    expect(outcome).toMatchObject({
      reason: expect.stringContaining(`extra is defined twice: by ${givers.join(" and by ")}`),
    });
    expect(model.requests).toEqual([]);
  },
);

test("K7 a plugin may take another's tool out of the turn and give its own of that name", async () => {
  const model = scripted(calls("extra"), says("1"));
  const replaces = adds(() => ({ tools: [made("extra", "Two.")] }), "b/replaces");
  await using runtime = await running({ model, plugins: [lends("a/one", made("extra", "One.")), replaces] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(answersOf((await session.read()).messages)).toEqual(["extra ok: Two."]);
});

test("K7 what a turn's provider lists under a name that the turn has already is left out and traced", async () => {
  const traces: TelemetryEvent[] = [];
  const provider = (id: string) =>
    defineToolProvider({
      id,
      list: () => ["extra", `of_${id}`].map((name) => ({ name, description: id })),
      load: (name) => made(name, name === "extra" ? "Remote." : id),
    });
  const plugins = [
    lends("a/far", provider("far")),
    lends("b/near", made("extra", "Near.")),
    lends("c/farther", provider("farther")),
  ];
  const model = scripted(calls("extra"), says("1"));
  await using runtime = await running({ model, plugins, telemetry: onEvent((record) => void traces.push(record)) });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model)[0]?.toSorted()).toEqual(["extra: Near.", "of_far: far", "of_farther: farther"]);
  expect(answersOf((await session.read()).messages)).toEqual(["extra ok: Near."]);
  expect(traces.filter(({ name }) => name === "tool.duplicate").map(({ about }) => about)).toEqual([
    { tool: "extra", sources: "b/near, far" },
    { tool: "extra", sources: "b/near, farther" },
  ]);
});

test.each(["with tools of its own", "with none"])(
  "K7 includeBaseTools: false leaves out all others, %s: they are neither declared nor run",
  async (how) => {
    const only = how === "with none" ? [] : [made("extra", "More.")];
    const model = scripted(calls("ping"), says("1"), calls("ping"), says("2"));
    const plugin = adds((turn) => (turn === 1 ? { tools: only, includeBaseTools: false } : {}));
    await using runtime = await running({ model, tools: [base], plugins: [plugin] });
    const session = await runtime.session();
    await session.turn("1").result();
    await session.turn("2").result();
    expect(told(model)[0]).toEqual(only.map(() => "extra: More."));
    expect(told(model)[2]).toEqual(["ping: Pong."]);
    const [first, second] = answersOf((await session.read()).messages);
    expect(first).toContain("ping failed: Error (tool.unknown)");
    expect(second).toBe("ping ok: Pong.");
  },
);

test("K7 a later transform sees the tools of the one before, and may add, drop and bring the others back", async () => {
  const seen: unknown[] = [];
  const first = adds(() => ({ tools: [made("a", "A."), made("b", "B.")], includeBaseTools: false }));
  const second = definePlugin({
    id: "b/second",
    setup: () => ({
      context: ({ context }) => {
        const tools = context.tools ?? [];
        seen.push([tools.map((tool) => ("name" in tool ? tool.name : tool.id)), context.includeBaseTools]);
        return { ...context, tools: [...tools.slice(1), made("c", "C.")], includeBaseTools: true };
      },
    }),
  });
  const model = scripted(says("1"));
  await using runtime = await running({ model, tools: [base], plugins: [first, second] });
  await (await runtime.session()).turn("1").result();
  expect(seen).toEqual([[["a", "b"], false]]);
  expect(told(model)).toEqual([["ping: Pong.", "b: B.", "c: C."]]);
});

const provider = (id: string, list: readonly Tool[], heard: string[] = []): ToolProvider =>
  defineToolProvider({
    id,
    list: async () => {
      heard.push("list");
      return list.map(({ name, description }) => ({ name, description }));
    },
    load: async (name) => {
      heard.push(`load ${name}`);
      return list.find((tool) => tool.name === name);
    },
  });

test("K7 a provider may come with a turn: listed and loaded once, shadowing like any tool of the turn", async () => {
  const heard: string[] = [];
  const source = provider("acme/source", [made("ping", "From the source."), made("more", "More.")], heard);
  const model = scripted(calls("ping"), calls("more"), says("1"), says("2"), says("3"));
  const plugin = adds((turn) => (turn < 3 ? { tools: [source] } : {}));
  await using runtime = await running({ model, tools: [base], plugins: [plugin] });
  const session = await runtime.session();
  for (const words of ["1", "2", "3"]) await session.turn(words).result();
  const both = ["ping: From the source.", "more: More."];
  expect(told(model)).toEqual([both, both, both, both, ["ping: Pong."]]);
  expect(answersOf((await session.read()).messages)).toEqual(["ping ok: From the source.", "more ok: More."]);
  expect(heard.toSorted()).toEqual(["list", "load more", "load ping"]);
});

test("K7 a provider that cannot be read fails no turn: its tools are not there, until they are", async () => {
  let isSick = true;
  const source = defineToolProvider({
    id: "acme/sick",
    list: () => {
      if (isSick) throw new Error("Ouch.");
      return [{ name: "more", description: "More." }];
    },
    load: () => made("more", "More."),
  });
  const model = scripted(says("1"), says("2"), says("3"));
  await using runtime = await running({ model, tools: [base], plugins: [adds(() => ({ tools: [source] }))] });
  const session = await runtime.session();
  expect((await session.turn("1").result()).outcome.kind).toBe("answered");
  isSick = false;
  await session.turn("2").result();
  await session.turn("3").result();
  expect(told(model)[0]).toEqual(["ping: Pong."]);
  expect(told(model)[2]).toEqual(["ping: Pong.", "more: More."]);
});

test("K7 a provider of the turn that reports a changed list is read again before the next turn", async () => {
  const { promise: watched, resolve: watching } = Promise.withResolvers<() => void>();
  const list = [made("one", "1.")];
  const source = defineToolProvider({
    ...provider("acme/changes", list),
    watch: (changed) => {
      watching(changed);
      return () => {};
    },
  });
  const model = scripted(says("1"), says("2"));
  await using runtime = await running({ model, plugins: [adds(() => ({ tools: [source] }))] });
  const session = await runtime.session();
  await session.turn("1").result();
  list.push(made("two", "2."));
  (await watched)();
  await session.turn("2").result();
  expect(told(model)).toEqual([["one: 1."], ["one: 1.", "two: 2."]]);
});

test("K7 the tools of a turn are seen by what builds the catalog, the prompt and the gate", async () => {
  const seen: unknown[] = [];
  const plugin = adds(() => ({ tools: [made("extra", "More.")] }));
  const watches = definePlugin({
    id: "b/watches",
    setup: () => ({
      toolCatalog: ({ tools }) => {
        seen.push(tools.map(({ name }) => name));
        return { tool: "extra", description: "Edited." };
      },
      prompt: ({ catalog }) => {
        seen.push(catalog.list().map(({ name }) => name));
        return { slot: "guidance", text: "How to use extra.", tools: ["extra"] };
      },
      beforeToolCall: ({ call, catalog }) =>
        void seen.push([call.name, catalog.list().find(({ name }) => name === call.name)?.description]),
    }),
  });
  const model = scripted(calls("extra"), says("1"));
  await using runtime = await running({ model, tools: [base], plugins: [plugin, watches] });
  await (await runtime.session()).turn("1").result();
  expect(seen).toEqual([
    ["ping", "extra"],
    ["ping", "extra"],
    ["extra", "Edited."],
  ]);
  expect(told(model)[0]).toEqual(["ping: Pong.", "extra: Edited."]);
  expect(model.requests[0]?.system).toBe("How to use extra.");
});

test("K7 the tools of a turn are not there between turns", async () => {
  const lists = definePlugin({
    id: "b/lists",
    setup: ({ query }) => ({
      operations: { names: query({ run: ({ catalog }) => catalog.list().map(({ name }) => name) }) },
    }),
  });
  const model = scripted(says("1"));
  const plugin = adds(() => ({ tools: [made("extra", "More.")], includeBaseTools: false }));
  await using runtime = await running({ model, tools: [base], plugins: [plugin, lists] });
  const session = await runtime.session();
  expect(await session.query(lists, "names")).toEqual(["ping"]);
  await session.turn("1").result();
  expect((await session.tools.list()).map(({ name }) => name)).toEqual(["ping"]);
  expect(await session.query(lists, "names")).toEqual(["ping"]);
});

test("K7 a plugin can give a turn a separate tool that reads and writes its state", async () => {
  const counter = definePlugin({
    id: "a/counter",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => {
      const count = tool({
        name: "count",
        description: "Counts.",
        input: z.object({}),
        writes: true,
        execute: (_, { state }) => {
          state.update(({ n }) => ({ n: n + 1 }));
          return state.get().n;
        },
      });
      return {
        context: ({ context }) => ({ ...context, tools: [count] }),
        operations: { n: query({ run: ({ state }) => state.get().n }) },
      };
    },
  });
  const model = scripted(calls("count"), says("1"));
  await using runtime = await running({ model, plugins: [counter] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  expect(answersOf((await session.read()).messages)).toEqual(["count ok: 1"]);
  expect(await session.query(counter, "n")).toBe(1);
});

test.each<readonly [string, object]>([
  ["tools that are not a list", { tools: base }],
  ["a tool that nobody made", { tools: [{ name: "ping", description: "Pings.", execute: () => 1 }] }],
  ["includeBaseTools that is not a boolean", { includeBaseTools: "no" }],
  ["messages that are none", { messages: ["Hello."] }],
  ["prompt parts that are none", { prompt: [{ slot: "end", text: "x" }] }],
])("K7 a context with %s fails the turn by its plugin, and later transforms are not asked", async (_, wrong) => {
  let isSick = true;
  const heard: string[] = [];
  const sick = definePlugin({
    id: "b/sick",
    setup: () => ({ context: ({ context }) => (isSick ? { ...context, ...(wrong as object) } : undefined) }),
  });
  const later = definePlugin({ id: "c/later", setup: () => ({ context: () => void heard.push("later") }) });
  const model = scripted(says("Better."));
  await using runtime = await running({ model, tools: [base], plugins: [sick, later] });
  const session = await runtime.session();
  const { outcome } = await session.turn("1").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", code: "hook.answer" });
  expect(outcome).toMatchObject({ reason: expect.stringContaining("b/sick") });
  expect(heard).toEqual([]);
  isSick = false;
  expect((await session.turn("2").result()).outcome).toMatchObject({ text: "Better." });
  expect(told(model)).toEqual([["ping: Pong."]]);
});

test.each(["toolCatalog", "beforeTurn", "prompt", "context"] as const)(
  "K7 tools of a turn that fails in %s do not stick to the next one",
  async (where) => {
    let isSick = true;
    const fail = (): void => {
      if (isSick) throw new Error("Ouch.");
    };
    const plugin = adds((turn) => (turn === 1 ? { tools: [made("extra", "More."), made("ping", "Other.")] } : {}));
    const setup = (): { readonly [W in typeof where]?: () => void } => ({ [where]: fail });
    const sick = definePlugin({ id: "b/sick", setup });
    const model = scripted(says("2"), says("3"));
    await using runtime = await running({ model, tools: [base], plugins: [plugin, sick] });
    const session = await runtime.session();
    expect((await session.turn("1").result()).outcome).toMatchObject({ kind: "failed", by: "plugin" });
    isSick = false;
    await session.turn("2").result();
    expect((await session.turn("3").result()).outcome.kind).toBe("answered");
    expect(told(model)).toEqual([["ping: Pong."], ["ping: Pong."]]);
  },
);

test("K7 a turn that fails after another one's tools leaves neither its own nor theirs", async () => {
  let isSick = false;
  const [one, two] = [made("one", "1."), made("two", "2.")];
  const plugin = adds((turn) => ({ tools: [[one], [two], [], [one]][turn - 1] ?? [] }));
  const sick = definePlugin({
    id: "b/sick",
    setup: () => ({
      toolCatalog: () => {
        if (isSick) throw new Error("Ouch.");
        return [];
      },
    }),
  });
  const model = scripted(says("1"), says("3"), calls("one"), says("4"));
  await using runtime = await running({ model, tools: [base], plugins: [plugin, sick] });
  const session = await runtime.session();
  await session.turn("1").result();
  isSick = true;
  expect((await session.turn("2").result()).outcome.kind).toBe("failed");
  isSick = false;
  await session.turn("3").result();
  await session.turn("4").result();
  expect(told(model).slice(0, 3)).toEqual([["ping: Pong.", "one: 1."], ["ping: Pong."], ["ping: Pong.", "one: 1."]]);
  expect(answersOf((await session.read()).messages)).toEqual(["one ok: 1."]);
});

test("K7 two sessions of one runtime do not share the tools of a turn", async () => {
  const extra = made("extra", "More.");
  const plugin = definePlugin({
    id: "a/mine",
    setup: ({ session }) => ({
      context: ({ context }) => (session.id === ("mine" as string) ? { ...context, tools: [extra] } : undefined),
    }),
  });
  const model = scripted(says("1"), says("2"), says("3"));
  await using runtime = await running({ model, tools: [base], plugins: [plugin] });
  const [mine, plain] = [await runtime.session("mine"), await runtime.session("plain")];
  for (const session of [mine, plain, mine]) await session.turn("Go.").result();
  const both = ["ping: Pong.", "extra: More."];
  expect(told(model)).toEqual([both, ["ping: Pong."], both]);
});

test("K7 the tools of a turn keep the rules of tools: serial ones do not overlap, and their schemas are checked", async () => {
  let atWork = 0;
  let most = 0;
  const serial = defineTool({
    name: "serial",
    description: "One at a time.",
    input: z.object({ n: z.number() }),
    isSerial: true,
    execute: async ({ n }) => {
      most = Math.max(most, ++atWork);
      await Promise.resolve();
      atWork--;
      return n;
    },
  });
  const reply = [
    ...calls("serial", { n: 1 }, "a").slice(0, 1),
    ...calls("serial", { n: 2 }, "b").slice(0, 1),
    ...calls("serial", { n: "three" }, "c"),
  ];
  const model = scripted(reply, says("Done."));
  await using runtime = await running({ model, plugins: [adds(() => ({ tools: [serial] }))] });
  const session = await runtime.session();
  await session.turn("Go.").result();
  const [one, two, three] = answersOf((await session.read()).messages);
  expect([one, two, most]).toEqual(["serial ok: 1", "serial ok: 2", 1]);
  expect(three).toContain("serial failed: Error (tool.arguments)");
});

test("K7 T5 a tool that a context hook lends as searchable is opened by membership, and can be called in the next round", async () => {
  const hidden = { ...made("hidden", "Found."), availability: "searchable" as const };
  const lends = definePlugin({
    id: "a/lends",
    setup: ({ tool }) => ({
      context: ({ context }) => ({ ...context, tools: [hidden] }),
      tools: [
        tool({
          name: "find",
          description: "Finds.",
          input: z.object({}),
          writes: true,
          execute: (_, { membership }) => {
            membership.set("hidden", "callable");
            return "It is open now.";
          },
        }),
      ],
    }),
  });
  const model = scripted(calls("find"), calls("hidden"), says("Done."), calls("hidden"), says("Again."));
  await using runtime = await running({ model, plugins: [lends] });
  const session = await runtime.session();
  await session.turn("1").result();
  await session.turn("2").result(); // The choice stays, as it does for the session's own tools.
  expect(told(model).map((tools) => tools.length)).toEqual([1, 2, 2, 2, 2]);
  expect(answersOf((await session.read()).messages)).toEqual([
    "find ok: It is open now.",
    "hidden ok: Found.",
    "hidden ok: Found.",
  ]);
});

test("T4 K7 tools that are added to the session in a turn, by a tool or from outside, can be called in its next round", async () => {
  const late = (id: string, name: string) =>
    defineToolProvider({ id, list: () => [{ name, description: name }], load: () => made(name, `${name}!`) });
  const adder = defineTool({
    name: "adder",
    description: "Adds.",
    input: z.object({}),
    execute: async () => {
      await session.tools.add(late("acme/late", "late"));
      return "Added.";
    },
  });
  const model = scripted(calls("adder"), calls("late"), says("Done."));
  await using runtime = await running({ model, tools: [adder] });
  const session = await runtime.session();
  await session.turn("1").result();
  expect(told(model).map((tools) => tools.map((line) => line.split(":")[0]))).toEqual([
    ["adder"],
    ["adder", "late"],
    ["adder", "late"],
  ]);
  expect(answersOf((await session.read()).messages)).toEqual(["adder ok: Added.", "late ok: late!"]);
});
