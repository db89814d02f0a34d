// Sessions can be found, read, observed and sent to without being opened, and nothing of them runs in that process.
import { createRuntime, definePlugin, type Runtime, type SessionEvent } from "bowline";
import { memory } from "bowline/stores/memory";
import { both, calls, recited, says, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { codeOf, eventually, outline, textIn, within } from "../kit/reading.ts";
import { around } from "../kit/stores.ts";
import { HOUR, held } from "../kit/worlds.ts";
import { approve, parked, shop } from "../sessions/open-turns.ts";
import { delegate } from "../sessions/plugins.ts";
import { onEveryStore, type Place } from "./places.ts";

type List = NonNullable<Parameters<Runtime["sessions"]["list"]>[0]>;
const listed = async (runtime: Runtime, page?: List) =>
  (await runtime.sessions.list(page)).map(({ id }) => id as string);

/** Texts that look alike, or that a store may compare, cut or order in its own way. */
const ODD = [
  "ann",
  "Ann",
  "é",
  "e\u0301",
  "ﬀ",
  "ß",
  "李",
  "😀",
  "👩‍👩‍👧",
  "\u202eneb",
  "a b",
  " a",
  "a%",
  "a_",
  "'; --",
  "{}",
  "-",
  "0",
  "null",
  "__proto__",
];

// ── Owner, tags and label ───────────────────────────────────────────────────────────────────────────────────────────

onEveryStore("E4 owner and tags are given once, and children and forks have those of their origin", async (place) => {
  const model = recited(calls("delegate", { id: "grandchild", task: "Count." }), says("Done."));
  const runtime = await place.open({ model, tools: [delegate] });
  const { sessions } = runtime;
  const root = await runtime.session("root", {
    owner: "ann",
    tags: ["red", "new", "red"],
    config: { label: "The first" },
  });
  await sessions.create({ id: "child", kind: "child", from: "root", tags: ["blue", "red"] });
  await (await runtime.session("child")).turn("Go.").result();
  await sessions.create({ id: "made", kind: "fork", from: "child" });
  await root.append([{ kind: "message", role: "user", text: "Noted." }]);
  await (await root.fork({ id: "fork" })).close();
  await sessions.fork("root", { id: "forked", label: "The second" });
  await sessions.create({ id: "own", owner: "ben", tags: ["red"] });

  const other = await place.open({ recover: "manual" });
  const marks = Object.fromEntries(
    (await other.sessions.list()).map(({ id, owner, tags, label }) => [id, { owner, tags, label }]),
  );
  const red = ["red", "new"];
  expect(marks).toEqual({
    root: { owner: "ann", tags: red, label: "The first" },
    child: { owner: "ann", tags: ["red", "new", "blue"] },
    grandchild: { owner: "ann", tags: ["red", "new", "blue"] },
    made: { owner: "ann", tags: ["red", "new", "blue"] },
    fork: { owner: "ann", tags: red },
    forked: { owner: "ann", tags: red, label: "The second" },
    own: { owner: "ben", tags: ["red"] },
  });
  for (const [id, { owner, tags }] of Object.entries(marks))
    expect(await other.sessions.get(id)).toMatchObject({ owner, tags });

  expect(await codeOf(runtime.session("root", { owner: "ben" }))).toBe("session.owner");
  expect(await codeOf(other.session("root", { owner: "ben" }))).toBe("session.owner");
  expect(await codeOf(sessions.create({ id: "x", kind: "child", from: "root", owner: "ben" }))).toBe("session.owner");
  expect(await codeOf(sessions.create({ id: "x", kind: "fork", from: "root", owner: "ben" }))).toBe("session.owner");
  expect(await codeOf(sessions.create({ id: "own", ifExists: "take", owner: "ann" }))).toBe("session.exists");
  await (await runtime.session("root", { owner: "ann", tags: ["late"] })).close();
  await root.configure({ label: "Renamed" });
  expect(await sessions.get("root")).toMatchObject({ owner: "ann", tags: red, config: { label: "Renamed" } });
  expect(await listed(runtime, { tag: "late" })).toEqual([]);
  expect(await listed(runtime)).toEqual(Object.keys(marks).sort());
});

onEveryStore("E4 owners and tags of any Unicode are kept apart, and wrong ones are refused by name", async (place) => {
  const runtime = await place.open();
  for (const [nth, odd] of ODD.entries())
    await runtime.sessions.create({ id: `s${nth}`, owner: odd, tags: [odd, `${odd}!`] });
  const other = await place.open({ recover: "manual" });
  const feed = other.observe({ owner: "😀", after: "latest" });
  for (const [nth, odd] of ODD.entries())
    for (const order of ["id", "activity", "created"] as const)
      for (const page of [{ owner: odd }, { tag: odd }, { tag: `${odd}!` }, { owner: odd, tag: odd }])
        expect(await listed(other, { ...page, order }), odd).toEqual([`s${nth}`]);
  expect(await other.sessions.get("s5")).toMatchObject({ owner: "ß", tags: ["ß", "ß!"] });

  const first = feed.next();
  for (const id of ["s6", "s7"]) await runtime.sessions.inject(id, "Hi.");
  expect(await within(first)).toMatchObject({ value: { sessionId: "s7", owner: "😀", tags: ["😀", "😀!"] } });
  await feed.return?.();

  const long = "é".repeat(129);
  const wrong = ["", "\ud800", "a\udfff", "a\u0000", "a\nb", "\u009f", long, 7, null, {}, ["ann"]];
  for (const given of wrong as unknown as readonly string[]) {
    const made = [{ owner: given }, { tags: [given] }, { tags: ["right", given] }];
    for (const marks of made) {
      expect(await codeOf(runtime.sessions.create({ id: "x", ...marks })), JSON.stringify(marks)).toBe(
        "options.invalid",
      );
      expect(await codeOf(runtime.session("x", marks)), JSON.stringify(marks)).toBe("options.invalid");
    }
    for (const page of [{ owner: given }, { tag: given }]) {
      expect(await codeOf(runtime.sessions.list(page)), JSON.stringify(page)).toBe("options.invalid");
      expect(await codeOf(() => runtime.observe(page)), JSON.stringify(page)).toBe("options.invalid");
    }
  }
  for (const tags of [
    "red",
    { 0: "red" },
    Array.from({ length: 17 }, (_, nth) => `t${nth}`),
    ["x".repeat(65)],
  ] as const)
    expect(await codeOf(runtime.sessions.create({ id: "x", tags: tags as never })), JSON.stringify(tags)).toBe(
      "options.invalid",
    );
  expect(await codeOf(runtime.session("x", { config: { label: "x".repeat(257) } }))).toBe("options.invalid");
  await runtime.sessions.create({
    id: "most",
    owner: "é".repeat(128),
    tags: Array.from({ length: 16 }, (_, nth) => `${nth}`.padEnd(64, "x")),
  });
  expect(await listed(runtime, { owner: "é".repeat(128), tag: "15".padEnd(64, "x") })).toEqual(["most"]);
  expect(await codeOf(runtime.sessions.get("x"))).toBe("session.unknown");
});

// ── Lists ───────────────────────────────────────────────────────────────────────────────────────────────────────────

onEveryStore(
  "E4 sessions are listed by id, creation and activity, by state, page by page, with what they have done",
  async (place) => {
    const world = simulatedWorld({ now: Date.now() });
    const start = world.now();
    const work = held();
    const prices = { "listener/test": { input: 1_000_000, output: 0 } };
    const tools = [work.tool, ...shop.tools];
    const model = {
      ...echo(),
      id: "listener",
      async *stream({ messages }: Parameters<ReturnType<typeof echo>["stream"]>[0]) {
        const words = textIn(messages.at(-1)!.parts);
        yield* words === "Work." ? calls("work") : words === "Pay." ? calls("pay") : says(`re: ${words}`);
      },
    };
    const runtime = await place.open({
      model,
      tools,
      plugins: shop.plugins,
      world,
      prices,
      limits: { parkAfterMs: 20 },
    });
    const other = await place.open({ model, recover: "never", world, prices });
    for (const id of ["d", "b", "a", "c"]) {
      await runtime.session(id, { owner: id === "d" ? "ben" : "ann", tags: id < "c" ? ["red"] : [] });
      await world.advance(1_000);
    }
    await (await runtime.session("b")).turn("Hi.").result();
    await world.advance(1_000);
    const waits = (await runtime.session("a")).turn("Pay.");
    await eventually(async () => {
      await world.advance(20);
      return (await other.sessions.list({ state: "waiting" })).length > 0;
    });
    await world.advance(1_000);
    const works = (await runtime.session("d")).turn("Work.");
    await work.began();

    const orders: readonly (readonly [List, readonly string[]])[] = [
      [{}, ["a", "b", "c", "d"]],
      [{ order: "id" }, ["a", "b", "c", "d"]],
      [{ order: "created" }, ["c", "a", "b", "d"]],
      [{ order: "activity" }, ["d", "a", "b", "c"]],
      [{ order: "activity", owner: "ann" }, ["a", "b", "c"]],
      [{ order: "created", tag: "red" }, ["a", "b"]],
      [{ tag: "red", owner: "ben" }, []],
      [{ state: "idle" }, ["b", "c"]],
      [{ state: "idle", order: "created" }, ["c", "b"]],
      [{ state: "waiting" }, ["a"]],
      [{ state: "running" }, ["d"]],
      [{ state: "running", owner: "ann", order: "activity" }, []],
      [{ state: "interrupted" }, []],
      [{ parent: "a" }, []],
      [{ origin: "a" }, []],
    ];
    for (const [page, expected] of orders) {
      expect(await listed(other, page), JSON.stringify(page)).toEqual(expected);
      for (const max of [1, 3]) expect(await paged(other, { ...page, max }), JSON.stringify(page)).toEqual(expected);
    }
    const [a, b, c, d] = await other.sessions.list();
    expect(a).toMatchObject({ state: "waiting", openTurn: await waits.id, turns: 0, owner: "ann", tags: ["red"] });
    expect(b).toMatchObject({
      state: "idle",
      lastWords: "re: Hi.",
      turns: 1,
      cost: 10,
      createdAt: start + 1_000,
      activeAt: start + 4_000,
    });
    expect(c).toMatchObject({ state: "idle", turns: 0, cost: 0, activeAt: start + 3_000 });
    expect(c).not.toHaveProperty("lastWords");
    expect(d).toMatchObject({ state: "running", openTurn: await works.id, owner: "ben" });
    work.release();
    await works.result();
    await runtime.sessions.fork("b", { id: "e" });
    await runtime.sessions.create({ id: "f", kind: "child", from: "b" });
    expect(await listed(other, { origin: "b" })).toEqual(["e"]);
    expect(await listed(other, { parent: "b" })).toEqual(["f"]);
    expect((await other.sessions.list({ origin: "b" }))[0]).toMatchObject({ origin: { sessionId: "b" } });
  },
);

/** Reads a list page by page. */
async function paged(runtime: Runtime, page: List & { readonly max: number }): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let place: List = {}; ; ) {
    const found = await runtime.sessions.list({ ...page, ...place });
    expect(found.length).toBeLessThanOrEqual(page.max);
    const last = found.at(-1);
    if (last === undefined) return ids;
    ids.push(...found.map(({ id }) => id));
    place = (page.order ?? "id") === "id" ? { after: last.id } : { before: last.cursor };
  }
}

