// `runtime.observe()`: the facts of all sessions in one order, none missed and none twice.
import { createRuntime, type Runtime } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, recited, says, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import type { RuntimeFact } from "../../src/model/event.ts";
import { codeOf, eventually, ticks, within } from "../kit/reading.ts";
import { around } from "../kit/stores.ts";
import { held } from "../kit/worlds.ts";
import { shop } from "../sessions/open-turns.ts";
import { compacting } from "../sessions/plugins.ts";
import { inMemory, onEveryStore, type Place } from "./places.ts";

type Observe = NonNullable<Parameters<Runtime["observe"]>[0]>;

/** Reads the next facts, and leaves the feed. */
async function taken(runtime: Runtime, count: number, options: Observe = {}): Promise<readonly RuntimeFact[]> {
  const feed = runtime.observe(options);
  const facts: RuntimeFact[] = [];
  while (facts.length < count) facts.push((await within(feed.next())).value as RuntimeFact);
  await feed.return?.();
  return facts;
}

/** Reads facts up to the first that comes after all that are there now. */
async function allNow(runtime: Runtime, options: Observe = {}): Promise<readonly RuntimeFact[]> {
  const id = `mark ${++marks}`;
  const { owner, tag } = options;
  await runtime.sessions.create({
    id,
    ...(owner === undefined ? {} : { owner }),
    ...(tag === undefined ? {} : { tags: [tag] }),
  });
  const feed = runtime.observe(options);
  await runtime.sessions.inject(id, "Mark.");
  const facts: RuntimeFact[] = [];
  for await (const fact of { [Symbol.asyncIterator]: () => feed }) {
    if (fact.sessionId === id) break;
    if (!fact.sessionId.startsWith("mark ")) facts.push(fact);
  }
  return facts;
}
let marks = 0;

/** In short: `s accepted`, `s committed turn`. */
const inShort = (fact: RuntimeFact): string =>
  `${fact.sessionId} ${fact.kind}${fact.kind === "committed" ? ` ${fact.by}` : ""}`;

/** Two sessions with a fact of every kind. */
async function busy(place: Place) {
  const world = simulatedWorld({ now: Date.now() });
  const start = world.now();
  const work = held("look");
  const model = recited(calls("look", {}, "l"), calls("pay", { eur: 5 }, "p"), says("Done."));
  const plugin = compacting(() => ({ seed: ["In short: all is well."] }));
  const store = place.store();
  const options = { tools: [work.tool, shop.tools[1]!], plugins: [...shop.plugins, plugin], world };
  const runtime = await place.open({ ...options, model, store, limits: { parkAfterMs: 20 } });
  const session = await runtime.session("a", { owner: "ann", tags: ["red"] });
  const turn = session.turn("Go.", { key: "k", metadata: { user: "ann" } });
  await work.began();
  await world.advance(1_000);
  await session.send("Now.", { metadata: { nth: 2 } });
  const { turnId: later } = await session.send("Later.", { at: "next-turn", key: "later", metadata: { nth: 3 } });
  await session.inputs.cancel({ key: "later" });
  await runtime.sessions.inject("a", "Psst.");
  work.release();
  return { runtime, world, start, turn, later, session, options };
}

