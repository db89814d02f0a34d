import { definePlugin, defineTool, type Json } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { codeOf, outline } from "../kit/reading.ts";
import { named, open } from "../kit/worlds.ts";
import { made, maker } from "./maker.ts";
import { did, opened, toolsIn } from "./obedient.ts";
import { supplies } from "./supplies.ts";

const shows = (name: string, more: object = {}) => named(name, (_, { bindings }) => bindings, more);
const inner = () => shows("inner", { audience: "runtime", bindings: { own: 1, both: "tool" } });

/** Grants `door` to `inner`, in the way it is told. */
const opener = (way: string) =>
  definePlugin({
    id: "acme/opener",
    setup: ({ tool }) => {
      const grant = { source: "app", tool: "inner", bindings: { both: "grant", more: [1] } as { [key: string]: Json } };
      return {
        tools: [
          tool({
            name: "open",
            description: "Opens.",
            input: z.object({}),
            ...(way === "a tool that writes" ? { writes: true as const } : {}),
            execute: (_, { membership }) => {
              if (way === "a tool that writes") membership.grant("door", grant);
              return "Opened.";
            },
          }),
        ],
        beforeTurn: ({ membership, input }) => {
          if (way === "beforeTurn" && JSON.stringify(input.parts).includes("open")) membership.grant("door", grant);
        },
        beforeToolCall: ({ call, membership }) => {
          if (way === "beforeToolCall" && call.name === "open") membership.grant("door", grant);
        },
        afterToolCall: ({ call, membership }) => {
          if (way === "afterToolCall" && call.name === "open") membership.grant("door", grant);
        },
      };
    },
  });

for (const way of ["a tool that writes", "beforeTurn", "beforeToolCall", "afterToolCall"]) {
  test(`T12 granted by ${way}: the tool is called under its name with its bindings, though the catalog does not show it`, async () => {
    const store = memory();
    await using world = await opened({ tools: [inner()], plugins: [opener(way)], store });
    expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
    await did(world.session, "open");
    const { shown } = await did(world.session, "door", "inner");
    expect(shown[0]).toBe('door ok: {"own":1,"both":"grant","more":[1]}');
    expect(shown[1]).toMatch(/^inner failed: Error \(tool\.unknown\)/);
    expect(world.offered()).toEqual(["open"]);
    const again = await opened({ tools: [inner()], plugins: [opener(way)], store });
    expect((await did(again.session, "door")).shown[0], "after a restart").toBe(shown[0]);
    expect((await did(await again.session.fork(), "door")).shown[0], "in a fork").toBe(shown[0]);
    expect((await did(await again.runtime.session("other"), "door")).shown[0]).toMatch(/tool\.unknown/);
  });
}

test("T12 a grant counts from the next round of the same turn on", async () => {
  const model = scripted(calls("open"), calls("door"), says("Done."));
  await using world = await open(model, { tools: [inner()], plugins: [opener("a tool that writes")] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)).toContain('door ok: {"own":1,"both":"grant","more":[1]}');
});

test("T12 a tool that is not declared to write can neither grant nor set, and the model reads the reason", async () => {
  const tries = definePlugin({
    id: "acme/tries",
    setup: ({ tool }) => ({
      tools: ["grant", "set", "revoke"].map((what) =>
        tool({
          name: what,
          description: "Tries.",
          input: z.object({}),
          execute: (_, { membership }) => {
            if (what === "grant") membership.grant("door", { source: "app", tool: "inner" });
            else if (what === "set") membership.set("inner", "callable");
            else membership.revoke("door");
          },
        }),
      ),
    }),
  });
  await using world = await opened({ tools: [inner()], plugins: [tries] });
  const { shown } = await did(world.session, "grant", "set", "revoke");
  for (const line of shown) expect(line).toMatch(/failed: Error \(state\.parallel\)/);
  expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
});

test("T12 a grant is taken back, and what was never granted can be revoked", async () => {
  await using world = await opened({ tools: [inner()], plugins: [maker] });
  await world.session.command(maker, "revoke", "door");
  await world.session.command(maker, "grant", ["door", { source: "app", tool: "inner" }]);
  expect((await did(world.session, "door")).shown[0]).toMatch(/^door ok/);
  await world.session.command(maker, "revoke", "door");
  expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
});