test("E4 a turn in memory runs, however long it takes", async () => {
  const world = simulatedWorld();
  const work = held();
  await using runtime = await createRuntime({
    store: memory(),
    model: recited(calls("work"), says("Done.")),
    tools: [work.tool],
    world,
  });
  const turn = (await runtime.session("s")).turn("Work.");
  await work.began();
  await world.jump(HOUR / 10);
  expect(await runtime.sessions.list({ state: "running" })).toMatchObject([{ id: "s" }]);
  expect(await runtime.turns.list({ state: "running" })).toMatchObject([{ sessionId: "s" }]);
  work.release();
  await turn.result();
});

onEveryStore("E4 wrong pages of a list are refused by name", async (place) => {
  const runtime = await place.open();
  await runtime.session("s");
  const wrong: readonly (readonly [object, string])[] = [
    ...["x", "", "1.2.3.4", "-1.5", "1e9.1", "9".repeat(40), "5"].map(
      (before) => [{ order: "activity", before }, "cursor.unknown"] as const,
    ),
    ...["x", "", "1.5", "1e3", "-1"].map((before) => [{ order: "created", before }, "cursor.unknown"] as const),
    [{ before: "1" }, "options.invalid"],
    [{ order: "activity", after: "s" }, "options.invalid"],
    [{ order: "activity", before: 7 }, "options.invalid"],
    [{ order: "size" }, "options.invalid"],
    [{ state: "open" }, "options.invalid"],
    ...[0, -1, 1.5, Number.NaN, "2"].map((max) => [{ max }, "options.invalid"] as const),
    ...["after", "parent", "origin"].map((option) => [{ [option]: 7 }, "options.invalid"] as const),
    [{ label: "x" }, "options.unknown"],
  ];
  for (const [page, code] of wrong) expect(await codeOf(runtime.sessions.list(page)), JSON.stringify(page)).toBe(code);
});

