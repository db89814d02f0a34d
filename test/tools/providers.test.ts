import { createRuntime, definePlugin, defineToolProvider, type Tool } from "bowline";
import { ask, type ToolManifest } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { expect, test, vi } from "vitest";
import { codeOf, seen, within } from "../kit/reading.ts";
import { answerWait, held, named } from "../kit/worlds.ts";
import { begins, did, obeys, opened, toolsIn } from "./obedient.ts";
import { type Supply, supplies } from "./supplies.ts";

// ── Listed light, loaded by name ────────────────────────────────────────────────────────────────────────────────────

test("T1 a provider is listed once and each tool is loaded once, over turns and sessions", async () => {
  const supply = supplies("acme/many", [named("one"), named("two")]);
  await using world = await opened({ tools: [supply] });
  expect((await did(world.session, "one", "two")).shown).toEqual(["one ok: one!", "two ok: two!"]);
  await did(world.session, "one");
  await did(await world.runtime.session("other"), "two");
  expect(supply.seen).toMatchObject({ lists: 1, loads: ["one", "two"] });
});

test("T1 what cannot be called is not loaded, until somebody asks what it is", async () => {
  const supply = supplies("acme/many", [
    named("open"),
    named("quiet", undefined, { availability: "searchable" }),
    named("shut", undefined, { availability: "off" }),
  ]);
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  expect(supply.seen.loads).toEqual(["open"]);
  expect((await world.session.tools.list({ raw: true })).map(({ name }) => name)).toEqual(["open", "quiet", "shut"]);
  expect(supply.seen.loads).toEqual(["open"]);
  expect(await world.session.tools.describe("quiet")).toMatchObject({ name: "quiet", inputSchema: { type: "object" } });
  expect(supply.seen.loads).toEqual(["open", "quiet"]);
  await world.session.tools.set("quiet", "callable");
  expect((await did(world.session, "quiet")).shown).toEqual(["quiet ok: quiet!"]);
  expect(supply.seen.loads).toEqual(["open", "quiet"]);
});

test("T1 a thousand listed tools that can only be searched cost one list and no load", async () => {
  const supply = supplies(
    "acme/many",
    Array.from({ length: 1_000 }, (_, index) => named(`tool_${index}`, undefined, { availability: "searchable" })),
  );
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  await did(world.session);
  expect(world.offered()).toEqual([]);
  expect(supply.seen).toMatchObject({ lists: 1, loads: [] });
});

test("T1 the manifest speaks for a tool: its description and bindings are those that were listed", async () => {
  const bound = named("ping", (_, { bindings }) => bindings, { bindings: { from: "load" } });
  const supply = supplies("acme/one", [], {
    list: () => [{ name: "ping", description: "As listed.", bindings: { from: "list" } }],
    load: () => bound,
  });
  await using world = await opened({ tools: [supply] });
  expect((await did(world.session, "ping")).shown).toEqual(['ping ok: {"from":"list"}']);
  expect(world.model.requests[0]?.tools[0]?.description).toBe("As listed.");
});

// ── Every way in ────────────────────────────────────────────────────────────────────────────────────────────────────

const WAYS: readonly (readonly [string, (supply: Supply) => Promise<Awaited<ReturnType<typeof opened>>>])[] = [
  ["createRuntime({ tools })", (supply) => opened({ tools: [supply] })],
  [
    "a plugin's tools",
    (supply) => opened({ plugins: [definePlugin({ id: "acme/gives", setup: () => ({ tools: [supply] }) })] }),
  ],
  [
    "a context hook",
    (supply) =>
      opened({
        plugins: [
          definePlugin({
            id: "acme/context",
            setup: () => ({ context: ({ context }) => ({ ...context, tools: [supply] }) }),
          }),
        ],
      }),
  ],
  [
    "session.tools.add",
    async (supply) => {
      const world = await opened();
      await world.session.tools.add(supply);
      return world;
    },
  ],
];