onEveryStore(
  "S11 E4 the feed tells of inputs, withdrawals, waits, ends and frames in order, with all that they are, early and late",
  async (place) => {
    const { runtime, world, start, turn, later, session, options } = await busy(place);
    const other = await place.open({ ...options, recover: "never" });
    const [wait] = await eventually(async () => {
      await world.advance(50);
      const found = await other.waits.list({});
      return found.length > 0 ? found : undefined;
    });
    await eventually(async () => {
      await world.advance(50);
      return (await other.turns.list({ state: "waiting" })).length > 0;
    });
    const early = await allNow(other);
    const askedAt = (await other.turns.get(await turn.id)).waits[0]!.askedAt;
    await other.waits.resolve(wait!, { approved: true }, { by: "ben" });
    const recovered = runtime.recover();
    await within(turn.result());
    await recovered;
    const endedAt = world.now();
    await session.append([{ kind: "message", role: "user", text: "By the way." }]);
    await session.compact();
    await session.configure({ label: "Done" });

    const facts = await allNow(other);
    const turnId = await turn.id;
    const of = { fact: true, sessionId: "a", owner: "ann", tags: ["red"], cursor: expect.any(String) };
    const input = { kind: "accepted", inputId: expect.any(String) };
    const question = { wait: wait!.id, effect: "r2.call.0.w", wants: "approval", turnId };
    expect(facts).toEqual([
      { ...of, ...input, turnId, key: "k", at: start, text: "Go.", metadata: { user: "ann" } },
      { ...of, ...input, turnId: expect.any(String), at: start + 1_000, text: "Now.", metadata: { nth: 2 } },
      { ...of, ...input, turnId: later, key: "later" },
      { ...of, kind: "withdrawn", inputId: expect.any(String), turnId: later, key: "later" },
      { ...of, ...input, at: start + 1_000, text: "Psst." },
      {
        ...of,
        ...question,
        kind: "waiting",
        ...{
          callId: "p",
          call: { id: "p", name: "pay", input: { eur: 5 } },
          reason: "It moves money.",
          until: wait!.deadline,
        },
      },
      { ...of, ...question, kind: "resolved", how: "answered", by: "ben" },
      {
        ...of,
        ...{
          kind: "committed",
          by: "turn",
          turnId,
          at: expect.any(Number),
          nodes: expect.any(Array),
          model: "recited/test",
          rounds: 3,
        },
        outcome: expect.objectContaining({ kind: "answered", text: "Done." }),
        usage: expect.objectContaining({ input: 30, output: 15 }),
      },
      { ...of, kind: "committed", by: "append", at: endedAt, nodes: [expect.any(String)] },
      { ...of, kind: "committed", by: "compact", at: endedAt, nodes: expect.any(Array) },
      { ...of, kind: "frame", frame: expect.any(String) },
      { ...of, kind: "committed", by: "configure", at: endedAt, nodes: [] },
    ]);
    expect(askedAt).toBeGreaterThan(start);
    // Whoever read the facts before the turn ended was told the same.
    expect(early).toEqual(facts.slice(0, early.length));
    expect(early.length).toBe(6);
    const cursors = facts.map(({ cursor }) => cursor);
    expect(new Set(cursors).size).toBe(facts.length);
    for (const [nth, after] of cursors.entries()) {
      expect(await allNow(other, { after }), after).toEqual(facts.slice(nth + 1));
      expect(await allNow(other, { after, owner: "ann" }), after).toEqual(facts.slice(nth + 1));
    }
  },
);

onEveryStore("S11 owner, tag and `latest` choose facts, and the cursor of any of them resumes", async (place) => {
  const runtime = await place.open();
  const other = await place.open({ recover: "manual" });
  const marks = { a: { owner: "ann", tags: ["red", "new"] }, b: { owner: "ann" }, c: { tags: ["red"] }, d: {} };
  for (const [id, given] of Object.entries(marks)) await (await runtime.session(id, given)).turn("One.").result();
  const late = other.observe({ after: "latest" });
  const next = late.next(); // It begins here.
  await allNow(other); // So the feed has asked for the latest fact.
  await (await runtime.session("b")).turn("Two.").result();
  const told = async (options: Observe) => (await allNow(other, options)).map(inShort);
  const turn = (id: string) => [`${id} accepted`, `${id} committed turn`];
  expect(await told({ owner: "ann" })).toEqual([...turn("a"), ...turn("b"), ...turn("b")]);
  expect(await told({ tag: "red" })).toEqual([...turn("a"), ...turn("c")]);
  expect(await told({ tag: "red", owner: "ann" })).toEqual(turn("a"));
  expect(await told({ owner: "nobody" })).toEqual([]);
  const all = await allNow(other);
  expect(all.map(inShort)).toEqual(["a", "b", "c", "d", "b"].flatMap(turn));
  expect(all[0]).toMatchObject({ owner: "ann", tags: ["red", "new"] });
  expect(all[2]).not.toHaveProperty("tags");
  expect(all[6]).not.toHaveProperty("owner");
  for (const { cursor, ...fact } of all) {
    const rest = all.filter((each) => Number(each.cursor) > Number(cursor));
    expect((await allNow(other, { after: cursor, tag: "red" })).map(inShort), fact.kind).toEqual(
      rest.filter(({ tags }) => tags?.includes("red") === true).map(inShort),
    );
  }
  let first = (await within(next)).value as RuntimeFact;
  while (first.sessionId.startsWith("mark ")) first = (await within(late.next())).value as RuntimeFact;
  expect(first).toMatchObject({ sessionId: "b", text: "Two." });
  await late.return?.();
});

onEveryStore("S11 facts of another process come while a reader waits, and those of this one at once", async (place) => {
  const here = await place.open();
  const there = await place.open();
  for (const [writer, reader] of [
    [here, here],
    [there, here],
  ] as const) {
    const feed = reader.observe({ after: "latest" });
    const first = feed.next();
    await ticks(20);
    const session = await writer.session(writer === reader ? "own" : "other");
    await allNow(reader); // The feed has looked, and waits.
    await session.turn("Hi.").result();
    for (let fact = (await within(first)).value as RuntimeFact; fact.kind !== "committed"; )
      fact = (await within(feed.next())).value as RuntimeFact;
    await feed.return?.();
  }
});

