// Handlers of gates that are for some tools: typed by them, asked for their calls only, and shown no input that does not fit.
import {
  ask,
  definePlugin,
  defineTool,
  deny,
  described,
  type Json,
  type Plugin,
  replaceArgs,
  shortCircuit,
  type Tool,
} from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { both, calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, outline, within } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { lifetimes, named, open, Stop } from "../kit/worlds.ts";

/** A tool that notes the payments it made. */
function payments() {
  const paid: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ to: z.string(), cents: z.number().default(1) }),
    execute: ({ to, cents }) => {
      paid.push(`${to} ${cents}`);
      return "paid";
    },
  });
  return { paid, pay };
}

const shownIn = (messages: Parameters<typeof outline>[0]) =>
  outline(messages).filter((line) => / (ok|failed|denied|cancelled|unknown): /.test(line));

/** Makes these calls in one reply, under these plugins. */
async function playing(plugins: readonly Plugin[], tools: readonly Tool[], ...made: readonly [string, Json][]) {
  const model = scripted(
    both(...made.map(([name, input], index) => calls(name, input, `call_${index}`))),
    says("Done."),
  );
  await using world = await open(model, { plugins: [toolCalls({ batch: true }), ...plugins], tools });
  const { outcome, issues } = await world.session.turn("Go.").result();
  expect(outcome).toMatchObject({ kind: "answered" });
  return { shown: shownIn((await world.session.read()).messages), issues };
}

test("K10 a gate is asked for its tools only, with the input as the model sent it", async () => {
  const { pay, paid } = payments();
  const seen: unknown[] = [];
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({
      beforeToolCall: {
        tools: [pay],
        run({ call }) {
          seen.push(call.input);
          return call.input.to === "eve" ? deny("Not to Eve.") : undefined;
        },
      },
    }),
  });
  const { shown } = await playing(
    [guard],
    [pay, named("ping")],
    ["pay", { to: "bob" }],
    ["ping", {}],
    ["pay", { to: "eve" }],
  );
  expect(seen).toEqual([{ to: "bob" }, { to: "eve" }]);
  expect(paid).toEqual(["bob 1"]);
  expect(shown).toEqual(["pay ok: paid", "ping ok: ping!", expect.stringMatching(/^pay denied: .*Not to Eve/)]);
});

describe.each<readonly [string, (pay: Tool) => readonly (Tool | string)[]]>([
  ["tools", (pay) => [pay]],
  ["names", () => ["pay"]],
])("by %s", (_, of) => {
  test("T5 input that does not fit never reaches a gate for some tools; one for all before it sees it as it is", async () => {
    const { pay, paid } = payments();
    const heard: string[] = [];
    const hears = (id: string, order: "early" | "normal" | "late", tools?: readonly (Tool | string)[]) =>
      definePlugin({
        id,
        order,
        setup: () => ({
          beforeToolCall: {
            ...(tools === undefined ? {} : { tools }),
            run: ({ call }) => void heard.push(`${id} ${JSON.stringify(call.input)}`),
          },
        }),
      });
    const plugins = [hears("late", "late"), hears("typed", "normal", of(pay)), hears("early", "early")];
    const { shown } = await playing(plugins, [pay], ["pay", { to: 7 }], ["pay", { to: "bob" }]);
    expect(heard).toEqual([`early {"to":7}`, `early {"to":"bob"}`, `typed {"to":"bob"}`, `late {"to":"bob"}`]);
    expect(shown).toEqual([expect.stringMatching(/^pay failed: Error \(tool\.arguments\)/), "pay ok: paid"]);
    expect(paid).toEqual(["bob 1"]);
  });

  test("K12 arguments that another plugin replaced are checked before such a gate sees them, first or again", async () => {
    const { pay, paid } = payments();
    const heard: unknown[] = [];
    const typed = definePlugin({
      id: "b/typed",
      setup: () => ({
        beforeToolCall: {
          tools: of(pay),
          run: ({ call }) => {
            heard.push(call.input);
            return (call.input as { to: string }).to === "eve" ? deny("Not to Eve.") : undefined;
          },
        },
      }),
    });
    const replaces = (id: string, order: "early" | "late", args: (input: Json) => Json | undefined) =>
      definePlugin({
        id,
        order,
        setup: () => ({
          beforeToolCall: ({ call }) => {
            const own = args(call.input);
            return own === undefined ? undefined : replaceArgs(own);
          },
        }),
      });
    const repairs = replaces("a/repairs", "early", (input) =>
      typeof (input as { to: unknown }).to === "number" ? { to: `nr ${(input as { to: number }).to}` } : undefined,
    );
    const breaks = replaces(
      "c/breaks",
      "late",
      (input) => ({ bob: { to: true }, kim: { to: "eve" } })[String((input as { to: unknown }).to)],
    );
    const { shown } = await playing(
      [typed, repairs, breaks],
      [pay],
      ["pay", { to: 7 }],
      ["pay", { to: "bob" }],
      ["pay", { to: "kim" }],
    );
    expect(heard).toEqual([{ to: "nr 7" }, { to: "bob" }, { to: "kim" }, { to: "eve" }]);
    expect(shown).toEqual([
      "pay ok: paid",
      expect.stringMatching(/^pay failed: Error \(tool\.arguments\)/),
      expect.stringMatching(/^pay denied: .*Not to Eve/),
    ]);
    expect(paid).toEqual(["nr 7 1"]);
  });

  test("T13 calls inside a batch pass the same gates", async () => {
    const { pay, paid } = payments();
    const guard = definePlugin({
      id: "a/guard",
      setup: () => ({
        beforeToolCall: {
          tools: of(pay),
          run: ({ call }) => ((call.input as { to: string }).to === "eve" ? deny("No.") : undefined),
        },
      }),
    });
    const batch = { calls: ["bob", "eve", 7].map((to) => ({ tool: "pay", input: { to } })) };
    const { shown } = await playing([guard], [pay], ["batch", batch]);
    expect(paid).toEqual(["bob 1"]);
    expect(shown.join()).toMatch(/pay: ok.*pay: denied.*pay: failed/s);
  });

  test("K7 a tool that is granted under another name does not bypass its gate, which gets its original name", async () => {
    const { pay, paid } = payments();
    const names: string[] = [];
    const guard = definePlugin({
      id: "a/guard",
      setup: () => ({
        beforeTurn: ({ membership }) => membership.grant("settle_up", { source: "app", tool: "pay" }),
        beforeToolCall: {
          tools: of(pay),
          run: ({ call }) => {
            names.push(call.name);
            return deny("Nobody pays.");
          },
        },
      }),
    });
    const { shown } = await playing([guard], [pay], ["settle_up", { to: "bob" }]);
    expect(names).toEqual(["pay"]);
    expect(shown).toEqual([expect.stringMatching(/^settle_up denied: .*Nobody pays/)]);
    expect(paid).toEqual([]);
  });
});