// ── Without opening ─────────────────────────────────────────────────────────────────────────────────────────────────

/** A process that sends and reads, and the calls by which a store opens turns, which it must not make. */
async function reader(place: Place, options: Parameters<Place["open"]>[0] = {}) {
  const opened: string[] = [];
  const tells = (name: string) => (act: () => unknown) => {
    opened.push(name);
    return act();
  };
  const told = Object.fromEntries(
    ["open", "create", "append", "commit", "renew", "inputs.claim"].map((name) => [name, tells(name)]),
  );
  const store = around(place.store(), told);
  return { runtime: await place.open({ ...options, store, recover: "never" }), opened };
}

const counter = definePlugin({
  id: "test/counter",
  state: z.object({ count: z.number().default(0) }),
  setup: () => ({ afterTurn: ({ state }) => void state.update(({ count }) => ({ count: count + 1 })) }),
});

onEveryStore(
  "E4 S11 a process beside the workers reads, observes, sends to and follows sessions, and runs nothing",
  async (place) => {
    const work = held();
    const model = recited(both(says("I begin."), calls("work", {}, "w")), says("Done."));
    const options = { tools: [work.tool], plugins: [counter] };
    const worker = await place.open({ ...options, model });
    const { runtime: web, opened } = await reader(place, options);
    await worker.session("s", { owner: "ann" });
    const seen: SessionEvent[] = [];
    const reading = (async () => {
      for await (const event of web.sessions.observe("s")) {
        seen.push(event);
        if (event.kind === "committed") break;
      }
    })();
    const { turnId } = await web.sessions.send("s", "Go.", { key: "k", metadata: { user: "ann" } });
    expect(await web.sessions.send("s", "Go.", { key: "k" })).toEqual({ turnId });
    const followed = web.sessions.follow(turnId);
    await work.began();
    const view = await eventually(async () => {
      const found = await web.sessions.get("s");
      return found.openTurn !== undefined && found.openTurn.calls.length > 0 ? found : undefined;
    });
    expect(view).toMatchObject({ id: "s", owner: "ann", turns: 0, openTurn: { id: turnId } });
    expect(outline(view.openTurn!.messages)).toEqual(["user: Go.", "assistant: I begin.", "calls work"]);
    expect(view.openTurn!.calls).toMatchObject([{ call: { name: "work" }, state: "running" }]);
    expect(await web.sessions.list({ state: "running" })).toMatchObject([{ id: "s", openTurn: turnId }]);
    const { turnId: next } = await web.sessions.send("s", "And then?", { at: "next-turn" });
    expect((await web.sessions.get("s")).inputs).toMatchObject([
      { state: "running" },
      { state: "waiting", turnId: next },
    ]);
    if (place.name !== "memory") await eventually(() => seen.some(({ kind }) => kind === "toolStarted"));
    work.release();
    expect((await within(followed.result())).outcome).toMatchObject({ kind: "answered", text: "Done." });
    await within(reading);
    expect(seen.filter(({ fact }) => fact).map(({ kind }) => kind)).toEqual(["accepted", "accepted", "committed"]);
    expect(seen.find(({ fact }) => fact)).toMatchObject({ kind: "accepted", text: "Go.", metadata: { user: "ann" } });
    expect((await within(web.sessions.follow(next).result())).turnId).toBe(next);

    const after = await web.sessions.get("s");
    expect(after).not.toHaveProperty("openTurn");
    expect(after.turns).toBe(2);
    expect(outline(after.messages).slice(0, 3)).toEqual(["user: Go.", "assistant: I begin.", "calls work"]);
    const history = await web.sessions.history("s", { max: 2 });
    expect(history).toHaveLength(2);
    expect(await web.sessions.history("s")).toHaveLength(after.messages.length);
    expect(await web.sessions.states("s")).toMatchObject({ "test/counter": { state: { count: 2 } } });
    expect((await web.sessions.follow(turnId).result()).outcome).toMatchObject({ text: "Done." });
    expect(opened).toEqual([]);
  },
);