for (const [way, start] of WAYS) {
  test(`T1 a provider given by ${way} is listed, loaded and called`, async () => {
    const supply = supplies("acme/one", [named("ping")]);
    await using world = await start(supply);
    expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
    await did(world.session, "ping");
    expect(supply.seen).toMatchObject({ lists: 1, loads: ["ping"] });
  });

  test(`T1 a provider given by ${way} that reports a change is read again before the next turn`, async () => {
    const supply = supplies("acme/one", [named("old")]);
    await using world = await start(supply);
    await did(world.session);
    expect(world.offered()).toEqual(["old"]);
    supply.change(named("new"));
    const { shown } = await did(world.session, "old", "new");
    expect(toolsIn(world.model.requests[1])).toEqual(["new"]);
    expect(shown[1]).toBe("new ok: new!");
    expect(shown[0]).toMatch(/^old failed: Error \(tool\.unknown\)/);
    expect(supply.seen.lists).toBe(2);
  });

  test(`T1 a provider given by ${way} whose list fails once is read again in a later turn`, async () => {
    let isBroken = true;
    const ping = named("ping");
    const supply = supplies("acme/one", [], {
      list: () => {
        if (isBroken) throw new Error("No network.");
        return [{ name: "ping", description: "Pings." }];
      },
      load: () => ping,
    });
    await using world = await start(supply);
    expect((await did(world.session)).outcome.kind).toBe("answered");
    isBroken = false;
    await did(world.session); // Nobody waits for one that failed: it counts in the turn after.
    await did(world.session);
    expect(world.offered()).toEqual(["ping"]);
  });
}

test("T1 what is added to one session is not in another, and is gone when it is removed", async () => {
  await using world = await opened({ tools: [named("base")] });
  const other = await world.runtime.session("other");
  const supply = supplies("acme/live", [named("live")]);
  const { remove } = await world.session.tools.add(supply);
  expect((await did(world.session, "live")).shown).toEqual(["live ok: live!"]);
  await did(other);
  expect(world.offered()).toEqual(["base"]);
  await remove();
  await remove();
  await did(world.session);
  expect(world.offered()).toEqual(["base"]);
  expect((await world.session.tools.list()).map(({ name }) => name)).toEqual(["base"]);
  expect(supply.seen.unwatched).toBe(1);
});

test("T1 a source that was removed can be added again", async () => {
  await using world = await opened();
  const supply = supplies("acme/live", [named("live")]);
  await (await world.session.tools.add(supply)).remove();
  await world.session.tools.add(supply);
  expect((await did(world.session, "live")).shown).toEqual(["live ok: live!"]);
});

test("T1 a removal that was refused can be done later", async () => {
  const supply = supplies("acme/live", [named("live")]);
  let remove = async (): Promise<void> => {};
  const tidy = named("tidy", () => codeOf(remove()));
  await using world = await opened({ tools: [tidy] });
  ({ remove } = await world.session.tools.add(supply));
  expect((await did(world.session, "tidy")).shown).toEqual(["tidy ok: operation.reentrant"]);
  await remove();
  await did(world.session);
  expect(world.offered()).toEqual(["tidy"]);
});

test("T1 two sources of one id are refused by name, wherever they meet, and the refused one is not watched", async () => {
  const [one, two] = [supplies("acme/same", [named("a")]), supplies("acme/same", [named("b")])];
  await using world = await opened({ tools: [one] });
  expect(await codeOf(world.session.tools.add(two))).toBe("tool.source");
  expect(two.seen.watches).toBe(two.seen.unwatched);
  expect(await codeOf(world.session.tools.add(supplies("app")))).toBe("tool.source");
  expect((await did(world.session, "a")).shown).toEqual(["a ok: a!"]);
  expect(await codeOf(createRuntime({ store: memory(), model: obeys(), tools: [one, two] }))).toBe("tool.source");
  expect(await codeOf(createRuntime({ store: memory(), model: obeys(), tools: [supplies("app")] }))).toBe(
    "tool.source",
  );
});

test("T1 two plugins whose providers have one id get an error with that id", async () => {
  const gives = (id: string, source: string) =>
    definePlugin({ id, setup: () => ({ tools: [named(id.replace("/", "_")), supplies(source, [named("far")])] }) });
  const clash = await opened({ plugins: [gives("acme/a", "acme/same"), gives("acme/b", "acme/same")] }).then(
    async (world) => (await did(world.session)).outcome,
    (error: unknown) => error,
  );
  expect(clash).toMatchObject({ code: "tool.source" });
  expect(clash instanceof Error ? clash.message : JSON.stringify(clash)).toContain("acme/same");
});