// A store in memory has one process, and nothing polls it.
test("S11 on a store in memory the feed returns every change at once, also of sessions that are not open", async () => {
  const model = recited(calls("pay", {}, "p"), says("Done."));
  await using runtime = await createRuntime({ store: memory(), model, ...shop });
  const { sessions } = runtime;
  const feed = runtime.observe();
  const next = async (): Promise<string> => inShort((await within(feed.next(), 3_000)).value as RuntimeFact);
  const expects = async (...facts: readonly string[]) => {
    for (const fact of facts) expect(await next()).toBe(fact);
  };
  await sessions.create({ id: "s" });
  let waits = next();
  await ticks(20);
  await sessions.inject("s", "Psst.");
  expect(await waits).toBe("s accepted");
  waits = next();
  await ticks(20);
  const { turnId } = await sessions.send("s", "Pay.");
  expect(await waits).toBe("s accepted");
  await expects("s waiting");
  const [wait] = await runtime.waits.list();
  await runtime.waits.resolve(wait!, { approved: true });
  await expects("s resolved", "s committed turn");
  await sessions.follow(turnId).result();
  waits = next();
  await ticks(20);
  const session = await runtime.session("s");
  await session.append([{ kind: "message", role: "user", text: "Hi." }]);
  expect(await waits).toBe("s committed append");
  const forked = await sessions.fork("s", { id: "f" });
  waits = next();
  await ticks(20);
  await forked.configure({ label: "Fork" });
  expect(await waits).toBe("f committed configure");
  waits = next();
  await ticks(20);
  const seed = [{ role: "user", parts: [{ kind: "text", text: "Begin." }] }] as const;
  await sessions.create({ id: "seeded", seed });
  expect(await waits).toBe("seeded committed append");
  await feed.return?.();
});

test("S11 on a store in memory a withdrawal reaches a feed that waits", async () => {
  const work = held();
  await using runtime = await createRuntime({
    store: memory(),
    model: recited(calls("work"), says("Done.")),
    tools: [work.tool],
  });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  await work.began();
  await session.send("Later.", { at: "next-turn", key: "k" });
  const feed = runtime.observe();
  for (let count = 0; count < 2; count++) await feed.next();
  const next = feed.next();
  await ticks(20);
  await session.inputs.cancel({ key: "k" });
  expect((await within(next, 3_000)).value).toMatchObject({ kind: "withdrawn", key: "k" });
  work.release();
  await turn.result();
});

onEveryStore(
  "S11 wrong and foreign cursors and options are refused, and a cursor of a deleted session resumes",
  async (place) => {
    const plugin = compacting(() => ({ seed: ["In short."] }));
    const runtime = await place.open({ plugins: [plugin] });
    for (const id of ["a", "b"]) {
      const session = await runtime.session(id);
      await session.turn("Hi.").result();
      await session.compact();
      await session.close();
    }
    const facts = await allNow(runtime);
    const inside = facts.find((_, nth) => facts[nth + 1]?.kind === "frame")!;
    expect(inside.cursor).toMatch(/^\d+\.1$/);
    const last = Number(facts.at(-1)!.cursor);
    const { cursor } = await runtime.sessions.get("a");
    const asked = (after: unknown) => codeOf(() => within(runtime.observe({ after: after as string }).next(), 3_000));
    expect(await asked(cursor)).toBe("cursor.foreign");
    expect(await asked("1@s")).toBe("cursor.foreign");
    const far = [`${last + 1_000}`, `${last + 1_000}.1`, "9007199254740993", "9999999999999999"];
    const unknown = [
      "",
      "x",
      "0",
      "-1",
      "1.0",
      "01",
      "1.",
      ".1",
      "1e3",
      " 1",
      "LATEST",
      "1.1.1",
      "x".repeat(5_000),
      7,
      null,
      {},
    ];
    for (const after of [...far, ...unknown])
      expect(await asked(after), String(after).slice(0, 40)).toBe("cursor.unknown");
    expect(await asked(`${inside.cursor.split(".")[0]}.2`)).toBe("cursor.unknown");
    expect(await asked("1.1")).toBe("cursor.unknown"); // An acceptance is one fact.
    for (const [options, code] of [
      [{ from: 1 }, "options.unknown"],
      [{ signal: 7 }, "options.invalid"],
      ["a", "options.invalid"],
    ] as const)
      expect(await codeOf(() => runtime.observe(options as never))).toBe(code);

    // Facts of a deleted session are gone; those of others stay, whole.
    await runtime.sessions.delete("a");
    const left = facts.filter(({ sessionId }) => sessionId === "b");
    for (const { cursor: after, sessionId } of facts) {
      const rest = facts
        .slice(facts.findIndex((each) => each.cursor === after) + 1)
        .filter((each) => each.sessionId === "b");
      expect(await allNow(runtime, { after }), `${sessionId} ${after}`).toEqual(rest);
    }
    expect(await allNow(runtime)).toEqual(left);
  },
);