onEveryStore(
  "E4 `get` shows what a parked turn has said, and a late reader of `observe` is shown it too",
  async (place) => {
    const model = recited(
      both(says("Let me see."), calls("look")),
      both(says("I pay."), calls("pay", { eur: 5 })),
      says("Done."),
    );
    const options = { ...shop, limits: { parkAfterMs: 20 } };
    const store = place.store();
    const worker = await place.open({ ...options, model, store });
    const { runtime: web, opened } = await reader(place, shop);
    const session = await worker.session("s");
    await session.send("Go.");
    await parked(worker, store);
    const { openTurn, waits, cursor } = await web.sessions.get("s");
    expect(outline(openTurn!.messages)).toEqual([
      "user: Go.",
      "assistant: Let me see.",
      "calls look",
      "look ok: nine",
      "assistant: I pay.",
      "calls pay",
    ]);
    expect(waits).toMatchObject([
      { wants: "approval", reason: "It moves money.", call: { name: "pay", input: { eur: 5 } } },
    ]);
    expect(await web.sessions.list({ state: "waiting" })).toMatchObject([{ id: "s", openTurn: openTurn!.id }]);
    if (place.name === "memory") return; // It passes no previews on.
    const late = web.sessions.observe("s", { after: cursor! });
    const first = await within(late.next());
    expect(first.value).toMatchObject({ fact: false, turnId: openTurn!.id });
    await approve(web);
    await worker.recover();
    for await (const event of late) if (event.kind === "committed") break;
    expect((await web.sessions.get("s")).messages.length).toBeGreaterThan(4);
    expect(opened).toEqual([]);
  },
);