test("T12 what is not there cannot be granted, and a grant that is none is refused", async () => {
  await using world = await opened({ tools: [inner()], plugins: [maker] });
  const granted = (name: unknown, grant: unknown) =>
    codeOf(world.session.command(maker, "grant", [name, grant] as never));
  expect(await granted("door", { source: "app", tool: "nowhere" })).toBe("tool.unknown");
  expect(await granted("door", { source: "nowhere", tool: "inner" })).toBe("tool.unknown");
  for (const [name, grant] of [
    ["two words", { source: "app", tool: "inner" }],
    ["submit_output", { source: "app", tool: "inner" }],
    ["door", { source: "app" }],
    ["door", { source: "app", tool: "inner", bindings: "text" }],
  ])
    expect(await granted(name, grant), JSON.stringify([name, grant])).toMatch(/^(input\.invalid|tool\.name)$/);
  expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
});

test("T12 a grant whose source goes away is not offered, is traced, fails no turn, and works when the source is back", async () => {
  await using world = await opened({ plugins: [maker] });
  const supply = supplies("acme/far", [shows("far", { availability: "off" })]);
  await world.session.tools.add(supply);
  await world.session.command(maker, "grant", ["door", { source: "acme/far", tool: "far", bindings: { n: 1 } }]);
  expect((await did(world.session, "door")).shown).toEqual(['door ok: {"n":1}']);
  supply.change();
  const { shown, outcome } = await did(world.session, "door");
  expect(shown[0]).toMatch(/tool\.unknown/);
  expect(outcome.kind).toBe("answered");
  expect(world.traces.filter(({ name }) => name === "tool.unavailable").length).toBeGreaterThan(0);
  supply.change(shows("far", { availability: "off" }));
  expect((await did(world.session, "door")).shown).toEqual(['door ok: {"n":1}']);
});

test("T12 a grant goes with the source when that is removed", async () => {
  await using world = await opened({ plugins: [maker] });
  const far = () => supplies("acme/far", [shows("far", { availability: "off" })]);
  const { remove } = await world.session.tools.add(far());
  await world.session.command(maker, "grant", ["door", { source: "acme/far", tool: "far" }]);
  await remove();
  await world.session.tools.add(far());
  expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
});

test("T12 granted calls are validated, gated and inspected, under the name they were made by", async () => {
  const seen: string[] = [];
  const watcher = definePlugin({
    id: "acme/watcher",
    setup: () => ({
      beforeToolCall: ({ call }) => void seen.push(`before ${call.name}`),
      afterToolCall: ({ call }) => void seen.push(`after ${call.name}`),
    }),
  });
  const strict = defineTool({
    name: "strict",
    description: "Strict.",
    audience: "runtime",
    input: z.object({ n: z.number() }),
    execute: ({ n }) => n + 1,
  });
  await using world = await opened({ tools: [strict], plugins: [maker, watcher] });
  await world.session.command(maker, "grant", ["door", { source: "app", tool: "strict" }]);
  const { shown } = await did(world.session, ["door", { n: 1 }], ["door", { n: "one" }]);
  expect(shown[0]).toBe("door ok: 2");
  expect(shown[1]).toMatch(/^door failed: Error \(tool\.arguments\).*n/);
  expect(seen).toEqual(["before door", "before door", "after door", "after door"]);
});

test("T12 the policies of a granted tool hold under its other name: it writes, it is serial, it is tried again", async () => {
  let tries = 0;
  const owner = definePlugin({
    id: "acme/owner",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "inner",
          description: "Counts.",
          audience: "runtime",
          input: z.object({}),
          writes: true,
          retry: { policy: "idempotent", attempts: 2, baseMs: 1 },
          execute: (_, { state }) => {
            state.update(({ n }) => ({ n: n + 1 }));
            if (++tries === 1) throw new Error("Again.");
            return state.get().n;
          },
        }),
      ],
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await opened({ plugins: [owner, maker] });
  await world.session.command(maker, "grant", ["door", { source: "acme/owner", tool: "inner" }]);
  expect((await did(world.session, "door")).shown).toEqual(["door ok: 1"]);
  expect(tries).toBe(2);
  expect(await world.session.query(owner, "n")).toBe(1);
});

test("T12 what a tool does to its bindings reaches no other call", async () => {
  const tool = named(
    "inner",
    (_, { bindings }) => {
      const before = JSON.stringify(bindings);
      try {
        (bindings as { list: number[] }).list.push(9);
        (bindings as { [key: string]: Json }).more = true;
      } catch {
        // Frozen is right too.
      }
      return before;
    },
    { bindings: { list: [1] } },
  );
  await using world = await opened({ tools: [tool] });
  expect((await did(world.session, "inner")).shown).toEqual(['inner ok: {"list":[1]}']);
  expect((await did(await world.runtime.session("other"), "inner")).shown).toEqual(['inner ok: {"list":[1]}']);
});