// ── Changes and running turns ───────────────────────────────────────────────────────────────────────────────────────

test("T1 a list that changes while a turn runs counts from the next turn, even if something reads it meanwhile", async () => {
  const supply = supplies("acme/one", [named("old")]);
  const volatile = definePlugin({
    id: "acme/clock",
    setup: () => ({ prompt: () => [{ slot: "environment", text: "It is late.", isVolatile: true as const }] }),
  });
  const look = named("look", async () => {
    supply.change(named("new"));
    await did(await world.runtime.session("other")); // A turn elsewhere reads the list anew.
    return (await world.session.tools.list()).map(({ name }) => name);
  });
  await using world = await opened({ tools: [look, supply], plugins: [volatile] });
  await did(world.session, "look");
  const [first, , second] = world.model.requests;
  expect(toolsIn(first)).toEqual(["look", "old"]);
  expect(toolsIn(second), "the running turn keeps its tools").toEqual(["look", "old"]);
  await did(world.session);
  expect(world.offered()).toEqual(["look", "new"]);
});

test("T1 a tool that its provider drops while a turn runs can be called to the end of that turn", async () => {
  const supply = supplies("acme/one", [named("old")]);
  const drop = named("drop", () => supply.change());
  await using world = await opened({ tools: [drop, supply] });
  const { shown } = await did(world.session, "drop", "old");
  expect(shown).toEqual(["drop ok: null", "old ok: old!"]);
  await did(world.session);
  expect(world.offered()).toEqual(["drop"]);
});

test("T1 however a turn ends, the next one has the list of then", async () => {
  let isBroken = true;
  const breaks = definePlugin({
    id: "acme/breaks",
    setup: () => ({
      prompt: () => {
        if (isBroken) throw new Error("Not now.");
      },
      beforeToolCall: () => [ask("May I?")],
    }),
  });
  const supply = supplies("acme/one", [named("a")]);
  await using world = await opened({ tools: [supply], plugins: [breaks], limits: { cancelGraceMs: 20 } });
  expect((await did(world.session)).outcome.kind).toBe("failed");
  isBroken = false;
  supply.change(named("b"));
  await did(world.session);
  expect(world.offered(), "after a turn that failed").toEqual(["b"]);
  const turn = begins(world.session, "b");
  const { wait } = await seen(turn, "waiting");
  supply.change(named("c"));
  await answerWait(world.runtime, wait, { approved: true });
  await turn.result();
  expect(world.offered(), "while it waited for a person").toEqual(["b"]);
  const cancelled = begins(world.session, "c");
  await seen(cancelled, "waiting");
  supply.change(named("d"));
  await cancelled.cancel("Enough.");
  await cancelled.result();
  await did(world.session);
  expect(world.offered(), "after a turn that was cancelled").toEqual(["d"]);
});

test("T1 a provider that edits its manifests in place changes nothing until it reports a change", async () => {
  const manifest: { -readonly [K in keyof ToolManifest]: ToolManifest[K] } = { name: "ping", description: "First." };
  const ping = named("ping");
  const supply = supplies("acme/one", [], { list: () => [manifest], load: () => ping });
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  manifest.description = "Second.";
  await did(await world.runtime.session("other"));
  expect(world.model.requests[1]?.tools[0]?.description).toBe("First.");
  supply.tell();
  await did(world.session);
  expect(world.model.requests[2]?.tools[0]?.description).toBe("Second.");
});

test("T1 the same list again is not a change: nothing is loaded again", async () => {
  const supply = supplies("acme/one", [named("ping")]);
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  supply.tell();
  await did(world.session);
  expect(supply.seen).toMatchObject({ lists: 2, loads: ["ping"] });
});