test("K7 another tool of the gate's name is gated too; input that the gate's tool would not take is denied, naming the plugin", async () => {
  const { pay } = payments();
  const ran: unknown[] = [];
  const other = named("pay", (input) => void ran.push(input));
  const seen: unknown[] = [];
  const guard = definePlugin({
    id: "a/guard",
    setup: () => ({ beforeToolCall: { tools: [pay], run: ({ call }) => void seen.push(call.input.to) } }),
  });
  const lends = definePlugin({
    id: "b/lends",
    setup: () => ({ context: ({ context }) => ({ ...context, tools: [...(context.tools ?? []), other] }) }),
  });
  const { shown, issues } = await playing(
    [guard, lends],
    [pay],
    ["pay", { to: "bob", all: true }],
    ["pay", { everything: true }],
  );
  expect(seen).toEqual(["bob"]);
  expect(ran).toEqual([{ to: "bob", all: true }]);
  expect(shown[1]).toMatch(/^pay denied: .*is not the session's tool/);
  expect(issues).toMatchObject([{ plugin: "a/guard", code: "hook.other-tool" }]);
});

test("K10 verdicts of a gate for some tools count like any other: ask, shortCircuit, and the strictest wins", async () => {
  const { pay, paid } = payments();
  const cuts = definePlugin({
    id: "a/cuts",
    setup: () => ({ beforeToolCall: { tools: [pay], run: ({ call }) => shortCircuit(`cut ${call.input.to}`) } }),
  });
  const asks = definePlugin({
    id: "b/asks",
    setup: () => ({
      beforeToolCall: ({ call }) =>
        (call.input as { to?: unknown }).to === "eve" ? ask("Eve?", { waitMs: 1 }) : undefined,
    }),
  });
  const { shown } = await playing(
    [cuts, asks],
    [pay],
    ["pay", { to: "bob" }],
    ["pay", { to: "eve" }],
    ["pay", { to: 7 }],
  );
  expect(shown).toEqual([
    "pay ok: cut bob",
    expect.stringMatching(/^pay denied/),
    expect.stringMatching(/^pay failed: Error \(tool\.arguments\)/),
  ]);
  expect(paid).toEqual([]);
});

test("T5 an input is checked once, however many gates look at it, and a schema may take its time", async () => {
  let checks = 0;
  const slow = defineTool({
    name: "slow",
    description: "Takes its time.",
    input: described(
      {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: async (value) => {
            checks++;
            return { value: value as { readonly n: number } };
          },
          types: undefined as never as { input: { readonly n: number }; output: { readonly n: number } },
        },
      },
      { type: "object" },
    ),
    execute: ({ n }) => n,
  });
  const seen: number[] = [];
  const guard = (id: string) =>
    definePlugin({
      id,
      setup: () => ({ beforeToolCall: { tools: [slow], run: ({ call }) => void seen.push(call.input.n) } }),
    });
  const { shown } = await playing([guard("a/one"), guard("b/two")], [slow], ["slow", { n: 3 }]);
  expect([seen, checks, shown]).toEqual([[3, 3], 1, ["slow ok: 3"]]);
});