test("T12 a child has none of its parent's grants, also with a copy of its states; its own keep to its permissions", async () => {
  await using world = await opened({ tools: [inner()], plugins: [maker] });
  const grant = ["door", { source: "app", tool: "inner" }] as ["door", { source: string; tool: string }];
  await world.session.command(maker, "grant", grant);
  for (const copiesState of [false, true]) {
    const child = await made(world.runtime, world.session, { kind: "child", copiesState });
    expect((await did(child, "door")).shown[0]).toMatch(/tool\.unknown/);
    await child.command(maker, "grant", grant);
    expect((await did(child, "door")).shown[0]).toMatch(/^door ok/);
  }
  for (const [why, hiddenTools] of [
    ["the tool", ["inner"]],
    ["the name it is called by", ["door"]],
  ] as const) {
    const child = await made(world.runtime, world.session, { kind: "child", permissions: { hiddenTools } });
    await child.command(maker, "grant", grant).catch(() => {}); // To refuse it is right too.
    expect((await did(child, "door")).shown[0], `hidden: ${why}`).toMatch(/tool\.unknown/);
  }
});

test("T12 tool search: what is found is made callable in the same turn, declared in the next round, and stays", async () => {
  const search = definePlugin({
    id: "acme/search",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "search_tools",
          description: "Finds tools.",
          input: z.object({ q: z.string() }),
          writes: true,
          execute: ({ q }, { catalog, membership }) => {
            const found = catalog
              .list()
              .filter(({ name, availability }) => availability === "searchable" && name.includes(q));
            membership.set(
              found.map(({ name }) => name),
              "callable",
            );
            return found.map(({ name }) => name);
          },
        }),
      ],
    }),
  });
  const far = supplies("acme/far", [
    named("weather", undefined, { availability: "searchable" }),
    named("stocks", undefined, { availability: "searchable" }),
  ]);
  const model = scripted(calls("search_tools", { q: "wea" }), calls("weather"), says("Done."), says("Again."));
  await using world = await open(model, { tools: [far], plugins: [search] });
  await world.session.turn("Go.").result();
  await world.session.turn("And?").result();
  expect(model.requests.map(toolsIn)).toEqual([
    ["search_tools"],
    ["search_tools", "weather"],
    ["search_tools", "weather"],
    ["search_tools", "weather"],
  ]);
  expect(outline((await world.session.read()).messages)).toContain("weather ok: weather!");
  expect(far.seen.loads).toEqual(["weather"]);
});

test("T12 a tool that is found in the middle of a turn has its policies at once: it may write", async () => {
  const plugin = definePlugin({
    id: "acme/finds",
    state: z.object({ n: z.number().default(0) }),
    setup: ({ tool, query }) => ({
      tools: [
        tool({
          name: "find",
          description: "Finds.",
          input: z.object({}),
          writes: true,
          execute: (_, { membership }) => membership.set("count", "callable"),
        }),
        tool({
          name: "count",
          description: "Counts.",
          availability: "searchable",
          input: z.object({}),
          writes: true,
          execute: (_, { state }) => state.update(({ n }) => ({ n: n + 1 })),
        }),
      ],
      operations: { n: query({ run: ({ state }) => state.get().n }) },
    }),
  });
  await using world = await open(scripted(calls("find"), calls("count"), says("Done.")), { plugins: [plugin] });
  await world.session.turn("Go.").result();
  expect(outline((await world.session.read()).messages)).toContain("count ok: null");
  expect(await world.session.query(plugin, "n")).toBe(1);
});

test("T12 what a tool granted before it failed is not granted", async () => {
  const plugin = definePlugin({
    id: "acme/fails",
    setup: ({ tool }) => ({
      tools: [
        tool({
          name: "open",
          description: "Opens, and fails.",
          input: z.object({}),
          writes: true,
          execute: (_, { membership }) => {
            membership.grant("door", { source: "app", tool: "inner" });
            throw new Error("No.");
          },
        }),
      ],
    }),
  });
  await using world = await opened({ tools: [inner()], plugins: [plugin] });
  await did(world.session, "open");
  expect((await did(world.session, "door")).shown[0]).toMatch(/tool\.unknown/);
});

test("T12 a grant under the name of a tool that is there is refused, or else it is the grant that is called", async () => {
  await using world = await opened({ tools: [inner(), named("door", () => "the catalog's")], plugins: [maker] });
  const code = await codeOf(world.session.command(maker, "grant", ["door", { source: "app", tool: "inner" }]));
  const [line] = (await did(world.session, "door")).shown;
  if (code === "nothing was thrown") expect(line).toMatch(/"own":1/);
  else expect([code, line]).toEqual([expect.stringMatching(/^tool\./), "door ok: the catalog's"]);
});