test("T4 a refresh lists a provider again that did not report a change, and loads its tools again, for every session", async () => {
  let tools = [named("ping", () => "old"), named("gone")];
  const supply = supplies("acme/quiet", [], {
    list: () => tools.map(({ name, description }) => ({ name, description })),
    load: (name) => tools.find((tool) => tool.name === name),
    watch: () => () => {},
  });
  await using world = await opened({ tools: [supply] });
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: old"]);
  const { generation } = await world.session.tools.export();
  const typed = { ...named("ping", () => "new"), inputSchema: { type: "object", properties: { n: {} } } } as const;
  tools = [typed, named("come")];
  await did(world.session);
  expect(world.offered(), "nobody said so").toEqual(["ping", "gone"]);
  const next = await world.session.tools.refresh();
  expect(next).toBeGreaterThan(generation);
  expect((await world.session.tools.export()).generation).toBe(next);
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: new"]);
  expect(world.offered()).toEqual(["ping", "come"]);
  expect(world.model.requests.at(-1)?.tools[0]?.inputSchema).toEqual(typed.inputSchema);
  expect((await did(await world.runtime.session("other"), "ping")).shown).toEqual(["ping ok: new"]);
});

test("T4 a refresh while a turn runs counts from the next turn: the turn keeps its list and its tools", async () => {
  let tool = named("ping", () => "old");
  const supply = supplies("acme/quiet", [], {
    list: () => [{ name: "ping", description: tool.description }],
    load: () => tool,
    watch: () => () => {},
  });
  const volatile = definePlugin({
    id: "acme/clock",
    setup: () => ({ prompt: () => [{ slot: "environment", text: "It is late.", isVolatile: true as const }] }),
  });
  let generations: readonly number[] = [];
  const refresh = named("refresh", async () => {
    tool = { ...named("ping", () => "new"), description: "Another." };
    const before = (await world.session.tools.export()).generation;
    generations = [before, await world.session.tools.refresh()];
  });
  await using world = await opened({ tools: [refresh, supply], plugins: [volatile] });
  expect((await did(world.session, "refresh", "ping")).shown).toEqual(["refresh ok: null", "ping ok: old"]);
  const [first, second] = world.model.requests;
  expect(second?.tools).toEqual(first?.tools);
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: new"]);
  expect(world.model.requests.at(-1)?.tools[1]?.description).toBe("Another.");
  expect(generations[1]).toBe(generations[0]);
  expect((await world.session.tools.export()).generation).toBeGreaterThan(generations[1] ?? 0);
});

test("T4 a refresh asks catalog hooks again, though nothing that the runtime can see has changed", async () => {
  let description = "One.";
  const plugin = definePlugin({
    id: "acme/edits",
    setup: () => ({ toolCatalog: () => ({ tool: "ping", description }) }),
  });
  await using world = await opened({ tools: [named("ping")], plugins: [plugin] });
  const described = async () => {
    await did(world.session);
    return world.model.requests.at(-1)?.tools[0]?.description;
  };
  expect(await described()).toBe("One.");
  description = "Two.";
  expect(await described()).toBe("One.");
  await world.session.tools.refresh();
  expect(await described()).toBe("Two.");
});

test("T4 a refresh reaches the providers that a plugin gives to each turn", async () => {
  let tool = named("lent", () => "old");
  const supply = supplies("acme/lent", [], {
    list: () => [{ name: "lent", description: "Lent." }],
    load: () => tool,
    watch: () => () => {},
  });
  const lends = definePlugin({
    id: "acme/lends",
    setup: () => ({ context: ({ context }) => ({ ...context, tools: [supply] }) }),
  });
  await using world = await opened({ plugins: [lends] });
  expect((await did(world.session, "lent")).shown).toEqual(["lent ok: old"]);
  tool = named("lent", () => "new");
  expect((await did(world.session, "lent")).shown).toEqual(["lent ok: old"]);
  await world.session.tools.refresh();
  expect((await did(world.session, "lent")).shown).toEqual(["lent ok: new"]);
});

test("T4 a provider that fails when a refresh lists it keeps its tools, and is reported; the next one tries again", async () => {
  let isBroken = false;
  const supply = supplies("acme/weak", [], {
    list: () => {
      if (isBroken) throw new Error("Down.");
      return [{ name: "ping", description: "Pings." }];
    },
    load: () => named("ping"),
  });
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  isBroken = true;
  await world.session.tools.refresh();
  expect(world.traces.filter(({ name }) => name === "tool.source")).toMatchObject([{ about: { problem: "Down." } }]);
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
  isBroken = false;
  await world.session.tools.refresh();
  const { lists } = supply.seen;
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
  expect(supply.seen).toMatchObject({ lists, loads: ["ping", "ping"] });
});