test("K10 after a call, a handler for some tools sees their results only, and none of a call whose input did not fit", async () => {
  const { pay } = payments();
  const seen: unknown[] = [];
  const audit = definePlugin({
    id: "a/audit",
    setup: () => ({
      afterToolCall: { tools: [pay], run: ({ call, output }) => void seen.push([call.input.to, output.kind]) },
    }),
  });
  await playing(
    [audit],
    [pay, named("ping")],
    ["pay", { to: "bob" }],
    ["ping", {}],
    ["pay", { to: 7 }],
    ["gone", { to: "x" }],
  );
  expect(seen).toEqual([["bob", "value"]]);
});

test("D2 after a restart the same handlers see the same: the calls of their tools, with input that fits", async () => {
  const seen: unknown[] = [];
  const stop = new Stop();
  const { next, kill } = lifetimes(file());
  const made = (isFirst: boolean) => {
    const { pay } = payments();
    const audit = definePlugin({
      id: "a/audit",
      setup: () => ({
        beforeToolCall: { tools: [pay], run: ({ call }) => void seen.push(`before ${call.input.to}`) },
        afterToolCall: {
          tools: [pay],
          run: ({ call, output }) => void seen.push(`after ${call.input.to} ${output.kind}`),
        },
      }),
    });
    const slow = named("slow", () => (isFirst ? stop.here() : "done"));
    const reply = both(calls("pay", { to: "bob" }, "c1"), calls("pay", { to: 7 }, "c2"), calls("slow", {}, "c3"));
    return { model: isFirst ? scripted(reply) : scripted(says("Done.")), tools: [pay, slow], plugins: [audit] };
  };
  const first = await next(made(true));
  void (await first.runtime.session("s"))
    .turn("Go.")
    .result()
    .catch(() => {});
  await stop.reached;
  kill();
  const second = await next(made(false));
  await within(second.runtime.recover(), 4_000);
  expect(seen).toEqual(["before bob", "after bob value"]);
  expect(shownIn((await (await second.runtime.session("s")).read()).messages)).toHaveLength(3);
  await second.runtime.close();
});

test("K10 whatever guards there are in whatever order, a gate for some tools is shown nothing that its schema refuses", async () => {
  const { pay } = payments();
  const fits = (input: unknown) => z.object({ to: z.string(), cents: z.number().optional() }).safeParse(input).success;
  const inputs = fc.constantFrom<Json>(
    { to: "bob" },
    { to: 7 },
    {},
    { to: "kim", cents: 3 },
    { to: "kim", cents: "x" },
  );
  const guards = fc.array(
    fc.record({
      order: fc.constantFrom("early", "normal", "late"),
      isTyped: fc.boolean(),
      replaces: fc.option(inputs),
    }),
    { maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(inputs, guards, async (input, planned) => {
      const lies: unknown[] = [];
      const plugins = planned.map(({ order, isTyped, replaces }, index) =>
        definePlugin({
          id: `p${index}`,
          order: order as "early",
          setup: () => ({
            beforeToolCall: {
              ...(isTyped ? { tools: [pay] } : {}),
              run: ({ call }: { readonly call: { readonly input: unknown } }) => {
                if (isTyped && !fits(call.input)) lies.push(call.input);
                return replaces === null ? undefined : replaceArgs(replaces);
              },
            },
          }),
        }),
      );
      const { shown } = await playing(plugins, [pay], ["pay", input]);
      expect(lies).toEqual([]);
      expect(shown).toHaveLength(1);
    }),
    { numRuns: 60 },
  );
});

test.each([
  ["an empty list", { beforeToolCall: { tools: [], run: () => {} } }],
  ["no list", { beforeToolCall: { tools: "pay", run: () => {} } }],
  ["an invalid tool", { afterToolCall: { tools: [{ name: "pay" }], run: () => {} } }],
  ["tools where there is no call", { beforeTurn: { tools: ["pay"], run: () => {} } }],
])("K10 a gate for %s is refused when the session opens", async (_, parts) => {
  const plugin = definePlugin({ id: "a/wrong", setup: () => parts as object });
  expect(await codeOf(open(scripted(), { plugins: [plugin] }))).toBe("plugin.invalid");
});

test("K10 several tools are distinguished by name, without a cast", async () => {
  const { pay } = payments();
  const mail = defineTool({
    name: "mail",
    description: "Mails.",
    input: z.object({ words: z.string() }),
    execute: () => 1,
  });
  const seen: string[] = [];
  const guard = definePlugin({
    id: "a/guard",
    setup: ({ gate }) => ({
      beforeToolCall: gate("beforeToolCall", {
        tools: [pay, mail],
        run: ({ call }) => void seen.push(call.name === "pay" ? call.input.to : call.input.words),
      }),
    }),
  });
  await playing([guard], [pay, mail], ["pay", { to: "bob" }], ["mail", { words: "hi" }]);
  expect(seen).toEqual(["bob", "hi"]);
});