onEveryStore("E4 unknown ids are `session.unknown`, and nothing is created", async (place) => {
  const { runtime, opened } = await reader(place);
  const { sessions } = runtime;
  const ids = ["nobody", "", " ", "a\u0000b", "\ud800", "x".repeat(5_000), 7, null, undefined, {}] as readonly string[];
  for (const id of ids) {
    const asks: readonly (readonly [string, () => unknown])[] = [
      ["get", () => sessions.get(id)],
      ["history", () => sessions.history(id)],
      ["states", () => sessions.states(id)],
      ["observe", () => sessions.observe(id).next()],
      ["observe tree", () => sessions.observe(id, { tree: true }).next()],
      ["send", () => sessions.send(id, "Hi.")],
      ["fork", () => sessions.fork(id)],
      ["cancel", () => sessions.cancel(id)],
      ["usage", () => sessions.usage(id)],
      ["inject", () => sessions.inject(id, "Hi.")],
      ["create", () => sessions.create({ kind: "child", from: id === undefined ? "nobody" : id })],
    ];
    for (const [name, asking] of asks)
      expect(await codeOf(asking), `${name} ${JSON.stringify(id)?.slice(0, 40)}`).toBe("session.unknown");
    expect(await codeOf(sessions.follow(id).result()), `follow ${JSON.stringify(id)?.slice(0, 40)}`).toBe(
      "turn.unknown",
    );
  }
  expect(await sessions.list()).toEqual([]);
  expect(await runtime.turns.list()).toEqual([]);
  expect(opened).toEqual([]);
});