test("T1 a turn waits for a list that takes its time, the first one and one that has changed", async () => {
  let name = "old";
  const supply = supplies("acme/slow", [], {
    list: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return [{ name, description: "One." }];
    },
    load: (asked) => named(asked),
  });
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  expect(world.offered()).toEqual(["old"]);
  name = "new";
  supply.tell();
  await did(world.session);
  expect(world.offered()).toEqual(["new"]);
});

test("T1 two sessions that begin at once both wait for the list", async () => {
  const supply = supplies("acme/slow", [], {
    list: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return [{ name: "ping", description: "One." }];
    },
    load: (asked) => named(asked),
  });
  await using world = await opened({ tools: [supply] });
  await Promise.all([did(world.session), did(await world.runtime.session("other"))]);
  expect(world.model.requests.map(toolsIn)).toEqual([["ping"], ["ping"]]);
  expect(supply.seen.lists).toBe(1);
});

test("T1 a change that comes while the list is read is read again", async () => {
  let names = ["a"];
  const tools: { [name: string]: Tool } = { a: named("a"), b: named("b") };
  const supply: Supply = supplies("acme/one", [], {
    list: async () => {
      const now = names;
      if (now[0] === "a") {
        names = ["b"];
        supply.tell();
      }
      return now.map((name) => ({ name, description: "One." }));
    },
    load: (name) => tools[name],
  });
  await using world = await opened({ tools: [supply] });
  await did(world.session);
  await did(world.session);
  expect(world.offered()).toEqual(["b"]);
});

test("T1 a provider that reports a change whenever it is read does not block a turn", async () => {
  let reads = 0;
  const supply: Supply = supplies("acme/restless", [], {
    list: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (++reads < 300) supply.tell();
      return [{ name: "ping", description: `Read ${reads}.` }];
    },
    load: (name) => named(name),
  });
  await using world = await opened({ tools: [supply] });
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
  expect(reads).toBeLessThan(10);
});

// ── What goes wrong ─────────────────────────────────────────────────────────────────────────────────────────────────

const RUBBISH: readonly (readonly [string, () => unknown])[] = [
  ["throws", () => JSON.parse("{")],
  ["rejects with nothing", () => Promise.reject(undefined)],
  ["gives no list", () => "tools"],
  ["gives undefined", () => undefined],
  ["gives a proxy that throws", () => new Proxy([], { get: () => JSON.parse("{") })],
];
for (const [what, list] of RUBBISH) {
  test(`T1 a provider whose list ${what} fails no turn and hides no other tool`, async () => {
    const supply = supplies("acme/odd", [], { list: list as never });
    await using world = await opened({ tools: [supply, named("ping")] });
    expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
    expect(world.traces.filter(({ name }) => name === "tool.source").length).toBeGreaterThan(0);
  });
}

const ODD: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a name", "ping"],
  ["a nameless one", { description: "None." }],
  ["a name that is none", { name: "two words", description: "Bad." }],
  ["the name of typed results", { name: "submit_output", description: "Bad." }],
  ["no description", { name: "bad" }],
  ["an unknown availability", { name: "bad", description: "Bad.", availability: "sometimes" }],
  ["an unknown audience", { name: "bad", description: "Bad.", audience: "all" }],
  ["the same name again", { name: "good", description: "Again." }],
  ["bindings that are not JSON", { name: "bad", description: "Bad.", bindings: { big: 1n } }],
  ["bindings that are not an object", { name: "bad", description: "Bad.", bindings: "text" }],
  ["examples that are not a list", { name: "bad", description: "Bad.", availability: "documented", examples: "none" }],
];
for (const [what, manifest] of ODD) {
  test(`T1 a manifest that is ${what} is left out and told; the others count`, async () => {
    const good = named("good");
    const supply = supplies("acme/odd", [], {
      list: () => [{ name: "good", description: "Good." }, manifest as ToolManifest],
      load: (name) => (name === "good" ? good : named("bad")),
    });
    await using world = await opened({ tools: [supply] });
    const { shown, outcome } = await did(world.session, "good");
    expect(outcome.kind, JSON.stringify(outcome)).toBe("answered");
    expect(shown).toEqual(["good ok: good!"]);
    expect(world.offered()).toEqual(["good"]);
    expect(world.traces.map(({ name }) => name)).toContain("tool.source");
  });
}