test("S11 a feed ends with its signal, with `return` and with the runtime, whatever it does", async () => {
  const runtime = await inMemory().open();
  const done = { value: undefined, done: true };
  expect(await runtime.observe({ signal: AbortSignal.abort() }).next()).toEqual(done);
  const controller = new AbortController();
  const aborted = runtime.observe({ signal: controller.signal });
  const [one, two] = [aborted.next(), aborted.next()];
  await ticks(20);
  controller.abort();
  expect(await within(Promise.all([one, two]))).toEqual([done, done]);
  await (await runtime.session("s")).turn("Hi.").result();
  const backlog = runtime.observe();
  expect((await backlog.next()).done).toBe(false);
  expect(await backlog.return?.()).toEqual(done);
  expect(await backlog.next()).toEqual(done); // One fact was left.
  const left = runtime.observe({ after: "latest" });
  const waiting = left.next();
  await ticks(20);
  await left.return?.();
  expect(await within(waiting)).toEqual(done);
  const closed = runtime.observe({ after: "latest" });
  const last = closed.next();
  await ticks(20);
  await runtime.close();
  expect(await within(last)).toEqual(done);
  expect(await codeOf(() => runtime.observe())).toBe("runtime.closed");
});

test("S11 a feed throws a failed read of the store once, and another feed continues from the cursor", async () => {
  const place = inMemory();
  let fails = false;
  const store = around(place.store(), {
    changes: (act) => {
      if (fails) throw new Error("The disk is gone.");
      return act();
    },
  });
  const runtime = await place.open({ store });
  const session = await runtime.session("s");
  await session.turn("One.").result();
  const feed = runtime.observe();
  const facts = [(await feed.next()).value, (await feed.next()).value] as RuntimeFact[];
  fails = true;
  await session.turn("Two.").result();
  await expect(feed.next()).rejects.toThrow("The disk is gone.");
  expect(await feed.next()).toEqual({ value: undefined, done: true });
  fails = false;
  const rest = await allNow(runtime, { after: facts.at(-1)!.cursor });
  expect(rest.map(inShort)).toEqual(["s accepted", "s committed turn"]);
});

onEveryStore("S11 a slow reader of many turns holds nobody up, and gets every fact in order", async (place) => {
  const pages: number[] = [];
  const store = around(place.store(), {
    changes: (act, _, options) => {
      pages.push((options as { readonly max: number }).max);
      return act();
    },
  });
  const reader = await place.open({ store, recover: "manual" });
  const writer = await place.open();
  const slow = reader.observe();
  const COUNT = place.name === "Postgres" ? 150 : 400;
  const ids: string[] = [];
  const sessions = await Promise.all(["a", "b", "c"].map((id) => writer.session(id)));
  for (let nth = 0; nth < COUNT; nth++) {
    const { turnId } = await sessions[nth % 3]!.turn(`Turn ${nth}.`).result();
    ids.push(turnId);
    if (nth % 50 === 0) await slow.next(); // It takes its time.
  }
  const fast = await allNow(reader);
  const read: RuntimeFact[] = [];
  for await (const fact of { [Symbol.asyncIterator]: () => slow }) {
    read.push(fact);
    if (fact.kind === "committed" && fact.by === "turn" && fact.turnId === ids.at(-1)) break;
  }
  expect(fast).toHaveLength(2 * COUNT);
  expect(read).toEqual(fast.slice(COUNT / 50));
  expect(fast.flatMap((fact) => (fact.kind === "committed" && fact.by === "turn" ? [fact.turnId] : []))).toEqual(ids);
  expect(fast.flatMap((fact) => (fact.kind === "accepted" ? [fact.text] : []))).toEqual(
    ids.map((_, nth) => `Turn ${nth}.`),
  );
  expect(Math.max(...pages)).toBeLessThanOrEqual(256);
});

test("S11 calls of `next` that do not wait for each other are answered in order", async () => {
  const runtime = await inMemory().open();
  const feed = runtime.observe();
  const asked = Array.from({ length: 6 }, () => feed.next());
  const session = await runtime.session("s");
  for (const words of ["One.", "Two.", "Three."]) await session.turn(words).result();
  const facts = (await within(Promise.all(asked))).map(({ value }) => value as RuntimeFact);
  expect(facts).toEqual(await taken(runtime, 6));
});