onEveryStore("E4 a deleted session is unknown to all calls, and readers are told", async (place) => {
  const worker = await place.open();
  const { runtime: web } = await reader(place);
  const session = await worker.session("s", { owner: "ann", tags: ["red"] });
  const { turnId } = await session.turn("Hi.").result();
  const events = web.sessions.observe("s", { after: (await web.sessions.get("s")).cursor! });
  const next = events.next();
  await session.close();
  await worker.sessions.delete("s");
  expect(await within(codeOf(next))).toBe("session.deleted");
  expect(await codeOf(web.sessions.get("s"))).toBe("session.unknown");
  expect(await codeOf(web.sessions.send("s", "Hi."))).toMatch(/^session\.(unknown|deleted)$/);
  expect(await codeOf(web.turns.get(turnId))).toBe("turn.unknown");
  for (const page of [{}, { owner: "ann" }, { tag: "red", order: "activity" }] as const)
    expect(await listed(web, page)).toEqual([]);
  expect(await web.turns.list()).toEqual([]);
});

onEveryStore("E4 wrong and foreign cursors, options and inputs are refused by name", async (place) => {
  const worker = await place.open();
  const { runtime: web } = await reader(place);
  for (const id of ["a", "b"]) await (await worker.session(id)).turn("Hi.").result();
  const { sessions } = web;
  const { cursor } = await sessions.get("b");
  expect(await codeOf(() => sessions.observe("a", { after: cursor! }).next())).toBe("cursor.foreign");
  expect(await codeOf(() => sessions.observe("a", { after: cursor!, tree: true }).next())).toBe("cursor.foreign");
  for (const after of ["", "x", "0@a", "-1@a", "1.5.5@a", "999999@a"])
    expect(await codeOf(() => sessions.observe("a", { after }).next()), after).toBe("cursor.unknown");
  expect(await codeOf(() => sessions.observe("a", { from: 1 } as never).next())).toBe("options.unknown");
  expect(await codeOf(() => sessions.observe("a", { signal: 7 } as never).next())).toBe("options.invalid");
  expect(await codeOf(sessions.history("a", { max: 0 }))).toMatch(/^(options|page)\./);
  expect(await codeOf(sessions.history("a", { all: 1 } as never))).toBe("options.unknown");
  for (const input of ["", "  "]) expect(await codeOf(sessions.send("a", input))).toBe("input.invalid");
  expect(await codeOf(sessions.send("a", "Hi.", { now: true } as never))).toBe("options.unknown");
  expect(await web.sessions.list()).toMatchObject([{ turns: 1 }, { turns: 1 }]);
});

onEveryStore(
  "E4 metadata of more than 8 KB, or that is no JSON object, is refused, and nothing is accepted",
  async (place) => {
    const worker = await place.open();
    const { runtime: web } = await reader(place);
    const session = await worker.session("s");
    const circle: { [name: string]: unknown } = {};
    circle.self = circle;
    const most = { user: "é".repeat(4_090) }; // 8,192 bytes of JSON.
    const wrong = [
      { user: "é".repeat(4_091) },
      { user: "x".repeat(8_192) },
      [],
      "ann",
      7,
      null,
      () => 1,
      circle,
      { n: 1n },
    ];
    for (const metadata of wrong as unknown as readonly { user: string }[]) {
      expect(await codeOf(web.sessions.send("s", "Hi.", { metadata }))).toBe("metadata.invalid");
      expect(await codeOf(session.send("Hi.", { metadata }))).toBe("metadata.invalid");
      expect(await codeOf(session.turn("Hi.", { metadata }).result())).toBe("metadata.invalid");
    }
    expect(await web.turns.list()).toEqual([]);
    const { turnId } = await session.turn("Hi.", { metadata: most }).result();
    expect((await web.turns.get(turnId)).metadata).toEqual(most);
  },
);

test("E4 on a store in memory an input that is sent to a session that is not open is run", async () => {
  await using runtime = await createRuntime({ store: memory(), model: echo() });
  await runtime.sessions.create({ id: "s" });
  const { turnId } = await runtime.sessions.send("s", "Hi.");
  expect((await within(runtime.sessions.follow(turnId).result())).outcome).toMatchObject({ text: "re: Hi." });
});