const LOADS: readonly (readonly [string, () => unknown])[] = [
  ["throws", () => JSON.parse("{")],
  ["rejects", () => Promise.reject(new Error("No network."))],
  ["finds nothing", () => undefined],
  ["gives something else", () => 5],
  ["gives a tool of another name", () => named("other")],
  ["gives half a tool", () => ({ name: "bad", description: "Bad.", run: () => 1, check: () => ({ ok: true }) })],
];
for (const [what, load] of LOADS) {
  test(`T1 a tool whose loading ${what} is not offered, the turn continues, and the next turn tries again`, async () => {
    const [good, bad] = [named("good"), named("bad")];
    let isBroken = true;
    const supply = supplies("acme/odd", [good, bad], {
      load: (name) => (name === "good" ? good : isBroken ? (load() as Tool) : bad),
    });
    await using world = await opened({ tools: [supply] });
    const { shown, outcome } = await did(world.session, "good", "bad");
    expect(outcome.kind, JSON.stringify(outcome)).toBe("answered");
    expect(toolsIn(world.model.requests[0])).toEqual(["good"]);
    expect(shown[0]).toBe("good ok: good!");
    expect(shown[1]).toMatch(/^bad failed: Error \(tool\.un/);
    expect(world.traces.map(({ name }) => name)).toContain("tool.unavailable");
    isBroken = false;
    if (what === "finds nothing") supply.tell(); // "Not there any more" holds until the list says otherwise.
    await did(world.session);
    if (what !== "finds nothing") expect(world.offered()).toEqual(["good", "bad"]);
  });
}

test("T1 a list that never comes holds the first turn for ten seconds at most, and no other turn", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const asked = Promise.withResolvers<void>();
    const supply = supplies("acme/hung", [], {
      list: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    await using world = await opened({ tools: [supply, named("ping")] });
    const first = did(world.session, "ping");
    await asked.promise;
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await first).shown).toEqual(["ping ok: ping!"]);
    expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
  } finally {
    vi.useRealTimers();
  }
});

test("T1 a tool whose loading never ends holds the first turn for ten seconds at most, and no other turn", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const good = named("good");
    const supply = supplies("acme/hung", [named("hung"), good], {
      load: (name) => (name === "good" ? good : new Promise(() => {})),
    });
    await using world = await opened({ tools: [supply] });
    /** The seconds that must pass until the turn is over. */
    const waited = async (): Promise<number> => {
      let isOver = false;
      const doing = did(world.session, "good").finally(() => {
        isOver = true;
      });
      for (let seconds = 0; ; seconds++) {
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        if (isOver) {
          expect((await doing).shown).toEqual(["good ok: good!"]);
          return seconds;
        }
        await vi.advanceTimersByTimeAsync(1_000);
      }
    };
    expect(await waited()).toBe(10);
    expect(await waited()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("T1 a turn that waits for a list can be cancelled", async () => {
  const asked = Promise.withResolvers<void>();
  const supply = supplies("acme/hung", [], {
    list: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  await using world = await opened({ tools: [supply], limits: { cancelGraceMs: 20 } });
  const turn = world.session.turn("Hello.");
  await asked.promise;
  await turn.cancel("Enough.");
  expect((await within(turn.result())).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
});

test("T1 a watch that throws costs nothing but its changes", async () => {
  const supply = supplies("acme/odd", [named("ping")], {
    watch: () => {
      throw new Error("Not today.");
    },
  });
  await using world = await opened({ tools: [supply] });
  expect((await did(world.session, "ping")).shown).toEqual(["ping ok: ping!"]);
});

test("T1 what comes from a provider under a name that is taken is left out, and told", async () => {
  const supply = supplies("acme/one", [named("ping", () => "theirs"), named("pong")]);
  await using world = await opened({ tools: [named("ping", () => "mine"), supply] });
  expect((await did(world.session, "ping", "pong")).shown).toEqual(["ping ok: mine", "pong ok: pong!"]);
  expect(world.traces.map(({ name }) => name)).toContain("tool.duplicate");
});

// ── Ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("T1 closing the runtime aborts the signals of providers and stops watching them, those of sessions too", async () => {
  const signals: AbortSignal[] = [];
  const keep = (name: string): Tool => named(name);
  const [ofApp, ofSession] = ["acme/app", "acme/session"].map((id) => {
    const tool = keep(id.replace("/", "_"));
    return supplies(id, [tool], {
      list: (signal) => {
        signals.push(signal);
        return [{ name: tool.name, description: "One." }];
      },
      load: () => tool,
    });
  }) as [Supply, Supply];
  const world = await opened({ tools: [ofApp] });
  await world.session.tools.add(ofSession);
  await did(world.session);
  await world.runtime.close();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect([ofApp.seen.unwatched, ofSession.seen.unwatched]).toEqual([1, 1]);
});

test("T1 the app's provider is listed and loaded once, also when every session that used it is closed in between", async () => {
  const supply = supplies("acme/app", [named("ping")]);
  await using world = await opened({ tools: [supply] });
  await did(world.session, "ping");
  await world.session.close();
  for (const id of ["two", "three"]) {
    const session = await world.runtime.session(id);
    expect((await did(session, "ping")).shown).toEqual(["ping ok: ping!"]);
    await session.close();
  }
  expect(supply.seen).toEqual({ lists: 1, loads: ["ping"], watches: 1, unwatched: 0 });
});

test("T1 what was added to a session is there as long as one handle of it is open", async () => {
  const supply = supplies("acme/live", [named("live")]);
  await using world = await opened({ tools: [named("base")] });
  await world.session.tools.add(supply);
  const second = await world.runtime.session("one");
  await world.session.close();
  expect((await did(second, "live")).shown).toEqual(["live ok: live!"]);
  await second.close();
  expect(supply.seen.unwatched).toBe(1);
  await did(await world.runtime.session("one"));
  expect(world.offered()).toEqual(["base"]);
});

test("T1 a provider that a plugin makes for each session is let go with the session", async () => {
  const supply: Supply[] = [];
  const gives = definePlugin({
    id: "acme/gives",
    setup: () => {
      const own = supplies("acme/own", [named("own")]);
      supply.push(own);
      return { tools: [own] };
    },
  });
  await using world = await opened({ plugins: [gives] });
  await did(world.session, "own");
  await world.session.close();
  expect(supply.map(({ seen }) => [seen.watches, seen.unwatched])).toEqual([[1, 1]]);
});

test("T1 providers that a context hook makes in every turn do not pile up", async () => {
  const supply: Supply[] = [];
  const gives = definePlugin({
    id: "acme/gives",
    setup: () => ({
      context: ({ context }) => {
        const own = supplies("acme/own", [named("own")]);
        supply.push(own);
        return { ...context, tools: [own] };
      },
    }),
  });
  await using world = await opened({ plugins: [gives] });
  for (let turn = 0; turn < 5; turn++) await did(world.session, "own");
  const watched = supply.filter(({ seen: { watches, unwatched } }) => watches > unwatched);
  expect(watched.length).toBeLessThanOrEqual(1);
});

test("T1 a provider is checked when it is made", () => {
  const right = { list: () => [], load: () => undefined };
  expect(() => defineToolProvider({ id: "", ...right })).toThrow(/id must be/);
  expect(() => defineToolProvider({ id: "has space", ...right })).toThrow(/id must be/);
  expect(() => defineToolProvider({ id: "a", list: right.list } as never)).toThrow(/list and load/);
  expect(() => defineToolProvider({ id: "a", ...right, watch: 5 } as never)).toThrow(/watch must be a function/);
  expect(() => defineToolProvider(undefined as never)).toThrow(/undefined/);
});

test("T1 tools of a provider are gated and told of like any others", async () => {
  const gate: string[] = [];
  const guard = definePlugin({
    id: "acme/guard",
    setup: () => ({
      beforeToolCall: ({ call }) => void gate.push(`before ${call.name}`),
      afterToolCall: ({ call }) => void gate.push(`after ${call.name}`),
    }),
  });
  const { tool, began, release } = held("slow");
  await using world = await opened({ tools: [supplies("acme/one", [tool])], plugins: [guard] });
  const turn = begins(world.session, "slow");
  const started = seen(turn, "toolStarted");
  await began();
  expect((await started).call.name).toBe("slow");
  release();
  await turn.result();
  expect(gate).toEqual(["before slow", "after slow"]);
});
